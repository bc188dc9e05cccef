//! The files in `scripts/deploy/fleet`: a fleet in plain processes is started and logged in to; those for containers are read by the tools
//! that they are for, and compared with what the programs take.

mod containers;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::clients::fresh;
use crate::repo::Repo;
use crate::steps::{Steps, shown};
use crate::tools;
use containers::{Container, of_chart, of_compose, together};

const FOLDER: &str = "scripts/deploy/fleet";

/// Adds the steps, with the program in the target directory.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    let needed = [tools::postgresql(), tools::haproxy(repo), tools::curl(repo)];
    steps.step_with("a fleet in plain processes", needed, || start(repo));
    let needed = [tools::compose(repo), tools::haproxy(repo)];
    steps.step_with("a fleet in containers (docker-compose)", needed, || compose(repo));
    steps.step_with("a fleet in Kubernetes (helm)", [tools::helm(repo)], || chart(repo));
}

/// The script of the fleet, which verifies its logins itself.
fn start(repo: &Repo) -> Result<String, String> {
    let mut command = repo.command(format!("{FOLDER}/fleet"));
    // Below the ports that the system gives away, and others than those of a run beside this one.
    let port = 20_000 + std::process::id() % 200 * 50;
    command.arg("--once").arg("--program").arg(repo.binary("trefoil")?).args(["--port", &port.to_string()]);
    command.env("TREFOIL_KEYS_PRECOMPUTE", "brief").stdin(Stdio::null());
    let said = output(command)?;
    // The script asks them, and fails for shared keys; this is that it has asked.
    let unshared = said.matches(": no keys-shared\n").count();
    match (said.matches("decision match\n  issuer").count(), unshared) {
        (4, 3) => Ok("four logins verified, three of them through the balancer, the last after node 1 was killed; no request \
                      failed while node 3 was restarted; each node signs with keys of its own"
            .to_owned()),
        (logins, _) => Err(format!("{logins} of 4 logins, {unshared} of 3 nodes with keys of their own\n{said}")),
    }
}

/// What `prepare` makes, in a new folder.
fn prepared(repo: &Repo, name: &str) -> Result<std::path::PathBuf, String> {
    let state = fresh(repo, name)?.join("state");
    let mut prepare = repo.command(format!("{FOLDER}/prepare"));
    prepare.arg(&state).arg(repo.binary("trefoil")?);
    output(prepare)?;
    Ok(state)
}

fn quorum(state: &Path) -> Result<String, String> {
    let file = state.join("quorum");
    let line = fs::read_to_string(&file).map_err(|cause| format!("{}: {cause}", file.display()))?;
    Ok(line.trim_end().to_owned())
}

fn compose(repo: &Repo) -> Result<String, String> {
    let state = prepared(repo, "fleet-compose")?;
    let mut command = repo.command("docker-compose");
    // With the container that `up` does not start.
    command.args(["--profile", "keys", "-f", &format!("{FOLDER}/compose.yaml"), "config"]);
    command.env("QUORUM", quorum(&state)?);
    let containers = of_compose(&output(command)?)?;
    if !containers.iter().any(Container::makes_keys) {
        return Err("no container makes the nodes' keys".to_owned());
    }
    balancer(repo, &state, &containers)?;
    checked(repo, &state, &containers)
}

/// haproxy takes its settings with the environment that the container has. In the others' it looks up no names.
fn balancer(repo: &Repo, state: &Path, containers: &[Container]) -> Result<(), String> {
    let balancer = containers.iter().find(|container| container.name == "balancer").ok_or("no balancer")?;
    let mut command = repo.command("haproxy");
    command.args(["-c", "-f", &format!("{FOLDER}/haproxy.cfg")]).envs(balancer.environment.clone());
    // Any file of this form: only the container has that one.
    command.env("FLEET_CERTIFICATE", state.join("node-1/key-holder-client-certificate.pem"));
    output(command).map(drop)
}

fn chart(repo: &Repo) -> Result<String, String> {
    let state = prepared(repo, "fleet-chart")?;
    let values = state.join("values.yaml");
    let text = format!("quorum: {}\n", quorum(&state)?);
    fs::write(&values, text).map_err(|cause| format!("{}: {cause}", values.display()))?;
    let helm = |what: &[&str]| {
        let mut command = repo.command("helm");
        command.args(what).arg(format!("{FOLDER}/chart")).arg("--values").arg(&values);
        output(command)
    };
    helm(&["lint", "--strict", "--quiet"])?;
    let text = helm(&["template", "fleet"])?;
    match together(&text) {
        wrong if wrong.is_empty() => checked(repo, &state, &of_chart(&text)?),
        wrong => Err(wrong.join("\n")),
    }
}

/// Every container keeps the rules, and those of Trefoil start with settings that the program takes, on the ports that are written there.
fn checked(repo: &Repo, state: &Path, containers: &[Container]) -> Result<String, String> {
    let broken = |container: &Container| [container.breaches(), container.shares()].concat();
    let mut wrong: Vec<String> = containers.iter().flat_map(broken).collect();
    let is_program =
        |container: &&Container| container.image.starts_with("trefoil:") && !container.makes_keys();
    let own = containers.iter().filter(is_program);
    let mut programs = 0;
    for container in own {
        programs += 1;
        let settings =
            settings(repo, state, container).map_err(|why| format!("{}: {why}", container.name))?;
        wrong.extend(container.cuts(&settings));
        for (key, port) in container.ports() {
            let line = settings.lines().find(|line| line.starts_with(&format!("{key} = ")));
            if !line.is_some_and(|line| line.ends_with(&format!(":{port}\""))) {
                wrong.push(format!("{}: port {port} is not that of {key}: {line:?}", container.name));
            }
        }
    }
    if programs != 6 {
        wrong.push(format!("{programs} of 3 nodes and 3 key-holders"));
    }
    match wrong.is_empty() {
        true => Ok(format!("{} containers", containers.len())),
        false => Err(wrong.join("\n")),
    }
}

/// The settings with which the program would run in a container.
fn settings(repo: &Repo, state: &Path, container: &Container) -> Result<String, String> {
    let seat = container.name.rsplit('-').next().unwrap_or_default();
    let file = |argument: &String| match argument.as_str() {
        "/etc/trefoil/trefoil.toml" => repo.root().join("scripts/deploy/trefoil.toml"),
        "/etc/trefoil/key-holder.toml" => state.join(format!("key-holder-{seat}.toml")),
        other => other.into(),
    };
    let mut command = Command::new(repo.binary("trefoil")?);
    command
        .args(container.arguments.iter().map(file))
        .arg("--print-config")
        .envs(container.environment.clone());
    output(command)
}

/// What a command that must succeed prints.
fn output(mut command: Command) -> Result<String, String> {
    let done = command.output().map_err(|cause| format!("{}: {cause}", shown(&command)))?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    match done.status.success() {
        true => Ok(said),
        false => {
            let error = String::from_utf8_lossy(&done.stderr);
            Err(format!("{}: {}\n{said}{error}", shown(&command), done.status))
        }
    }
}
