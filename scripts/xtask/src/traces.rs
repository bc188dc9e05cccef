//! A program has the export of traces only if it is built with a feature.

use crate::repo::Repo;

/// The feature, as `cargo` takes it for the whole workspace.
pub(crate) const FEATURE: &str = "trefoil-cli/otlp";
/// How the names of the crates begin that only this feature links.
const CRATES: &str = "opentelemetry";

/// Checks that the default program links none of these crates, and that the feature links some, so that the check looks for the right ones.
pub(crate) fn absent(repo: &Repo) -> Result<String, String> {
    if let Some(line) = linked(repo, &[])?.first() {
        return Err(format!(
            "the default program links {line}: make it an optional dependency of the feature {FEATURE}"
        ));
    }
    let with_it = linked(repo, &["--features", FEATURE])?.len();
    match with_it {
        0 => Err(format!(
            "the feature {FEATURE} links no crate that begins with `{CRATES}`: name those that it links in scripts/xtask/src/traces.rs"
        )),
        count => Ok(format!("{count} crates only with {FEATURE}")),
    }
}

/// The crates of this kind that the program links.
fn linked(repo: &Repo, features: &[&str]) -> Result<Vec<String>, String> {
    let tree = ["tree", "--locked", "--package=trefoil-cli", "--edges=normal", "--prefix=none"];
    let output =
        repo.cargo(&[&tree[..], features].concat()).output().map_err(|why| format!("cargo: {why}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let listed = String::from_utf8_lossy(&output.stdout);
    let mut found: Vec<String> =
        listed.lines().filter(|line| line.starts_with(CRATES)).map(once).map(str::to_owned).collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// A line without the mark of a crate whose dependencies were listed before.
fn once(line: &str) -> &str {
    line.trim_end_matches(" (*)")
}
