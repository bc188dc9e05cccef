//! A record: the result of one command with the machine, the build and the command itself.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::host;
use crate::{Failure, Report};

const FORMAT: &str = "trefoil-bench/1";

/// Where [`write`] puts records, relative to the workspace.
const FOLDER: &str = "records";

/// Wraps the result of `report` into a record, with the [`host::host`] as it was before the run. Its keys stay at the top; a problem becomes `error`.
pub(crate) fn assemble(benchmark: &str, command: &str, host: Value, report: &Report) -> Value {
    let mut record = Map::new();
    record.insert("format".into(), json!(FORMAT));
    record.insert("benchmark".into(), json!(benchmark));
    record.insert("command".into(), json!(command));
    record.insert("host".into(), host);
    record.insert("build".into(), host::build());
    if let Value::Object(fields) = &report.result {
        record.extend(fields.clone());
    }
    if let Some(problem) = &report.problem {
        record.insert("error".into(), json!(problem));
    }
    Value::Object(record)
}

/// Whether `name` can be a record's file name, or one in a folder of a machine: lower-case letters, digits, `-`, `_`.
pub(crate) fn check_name(name: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let is_plain = |part: &str| !part.is_empty() && part.len() <= 64 && part.chars().all(plain);
    let (folder, file) = name.split_once('/').unwrap_or(("root", name));
    if is_plain(folder) && is_plain(file) {
        Ok(name.to_owned())
    } else {
        Err("a record is named with 1 to 64 of a-z, 0-9, - and _, or so in a folder: NAME or FOLDER/NAME; the file is bench/records/NAME.json".into())
    }
}

/// Writes `bench/records/NAME.json` in the source tree that this binary was built from.
pub(crate) fn write(name: &str, record: &Value) -> Result<PathBuf, Failure> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let path = folder.join(format!("{name}.json"));
    fs::create_dir_all(path.parent().unwrap_or(&folder))
        .and_then(|()| fs::write(&path, render(record) + "\n"))
        .map_err(Failure::in_step(format_args!("writing {}", path.display())))?;
    Ok(path)
}

/// JSON with one line per field; a list of numbers stays on one line, so that all runs can be kept and read.
pub(crate) fn render(value: &Value) -> String {
    let mut out = String::new();
    render_at(value, 0, &mut out);
    out
}

fn render_at(value: &Value, depth: usize, out: &mut String) {
    let indent = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            out.push('{');
            for (at, (key, field)) in fields.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                indent(out, depth + 1);
                out.push_str(&format!("{}: ", Value::from(key.as_str())));
                render_at(field, depth + 1, out);
            }
            indent(out, depth);
            out.push('}');
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                indent(out, depth + 1);
                render_at(item, depth + 1, out);
            }
            indent(out, depth);
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rendering_keeps_the_value_and_lists_of_numbers_on_one_line() {
        let value = json!({"a": {"runs": [1.5, 2, 3]}, "b": [{"c": "x\"y"}, {}], "d": [], "e": null});
        let text = render(&value);
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
        assert!(text.contains("\"runs\": [1.5,2,3]"));
        assert!(text.lines().count() > 8);
    }

    #[test]
    fn names_with_paths_in_them_are_refused() {
        assert!(check_name("exact-lfw_facenet128").is_ok() && check_name("2026-11-23-host/run").is_ok());
        for name in ["", "../x", "a/../b", "a/b/c", "/a", "a/", "a.json", "A", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_record_has_its_envelope_and_its_result_at_the_top() {
        let problem = Some("wrong".to_owned());
        let report = Report { summary: String::new(), result: json!({"users": 1}), problem };
        let record = assemble("stages", "trefoil-bench stages", json!({}), &report);
        for key in ["format", "benchmark", "command", "host", "build", "users", "error"] {
            assert!(record.get(key).is_some(), "{key}");
        }
    }
}
