//! A gateway with three key-holder processes, of which first one is stopped, and then two.

use crate::key_holder_process::{KeyHolder, lax};
use crate::service::{self, Service, answer};
use std::path::{Path, PathBuf};
use std::process::Command;
use trefoil_api::Decision;

/// One of three.
pub(crate) fn start(config: &Path) -> KeyHolder {
    let mut program = Command::new(env!("CARGO_BIN_EXE_trefoil"));
    KeyHolder::run(program.args(["key-holder", "--config", config.to_str().unwrap()]))
}

/// One of three, which leaves all limits to the tenants' policies.
pub(crate) fn start_lax(config: &Path) -> KeyHolder {
    let mut program = Command::new(env!("CARGO_BIN_EXE_trefoil"));
    KeyHolder::run(lax(program.args(["key-holder", "--config", config.to_str().unwrap()])))
}

/// As [`made`], with timeouts that are long enough for the busiest machine.
pub(crate) fn init(three: &Path, gateway: &Path) -> [PathBuf; 3] {
    let configs = made(three, gateway);
    for config in &configs {
        let toml = std::fs::read_to_string(config).unwrap() + "timeout_ms = 60000\n";
        std::fs::write(config, toml).unwrap();
    }
    configs
}

/// Makes three key-holders and their gateway; the configurations of the three.
pub(crate) fn made(three: &Path, gateway: &Path) -> [PathBuf; 3] {
    // Three addresses that nobody else has.
    let listen = [(); 3].map(|()| crate::key_holder_process::listen());
    let init = Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(["key-holder", "init-quorum", "--dir", three.to_str().unwrap()])
        .args(["--gateway", gateway.to_str().unwrap(), "--listen"])
        .args(&listen)
        .output()
        .unwrap();
    assert!(init.status.success(), "{}", String::from_utf8_lossy(&init.stderr));
    ["1.toml", "2.toml", "3.toml"].map(|name| three.join(name))
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
    let data = folder.path().join("data");
    let configs = init(&folder.path().join("three"), &data);
    let mut holders = configs.each_ref().map(|config| start(config));
    let mut config = service::config(&data);
    config.key_holder.quorum = holders.each_ref().map(|holder| holder.url().to_owned()).to_vec();
    config.key_holder.timeout_ms = 60_000;
    let service = Service::new(config).await;
    assert!(!data.join("vault.sqlite").exists(), "the gateway has no keys");
    let people = service.people(2, 1, 21).await;
    service.welcome(&people[0]).await;
    let mut policy = service::policy();
    policy["probe"] = "shared".into();
    let tenant = serde_json::json!({"name": "other", "policy": policy});
    let refused = service.admin.post("/v1/tenants", &tenant).await;
    refused.problem(403, "key-holder-forbids");
    assert!(refused.text().contains("use a key-holder that is alone"), "{}", refused.text());
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
    let refused = service.enrol(&people[1], "two are too few").await;
    refused.problem(503, "key-holder-unavailable");
    assert!(refused.text().contains("key-holder 2 of 3 is away"), "{}", refused.text());

    holders[0].kill();
    until_ready(&service, |status, _| status == 503).await;
    login(&service, 0).await.problem(503, "key-holder-unavailable");

    let _back = [start(&configs[0]), start(&configs[1])];
    until_ready(&service, |status, text| status == 200 && !text.contains("away")).await;
    assert_eq!(answer(&login(&service, 0).await).decision, Decision::Match);
    service.welcome(&people[1]).await;
    assert!(service.server.shutdown().await);
}
