//! Dependency direction, read from `cargo metadata` with every feature on.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Finding;

/// Which crates of the workspace each crate may name in its manifest, in any dependency table. This is the
/// figure of ARCHITECTURE.md as data, without the prefix that all their names have. The absence of bfv from the pipeline
/// and the server is what keeps raw scores out of their reach.
const MAY_NAME: [(&str, &str); 28] = [
    ("types", ""),
    ("kernels", ""),
    ("bfv", "kernels"),
    // A wallet links it: no server code, and only the part of the scheme that splits a vector.
    ("split", "bfv"),
    ("matching", "bfv kernels split"),
    ("attest", ""),
    ("attest-python", "attest"),
    ("sign", "attest kernels"),
    ("zkp", "attest kernels"),
    // Vector loads of shared words, and large pages.
    ("cache", "kernels"),
    ("contents", ""),
    ("pipeline", "attest cache kernels matching sign zkp"),
    // The formats that the service stores, only with their feature.
    ("storage", "attest contents matching"),
    ("postgres", "attest contents matching storage"),
    ("host", "contents storage"),
    ("key-holder", "contents host matching storage"),
    ("api", "attest"),
    // A person's device links it.
    ("wallet", "api attest split zkp"),
    ("client", "api attest contents split wallet"),
    ("issuer", "api sign storage wallet zkp"),
    // The service without its HTTP interface, and without the bodies of that interface.
    ("service", "attest cache contents host key-holder matching pipeline sign storage wallet zkp"),
    (
        "server",
        "api attest cache contents host key-holder matching pipeline postgres service sign storage wallet zkp",
    ),
    (
        "cli",
        "api attest client contents dataset host issuer key-holder matching pipeline postgres server service sign \
         storage split wallet zkp",
    ),
    ("dataset", "matching"),
    ("lab", "cache"),
    // A PostgreSQL server of its own for `fleet`.
    (
        "bench",
        "api attest bfv cache client dataset host issuer kernels key-holder lab matching pipeline server service sign \
         storage testing wallet zkp",
    ),
    ("testing", ""),
    ("xtask", "testing"),
];

/// Further crates that the tests of a crate may name. None for the pipeline and the server.
const TESTS_MAY_NAME: [(&str, &str); 4] = [
    ("service", "issuer"),
    ("dataset", "bfv"),
    // A wallet's tests need an issuer, which signs roots and gives credentials.
    ("wallet", "issuer"),
    ("wallet", "sign"),
];
const PREFIX: &str = "trefoil-";
/// The crate of names of tenants, subjects, sessions and batches, which every crate may use.
const OF_ALL: &str = "types";
/// Crates that all tests may name, but no program.
const OF_TESTS: &str = "testing";

/// Crates that each crate must not link, directly or through others (except as development dependencies).
const MUST_NOT_LINK: [(&str, &str); 8] = [
    // A client links it.
    ("trefoil-attest", "aws-lc-rs aws-lc-sys hyper rusqlite tokio"),
    // A browser can link it.
    ("trefoil-api", "aws-lc-rs aws-lc-sys hyper rusqlite tokio trefoil-zkp"),
    // It touches no file, network or clock.
    ("trefoil-wallet", "hyper mio rusqlite tokio trefoil-sign"),
    // A program that logs people in links no server.
    (
        "trefoil-client",
        "axum rusqlite trefoil-host trefoil-key-holder trefoil-matching trefoil-pipeline trefoil-service",
    ),
    // Another operator runs it: no template store, no signer, no HTTP.
    ("trefoil-key-holder", "axum hyper tokio trefoil-postgres trefoil-service trefoil-sign trefoil-zkp"),
    // It knows no runtime, no network and no files.
    ("trefoil-pipeline", "axum hyper mio rusqlite tokio"),
    // The contention laboratory can be built on another machine without HTTP and a database.
    (
        "trefoil-lab",
        "axum hyper rusqlite tokio trefoil-api trefoil-client trefoil-issuer trefoil-key-holder trefoil-server \
         trefoil-service trefoil-storage",
    ),
    // The crate above serves it over HTTP; it does not depend on that crate.
    ("trefoil-service", "axum h2 http http-body hyper hyper-util tower trefoil-server"),
];

