//! Three key-holders of which some were given another threshold by their own operators.

use crate::quorum::{Three, start_lax};
use crate::world::*;

/// As the operator of a key-holder, beside it.
fn set_threshold(config: &Path, service: &Service, threshold: i32) {
    Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(["key-holder", "set-policy", "--config", config.to_str().unwrap()])
        .args(["--embedder", "test-128", "--threshold", &threshold.to_string(), &hex::encode(service.tenant)])
        .output()
        .unwrap()
        .done();
}

/// The face of somebody else would match at one key-holder and the right one at none of the others: no login is decided by either.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_decided_under_the_threshold_of_its_policy_whatever_some_key_holders_were_told() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let three = Three::beside(&data, start_lax);
    let service = Service::new(three.config(&data)).await.at_one_node();
    let people = service.people(2, 1, 21).await;
    service.welcome(&people[0]).await;
    let mut nonce = 0;
    let mut login = async |face: usize| {
        nonce += 1;
        service.login(&people[0], &people[face].face, nonce).await
    };
    let mut decided = async || {
        login(0).await.matches();
        login(1).await.denies();
    };
    decided().await;
    for threshold in [0, 32_768] {
        set_threshold(&three.configs[2], &service, threshold);
        decided().await;
    }
    set_threshold(&three.configs[1], &service, 0);
    login(0).await.problem(503, "policy-out-of-step");
    login(1).await.problem(503, "policy-out-of-step");
    // The policy again, at all three.
    service.put_policy(&service::policy()).await.is(200);
    login(0).await.matches();
}
