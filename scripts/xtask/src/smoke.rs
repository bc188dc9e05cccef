//! Short runs of the benchmark and of the demonstration, whose JSON output must have its keys. They show that
//! the programs run; the numbers of such short runs mean nothing.

use std::process::Stdio;

use serde_json::Value;

use crate::clients::execute;
use crate::repo::Repo;
use crate::service::Service;
use crate::steps::Steps;

/// One run: program, arguments, JSON pointers that its output must have.
struct Smoke {
    binary: &'static str,
    arguments: &'static [&'static str],
    pointers: &'static [&'static str],
}

const RUNS: [Smoke; 17] = [
    Smoke {
        binary: "trefoil-bench",
        arguments: &["sign", "--alone", "--falcon-salts", "10", "--json"],
        pointers: &["/falcon_salts/different", "/tier", "/host", "/build"],
    },
    // Whole sets: a score that differs anywhere fails the run.
    Smoke {
        binary: "trefoil-bench",
        arguments: &["exact", "--set", "lfw_facenet128", "--json"],
        pointers: &["/scores", "/equal", "/equal_to_plain", "/sha256", "/host", "/build"],
    },
    Smoke {
        binary: "trefoil-bench",
        arguments: &["exact", "--set", "lfw_facenet128", "--mode", "shared", "--json"],
        pointers: &["/scores", "/equal", "/equal_to_plain", "/mode"],
    },
    Smoke {
        binary: "trefoil-bench",
        arguments: &["liar", "--jobs", "2800", "--json"],
        pointers: &["/periods/day/strategies/quantiles/bits_told_max", "/periods/generation/allowed/bits"],
    },
    Smoke {
        binary: "trefoil-bench",
        arguments: &[
            "remote",
            "--iters",
            "20",
            "--warmup",
            "4",
            "--seconds",
            "0.1",
            "--repeats",
            "2",
            "--json",
        ],
        pointers: &["/local/decide/p99_us", "/process/bytes_sent_per_batch", "/two_of_three/batches_per_s"],
    },
    Smoke {
        binary: "trefoil-bench",
        arguments: &["exact", "--set", "lfw_dlib128", "--protocol", "enrol3", "--json"],
        pointers: &["/scores", "/equal_to_plain"],
    },
    Smoke {
        binary: "trefoil-bench",
        arguments: &[
            "stages", "--mode", "shared", "--users", "256", "--iters", "20", "--warmup", "4", "--json",
        ],
        pointers: &["/stages_us/match", "/bytes_per_batch", "/share_of_sequential_read", "/batches_wrong"],
    },
    Smoke {
        binary: "trefoil-bench",
        arguments: &["peers", "--iters", "5", "--users", "256", "--json"],
        pointers: &["/match_us", "/times_faster", "/batches_wrong"],
    },
    Smoke {
        binary: "trefoil-bench",
        arguments: &[
            "stages", "--users", "256", "--people", "32", "--iters", "20", "--warmup", "4", "--json",
        ],
        pointers: &["/stages_us", "/runs_us", "/users", "/tier"],
    },
    Smoke {
        binary: "trefoil-bench",
        arguments: &[
            "run",
            "--cache",
            "engine",
            "--seconds",
            "1",
            "--repeats",
            "1",
            "--warmup",
            "0.2",
            "--users",
            "256",
            "--people",
            "32",
            "--batches",
            "32",
            "--verify",
            "32",
            "--json",
        ],
        pointers: &["/auth_per_s", "/cache", "/verified", "/windows/0", "/stages_us/total"],
    },
    Smoke {
        binary: "trefoil-bench",
        arguments: &[
            "run",
            "--cache",
            "dashmap",
            "--seconds",
            "1",
            "--repeats",
            "1",
            "--warmup",
            "0.2",
            "--users",
            "256",
            "--people",
            "32",
            "--batches",
            "32",
            "--verify",
            "32",
            "--json",
        ],
        pointers: &["/auth_per_s", "/cache", "/verified", "/windows/0", "/stages_us/total"],
    },
    Smoke {
        binary: "trefoil-bench",
        arguments: &["run", "--canonical", "--short", "--popularity", "zipf", "--verify", "32", "--json"],
        pointers: &["/auth_per_s", "/long_window/worker_time", "/explained", "/warnings", "/warmup/flat"],
    },
    Smoke {
        binary: "trefoil-bench",
        arguments: &[
            "ladder",
            "--workers",
            "4",
            "--seconds",
            "0.01",
            "--repeats",
            "2",
            "--pipeline-repeats",
            "1",
            "--pipeline-seconds",
            "0.02",
            "--users",
            "32",
            "--people",
            "32",
            "--json",
        ],
        pointers: &[
            "/lookups/rungs/three_locks/of_raw/mean",
            "/lookups/rungs/per_worker/why",
            "/pipeline/rungs/three_locks/of_raw",
            "/pipeline/begins_to_bite/rungs",
        ],
    },
    Smoke {
        binary: "trefoil-bench",
        arguments: &[
            "overhead",
            "--seconds",
            "0.1",
            "--repeats",
            "2",
            "--users",
            "32",
            "--people",
            "32",
            "--json",
        ],
        pointers: &["/overhead_percent/mean", "/overhead_percent_cpu/high", "/mean_within_bar"],
    },
    Smoke {
        binary: "trefoil-bench",
        arguments: &["registry", "--repeats", "2", "--millis", "10", "--json"],
        pointers: &["/registries/counted_guard/t96", "/registries/arc_swap_cached/t2/cpu_ns_per_read_runs"],
    },
    Smoke {
        binary: "trefoil-bench",
        arguments: &["simulate", "--tries", "10", "--workers", "1,96", "--json"],
        pointers: &["/label", "/check/passed", "/check/points"],
    },
    Smoke {
        binary: "trefoil",
        arguments: &["demo", "--people", "24", "--json"],
        pointers: &[
            "/probes",
            "/decisions_checked",
            "/decisions_differing",
            "/attestations_verified",
            "/login",
        ],
    },
];

