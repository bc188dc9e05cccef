//! nginx, haproxy and Caddy with the settings of `server/PROXIES.md` before the built server, and HTTP clients that keep their connections.

use crate::clients::{execute, fresh};
use crate::repo::Repo;
use crate::steps::Steps;
use crate::tools;

const SCRIPT: &str = "scripts/testing/proxies/proxies.py";

/// Adds the step, with the server in the target directory.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    let needed = [tools::python(repo), tools::nginx(repo), tools::haproxy(repo), tools::caddy(repo)];
    steps.step_with("proxies with the settings of the page", needed, || run(repo, &[]));
}

/// Adds the step that takes minutes.
pub(crate) fn add_pauses(repo: &Repo, steps: &mut Steps) {
    let needed = [
        tools::python(repo),
        tools::node(repo),
        tools::npm(repo),
        tools::go(repo),
        tools::java(repo),
        tools::nginx(repo),
        tools::haproxy(repo),
    ];
    steps.step_with("logins on kept connections with pauses", needed, || run(repo, &["--pauses"]));
}

fn run(repo: &Repo, more: &[&str]) -> Result<String, String> {
    let folder = fresh(repo, "proxies")?.join("run");
    let mut command = repo.command("python3");
    execute(command.arg(SCRIPT).arg(folder).arg(repo.binary("trefoil")?).args(more))?;
    Ok(String::new())
}
