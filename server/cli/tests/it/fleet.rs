//! Three nodes that share a PostgreSQL database and key-holders.

use crate::nodes::copied;
use crate::postgres::is_one_chain;
use crate::quorum;
use crate::world::*;
use rand::RngExt as _;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;
use trefoil_attest::{Attestation, Seal, Statement, TrustRoot, verify_seal};
use trefoil_testing::postgres::Server;

/// How soon a change holds on every node.
const HOLDS_WITHIN: Duration = Duration::from_secs(2);
pub(crate) const NODES: usize = 3;

/// Nodes that run, and what they share.
pub(crate) struct Fleet {
    pub(crate) nodes: Vec<Program>,
    pub(crate) customer: Customer,
    pub(crate) plan: Plan,
    pub(crate) trust_root: TrustRoot,
}

/// What a fleet is made of.
pub(crate) struct Plan {
    pub(crate) folder: TempDir,
    pub(crate) database: String,
    pub(crate) key_holders: Vec<KeyHolder>,
    /// Settings of all nodes.
    variables: Vec<(String, String)>,
    /// Settings of the first node, which replace those.
    first: Vec<(String, String)>,
}

fn settings(variables: &[(&str, &str)]) -> Vec<(String, String)> {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

impl Plan {
    /// Nodes with one key-holder, which never give a call up because the machine is busy.
    pub(crate) fn patient(url: &str, owner: Option<&str>) -> Plan {
        let folder = tempfile::tempdir().unwrap();
        let (vault, address, data) = (folder.path().join("vault"), listen(), folder.path().join("node-0"));
        KeyHolder::init(&vault, &data, &address);
        tables_made(&data, url, owner);
        let key_holder = KeyHolder::start(&vault, &address);
        let variables = settings(&[
            ("TREFOIL_STORE_URL", url),
            ("TREFOIL_STORE_FLEET", "true"),
            ("TREFOIL_STORE_TIMEOUT_MS", "2000"),
            ("TREFOIL_KEYHOLDER_URL", key_holder.url()),
            ("TREFOIL_KEYHOLDER_TIMEOUT_MS", "60000"),
            ("TREFOIL_PROOFS_DEADLINE_MS", "60000"),
        ]);
        let (key_holders, first) = (vec![key_holder], Vec::new());
        Plan { folder, database: name_of(url), key_holders, variables, first }
    }

    /// Nodes with three key-holders of which two decide, all with the timeouts of an operator who changed none.
    pub(crate) fn quorum(server: &Server) -> Plan {
        let (folder, [owner, url]) = (tempfile::tempdir().unwrap(), server.roles());
        let data = folder.path().join("node-0");
        let configs = quorum::made(&folder.path().join("key-holders"), &data);
        tables_made(&data, &url, Some(&owner));
        let key_holders = configs.each_ref().map(|config| quorum::start_lax(config));
        let addresses = key_holders.each_ref().map(KeyHolder::url).join(",");
        let variables = settings(&[
            ("TREFOIL_STORE_URL", &url),
            ("TREFOIL_STORE_FLEET", "true"),
            ("TREFOIL_KEYHOLDER_QUORUM", &addresses),
        ]);
        let first = Vec::new();
        Plan { folder, database: name_of(&url), key_holders: key_holders.into(), variables, first }
    }

    /// Another setting of all nodes.
    pub(crate) fn every_node(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Another setting of the first node alone.
    pub(crate) fn first_node(&mut self, name: &str, value: &str) {
        self.first.push((name.to_owned(), value.to_owned()));
    }

    /// Starts a node.
    pub(crate) fn started(&self, number: usize) -> Program {
        let own: &[_] = if number == 0 { &self.first } else { &[] };
        let variables: Vec<_> =
            self.variables.iter().chain(own).map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let log = self.folder.path().join(format!("log-{number}"));
        let log = std::fs::File::options().create(true).append(true).open(log).unwrap();
        Program::start(&self.data(number), log, &variables)
    }

    /// Starts a key-holder of a quorum again.
    pub(crate) fn key_holder_back(&mut self, seat: usize) {
        let config = self.folder.path().join(format!("key-holders/{}.toml", seat + 1));
        self.key_holders[seat] = quorum::start_lax(&config);
    }

    pub(crate) fn data(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("node-{number}"))
    }
}

fn name_of(url: &str) -> String {
    url.split(['/', '?']).nth(3).unwrap().to_owned()
}

/// Makes the tables as their owner, if that is another role than the one that serves.
fn tables_made(data: &Path, url: &str, owner: Option<&str>) {
    let Some(owner) = owner else { return };
    let role = format!("serving_{}", name_of(url));
    let roles = ["--store", owner, "--serve-as", &role];
    trefoil(&[&["store", "migrate", "--data-dir", text(data)], &roles[..]].concat()).done();
}

impl Fleet {
    pub(crate) async fn start(server: &Server) -> Fleet {
        let [owner, url] = server.roles();
        Fleet::of(Plan::patient(&url, Some(&owner)), policy()).await
    }

    /// On a database of any server.
    pub(crate) async fn on(url: &str) -> Fleet {
        Fleet::of(Plan::patient(url, None), policy()).await
    }

    pub(crate) async fn of(plan: Plan, policy: Value) -> Fleet {
        let first = plan.started(0);
        let pinned = plan.folder.path().join("pinned.json");
        std::fs::copy(plan.data(0).join("trust-root.json"), &pinned).unwrap();
        for number in 1..NODES {
            added(&plan.data(0), &plan.data(number)).done();
            // A relying party follows offline, and so does every node that was made before.
            let next = format!("trust-roots/{}.json", number + 1);
            let (made, own) = (plan.data(0).join(&next), text(&pinned));
            trefoil(&["keys", "accept", "--pinned", own, "--next", text(&made)]).done();
            for before in 1..number {
                std::fs::copy(&made, plan.data(before).join(&next)).unwrap();
            }
        }
        let nodes: Vec<Program> =
            std::iter::once(first).chain((1..NODES).map(|number| plan.started(number))).collect();
        let trust_root = TrustRoot::from_json(&std::fs::read_to_string(pinned).unwrap()).unwrap();
        nodes[0].signal("-HUP");
        for node in &nodes {
            until(async || node.public.get("/v1/keys").await.text() == trust_root.to_json()).await;
        }
        let customer = Customer::of(&nodes[0], policy).await;
        Fleet { nodes, customer, plan, trust_root }
    }

    /// The customer's calls go to this node from now on.
    pub(crate) fn at(&mut self, node: usize) -> &Customer {
        let Program { public, admin, .. } = &self.nodes[node];
        self.customer.moved((public.clone(), admin.clone()));
        self.customer.clock = Arc::new(TestClock::of_machine());
        &self.customer
    }

    pub(crate) async fn login(&mut self, node: usize, person: &Person, face: &[f32; 128]) -> Reply {
        let customer = self.at(node);
        customer.login(person, face, rand::rng().random()).await
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

/// The digests of all seals in the database, in their order. They are one chain without a gap.
pub(crate) fn is_one_log(server: &Server, database: &str) -> Vec<[u8; 32]> {
    let mut digests = Vec::new();
    loop {
        let from = digests.len();
        let some = format!(
            "SELECT number, encode(bytes, 'hex') FROM seals WHERE number >= {from} ORDER BY number LIMIT 256"
        );
        let rows = server.sql(database, &some);
        for row in rows.lines() {
            let (number, bytes) = row.split_once('|').unwrap();
            let header = Seal::decode(&hex::decode(bytes).unwrap()).unwrap().header;
            let next = digests.len() as u64;
            assert_eq!((number.parse(), header.seal_number), (Ok(next), next), "the log has a gap");
            assert!(
                digests.last().is_none_or(|last| *last == header.previous),
                "the log forks before seal {next}"
            );
            digests.push(header.digest());
        }
        if rows.is_empty() {
            return digests;
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn added(first: &Path, to: &Path) -> Output {
    trefoil(&["keys", "add-node", "--data-dir", text(first), "--to", text(to)])
}

fn seal_of(reply: &Reply) -> u64 {
    answer(reply).seal_number
}

/// A login at each node is taken there and nowhere else. Returns the newest seal's number.
async fn is_taken_once(fleet: &mut Fleet, person: &Person) -> u64 {
    let mut newest = 0;
    for node in 0..NODES {
        let used = fleet.at(node).request(person, &person.face, 1_000 + node as u64);
        newest = newest.max(seal_of(&fleet.at(node).authenticate(&used).await));
        for other in 0..NODES {
            fleet.at(other).authenticate(&used).await.problem(409, "nonce-replayed");
        }
    }
    newest
}

/// Claim V95: In a fleet a session, API key, root, policy or template made at one node is used at every node, and a policy, a revocation,
/// an erasure, the end of a session, of an API key or of a tenant made at one holds at each within 2 s, also if its caller had given up
/// before the commit. A node that has not heard of the others for a second is unready, and answers no API key and no operator.
/// Claim V105.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_done_at_one_node_holds_at_every_node_and_the_log_is_one() {
    let Some(server) = Server::shared() else { return };
    let mut fleet = Fleet::start(server).await;
    // The tenant was made at the first node: its API key is taken at each.
    let people = fleet.at(1).people(4, 1, 31).await;
    fleet.holds("roots", async |customer| customer.prove(&people[3]).await.status == 201).await;
    for (person, node) in people.iter().zip([2, 1, 0, 2]) {
        fleet.at(node).welcome(person).await;
    }
    let (mut newest, mut signers) = (is_taken_once(&mut fleet, &people[0]).await, HashSet::new());
    // Each node has the templates of all of them in memory then.
    for node in 0..NODES {
        for person in &people {
            let reply = fleet.login(node, person, &person.face).await;
            assert_eq!(reply.decision(), Decision::Match, "node {node}");
            newest = newest.max(seal_of(&reply));
            let attestation = answer(&reply).attestation.unwrap().0;
            let seal = crate::service::seal(&attestation);
            verify_seal(&seal, &fleet.trust_root).unwrap();
            signers.insert(seal.header.key_set_id);
        }
        assert_eq!(signers.len(), node + 1, "each node signs with keys of its own");
        let denied = fleet.login(node, &people[0], &people[1].face).await;
        denied.denies();
        newest = newest.max(seal_of(&denied));
    }
    for node in &fleet.nodes {
        is_one_chain(&node.public, newest).await;
    }

    let tenant = fleet.customer.path("");
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
    fleet.at(2).admin.send(Method::PUT, &format!("{tenant}/policy"), &headers, body).await.is(200);
    fleet
        .holds("policy", async |customer| {
            let reply = ask(customer, &people[0]).await;
            reply.status == 200 && version(&reply) == 2
        })
        .await;
    // A session, a revocation and an erasure, each of somebody else.
    let session = format!("/v1/proof-sessions/{}", hex::encode(people[1].session_id));
    fleet.at(0).public.delete(&session).await.is(200);
    let is_refused = async |customer: &Customer, person: &Person, status: u16, code: &str| {
        let reply = ask(customer, person).await;
        reply.status == status && reply.json()["code"] == code
    };
    let ended = async |customer: &Customer| is_refused(customer, &people[1], 410, "session-expired").await;
    fleet.holds("session", ended).await;
    let path = format!("/v1/subjects/{}/revoke", hex::encode(people[0].handle));
    fleet.at(1).public.send(Method::POST, &path, &[], "").await.is(200);
    let revoked = async |customer: &Customer| is_refused(customer, &people[0], 410, "session-expired").await;
    fleet.holds("revocation", revoked).await;
    fleet.at(2).public.delete(&templates_path(&people[2])).await.is(200);
    let erased = async |customer: &Customer| is_refused(customer, &people[2], 404, "subject-unknown").await;
    fleet.holds("erasure", erased).await;
    // A root that withdraws the one before, and with it the session that was proved against that.
    fleet.at(0).publish([7; 32], 2).await;
    let withdrawn =
        async |customer: &Customer| is_refused(customer, &people[3], 410, "session-expired").await;
    fleet.holds("root", withdrawn).await;
    // An API key, an operator, and a tenant.
    let keys = fleet.at(0).admin.get(&format!("{tenant}/api-keys")).await.json();
    let key = keys["api_keys"][0]["id"].as_str().unwrap().to_owned();
    fleet.at(2).admin.delete(&format!("{tenant}/api-keys/{key}")).await.is(200);
    fleet.holds("API key", async |customer| ask(customer, &people[0]).await.status == 401).await;
    let made = fleet.at(1).admin.post("/v1/operators", &json!({"name": "ann", "role": "viewer"})).await;
    let token = made.json()["token"].as_str().unwrap().to_owned();
    fleet
        .holds("operator", async |customer| {
            customer.admin.with_bearer(&token).get("/v1/tenants").await.status == 200
        })
        .await;
    fleet.at(0).admin.post(&format!("{tenant}/disable"), &json!({})).await.is(200);
    let is_disabled =
        async |customer: &Customer| customer.admin.get(&tenant).await.json()["disabled_at"].is_u64();
    fleet.holds("disabled", is_disabled).await;
    fleet.at(1).admin.delete(&tenant).await.is(200);
    fleet.holds("tenant", async |customer| customer.admin.get(&tenant).await.status == 404).await;
    nodes_are_listed_with_their_keys(&fleet);
    metrics_show_the_fleet(&fleet).await;
    the_doctor_lists_them_with_their_versions(&fleet);
    no_version_is_made_from_an_older_one(&fleet);
    // The newest seal is of keys that version 2 does not list.
    let made = fleet.at(2).admin.post("/v1/operators", &json!({"name": "bob", "role": "viewer"})).await;
    assert!(made.status.is_success(), "{}", made.text());
    for node in fleet.nodes.drain(..) {
        assert!(node.terminate().success());
    }
    no_version_is_made_from_an_older_one(&fleet);
}

/// Each node sees all, has fresh news, and took turns in the log, some of which it waited for.
async fn metrics_show_the_fleet(fleet: &Fleet) {
    for (at, node) in fleet.nodes.iter().enumerate() {
        let page = node.admin.get("/metrics").await.text().to_owned();
        let figure = |name: &str| -> f64 {
            let line = page.lines().find_map(|line| line.strip_prefix(&format!("trefoil_fleet_{name} ")));
            line.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
        };
        assert_eq!(figure("nodes"), NODES as f64, "node {at}");
        assert!(figure("news_age_seconds") < 1.0, "node {at}");
        assert!(figure("log_turns_total") >= 5.0, "node {at} logged people in, and changed something");
        assert!(figure("log_turn_wait_seconds_total") > 0.0, "node {at}");
    }
}

/// `trefoil admin nodes` shows each node with its key set, and that one of them keeps house.
fn nodes_are_listed_with_their_keys(fleet: &Fleet) {
    let admin = format!("https://{}", fleet.nodes[1].admin.address);
    let data = fleet.nodes[1].data();
    let shown = trefoil(&["admin", "nodes", "--admin", &admin, "--data-dir", text(&data)]).done();
    assert_eq!((shown.lines().count(), shown.matches("keeps house").count()), (NODES + 1, 1), "{shown}");
    let sets: HashSet<_> = shown.lines().skip(1).filter_map(|line| line.split_whitespace().nth(4)).collect();
    let listed: HashSet<_> =
        fleet.trust_root.key_sets().iter().map(|set| hex::encode(set.keys.id())[..8].to_owned()).collect();
    assert_eq!(sets, listed.iter().map(String::as_str).collect(), "{shown}");
}

/// `trefoil doctor` shows each node that the database knows.
fn the_doctor_lists_them_with_their_versions(fleet: &Fleet) {
    let shown = Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(["doctor", "--json", "--data-dir"])
        .arg(fleet.plan.folder.path().join("node-1"))
        .envs(fleet.plan.variables.iter().map(|(name, value)| (name, value)))
        .output()
        .unwrap();
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let all = shown["findings"].as_array().unwrap().iter();
    let nodes: Vec<_> = all.filter(|found| found["code"].as_str().unwrap().starts_with("node")).collect();
    let version = format!("version {}, from ", env!("CARGO_PKG_VERSION"));
    let is_whole =
        |what: &str| what.starts_with(&version) && what.contains("last heard 2") && what.contains("key set");
    assert_eq!(nodes.len(), NODES, "{shown:#}");
    assert!(nodes.iter().all(|found| is_whole(found["what"].as_str().unwrap())), "{shown:#}");
}

/// A directory without the newest version, whose copy was forgotten, changes no keys until it has it. While nodes run these say so, and else the
/// newest seal does.
fn no_version_is_made_from_an_older_one(fleet: &Fleet) {
    let folder = tempfile::tempdir().unwrap();
    let behind = folder.path().join("behind");
    copied(&fleet.plan.folder.path().join("node-1"), &behind);
    let versions = behind.join("trust-roots");
    std::fs::copy(versions.join("2.json"), behind.join("trust-root.json")).unwrap();
    std::fs::rename(versions.join("3.json"), folder.path().join("3.json")).unwrap();
    let keys = |command: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_trefoil"));
        let variables = fleet.plan.variables.iter().map(|(name, value)| (name, value));
        let output =
            program.arg("keys").args(command).args(["--data-dir", text(&behind)]).envs(variables).output();
        output.unwrap()
    };
    let added = folder.path().join("node-9");
    for command in [&["rotate"][..], &["revoke", &"ab".repeat(32)], &["add-node", "--to", text(&added)]] {
        let why = keys(command).ends(1, "has version 2 of the trust root");
        assert!(why.contains("copy trust-roots/3.json"), "{command:?}: {why}");
        assert!(!versions.join("3.json").exists() && !added.exists());
    }
    std::fs::rename(folder.path().join("3.json"), versions.join("3.json")).unwrap();
    keys(&["rotate"]).done();
}

fn version(reply: &Reply) -> u32 {
    let attestation = answer(reply).attestation.unwrap();
    let attestation = Attestation::decode(&attestation.0).unwrap();
    Statement::decode(attestation.statement).unwrap().policy_version
}

/// Claim V96: Operators may change things at all nodes at a time: nothing is lost, and no change is made from an old copy of the registry.
/// While a transaction of one node is long, the others refuse writes alone.
///
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
    let audit = server.sql(&fleet.plan.database, "SELECT count(*) FROM audit WHERE receipt IS NULL");
    assert_eq!(audit, "0", "each change has its receipt in the one log");
}

/// A node that was away while another was added, and the command that adds one, killed at random.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_an_older_trust_root_says_what_to_copy_and_a_killed_addition_can_be_repeated() {
    let Some(server) = Server::shared() else { return };
    let fleet = Fleet::start(server).await;
    let data = |name: &str| fleet.plan.folder.path().join(name);
    copied(&data("node-0"), &data("away"));
    added(&data("node-0"), &data("node-3")).done();
    let fourth = fleet.plan.started(3);
    fourth.create_tenant().await.is(201);
    assert!(fourth.terminate().success());
    let serve = |name: &str| {
        let mut command = Command::new("timeout");
        command.args(["60", env!("CARGO_BIN_EXE_trefoil"), "serve", "--listen", "127.0.0.1:0"]);
        command.args(["--admin-listen", "127.0.0.1:0", "--data-dir", text(&data(name))]);
        command.envs(fleet.plan.variables.iter().map(|(name, value)| (name, value)));
        command.output().unwrap()
    };
    let refused = serve("away");
    let why = refused.err();
    assert_eq!(code(&refused), 1, "{why}");
    assert!(
        why.contains("which version 3 of the trust root") && why.contains("copy trust-roots/4.json"),
        "{why}"
    );
    std::fs::copy(data("node-0").join("trust-roots/4.json"), data("away").join("trust-roots/4.json"))
        .unwrap();
    std::fs::rename(data("away"), data("node-4")).unwrap();
    let back = fleet.plan.started(4);
    back.public.get("/v1/keys/4").await.is(200);
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
        let errors = again.err();
        assert!(code(&again) == 0 || errors.contains("is not empty"), "{errors}");
        let show = |data: &Path| trefoil(&["keys", "show", "--data-dir", text(data)]).stdout;
        let shown = String::from_utf8(show(&data("node-0"))).unwrap();
        assert_eq!(shown.as_bytes(), show(&to));
        newest += 1;
        assert!(shown.contains(&format!("version  {newest}\n")), "one version for each node: {shown}");
    }
    drop(fleet);
}
