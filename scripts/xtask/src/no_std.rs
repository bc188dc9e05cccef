//! The crates that clients link, built for other machines: the verifier for one without a standard library, the bodies of the API and
//! the wallet for a browser. A build for this machine would accept a dependency that needs more.

use crate::repo::Repo;
use crate::steps::Steps;
use crate::tools::Found;

/// Targets, and what is checked for each: a microcontroller (Arm Cortex-M4), for which there is `core` and `alloc` and no `std`, and a
/// browser.
const CHECKS: [(&str, &[&str]); 2] = [
    ("thumbv7em-none-eabihf", &["-p", "trefoil-types", "-p", "trefoil-attest", "--no-default-features"]),
    (
        "wasm32-unknown-unknown",
        &["-p", "trefoil-types", "-p", "trefoil-attest", "-p", "trefoil-api", "-p", "trefoil-wallet"],
    ),
];

/// A step for each target, which rustup installs where it is missing.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    for (target, what) in CHECKS {
        let name = format!("what clients link, on {target}");
        match installed(repo, target) {
            Ok(found) => steps.step_with(&name, [found], || check(repo, target, what)),
            Err(why) => steps.step(&name, || Err(why)),
        };
    }
}

/// These steps alone.
///
/// # Errors
/// When a crate needs more than a target has, or a target is missing for another reason than the network.
pub(crate) fn run(repo: &Repo) -> Result<(), String> {
    let mut steps = Steps::tolerant(false);
    add(repo, &mut steps);
    steps.finish()
}

fn check(repo: &Repo, target: &str, what: &[&str]) -> Result<String, String> {
    let check = [&["check", "--locked", "--target", target], what].concat();
    let status = repo.cargo(&check).status().map_err(|why| format!("cargo: {why}"))?;
    if status.success() { Ok(String::new()) } else { Err(format!("a client cannot link it there: {status}")) }
}

/// Whether the target is installed, after trying to install it.
fn installed(repo: &Repo, target: &str) -> Result<Found, String> {
    let rustup = |arguments: &[&str]| {
        repo.command("rustup").arg("target").args(arguments).output().map_err(|why| format!("rustup: {why}"))
    };
    let installed = rustup(&["list", "--installed"])?;
    if String::from_utf8_lossy(&installed.stdout).lines().any(|line| line == target) {
        return Ok(Ok(target.to_owned()));
    }
    println!("rustup installs {target} for the toolchain of the repository");
    let added = rustup(&["add", target])?;
    let why = String::from_utf8_lossy(&added.stderr).into_owned();
    match added.status.success() {
        true => Ok(Ok(target.to_owned())),
        false if is_unreachable(&why) => Ok(Err(format!("{target} cannot be downloaded: {why}"))),
        false => Err(format!("rustup target add {target}: {why}")),
    }
}

/// Whether an installation failed because there is no network.
fn is_unreachable(stderr: &str) -> bool {
    stderr.contains("could not download file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failed_download_is_forgiven() {
        let offline = "error: component download failed for rust-std-thumbv7em-none-eabihf: could not download file from \
                       'https://static.rust-lang.org/dist/...' to '...'";
        assert!(is_unreachable(offline));
        assert!(!is_unreachable("error: toolchain '1.95.0' does not support target 'thumbv7em-none-eabihf'"));
    }
}
