//! The whole check, in the order of what is cheapest to know first.

use crate::repo::Repo;
use crate::steps::Steps;
use crate::{clients, deny, docs, fuzz, interop, miri, no_std, numbers, processor, smoke, tidy};

/// The crates that are built over either cache, over the baseline map. One command for both: the features of
/// their dependencies are then united nearly as in the whole workspace, and few are built anew.
const OVER_BASELINE: [&str; 9] = [
    "test",
    "--locked",
    "--release",
    "--no-fail-fast",
    "--package=trefoil-pipeline",
    "--package=trefoil-server",
    "--no-default-features",
    "--features",
    "trefoil-pipeline/cache-dashmap,trefoil-server/cache-dashmap",
];

/// Everything uses the release profile: one build of the dependencies serves all steps, and the tests of the
/// cryptography are far too slow without optimisation.
pub(crate) fn run(repo: &Repo) -> Result<(), String> {
    let mut steps = Steps::default();
    steps.step("tidy", || tidy::run(repo).map(|()| String::new()));
    steps.step("numbers in prose", || numbers::check(repo).map(|()| String::new()));
    steps.command("format", repo.cargo(&["fmt", "--all", "--check"]));
    steps.command(
        "lints",
        repo.cargo(&[
            "clippy",
            "--locked",
            "--release",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
    );
    steps.step("kernels for this processor", || Ok(processor::note()));
    steps.tests("tests", repo.cargo(&["test", "--locked", "--release", "--workspace", "--no-fail-fast"]));
    steps.tests("tests over the baseline map", repo.cargo(&OVER_BASELINE));
    miri::add(repo, &mut steps);
    fuzz::add(repo, &mut steps);
    steps.step("verifier without the standard library", || no_std::run(repo));
    clients::add(repo, &mut steps);
    // The last test step left a server with the other cache in its place.
    let built =
        steps.command("build", repo.cargo(&["build", "--locked", "--release", "--workspace", "--bins"]));
    if built {
        smoke::add(repo, &mut steps);
        clients::add_browser(repo, &mut steps);
        steps.step("commands in README.md", || docs::run(repo).map(|()| String::new()));
    } else {
        // Older programs may lie in the target directory; running them would show nothing.
        steps.step("smoke runs", || Err("not run: the build failed".to_owned()));
    }
    steps.step("signatures across implementations", || interop::run(repo));
    steps.step("supply chain", || deny::run(repo));
    steps.finish()
}
