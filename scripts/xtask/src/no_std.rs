//! What clients link, built for machines that are not this one: the verifier where there is no standard library, the bodies of the
//! API and the wallet in a browser. On this machine a dependency that needs more would pass.

use std::process::Command;

use crate::repo::Repo;

/// Targets, and what is checked for each: a microcontroller (Arm Cortex-M4), for which there is `core` and `alloc` and no `std`, and a
/// browser.
const CHECKS: [(&str, &[&str]); 2] = [
    ("thumbv7em-none-eabihf", &["-p", "trefoil-types", "-p", "trefoil-attest", "--no-default-features"]),
    (
        "wasm32-unknown-unknown",
        &["-p", "trefoil-types", "-p", "trefoil-attest", "-p", "trefoil-api", "-p", "trefoil-wallet"],
    ),
];

/// Installs targets that are missing, and checks; the note says for which it could.
///
/// # Errors
/// When a crate needs more than a target has, or a target is missing for another reason than the network.
pub(crate) fn run(repo: &Repo) -> Result<String, String> {
    let notes = CHECKS.map(|(target, what)| check(repo, target, what));
    let notes: Vec<String> = notes.into_iter().collect::<Result<_, _>>()?;
    Ok(notes.join(", "))
}

fn check(repo: &Repo, target: &str, what: &[&str]) -> Result<String, String> {
    let check = [&["check", "--locked", "--release"], what].concat();
    if let Some(why) = missing(repo, target)? {
        println!("\n!!!! {target} cannot be downloaded: not checked\n{why}");
        // Better than nothing: what the crate itself takes from the standard library is found here too.
        passes(repo.cargo(&check))?;
        return Ok(format!("{target} cannot be downloaded: not checked for it"));
    }
    passes(repo.cargo(&[&check[..], &["--target", target]].concat()))?;
    Ok(target.to_owned())
}

/// Why the target cannot be had; nothing where it is installed now.
fn missing(repo: &Repo, target: &str) -> Result<Option<String>, String> {
    let rustup = |arguments: &[&str]| {
        repo.command("rustup").arg("target").args(arguments).output().map_err(|why| format!("rustup: {why}"))
    };
    let installed = rustup(&["list", "--installed"])?;
    if String::from_utf8_lossy(&installed.stdout).lines().any(|line| line == target) {
        return Ok(None);
    }
    println!("rustup installs {target} for the toolchain of the repository");
    let added = rustup(&["add", target])?;
    let why = String::from_utf8_lossy(&added.stderr).into_owned();
    match added.status.success() {
        true => Ok(None),
        false if is_unreachable(&why) => Ok(Some(why)),
        false => Err(format!("rustup target add {target}: {why}")),
    }
}

/// Whether an installation failed for want of a network.
fn is_unreachable(stderr: &str) -> bool {
    stderr.contains("could not download file")
}

fn passes(mut command: Command) -> Result<(), String> {
    let status = command.status().map_err(|why| format!("cargo: {why}"))?;
    if status.success() { Ok(()) } else { Err(format!("a client cannot link it there: {status}")) }
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
