//! The clients that are not Rust, tested with their own tools: Node for TypeScript, Python with maturin, and Chromium for
//! the page that verifies in a browser.

use std::path::PathBuf;
use std::process::Command;

use crate::repo::Repo;
use crate::steps::Steps;
use crate::tools;

const TYPESCRIPT: &str = "crypto/clients/typescript";
const PYTHON: &str = "crypto/clients/python";

/// All of them, with the server that lies in the target directory.
pub(crate) fn run(repo: &Repo) -> Result<(), String> {
    let mut steps = Steps::new();
    add(repo, &mut steps);
    add_browser(repo, &mut steps);
    steps.finish()
}

/// Adds the steps that need no server.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    let node = [tools::node(repo), tools::npm(repo)];
    steps.step_with("TypeScript client", node, || typescript(repo));
    steps.step_with("Python client", [tools::python(repo)], || python(repo));
}

/// Adds the step that drives a browser against the server that was built.
pub(crate) fn add_browser(repo: &Repo, steps: &mut Steps) {
    let needed = [tools::node(repo), tools::npm(repo), tools::chromium(repo)];
    steps.step_with("verification page in Chromium", needed, || browser(repo));
}

fn typescript(repo: &Repo) -> Result<String, String> {
    npm(repo, &["ci", "--ignore-scripts", "--no-audit", "--no-fund"])?;
    npm(repo, &["test"])?;
    Ok(String::new())
}

fn python(repo: &Repo) -> Result<String, String> {
    let environment = repo.target_directory()?.join("python-client");
    let program = |name: &str| environment.join("bin").join(name);
    execute(repo.command("python3").args(["-m", "venv"]).arg(&environment))?;
    let pip =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "maturin>=1.9,<2", "pytest>=8"];
    execute(repo.command(program("python")).args(pip))?;
    let develop = ["develop", "--profile", "dev", "--locked"];
    execute(within(repo, program("maturin"), PYTHON).args(develop).env("VIRTUAL_ENV", &environment))?;
    execute(within(repo, program("pytest"), PYTHON).args(["-q", "-p", "no:cacheprovider"]))?;
    Ok(String::new())
}

/// In a folder of its own, the packages of the TypeScript client may not be there yet.
fn browser(repo: &Repo) -> Result<String, String> {
    let (server, chromium) = (repo.binary("trefoil")?, tools::chromium(repo)?);
    npm(repo, &["ci", "--ignore-scripts", "--no-audit", "--no-fund"])?;
    let mut command = within(repo, PathBuf::from("npm"), TYPESCRIPT);
    execute(command.args(["run", "test:browser"]).env("TREFOIL", server).env("CHROMIUM", chromium))?;
    Ok(String::new())
}

fn npm(repo: &Repo, arguments: &[&str]) -> Result<(), String> {
    execute(within(repo, PathBuf::from("npm"), TYPESCRIPT).args(arguments))
}

fn within(repo: &Repo, program: PathBuf, folder: &str) -> Command {
    let mut command = repo.command(program);
    command.current_dir(repo.root().join(folder));
    command
}

fn execute(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|why| format!("{name}: {why}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name}: {status}")) }
}
