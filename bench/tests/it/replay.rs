//! A capture that is replayed to a service which captures too: the second has the shape of the first.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use trefoil_server::capture::{Captured, read};

fn captured(began_ms: u64, route: &str, status: u16, answer_bytes: u64, subjects: &[u64]) -> Captured {
    Captured {
        began_us: 1_000 * began_ms,
        took_us: 4_000,
        route: route.to_owned(),
        status,
        request_bytes: 1_500,
        answer_bytes,
        tenant: (!subjects.is_empty()).then_some(0xfeed),
        subjects: subjects.to_vec(),
        stream: None,
    }
}

const LOGIN: &str = "POST /v1/authentications";
const BATCH: &str = "POST /v1/authentications/batch";
const KEYS: &str = "GET /v1/keys";

/// Two people: one comes three times, both together once; somebody without a key; a reader; a session that is left out.
fn monday() -> Vec<Captured> {
    vec![
        captured(0, "POST /v1/proof-sessions", 201, 300, &[]),
        captured(100, LOGIN, 200, 1_200, &[7]),
        captured(180, LOGIN, 200, 30_000, &[8]),
        captured(260, BATCH, 200, 2_500, &[7, 8]),
        captured(340, KEYS, 200, 9_000, &[]),
        captured(420, LOGIN, 401, 500, &[]),
        captured(500, LOGIN, 200, 1_200, &[7]),
    ]
}

fn written(folder: &Path) -> String {
    let lines: String = monday().iter().map(|request| format!("{request}\n")).collect();
    let file = folder.join("monday.capture");
    fs::write(&file, format!("# trefoil-capture/2\n{lines}")).expect("written");
    file.to_string_lossy().into_owned()
}

/// Route, status, whether the answer had signatures, and which earlier subjects these are, by number.
fn shape(captured: &[Captured]) -> Vec<(String, u16, bool, Vec<usize>)> {
    let (mut known, mut shape) = (Vec::new(), Vec::new());
    for request in captured.iter().filter(|request| [LOGIN, BATCH, KEYS].contains(&request.route.as_str())) {
        let mut number = |subject: &u64| {
            known.iter().position(|known| known == subject).unwrap_or_else(|| {
                known.push(*subject);
                known.len() - 1
            })
        };
        let subjects: Vec<usize> = request.subjects.iter().map(&mut number).collect();
        let is_full = request.answer_bytes / subjects.len().max(1) as u64 > 8_192;
        shape.push((request.route.clone(), request.status, is_full && request.route != KEYS, subjects));
    }
    shape
}

/// Over one connection, so that no request can overtake another on a machine that stalls.
#[test]
fn a_replay_has_the_shape_of_its_capture_and_keeps_its_time() {
    let folder = tempfile::tempdir().expect("folder");
    let (monday_file, again) = (written(folder.path()), folder.path().join("again.capture"));
    let output = Command::new(env!("CARGO_BIN_EXE_trefoil-bench"))
        .env("TREFOIL_TEST_ANY_BUILD", "1")
        .args(["replay", &monday_file, "--speed", "1", "--connections", "1", "--json", "--capture"])
        .arg(&again)
        .output()
        .expect("trefoil-bench starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&record["requests"], &record["logins"], &record["people"]),
        (&6.into(), &6.into(), &2.into())
    );
    assert_eq!(record["left_out"]["POST /v1/proof-sessions"], 1);
    let replayed = &record["replays"][0];
    assert_eq!((&replayed["wrong"], &replayed["logins"]), (&0.into(), &5.into()));
    assert_eq!((&replayed["statuses"]["200"], &replayed["statuses"]["401"]), (&5.into(), &1.into()));
    assert_eq!(replayed["ms"]["logins"]["requests"], 4);
    assert!(replayed["seconds"].as_f64() >= replayed["wanted_seconds"].as_f64(), "{replayed}");
    assert_eq!(record["captured_ms"]["batches"]["p50"], 4.0);

    let seen = read(&fs::read_to_string(&again).expect("a capture")).expect("a capture");
    assert_eq!(shape(&seen), shape(&monday()));
}

#[test]
fn what_is_no_capture_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("x");
    for (text, why) in [("{}", "trefoil-capture/1"), ("# trefoil-capture/1\n1,2\n", "line 2")] {
        fs::write(&file, text).expect("written");
        let output = Command::new(env!("CARGO_BIN_EXE_trefoil-bench"))
            .env("TREFOIL_TEST_ANY_BUILD", "1")
            .args(["replay", &file.to_string_lossy()])
            .output()
            .expect("trefoil-bench starts");
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(why), "{text}");
    }
}
