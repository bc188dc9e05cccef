//! The fleet of `scripts/deploy/fleet`, in plain processes: it is started and logged in to.

use std::process::Stdio;

use crate::clients::said;
use crate::repo::Repo;
use crate::steps::Steps;
use crate::tools;

/// Adds the step, with the program in the target directory.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    let needed = [tools::postgresql(), tools::haproxy(repo), tools::curl(repo)];
    steps.step_with("a fleet in plain processes", needed, || start(repo));
}

/// The script of the fleet, which verifies its logins itself.
fn start(repo: &Repo) -> Result<String, String> {
    let mut command = repo.command("scripts/deploy/fleet/fleet");
    command.arg("--once").arg("--program").arg(repo.binary("trefoil")?).args(["--port", &port().to_string()]);
    command.env("TREFOIL_KEYS_PRECOMPUTE", "brief").stdin(Stdio::null());
    let printed = said(&mut command)?;
    // The script asks them, and fails for shared keys; this is that it has asked.
    let unshared = printed.matches(": no keys-shared\n").count();
    match (printed.matches("decision match\n  issuer").count(), unshared) {
        (4, 3) => Ok("four logins verified, three of them through the balancer, the last after node 1 was killed; no request \
                      failed while node 3 was restarted; each node signs with keys of its own"
            .to_owned()),
        (logins, _) => Err(format!("{logins} of 4 logins, {unshared} of 3 nodes with keys of their own\n{printed}")),
    }
}

/// The first of 50 ports, below those that the system gives away, and others than those of a run beside this one.
pub(crate) fn port() -> u32 {
    20_000 + std::process::id() % 200 * 50
}
