//! The demonstration from end to end.

use crate::world::*;
use trefoil_cli::demo::{Arguments, run};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/data/lfw_arcface512")
}

fn trefoil(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trefoil")).args(arguments).output().expect("the program runs")
}

#[test]
fn six_people_log_in_and_every_answer_holds() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = Arguments {
        people: Some(6),
        seed: 7,
        concurrency: 64,
        workers: 1,
        data: Some(data()),
        out: folder.path().join("kept"),
        json: true,
    };
    let report = run(&arguments).unwrap();
    assert!(report.holds(), "{report}");
    let json: Value = serde_json::from_str(&report.to_json()).unwrap();
    let count = |pointer: &str| json.pointer(pointer).and_then(Value::as_u64).expect(pointer);
    let probes = count("/probes");
    assert!(probes > 0 && probes.is_multiple_of(2));
    assert_eq!((count("/people"), count("/workers")), (6, 1));
    assert_eq!((count("/decisions_checked"), count("/decisions_differing")), (probes, 0));
    assert_eq!(count("/attestations_verified"), probes);
    assert_eq!(count("/genuine/match") + count("/genuine/no_match"), probes / 2);
    assert_eq!(count("/impostor/match") + count("/impostor/no_match"), probes / 2);
    assert_eq!(json["cache_hit_ratio"], 1.0, "every session was open before the first login");
    assert!(json["auth_per_s"].as_f64().unwrap() > 0.0);
    for stage in ["match", "key_holder", "proof_lookup", "digest", "seal", "total"] {
        assert!(json["stages_us"][stage].as_f64().unwrap() > 0.0, "{stage}");
    }
    assert!(report.to_string().contains("attempt budgets"));
    a_kept_login_verifies_with_the_printed_command_and_no_other(&json["login"]["verify"]);
}

fn a_kept_login_verifies_with_the_printed_command_and_no_other(command: &Value) {
    let command: Vec<&str> = command.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    trefoil(&command).done();
    let other = "00".repeat(16);
    let nonce = command.iter().position(|word| *word == "--nonce").unwrap() + 1;
    let replayed: Vec<&str> =
        command.iter().enumerate().map(|(i, word)| if i == nonce { &other } else { *word }).collect();
    assert_eq!(trefoil(&replayed).status.code(), Some(1));
}

#[test]
fn arguments_that_cannot_be_used_are_named() {
    let refused = |arguments: &[&str], expected: &[&str]| {
        let output = trefoil(&[&["demo"], arguments].concat());
        let text = output.err();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(output.stdout.is_empty());
        for part in expected {
            assert!(text.contains(part), "{part} in {text}");
        }
    };
    refused(&["--people", "1"], &["--people 1", "2 to 158"]);
    refused(&["--people", "159"], &["--people 159", "2 to 158"]);
    refused(&["--people", "many"], &["--people"]);
    refused(&["--concurrency", "0"], &["--concurrency"]);
    refused(&["--workers", "2000"], &["--workers"]);
    refused(&["--data", "no-such-folder"], &["no-such-folder", "--data", "x.npy"]);
}
