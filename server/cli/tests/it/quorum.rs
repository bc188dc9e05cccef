//! A gateway with three key-holder processes, of which first one is stopped, and then two.

use crate::http::Endpoint;
use crate::key_holder_process::{KeyHolder, lax};
use crate::program::Program;
use crate::service::{self, Service, answer};
use crate::store;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
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

/// Seats 1 and 2 are listed in each other's place. No login may fail for that, because each one that fails costs an attempt.
#[tokio::test(flavor = "multi_thread")]
async fn key_holders_in_another_order_than_their_seats_are_named_at_a_start_by_readyz_and_by_doctor() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let configs = init(&folder.path().join("three"), &data);
    let mut holders = configs.each_ref().map(|config| start(config));
    let [one, two, three] = holders.each_ref().map(|holder| holder.url().to_owned());
    let swapped = [two, one, three];
    let (authority, _) = swapped[0].split_once('#').unwrap();
    let named = format!("{authority} is seat 2 and stands in place 1");
    let remedy = "list them in the order of 1.toml, 2.toml, 3.toml";
    for (command, code) in [("serve", 1), ("doctor", 2)] {
        let said = Command::new("timeout")
            .args(["60", env!("CARGO_BIN_EXE_trefoil")])
            .args([command, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--data-dir"])
            .arg(&data)
            .args(swapped.iter().flat_map(|url| ["--key-holder", url]))
            .envs([("TREFOIL_KEYS_PRECOMPUTE", "brief"), ("TREFOIL_PROOFS_CACHE_CAPACITY", "1000")])
            .envs(store::database(&data).map(|url| ("TREFOIL_STORE_URL", url)))
            .output()
            .unwrap();
        let text = String::from_utf8([said.stdout, said.stderr].concat()).unwrap();
        assert!(text.contains(&named) && text.contains(remedy), "{command}: {text}");
        assert_eq!(said.status.code(), Some(code), "{command}: {text}");
    }

    // They are away while it starts.
    holders.iter_mut().for_each(KeyHolder::kill);
    let quorum = [
        ("TREFOIL_KEYHOLDER_QUORUM", swapped.join(",")),
        ("TREFOIL_KEYHOLDER_TIMEOUT_MS", "1000".to_owned()),
    ];
    let quorum = quorum.each_ref().map(|(name, value)| (*name, value.as_str()));
    let program = Program::start(&data, Stdio::null(), &quorum);
    let _back = configs.each_ref().map(|config| start(config));
    until_ready(&program.admin, |status, text| {
        status == 503 && text.contains(&named) && text.contains(remedy)
    })
    .await;
    assert!(program.terminate().success());
}

pub(crate) async fn until_ready(admin: &Endpoint, what: impl Fn(u16, &str) -> bool) {
    loop {
        let ready = admin.get("/readyz").await;
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
    let service = Service::new(config).await.at_one_node();
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
    until_ready(&service.admin, |status, text| status == 200 && text.contains("key-holder 2 of 3")).await;
    assert_eq!(service.metric("trefoil_key_holder_up{seat=\"2\"}").await, 0);
    assert_eq!(service.metric("trefoil_key_holder_up{seat=\"3\"}").await, 1);
    let refused = service.enrol(&people[1], "two-are-too-few").await;
    refused.problem(503, "key-holder-unavailable");
    assert!(refused.text().contains("key-holder 2 of 3 is away"), "{}", refused.text());

    holders[0].kill();
    until_ready(&service.admin, |status, _| status == 503).await;
    login(&service, 0).await.problem(503, "key-holder-unavailable");

    let _back = [start(&configs[0]), start(&configs[1])];
    until_ready(&service.admin, |status, text| status == 200 && !text.contains("away")).await;
    assert_eq!(answer(&login(&service, 0).await).decision, Decision::Match);
    service.welcome(&people[1]).await;
    assert!(service.server.shutdown().await);
}
