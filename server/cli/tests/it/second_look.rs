//! What one node of a fleet made a moment ago, at another node at once, and what only one of them has.

use crate::fleet::{Fleet, NODES};
use crate::service::{AUDIENCE, answer, policy};
use serde_json::json;
use std::time::{Duration, Instant};
use trefoil_api::{AttestationForm, Authenticated, Authentication, Decision};
use trefoil_attest::{ExpectedNonce, Policy, verify};
use trefoil_testing::postgres::Server;
use trefoil_testing::volume;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_made_at_one_node_is_there_at_the_others_at_once() {
    let Some(server) = Server::shared() else { return };
    let mut fleet = Fleet::start(server).await;
    // A root, a session under it, and a login in that session, each at another node.
    let people = fleet.at(0).people(1, 1, 71).await;
    let opened = fleet.at(1).prove(&people[0]).await;
    assert_eq!(opened.status, 201, "{}", opened.text());
    let enrolled = fleet.at(2).enrol(&people[0], "once").await;
    assert_eq!(enrolled.status, 201, "{}", enrolled.text());
    let login = fleet.login(0, &people[0], &people[0].face).await;
    assert_eq!(answer(&login).decision, Decision::Match);
    for round in 0..volume(50, 8) {
        let (made_at, others) = (round % NODES, [(round + 1) % NODES, (round + 2) % NODES]);
        let key = fleet.at(made_at).api_key(&["authenticate"]).await;
        for node in others {
            let reply = fleet.nodes[node].public.with_bearer(&key).get("/v1/tenant").await;
            assert_eq!(reply.status, 200, "API key {round} at node {node}: {}", reply.text());
        }
        if round % 4 > 0 {
            continue;
        }
        let tenant = json!({"name": "new", "policy": policy()});
        let tenant = fleet.at(made_at).admin.post("/v1/tenants", &tenant).await.json();
        let tenant = format!("/v1/tenants/{}", tenant["tenant_id"].as_str().unwrap());
        let operator = json!({"name": format!("ann {round}"), "role": "viewer"});
        let operator = fleet.at(others[0]).admin.post("/v1/operators", &operator).await.json();
        let operator = fleet.nodes[others[1]].admin.with_bearer(operator["token"].as_str().unwrap());
        let reply = operator.get(&tenant).await;
        assert_eq!(reply.status, 200, "tenant {round} for a new operator: {}", reply.text());
    }
}

/// The attestation as a node has it. A busy machine may take longer than a node waits for the others.
async fn fetched(fleet: &Fleet, node: usize, path: &str) -> Authenticated {
    let begun = Instant::now();
    loop {
        let reply = fleet.nodes[node].public.get(path).await;
        if reply.status != 404 || begun.elapsed() > Duration::from_secs(30) {
            return answer(&reply);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attestation_that_one_node_left_out_is_fetched_at_every_node_by_its_tenant_alone() {
    let Some(server) = Server::shared() else { return };
    let mut fleet = Fleet::start(server).await;
    let people = fleet.at(0).people(1, 1, 72).await;
    fleet.at(0).welcome(&people[0]).await;
    let other = json!({"name": "other", "policy": policy()});
    let other = fleet.at(0).admin.post("/v1/tenants", &other).await.json();
    let keys = format!("/v1/tenants/{}/api-keys", other["tenant_id"].as_str().unwrap());
    let other = fleet.at(0).admin.post(&keys, &json!({"scopes": ["authenticate"]})).await.json();
    let bearer = fleet.customer.public.bearer.clone().unwrap();
    for node in 0..NODES {
        let asked = fleet.at(node).request(&people[0], &people[0].face, 100 + node as u64);
        let request = Authentication { attestation: AttestationForm::None, ..asked };
        let login = answer(&fleet.at(node).authenticate(&request).await);
        assert!(login.attestation.is_none());
        let path = format!("/v1/attestations/{}", hex::encode(login.id.0));
        for at in 0..NODES {
            fleet.nodes[at].public.bearer = Some(bearer.clone());
            let fetched = fetched(&fleet, at, &path).await;
            assert_eq!((fetched.id, fetched.seal_number), (login.id, login.seal_number), "{node} at {at}");
            let nonce = ExpectedNonce::Exactly(request.nonce.as_bytes().to_vec());
            let policy = Policy::new(fleet.trust_root.clone(), AUDIENCE, nonce)
                .tenant(fleet.customer.tenant)
                .request_digest(request.header(&request.probe_digest()).digest());
            let now = trefoil_key_holder::unix_s();
            verify(&fetched.attestation.unwrap().0, &policy, now).unwrap();
            let other = fleet.nodes[at].public.with_bearer(other["api_key"].as_str().unwrap());
            other.get(&path).await.problem(404, "attestation-unknown");
        }
    }
}