/// Crates that a crate must not name in any table of its manifest, although crates below it link them: Rust code can use only crates that
/// its manifest declares. The service stores and decides; the layers around it read JSON and speak TLS.
const MUST_NOT_NAME: [(&str, &str); 1] = [("trefoil-service", "rustls serde serde_json tokio-rustls toml")];

/// Checks the workspace described by `metadata`.
pub(super) fn check(metadata: &Value) -> Result<Vec<Finding>, String> {
    let mut findings = named(metadata)?;
    findings.extend(linked(metadata)?);
    Ok(findings)
}

fn named(metadata: &Value) -> Result<Vec<Finding>, String> {
    let rules: BTreeMap<&str, &str> = MAY_NAME.into_iter().collect();
    let members: BTreeSet<&str> =
        array(&metadata["workspace_members"])?.iter().filter_map(Value::as_str).collect();
    let mut findings = Vec::new();
    for package in array(&metadata["packages"])? {
        if !package["id"].as_str().is_some_and(|id| members.contains(id)) {
            continue;
        }
        let name = text(&package["name"])?;
        let own = name.strip_prefix(PREFIX).unwrap_or(name);
        let Some(allowed) = rules.get(own) else {
            findings.push(Finding::error(name, 0, "new crate: give it a row in the dependency rules"));
            continue;
        };
        let banned = MUST_NOT_NAME.iter().filter(|(crate_name, _)| *crate_name == name);
        let banned: Vec<&str> = banned.flat_map(|(_, banned)| banned.split_whitespace()).collect();
        for dependency in array(&package["dependencies"])? {
            let other = text(&dependency["name"])?;
            if banned.contains(&other) {
                findings.push(Finding::error(name, 0, format!("must not name {other}")));
            }
            let Some(ours) = other.strip_prefix(PREFIX).filter(|ours| *ours != OF_ALL) else { continue };
            let for_tests =
                dependency["kind"] == "dev" && (ours == OF_TESTS || TESTS_MAY_NAME.contains(&(own, ours)));
            if !for_tests && !allowed.split_whitespace().any(|allowed| allowed == ours) {
                findings.push(Finding::error(name, 0, format!("must not depend on {other}")));
            }
        }
    }
    Ok(findings)
}

fn linked(metadata: &Value) -> Result<Vec<Finding>, String> {
    let mut names = BTreeMap::new();
    for package in array(&metadata["packages"])? {
        names.insert(text(&package["id"])?, text(&package["name"])?);
    }
    let mut links: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in array(&metadata["resolve"]["nodes"])? {
        let mut to = Vec::new();
        for dependency in array(&node["deps"])? {
            // `kind` is null for an ordinary dependency, else "dev" or "build".
            if array(&dependency["dep_kinds"])?.iter().any(|kind| kind["kind"].is_null()) {
                to.push(text(&dependency["pkg"])?);
            }
        }
        links.insert(text(&node["id"])?, to);
    }
    let mut findings = Vec::new();
    for (crate_name, banned) in MUST_NOT_LINK {
        let start = names.iter().find(|(_, name)| **name == crate_name).map(|(id, _)| *id);
        let mut pending: Vec<&str> = start.into_iter().collect();
        let mut seen = BTreeSet::new();
        while let Some(id) = pending.pop() {
            if !seen.insert(id) {
                continue;
            }
            pending.extend(links.get(id).into_iter().flatten());
        }
        let reached: BTreeSet<&str> = seen.iter().filter_map(|id| names.get(id).copied()).collect();
        for other in banned.split_whitespace().filter(|other| reached.contains(other)) {
            findings.push(Finding::error(
                crate_name,
                0,
                format!("must not link {other}: see cargo tree -i {other}"),
            ));
        }
    }
    Ok(findings)
}

