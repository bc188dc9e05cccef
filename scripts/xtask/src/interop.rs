//! Signatures across implementations: ours must verify with CIRCL (Go) and noble (JavaScript), and theirs with ours. The log of a running
//! service is read by torchwood (Go).

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::repo::Repo;
use crate::service::Service;
use crate::steps::Steps;
use crate::tools;

const GO: &str = "crypto/sign/interop/go";
/// The module with the reader of the log.
const TLOG: &str = "scripts/tlog";
const NODE: &str = "crypto/sign/interop/node";
/// The families that each has. CIRCL has no Falcon.
const FAMILIES_OF_CIRCL: [&str; 2] = ["ml-dsa-65", "slh-dsa-sha2-128f"];
const FAMILIES_OF_NOBLE: [&str; 3] = ["ml-dsa-65", "falcon-512-padded-r3", "slh-dsa-sha2-128f"];

/// Builds our side, and exchanges files with both.
pub(crate) fn run(repo: &Repo) -> Result<(), String> {
    let mut steps = Steps::new();
    let build = repo.cargo(&["build", "--locked", "--workspace", "--bins", "--examples"]);
    if steps.command("build", build) {
        add(repo, &mut steps);
    }
    steps.finish()
}

/// Adds the step, for which our side is built.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    let needed = [tools::go(repo), tools::node(repo), tools::npm(repo)];
    steps.step_with("signatures across implementations", needed, || exchange(repo));
    steps.step_with("log, by a client of tlog-tiles", [tools::go(repo)], || tiles(repo));
}

/// A running service's log, read by an unmodified client.
fn tiles(repo: &Repo) -> Result<String, String> {
    let service = Service::start(repo, "tlog-service")?;
    let (tenant, _) = service.tenant(repo)?;
    let mut read = repo.command("go");
    read.current_dir(repo.root().join(TLOG)).args(["run", "-mod=readonly", "."]);
    read.args([&service.public, &service.admin]).arg(service.certificate());
    read.arg(service.data.join("trust-root.json")).arg(service.data.join("admin.token")).arg(tenant);
    said(read)
}

/// Exchanges files with both. Returns their output.
fn exchange(repo: &Repo) -> Result<String, String> {
    let folder = repo.target_directory()?.join("interop");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let file = |name: &str| folder.join(name).display().to_string();
    let (ours, go, node) = (file("ours.json"), file("go.json"), file("node.json"));
    let example = |what: &str, file: &str, families: &[&str]| {
        let mut command = repo.command(repo.binary("examples/interop")?);
        command.args([what, file]).args(families);
        said(command)
    };
    example("write", &ours, &[])?;
    let mut circl = repo.command("go");
    circl.current_dir(repo.root().join(GO)).args(["run", "-mod=readonly", ".", &ours, &go]);
    let circl = said(circl)?;
    // Packages are fetched into the target directory, not into the source tree.
    let fetched = folder.join("node");
    copy(&repo.root().join(NODE), &fetched)?;
    let mut install = repo.command("npm");
    install.current_dir(&fetched).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    said(install)?;
    let mut noble = repo.command("node");
    noble.current_dir(&fetched).args(["interop.js", &ours, &node]);
    let noble = said(noble)?;
    example("check", &go, &FAMILIES_OF_CIRCL)?;
    example("check", &node, &FAMILIES_OF_NOBLE)?;
    Ok(format!("{circl}; {noble}; theirs verify with ours"))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("copying {}: {e}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    for name in ["package.json", "package-lock.json", "interop.js"] {
        fs::copy(from.join(name), to.join(name)).map_err(failed)?;
    }
    Ok(())
}

/// Runs to the end; the last line of its standard output, or what went wrong.
fn said(mut command: Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{}: {e}", command.get_program().to_string_lossy()))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("{}: {}\n{out}{err}", command.get_program().to_string_lossy(), output.status));
    }
    Ok(out.lines().last().unwrap_or_default().to_owned())
}
