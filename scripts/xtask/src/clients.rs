//! The clients in other languages: their packages, and their tests with their own tools against the built server. Node for TypeScript, Python
//! with pip, and Chromium for the pages.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::repo::Repo;
use crate::steps::{Steps, shown};
use crate::tools;

const TYPESCRIPT: &str = "crypto/clients/typescript";
const PYTHON: &str = "crypto/clients/python";
/// What runs the example of server/MODELS.md, and what it needs.
const MODEL: [&str; 2] = ["scripts/testing/model/model.py", "scripts/testing/model/requirements.txt"];
/// The environment of the Python client, in the target directory.
const PYTHON_ENVIRONMENT: &str = "python-client";
/// What a failed program printed last, for the summary at the end.
const LINES_OF_A_FAILURE: usize = 50;

/// Adds their steps, with the server in the target directory.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    let node = [tools::node(repo), tools::npm(repo)];
    steps.step_with("TypeScript client", node, || typescript(repo));
    steps.step_with("Python client", [tools::python(repo)], || python(repo));
    steps.step_with("a model of one's own (dlib)", [tools::python(repo), tools::npm(repo)], || model(repo));
    let needed = [tools::node(repo), tools::npm(repo), tools::chromium(repo)];
    steps.step_with("pages in Chromium", needed, || browser(repo));
}

/// The packages of both, in `target/packages`. If the tools of one are missing, the other is made, and the task fails and says what to install.
pub(crate) fn packages(repo: &Repo) -> Result<(), String> {
    let folder = fresh(repo, "packages")?;
    let mut steps = Steps::new();
    steps.step_with("package for npm", [tools::node(repo), tools::npm(repo)], || {
        npm(repo, &INSTALL)?;
        Ok(pack(repo, &folder)?.display().to_string())
    });
    steps.step_with("wheel for Python", [tools::python(repo)], || {
        let python = environment(repo, "python-packages")?;
        Ok(wheel(repo, &python, &folder, "--locked")?.display().to_string())
    });
    steps.finish()
}

/// The compiler that the README names, and the types of Node.
const OLDEST_COMPILER: [&str; 2] = ["typescript@5.4.5", "@types/node@20.19.43"];
/// What the TypeScript client needs, as its lock file has it.
const INSTALL: [&str; 4] = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];

fn typescript(repo: &Repo) -> Result<String, String> {
    npm(repo, &INSTALL)?;
    let mut test = within(repo, PathBuf::from("npm"), TYPESCRIPT);
    execute(test.arg("test").env("TREFOIL", repo.binary("trefoil")?))?;
    // A project with only the package.
    let project = fresh(repo, "typescript-project")?;
    let package = pack(repo, &project)?;
    std::fs::write(project.join("package.json"), "{\"private\": true}").map_err(|why| why.to_string())?;
    let install = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];
    execute(repo.command("npm").args(install).arg(package).current_dir(&project))?;
    const IMPORT: &str = "import { verify } from 'trefoil-attest'; import { Tenant } from 'trefoil-attest/client'; \
                          import { fetchWith } from 'trefoil-attest/node'; \
                          if (!verify || !Tenant || !fetchWith) process.exit(1)";
    execute(repo.command("node").args(["--input-type=module", "--eval", IMPORT]).current_dir(&project))?;
    // Its types, by the oldest compiler that reads them.
    execute(repo.command("npm").args(install).args(OLDEST_COMPILER).current_dir(&project))?;
    std::fs::write(project.join("use.mts"), IMPORT).map_err(|why| why.to_string())?;
    const CHECK: [&str; 8] =
        ["tsc", "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "use.mts"];
    execute(repo.command("npx").args(CHECK).current_dir(&project))?;
    Ok(String::new())
}

/// Makes the package for npm in `folder`.
fn pack(repo: &Repo, folder: &Path) -> Result<PathBuf, String> {
    let mut pack = within(repo, PathBuf::from("npm"), TYPESCRIPT);
    execute(pack.args(["pack", "--silent", "--pack-destination"]).arg(folder))?;
    packed(folder, "tgz")
}

