//! A gateway whose key-holder is another process: killed, away, and back.

use crate::world::*;

impl KeyHolder {
    /// A gateway's configuration with this key-holder, and time enough on the busiest machine.
    pub(crate) fn config(&self, data: &Path) -> Config {
        let mut config = service::config(data);
        self.url().clone_into(&mut config.key_holder.url);
        config.key_holder.timeout_ms = 60_000;
        config
    }
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
    let (keys, data) = (folder.path().join("keys"), folder.path().join("data"));
    let mut key_holder = KeyHolder::beside(&keys, &data);
    // Each node finds its key-holder for itself.
    let service = Service::new(key_holder.config(&data)).await.at_one_node();
    assert!(!data.join("vault.sqlite").exists(), "the gateway has no keys");
    let people = service.people(2, 1, 21).await;
    service.welcome(&people[0]).await;
    let request = |nonce| service.request(&people[0], &people[0].face, nonce);
    service.authenticate(&request(1)).await.matches();
    service.login(&people[0], &people[1].face, 2).await.denies();
    let path = service.path("/reset-malformed");
    service.admin.post(&path, &serde_json::json!({})).await.problem(403, "key-holder-forbids");
    wait_for(&service, 200).await;

    key_holder.kill();
    for nonce in 3..13 {
        let refused = service.authenticate(&request(nonce)).await;
        refused.problem(503, "key-holder-unavailable");
        assert_eq!(refused.headers["retry-after"], "1");
    }
    service.enrol(&people[1], "while-away").await.problem(503, "key-holder-unavailable");
    assert!(wait_for(&service, 503).await.contains("key-holder"));
    assert_eq!(service.metric("trefoil_ready").await, 0);
    // Requests that need no decision are still answered.
    service.prove(&people[0]).await.is(201);

    key_holder.again();
    wait_for(&service, 200).await;
    service.authenticate(&request(20)).await.matches();
    service.welcome(&people[1]).await;
    service.login(&people[1], &people[1].face, 21).await.matches();
}