/// The examples that readers start from, as their first lines say to run them.
const EXAMPLES: [(&str, &str, &[&str]); 3] = [
    (
        "trefoil-attest",
        "verify",
        &[
            "crypto/attest/testdata/full.cbor",
            "crypto/attest/testdata/trust-root.json",
            "https://shop.example",
            "0303030303030303030303030303030303030303030303030303030303030303",
            "1800000010",
        ],
    ),
    ("trefoil-sign", "seal", &[]),
    ("trefoil-pipeline", "batch", &[]),
];

/// Adds one step per run.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    for (package, example, arguments) in EXAMPLES {
        let run =
            [&["run", "--locked", "--package", package, "--example", example, "--"], arguments].concat();
        steps.command(&format!("example {example}"), repo.cargo(&run));
    }
    steps.step("example login", || login(repo));
    for run in &RUNS {
        steps.step(&format!("{} {}", run.binary, run.arguments.join(" ")), || run.check(repo));
    }
}

/// The example that logs in, with what quickstart made at a service that was started for it.
fn login(repo: &Repo) -> Result<String, String> {
    let service = Service::start(repo, "example-login")?;
    let made = service.data.with_file_name("quickstart");
    let mut quickstart = repo.command(repo.binary("trefoil")?);
    quickstart.arg("quickstart").arg("--directory").arg(&made).args(["--service", &service.public]);
    quickstart.args(["--admin", &service.admin, "--data-dir"]).arg(&service.data);
    execute(quickstart.stdout(Stdio::null()))?;
    let run = ["run", "--locked", "--package", "trefoil-client", "--example", "login", "--"];
    execute(repo.cargo(&run).arg(&service.public).arg(service.certificate()).arg(&made))?;
    Ok(String::new())
}

impl Smoke {
    fn check(&self, repo: &Repo) -> Result<String, String> {
        let mut command = repo.command(repo.binary(self.binary)?);
        // They measure nothing, so the quick build will do.
        command.env("TREFOIL_TEST_ANY_BUILD", "1");
        let output = command.args(self.arguments).output().map_err(|e| format!("{}: {e}", self.binary))?;
        if !output.status.success() {
            return Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
        }
        let missing = missing(&output.stdout, self.pointers)?;
        if missing.is_empty() {
            Ok(String::new())
        } else {
            Err(format!("no {} in the output", missing.join(", ")))
        }
    }
}

fn missing<'a>(output: &[u8], pointers: &[&'a str]) -> Result<Vec<&'a str>, String> {
    let record: Value = serde_json::from_slice(output).map_err(|e| format!("the output is not JSON: {e}"))?;
    Ok(pointers.iter().filter(|pointer| record.pointer(pointer).is_none()).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_key_is_found() {
        assert_eq!(missing(b"{\"a\": {\"b\": 1}}", &["/a/b", "/a/c"]), Ok(vec!["/a/c"]));
        assert!(missing(b"not json", &[]).is_err());
    }
}
