//! What one node of a fleet made a moment ago, at another node at once.

use crate::fleet::{Fleet, NODES};
use crate::world::*;
use trefoil_testing::postgres::Server;

/// Claim V110: In a fleet a tenant, an API key, an operator's token, a root and the sessions under it are there at every node as soon as
/// the call that made them has its answer. A refused credential waits a poll at most whatever is wrong with it, and a bounded number of
/// requests wait.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_made_at_one_node_is_there_at_the_others_at_once() {
    let Some(server) = Server::shared() else { return };
    let mut fleet = Fleet::start(server).await;
    // A root, a session under it, and a login in that session, each at another node.
    let people = fleet.at(0).people(1, 1, 71).await;
    fleet.at(1).prove(&people[0]).await.is(201);
    fleet.at(2).enrol(&people[0], "once").await.is(201);
    fleet.login(0, &people[0], &people[0].face).await.matches();
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
