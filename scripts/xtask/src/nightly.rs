//! The nightly toolchain, beside the one that the repository is pinned to: only it has Miri and libFuzzer's
//! instrumentation.

use crate::repo::Repo;
use crate::tools::Found;

/// Pinned, so that findings change only with the sources.
pub(crate) const TOOLCHAIN: &str = "nightly-2026-04-20";

/// The version of its Miri, or why there is none.
pub(crate) fn found(repo: &Repo) -> Found {
    let output = repo.cargo_of(TOOLCHAIN, &["miri", "--version"]).output().ok();
    output
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .ok_or_else(|| format!("no {TOOLCHAIN} with Miri: `cargo xtask miri` installs it"))
}

/// The same; rustup installs the toolchain if it is missing.
pub(crate) fn found_or_installed(repo: &Repo) -> Found {
    found(repo).or_else(|_| {
        println!("rustup installs {TOOLCHAIN} with Miri, beside the toolchain of the repository");
        let mut install = repo.command("rustup");
        install.args(["toolchain", "install", TOOLCHAIN, "--profile", "minimal"]);
        install.args(["--component", "miri,rust-src", "--no-self-update"]);
        let status = install.status().map_err(|error| format!("rustup: {error}"))?;
        if !status.success() {
            return Err(format!("rustup toolchain install {TOOLCHAIN}: {status}"));
        }
        found(repo)
    })
}
