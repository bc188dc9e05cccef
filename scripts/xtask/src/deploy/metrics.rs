//! The page of metrics of a running service, with its own key-holder and with three, as Prometheus' program judges it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::silent;
use crate::repo::Repo;
use crate::steps::shown;

/// How often a page is read until it has what it must have, with a pause between.
const TRIES: usize = 600;
const PAUSE: Duration = Duration::from_millis(100);
/// Counts of the key-holder, which the service reads once a second.
const COUNTED: &str = "trefoil_budget_trips_total{";

/// A program that ends with this value.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        self.0.kill().and_then(|()| self.0.wait()).map(drop).unwrap_or_default();
    }
}

/// The metrics of both services after a first login.
pub(super) fn check(repo: &Repo) -> Result<String, String> {
    let program = repo.binary("trefoil")?;
    for key_holders in [1, 3] {
        let folder = format!("trefoil-metrics-{key_holders}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).map_err(|cause| format!("{}: {cause}", folder.display()))?;
        let checked = Scene { program: &program, folder: &folder }.checked(key_holders);
        fs::remove_dir_all(&folder).map_err(|cause| format!("{}: {cause}", folder.display()))?;
        checked.map_err(|why| format!("with {key_holders} key-holder(s): {why}"))?;
    }
    Ok(String::new())
}

/// A program and the folder of one run of it.
struct Scene<'a> {
    program: &'a Path,
    folder: &'a Path,
}

impl Scene<'_> {
    fn failed(&self, cause: impl std::fmt::Display) -> String {
        format!("{}: {cause}", self.folder.display())
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn checked(&self, key_holders: usize) -> Result<(), String> {
        let mut serve = Command::new(self.program);
        serve.args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--data-dir"]);
        serve.arg(self.data());
        let mut up = String::new();
        let mut running = Vec::new();
        if key_holders == 3 {
            running = self.key_holders(&mut serve)?;
            up = "trefoil_key_holder_up{seat=\"3\"} 1".to_owned();
        }
        let (served, [public, admin]) = self.started(serve, ["public API", "admin API"])?;
        running.push(served);
        self.page(&admin, &["trefoil_ready 1", &up])?;
        let mut login = Command::new(self.program);
        login.arg("quickstart").current_dir(self.folder).arg("--data-dir").arg(self.data());
        login.args(["--service", &public, "--admin", &admin]);
        let done = login.output().map_err(|cause| self.failed(cause))?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            return Err(format!("{}: {}\n{said}", shown(&login), done.status));
        }
        let page = self.page(&admin, &[COUNTED, &up])?;
        let mut check = Command::new("promtool");
        let page = fs::File::open(page).map_err(|cause| self.failed(cause))?;
        check.args(["check", "metrics"]).stdin(page);
        silent(check).map(drop)
    }

    /// A program, and the addresses that follow these words in its first lines.
    fn started<const N: usize>(
        &self,
        mut command: Command,
        words: [&str; N],
    ) -> Result<(Served, [String; N]), String> {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut served = Served(child.map_err(|cause| self.failed(cause))?);
        let said = served.0.stdout.take().ok_or("no standard output")?;
        let mut lines = BufReader::new(said).lines().map_while(Result::ok);
        let mut addresses = [const { String::new() }; N];
        for (address, word) in addresses.iter_mut().zip(words) {
            let line = lines.find(|line| line.starts_with(word));
            let line = line.ok_or_else(|| format!("{} did not start", shown(&command)))?;
            line.trim_start_matches(word).trim().clone_into(address);
        }
        Ok((served, addresses))
    }

    /// Three of them, and what the service is told about them.
    fn key_holders(&self, serve: &mut Command) -> Result<Vec<Served>, String> {
        let three = self.folder.join("three");
        // Every address of 127.0.0.0/8 is this machine, so no process beside this one has these.
        let [_, a, b, c] = std::process::id().wrapping_mul(4).to_be_bytes();
        let addresses = [0, 1, 2].map(|seat| format!("127.{a}.{b}.{}:7446", c | seat));
        let mut init = Command::new(self.program);
        init.args(["key-holder", "init-quorum", "--dir"]).arg(&three).arg("--gateway").arg(self.data());
        init.arg("--listen").args(addresses);
        silent(init)?;
        let mut holders = Vec::new();
        for seat in 1..=3 {
            let mut holder = Command::new(self.program);
            holder.args(["key-holder", "--config"]).arg(three.join(format!("{seat}.toml")));
            let (held, [url]) = self.started(holder, ["key-holder"])?;
            serve.args(["--key-holder", &url]);
            holders.push(held);
        }
        Ok(holders)
    }

    /// The file with the page, once it has these words.
    fn page(&self, admin: &str, words: &[&str]) -> Result<PathBuf, String> {
        let file = self.folder.join("metrics.txt");
        let token = self.data().join("admin.token");
        let token = fs::read_to_string(token).map_err(|cause| self.failed(cause))?;
        let token = token.lines().next().unwrap_or_default();
        for _ in 0..TRIES {
            let mut scrape = Command::new("curl");
            scrape.args(["-sS", "--fail", "--cacert"]).arg(self.data().join("tls-certificate.pem"));
            scrape.arg("-o").arg(&file).args(["-H", &format!("authorization: Bearer {token}")]);
            scrape.arg(format!("{admin}/metrics"));
            silent(scrape)?;
            let page = fs::read_to_string(&file).map_err(|cause| self.failed(cause))?;
            if words.iter().all(|word| page.contains(word)) {
                return Ok(file);
            }
            sleep(PAUSE);
        }
        Err(format!("the page of metrics does not have {}", words.join(", ")))
    }
}
