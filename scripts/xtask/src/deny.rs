//! The supply-chain step: cargo-deny with the policy of deny.toml.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clients::execute;
use crate::repo::Repo;
use crate::steps::Steps;

/// Installed into the target directory when the machine has no cargo-deny. Built without optimisation: it
/// runs for a second, and building it is most of its cost.
const VERSION: &str = "0.20.2";
const QUICK_BUILD: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
];

const UNREACHABLE: &str = "advisory database unreachable: not checked";

/// Adds the step, which builds the program only where every step is required.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    let there = program(repo).map(|program| program.display().to_string());
    let needed = if steps.demand_all() { Ok(VERSION.to_owned()) } else { there };
    steps.step_with("supply chain", [needed], || run(repo));
}

/// Runs all checks; the note says whether advisories were checked.
pub(crate) fn run(repo: &Repo) -> Result<String, String> {
    let program = program(repo).or_else(|_| install(repo))?;
    execute(&mut deny(repo, &program, &["check", "bans", "licenses", "sources"]))?;
    // Fetching and checking are separate, so that only a failed fetch is excused.
    let fetched = deny(repo, &program, &["fetch", "db"]).output().map_err(|e| format!("cargo-deny: {e}"))?;
    if !fetched.status.success() {
        let why = String::from_utf8_lossy(&fetched.stderr);
        println!("\n!!!! {UNREACHABLE}\n{why}");
        return if is_unreachable(&why) {
            Ok(UNREACHABLE.to_owned())
        } else {
            Err("cargo-deny fetch db".to_owned())
        };
    }
    execute(&mut deny(repo, &program, &["check", "advisories"]))?;
    Ok("advisories checked".to_owned())
}

/// Whether a fetch failed because there is no network.
fn is_unreachable(stderr: &str) -> bool {
    stderr.contains("failed to fetch advisory database")
}

fn deny(repo: &Repo, program: &PathBuf, arguments: &[&str]) -> Command {
    let mut command = repo.command(program);
    command.args(["--all-features", "--color", "never", "--log-level", "error"]).args(arguments);
    command
}

/// The program, where this machine has it or an earlier run built it.
fn program(repo: &Repo) -> Result<PathBuf, String> {
    let built = tools(repo)?.join("bin").join(format!("cargo-deny{}", std::env::consts::EXE_SUFFIX));
    let has = |program: &Path| {
        repo.command(program).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    [PathBuf::from("cargo-deny"), built]
        .into_iter()
        .find(|program| has(program))
        .ok_or_else(|| "no cargo-deny: `cargo xtask deny` builds it, or cargo install cargo-deny".to_owned())
}

fn tools(repo: &Repo) -> Result<PathBuf, String> {
    Ok(repo.target_directory()?.join("tools"))
}

fn install(repo: &Repo) -> Result<PathBuf, String> {
    let tools = tools(repo)?;
    println!("cargo-deny is not installed: building {VERSION} into {}", tools.display());
    let mut install = repo.cargo(&["install", "cargo-deny", "--version", VERSION, "--locked", "--root"]);
    install.arg(&tools).envs(QUICK_BUILD).env_remove("CARGO_TARGET_DIR").env_remove("RUSTFLAGS");
    execute(&mut install)?;
    program(repo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failed_download_is_forgiven() {
        assert!(is_unreachable(
            "[ERROR] failed to fetch advisory database https://... with cli: failed to clone"
        ));
        assert!(!is_unreachable("[ERROR] failed to read config deny.toml"));
    }
}
