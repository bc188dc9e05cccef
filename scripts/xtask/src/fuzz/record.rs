//! The record of a long run, in the form of the other records: the command, the machine, and the results.

use std::fs;

use serde_json::{Value, json};

use super::{Report, Run, Target};
use crate::nightly::TOOLCHAIN;
use crate::repo::Repo;

const RECORD: &str = "bench/records/fuzz-attest.json";

/// Writes it.
pub(super) fn write(
    repo: &Repo,
    project: &str,
    target: &Target,
    asked: u64,
    run: &Run,
) -> Result<(), String> {
    let rustc = repo.said("rustup", &["run", TOOLCHAIN, "rustc", "--version"])?;
    let revision = repo.said("git", &["rev-parse", "HEAD"])?;
    // The record itself may be there from an earlier run.
    let changed = repo.said("git", &["status", "--porcelain", "--", ".", &format!(":!{RECORD}")])?;
    let build = json!({
        "profile": "release, debug assertions, overflow checks, no sanitizer",
        "revision": revision,
        "dirty": !changed.is_empty(),
        "rustc": rustc,
    });
    let value = json!({
        "format": "trefoil-bench/1",
        "benchmark": "fuzz",
        "command": format!("cargo xtask fuzz --executions {asked} --record"),
        "build": build,
        "host": host(),
        "fuzz": result(project, target, run),
    });
    let path = repo.root().join(RECORD);
    fs::write(&path, format!("{value:#}\n")).map_err(|e| format!("{}: {e}", path.display()))
}

fn result(project: &str, target: &Target, run: &Run) -> Value {
    let Run { seeds, report: Report { executions, edges }, took, findings, failure } = run;
    json!({
        "target": format!("{project}: {}", target.name),
        "executions": executions,
        "edges": edges,
        "seconds": took.as_secs(),
        "findings": findings,
        "failure": failure,
        "inputs": seeds,
        "length_max": target.length_max,
    })
}

/// The machine, as far as Linux says.
fn host() -> Value {
    let read = |path: &str| fs::read_to_string(path).ok();
    let model = read("/proc/cpuinfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        line.split_once(':').map(|(_, name)| name.trim().to_owned())
    });
    json!({
        "architecture": std::env::consts::ARCH,
        "cpu_model": model,
        "kernel": read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()),
        "logical_cpus": std::thread::available_parallelism().ok().map(usize::from),
        "operating_system": std::env::consts::OS,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_record_says_what_was_run_and_what_came_of_it() {
        let target = Target { name: "any", seeds: &[], length_max: 10, executions: 100_000, edges_min: 1000 };
        let report = Report { executions: 12_000_000, edges: 1500 };
        let took = Duration::from_millis(61_500);
        let run = Run { seeds: 250, report, took, findings: 1, failure: Some("exit status: 77".to_owned()) };
        let value = result("crypto/any/fuzz", &target, &run);
        let expected = json!({
            "target": "crypto/any/fuzz: any", "executions": 12_000_000, "edges": 1500, "seconds": 61,
            "findings": 1, "failure": "exit status: 77", "inputs": 250, "length_max": 10,
        });
        assert_eq!(value, expected);
    }
}
