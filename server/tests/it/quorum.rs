//! A gateway with three key-holder processes, of which one goes, and then two.

use crate::service::{self, Service, answer};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use trefoil_server::wire::Decision;

/// A key-holder process; killed when dropped.
struct Holder(Child, String);

impl Holder {
    fn start(config: &Path) -> Holder {
        let mut child = Command::new(env!("CARGO_BIN_EXE_trefoil"))
            .args(["key-holder", "--config", config.to_str().unwrap()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.strip_prefix("key-holder  ").unwrap_or_else(|| panic!("{line:?}")).trim().to_owned();
        Holder(child, url)
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn until_ready(service: &Service, what: impl Fn(u16, &str) -> bool) {
    loop {
        let ready = service.admin.get("/readyz").await;
        if what(ready.status.as_u16(), ready.text()) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_decides_with_two_of_three_and_names_who_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let (three, data) = (folder.path().join("three"), folder.path().join("data"));
    // Three addresses that nobody else has.
    let listen = [(); 3].map(|()| crate::key_holder::listen());
    let init = Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(["key-holder", "init-quorum", "--dir", three.to_str().unwrap()])
        .args(["--gateway", data.to_str().unwrap(), "--listen"])
        .args(&listen)
        .output()
        .unwrap();
    assert!(init.status.success(), "{}", String::from_utf8_lossy(&init.stderr));
    let configs = ["1.toml", "2.toml", "3.toml"].map(|name| three.join(name));
    for config in &configs {
        // On a busy machine too, nothing that is needed comes late.
        let toml = std::fs::read_to_string(config).unwrap() + "timeout_ms = 60000\n";
        std::fs::write(config, toml).unwrap();
    }
    let mut holders = configs.each_ref().map(|config| Holder::start(config));
    let mut config = service::config(&data);
    config.keyholder.quorum = holders.each_ref().map(|holder| holder.1.clone()).to_vec();
    config.keyholder.timeout_ms = 60_000;
    let service = Service::new(config).await;
    assert!(!data.join("vault.sqlite").exists(), "the gateway has no keys");
    let people = service.people(2, 1, 21).await;
    service.welcome(&people[0]).await;
    let mut nonce = 0;
    let mut login = async |service: &Service, face: usize| {
        nonce += 1;
        let request = service.request(&people[0], &people[face].face, nonce);
        service.authenticate(&request).await
    };
    assert_eq!(answer(&login(&service, 0).await).decision, Decision::Match);
    assert_eq!(answer(&login(&service, 1).await).decision, Decision::NoMatch);

    holders[1].kill();
    for _ in 0..3 {
        assert_eq!(answer(&login(&service, 0).await).decision, Decision::Match);
        assert_eq!(answer(&login(&service, 1).await).decision, Decision::NoMatch);
        assert_eq!(answer(&login(&service, 0).await).decision, Decision::Match);
    }
    until_ready(&service, |status, text| status == 200 && text.contains("key-holder 2 of 3")).await;
    assert_eq!(service.metric("trefoil_key_holder_up{seat=\"2\"}").await, 0);
    assert_eq!(service.metric("trefoil_key_holder_up{seat=\"3\"}").await, 1);
    service.enrol(&people[1], "two are too few").await.problem(503, "key-holder-unavailable");

    holders[0].kill();
    until_ready(&service, |status, _| status == 503).await;
    login(&service, 0).await.problem(503, "key-holder-unavailable");

    let _back = [Holder::start(&configs[0]), Holder::start(&configs[1])];
    until_ready(&service, |status, text| status == 200 && !text.contains("away")).await;
    assert_eq!(answer(&login(&service, 0).await).decision, Decision::Match);
    service.welcome(&people[1]).await;
    assert!(service.server.shutdown().await);
}
