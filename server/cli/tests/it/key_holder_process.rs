//! The program `trefoil key-holder` as a process of its own.

use crate::command::Ran as _;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A key-holder process; killed when dropped.
pub(crate) struct KeyHolder {
    child: Child,
    url: String,
    /// Its directory and its address, if it is alone.
    place: (PathBuf, String),
}

/// Where a key-holder of this test listens: every address of 127.0.0.0/8 is this machine, so no other test has it and a
/// restart finds it free.
pub(crate) fn listen() -> String {
    static ADDRESSES: AtomicU32 = AtomicU32::new(1);
    let host = std::process::id().wrapping_mul(64) + ADDRESSES.fetch_add(1, Ordering::Relaxed);
    let [_, a, b, c] = host.to_be_bytes();
    format!("127.{a}.{b}.{c}:7444")
}

impl KeyHolder {
    /// Makes the credentials of both sides.
    pub(crate) fn init(keys: &Path, gateway: &Path, listen: &str) {
        let done = trefoil(&["key-holder", "init"], keys, listen)
            .args(["--gateway", gateway.to_str().unwrap()])
            .output()
            .unwrap();
        let text = done.out();
        assert!(done.status.success() && text.contains("trefoil serve --data-dir"), "{text}");
    }

    /// Makes a key-holder of this gateway, and starts it.
    pub(crate) fn beside(keys: &Path, gateway: &Path) -> KeyHolder {
        let listen = listen();
        KeyHolder::init(keys, gateway, &listen);
        KeyHolder::start(keys, &listen)
    }

    pub(crate) fn start(keys: &Path, listen: &str) -> KeyHolder {
        KeyHolder::start_with(keys, listen, &[])
    }

    fn start_with(keys: &Path, listen: &str, more: &[&str]) -> KeyHolder {
        let mut started = KeyHolder::run(trefoil(&["key-holder"], keys, listen).args(more));
        started.place = (keys.to_owned(), listen.to_owned());
        started
    }

    /// Starts one again that was killed.
    pub(crate) fn again(&mut self) {
        self.again_with(&[]);
    }

    pub(crate) fn again_with(&mut self, more: &[&str]) {
        *self = KeyHolder::start_with(&self.place.0, &self.place.1, more);
    }

    pub(crate) fn listen(&self) -> &str {
        &self.place.1
    }

    /// Runs a program that is a key-holder.
    pub(crate) fn run(program: &mut Command) -> KeyHolder {
        let mut child = program.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.strip_prefix("key-holder  ").unwrap_or_else(|| panic!("{line:?}")).trim().to_owned();
        KeyHolder { child, url, place: Default::default() }
    }

    /// The settings that a gateway needs.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it with SIGTERM, and waits until it has signed its log.
    pub(crate) fn stop(&mut self) {
        let told = Command::new("kill").arg(self.pid().to_string()).status().unwrap();
        assert!(told.success() && self.child.wait().unwrap().success());
    }

    /// `kill -9`, and waits until the process is gone.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for KeyHolder {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn trefoil(command: &[&str], keys: &Path, listen: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_trefoil"));
    program.args(command).args(["--data-dir", keys.to_str().unwrap(), "--listen", listen]);
    program
}

/// Leaves all limits of attempts to the tenants' policies.
pub(crate) fn lax(program: &mut Command) -> &mut Command {
    for limit in [
        "CONSECUTIVE",
        "FAILURES_PER_DAY",
        "FAILURES_PER_GENERATION",
        "ATTEMPTS_PER_DAY",
        "ATTEMPTS_PER_GENERATION",
    ] {
        program.env(format!("TREFOIL_KEY_HOLDER_POLICY_{limit}_MAX"), "1000000");
    }
    program
        .env("TREFOIL_KEY_HOLDER_POLICY_DELAY_S_MIN", "0")
        .env("TREFOIL_KEY_HOLDER_POLICY_THRESHOLD_MIN", "0")
}
