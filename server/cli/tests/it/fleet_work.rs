//! Work that one node of a fleet at a time does for a tenant, asked of several.

use crate::fleet::{Fleet, NODES};
use crate::rotation::populate;
use crate::world::*;
use trefoil_api::Enrolment;
use trefoil_client::{Client, Nodes};
use trefoil_testing::postgres::Server;

fn admins(fleet: &Fleet) -> [Endpoint; NODES] {
    std::array::from_fn(|node| fleet.nodes[node].admin.clone())
}

fn tenant(fleet: &Fleet) -> String {
    fleet.customer.path("")
}

fn vault(fleet: &Fleet, sql: &str) -> Vec<String> {
    let vault = rusqlite::Connection::open(fleet.plan.folder.path().join("vault/vault.sqlite")).unwrap();
    let mut statement = vault.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Claim V135: Tenants, API keys and operators are made at all nodes of a fleet at a time, and none is refused because another node changed
/// something in that moment.
///
/// What each node knows of a change by another one is old for a moment, and a change that goes by it would be refused.
#[tokio::test(flavor = "multi_thread")]
async fn tenants_keys_and_operators_are_made_at_all_nodes_at_a_time_and_none_is_refused() {
    const OF_A_NODE: usize = 12;
    let Some(server) = Server::shared() else { return };
    let fleet = Fleet::start(server).await;
    let keys = format!("{}/api-keys", tenant(&fleet));
    let bodies = [
        ("/v1/tenants", json!({"name": "shop", "policy": policy()})),
        (&keys, json!({"scopes": ["enrol"]})),
        ("/v1/operators", json!({"name": "ann", "role": "viewer"})),
    ];
    let admins = admins(&fleet);
    let made = (0..NODES * OF_A_NODE).map(|number| {
        let (path, body) = &bodies[number / NODES % bodies.len()];
        admins[number % NODES].post(path, body)
    });
    for created in join_all(made).await {
        assert_eq!(created.status, 201, "{}", created.text());
    }
}

/// Claim V137: In a fleet whose callers use the order of the client, the template of a subject is in the memory of one node. Any other node
/// answers for the subject too.
///
/// Any node answers for any subject, whose template it then keeps. In the client's order each template is in the memory of one node.
#[tokio::test(flavor = "multi_thread")]
async fn in_the_order_of_a_subject_its_template_is_in_the_memory_of_one_node_and_another_answers_too() {
    let Some(server) = Server::shared() else { return };
    let mut fleet = Fleet::start(server).await;
    let people = fleet.at(0).people(9, 1, 73).await;
    let nodes = Nodes::new((0..NODES).map(|node| (format!("node {node}"), client(&fleet, node))).collect());
    let in_memory = async |fleet: &Fleet| {
        let each = fleet.nodes.iter().map(|node| node.admin.metric("trefoil_templates_in_memory"));
        join_all(each).await
    };
    for person in &people {
        let enrolment = Enrolment::of(vec![Vector::new(person.face)], "form 7");
        let handle = Hex(person.handle.to_bytes());
        let warm = nodes.in_order(&handle)[0];
        assert!(warm.enrol(handle, &enrolment, &hex::encode(handle.0)).await.is_ok());
        fleet.at(0).prove(person).await.is(201);
    }
    let mut nonce = 0;
    for place in [0, 0, 1] {
        for person in &people {
            nonce += 1;
            let request = fleet.customer.request(person, &person.face, nonce);
            let asked = nodes.in_order(&Hex(person.handle.to_bytes()))[place];
            asked.authenticate(&request).await.map(drop).unwrap();
        }
        let held = in_memory(&fleet).await;
        assert_eq!(held.iter().sum::<u64>(), people.len() as u64 * (place as u64 + 1), "{held:?}");
        assert!(place > 0 || held.iter().all(|held| *held < people.len() as u64), "{held:?}");
    }
}

fn client(fleet: &Fleet, node: usize) -> Client {
    let public = &fleet.nodes[node].public;
    let certificate = std::fs::read(fleet.plan.data(node).join("tls-certificate.pem")).unwrap();
    let base = format!("https://localhost:{}", public.address.port());
    Client::new(&base, &certificate, fleet.customer.public.bearer.as_deref().unwrap(), 1).unwrap()
}

/// Claim V118: In a fleet one node at a time rotates a tenant's keys, whichever are asked, also after its connections are ended: no
/// template is lost.
///
/// Two nodes begin a rotation at a time, a third is asked, all connections to the database end in the middle, and all are asked again.
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_rotated_by_one_node_whichever_are_asked_and_nobody_is_lost() {
    let Some(server) = Server::shared() else { return };
    let mut fleet = Fleet::start(server).await;
    let subjects = volume(200, 60);
    let people = populate(fleet.at(0), subjects).await;
    let (path, admins) = (format!("{}/key-rotation", tenant(&fleet)), admins(&fleet));
    let ask = async |admin: &Endpoint| {
        let asked = admin.post(&path, &json!({})).await.is(202);
        assert_eq!(asked.json()["state"], "running", "{}", asked.text());
    };
    tokio::join!(ask(&admins[0]), ask(&admins[1]));
    ask(&admins[2]).await;
    // At a time, because few subjects are done soon.
    for shown in join_all(admins.iter().map(|admin| admin.get(&path))).await {
        assert_eq!(shown.json()["state"], "running");
    }
    let renewed = async || admins[0].get(&path).await.json()["renewed"].as_u64().unwrap_or(0);
    let begun = Instant::now();
    while renewed().await < 5 {
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
    let database = fleet.plan.database.clone();
    let ends = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname =";
    server.sql(&database, &format!("{ends} '{database}'"));
    for admin in &admins {
        let _ = admin.post(&path, &json!({})).await;
    }
    for admin in &admins {
        loop {
            let status = admin.get(&path).await.json();
            if status["state"] == "idle" && status["renewed"] == subjects {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "{status}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    for (number, person) in people.iter().enumerate() {
        let mut reply = fleet.login(number % NODES, person, &person.face).await;
        // The first use of a connection that was ended.
        while reply.status == 503 && begun.elapsed() < Duration::from_secs(120) {
            reply = fleet.login(number % NODES, person, &person.face).await;
        }
        assert_eq!(reply.decision(), Decision::Match, "{number}");
    }
    let stored = server.sql(
        &database,
        "SELECT encode(handle, 'hex') || ' ' || generation || ' ' || epoch FROM templates ORDER BY 1",
    );
    let held = vault(
        &fleet,
        "SELECT lower(hex(handle)) || ' ' || generation || ' ' || epoch FROM subjects ORDER BY 1",
    );
    assert_eq!(stored.lines().collect::<Vec<_>>(), held, "the key-holder has each template of the store");
}

/// Claim V123.
///
/// Whichever node dies, and without a call to another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_whose_node_died_is_ended_by_another_without_a_command() {
    let Some(server) = Server::shared() else { return };
    let mut fleet = Fleet::start(server).await;
    let subjects = volume(120, 40);
    let people = populate(fleet.at(0), subjects).await;
    let (path, admins) = (format!("{}/key-rotation", tenant(&fleet)), admins(&fleet));
    admins[1].post(&path, &json!({})).await.is(202);
    let begun = Instant::now();
    while admins[0].get(&path).await.json()["renewed"].as_u64().unwrap_or(0) < 5 {
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
    fleet.nodes[1].kill();
    assert!(admins[0].get(&path).await.json()["left"].as_u64().unwrap() > 0, "it was in the middle");
    for node in [0, 2] {
        loop {
            let status = admins[node].get(&path).await.json();
            if status["state"] == "idle" && status["renewed"] == subjects {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "{status}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        for person in &people {
            fleet.login(node, person, &person.face).await.matches();
        }
    }
    assert_eq!(vault(&fleet, "SELECT count(*) || '' FROM epochs"), ["1"], "the keys before are gone");
}

/// A policy with this threshold and these failures per day.
fn policy_of(score: u64, failures: u64) -> Value {
    let mut policy = policy();
    policy["threshold"] = json!({"calibrated": {"score": score, "fmr_class": 2 + score % 3}});
    policy["attempts"] = json!({"failures_per_day": failures});
    policy
}

/// Claim V119: Policies set at several nodes at a time leave the key-holder with the one in force.
///
/// Three nodes set policies at a time, while a fourth call changes the registry, so that the store refuses some after the key-holder took them.
#[tokio::test(flavor = "multi_thread")]
async fn policies_set_at_several_nodes_leave_the_key_holder_with_the_one_in_force() {
    let Some(server) = Server::shared() else { return };
    let mut fleet = Fleet::start(server).await;
    let people = fleet.at(0).welcomed(1, 34).await;
    let (tenant, admins) = (tenant(&fleet), admins(&fleet));
    let put = async |admin: &Endpoint, (score, failures): (u64, u64)| -> Reply {
        let body = json!({"policy": policy_of(score, failures)}).to_string();
        let headers = [("content-type", "application/json")];
        admin.send(Method::PUT, &format!("{tenant}/policy"), &headers, body).await
    };
    let other = async |admin: &Endpoint| {
        for _ in 0..4 {
            let _ = admin.post(&format!("{tenant}/api-keys"), &json!({"scopes": ["enrol"]})).await;
        }
    };
    let mut in_force = (1, (18_000, 20));
    for round in 0..volume(60, 12) {
        // Some differ in their budgets alone.
        let values: [_; NODES] = std::array::from_fn(|node| {
            let number = (round * NODES + node) as u64;
            (17_000 + number / 2 * (number % 4 / 2), 10 + number % 80)
        });
        let [one, two, three] = &admins;
        let (a, b, c, ()) =
            tokio::join!(put(one, values[0]), put(two, values[1]), put(three, values[2]), other(two));
        for (reply, value) in [a, b, c].iter().zip(values) {
            match reply.status.as_u16() {
                200 => {
                    let version = reply.json()["policy_version"].as_u64().unwrap();
                    in_force = in_force.max((version, value));
                }
                _ => drop(reply.problem(503, "store-unavailable")),
            }
        }
        let held = "SELECT threshold || ' ' || failures_per_day FROM tenants";
        let (score, failures) = in_force.1;
        assert_eq!(vault(&fleet, held), [format!("{score} {failures}")], "round {round}");
    }
    assert!(in_force.0 > 10, "most are made");
    for node in 0..NODES {
        let mut reply = fleet.login(node, &people[0], &people[0].face).await;
        for _ in 0..100 {
            if reply.status != 503 {
                break;
            }
            // It has not heard of the last change yet.
            reply.problem(503, "policy-out-of-step");
            tokio::time::sleep(Duration::from_millis(50)).await;
            reply = fleet.login(node, &people[0], &people[0].face).await;
        }
        assert_eq!(reply.decision(), Decision::Match, "node {node}");
    }
}
