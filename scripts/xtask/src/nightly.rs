//! The nightly toolchain, beside the one that the repository is pinned to: Miri and libFuzzer's instrumentation come
//! with no other.

use crate::repo::Repo;

/// Pinned, so that what is found changes with the sources alone.
pub(crate) const TOOLCHAIN: &str = "nightly-2026-04-20";

/// The version of its Miri; the toolchain is installed if it is missing.
///
/// # Errors
/// When it cannot be had.
pub(crate) fn find_or_install(repo: &Repo) -> Result<String, String> {
    let version = || {
        let output = repo.cargo_of(TOOLCHAIN, &["miri", "--version"]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    if let Some(version) = version() {
        return Ok(version);
    }
    println!(
        "Miri is not installed: rustup installs {TOOLCHAIN} with it, beside the toolchain of the repository"
    );
    let mut install = repo.command("rustup");
    install.args(["toolchain", "install", TOOLCHAIN, "--profile", "minimal", "--component", "miri,rust-src"]);
    let status = install.arg("--no-self-update").status().map_err(|error| format!("rustup: {error}"))?;
    if !status.success() {
        return Err(format!("rustup toolchain install {TOOLCHAIN}: {status}"));
    }
    version().ok_or_else(|| format!("{TOOLCHAIN} has no Miri"))
}
