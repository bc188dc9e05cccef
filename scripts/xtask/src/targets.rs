//! Crates checked for other machines than this one: the verifier for one without a standard library, the bodies of the API and the wallet
//! for a browser, the program for Linux on Arm. A build for this machine would accept a dependency that those lack, or code that only
//! some processors compile.

use crate::repo::Repo;
use crate::steps::Steps;
use crate::tools::{self, Found};

/// What is checked for a target.
struct Check {
    target: &'static str,
    what: &'static str,
    arguments: &'static [&'static str],
    /// Whether C code is compiled, too.
    cross_compiler: bool,
}

const CHECKS: [Check; 3] = [
    // A microcontroller (Arm Cortex-M4), for which there is `core` and `alloc` and no `std`.
    Check {
        target: "thumbv7em-none-eabihf",
        what: "what clients link",
        arguments: &["-p", "trefoil-types", "-p", "trefoil-attest", "--no-default-features"],
        cross_compiler: false,
    },
    // A browser.
    Check {
        target: "wasm32-unknown-unknown",
        what: "what clients link",
        arguments: &[
            "-p",
            "trefoil-types",
            "-p",
            "trefoil-attest",
            "-p",
            "trefoil-api",
            "-p",
            "trefoil-wallet",
        ],
        cross_compiler: false,
    },
    // Graviton, Ampere, a Raspberry Pi; NEON selects other code in Plonky3.
    Check {
        target: "aarch64-unknown-linux-gnu",
        what: "the program",
        arguments: &["-p", "trefoil-cli"],
        cross_compiler: true,
    },
];

/// A step for each target, which rustup installs where it is missing.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    for check in CHECKS {
        let name = format!("{}, on {}", check.what, check.target);
        match installed(repo, check.target) {
            Ok(found) if check.cross_compiler => {
                steps.step_with(&name, [found, tools::aarch64_gcc(repo)], || check.run(repo))
            }
            Ok(found) => steps.step_with(&name, [found], || check.run(repo)),
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

impl Check {
    fn run(&self, repo: &Repo) -> Result<String, String> {
        let check = [&["check", "--locked", "--target", self.target], self.arguments].concat();
        let status = repo.cargo(&check).status().map_err(|why| format!("cargo: {why}"))?;
        if status.success() { Ok(String::new()) } else { Err(format!("cargo check: {status}")) }
    }
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
