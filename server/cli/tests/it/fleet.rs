//! Three nodes that share a PostgreSQL database and a key-holder.

use crate::cli::{code, trefoil};
use crate::http::{Endpoint, Reply};
use crate::key_holder_process::{KeyHolder, listen};
use crate::nodes::copied;
use crate::postgres::is_one_chain;
use crate::program::Program;
use crate::service::{self, AUDIENCE, Customer, Person, TestClock, answer, policy, templates_path};
use hyper::Method;
use rand::RngExt as _;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trefoil_api::{Authentication, Decision};
use trefoil_attest::{
    Attestation, Evidence, ExpectedNonce, Policy, Statement, TrustRoot, verify, verify_seal,
};
use trefoil_testing::postgres::Server;
use trefoil_testing::volume;

/// How soon a change holds on every node.
const HOLDS_WITHIN: Duration = Duration::from_secs(2);
const NODES: usize = 3;

/// Nodes that run, and what they share.
struct Fleet {
    nodes: Vec<Program>,
    customer: Customer,
    key_holder: KeyHolder,
    variables: Vec<(String, String)>,
    folder: TempDir,
    database: String,
    trust_root: TrustRoot,
}

impl Fleet {
    async fn start(server: &Server) -> Fleet {
        let (folder, url) = (tempfile::tempdir().unwrap(), server.database());
        let data = |number: usize| folder.path().join(format!("node-{number}"));
        let (vault, address) = (folder.path().join("vault"), listen());
        KeyHolder::init(&vault, &data(0), &address);
        let key_holder = KeyHolder::start(&vault, &address);
        let variables = [
            ("TREFOIL_STORE_URL", url.as_str()),
            ("TREFOIL_STORE_FLEET", "true"),
            ("TREFOIL_STORE_TIMEOUT_MS", "2000"),
            ("TREFOIL_KEYHOLDER_URL", key_holder.url()),
            ("TREFOIL_KEYHOLDER_TIMEOUT_MS", "60000"),
            ("TREFOIL_PROOFS_DEADLINE_MS", "60000"),
        ];
        let variables: Vec<_> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let first = started(&folder, 0, &variables);
        let pinned = folder.path().join("pinned.json");
        std::fs::copy(data(0).join("trust-root.json"), &pinned).unwrap();
        for number in 1..NODES {
            succeeded(&added(&data(0), &data(number)));
            // A relying party follows offline, and so does every node that was made before.
            let next = format!("trust-roots/{}.json", number + 1);
            succeeded(&trefoil(&[
                "keys",
                "accept",
                "--pinned",
                text(&pinned),
                "--next",
                text(&data(0).join(&next)),
            ]));
            for before in 1..number {
                std::fs::copy(data(0).join(&next), data(before).join(&next)).unwrap();
            }
        }
        let others = (1..NODES).map(|number| started(&folder, number, &variables));
        let nodes: Vec<Program> = std::iter::once(first).chain(others).collect();
        let (public, admin) = (nodes[0].public.clone(), nodes[0].admin.clone());
        let trust_root = TrustRoot::from_json(&std::fs::read_to_string(pinned).unwrap()).unwrap();
        nodes[0].signal("-HUP");
        for node in &nodes {
            while node.public.get("/v1/keys").await.text() != trust_root.to_json() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        let tenant = json!({"name": "shop", "policy": policy()});
        let customer = Customer::new(public, admin, Arc::new(TestClock::of_machine()), tenant).await;
        let database = url.split(['/', '?']).nth(3).unwrap().to_owned();
        // A register that is new refuses requests of its first seconds.
        tokio::time::sleep(Duration::from_secs(10)).await;
        Fleet { nodes, customer, key_holder, variables, folder, database, trust_root }
    }

    /// The customer's calls go to this node from now on.
    fn at(&mut self, node: usize) -> &Customer {
        let Program { public, admin, .. } = &self.nodes[node];
        self.customer.moved((public.clone(), admin.clone()));
        self.customer.clock = Arc::new(TestClock::of_machine());
        &self.customer
    }

    async fn login(&mut self, node: usize, person: &Person, face: &[f32; 128]) -> Reply {
        let customer = self.at(node);
        customer.authenticate(&customer.request(person, face, rand::rng().random())).await
    }

    /// Asks each node until its reply is as it should be, which takes no longer than [`HOLDS_WITHIN`].
    async fn holds(&mut self, what: &str, mut asked: impl AsyncFnMut(&Customer) -> bool) {
        let begun = Instant::now();
        for node in 0..NODES {
            while !asked(self.at(node)).await {
                assert!(begun.elapsed() < HOLDS_WITHIN, "{what}: node {node}, {:?}", begun.elapsed());
            }
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn added(first: &Path, to: &Path) -> Output {
    trefoil(&["keys", "add-node", "--data-dir", text(first), "--to", text(to)])
}

fn succeeded(output: &Output) {
    assert_eq!(code(output), 0, "{}", String::from_utf8_lossy(&output.stderr));
}

fn started(folder: &TempDir, number: usize, variables: &[(String, String)]) -> Program {
    let variables: Vec<_> = variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let log = folder.path().join(format!("log-{number}"));
    let log = std::fs::File::options().create(true).append(true).open(log).unwrap();
    Program::start(&folder.path().join(format!("node-{number}")), log, &variables)
}

fn seal_of(reply: &Reply) -> u64 {
    answer(reply).seal_number
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_done_at_one_node_holds_at_every_node_and_the_log_is_one() {
    let Some(server) = Server::shared() else { return };
    let mut fleet = Fleet::start(server).await;
    // The tenant was made at the first node: its API key is taken at each.
    let people = fleet.at(1).people(4, 1, 31).await;
    fleet.holds("roots", async |customer| customer.prove(&people[3]).await.status == 201).await;
    fleet.at(2).welcome(&people[0]).await;
    fleet.at(1).welcome(&people[1]).await;
    let (mut newest, mut signers) = (0, HashSet::new());
    // A login is taken once, at whichever node.
    for node in 0..NODES {
        let used = fleet.at(node).request(&people[0], &people[0].face, 1_000 + node as u64);
        newest = newest.max(seal_of(&fleet.at(node).authenticate(&used).await));
        for other in 0..NODES {
            fleet.at(other).authenticate(&used).await.problem(409, "nonce-replayed");
        }
    }
    for node in 0..NODES {
        for person in &people[..2] {
            let reply = fleet.login(node, person, &person.face).await;
            assert_eq!(answer(&reply).decision, Decision::Match, "node {node}");
            newest = newest.max(seal_of(&reply));
            let attestation = answer(&reply).attestation.unwrap().0;
            let Evidence::Full(seal) = Attestation::decode(&attestation).unwrap().evidence else {
                panic!("it is full")
            };
            verify_seal(&seal, &fleet.trust_root).unwrap();
            signers.insert(seal.header.key_set_id);
        }
        assert_eq!(signers.len(), node + 1, "each node signs with keys of its own");
        let denied = fleet.login(node, &people[0], &people[1].face).await;
        assert_eq!(answer(&denied).decision, Decision::NoMatch);
        newest = newest.max(seal_of(&denied));
    }
    for node in &fleet.nodes {
        is_one_chain(&node.public, newest).await;
    }

    let tenant = format!("/v1/tenants/{}", hex::encode(fleet.customer.tenant));
    let nonce = AtomicU64::new(1);
    let ask = async |customer: &Customer, person: &Person| {
        customer
            .authenticate(&customer.request(person, &person.face, nonce.fetch_add(1, Ordering::Relaxed)))
            .await
    };
    // A policy.
    let mut stricter = policy();
    stricter["threshold"] = json!({"calibrated": {"score": 18_001, "fmr_class": 3}});
    let body = json!({"policy": stricter}).to_string();
    let headers = [("content-type", "application/json")];
    let put = fleet.at(2).admin.send(Method::PUT, &format!("{tenant}/policy"), &headers, body).await;
    assert_eq!(put.status, 200, "{}", put.text());
    fleet
        .holds("policy", async |customer| {
            let reply = ask(customer, &people[0]).await;
            reply.status == 200 && version(&reply) == 2
        })
        .await;
    // A session, a revocation and an erasure.
    let session = format!("/v1/proof-sessions/{}", hex::encode(people[1].session_id));
    assert_eq!(fleet.at(0).public.send(Method::DELETE, &session, &[], "").await.status, 200);
    fleet.holds("session", async |customer| ask(customer, &people[1]).await.status == 410).await;
    let path = format!("/v1/subjects/{}/revoke", hex::encode(people[0].handle));
    assert_eq!(fleet.at(1).public.send(Method::POST, &path, &[], "").await.status, 200);
    fleet.holds("revocation", async |customer| ask(customer, &people[0]).await.status != 200).await;
    let gone = fleet.at(2).public.send(Method::DELETE, &templates_path(&people[1]), &[], "").await;
    assert_eq!(gone.status, 200, "{}", gone.text());
    // An API key, an operator, and a tenant.
    let keys = fleet.at(0).admin.get(&format!("{tenant}/api-keys")).await.json();
    let key = keys["api_keys"][0]["id"].as_str().unwrap().to_owned();
    let revoked = fleet.at(2).admin.send(Method::DELETE, &format!("{tenant}/api-keys/{key}"), &[], "").await;
    assert_eq!(revoked.status, 200, "{}", revoked.text());
    fleet.holds("API key", async |customer| ask(customer, &people[0]).await.status == 401).await;
    let made = fleet.at(1).admin.post("/v1/operators", &json!({"name": "ann", "role": "viewer"})).await;
    let token = made.json()["token"].as_str().unwrap().to_owned();
    fleet
        .holds("operator", async |customer| {
            customer.admin.with_bearer(&token).get("/v1/tenants").await.status == 200
        })
        .await;
    let disabled = fleet.at(0).admin.post(&format!("{tenant}/disable"), &json!({})).await;
    assert_eq!(disabled.status, 200, "{}", disabled.text());
    let deleted = fleet.at(1).admin.send(Method::DELETE, &tenant, &[], "").await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    fleet.holds("tenant", async |customer| customer.admin.get(&tenant).await.status == 404).await;
    let shown = Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(["admin", "nodes", "--admin"])
        .arg(format!("https://{}", fleet.nodes[1].admin.address))
        .arg("--data-dir")
        .arg(fleet.folder.path().join("node-1"))
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert_eq!((shown.lines().count(), shown.matches("keeps house").count()), (NODES + 1, 1), "{shown}");
    let sets: HashSet<_> = shown.lines().skip(1).filter_map(|line| line.split_whitespace().nth(4)).collect();
    let listed: HashSet<_> =
        fleet.trust_root.key_sets().iter().map(|set| hex::encode(set.keys.id())[..8].to_owned()).collect();
    assert_eq!(sets, listed.iter().map(String::as_str).collect(), "{shown}");
    no_version_is_made_from_an_older_one(&fleet);
    // The newest seal is of keys that version 2 does not list.
    let made = fleet.at(2).admin.post("/v1/operators", &json!({"name": "bob", "role": "viewer"})).await;
    assert!(made.status.is_success(), "{}", made.text());
    for node in fleet.nodes.drain(..) {
        assert!(node.terminate().success());
    }
    no_version_is_made_from_an_older_one(&fleet);
}

/// A directory without the newest version, whose copy was forgotten, changes no keys until it has it. While nodes run these say so, and else the
/// newest seal does.
fn no_version_is_made_from_an_older_one(fleet: &Fleet) {
    let folder = tempfile::tempdir().unwrap();
    let behind = folder.path().join("behind");
    copied(&fleet.folder.path().join("node-1"), &behind);
    let versions = behind.join("trust-roots");
    std::fs::copy(versions.join("2.json"), behind.join("trust-root.json")).unwrap();
    std::fs::rename(versions.join("3.json"), folder.path().join("3.json")).unwrap();
    let keys = |command: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_trefoil"));
        let variables = fleet.variables.iter().map(|(name, value)| (name, value));
        let output =
            program.arg("keys").args(command).args(["--data-dir", text(&behind)]).envs(variables).output();
        output.unwrap()
    };
    let added = folder.path().join("node-9");
    for command in [&["rotate"][..], &["revoke", &"ab".repeat(32)], &["add-node", "--to", text(&added)]] {
        let refused = keys(command);
        let why = String::from_utf8(refused.stderr.clone()).unwrap();
        assert_eq!(code(&refused), 1, "{command:?}");
        assert!(
            why.contains("has version 2 of the trust root") && why.contains("copy trust-roots/3.json"),
            "{why}"
        );
        assert!(!versions.join("3.json").exists() && !added.exists());
    }
    std::fs::rename(folder.path().join("3.json"), versions.join("3.json")).unwrap();
    succeeded(&keys(&["rotate"]));
}

/// While nobody but the logins themselves tells the other nodes that templates are under new keys.
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_rotated_at_one_node_while_people_log_in_at_all() {
    let Some(server) = Server::shared() else { return };
    let mut fleet = Fleet::start(server).await;
    let people = fleet.at(0).people(4, 1, 32).await;
    for person in &people {
        fleet.at(0).welcome(person).await;
    }
    for node in 0..NODES {
        assert_eq!(answer(&fleet.login(node, &people[0], &people[0].face).await).decision, Decision::Match);
    }
    let path = format!("/v1/tenants/{}/key-rotation", hex::encode(fleet.customer.tenant));
    let started = fleet.at(1).admin.post(&path, &json!({})).await;
    assert!(started.status.is_success(), "{}", started.text());
    let (begun, mut refused) = (Instant::now(), 0);
    loop {
        for node in 0..NODES {
            for person in &people {
                let reply = fleet.login(node, person, &person.face).await;
                match reply.status.as_u16() {
                    200 => assert_eq!(answer(&reply).decision, Decision::Match),
                    _ => refused += 1,
                }
            }
        }
        let status = fleet.at(1).admin.get(&path).await.json();
        if status["state"] == "idle" && status["left"] == 0 {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(90), "{status}");
    }
    assert!(refused < 12, "{refused} logins were refused");
    for node in 0..NODES {
        let reply = fleet.login(node, &people[3], &people[3].face).await;
        assert_eq!(answer(&reply).decision, Decision::Match, "node {node}");
    }
}

fn version(reply: &Reply) -> u32 {
    let attestation = answer(reply).attestation.unwrap();
    let attestation = Attestation::decode(&attestation.0).unwrap();
    Statement::decode(attestation.statement).unwrap().policy_version
}

/// Twelve tenants made at three nodes at a time, all of which are there at each.
#[tokio::test(flavor = "multi_thread")]
async fn operators_change_things_at_all_nodes_at_a_time_and_nothing_is_lost() {
    let Some(server) = Server::shared() else { return };
    let mut fleet = Fleet::start(server).await;
    let make = async |admin: Endpoint| {
        let mut made = Vec::new();
        while made.len() < 4 {
            let reply = admin.post("/v1/tenants", &json!({"name": "t", "policy": policy()})).await;
            match reply.status.as_u16() {
                201 => made.push(reply.json()["tenant_id"].as_str().unwrap().to_owned()),
                // Another node was first; this one has read that by the next time.
                _ => drop(reply.problem(503, "store-unavailable")),
            }
        }
        made
    };
    let [one, two, three] = std::array::from_fn(|node| fleet.nodes[node].admin.clone());
    let (mut made, two, three) = tokio::join!(make(one), make(two), make(three));
    made.extend(two.into_iter().chain(three));
    fleet
        .holds("tenants", async |customer| {
            let listed = customer.admin.get("/v1/tenants").await.text().to_owned();
            made.iter().all(|id| listed.contains(id))
        })
        .await;
    let audit = server.sql(&fleet.database, "SELECT count(*) FROM audit WHERE receipt IS NULL");
    assert_eq!(audit, "0", "each change has its receipt in the one log");
}

/// Logs people in at random nodes until it is told to stop. Returns attestations and the number of requests that were refused.
async fn load(
    fleet: &[(Endpoint, Endpoint)],
    bearer: &str,
    people: &[Person],
    stop: &AtomicBool,
) -> (Vec<(Vec<u8>, Vec<u8>)>, u64) {
    let (mut attested, mut refused) = (Vec::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        let (node, who) =
            (rand::rng().random_range(0..fleet.len()), rand::rng().random_range(0..people.len()));
        let public = fleet[node].0.with_bearer(bearer);
        let (person, nonce) = (&people[who], rand::rng().random::<u64>());
        let request = request(person, nonce);
        let body = serde_json::to_vec(&request).unwrap();
        match public.try_send(Method::POST, "/v1/authentications", &[], body).await {
            Ok(reply) if reply.status == 200 => {
                let answer = answer(&reply);
                assert_eq!(answer.decision, Decision::Match, "a wrong decision");
                let nonce = [nonce.to_le_bytes(), nonce.to_le_bytes()].concat();
                attested.push((answer.attestation.unwrap().0, nonce));
            }
            Ok(reply) => {
                assert!(reply.status == 503, "{}", reply.text());
                refused += 1;
            }
            Err(_) => {
                refused += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
    (attested, refused)
}

fn request(person: &Person, nonce: u64) -> Authentication {
    service::request_at(trefoil_key_holder::unix_s(), person, &person.face, nonce)
}

/// Nodes killed at random, and the sessions of others at the database ended, under load.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_and_connections_that_are_killed_under_load_leave_one_log_and_lose_nothing() {
    let Some(server) = Server::shared() else { return };
    let mut fleet = Fleet::start(server).await;
    let people = fleet.at(0).people(6, 1, 33).await;
    for person in &people {
        fleet.at(0).welcome(person).await;
    }
    let bearer = fleet.customer.public.bearer.clone().unwrap();
    let (mut attested, mut refused) = (Vec::new(), 0);
    for round in 0..volume(60, 2) {
        let ends: Vec<_> = fleet.nodes.iter().map(|node| (node.public.clone(), node.admin.clone())).collect();
        let stop = AtomicBool::new(false);
        let victim = round % NODES;
        let disturb = async {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            if round % 2 == 0 {
                fleet.nodes[victim].kill();
            } else {
                let away = format!(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}' AND random() < 0.5",
                    fleet.database
                );
                server.sql("postgres", &away);
            }
            tokio::time::sleep(Duration::from_millis(2500)).await;
            stop.store(true, Ordering::Relaxed);
        };
        let (one, two, ()) =
            tokio::join!(load(&ends, &bearer, &people, &stop), load(&ends, &bearer, &people, &stop), disturb);
        for (more, not) in [one, two] {
            attested.extend(more);
            refused += not;
        }
        if round % 2 == 0 {
            fleet.nodes[victim] = started(&fleet.folder, victim, &fleet.variables);
        }
    }
    assert!(attested.len() > 20, "{} logins, {refused} refused", attested.len());
    // Every attestation verifies, and no two seals have one number.
    let (mut seals, mut newest, mut signers) = (HashMap::new(), 0, HashSet::new());
    for (bytes, nonce) in &attested {
        let policy = Policy::new(fleet.trust_root.clone(), AUDIENCE, ExpectedNonce::Exactly(nonce.clone()));
        verify(bytes, &policy, trefoil_key_holder::unix_s()).unwrap();
        let Evidence::Full(seal) = Attestation::decode(bytes).unwrap().evidence else { panic!("it is full") };
        let (number, digest) = (seal.header.seal_number, seal.header.digest());
        assert_eq!(*seals.entry(number).or_insert(digest), digest, "seal {number} has two contents");
        newest = newest.max(number);
        signers.insert(seal.header.key_set_id);
    }
    assert_eq!(signers.len(), NODES, "each node signs with keys of its own");
    let public = fleet.at(1).public.clone();
    is_one_chain(&public, newest).await;
    for (number, digest) in &seals {
        let stored = public.get(&format!("/v1/seals/{number}")).await;
        let stored = trefoil_attest::Seal::decode(&stored.body).unwrap();
        assert_eq!(stored.header.digest(), *digest, "seal {number} is not the one that was answered");
    }
    println!("{} logins attested, {refused} requests refused, newest seal {newest}", attested.len());
    drop(fleet.key_holder);
}

/// A node that was away while another was added, and the command that adds one, killed at random.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_an_older_trust_root_says_what_to_copy_and_a_killed_addition_can_be_repeated() {
    let Some(server) = Server::shared() else { return };
    let fleet = Fleet::start(server).await;
    let data = |name: &str| fleet.folder.path().join(name);
    copied(&data("node-0"), &data("away"));
    succeeded(&added(&data("node-0"), &data("node-3")));
    let fourth = started(&fleet.folder, 3, &fleet.variables);
    assert_eq!(fourth.create_tenant().await.status, 201);
    assert!(fourth.terminate().success());
    let serve = |name: &str| {
        let mut command = Command::new("timeout");
        command.args(["60", env!("CARGO_BIN_EXE_trefoil"), "serve", "--listen", "127.0.0.1:0"]);
        command.args(["--admin-listen", "127.0.0.1:0", "--data-dir", text(&data(name))]);
        command.envs(fleet.variables.iter().map(|(name, value)| (name, value)));
        command.output().unwrap()
    };
    let refused = serve("away");
    let why = String::from_utf8(refused.stderr.clone()).unwrap();
    assert_eq!(code(&refused), 1, "{why}");
    assert!(
        why.contains("which version 3 of the trust root") && why.contains("copy trust-roots/4.json"),
        "{why}"
    );
    std::fs::copy(data("node-0").join("trust-roots/4.json"), data("away").join("trust-roots/4.json"))
        .unwrap();
    std::fs::rename(data("away"), data("node-4")).unwrap();
    let back = started(&fleet.folder, 4, &fleet.variables);
    assert_eq!(back.public.get("/v1/keys/4").await.status, 200);
    assert!(back.terminate().success());

    let mut newest = 4;
    for round in 0..volume(60, 4) {
        let to = data(&format!("killed-{round}"));
        let mut adding = Command::new(env!("CARGO_BIN_EXE_trefoil"))
            .args(["keys", "add-node", "--data-dir", text(&data("node-0")), "--to", text(&to)])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        tokio::time::sleep(Duration::from_millis(rand::rng().random_range(0..600))).await;
        adding.kill().unwrap();
        adding.wait().unwrap();
        let again = added(&data("node-0"), &to);
        let errors = String::from_utf8(again.stderr.clone()).unwrap();
        assert!(code(&again) == 0 || errors.contains("is not empty"), "{errors}");
        let show = |data: &Path| trefoil(&["keys", "show", "--data-dir", text(data)]).stdout;
        let shown = String::from_utf8(show(&data("node-0"))).unwrap();
        assert_eq!(shown.as_bytes(), show(&to));
        newest += 1;
        assert!(shown.contains(&format!("version  {newest}\n")), "one version for each node: {shown}");
    }
    drop(fleet);
}
