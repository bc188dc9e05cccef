//! The service names no body of the API: its lints list every one.

use super::Finding;
use crate::repo::Repo;

/// Where the bodies are.
const BODIES: [&str; 4] = ["lib", "batch", "encoding", "face"];
/// Words of the domain among them.
const WORDS: [&str; 1] = ["Scope"];
/// The lints of the service.
const LINTS: &str = "server/service/clippy.toml";

/// Checks that each body of `trefoil-api` is a type that the service's lints disallow.
pub(super) fn check(repo: &Repo) -> Result<Vec<Finding>, String> {
    let lints = repo.read(LINTS)?;
    let mut findings = Vec::new();
    for file in BODIES {
        let path = format!("server/api/src/{file}.rs");
        findings.extend(unlisted(&path, &repo.read(&path)?, &lints));
    }
    Ok(findings)
}

fn unlisted(path: &str, source: &str, lints: &str) -> Vec<Finding> {
    (1..)
        .zip(source.lines())
        .filter_map(|(number, line)| Some((number, public_type(line)?)))
        .filter(|(_, name)| !WORDS.contains(name))
        .filter(|(_, name)| !lints.contains(&format!("path = \"trefoil_api::{name}\"")))
        .map(|(number, name)| Finding::error(path, number, format!("{LINTS} does not disallow {name}")))
        .collect()
}

/// The type that a line declares.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "))?;
    rest.split(|c: char| !c.is_alphanumeric()).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_the_service_could_name_is_found() {
        let source = "pub struct Enrolled {\n}\npub enum Outcome<P> {\n}\npub enum Scope {\n}\nstruct Own;\n";
        let lints = "{ path = \"trefoil_api::Enrolled\", reason = \"a body\" }";
        let found = unlisted("a.rs", source, lints);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].to_string().contains("a.rs:3: server/service/clippy.toml does not disallow Outcome")
        );
    }
}
