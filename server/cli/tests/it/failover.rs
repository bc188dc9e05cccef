//! A fleet whose database fails over, under Patroni with etcd.

use crate::fleet::{Fleet, NODES};
use crate::postgres::is_one_chain;
use crate::reports;
use crate::service::request_at;
use crate::world::*;
use rand::RngExt as _;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use trefoil_attest::{ExpectedNonce, Policy, Seal, verify};
use trefoil_testing::patroni::{Cluster, LOOP_WAIT_S, MEMBERS, Members, RETRIEVE_MS, RETRY_S, TTL_S};

/// From the first commit of the new primary until each node takes changes.
const NOTICED: Duration = Duration::from_secs(5);
/// The same until each takes logins: the register of nonces is new, and refuses what another server of that name may have accepted.
const REGISTER: Duration = Duration::from_secs(8);
/// Longest wait for all of it.
const PATIENCE: Duration = Duration::from_secs(60);
const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// What was answered with success.
#[derive(Default)]
struct Acknowledged {
    logins: Vec<(Authentication, Vec<u8>)>,
    keys: Vec<String>,
    tenants: Vec<String>,
    versions: Vec<u64>,
    welcomed: Vec<usize>,
    refused: usize,
}

/// What a client needs: the listeners of each node, the customer's API key, and its tenant's path.
struct Callers {
    nodes: Vec<(Endpoint, Endpoint)>,
    tenant: String,
}

impl Callers {
    fn of(fleet: &Fleet) -> Callers {
        let bearer = fleet.customer.public.bearer.clone().unwrap();
        let ends = |node: &crate::program::Program| (node.public.with_bearer(&bearer), node.admin.clone());
        let tenant = fleet.customer.path("");
        Callers { nodes: fleet.nodes.iter().map(ends).collect(), tenant }
    }

    /// Sends a request; `None` if it was refused because the database is away. Any other refusal fails the test.
    async fn ask(&self, end: &Endpoint, method: Method, path: &str, body: Vec<u8>) -> Option<Reply> {
        let reply = end.try_send(method, path, &JSON, body).await.ok()?;
        match reply.status.as_u16() {
            // Away, or used at the other node, or not decided in time.
            503 | 409 | 504 => None,
            200 | 201 => Some(reply),
            // The batch was the first to hear that the register began anew.
            422 if reply.json()["code"] == "request-not-fresh" => None,
            _ => panic!("{path}: {} {}", reply.status, reply.text()),
        }
    }

    async fn create(&self, node: usize, path: &str, body: Value) -> Option<Value> {
        let body = body.to_string().into_bytes();
        Some(self.ask(&self.nodes[node].1, Method::POST, path, body).await?.json())
    }

    async fn login(&self, node: usize, request: &Authentication) -> Option<Vec<u8>> {
        let body = serde_json::to_vec(request).unwrap();
        let reply = self.ask(&self.nodes[node].0, Method::POST, "/v1/authentications", body).await?;
        let answer = answer(&reply);
        assert_eq!(answer.decision, Decision::Match, "a wrong decision");
        Some(answer.attestation.unwrap().0)
    }

    /// Enrols a person and opens the session.
    async fn welcome(&self, node: usize, person: &Person) -> Option<()> {
        let body = json!({"embeddings": [trefoil_api::Vector::new(person.face)], "consent_ref": "form 7"});
        let (public, key) = (&self.nodes[node].0, hex::encode(person.session_id));
        let headers = [("idempotency-key", key.as_str())];
        let path = templates_path(person);
        let enrolled = public.try_send(Method::POST, &path, &headers, body.to_string()).await.ok()?;
        if enrolled.status != 201 {
            assert_eq!(enrolled.status, 503, "{}", enrolled.text());
            return None;
        }
        let headers = [("content-type", "application/octet-stream")];
        let opened = public.try_send(Method::POST, "/v1/proof-sessions", &headers, person.envelope.clone());
        let opened = opened.await.ok()?;
        assert!([200, 201, 503].contains(&opened.status.as_u16()), "{}", opened.text());
        (opened.status != 503).then_some(())
    }

    /// The numbers of the policies at a node.
    async fn versions(&self, node: usize) -> Vec<u64> {
        let listed = self.nodes[node].1.get(&format!("{}/policies", self.tenant)).await.json();
        listed["policies"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["policy_version"].as_u64().unwrap())
            .collect()
    }
}

