//! The crates that other programs depend on, made into packages: each names its version, its dependencies and its files.

use std::process::Command;

use crate::repo::Repo;

/// The crates that a client links, each before those that depend on it, with all their dependencies in this repository.
const PACKAGES: [&str; 10] = [
    "trefoil-types",
    "trefoil-attest",
    "trefoil-kernels",
    "trefoil-bfv",
    "trefoil-split",
    "trefoil-zkp",
    "trefoil-api",
    "trefoil-wallet",
    "trefoil-contents",
    "trefoil-client",
];

/// Makes the packages without building them; nothing is uploaded.
pub(crate) fn list(repo: &Repo) -> Command {
    let mut command = built(repo);
    command.arg("--no-verify");
    command
}

/// Makes the packages and builds each from its own files.
pub(crate) fn built(repo: &Repo) -> Command {
    let mut command = repo.cargo(&["package", "--allow-dirty", "--quiet"]);
    command.args(PACKAGES.iter().flat_map(|name| ["--package", name]));
    command
}
