//! Instructions and allocations of the hot path, counted under valgrind, where noise does not change them. The counts are committed, so
//! that a reviewer sees a change as a line.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::repo::Repo;
use crate::steps::{Steps, shown};
use crate::tools;

const COMMITTED: &str = "bench/guard.json";
/// The counted operations, and by how many thousandths their instructions may differ: a few times the effect of random places in a cache
/// and of the random numbers of workers and signers. ML-DSA-65 tries a random number of times, with a generator that takes no seed.
/// Allocations must be the same.
const OPERATIONS: [(&str, u64); 6] =
    [("batch", 1), ("cache_hit", 5), ("cache_miss", 5), ("cache_put", 5), ("digest", 1), ("seal", 30)];
/// The best tier that valgrind runs.
const TIER: &str = "avx2";
/// Operations for which the check is repeated with one more hash each time. It must fail then, or it guards nothing. A seal is not among
/// them: a hash costs less than its tolerance.
const SEEN_IN: [&str; 2] = ["batch", "digest"];
const EXTRA_HASH: &str = "--extra-hash";

/// Instructions and allocations of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    instructions: u64,
    allocations: u64,
}

/// Adds the step.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    steps.step_with("instructions of the hot path (valgrind)", [tools::valgrind(repo)], || {
        build(repo)?;
        let note = check(repo)?;
        see_extra_hash(repo)?;
        Ok(format!("{note}; one hash more in a batch is seen"))
    });
}