fn fresh(person: &Person) -> Authentication {
    request_at(trefoil_host::unix_s(), person, &person.face, rand::rng().random())
}

/// Changes of each kind at one node, one after the other. People come in by their place in `people`.
async fn changes(
    callers: &Callers,
    node: usize,
    people: &[Person],
    stop: &AtomicBool,
    done: &mut Acknowledged,
) {
    let mut newcomers = (node..people.len()).step_by(NODES);
    let mut next = newcomers.next();
    while !stop.load(Ordering::Relaxed) {
        let key =
            callers.create(node, &format!("{}/api-keys", callers.tenant), json!({"scopes": ["enrol"]})).await;
        let id = |made: Value, name: &str| made[name].as_str().unwrap().to_owned();
        match key {
            Some(made) => done.keys.push(id(made, "id")),
            None => done.refused += 1,
        }
        let tenant = callers.create(node, "/v1/tenants", json!({"name": "t", "policy": policy()})).await;
        done.tenants.extend(tenant.map(|made| id(made, "tenant_id")));
        let body = json!({"policy": policy()}).to_string().into_bytes();
        let path = format!("{}/policy", callers.tenant);
        let put = callers.ask(&callers.nodes[node].1, Method::PUT, &path, body).await;
        done.versions.extend(put.map(|put| put.json()["policy_version"].as_u64().unwrap()));
        if let Some(who) = next
            && callers.welcome(node, &people[who]).await.is_some()
        {
            done.welcomed.push(who);
            next = newcomers.next();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Logs in with each request at two nodes at once, of which one may accept it.
async fn logins(callers: &Callers, people: &[Person], stop: &AtomicBool, done: &mut Acknowledged) {
    while !stop.load(Ordering::Relaxed) {
        let (node, who) = (rand::rng().random_range(0..NODES), rand::rng().random_range(0..people.len()));
        let request = fresh(&people[who]);
        let (one, other) =
            tokio::join!(callers.login(node, &request), callers.login((node + 1) % NODES, &request));
        assert!(one.is_none() || other.is_none(), "two nodes accepted one request");
        match one.or(other) {
            Some(attestation) => done.logins.push((request, attestation)),
            None => {
                done.refused += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

/// Waits until a change succeeds at every node.
async fn changes_again(callers: &Callers) {
    for node in 0..NODES {
        let path = format!("{}/api-keys", callers.tenant);
        while callers.create(node, &path, json!({"scopes": ["enrol"]})).await.is_none() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Waits until a login succeeds at every node.
async fn logs_in_again(callers: &Callers, person: &Person) {
    for node in 0..NODES {
        until(async || callers.login(node, &fresh(person)).await.is_some()).await;
    }
}

impl Acknowledged {
    /// Everything is at every node, every attestation verifies, the log is one chain, and no request is accepted a second time.
    async fn all_there(&self, fleet: &Fleet, callers: &Callers, people: &[Person]) {
        for (node, (public, admin)) in callers.nodes.iter().enumerate() {
            let keys = admin.get(&format!("{}/api-keys", callers.tenant)).await.text().to_owned();
            assert!(self.keys.iter().all(|id| keys.contains(id)), "an API key is missing at node {node}");
            let tenants = admin.get("/v1/tenants").await.text().to_owned();
            assert!(self.tenants.iter().all(|id| tenants.contains(id)), "a tenant is missing at node {node}");
            let versions = callers.versions(node).await;
            assert!(self.versions.iter().all(|one| versions.contains(one)), "a policy is missing at {node}");
            for &who in &self.welcomed {
                assert!(
                    callers.login(node, &fresh(&people[who])).await.is_some(),
                    "person {who}, node {node}"
                );
            }
            for (request, _) in self.logins.iter().rev().take(5) {
                let again = public.post("/v1/authentications", &serde_json::to_value(request).unwrap()).await;
                assert_ne!(again.status, 200, "node {node} accepted a request twice");
            }
        }
        let newest = self.one_log(fleet, &callers.nodes[0].0).await;
        for (public, _) in &callers.nodes {
            is_one_chain(public, newest).await;
        }
    }

    async fn one_log(&self, fleet: &Fleet, public: &Endpoint) -> u64 {
        let mut seals = HashMap::new();
        for (request, bytes) in &self.logins {
            let nonce = ExpectedNonce::Exactly(request.nonce.as_bytes().to_vec());
            let policy = Policy::new(fleet.trust_root.clone(), AUDIENCE, nonce);
            verify(bytes, &policy, trefoil_host::unix_s()).unwrap();
            let seal = crate::service::seal(bytes);
            let digest = seal.header.digest();
            assert_eq!(*seals.entry(seal.header.seal_number).or_insert(digest), digest, "two contents");
        }
        for (number, digest) in &seals {
            let stored = Seal::decode(&public.get(&format!("/v1/seals/{number}")).await.body).unwrap();
            assert_eq!(stored.header.digest(), *digest, "seal {number} is not the one that was answered");
        }
        seals.into_keys().max().unwrap()
    }
}

/// A login load and changes at all nodes while something happens to the database. Returns what was acknowledged.
async fn under_load(
    callers: &Callers,
    (known, new): (&[Person], &[Person]),
    happens: impl Future<Output = ()>,
) -> Acknowledged {
    let stop = AtomicBool::new(false);
    let mut done: [Acknowledged; NODES + 1] = Default::default();
    let [one, two, three, four] = &mut done;
    let ends = async {
        happens.await;
        stop.store(true, Ordering::Relaxed);
    };
    tokio::join!(
        logins(callers, known, &stop, one),
        changes(callers, 0, new, &stop, two),
        changes(callers, 1, new, &stop, three),
        changes(callers, 2, new, &stop, four),
        ends
    );
    done.into_iter().fold(Acknowledged::default(), |mut all, more| {
        all.logins.extend(more.logins);
        all.keys.extend(more.keys);
        all.tenants.extend(more.tenants);
        all.versions.extend(more.versions);
        all.welcomed.extend(more.welcomed);
        all.refused += more.refused;
        all
    })
}

/// When something was there again, from what happened to the primary.
struct Back {
    /// Another member is the primary.
    primary: Duration,
    /// It acknowledged a transaction, so a standby has joined it.
    commits: Duration,
    /// Each node took a change.
    changes: Duration,
    /// Each node took a login.
    logins: Duration,
}

impl Back {
    /// Waits for each. An old primary that hangs takes changes until the other one is it.
    async fn of(cluster: &Cluster, old: usize, callers: &Callers, person: &Person) -> Back {
        let begun = Instant::now();
        let all = async {
            // On threads of their own: what asks the servers here must not stop the load.
            let [members, asked] = [cluster.members.clone(), cluster.members.clone()];
            let next = tokio::task::spawn_blocking(move || members.next_primary(old)).await.unwrap();
            let primary = begun.elapsed();
            let commits = tokio::task::spawn_blocking(move || {
                asked.commit(next);
                begun.elapsed()
            });
            let nodes = async {
                changes_again(callers).await;
                let changes = begun.elapsed();
                logs_in_again(callers, person).await;
                (changes, begun.elapsed())
            };
            let (commits, (changes, logins)) = tokio::join!(commits, nodes);
            Back { primary, commits: commits.unwrap(), changes, logins }
        };
        tokio::time::timeout(PATIENCE, all).await.expect("the fleet takes changes and logins again")
    }

    /// What is written in the record. Fails if the fleet came back later than it may.
    fn told(&self, done: &Acknowledged) -> Value {
        let seconds = |time: Duration| time.as_millis() as f64 / 1000.0;
        let report = json!({
            "primary_s": seconds(self.primary),
            "commits_s": seconds(self.commits),
            "changes_s": seconds(self.changes),
            "logins_s": seconds(self.logins),
            "changes_after_commits_s": seconds(self.changes.saturating_sub(self.commits)),
            "logins_after_commits_s": seconds(self.logins.saturating_sub(self.commits)),
            "acknowledged": {
                "logins": done.logins.len(),
                "api_keys": done.keys.len(),
                "tenants": done.tenants.len(),
                "policies": done.versions.len(),
                "enrolments": done.welcomed.len(),
            },
            "refused": done.refused,
        });
        println!("{report:#}");
        assert!(self.logins <= self.commits + REGISTER, "logins were back late: {report}");
        assert!(self.changes <= self.commits + NOTICED, "changes were back late: {report}");
        report
    }
}

fn is_streaming(members: &Members, member: usize) -> bool {
    let status = "SELECT status FROM pg_stat_wal_receiver";
    members.try_sql(member, "postgres", status).as_deref() == Some("streaming")
}

/// The primary is killed, with its Patroni, as if its machine had gone. It comes back as a standby.
async fn killed(
    cluster: &mut Cluster,
    fleet: &Fleet,
    callers: &Callers,
    people: (&[Person], &[Person]),
) -> Value {
    let old = cluster.members.primary().unwrap();
    let back = OnceCell::new();
    let done = under_load(callers, people, async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        cluster.kill(old);
        assert!(back.set(Back::of(cluster, old, callers, &people.0[0]).await).is_ok());
    })
    .await;
    let told = back.get().unwrap().told(&done);
    cluster.begin(old);
    cluster.members.wait("standby", |members| is_streaming(members, old));
    done.all_there(fleet, callers, people.1).await;
    told
}

/// Patroni at the primary hangs, so its lease runs out and a standby is promoted, while the old primary still takes connections and answers.
async fn hung(
    cluster: &mut Cluster,
    fleet: &Fleet,
    callers: &Callers,
    people: (&[Person], &[Person]),
) -> Value {
    let old = cluster.members.primary().unwrap();
    let back = OnceCell::new();
    let still =
        || cluster.members.try_sql(old, "postgres", "SELECT pg_is_in_recovery()").as_deref() == Some("f");
    let done = under_load(callers, people, async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        cluster.freeze(old, true);
        assert!(back.set(Back::of(cluster, old, callers, &people.0[0]).await).is_ok());
        assert!(still(), "the old primary does not run any more: the test shows nothing");
    })
    .await;
    let told = back.get().unwrap().told(&done);
    // What is done at one node holds at the others, so each of them hears of the new primary.
    let session = format!("/v1/proof-sessions/{}", hex::encode(people.0[1].session_id));
    callers.nodes[0].0.delete(&session).await.is(200);
    tokio::time::sleep(Duration::from_secs(2)).await;
    for (node, (public, _)) in callers.nodes.iter().enumerate() {
        let ended =
            public.post("/v1/authentications", &serde_json::to_value(fresh(&people.0[1])).unwrap()).await;
        assert_eq!(ended.status, 410, "node {node}: {}", ended.text());
    }
    assert!(still(), "the old primary does not run any more: the test shows nothing");
    cluster.freeze(old, false);
    cluster.members.wait("standby", |members| is_streaming(members, old));
    done.all_there(fleet, callers, people.1).await;
    told
}

/// Claim V100: A fleet on PostgreSQL under Patroni, with a synchronous standby: a primary that is killed with its Patroni under load, or
/// whose Patroni hangs, loses no acknowledged enrolment, session, API key, tenant, policy or login. Each node takes changes again within 5
/// s of the first commit of the new primary, the log is one chain, and no request is accepted twice. The old primary comes back as a
/// standby.
/// Claim V101.
#[tokio::test(flavor = "multi_thread")]
async fn a_failover_loses_nothing_and_an_old_primary_that_still_answers_is_left() {
    let Some(mut cluster) = Cluster::start() else { return };
    let mut fleet = Fleet::on(&cluster.database("trefoil")).await;
    // As if it had been there for minutes: a new register refuses requests of its first seconds.
    let primary = cluster.members.primary().unwrap();
    cluster.members.sql(primary, "trefoil", "UPDATE register SET since = since - 600");
    let people = fleet.at(0).people(2 + 2 * NODES as u32, 1, 51).await;
    let (known, new) = people.split_at(2);
    for person in known {
        fleet.at(0).welcome(person).await;
    }
    let callers = Callers::of(&fleet);
    let (first, second) = new.split_at(NODES);
    let killed = killed(&mut cluster, &fleet, &callers, (known, first)).await;
    let hung = hung(&mut cluster, &fleet, &callers, (known, second)).await;
    for node in fleet.nodes.drain(..) {
        assert!(node.terminate().success());
    }
    let patroni = json!({"ttl_s": TTL_S, "loop_wait_s": LOOP_WAIT_S, "retry_timeout_s": RETRY_S, "wal_retrieve_retry_interval_ms": RETRIEVE_MS, "members": MEMBERS});
    let report = json!({"patroni": patroni, "nodes": NODES, "killed": killed, "hung": hung});
    reports::keep("fleet-failover", "cargo test --workspace --test it failover", report);
}
