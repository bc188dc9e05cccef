//! What the program says to wrong commands, and that its exit codes can be relied on.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::right::data;

/// The program, which refuses to measure in a debug build otherwise.
fn bench_of_any_build() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trefoil-bench"));
    command.env("TREFOIL_TEST_ANY_BUILD", "1");
    command
}

fn bench(arguments: &[&str]) -> Output {
    bench_of_any_build().args(arguments).output().expect("trefoil-bench starts")
}

fn refusal(arguments: &[&str]) -> String {
    let output = bench(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

/// A `.npy` file of version 1.0 with the given description, shape and bytes.
fn npy(path: &Path, descr: &str, shape: &str, data: &[u8]) {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    fs::write(path, bytes).expect("file");
}

/// `rows` rows of `columns` float32, two rows to a person, as two files.
fn own_set(folder: &Path, rows: usize, columns: usize) -> [String; 2] {
    let value = |i: usize| (i as f32 * 0.7).sin() + (i / columns / 2) as f32 * 0.1;
    let x: Vec<u8> = (0..rows * columns).flat_map(|i| value(i).to_le_bytes()).collect();
    let y: Vec<u8> = (0..rows).flat_map(|i| (i as i64 / 2).to_le_bytes()).collect();
    npy(&folder.join("x.npy"), "<f4", &format!("({rows}, {columns})"), &x);
    npy(&folder.join("y.npy"), "<i8", &format!("({rows},)"), &y);
    ["x.npy", "y.npy"].map(|name| folder.join(name).to_string_lossy().into_owned())
}

#[test]
fn help_teaches_with_examples() {
    for arguments in [&["--help"][..], &["help"]] {
        let output = bench(arguments);
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).expect("text");
        for example in ["trefoil-bench exact --set", "trefoil-bench stages", "trefoil-bench run --workers"] {
            assert!(text.contains(example), "{example}");
        }
    }
    for command in ["exact", "stages", "run", "load", "ladder", "sign"] {
        let help = bench(&[command, "--help"]);
        assert!(
            help.status.success() && String::from_utf8_lossy(&help.stdout).contains("--record"),
            "{command}"
        );
    }
}

#[test]
fn wrong_commands_are_refused_with_the_remedy() {
    for (arguments, remedy) in [
        (&[][..], "Usage"),
        (&["measure"], "unrecognized subcommand"),
        (&["exact"], "--set"),
        (&["exact", "--x", "a.npy"], "--y"),
        (&["exact", "--set", "a", "--x", "a.npy", "--y", "b.npy"], "cannot be used with"),
        (&["exact", "--set", "a", "--protocol", "enrol2"], "enrol1, enrol3"),
        (&["exact", "--set", "a", "--workers", "0"], "1 to 1024"),
        (&["exact", "--set", "a", "--mode", "hidden"], "plain, shared"),
        (&["stages", "--users", "33"], "multiple of 32"),
        (&["stages", "--iters", "0"], "1 to 100000"),
        (&["run", "--people", "0"], "multiple of 32"),
        (&["run", "--cadence", "daily"], "group, per-batch"),
        (&["run", "--cache", "lru"], "engine, dashmap"),
        (&["run", "--seconds", "NaN"], "0.001 to 600"),
        (&["run", "--record", "../x"], "bench/records/NAME.json"),
        (&["hit-ratio", "--capacity", "300"], "--traces"),
        (&["cache", "--threads", "1,0"], "1 to 1024"),
        (&["load", "--profile", "calm"], "steady, overload, flood, hostile, fleet"),
        (&["load", "--batch", "33"], "1 to 32"),
        (&["against", "--", "run"], "--other"),
        (&["zkp", "--circuit", "cred/9"], "cred/2 or cred/2u"),
        (&["hit-ratio", "--traces", "x", "--capacity", "15"], "16 to"),
        (&["hit-ratio", "--traces", "no-such-file", "--capacity", "300"], "no-such-file"),
    ] {
        let message = refusal(arguments);
        assert!(message.contains(remedy), "{arguments:?}: {message}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_debug_build_measures_nothing_and_keeps_no_record() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trefoil-bench"));
    let output = command.args(["stages", "--users", "32"]).env_remove("TREFOIL_TEST_ANY_BUILD").output();
    let output = output.expect("trefoil-bench starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("debug build"));
    let message = refusal(&["exact", "--set", "lfw_dlib128", "--record", "never"]);
    assert!(message.contains("debug build"), "{message}");
}

#[test]
fn an_unknown_set_is_refused_with_the_names_of_the_known_ones() {
    let message = refusal(&["exact", "--set", "nobody"]);
    assert!(message.contains("lfw_dlib128") && message.contains("lfw_facenet128"), "{message}");
    let folder = tempfile::tempdir().expect("folder");
    let empty = folder.path().to_string_lossy().into_owned();
    assert!(refusal(&["exact", "--set", "nobody", "--data", &empty]).contains("none"));
}

#[test]
fn an_unknown_tier_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_trefoil-bench"))
        .args(["exact", "--set", "lfw_dlib128"])
        .env("TREFOIL_TIER", "avx1024")
        .output()
        .expect("trefoil-bench starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("avx2"));
}

#[test]
fn a_mistyped_variable_is_refused_with_the_one_that_was_meant() {
    let output = bench_of_any_build()
        .args(["exact", "--set", "lfw_dlib128"])
        .env("TREFOIL_TEIR", "portable")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("TREFOIL_TEIR") && said.contains("TREFOIL_TIER"), "{said}");
}

#[test]
fn own_files_of_any_width_are_compared_with_plain_arithmetic() {
    let folder = tempfile::tempdir().expect("folder");
    let [x, y] = own_set(folder.path(), 4, 513);
    let message = refusal(&["exact", "--x", &x, "--y", &y]);
    assert!(message.contains("2 to 512") && message.contains("513"), "{message}");
    for width in [128, 192, 512] {
        // More than 32 people, so that the last batch is not full.
        let [x, y] = own_set(folder.path(), 80, width);
        let output = bench(&["exact", "--x", &x, "--y", &y, "--json", "--workers", "2"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let record: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!((&record["templates"], &record["probes"]), (&40.into(), &40.into()));
        assert_eq!(record["jobs"], 80);
        assert_eq!(record["equal_to_plain"], true);
        assert!(record["set"].is_null() && record["expected"].is_null() && record["equal"].is_null());
        assert!(record["command"].as_str().expect("text").starts_with("trefoil-bench exact --x "));
    }
}

#[test]
fn another_reference_fails_the_command() {
    let folder = tempfile::tempdir().expect("folder");
    let set = folder.path().join("lfw_dlib128");
    fs::create_dir(&set).expect("folder");
    for name in ["x.npy", "y.npy"] {
        fs::copy(data().join("lfw_dlib128").join(name), set.join(name)).expect("copy");
    }
    let reference = format!("{{\"lfw_dlib128/enrol1\": {{\"sha256\": \"{}\"}}}}", "0".repeat(64));
    fs::write(folder.path().join("reference.json"), reference).expect("file");
    let here = folder.path().to_string_lossy().into_owned();
    let output = bench(&["exact", "--set", "lfw_dlib128", "--data", &here, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let record: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&record["equal"], &record["equal_to_plain"]), (&false.into(), &true.into()));
    assert!(record["error"].as_str().expect("text").contains("reference"));
}
