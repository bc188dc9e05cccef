//! The interpreter that finds undefined behaviour and data races, over the unit tests of the cache and of the kernels that
//! threads share memory through.
//!
//! The interpreted code of both has no unsafe blocks. The check looks for uses of atomics that fail on a machine with a weaker
//! memory model, and for pointers made from numbers. It does not check aliasing rules: only unsafe code can break them, and
//! tracking them for a thousand atomics behind one reference takes most of the time.

use crate::nightly::{self, TOOLCHAIN};
use crate::repo::Repo;
use crate::steps::Steps;
use std::process::Command;

/// Random test data, clocks and schedules are the same in every run, because the interpreter is isolated from the machine.
const FLAGS: &str = "-Zmiri-strict-provenance -Zmiri-disable-stacked-borrows -Zmiri-env-set=PROPTEST_CASES=2 \
                     -Zmiri-env-set=PROPTEST_DISABLE_FAILURE_PERSISTENCE=true";
/// Unit tests of a crate, and which; the other kernels share nothing between threads.
const INTERPRETED: [(&str, &[&str]); 2] =
    [("trefoil-cache", &[]), ("trefoil-kernels", &["cells::", "counters::", "pages::"])];

/// Adds a step for each crate.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    if steps.step("Miri", || nightly::found_or_installed(repo)) {
        for (package, tests) in INTERPRETED {
            steps.tests(&format!("{package} under Miri"), interpreted(repo, package, tests));
        }
    }
}

fn interpreted(repo: &Repo, package: &str, tests: &[&str]) -> Command {
    let mut command =
        repo.cargo_of(TOOLCHAIN, &["miri", "test", "--locked", "--package", package, "--lib", "--"]);
    // The flags of a build do not suit the interpreter.
    command.args(tests).env("MIRIFLAGS", FLAGS).env_remove("RUSTFLAGS");
    command
}
