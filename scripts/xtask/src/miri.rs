//! The interpreter that finds undefined behaviour and data races, over the unit tests of the cache and of the kernels that
//! threads share memory through.
//!
//! Neither has unsafe code where it is interpreted: what is looked for is a use of atomics that weaker memory than this
//! machine's would break, and a pointer that was made from a number. Rules of aliasing are not checked, since only unsafe
//! code breaks them, and keeping their books for a thousand atomics behind one reference takes most of the time.

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

/// # Errors
/// When the toolchain cannot be had, or a test fails.
pub(crate) fn run(repo: &Repo) -> Result<(), String> {
    let mut steps = Steps::new();
    add(repo, &mut steps);
    steps.finish()
}

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
    // Flags of a build are not for the interpreter.
    command.args(tests).env("MIRIFLAGS", FLAGS).env_remove("RUSTFLAGS");
    command
}
