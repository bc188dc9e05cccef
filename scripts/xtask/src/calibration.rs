//! The figures of `trefoil calibrate`, counted again by NumPy.

use crate::clients::{self, execute, said};
use crate::repo::Repo;
use crate::steps::Steps;
use crate::tools;

const SCRIPT: &str = "scripts/testing/calibration.py";

/// Adds the step, with the program in the target directory.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    steps.step_with("thresholds of the bundled models, by NumPy", [tools::python(repo)], || {
        let python = clients::environment(repo, "calibration")?;
        execute(clients::pip(repo, &python, "install").arg("numpy>=1.26,<3"))?;
        let counted = said(repo.command(python).arg(SCRIPT).arg(repo.binary("trefoil")?))?;
        Ok(counted.trim().to_owned())
    });
}
