//! The vectors of `testdata/consistency.json`: made here with `TREFOIL_BLESS` set, else compared with what is committed, and
//! decided in every case as stated. The clients in other languages run the same file.

mod forks;
mod heads;
mod seals;

use std::path::PathBuf;

use serde_json::{Value, json};
use trefoil_attest::tree::Hash;

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/consistency.json")
}

fn committed() -> Value {
    serde_json::from_slice(&std::fs::read(file()).unwrap()).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is not a list"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is not text"))
}

fn hash(value: &Value) -> Hash {
    hex::decode(text(value)).unwrap().try_into().unwrap()
}

fn hashes(value: &Value) -> Vec<Hash> {
    list(value).iter().map(hash).collect()
}

fn hexes(nodes: &[Hash]) -> Vec<String> {
    nodes.iter().map(hex::encode).collect()
}

/// Half the length of what is written for people, and a change of one case is one line.
fn one_case_a_line(made: &Value) -> String {
    let parts = made.as_object().unwrap().iter().map(|(name, part)| match part.as_array() {
        Some(cases) => {
            let lines: Vec<_> = cases.iter().map(Value::to_string).collect();
            format!("\"{name}\": [\n{}\n]", lines.join(",\n"))
        }
        None => format!("\"{name}\": {part}"),
    });
    format!("{{\n{}\n}}\n", parts.collect::<Vec<_>>().join(",\n"))
}

#[test]
fn the_committed_vectors_are_those_made_here() {
    let mut made = json!({ "format": "trefoil:consistency-vectors/1", "forks": forks::make() });
    for part in [heads::make(), seals::make()] {
        made.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
    }
    if std::env::var_os("TREFOIL_BLESS").is_some() {
        std::fs::write(file(), one_case_a_line(&made)).unwrap();
    }
    assert!(
        committed() == made,
        "consistency.json is out of date; set TREFOIL_BLESS and look at the difference"
    );
}
