//! The files in `scripts/deploy` and the service's metrics, checked by the programs that read them: Prometheus and systemd.

mod metrics;

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::repo::Repo;
use crate::steps::{Steps, shown};
use crate::tools;
use crate::{containers, fleet};

const FOLDER: &str = "scripts/deploy";

/// Adds the steps, with the server in the target directory.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    let folder = repo.root().join(FOLDER);
    steps.step_with("alerts for Prometheus", [tools::promtool(repo)], || {
        let promtool = |task: &str, file: &str| {
            let mut command = Command::new("promtool");
            command.args([task, "rules", file]).current_dir(folder.join("prometheus"));
            silent(command)
        };
        promtool("check", "alerts.yml")?;
        promtool("test", "alerts_test.yml")
    });
    steps.step_with("metrics of a running service", [tools::promtool(repo), tools::curl(repo)], || {
        metrics::check(repo)
    });
    steps.step_with("units for systemd", [tools::systemd_analyze(repo)], || verify(&folder.join("systemd")));
    fleet::add(repo, steps);
    containers::add(repo, steps);
}

/// Checks the units, except for the program and its user, which this machine need not have.
fn verify(units: &Path) -> Result<String, String> {
    let failed = |cause: std::io::Error| format!("{}: {cause}", units.display());
    let copies = std::env::temp_dir().join(format!("trefoil-units-{}", std::process::id()));
    fs::create_dir_all(&copies).map_err(failed)?;
    let mut command = Command::new("systemd-analyze");
    command.arg("verify");
    for unit in fs::read_dir(units).map_err(failed)? {
        let unit = unit.map_err(failed)?;
        let text = fs::read_to_string(unit.path()).map_err(failed)?;
        let copy = copies.join(unit.file_name());
        fs::write(&copy, stood_in(&text)).map_err(failed)?;
        command.arg(copy);
    }
    let verified = silent(command);
    fs::remove_dir_all(&copies).map_err(failed)?;
    verified
}

/// A unit with a program and a user that every machine has.
fn stood_in(unit: &str) -> String {
    let line = |line: &str| match line.split_once('=') {
        Some((key @ ("User" | "Group"), _)) => format!("{key}=root\n"),
        _ => line.replace("/usr/bin/trefoil ", "/bin/true ") + "\n",
    };
    unit.lines().map(line).collect()
}

/// Runs a program that must succeed and print nothing: systemd-analyze reports an unknown setting but succeeds.
fn silent(mut command: Command) -> Result<String, String> {
    let done = command.output().map_err(|cause| format!("{}: {cause}", shown(&command)))?;
    let said = String::from_utf8_lossy(&done.stderr);
    if done.status.success() && said.trim().is_empty() {
        return Ok(String::new());
    }
    Err(format!("{}: {}\n{said}{}", shown(&command), done.status, String::from_utf8_lossy(&done.stdout)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_keeps_everything_but_its_program_and_user() {
        let unit = "[Service]\nUser=trefoil\nGroup=trefoil\nExecStart=/usr/bin/trefoil serve\nUMask=0077\n";
        let expected = "[Service]\nUser=root\nGroup=root\nExecStart=/bin/true serve\nUMask=0077\n";
        assert_eq!(stood_in(unit), expected);
    }
}
