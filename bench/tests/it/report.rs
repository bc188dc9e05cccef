//! What the tests of reports share.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use serde_json::Value;
use trefoil_bench::{Population, Report};

/// The embedding sets.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

/// Proofs take seconds, so they are made once, and kept between test runs.
pub(crate) static POPULATION: LazyLock<Arc<Population>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-world");
    Arc::new(Population::new(32, &folder, 2).expect("proofs"))
});

/// The object at `pointer`, which must have exactly these keys.
pub(crate) fn assert_keys(report: &Report, pointer: &str, keys: &[&str]) {
    let object = report.result.pointer(pointer).and_then(Value::as_object).expect(pointer);
    let mut found: Vec<&str> = object.keys().map(String::as_str).collect();
    let mut expected = keys.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{pointer}");
}

pub(crate) fn number(report: &Report, pointer: &str) -> f64 {
    report.result.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}"))
}
