//! Clients that generators of others make from the description: they are made, and compiled.

use trefoil_testing::Scale;

use crate::clients::{execute, fresh};
use crate::repo::Repo;
use crate::steps::Steps;
use crate::tools;

const SCRIPT: &str = "scripts/testing/generators/generators";

/// Adds the step, with the program in the target directory.
pub(crate) fn add(repo: &Repo, steps: &mut Steps, scale: Scale) {
    if let Scale::Soak = scale {
        let needed =
            [tools::go(repo), tools::java(repo), tools::maven(repo), tools::npm(repo), tools::python(repo)];
        steps.step_with("clients from the description", needed, || run(repo, "all"));
    } else {
        steps.step_with("clients from the description (Go)", [tools::go(repo)], || run(repo, "go"));
    }
}

fn run(repo: &Repo, which: &str) -> Result<String, String> {
    let folder = fresh(repo, "generators")?;
    execute(repo.command(SCRIPT).arg(folder).arg(repo.binary("trefoil")?).arg(which))?;
    Ok(String::new())
}
