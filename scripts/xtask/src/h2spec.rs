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
/// Known failures, with their reasons.
const ALLOWED: [(&str, &str); 1] = [(
    "Sends invalid connection preface",
    "bytes that are no HTTP/2 are read as HTTP/1.1 and get its 400 before the connection closes, and h2spec reads that answer as a frame",
)];

/// The step alone.
pub(crate) fn run_alone(repo: &Repo) -> Result<(), String> {
    let mut steps = Steps::new();
    add(repo, &mut steps);
    steps.finish()
}

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
    let named: Vec<&str> = failures.lines().filter_map(|line| line.trim().strip_prefix('×')).collect();
    let is_allowed = |name: &&&str| ALLOWED.iter().any(|(allowed, _)| name.ends_with(allowed));
    let others: Vec<_> = named.iter().filter(|name| !is_allowed(name)).map(|name| name.trim()).collect();
    if !others.is_empty() {
        return Err(format!("failed: {}", others.join("; ")));
    }
    if (tests, skipped) != (TESTS, 0) || failed as usize != named.len() || passed + failed != tests {
        return Err(format!("of {TESTS} tests none may be left out: {last}"));
    }
    let known: Vec<_> = named.iter().map(|name| name.trim()).collect();
    Ok(format!("{passed} of {tests} pass; known: {}", known.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &str = "Failures: \n\n  3.5. HTTP/2 Connection Preface\n      × 2: Sends invalid connection preface\n        \
                         -> The endpoint MUST\n\nFinished in 0.3 seconds\n145 tests, 144 passed, 0 skipped, 1 failed\n";

    #[test]
    fn what_is_known_passes_and_anything_else_does_not() {
        assert!(judge(KNOWN).unwrap().starts_with("144 of 145 pass; known: 2: Sends invalid"));
        assert!(judge("145 tests, 145 passed, 0 skipped, 0 failed").is_ok());
        let other = KNOWN.replace("invalid connection preface", "a PING frame");
        assert_eq!(judge(&other), Err("failed: 2: Sends a PING frame".to_owned()));
        for wrong in [
            "0 failed\n",
            "3 tests, 3 passed, 0 skipped, 0 failed",
            "145 tests, 144 passed, 1 skipped, 0 failed",
        ] {
            assert!(judge(wrong).is_err(), "{wrong}");
        }
        let unnamed = KNOWN.replace("144 passed, 0 skipped, 1 failed", "143 passed, 0 skipped, 2 failed");
        assert!(judge(&unnamed).is_err());
    }
}
