//! Settings that a running service reads again when its configuration file changes, and at SIGHUP.

use crate::world::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Waits until the log says this so often, and returns the line that says it last.
pub(crate) async fn said(log: &Path, what: &str, times: usize) -> String {
    loop {
        let text = std::fs::read_to_string(log).unwrap();
        if text.matches(what).count() >= times {
            return text.lines().rfind(|line| line.contains(what)).unwrap().to_owned();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The bytes that a peer receives until the connection is closed; it sends `first` and then nothing.
async fn stalls(endpoint: &Endpoint, first: &str) -> String {
    let mut stream = endpoint.connect().await;
    stream.write_all(first.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A peer that is cut off sees an end without a closing message.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

/// A request whose body is announced and does not come.
fn half_a_request(admin: &Endpoint) -> String {
    let bearer = admin.bearer.as_deref().unwrap();
    format!(
        "POST /v1/tenants HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {bearer}\r\n\
         content-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_and_the_log_filter_change_at_sighup_and_other_settings_at_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let (settings, log) = (file("trefoil.toml"), file("log"));
    let write = |text: &str| std::fs::write(&settings, text).unwrap();
    write("[limits]\nbody_timeout_s = 60\n[log]\nfilter = \"warn\"\n");
    let program = Program::start_configured(&settings, &file("data"), File::create(&log).unwrap());
    let half = half_a_request(&program.admin);
    let moment = Duration::from_millis(1_500);
    assert!(tokio::time::timeout(moment, stalls(&program.admin, &half)).await.is_err(), "60 s are not over");
    assert!(tokio::time::timeout(moment, stalls(&program.public, "")).await.is_err(), "nor are 10 s");
    assert!(!std::fs::read_to_string(&log).unwrap().contains(" INFO "));

    write(
        "[limits]\nbody_timeout_s = 1\nfirst_request_timeout_s = 1\n[log]\nfilter = \"info\"\n\
         [store]\ntemplates_in_memory = 70\n",
    );
    const READ: &str = "SIGHUP: the settings were read again";
    program.signal("-HUP");
    let line = said(&log, READ, 1).await;
    for expected in [
        "limits.body_timeout_s: 60 -> 1",
        "limits.first_request_timeout_s: 10 -> 1",
        "log.filter",
        "at_next_start=\"store.templates_in_memory\"",
        "certificate=\"the same\"",
    ] {
        assert!(line.contains(expected), "{expected}: {line}");
    }
    let answer = stalls(&program.admin, &half).await;
    assert!(answer.contains("408") && answer.contains("within 1 s"), "{answer}");
    assert_eq!(stalls(&program.public, "").await, "");

    // An unusable configuration changes nothing.
    const REFUSED: &str = "SIGHUP: the settings cannot be used, those before stay";
    for (number, (text, place)) in [
        ("[limits]\nbody_timeout_s = \"soon\"\n", "body_timeout_s"),
        ("[limits]\nbody_timeouts = 1\n", "body_timeouts"),
        ("[limits]\nbody_timeout_s = 30\n[log]\nfilter = \"a=b=c\"\n", "log.filter"),
    ]
    .into_iter()
    .enumerate()
    {
        write(text);
        program.signal("-HUP");
        let line = said(&log, REFUSED, number + 1).await;
        assert!(line.contains(place), "{line}");
    }
    assert!(stalls(&program.admin, &half).await.contains("within 1 s"));
    std::fs::remove_file(&settings).unwrap();
    program.signal("-HUP");
    assert!(said(&log, REFUSED, 4).await.contains("trefoil.toml"));

    // First a filter that hides the line, then the earlier one again.
    write("[limits]\nbody_timeout_s = 1\nfirst_request_timeout_s = 1\n[log]\nfilter = \"warn\"\n");
    program.signal("-HUP");
    let line = said(&log, READ, 2).await;
    assert!(line.contains("log.filter") && line.contains("at_next_start=\"nothing\""), "{line}");
    write("");
    program.signal("-HUP");
    assert!(said(&log, READ, 3).await.contains("limits.body_timeout_s: 1 -> 10"));
    program.signal("-HUP");
    assert!(said(&log, READ, 4).await.contains("changed=\"nothing\""));
    assert_eq!(program.terminate().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_takes_effect_without_a_signal_and_one_that_cannot_be_used_is_said_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let (settings, log) = (file("trefoil.toml"), file("log"));
    let write = |text: &str| std::fs::write(&settings, text).unwrap();
    write("[limits]\nbody_timeout_s = 60\n");
    let program = Program::start_configured(&settings, &file("data"), File::create(&log).unwrap());
    let half = half_a_request(&program.admin);
    const READ: &str = "trefoil.toml changed: the settings were read again";
    write("[limits]\nbody_timeout_s = 1\n[store]\ntemplates_in_memory = 70\n");
    let line = said(&log, READ, 1).await;
    for expected in ["\"limits.body_timeout_s: 60 -> 1\"", "at_next_start=\"store.templates_in_memory\""] {
        assert!(line.contains(expected), "{expected}: {line}");
    }
    assert!(!line.contains("certificate"), "{line}");
    assert!(stalls(&program.admin, &half).await.contains("within 1 s"));

    const REFUSED: &str = "trefoil.toml changed: the settings cannot be used, those before stay";
    let broken = "[limits]\nbody_timeout_s = \"soon\"\n";
    write(broken);
    let line = said(&log, REFUSED, 1).await;
    assert!(line.contains("ERROR") && line.contains("body_timeout_s"), "{line}");
    // Two looks, five seconds apart, at the same contents, which were written again.
    write(broken);
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert!(stalls(&program.admin, &half).await.contains("within 1 s"), "nothing changed");
    assert_eq!(std::fs::read_to_string(&log).unwrap().matches(REFUSED).count(), 1);

    write("[limits]\nbody_timeout_s = 1\n");
    assert!(said(&log, READ, 2).await.contains("changed=\"nothing\""));
    // The next look does not find once more what the signal has read.
    write("[limits]\nbody_timeout_s = 2\n");
    program.signal("-HUP");
    said(&log, "SIGHUP: the settings were read again", 1).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    let text = std::fs::read_to_string(&log).unwrap();
    assert_eq!((text.matches(READ).count(), text.matches("SIGHUP").count()), (2, 1), "{text}");
    assert_eq!(program.terminate().code(), Some(0));
}
