//! Two services of two operators that share one key-holder.

use crate::key_holder_process::trefoil;
use crate::quorum::until_ready;
use crate::world::*;

/// Claim M35: A key-holder serves only listed certificates, and a tenant of another gateway looks like one that does not exist. Its status
/// counts the tenants of the gateway that asks.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_is_told_of_its_own_tenants_only() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, at) = (folder.path().join("keys"), listen());
    let data = ["one", "other"].map(|name| {
        let data = folder.path().join(name);
        trefoil(&["key-holder", "init"], &keys, &at)
            .args(["--name", name, "--gateway", data.to_str().unwrap()])
            .output()
            .unwrap()
            .done();
        data
    });
    let key_holder = KeyHolder::start(&keys, &at);
    let start = async |data: &Path| {
        let mut config = service::config(data);
        config.key_holder.url = key_holder.url().to_owned();
        config.key_holder.timeout_ms = 60_000;
        Service::new(config).await.at_one_node()
    };
    let (one, other) = (start(&data[0]).await, start(&data[1]).await);

    let people = one.people(2, 1, 21).await;
    one.welcome(&people[0]).await;
    for (nonce, decision) in [(0, Decision::Match), (1, Decision::NoMatch)] {
        assert_eq!(one.login(&people[0], &people[nonce].face, nonce as u64).await.decision(), decision);
    }
    let counted = "key-holder: 2 attempts, 1 failures, 1 enrolments, 0 malformed jobs";
    until_ready(&one.admin, |_, text| text.contains(counted)).await;

    // Its own enrolment is the first thing that the other one is told of.
    other.welcomed(1, 22).await;
    until_ready(&other.admin, |_, text| {
        let counts = text.lines().find(|line| line.starts_with("key-holder: "));
        let Some(counts) = counts.filter(|counts| !counts.contains(" 0 enrolments")) else { return false };
        assert_eq!(counts, "key-holder: 0 attempts, 0 failures, 1 enrolments, 0 malformed jobs");
        true
    })
    .await;
    // The key-holder's operator sees both.
    let status = trefoil(&["key-holder", "status"], &keys, &at).output().unwrap();
    let status = status.out();
    assert!(
        status.contains("2 tenants, 2 templates") && status.contains("2 attempts, of which 1 failed"),
        "{status}"
    );
    for service in [one, other] {
        assert!(service.server.shutdown().await);
    }
}
