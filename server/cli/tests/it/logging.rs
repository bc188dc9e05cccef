//! A log that cannot be written costs lines and nothing else.

use crate::world::*;
use std::io::{BufRead as _, BufReader, PipeReader};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Every line that the libraries log.
const MANY: (&str, &str) = ("TREFOIL_LOG_FILTER", "trace,h2=trace,hyper=trace,rustls=trace");

fn device_without_room() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

fn pipe_without_reader() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// Claim V10: If the process log cannot be written, only log lines are lost, and the log says later how many.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_whose_log_cannot_be_written_serves_counts_the_lines_and_drains() {
    for (log, filter) in
        [(device_without_room(), "info"), (device_without_room(), "debug"), (pipe_without_reader(), "debug")]
    {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        let program = Program::start(&data, log, &[("TREFOIL_LOG_FILTER", filter)]);
        program.serves(20).await;
        assert!(program.metric("trefoil_log_lines_lost_total").await > 0);
        assert_eq!(program.terminate().code(), Some(0), "{filter}");
    }
}

/// Claim V11: With data and log on one full disk no thread ends, and writes succeed again once there is room.
#[tokio::test(flavor = "multi_thread")]
async fn with_data_and_log_on_one_full_disk_no_thread_ends_and_writes_work_again_once_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let variables = [("TREFOIL_LOG_FILTER", "debug")];
    let data = directory.path().join("data");
    let program = Program::start_on_a_disk(&data, File::create(&log).unwrap(), &variables);
    program.serves(1).await;
    let logged = std::fs::metadata(&log).unwrap().len();
    program.bound("1");
    for _ in 0..20 {
        program.public.get("/v1/fhe/parameters").await.is(200);
        assert!(program.create_tenant().await.status.is_server_error());
    }
    assert!(program.metric("trefoil_log_lines_lost_total").await > 0);
    program.bound("unlimited");
    program.serves(20).await;
    assert_eq!(program.terminate().code(), Some(0));
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(
        text.len() as u64 > logged && text.contains("log lines could not be written"),
        "it says what it lost"
    );
}

/// Claim V10.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_stops_reading_holds_no_request_up_and_learns_later_what_it_missed() {
    let directory = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    let program = Program::start(&directory.path().join("data"), writer, &[MANY]);
    lose_lines(&program).await;
    // It reads again until the loss is logged, and stops once more.
    let (lost, reader) = tokio::task::spawn_blocking(move || read_until_told(reader)).await.unwrap();
    assert!(lost > 0);
    lose_lines(&program).await;
    assert_eq!(program.terminate().code(), Some(0));
    drop(reader);
}

async fn lose_lines(program: &Program) {
    let before = program.metric("trefoil_log_lines_lost_total").await;
    while program.metric("trefoil_log_lines_lost_total").await == before {
        // More requests than the queue has places for lines.
        let get = |ending| format!("GET /v1/fhe/parameters HTTP/1.1\r\nhost: localhost\r\n{ending}\r\n");
        let requests = get("").repeat(200) + &get("connection: close\r\n");
        let (mut answers, mut connection) = tokio::io::split(program.public.connect().await);
        let (sent, mut text) = (connection.write_all(requests.as_bytes()), String::new());
        let (sent, read) = tokio::join!(sent, answers.read_to_string(&mut text));
        sent.and(read).unwrap();
        assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 201);
    }
    program.serves(1).await;
}

/// How many lines were lost, as the log says, and the rest of it.
fn read_until_told(reader: PipeReader) -> (u64, BufReader<PipeReader>) {
    let mut lines = BufReader::new(reader);
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the log ends");
        if let Some((_, lost)) = line.split_once("log lines could not be written") {
            return (lost.rsplit_once("lost=").unwrap().1.trim().parse().unwrap(), lines);
        }
    }
}
