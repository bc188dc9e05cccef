//! The vectors of `testdata/consistency.json`, decided in every case as stated. Those of seals, whose format may change, are made here
//! with `TREFOIL_BLESS` set, else compared with what is committed. The clients in other languages run the same file.

mod forks;
mod heads;
mod seals;

use crate::vectors::{list, path, read_json, text};
use serde_json::Value;
use trefoil_attest::tree::Hash;

const FILE: &str = "consistency.json";

fn committed() -> Value {
    read_json(FILE)
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
fn the_committed_vectors_of_seals_are_those_made_here() {
    let mut made = committed();
    made.as_object_mut().unwrap().extend(seals::make().as_object().unwrap().clone());
    if std::env::var_os("TREFOIL_BLESS").is_some() {
        std::fs::write(path(FILE), one_case_a_line(&made)).unwrap();
    }
    assert!(
        committed() == made,
        "consistency.json is out of date; set TREFOIL_BLESS and look at the difference"
    );
}
