//! The interpreter that finds undefined behaviour and data races, over the tests of the cache.
//!
//! Not part of `cargo xtask test`: it needs a nightly toolchain, and interpreted tests take minutes. The crate has no
//! unsafe code; what is looked for here is a use of atomics that weaker memory than this machine's would break.

use crate::repo::Repo;

/// Tests that start many threads or replay long traces: hours under the interpreter, and what they look for `loom` finds.
const SKIPPED: [&str; 3] = ["flight", "trials", "survives_a_flood"];

/// # Errors
/// When the toolchain is missing, with how to install it, or a test fails.
pub(crate) fn run(repo: &Repo) -> Result<(), String> {
    let installed = repo.cargo_of("nightly", &["miri", "--version"]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        return Err("Miri is missing: rustup toolchain install nightly --component miri,rust-src".to_owned());
    }
    let mut arguments = vec!["miri", "test", "--locked", "-p", "trefoil-cache", "--lib", "--"];
    arguments.extend(SKIPPED.iter().flat_map(|name| ["--skip", name]));
    let status = repo
        .cargo_of("nightly", &arguments)
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        .env("PROPTEST_CASES", "2")
        .status()
        .map_err(|error| format!("cargo +nightly miri: {error}"))?;
    if status.success() { Ok(()) } else { Err("Miri found something".to_owned()) }
}
