//! Crates checked for other machines than this one: the verifier for one without a standard library, the bodies of the API and the wallet
//! for a browser, the program for Linux on Arm. A build for this machine would accept a dependency that those lack, or code that only
//! some processors compile.

use crate::clients::execute;
use crate::repo::Repo;
use crate::steps::Steps;
use crate::tools::{self, Found};

/// What is checked: a target, and cargo's arguments.
const CHECKS: [(&str, &str, &str); 3] = [
    // A microcontroller (Arm Cortex-M4), for which there is `core` and `alloc` and no `std`.
    (
        "thumbv7em-none-eabihf",
        "what clients link",
        "-p trefoil-types -p trefoil-attest --no-default-features",
    ),
    // A browser.
    (
        "wasm32-unknown-unknown",
        "what clients link",
        "-p trefoil-types -p trefoil-attest -p trefoil-api -p trefoil-wallet",
    ),
    // Graviton, Ampere, a Raspberry Pi; NEON selects other code in Plonky3.
    (ARM, "the program", "-p trefoil-cli"),
];
/// The target for which C code is compiled too.
const ARM: &str = "aarch64-unknown-linux-gnu";

/// A step for each target.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    for (target, what, arguments) in CHECKS {
        let compiler = if target == ARM { tools::aarch64_gcc(repo) } else { Ok(String::new()) };
        steps.step_with(&format!("{what}, on {target}"), [installed(repo, target), compiler], || {
            let mut check = repo.cargo(&["check", "--locked", "--target", target]);
            execute(check.args(arguments.split(' '))).map(|()| target.to_owned())
        });
    }
}

fn installed(repo: &Repo, target: &str) -> Found {
    let installed = repo.said("rustup", &["target", "list", "--installed"])?;
    let is_there = installed.lines().any(|line| line == target);
    is_there.then(|| target.to_owned()).ok_or_else(|| format!("no {target}: rustup target add {target}"))
}
