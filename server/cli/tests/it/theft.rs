//! What a thief of a node's directory has, made worthless as `server/OPERATING.md` says.

use crate::fleet::{Fleet, NODES};
use crate::world::*;
use std::fs;
use trefoil_testing::postgres::Server;

/// The files that never change and begin anew.
const REPLACED: [&str; 3] =
    ["pepper.key", "key-holder-client-certificate.pem", "key-holder-client-private-key.pem"];

/// Removes these files of a directory, and their lines in its record.
fn forget(data: &Path) {
    let record = data.join("installation.toml");
    let text = fs::read_to_string(&record).unwrap();
    let kept = |line: &&str| !REPLACED.iter().any(|name| line.starts_with(&format!("\"{name}\" =")));
    let kept: String = text.lines().filter(kept).map(|line| format!("{line}\n")).collect();
    assert_eq!(kept.lines().count() + REPLACED.len(), text.lines().count(), "{text}");
    fs::write(&record, kept).unwrap();
    REPLACED.iter().chain(&["admin.token"]).for_each(|name| fs::remove_file(data.join(name)).unwrap());
}

fn fingerprint(data: &Path) -> String {
    let told = trefoil(&["key-holder", "fingerprint", "--gateway", data.to_str().unwrap()]);
    let told = told.done();
    told.split_whitespace().find(|word| word.len() == 64).unwrap_or_else(|| panic!("{told}")).to_owned()
}

/// Claim V125: After the theft of a node of a fleet its API keys, tokens and the credential for key-holders are replaced as the manual
/// says, and people stay enrolled.
#[tokio::test(flavor = "multi_thread")]
async fn after_the_theft_of_a_node_its_tokens_keys_and_credentials_are_replaced_and_people_stay_enrolled() {
    let Some(server) = Server::shared() else { return };
    let mut fleet = Fleet::start(server).await;
    let people = fleet.at(0).welcomed(1, 73).await;
    let stolen = [fleet.at(0).public.bearer.clone().unwrap(), fleet.at(0).admin.bearer.clone().unwrap()];
    let directories: Vec<_> =
        (0..NODES).map(|node| fleet.plan.folder.path().join(format!("node-{node}"))).collect();
    let vault = fleet.plan.folder.path().join("vault");

    fleet.nodes.drain(..).for_each(|node| assert!(node.terminate().success()));
    let old = fingerprint(&directories[0]);
    directories.iter().for_each(|data| forget(data));
    let new = fingerprint(&directories[0]);
    assert_ne!(old, new);
    let clients = fs::read_to_string(vault.join("clients.toml")).unwrap();
    assert!(clients.contains(&old), "{clients}");
    fs::write(vault.join("clients.toml"), clients.replace(&old, &new)).unwrap();
    let url = fleet.plan.key_holders[0].url().to_owned();
    let address = url.strip_prefix("tls://").unwrap().split_once('#').unwrap().0.to_owned();
    fleet.plan.key_holders.clear();
    fleet.plan.key_holders.push(KeyHolder::start(&vault, &address));
    fleet.nodes.push(fleet.plan.started(0));
    for node in 1..NODES {
        for name in REPLACED.iter().chain(&["admin.token"]) {
            fs::copy(directories[0].join(name), directories[node].join(name)).unwrap();
        }
        fleet.nodes.push(fleet.plan.started(node));
    }

    for node in &fleet.nodes {
        let [key, token] = stolen.each_ref().map(|bearer| Some(bearer.clone()));
        let caller = Endpoint { bearer: key, ..node.public.clone() };
        caller.get("/v1/subjects").await.problem(401, "caller-unauthenticated");
        let operator = Endpoint { bearer: token, ..node.admin.clone() };
        operator.get("/v1/tenants").await.problem(401, "caller-unauthenticated");
    }
    let key = fleet.at(1).api_key(&["enrol", "authenticate", "issue"]).await;
    fleet.customer.public.bearer = Some(key);
    for node in 0..NODES {
        fleet.login(node, &people[0], &people[0].face).await.matches();
    }
    let tenants = fleet
        .at(2)
        .admin
        .post("/v1/tenants", &json!({"name": "t", "policy": crate::service::policy()}))
        .await;
    assert_eq!(
        tenants.status,
        201,
        "the key-holder knows the nodes by their new credential: {}",
        tenants.text()
    );
}
