//! Short runs of the demonstration, and of the benchmarks that its own tests leave out, whose JSON output must have its keys. They
//! show that the programs run; the numbers of such short runs mean nothing.

use serde_json::Value;

use crate::clients::{execute, said};
use crate::repo::Repo;
use crate::service::Service;
use crate::steps::Steps;

/// One run: its command line without `--json`, and the JSON pointers that its output must have.
type Smoke = (&'static str, &'static [&'static str]);

const RUNS: [Smoke; 5] = [
    // A whole set: a score that differs anywhere fails the run.
    (
        "trefoil-bench exact --set lfw_facenet128",
        &["/scores", "/equal", "/equal_to_plain", "/sha256", "/host", "/build"],
    ),
    (
        "trefoil-bench remote --iters 20 --warmup 4 --seconds 0.1 --repeats 2",
        &["/local/decide/p99_us", "/job_bytes", "/two_of_three/batches_per_s"],
    ),
    (
        "trefoil-bench load --seconds 0.5 --rounds 1 --people 4 --connections 1,4",
        &["/closed/1/p99_ms", "/open/wanted_per_s"],
    ),
    (
        "trefoil-bench load --profile hostile --seconds 0.5 --rounds 1 --people 2 --connections 16",
        &["/idle_tcp/quiet/p99_ms", "/zero_window/attacked/p99_ratio", "/refused/exit_code"],
    ),
    (
        "trefoil demo --people 24",
        &["/probes", "/decisions_checked", "/decisions_differing", "/attestations_verified", "/login"],
    ),
];

/// The examples that readers start from, with the arguments that their first lines say.
const EXAMPLES: [(&str, &[&str]); 3] = [
    (
        "verify",
        &[
            "crypto/attest/testdata/full.cbor",
            "crypto/attest/testdata/trust-root.json",
            "https://shop.example",
            "0303030303030303030303030303030303030303030303030303030303030303",
            "1800000010",
        ],
    ),
    ("seal", &[]),
    ("batch", &[]),
];

/// Adds one step per run.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    for (example, arguments) in EXAMPLES {
        steps.step(&format!("example {example}"), || {
            execute(repo.command(repo.binary(&format!("examples/{example}"))?).args(arguments))?;
            Ok(String::new())
        });
    }
    steps.step("example login", || login(repo));
    for (line, pointers) in RUNS {
        steps.step(line, || check(repo, line, pointers));
    }
}

/// The example that calls a service, with the files of quickstart, at one that is started for it.
fn login(repo: &Repo) -> Result<String, String> {
    let service = Service::start(repo, "example-login")?;
    let made = service.quickstart(repo)?;
    let mut run = repo.command(repo.binary("examples/login")?);
    execute(run.arg(&service.public).arg(service.certificate()).arg(&made))?;
    Ok(String::new())
}

fn check(repo: &Repo, line: &str, pointers: &[&str]) -> Result<String, String> {
    let (program, arguments) = line.split_once(' ').ok_or("a command line without arguments")?;
    let mut command = repo.command(repo.binary(program)?);
    // They do not measure, so the quick build is enough.
    command.env("TREFOIL_TEST_ANY_BUILD", "1").args(arguments.split(' ')).arg("--json");
    let missing = missing(said(&mut command)?.as_bytes(), pointers)?;
    if missing.is_empty() {
        Ok(String::new())
    } else {
        Err(format!("no {} in the output", missing.join(", ")))
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
