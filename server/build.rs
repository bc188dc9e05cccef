//! Names the commit that a release is built from. A debug build names none, so that a commit rebuilds nothing while one works.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let commit =
        if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") { head() } else { None };
    // Not `TREFOIL_…`: Cargo also sets it when it runs the program, which would take it for a mistyped setting.
    println!("cargo::rustc-env=COMMIT_OF_BUILD={}", commit.as_deref().unwrap_or("unknown"));
}

fn head() -> Option<String> {
    for file in ["HEAD", "logs/HEAD"] {
        println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--git-path", file])?);
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// What git prints, if there is git and a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
