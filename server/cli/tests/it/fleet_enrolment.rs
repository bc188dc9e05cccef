//! Enrolments at a node of a fleet whose key-holder answers late, while other nodes do something.

use crate::fleet::{Fleet, Plan};
use crate::proxy::{Proxy, Way};
use crate::world::*;
use tokio::task::JoinHandle;
use trefoil_testing::postgres::Server;

/// How late the key-holder hears of an enrolment and the node of the answer: the test does something in between.
const LATE: Duration = Duration::from_secs(3);
/// In which the test's own steps end.
const ENDS_WITHIN: Duration = Duration::from_secs(60);

/// A fleet whose first node has this path to the key-holder.
async fn start(server: &Server) -> (Fleet, Proxy) {
    let [owner, url] = server.roles();
    let mut plan = Plan::patient(&url, Some(&owner));
    let holder = plan.key_holders.iter().map(KeyHolder::url).next().unwrap().to_owned();
    let (target, fingerprint) = holder.strip_prefix("tls://").unwrap().split_once('#').unwrap();
    let proxy = Proxy::to(target).await;
    plan.first_node("TREFOIL_KEYHOLDER_URL", &format!("tls://{}#{fingerprint}", proxy.address));
    (Fleet::of(plan, policy()).await, proxy)
}

/// An enrolment at the first node, which is under way from now on.
fn enrols(fleet: &mut Fleet, person: &Person, key: &'static str) -> JoinHandle<Reply> {
    let (public, path) = (fleet.at(0).public.clone(), templates_path(person));
    let body = json!({"embeddings": [Vector::new(person.face)], "consent_ref": "form 7"}).to_string();
    tokio::spawn(async move { public.send(Method::POST, &path, &[("idempotency-key", key)], body).await })
}

/// An enrolment at the first node that the key-holder has stored and the node does not know of yet.
async fn enrols_late(fleet: &mut Fleet, path: &Proxy, person: &Person) -> JoinHandle<Reply> {
    let stored = held(fleet) + 1;
    for _ in 0..10 {
        path.set(Way::Slow(LATE));
        let late = enrols(fleet, person, "late");
        while !late.is_finished() {
            if held(fleet) == stored {
                return late;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // The node had to connect to the key-holder first, which took too long.
        path.set(Way::Open);
        late.await.unwrap().is(503);
    }
    panic!("ten enrolments did not reach the key-holder");
}

/// Waits until a statement gives this.
async fn becomes(expected: u64, mut found: impl FnMut() -> u64) {
    let begun = Instant::now();
    while found() != expected {
        assert!(begun.elapsed() < ENDS_WITHIN, "{} and not {expected}", found());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn count(server: &Server, fleet: &Fleet, table: &str) -> u64 {
    server.sql(&fleet.plan.database, &format!("SELECT count(*) FROM {table}")).parse().unwrap()
}

/// How many templates the key-holder has.
fn held(fleet: &Fleet) -> u64 {
    let vault = rusqlite::Connection::open(fleet.plan.folder.path().join("vault/vault.sqlite")).unwrap();
    vault.query_row("SELECT count(*) FROM subjects", [], |row| row.get(0)).unwrap()
}

/// Claim V123.
///
/// The node hears of the ciphertext after the keys that it is under were destroyed, however long that took.
#[tokio::test(flavor = "multi_thread")]
async fn an_enrolment_that_outlasts_a_rotation_of_keys_is_refused_and_succeeds_when_it_is_repeated() {
    let Some(server) = Server::shared() else { return };
    let (mut fleet, path) = start(server).await;
    let people = fleet.at(1).people(2, 1, 71).await;
    fleet.at(1).welcome(&people[0]).await;
    let late = enrols_late(&mut fleet, &path, &people[1]).await;
    path.set(Way::Silent);
    let rotation = fleet.customer.path("/key-rotation");
    fleet.at(1).admin.post(&rotation, &json!({})).await.is(202);
    let begun = Instant::now();
    while fleet.at(1).admin.get(&rotation).await.json()["state"] != "idle" {
        assert!(begun.elapsed() < ENDS_WITHIN);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    path.set(Way::Open);
    let late = late.await.unwrap();
    assert!(
        late.text().contains("the keys of the tenant's templates were replaced meanwhile"),
        "{}",
        late.text()
    );
    late.problem(503, "overloaded");
    fleet.at(0).enrol(&people[1], "late").await.is(201);
    fleet.at(2).prove(&people[1]).await.is(201);
    for person in &people {
        fleet.login(2, person, &person.face).await.matches();
    }
    assert_eq!(count(server, &fleet, "templates WHERE epoch = 0"), 0);
}

/// Claim V124: An idempotency key that comes to two nodes of a fleet at a time is used once, and a write of usage whose answer was lost
/// counts once.
///
/// The second request with a key comes to another node while the first one is in work, and is done before it.
#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_at_two_nodes_at_a_time_is_used_once_and_both_say_the_same() {
    let Some(server) = Server::shared() else { return };
    let (mut fleet, path) = start(server).await;
    let people = fleet.at(1).people(3, 1, 72).await;
    for (key, other) in [("same", &people[0]), ("reused", &people[1])] {
        path.set(Way::Slow(LATE));
        let noted = count(server, &fleet, "generations");
        let first = enrols(&mut fleet, if key == "same" { &people[0] } else { &people[2] }, key);
        // It has looked for an earlier answer, and asks the key-holder.
        becomes(noted + 1, || count(server, &fleet, "generations")).await;
        let second = fleet.at(1).enrol(other, key).await.is(201);
        assert!(!second.headers.contains_key("idempotent-replayed"));
        path.set(Way::Open);
        let first = first.await.unwrap();
        if key == "reused" {
            first.problem(422, "idempotency-key-reused");
            continue;
        }
        assert_eq!(first.status, 201, "{}", first.text());
        assert_eq!(first.headers["idempotent-replayed"], "true");
        assert_eq!(first.json()["generation"], second.json()["generation"]);
    }
    assert_eq!((count(server, &fleet, "templates"), count(server, &fleet, "leftovers")), (2, 0));
    becomes(2, || held(&fleet)).await;
}
