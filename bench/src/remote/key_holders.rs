//! Key-holder processes, each this program again, with their data directories, and the gateway's ends.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use trefoil_host::identity::Identity;
use trefoil_host::unix_s;
use trefoil_key_holder::cli::GATEWAY_IDENTITY;
use trefoil_key_holder::vault::SqliteVault;
use trefoil_key_holder::{Address, Bounds, Quorum, Remote};
use trefoil_matching::{KeyHolder, KeyHolding, Local};
use trefoil_storage::Supervisor;
use trefoil_storage::data_dir::DataDir;
use trefoil_storage::database::Survives;

use crate::Failure;

/// A time limit with room for a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
const BOUNDS: Bounds = Bounds { timeout: PATIENCE, connections: 64 };

/// The laxest policy, so that failures are counted and never refused.
const LIMITS: &str = "\n[policy]\nthreshold_min = -32768\nconsecutive_max = 4294967295\ndelay_s_min = 0\n\
                      failures_per_day_max = 4294967295\nfailures_per_generation_max = 4294967295\n\
                      attempts_per_day_max = 4294967295\nattempts_per_generation_max = 4294967295\n";

/// See the module.
pub(crate) struct KeyHolders {
    folder: TempDir,
    one: Process,
    three: Option<[Process; 3]>,
}

/// A key-holder process; killed when dropped.
struct Process {
    child: Child,
    address: Address,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl KeyHolders {
    /// One key-holder and, if wanted, three that decide together, beside others of this process, which are at the addresses before this one.
    pub(crate) fn start_at(first: u32, three: bool) -> Result<KeyHolders, Failure> {
        let folder = tempfile::tempdir().map_err(Failure::in_step("folder"))?;
        let at = |name: &str| folder.path().join(name);
        let config = at("one.toml");
        let text = format!("[server]\ndata_dir = {:?}\nlisten = \"{}\"\n{LIMITS}", at("one"), listen(first));
        fs::write(&config, text).map_err(Failure::in_step("configuration"))?;
        program(&["init", "--config", text_of(&config)?, "--gateway", text_of(&at("gateway-of-one"))?])?;
        let one = Process::start(&config)?;
        let three = if three { Some(KeyHolders::three(folder.path(), first + 1)?) } else { None };
        Ok(KeyHolders { folder, one, three })
    }

    fn three(folder: &Path, first: u32) -> Result<[Process; 3], Failure> {
        let (dir, gateway) = (folder.join("three"), folder.join("gateway-of-three"));
        let listen = [0, 1, 2].map(|seat| listen(first + seat));
        let [one, two, three] = listen.each_ref().map(String::as_str);
        let (at, gateway) = (text_of(&dir)?, text_of(&gateway)?);
        program(&["init-quorum", "--dir", at, "--gateway", gateway, "--listen", one, two, three])?;
        let start = |name: &str| {
            let config = dir.join(name);
            let text = fs::read_to_string(&config).map_err(Failure::in_step("configuration"))?;
            fs::write(&config, text + LIMITS).map_err(Failure::in_step("configuration"))?;
            Process::start(&config)
        };
        Ok([start("1.toml")?, start("2.toml")?, start("3.toml")?])
    }

    /// A key-holder in this process with a vault on the same disk, as careful as the others.
    pub(super) fn local(&self) -> Result<Arc<dyn KeyHolding>, Failure> {
        let vault = SqliteVault::open(
            &Supervisor::default(),
            &self.folder.path().join("vault.sqlite"),
            &rand::random(),
        );
        let vault = vault.map_err(Failure::in_step("vault"))?.with_attempts_surviving(Survives::PowerCut);
        let key_holder = KeyHolder::new(Arc::new(vault), &mut rand::rng(), unix_s());
        let key_holder = key_holder.map_err(Failure::in_step("key-holder"))?;
        Ok(Arc::new(Local::new(key_holder.into(), unix_s)))
    }

    /// Of the one: its address, its process, and the directory with the gateway's credentials.
    pub(crate) fn one(&self) -> (String, u32, PathBuf) {
        (self.one.address.to_string(), self.one.child.id(), self.folder.path().join("gateway-of-one"))
    }

    /// The one in another process.
    pub(crate) fn remote(&self) -> Result<Arc<dyn KeyHolding>, Failure> {
        Ok(Arc::new(self.connected(self.one.address.clone())?))
    }

    fn connected(&self, address: Address) -> Result<Remote, Failure> {
        let remote =
            Remote::start(&Supervisor::default(), address, self.identity("gateway-of-one")?, BOUNDS, None);
        let remote = remote.map_err(Failure::in_step("connection"))?;
        remote.wait_until_ready(Instant::now() + PATIENCE).map_err(Failure::in_step("key-holder"))?;
        Ok(remote)
    }

    /// The three.
    pub(super) fn quorum(&self) -> Result<Arc<dyn KeyHolding>, Failure> {
        let three = self.three.as_ref().ok_or_else(|| Failure::fault("no three key-holders were started"))?;
        Ok(Arc::new(self.joined(three.each_ref().map(|process| process.address.clone()))?))
    }

    fn joined(&self, [one, two, three]: [Address; 3]) -> Result<Quorum, Failure> {
        let identity = || self.identity("gateway-of-three");
        let at = [(one, identity()?), (two, identity()?), (three, identity()?)];
        let quorum =
            Quorum::start(&Supervisor::default(), at, BOUNDS).map_err(Failure::in_step("connection"))?;
        quorum.wait_until_ready(Instant::now() + PATIENCE).map_err(Failure::in_step("key-holders"))?;
        Ok(quorum)
    }

    fn identity(&self, gateway: &str) -> Result<Identity, Failure> {
        let directory = DataDir::open(&self.folder.path().join(gateway));
        let directory = directory.map_err(Failure::in_step("data directory"))?;
        Identity::open(&directory, GATEWAY_IDENTITY).map_err(Failure::in_step("identity"))
    }
}

impl Process {
    fn start(config: &Path) -> Result<Process, Failure> {
        let mut child = command()?
            .args(["--config", text_of(config)?])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Failure::in_step("key-holder process"))?;
        let mut line = String::new();
        let output = child.stdout.take().ok_or_else(|| Failure::fault("the key-holder has no output"))?;
        BufReader::new(output).read_line(&mut line).map_err(Failure::in_step("key-holder process"))?;
        let address = line.strip_prefix("key-holder  ").map(str::trim).unwrap_or_default();
        let address = address.parse().map_err(Failure::in_step("key-holder process"));
        match address {
            Ok(address) => Ok(Process { child, address }),
            Err(cause) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(cause)
            }
        }
    }
}

/// This program as a key-holder.
fn command() -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(Failure::in_step("this program's path"))?;
    let mut command = Command::new(program);
    command.arg("key-holder");
    Ok(command)
}

fn program(arguments: &[&str]) -> Result<(), Failure> {
    let done = command()?.args(arguments).output().map_err(Failure::in_step("key-holder init"))?;
    if done.status.success() {
        Ok(())
    } else {
        Err(Failure::fault(format!("key-holder: {}", String::from_utf8_lossy(&done.stderr))))
    }
}

/// Every address of 127.0.0.0/8 is this machine, so that no other process has it.
fn listen(index: u32) -> String {
    let [_, a, b, c] = std::process::id().wrapping_mul(64).wrapping_add(index + 1).to_be_bytes();
    format!("127.{a}.{b}.{c}:7445")
}

fn text_of(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| Failure::fault("the temporary folder's name is not UTF-8"))
}