/// Builds the example, with the features of the whole workspace, as everything else. Not incrementally: that cuts crates into other units, in which other calls are inlined, and the counts
/// would depend on what was built before.
fn build(repo: &Repo) -> Result<(), String> {
    let mut build = repo.cargo(&["build", "--locked", "--workspace", "--example", "guard"]);
    let status = build.env("CARGO_INCREMENTAL", "0").status().map_err(|cause| cause.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", shown(&build))) }
}

/// Builds, and compares the counts with the committed ones, or with `--record` writes them.
///
/// # Errors
/// When an operation costs more or less than before.
pub(crate) fn run(repo: &Repo, asked: &[&str]) -> Result<(), String> {
    tools::valgrind(repo)?;
    build(repo)?;
    match asked {
        [] => check(repo).map(|note| println!("{note}")),
        [EXTRA_HASH] => see_extra_hash(repo).map(|seen| println!("{seen}")),
        ["--record"] => record(repo),
        _ => Err("usage: cargo xtask guard [--record | --extra-hash]".to_owned()),
    }
}

fn check(repo: &Repo) -> Result<String, String> {
    let committed = committed(repo)?;
    let mut moved = Vec::new();
    for (operation, tolerance) in OPERATIONS {
        let was = committed_cost(&committed, operation)?;
        let is = measured(repo, operation, &[])?;
        println!("{operation}: {is:?}, committed {was:?}");
        moved.extend(what_moved(operation, was, is, tolerance));
    }
    if moved.is_empty() {
        return Ok(format!("{} operations as committed", OPERATIONS.len()));
    }
    Err(format!("{}; if that is meant: cargo xtask guard --record", moved.join("; ")))
}

/// Shows that the check would fail if an operation hashed once more: returns its message.
fn see_extra_hash(repo: &Repo) -> Result<String, String> {
    let committed = committed(repo)?;
    let mut seen = Vec::new();
    for (operation, tolerance) in OPERATIONS.iter().filter(|(operation, _)| SEEN_IN.contains(operation)) {
        let was = committed_cost(&committed, operation)?;
        let is = measured(repo, operation, &[EXTRA_HASH])?;
        let moved = what_moved(operation, was, is, *tolerance);
        let missed = || format!("{operation} with one hash more passes: {is:?}, committed {was:?}");
        seen.push(moved.filter(|_| is.instructions > was.instructions).ok_or_else(missed)?);
    }
    Ok(format!("with one hash more the guard fails: {}", seen.join("; ")))
}

fn committed(repo: &Repo) -> Result<Value, String> {
    let path = repo.root().join(COMMITTED);
    let text = fs::read_to_string(path).map_err(|cause| format!("{COMMITTED}: {cause}"))?;
    serde_json::from_str(&text).map_err(|cause| format!("{COMMITTED}: {cause}"))
}

fn committed_cost(committed: &Value, operation: &str) -> Result<Cost, String> {
    let figure = |name: &str| {
        let value = &committed["operations"][operation][name];
        value.as_u64().ok_or_else(|| format!("{COMMITTED} has no {name} of {operation}"))
    };
    Ok(Cost { instructions: figure("instructions")?, allocations: figure("allocations")? })
}

fn record(repo: &Repo) -> Result<(), String> {
    let mut operations = BTreeMap::new();
    for (operation, tolerance) in OPERATIONS {
        let Cost { instructions, allocations } = measured(repo, operation, &[])?;
        operations.insert(operation, json!({ "instructions": instructions, "allocations": allocations, "tolerance_thousandths": tolerance }));
    }
    let committed = json!({ "profile": "dev", "tier": TIER, "operations": operations });
    let text = serde_json::to_string_pretty(&committed).map_err(|cause| cause.to_string())?;
    fs::write(repo.root().join(COMMITTED), text + "\n").map_err(|cause| format!("{COMMITTED}: {cause}"))
}

/// The counts of an operation that changed by more than the tolerance, and by how much.
fn what_moved(operation: &str, was: Cost, is: Cost, tolerance: u64) -> Option<String> {
    let mut moved = Vec::new();
    if was.instructions.abs_diff(is.instructions) * 1000 > was.instructions * tolerance {
        let per_cent = 100.0 * (is.instructions as f64 / was.instructions as f64 - 1.0);
        let allowed = tolerance as f64 / 10.0;
        moved.push(format!(
            "instructions {} -> {} ({per_cent:+.2} %, {allowed} % allowed)",
            was.instructions, is.instructions
        ));
    }
    if was.allocations != is.allocations {
        moved.push(format!("allocations {} -> {}", was.allocations, is.allocations));
    }
    (!moved.is_empty()).then(|| format!("{operation}: {}", moved.join(", ")))
}

/// The cost of one operation, done by the example with these flags.
fn measured(repo: &Repo, operation: &str, flags: &[&str]) -> Result<Cost, String> {
    let mut command = repo.command("valgrind");
    command.args(["--tool=callgrind", "--toggle-collect=guard::guarded*", "--callgrind-out-file=/dev/null"]);
    command.arg(repo.binary("examples/guard")?).arg(operation).args(flags);
    command.env("TREFOIL_TIER", TIER);
    let done = command.output().map_err(|cause| format!("{}: {cause}", shown(&command)))?;
    let (said, counted) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    if !done.status.success() {
        return Err(format!("{}: {}\n{counted}", shown(&command), done.status));
    }
    cost(&said, &counted).ok_or_else(|| format!("{}: no count in\n{said}{counted}", shown(&command)))
}

/// The repetitions, as the example prints them, and their instructions, as valgrind does.
fn cost(said: &str, counted: &str) -> Option<Cost> {
    let (times, allocations) = said.trim().strip_suffix(" allocations")?.split_once(" times, ")?;
    let times: u64 = times.parse().ok().filter(|times| *times > 0)?;
    let instructions = counted.lines().find_map(|line| line.split_once("Collected : "))?.1;
    let instructions = instructions.trim().parse::<u64>().ok().filter(|counted| *counted > 0)?;
    Some(Cost { instructions: instructions / times, allocations: allocations.parse::<u64>().ok()? / times })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_read_for_one_time_and_not_from_a_run_that_counted_nothing() {
        let counted = "==1== Events    : Ir\n==1== Collected : 3770160\n";
        let expected = Cost { instructions: 235_635, allocations: 2 };
        assert_eq!(cost("16 times, 32 allocations\n", counted), Some(expected));
        assert_eq!(cost("16 times, 32 allocations\n", "==1== Collected : 0\n"), None);
        assert_eq!(cost("", counted), None);
    }

    #[test]
    fn instructions_have_a_tolerance_and_allocations_have_none() {
        let was = Cost { instructions: 1000, allocations: 3 };
        let moved = |is: Cost| what_moved("digest", was, is, 5);
        for instructions in [995, 1005] {
            assert_eq!(moved(Cost { instructions, ..was }), None);
        }
        let expected = "digest: instructions 1000 -> 1006 (+0.60 %, 0.5 % allowed)";
        assert_eq!(moved(Cost { instructions: 1006, ..was }).as_deref(), Some(expected));
        assert!(moved(Cost { instructions: 994, ..was }).is_some());
        let expected = "digest: allocations 3 -> 4";
        assert_eq!(moved(Cost { allocations: 4, ..was }).as_deref(), Some(expected));
    }
}
