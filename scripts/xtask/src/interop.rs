//! Signatures across implementations: ours must verify with CIRCL (Go) and noble (JavaScript), and theirs with ours. The log of a running
//! service is read by torchwood (Go).

use std::fs;
use std::process::Command;

use crate::clients::{execute, said};
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

/// Adds the steps, for which our side is built.
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
    last_said(read)
}

/// Exchanges files with both. Returns their output.
fn exchange(repo: &Repo) -> Result<String, String> {
    // Packages are fetched into the target directory, not into the source tree.
    let folder = repo.target_directory()?.join("interop");
    let fetched = folder.join("node");
    fs::create_dir_all(&fetched).map_err(|e| format!("{}: {e}", fetched.display()))?;
    let file = |name: &str| folder.join(name).display().to_string();
    let (ours, go, node) = (file("ours.json"), file("go.json"), file("node.json"));
    let example = |what: &str, file: &str, families: &[&str]| {
        let mut command = repo.command(repo.binary("examples/interop")?);
        command.args([what, file]).args(families);
        last_said(command)
    };
    example("write", &ours, &[])?;
    let mut circl = repo.command("go");
    circl.current_dir(repo.root().join(GO)).args(["run", "-mod=readonly", ".", &ours, &go]);
    let circl = last_said(circl)?;
    let files =
        ["package.json", "package-lock.json", "interop.js"].map(|name| repo.root().join(NODE).join(name));
    execute(repo.command("cp").args(files).arg(&fetched))?;
    let mut install = repo.command("npm");
    install.current_dir(&fetched).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    said(&mut install)?;
    let mut noble = repo.command("node");
    noble.current_dir(&fetched).args(["interop.js", &ours, &node]);
    let noble = last_said(noble)?;
    example("check", &go, &FAMILIES_OF_CIRCL)?;
    example("check", &node, &FAMILIES_OF_NOBLE)?;
    Ok(format!("{circl}; {noble}; theirs verify with ours"))
}

/// The last line that a program says, or what went wrong.
fn last_said(mut command: Command) -> Result<String, String> {
    Ok(said(&mut command)?.lines().last().unwrap_or_default().to_owned())
}
