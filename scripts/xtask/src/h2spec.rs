//! HTTP/2 as others check it: h2spec sends the public listener of a running service frames that RFC 9113 and RFC 7541 forbid, and checks
//! how it reacts.

use crate::repo::Repo;
use crate::service::Service;
use crate::steps::Steps;
use crate::tools;

/// The module that pins h2spec and its dependencies.
const MODULE: &str = "scripts/h2spec";
const PROGRAM: &str = "github.com/summerwind/h2spec/cmd/h2spec";
/// Tests in that version.
const TESTS: u32 = 145;

/// Adds the step, with the server in the target directory.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    steps.step_with("HTTP/2 (h2spec)", [tools::go(repo)], || run(repo));
}

fn run(repo: &Repo) -> Result<String, String> {
    let service = Service::start(repo, "h2spec-service")?;
    let port = service.public.rsplit(':').next().unwrap_or_default();
    let mut command = repo.command("go");
    command.current_dir(repo.root().join(MODULE)).args(["tool", PROGRAM]);
    command.args(["--host", "127.0.0.1", "--port", port, "--tls", "--insecure", "--timeout", "20"]);
    let output = command.output().map_err(|cause| format!("go: {cause}"))?;
    let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    judge(&said).map_err(|why| format!("{why}\n{said}{error}"))
}

/// The last lines of the output, or the unexpected failures.
fn judge(said: &str) -> Result<String, String> {
    let last = said.lines().rev().find(|line| line.contains(" tests, ")).ok_or("h2spec did not end")?;
    let numbers = last.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse::<u32>().ok());
    let [tests, passed, skipped, failed] = numbers.collect::<Vec<_>>()[..] else {
        return Err(format!("another summary than expected: {last}"));
    };
    // Below this heading each failure is named once.
    let failures = said.rsplit_once("Failures:").map_or("", |(_, failures)| failures);
    let named = failures.lines().filter_map(|line| line.trim().strip_prefix('×')).map(str::trim);
    let named: Vec<&str> = named.collect();
    if !named.is_empty() {
        return Err(format!("failed: {}", named.join("; ")));
    }
    if (tests, passed, skipped, failed) != (TESTS, TESTS, 0, 0) {
        return Err(format!("of {TESTS} tests none may be left out: {last}"));
    }
    Ok(format!("all {TESTS} pass"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_tests_that_pass_pass() {
        assert_eq!(judge("145 tests, 145 passed, 0 skipped, 0 failed"), Ok("all 145 pass".to_owned()));
        let failed = "Failures: \n\n      × 2: Sends a PING frame\n        -> The endpoint MUST\n\n\
                      145 tests, 144 passed, 0 skipped, 1 failed\n";
        assert_eq!(judge(failed), Err("failed: 2: Sends a PING frame".to_owned()));
        for wrong in [
            "0 failed\n",
            "3 tests, 3 passed, 0 skipped, 0 failed",
            "145 tests, 144 passed, 1 skipped, 0 failed",
            "145 tests, 143 passed, 0 skipped, 2 failed",
        ] {
            assert!(judge(wrong).is_err(), "{wrong}");
        }
    }
}