fn python(repo: &Repo) -> Result<String, String> {
    let python = environment(repo, PYTHON_ENVIRONMENT)?;
    execute(pip(repo, &python, "install").args(["mypy>=1.18,<3", "pytest>=8", "numpy>=1.26,<3"]))?;
    // From the quick build.
    let wheel = wheel(repo, &python, &fresh(repo, "python-wheels")?, "--profile dev --locked")?;
    execute(pip(repo, &python, "install").args(["--force-reinstall", "--no-deps"]).arg(wheel))?;
    let mut test = within(repo, python, PYTHON);
    execute(
        test.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).env("TREFOIL", repo.binary("trefoil")?),
    )?;
    Ok(String::new())
}

/// Photographs, vectors, a tenant, logins: with the client that the step before this one installed.
fn model(repo: &Repo) -> Result<String, String> {
    let target = repo.target_directory()?;
    let python = target.join(PYTHON_ENVIRONMENT).join("bin/python");
    let [script, requirements] = MODEL;
    execute(pip(repo, &python, "install").args([
        "--require-hashes",
        "--only-binary",
        ":all:",
        "-r",
        requirements,
    ]))
    .map_err(|why| format!("{requirements}: {why}: is PyPI reachable?"))?;
    let mut command = repo.command(python);
    execute(
        command.arg(script).arg(target.join("model-photographs")).env("TREFOIL", repo.binary("trefoil")?),
    )?;
    Ok(String::new())
}

/// The program `python` of a new environment: the scripts of a copied one run in the original.
pub(crate) fn environment(repo: &Repo, name: &str) -> Result<PathBuf, String> {
    let environment = repo.target_directory()?.join(name);
    execute(repo.command("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
    Ok(environment.join("bin/python"))
}

pub(crate) fn pip(repo: &Repo, python: &Path, task: &str) -> Command {
    let mut command = repo.command(python);
    command.args(["-m", "pip", "--quiet", "--disable-pip-version-check", task]);
    command
}

/// Makes the wheel in `folder`. `options` are maturin's.
fn wheel(repo: &Repo, python: &Path, folder: &Path, options: &str) -> Result<PathBuf, String> {
    let mut wheel = pip(repo, python, "wheel");
    wheel.args(["--no-deps", "--wheel-dir"]).arg(folder).arg(repo.root().join(PYTHON));
    execute(wheel.env("MATURIN_PEP517_ARGS", options))?;
    packed(folder, "whl")
}

/// An empty folder in the target directory.
pub(crate) fn fresh(repo: &Repo, name: &str) -> Result<PathBuf, String> {
    let folder = repo.target_directory()?.join(name);
    let failed = |why: std::io::Error| format!("{}: {why}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(failed)?;
    }
    std::fs::create_dir_all(&folder).map_err(failed)?;
    Ok(folder)
}

/// The one file in `folder` with this ending.
fn packed(folder: &Path, ending: &str) -> Result<PathBuf, String> {
    let failed = |why: std::io::Error| format!("{}: {why}", folder.display());
    let paths = std::fs::read_dir(folder).map_err(failed)?.map(|entry| entry.map(|entry| entry.path()));
    let paths: Vec<PathBuf> = paths.collect::<Result<_, _>>().map_err(failed)?;
    match &paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .collect::<Vec<_>>()[..]
    {
        [one] => Ok(one.clone()),
        others => Err(format!("{} has {} packages, and one was made", folder.display(), others.len())),
    }
}

/// In a folder of its own, the packages of the TypeScript client may not be there yet.
fn browser(repo: &Repo) -> Result<String, String> {
    let (server, chromium) = (repo.binary("trefoil")?, tools::chromium(repo)?);
    npm(repo, &INSTALL)?;
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

/// Runs a program and shows what it prints; a failure repeats the end of it.
pub(crate) fn execute(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|why| format!("{name}: {why}"))?;
    let lines = BufReader::new(child.stdout.take().ok_or("no standard output")?).split(b'\n');
    let mut last = VecDeque::new();
    for line in lines.map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        println!("{line}");
        last.push_back(line);
        last.drain(..last.len().saturating_sub(LINES_OF_A_FAILURE));
    }
    let status = child.wait().map_err(|why| format!("{name}: {why}"))?;
    let last = Vec::from(last).join("\n");
    if status.success() { Ok(()) } else { Err(format!("{name}: {status}\n{last}")) }
}

/// What a program that must succeed prints.
pub(crate) fn said(command: &mut Command) -> Result<String, String> {
    let name = shown(command);
    let output = command.output().map_err(|why| format!("{name}: {why}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(said),
        false => Err(format!("{name}: {}\n{said}{}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}
