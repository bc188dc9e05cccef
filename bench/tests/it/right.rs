//! A benchmark by its words on the command line, whose outputs must be right, and what is in its result.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The embedding sets.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

/// The result.
pub(crate) struct Right(pub(crate) Value);

pub(crate) fn right(words: &str) -> Right {
    let report = trefoil_bench::cli::report(words).unwrap_or_else(|failure| panic!("{words}: {failure}"));
    assert_eq!(report.problem, None, "{words}");
    assert!(!report.summary.is_empty(), "{words}");
    Right(report.result)
}

impl Right {
    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or_else(|| panic!("{pointer}"))
    }

    pub(crate) fn number(&self, pointer: &str) -> f64 {
        self.at(pointer).as_f64().unwrap_or_else(|| panic!("{pointer}"))
    }

    pub(crate) fn list(&self, pointer: &str) -> &[Value] {
        self.at(pointer).as_array().unwrap_or_else(|| panic!("{pointer}"))
    }

    /// The object at `pointer` must have exactly these keys.
    pub(crate) fn has_keys(&self, pointer: &str, keys: &[&str]) {
        let object = self.at(pointer).as_object().unwrap_or_else(|| panic!("{pointer}"));
        let mut found: Vec<&str> = object.keys().map(String::as_str).collect();
        let mut expected = keys.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{pointer}");
    }
}
