//! A gateway whose key-holder is another process: killed, away, and back.

use crate::service::{self, Service, answer};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use trefoil_api::Decision;
use trefoil_server::config::Config;

/// A key-holder process; killed when dropped.
pub(crate) struct KeyHolder {
    child: Child,
    url: String,
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
        let text = String::from_utf8(done.stdout).unwrap();
        assert!(done.status.success() && text.contains("trefoil serve --data-dir"), "{text}");
    }

    pub(crate) fn start(keys: &Path, listen: &str) -> KeyHolder {
        KeyHolder::run(&mut trefoil(&["key-holder"], keys, listen))
    }

    /// Runs a program that is a key-holder.
    pub(crate) fn run(program: &mut Command) -> KeyHolder {
        let mut child = program.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.strip_prefix("key-holder  ").unwrap_or_else(|| panic!("{line:?}")).trim().to_owned();
        KeyHolder { child, url }
    }

    /// The settings that a gateway needs.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `kill -9`, and waits until the process is gone.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// A gateway's configuration with this key-holder, and time enough on the busiest machine.
    pub(crate) fn config(&self, data: &Path) -> Config {
        let mut config = service::config(data);
        config.key_holder.url.clone_from(&self.url);
        config.key_holder.timeout_ms = 60_000;
        config
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

pub(crate) async fn wait_for(service: &Service, status: u16) -> String {
    loop {
        let ready = service.admin.get("/readyz").await;
        if ready.status == status {
            return ready.text().to_owned();
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_key_holder_a_gateway_refuses_and_it_recovers_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, data, listen) = (folder.path().join("keys"), folder.path().join("data"), listen());
    KeyHolder::init(&keys, &data, &listen);
    let mut key_holder = KeyHolder::start(&keys, &listen);
    let service = Service::new(key_holder.config(&data)).await;
    assert!(!data.join("vault.sqlite").exists(), "the gateway has no keys");
    let people = service.people(2, 1, 21).await;
    service.welcome(&people[0]).await;
    let request = |nonce| service.request(&people[0], &people[0].face, nonce);
    assert_eq!(answer(&service.authenticate(&request(1)).await).decision, Decision::Match);
    let other = service.request(&people[0], &people[1].face, 2);
    assert_eq!(answer(&service.authenticate(&other).await).decision, Decision::NoMatch);
    let path = format!("/v1/tenants/{}/reset-malformed", hex::encode(service.tenant));
    service.admin.post(&path, &serde_json::json!({})).await.problem(403, "key-holder-forbids");
    wait_for(&service, 200).await;

    key_holder.kill();
    for nonce in 3..13 {
        let refused = service.authenticate(&request(nonce)).await;
        refused.problem(503, "key-holder-unavailable");
        assert_eq!(refused.headers["retry-after"], "1");
    }
    service.enrol(&people[1], "while away").await.problem(503, "key-holder-unavailable");
    assert!(wait_for(&service, 503).await.contains("key-holder"));
    assert_eq!(service.metric("trefoil_ready").await, 0);
    // Requests that need no decision are still answered.
    assert_eq!(service.prove(&people[0]).await.status, 201);

    let _key_holder = KeyHolder::start(&keys, &listen);
    wait_for(&service, 200).await;
    assert_eq!(answer(&service.authenticate(&request(20)).await).decision, Decision::Match);
    service.welcome(&people[1]).await;
    let second = service.request(&people[1], &people[1].face, 21);
    assert_eq!(answer(&service.authenticate(&second).await).decision, Decision::Match);
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_starts_while_its_key_holder_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, data, listen) = (folder.path().join("keys"), folder.path().join("data"), listen());
    KeyHolder::init(&keys, &data, &listen);
    let mut key_holder = KeyHolder::start(&keys, &listen);
    key_holder.kill();
    let mut config = key_holder.config(&data);
    config.key_holder.timeout_ms = 100;
    let clock = std::sync::Arc::new(service::TestClock::default());
    let server = service::start(config, &clock).await;
    let (_, admin) = service::endpoints(&server);
    let ready = admin.get("/readyz").await;
    assert_eq!(ready.status, 503);
    assert!(ready.text().contains("key-holder"));
    let tenant = serde_json::json!({"name": "shop", "policy": service::policy()});
    admin.post("/v1/tenants", &tenant).await.problem(503, "key-holder-unavailable");
    assert!(server.shutdown().await);
}
