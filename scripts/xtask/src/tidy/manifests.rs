//! Rules over the manifests of the workspace and over the code map.

use super::Finding;
use crate::repo::Repo;

/// The one crate with lints of its own, because it may contain `unsafe`.
const OWN_LINTS: &str = "crypto/kernels/Cargo.toml";

/// Checks every member manifest and that ARCHITECTURE.md names every crate.
pub(super) fn check(repo: &Repo, files: &[String]) -> Result<Vec<Finding>, String> {
    let architecture = repo.read("ARCHITECTURE.md")?;
    let mut findings = Vec::new();
    for path in files.iter().filter(|path| path.ends_with("/Cargo.toml")) {
        let manifest = repo.read(path)?;
        findings.extend(lints(path, &manifest));
        findings.extend(listed(path, &manifest, &architecture));
    }
    Ok(findings)
}

/// The workspace lints forbid unsafe code; a crate that does not inherit them escapes.
fn lints(path: &str, manifest: &str) -> Option<Finding> {
    let table = section(manifest, "[lints]");
    let inherits = table.iter().any(|line| line.replace(' ', "") == "workspace=true");
    (path != OWN_LINTS && !inherits).then(|| {
        Finding::error(path, 0, "[lints] must say workspace = true: the workspace forbids unsafe code")
    })
}

fn listed(path: &str, manifest: &str, architecture: &str) -> Option<Finding> {
    let package = section(manifest, "[package]");
    let name = package.iter().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))?;
    (!architecture.contains(&format!("`{name}`")))
        .then(|| Finding::error(path, 0, format!("ARCHITECTURE.md does not name `{name}`")))
}

/// The lines of one table, up to the next table.
fn section<'a>(manifest: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = manifest.lines().map(str::trim).skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| !line.starts_with('[')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"trefoil-x\"\n\n[lints]\nworkspace = true\n\n[dependencies]\n";

    /// Claim V45: Unsafe code is confined to one crate: a lint of the workspace forbids it elsewhere.
    #[test]
    fn a_crate_outside_the_workspace_lints_is_found() {
        assert_eq!(lints("x/Cargo.toml", MANIFEST), None);
        assert!(
            lints("x/Cargo.toml", "[package]\nname = \"x\"\n[dependencies]\nworkspace = true\n").is_some()
        );
        assert_eq!(lints(OWN_LINTS, "[package]\nname = \"trefoil-kernels\"\n"), None);
    }

    #[test]
    fn a_crate_that_the_code_map_forgets_is_found() {
        assert_eq!(listed("x/Cargo.toml", MANIFEST, "the crate `trefoil-x` does"), None);
        assert!(listed("x/Cargo.toml", MANIFEST, "the crate `trefoil-xyz` does").is_some());
    }
}