fn array(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().ok_or_else(|| "cargo metadata has an unknown shape".to_owned())
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| "cargo metadata has an unknown shape".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A workspace in which `from` names and links `to`, with the given kind of dependency.
    fn edge(from: &str, to: &str, kind: Value) -> Value {
        json!({
            "workspace_members": [from],
            "packages": [
                {"id": from, "name": from, "dependencies": [{"name": to, "kind": kind}]},
                {"id": to, "name": to, "dependencies": []},
            ],
            "resolve": {"nodes": [
                {"id": from, "deps": [{"pkg": to, "dep_kinds": [{"kind": kind}]}]},
                {"id": to, "deps": []},
            ]},
        })
    }

    fn count(metadata: &Value) -> usize {
        check(metadata).expect("metadata of the expected shape").len()
    }

    /// Claim M24: The service's code cannot name the function that decrypts scores.
    #[test]
    fn a_direction_that_the_figure_does_not_show_is_found() {
        assert_eq!(count(&edge("trefoil-pipeline", "trefoil-matching", Value::Null)), 0);
        for (from, to) in [
            ("trefoil-pipeline", "trefoil-bfv"),
            ("trefoil-server", "trefoil-bfv"),
            ("trefoil-service", "trefoil-bfv"),
            ("trefoil-service", "trefoil-api"),
            ("trefoil-service", "trefoil-client"),
            ("trefoil-zkp", "trefoil-cache"),
            ("trefoil-cache", "trefoil-attest"),
            ("trefoil-attest", "trefoil-zkp"),
            ("trefoil-server", "trefoil-bench"),
            ("trefoil-server", "trefoil-xtask"),
        ] {
            assert_eq!(count(&edge(from, to, Value::Null)), 1, "{from} -> {to}");
            assert_eq!(count(&edge(from, to, json!("dev"))), 1, "{from} -> {to} (dev)");
        }
    }

    #[test]
    fn a_dependency_allowed_for_tests_stays_one() {
        assert_eq!(count(&edge("trefoil-dataset", "trefoil-bfv", json!("dev"))), 0);
        assert_eq!(count(&edge("trefoil-dataset", "trefoil-bfv", Value::Null)), 1);
        assert_eq!(count(&edge("trefoil-server", "trefoil-testing", json!("dev"))), 0);
        assert_eq!(count(&edge("trefoil-server", "trefoil-testing", Value::Null)), 1);
    }

    /// Claim I4: `pipeline` links no runtime, network or database.
    #[test]
    fn a_banned_library_is_found_unless_only_tests_use_it() {
        assert_eq!(count(&edge("trefoil-attest", "aws-lc-rs", Value::Null)), 1);
        assert_eq!(count(&edge("trefoil-pipeline", "tokio", Value::Null)), 1);
        assert_eq!(count(&edge("trefoil-attest", "aws-lc-rs", json!("dev"))), 0);
    }

    #[test]
    fn the_laboratory_links_no_server() {
        for library in ["axum", "hyper", "rusqlite", "tokio"] {
            assert_eq!(count(&edge("trefoil-lab", library, Value::Null)), 1, "{library}");
        }
        // Refused as a name and as a link.
        assert_eq!(count(&edge("trefoil-lab", "trefoil-service", Value::Null)), 2);
        assert_eq!(count(&edge("trefoil-lab", "trefoil-cache", Value::Null)), 0);
    }

    /// Claim I2: `service` links no HTTP and names no JSON.
    #[test]
    fn the_service_links_no_http_and_names_no_json() {
        for library in ["axum", "h2", "http", "hyper", "tower"] {
            assert_eq!(count(&edge("trefoil-service", library, Value::Null)), 1, "{library}");
        }
        for library in ["serde", "serde_json", "rustls"] {
            assert_eq!(count(&edge("trefoil-service", library, Value::Null)), 1, "{library}");
            assert_eq!(count(&edge("trefoil-service", library, json!("dev"))), 1, "{library} (dev)");
            assert_eq!(count(&edge("trefoil-server", library, Value::Null)), 0, "{library}");
        }
        // It would already be refused as a name; here it is refused as a link.
        assert_eq!(count(&edge("trefoil-service", "trefoil-server", Value::Null)), 2);
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        assert_eq!(count(&edge("trefoil-new", "serde", Value::Null)), 1);
    }
}
