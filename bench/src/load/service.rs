//! A service in a separate process, mostly on one half of this machine's processors. The callers then have the other half, because real
//! callers bring their own.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tokio::runtime::Runtime;
use trefoil_server::config::DatabaseUrl;
use trefoil_server::process::{Source, run_service};
use trefoil_service::login::clock::SystemClock;

use super::world::{Reached, config};
use crate::Failure;

/// The service in another process.
pub(super) struct Service {
    child: Child,
    /// The service ends when this process does.
    _input: Option<ChildStdin>,
}

impl Service {
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Bytes of memory that it has, as the system counts them.
    pub(super) fn resident_bytes(&self) -> Result<u64, Failure> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.map_err(Failure::in_step("memory"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        let kib = kib.ok_or_else(|| Failure::fault("the system does not say how much memory a process has"));
        Ok(kib? * 1024)
    }

    /// Starts one with an empty data directory and these flags of [`ServiceArgs`].
    pub(super) fn start(data_dir: &Path, flags: &[&str]) -> Result<(Service, Reached), Failure> {
        let step = || Failure::in_step("service process");
        let program = std::env::current_exe().map_err(Failure::in_step("this program's path"))?;
        let mut command = Command::new(program);
        command.arg("service").arg("--data-dir").arg(data_dir).args(flags);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(step())?;
        let output = child.stdout.take().ok_or_else(|| Failure::fault("the service has no output"))?;
        let input = child.stdin.take();
        let service = Service { child, _input: input };
        // What `trefoil serve` prints: a name, spaces, a value.
        let mut lines = BufReader::new(output).lines();
        let mut value = || match lines.next() {
            Some(line) => Ok(line.map_err(step())?.rsplit("  ").next().unwrap_or_default().trim().to_owned()),
            None => Err(Failure::fault(
                "the service ended before it was ready; run `trefoil-bench service` to see why",
            )),
        };
        let mut address = || {
            let url = value()?;
            let address = url.strip_prefix("https://").unwrap_or(&url);
            address.parse().map_err(Failure::in_step("the service's address"))
        };
        let (public, admin) = (address()?, address()?);
        let certificate = std::fs::read(value()?).map_err(step())?;
        let token = std::fs::read_to_string(value()?).map_err(step())?.trim().to_owned();
        Ok((service, Reached { admin, public, certificate, token }))
    }

    /// Sends SIGTERM and waits for the exit; returns its status and how long it took.
    pub(super) fn terminate(&mut self) -> Result<(ExitStatus, Duration), Failure> {
        let began = Instant::now();
        kill_process(Pid::from_child(&self.child), Signal::TERM).map_err(Failure::in_step("SIGTERM"))?;
        let status = self.child.wait().map_err(Failure::in_step("service process"))?;
        Ok((status, began.elapsed()))
    }

    pub(super) fn stop(mut self) -> Result<(), Failure> {
        match self.terminate()?.0.success() {
            true => Ok(()),
            false => Err(Failure::fault("the service did not end cleanly")),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It has already exited after `stop`.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The service that the profiles start; on half of the processors unless told otherwise.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServiceArgs {
    /// Its data directory
    #[arg(long)]
    data_dir: PathBuf,
    /// Run on all processors
    #[arg(long)]
    on_all: bool,
    /// Keep tenants, templates and the log in this PostgreSQL database
    #[arg(long)]
    store: Option<String>,
    /// Be a node of a fleet, with the key-holder at this address
    #[arg(long, requires = "store")]
    key_holder: Option<String>,
}

/// Serves as `trefoil serve` does, and shuts down like it at the end of standard input.
///
/// # Errors
/// When the service does not start, or `trefoil serve` would exit with another code than 0.
pub(crate) fn serve(args: ServiceArgs) -> Result<(), Failure> {
    let ServiceArgs { data_dir, on_all, store, key_holder } = args;
    if !on_all {
        stay_on(Half::First)?;
    }
    let until_input_ends = || {
        // A read error counts as the end.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = kill_process(rustix::process::getpid(), Signal::TERM);
    };
    std::thread::Builder::new().spawn(until_input_ends).map_err(Failure::in_step("thread"))?;
    let mut config = config(data_dir);
    config.store.url = DatabaseUrl(store.unwrap_or_default());
    config.store.fleet = key_holder.is_some();
    config.key_holder.url = key_holder.unwrap_or_default();
    config.log.filter = "error".to_owned();
    if on_all {
        // All callers of these loads have one address.
        config.limits.connections_per_peer = config.limits.connections;
    }
    // Reloading gives the same settings: there is no file.
    let again = config.clone();
    let source = Source::new(None, move || Ok(again.clone()));
    match run_service(config, source, Arc::new(SystemClock::default())) == ExitCode::SUCCESS {
        true => Ok(()),
        false => Err(Failure::fault("the service did not end cleanly")),
    }
}

/// Halves of the processors that this process may use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    First,
    Second,
}

/// Pins this thread, and those that it starts, to one half of the processors.
pub(super) fn stay_on(half: Half) -> Result<(), Failure> {
    let allowed = sched_getaffinity(None).map_err(Failure::in_step("processors"))?;
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let (first, second) = allowed.split_at(allowed.len() / 2);
    let mine = if half == Half::First { first } else { second };
    if mine.is_empty() {
        return Err(Failure::usage("service and callers need a processor each; this machine has one"));
    }
    let mut set = CpuSet::new();
    mine.iter().for_each(|&cpu| set.set(cpu));
    sched_setaffinity(None, &set).map_err(Failure::in_step("processors"))
}

/// A runtime whose threads have this priority.
pub(super) fn runtime(threads: usize, nice: i32) -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .on_thread_start(move || {
            // On Linux this applies to this thread only; elsewhere it competes with the service, which the figures then show.
            rustix::process::setpriority_process(None, nice).unwrap_or_default();
        })
        .build()
        .map_err(Failure::in_step("runtime"))
}
