//! The files in `scripts/deploy` and the service's metrics, checked by the programs that read them: Prometheus and systemd.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::fleet;
use crate::repo::Repo;
use crate::steps::{Steps, shown};
use crate::tools;

const FOLDER: &str = "scripts/deploy";

/// All of them, with the server in the target directory.
pub(crate) fn run(repo: &Repo) -> Result<(), String> {
    let mut steps = Steps::new();
    add(repo, &mut steps);
    steps.finish()
}

/// Adds the steps.
pub(crate) fn add(repo: &Repo, steps: &mut Steps) {
    let folder = repo.root().join(FOLDER);
    steps.step_with("rules and configuration for Prometheus", [tools::promtool(repo)], || {
        let promtool = |arguments: &[&str]| {
            let mut command = Command::new("promtool");
            command.args(arguments).current_dir(folder.join("prometheus"));
            silent(command)
        };
        promtool(&["check", "rules", "alerts.yml"])?;
        // The credential files that it names are on the machine that scrapes.
        promtool(&["check", "config", "--syntax-only", "prometheus.yml"])?;
        promtool(&["check", "config", "--syntax-only", "../fleet/prometheus.yml"])
    });
    steps.step_with("metrics of a running service", [tools::promtool(repo), tools::curl(repo)], || {
        metrics(repo)
    });
    steps.step_with("units for systemd", [tools::systemd_analyze(repo)], || verify(&folder.join("systemd")));
    fleet::add(repo, steps);
}

/// A service that ends with this value.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        self.0.kill().and_then(|()| self.0.wait()).map(drop).unwrap_or_default();
    }
}

/// The metrics of a service after a first login.
fn metrics(repo: &Repo) -> Result<String, String> {
    let program = repo.binary("trefoil")?;
    let folder = std::env::temp_dir().join(format!("trefoil-metrics-{}", std::process::id()));
    let (data, page) = (folder.join("data"), folder.join("metrics.txt"));
    let failed = |cause: std::io::Error| format!("{}: {cause}", folder.display());
    fs::create_dir_all(&folder).map_err(failed)?;
    let mut serve = Command::new(&program);
    serve
        .args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--data-dir"])
        .arg(&data);
    let mut served = Served(serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?);
    let said = served.0.stdout.take().ok_or("no standard output")?;
    let mut lines = BufReader::new(said).lines().map_while(Result::ok);
    let mut address = |name: &str| {
        let line = lines.find(|line| line.starts_with(name)).ok_or("the service did not start")?;
        Ok::<_, String>(line.trim_start_matches(name).trim().to_owned())
    };
    let (public, admin) = (address("public API")?, address("admin API")?);
    let mut login = Command::new(&program);
    login.arg("quickstart").current_dir(&folder).arg("--data-dir").arg(&data);
    login.args(["--service", &public, "--admin", &admin]);
    let done = login.output().map_err(failed)?;
    if !done.status.success() {
        return Err(format!("{}: {}\n{}", shown(&login), done.status, String::from_utf8_lossy(&done.stderr)));
    }
    let token = fs::read_to_string(data.join("admin.token")).map_err(failed)?;
    let token = token.lines().next().unwrap_or_default();
    let mut scrape = Command::new("curl");
    scrape.args(["-sS", "--fail", "--cacert"]).arg(data.join("tls-certificate.pem")).arg("-o").arg(&page);
    scrape.args(["-H", &format!("authorization: Bearer {token}"), &format!("{admin}/metrics")]);
    silent(scrape)?;
    let mut check = Command::new("promtool");
    check.args(["check", "metrics"]).stdin(fs::File::open(&page).map_err(failed)?);
    let note = silent(check)?;
    drop(served);
    fs::remove_dir_all(&folder).map_err(failed)?;
    Ok(note)
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
