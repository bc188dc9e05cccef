//! Three key-holders of which some were given another threshold by their own operators.

use crate::quorum::{init, start_lax};
use crate::service::{self, Service, answer};
use hyper::Method;
use serde_json::json;
use std::path::Path;
use std::process::Command;
use trefoil_api::Decision;

/// As the operator of a key-holder, beside it.
fn set_threshold(config: &Path, service: &Service, threshold: i32) {
    let done = Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(["key-holder", "set-policy", "--config", config.to_str().unwrap()])
        .args(["--threshold", &threshold.to_string(), &hex::encode(service.tenant)])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// The face of somebody else would match at one key-holder and the right one at none of the others: no login is decided by either.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_decided_under_the_threshold_of_its_policy_whatever_some_key_holders_were_told() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let configs = init(&folder.path().join("three"), &data);
    let holders = configs.each_ref().map(|config| start_lax(config));
    let mut config = service::config(&data);
    config.key_holder.quorum = holders.each_ref().map(|holder| holder.url().to_owned()).to_vec();
    config.key_holder.timeout_ms = 60_000;
    let service = Service::new(config).await.at_one_node();
    let people = service.people(2, 1, 21).await;
    service.welcome(&people[0]).await;
    let mut nonce = 0;
    let mut login = async |face: usize| {
        nonce += 1;
        service.authenticate(&service.request(&people[0], &people[face].face, nonce)).await
    };
    let mut decided = async || {
        assert_eq!(answer(&login(0).await).decision, Decision::Match);
        assert_eq!(answer(&login(1).await).decision, Decision::NoMatch);
    };
    decided().await;
    for threshold in [0, 32_768] {
        set_threshold(&configs[2], &service, threshold);
        decided().await;
    }
    set_threshold(&configs[1], &service, 0);
    login(0).await.problem(503, "policy-out-of-step");
    login(1).await.problem(503, "policy-out-of-step");
    // The policy again, at all three.
    let path = format!("/v1/tenants/{}/policy", hex::encode(service.tenant));
    let (json, body) = ([("content-type", "application/json")], json!({ "policy": service::policy() }));
    let put = service.admin.send(Method::PUT, &path, &json, body.to_string()).await;
    assert_eq!(put.status, 200, "{}", put.text());
    assert_eq!(answer(&login(0).await).decision, Decision::Match);
    assert!(service.server.shutdown().await);
}
