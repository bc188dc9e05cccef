//! The clients that are not Rust, tested with their own tools: Node for TypeScript, Python with maturin, and Chromium for
//! the page that verifies in a browser. A tool that is missing fails the step and says what to install.

use std::path::PathBuf;
use std::process::Command;

use crate::repo::Repo;
use crate::steps::Steps;

const TYPESCRIPT: &str = "crypto/clients/typescript";
const PYTHON: &str = "crypto/clients/python";
/// Names of the browser on Debian, elsewhere, and by its vendor.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// All of them, with the server that lies in the target directory.
pub(crate) fn run(repo: &Repo) -> Result<(), String> {
    let mut steps = Steps::default();
    add(repo, &mut steps);
    add_browser(repo, &mut steps);
    steps.finish()
}

/// Adds the steps that need no server.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    steps.step("TypeScript client", || typescript(repo));
    steps.step("Python client", || python(repo));
}

/// Adds the step that drives a browser against the server that was built.
pub(crate) fn add_browser(repo: &Repo, steps: &mut Steps) {
    steps.step("verification page in Chromium", || browser(repo));
}

fn typescript(repo: &Repo) -> Result<String, String> {
    let node = repo.version("node", "install Node 20.19 or later with npm, such as from nodejs.org")?;
    repo.version("npm", "install npm, which comes with Node from nodejs.org")?;
    npm(repo, &["ci", "--ignore-scripts", "--no-audit", "--no-fund"])?;
    npm(repo, &["test"])?;
    Ok(format!("Node {node}"))
}

fn python(repo: &Repo) -> Result<String, String> {
    let advice = "install Python 3.11 or later with venv, such as apt-get install python3 python3-venv";
    let version = repo.version("python3", advice)?;
    let environment = repo.target_directory()?.join("python-client");
    let program = |name: &str| environment.join("bin").join(name);
    execute(repo.command("python3").args(["-m", "venv"]).arg(&environment))
        .map_err(|why| format!("{why}; {advice}"))?;
    let pip =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "maturin>=1.9,<2", "pytest>=8"];
    execute(repo.command(program("python")).args(pip))?;
    let develop = ["develop", "--release", "--locked"];
    execute(within(repo, program("maturin"), PYTHON).args(develop).env("VIRTUAL_ENV", &environment))?;
    execute(within(repo, program("pytest"), PYTHON).args(["-q", "-p", "no:cacheprovider"]))?;
    Ok(version)
}

fn browser(repo: &Repo) -> Result<String, String> {
    let server = repo.binary("trefoil")?;
    let chromium = chromium(repo)?;
    let mut command = within(repo, PathBuf::from("npm"), TYPESCRIPT);
    execute(command.args(["run", "test:browser"]).env("TREFOIL", server).env("CHROMIUM", &chromium))?;
    Ok(chromium)
}

/// A browser on this machine. In continuous integration, and as the superuser of a Debian, it is installed.
fn chromium(repo: &Repo) -> Result<String, String> {
    let found = || BROWSERS.into_iter().find(|name| starts(repo, name)).map(str::to_owned);
    if let Some(name) = found() {
        return Ok(name);
    }
    let advice = "no Chromium on the path: apt-get install chromium, or install Chrome";
    if std::env::var_os("CI").is_none() {
        return Err(advice.to_owned());
    }
    let apt = |arguments: &[&str]| {
        execute(repo.command("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
            .map_err(|why| format!("{advice} ({why})"))
    };
    apt(&["update", "-qq"])?;
    apt(&["install", "-y", "-qq", "--no-install-recommends", "chromium"])?;
    found().ok_or_else(|| advice.to_owned())
}

fn starts(repo: &Repo, name: &str) -> bool {
    repo.command(name).arg("--version").output().is_ok_and(|output| output.status.success())
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
