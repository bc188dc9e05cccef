//! The white paper: typeset by Typst from `whitepaper/paper.typ` into `target/trefoil.pdf`.
//!
//! The compiler comes as a Python wheel, pinned by version and hash, with the fonts that it embeds. The same sources make
//! the same bytes.

pub(crate) mod bound;
pub(crate) mod source;

use std::path::{Path, PathBuf};

use crate::clients::{self, execute};
use crate::repo::Repo;
use crate::steps::Steps;
use crate::{numbers, tools};

const PAPER: &str = "whitepaper/paper.typ";
const WHEEL: &str = "whitepaper/requirements.txt";
/// The Python with the compiler, in the target directory.
const ENVIRONMENT: &str = "paper-compiler";

/// Compiles argument 1 within the root, argument 2, into argument 3, whose ending chooses the format.
const COMPILE: &str = "
import sys, typst
try:
    typst.compile(sys.argv[1], root=sys.argv[2], output=sys.argv[3], font_paths=[], ignore_system_fonts=True, ppi=110.0)
except typst.TypstError as error:
    sys.exit(error.diagnostic or error.message)
";

/// Writes the paper and says where.
pub(crate) fn run(repo: &Repo, asked: &[&str]) -> Result<(), String> {
    tools::python(repo)?;
    let summary = match asked {
        [] => build(repo)?,
        ["--png"] => {
            let pages = repo.target_directory()?.join("paper-pages");
            std::fs::create_dir_all(&pages).map_err(|e| format!("{}: {e}", pages.display()))?;
            compile(repo, &pages.join("{0p}.png"))?;
            pages.display().to_string()
        }
        _ => return Err("usage: cargo xtask paper [--png]".to_owned()),
    };
    println!("{summary}");
    Ok(())
}

/// Adds the step that builds it. Continuous integration must have what it needs.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    let name = "white paper";
    match tools::python(repo) {
        Err(why) if std::env::var_os("CI").is_some() => {
            steps.step(name, || Err(why));
        }
        python => {
            steps.step_with(name, [python], || build(repo));
        }
    }
}

fn build(repo: &Repo) -> Result<String, String> {
    numbers::check(repo)?;
    let pdf = repo.target_directory()?.join("trefoil.pdf");
    let again = pdf.with_file_name("trefoil-again.pdf");
    compile(repo, &pdf)?;
    compile(repo, &again)?;
    let same = bytes(&pdf)? == bytes(&again)?;
    std::fs::remove_file(&again).map_err(|e| format!("{}: {e}", again.display()))?;
    if same {
        Ok(format!("{}, {} bytes", pdf.display(), bytes(&pdf)?.len()))
    } else {
        Err("two compilations of the paper differ: look for a date or a random value in it".to_owned())
    }
}

fn compile(repo: &Repo, output: &Path) -> Result<(), String> {
    let python = compiler(repo)?;
    let mut command = repo.command(python);
    command.args(["-c", COMPILE, PAPER, "."]).arg(output);
    execute(&mut command).map_err(|why| format!("{PAPER} does not compile: {why}"))
}

/// A Python with the compiler, made anew if the pinned wheel has changed.
fn compiler(repo: &Repo) -> Result<PathBuf, String> {
    let environment = repo.target_directory()?.join(ENVIRONMENT);
    let python = environment.join("bin").join("python");
    let (stamp, wheel) = (environment.join("installed"), repo.read(WHEEL)?);
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wheel) {
        return Ok(python);
    }
    clients::environment(repo, ENVIRONMENT)?;
    let mut pip = clients::pip(repo, &python, "install");
    execute(pip.args(["--require-hashes", "--only-binary", ":all:", "-r", WHEEL]))
        .map_err(|why| format!("{WHEEL}: {why}: is PyPI reachable?"))?;
    std::fs::write(&stamp, wheel).map_err(|e| format!("{}: {e}", stamp.display()))?;
    Ok(python)
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}
