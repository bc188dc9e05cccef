//! The service against its own description: schemathesis sends a running service requests that the description allows and requests that
//! it forbids, and checks each answer against it.

use std::fs;

use serde_json::Value;
use trefoil_testing::Scale;

use crate::clients::{self, execute, said};
use crate::repo::Repo;
use crate::service::Service;
use crate::steps::Steps;
use crate::tools;

/// Pinned, because other versions report other faults: a new finding must come from a change of ours.
const PACKAGE: &str = "schemathesis==4.32.5";
/// The Python with it, in the target directory.
const ENVIRONMENT: &str = "schemathesis";
const SETTINGS: &str = "scripts/testing/schemathesis.toml";
/// The tenant of the examples.
const EXAMPLE: &str = "11111111111111111111111111111111";

/// Adds the step, with the server in the target directory.
pub(crate) fn add(repo: &Repo, steps: &mut Steps, scale: Scale) {
    // Seconds for each listener, besides the cases that are the same in every run.
    let seconds = if let Scale::Soak = scale { 900 } else { 45 };
    let name = "the API as it describes itself (schemathesis)";
    steps.step_with(name, [tools::python(repo)], || run(repo, seconds));
}

fn run(repo: &Repo, seconds: u32) -> Result<String, String> {
    let environment = repo.target_directory()?.join(ENVIRONMENT);
    let python = clients::environment(repo, ENVIRONMENT)?;
    execute(clients::pip(repo, &python, "install").arg(PACKAGE))?;
    let service = Service::start(repo, "schemathesis-service")?;
    let (tenant, key) = service.tenant(repo)?;
    let listeners = [(&service.public, "api", &key), (&service.admin, "admin", &service.token()?)];
    let mut commands = Vec::new();
    for (address, which, token) in listeners {
        let description = environment.join(format!("{which}.json"));
        let admin: &[&str] = if which == "admin" { &["--admin"] } else { &[] };
        fs::write(&description, described(repo, admin, &tenant)?).map_err(|cause| cause.to_string())?;
        let mut command = repo.command(environment.join("bin/schemathesis"));
        command
            .arg("--config-file")
            .arg(repo.root().join(SETTINGS))
            .arg("run")
            .arg(&description)
            .args(["--url", address, "--checks=all", "--no-color", "--warnings=off"])
            .args([
                "--continue-on-failure",
                "--generation-database=none",
                "--workers=1",
                "--request-timeout=60",
            ])
            .arg(format!("--max-time={seconds}"))
            .arg(format!("--header=Authorization: Bearer {token}"))
            .arg("--tls-verify")
            .arg(service.certificate())
            .current_dir(environment.as_path());
        commands.push(command);
    }
    std::thread::scope(|both| {
        let running: Vec<_> = commands.iter_mut().map(|command| both.spawn(|| execute(command))).collect();
        let stopped = |_| Err("its thread stopped".to_owned());
        running.into_iter().map(|run| run.join().unwrap_or_else(stopped)).collect::<Result<Vec<_>, _>>()
    })?;
    Ok(PACKAGE.to_owned())
}

/// The program's description of a listener, without a field with which a single request may ask for gigabytes of memory: this machine
/// has other work. The tenant of the examples is replaced by one that the service has.
fn described(repo: &Repo, which: &[&str], tenant: &str) -> Result<String, String> {
    let mut command = repo.command(repo.binary("trefoil")?);
    command.arg("openapi").args(which);
    let mut document: Value =
        serde_json::from_str(&said(&mut command)?).map_err(|cause| cause.to_string())?;
    if let Some(policy) = document.pointer_mut("/components/schemas/Policy/properties") {
        let field = policy.as_object_mut().and_then(|fields| fields.remove("sessions_in_memory"));
        field.ok_or("a policy has no sessions_in_memory")?;
    }
    Ok(document.to_string().replace(EXAMPLE, tenant))
}
