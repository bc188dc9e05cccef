//! The verifier built for a machine that has no standard library. On this one a dependency that links it would pass: the
//! library is there, whatever the crate itself declares.

use std::process::Command;

use crate::repo::Repo;

/// A microcontroller (Arm Cortex-M4), for which there is `core` and `alloc` and no `std`.
const TARGET: &str = "thumbv7em-none-eabihf";
const CHECK: [&str; 6] = ["check", "--locked", "--release", "-p", "trefoil-attest", "--no-default-features"];

/// Installs the target if it is missing, and checks; the note says whether it could.
///
/// # Errors
/// When the verifier needs the standard library, or the target is missing for another reason than the network.
pub(crate) fn run(repo: &Repo) -> Result<String, String> {
    if let Some(why) = missing(repo)? {
        println!("\n!!!! {TARGET} cannot be downloaded: not checked\n{why}");
        // Better than nothing: what the crate itself takes from the standard library is found here too.
        passes(repo.cargo(&CHECK))?;
        return Ok(format!("{TARGET} cannot be downloaded: not checked for it"));
    }
    passes(repo.cargo(&[&CHECK[..], &["--target", TARGET]].concat()))?;
    Ok(TARGET.to_owned())
}

/// Why the target cannot be had; nothing where it is installed now.
fn missing(repo: &Repo) -> Result<Option<String>, String> {
    let rustup = |arguments: &[&str]| {
        repo.command("rustup").arg("target").args(arguments).output().map_err(|why| format!("rustup: {why}"))
    };
    let installed = rustup(&["list", "--installed"])?;
    if String::from_utf8_lossy(&installed.stdout).lines().any(|line| line == TARGET) {
        return Ok(None);
    }
    println!("rustup installs {TARGET} for the toolchain of the repository");
    let added = rustup(&["add", TARGET])?;
    let why = String::from_utf8_lossy(&added.stderr).into_owned();
    match added.status.success() {
        true => Ok(None),
        false if is_unreachable(&why) => Ok(Some(why)),
        false => Err(format!("rustup target add {TARGET}: {why}")),
    }
}

/// Whether an installation failed for want of a network.
fn is_unreachable(stderr: &str) -> bool {
    stderr.contains("could not download file")
}

fn passes(mut command: Command) -> Result<(), String> {
    let status = command.status().map_err(|why| format!("cargo: {why}"))?;
    if status.success() { Ok(()) } else { Err(format!("the verifier needs the standard library: {status}")) }
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
