//! Two records, or two folders of them: which step made the difference.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::Failure;
use crate::attribution::{Attributable, Attribution, Bar};
use crate::{Report, record};

/// What to compare.
#[derive(Clone, Debug)]
pub struct Compare {
    /// The record, or folder of records, that the other is compared with.
    pub a: PathBuf,
    /// The other.
    pub b: PathBuf,
    /// Thresholds for a difference.
    pub bar: Bar,
}

/// JSON pointers to the fields that two records should have in common, apart from the compared change.
const CONTEXT: [&str; 22] = [
    "/host/label",
    "/host/cpu_model",
    "/host/logical_cpus",
    "/host/tier",
    "/build/revision",
    "/build/dirty",
    "/build/rustc",
    "/build/features",
    "/benchmark",
    "/workload",
    "/mode",
    "/workers",
    "/cadence",
    "/cache",
    "/popularity",
    "/faces",
    "/users",
    "/people",
    "/sessions",
    "/prepared_batches",
    "/seconds",
    "/window_seconds",
];

/// Compares them.
///
/// # Errors
/// When there is no such record, one is not of `run` or `stages`, or two folders have none of the same name.
pub fn compare(parameters: &Compare) -> Result<Report, Failure> {
    let Compare { a, b, bar } = parameters;
    let mut summary = String::new();
    let mut pairs = Map::new();
    for (name, [a, b]) in pairs_of(a, b)? {
        let pair = Pair::new(&a, &b, *bar)?;
        summary += &format!("{name}\n{}\n", pair.text());
        pairs.insert(name, pair.json(&a, &b));
    }
    let result = json!({ "compared": pairs, "interval": "Welch, over windows or groups of iterations" });
    Ok(Report { summary, result, problem: None })
}

/// Records by their name, each with its file in both folders.
fn pairs_of(a: &Path, b: &Path) -> Result<Vec<(String, [PathBuf; 2])>, Failure> {
    let named = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match (a.is_dir(), b.is_dir()) {
        (false, false) => Ok(vec![(format!("{} -> {}", named(a), named(b)), [a.to_owned(), b.to_owned()])]),
        (true, true) => {
            let names = record::files(a)?.into_iter().map(|path| named(&path));
            let pair = |name: String| {
                let files = [a, b].map(|folder| folder.join(format!("{name}.json")));
                (files[1].is_file() && is_attributable(&files)).then_some((name, files))
            };
            let pairs: Vec<_> = names.filter_map(pair).collect();
            if pairs.is_empty() {
                return Err(Failure::usage(
                    "the two folders have no record of run or stages with the same name",
                ));
            }
            Ok(pairs)
        }
        _ => Err(Failure::usage("one is a folder and one is not: name two records or two folders")),
    }
}

/// A folder also has other records; they are skipped without an error.
fn is_attributable(files: &[PathBuf; 2]) -> bool {
    files.iter().all(|file| record::read(file).is_ok_and(|record| Attributable::of(&record).is_ok()))
}

struct Pair {
    attribution: Attribution,
    /// Fields that differ, with both values.
    differs: Vec<(&'static str, [Value; 2])>,
}

impl Pair {
    fn new(a: &Path, b: &Path, bar: Bar) -> Result<Pair, Failure> {
        let records = [record::read(a)?, record::read(b)?];
        let of = |at: usize, path: &Path| {
            let named = |why| Failure::usage(format!("{}: {why}", path.display()));
            Attributable::of(&records[at]).map_err(named)
        };
        let attribution = Attribution::of_records(&of(0, a)?, &of(1, b)?, bar)?;
        let in_both = |pointer: &'static str| {
            let values =
                records.each_ref().map(|record| record.pointer(pointer).cloned().unwrap_or_default());
            (pointer, values)
        };
        let differs = CONTEXT.map(in_both).into_iter().filter(|(_, [a, b])| a != b).collect();
        Ok(Pair { attribution, differs })
    }

    fn text(&self) -> String {
        let mut text = self.attribution.table();
        for (pointer, [a, b]) in &self.differs {
            text += &format!("differs: {} {a} -> {b}\n", &pointer[1..]);
        }
        text
    }

    fn json(&self, a: &Path, b: &Path) -> Value {
        let mut json = self.attribution.json();
        json["a"] = json!(shown(a));
        json["b"] = json!(shown(b));
        let differs = self.differs.iter().map(|(pointer, values)| (pointer[1..].to_owned(), json!(values)));
        json["differs"] = differs.collect::<Map<_, _>>().into();
        json
    }
}

/// Relative to the folder of records if it lies there, so that a record that names it is the same on every machine.
fn shown(path: &Path) -> String {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    path.strip_prefix(records).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::attribution::tests::{SCATTER, run_record};

    fn write(path: &Path, mut record: Value, revision: &str) {
        record["format"] = json!("trefoil-bench/1");
        record["build"] = json!({"revision": revision});
        fs::write(path, record.to_string()).expect("written");
    }

    fn compared(a: &Path, b: &Path) -> Result<Report, Failure> {
        compare(&Compare { a: a.to_owned(), b: b.to_owned(), bar: Bar::default() })
    }

    #[test]
    fn a_record_is_named_as_on_every_machine() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("records/day/run.json");
        assert_eq!(shown(&here), "day/run.json");
        assert_eq!(shown(Path::new("/elsewhere/run.json")), "/elsewhere/run.json");
    }

    #[test]
    fn folders_are_compared_by_the_names_of_their_records() {
        let folders = [tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder")];
        for (folder, sealing) in folders.iter().zip([100.0, 150.0]) {
            let at = |name: &str| folder.path().join(name);
            write(&at("run-engine.json"), run_record(100.0, &SCATTER), "one");
            write(&at("run-per-batch.json"), run_record(sealing, &SCATTER), "one");
            write(&at("peers.json"), json!({"times_faster": 20}), "one");
        }
        let report = compared(folders[0].path(), folders[1].path()).expect("compared");
        let pairs = report.result["compared"].as_object().expect("pairs");
        assert_eq!(pairs.keys().collect::<Vec<_>>(), ["run-engine", "run-per-batch"]);
        assert_eq!(pairs["run-engine"]["total"]["finding"], "inside variance");
        assert_eq!(pairs["run-per-batch"]["parts"]["sealing"]["finding"], "slower");
        let why = compared(folders[0].path(), &folders[1].path().join("peers.json")).err().expect("refused");
        assert!(why.to_string().contains("two records or two folders"), "{why}");
    }

    #[test]
    fn what_else_differs_between_two_records_is_said() {
        let folder = tempfile::tempdir().expect("folder");
        let [a, b] = ["a.json", "b.json"].map(|name| folder.path().join(name));
        write(&a, run_record(100.0, &SCATTER), "one");
        write(&b, run_record(100.0, &SCATTER), "two");
        let report = compared(&a, &b).expect("compared");
        assert!(report.summary.contains("differs: build/revision \"one\" -> \"two\""), "{}", report.summary);
        let why = compared(&a, &folder.path().join("none.json")).err().expect("refused").to_string();
        assert!(why.contains("none.json"), "{why}");
        write(&b, json!({"benchmark": "peers"}), "one");
        let why = compared(&a, &b).err().expect("refused").to_string();
        assert!(why.contains("b.json") && why.contains("run or stages"), "{why}");
    }
}
