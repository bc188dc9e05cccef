//! A fleet under load in which something is killed again and again.

use crate::fleet::{Fleet, NODES, Plan, is_one_log};
use crate::fleet_load::{BUDGET, Told, World};
use crate::reports;
use crate::world::*;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use tokio::task::{JoinHandle, block_in_place};
use trefoil_attest::{Seal, verify_same_log, verify_seal};
use trefoil_testing::Scale;
use trefoil_testing::postgres::Server;

/// A number, from which victims and the load follow; drawn if it is not set.
const SEED: &str = "TREFOIL_TEST_SEED";
/// How long a victim stays away before it is started again.
const AWAY: Duration = Duration::from_secs(1);
/// Who is killed.
const KINDS: [&str; 3] = ["nodes", "key_holders", "connections"];

/// Kills one of this kind, or some connections, and starts it again.
async fn kill(fleet: &mut Fleet, world: &World, server: &Server, (kind, which): (&str, usize)) {
    match kind {
        "nodes" => {
            fleet.nodes[which].kill();
            tokio::time::sleep(AWAY).await;
            let node = block_in_place(|| fleet.plan.started(which));
            world.moved(which, (node.public.clone(), node.admin.clone()));
            fleet.nodes[which] = node;
        }
        "key_holders" => {
            fleet.plan.key_holders[which].kill();
            tokio::time::sleep(AWAY).await;
            block_in_place(|| fleet.plan.key_holder_back(which));
        }
        _ => {
            let half = format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}' AND random() < 0.5",
                fleet.plan.database
            );
            block_in_place(|| server.sql("postgres", &half));
        }
    }
}

/// Everybody who uses the fleet.
fn users(world: &Arc<World>, rng: &mut StdRng, newcomers: Vec<service::Person>) -> Vec<JoinHandle<()>> {
    let mut seed = || rng.random();
    let mut users = vec![
        tokio::spawn(Arc::clone(world).write(seed(), newcomers)),
        tokio::spawn(Arc::clone(world).replay(seed())),
    ];
    users.extend((0..NODES).map(|_| tokio::spawn(Arc::clone(world).visit(seed()))));
    users.extend((0..NODES).map(|node| tokio::spawn(Arc::clone(world).attack(node))));
    users
}

/// Claim V97: The nodes of a fleet extend one log that cannot fork: nodes, key-holders and connections to the database that are killed
/// under load, and a node that hangs or is cut off in its turn, leave one chain of seals, with every answered seal in it, every
/// acknowledged write at every node, no wrong decision, no nonce used twice, no budget exceeded, and attestations that verify.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_key_holders_and_connections_killed_under_load_leave_one_log_and_lose_nothing() {
    let Some(server) = Server::shared() else { return };
    let (rounds, pause) = match Scale::of_this_run() {
        Scale::Soak => (60, Duration::from_secs(10)),
        _ => (2, Duration::from_secs(3)),
    };
    let seed = std::env::var(SEED).map_or_else(|_| rand::rng().random(), |seed| seed.parse().unwrap());
    println!("{SEED}={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut fleet = Fleet::of(Plan::quorum(server), service::lenient()).await;
    let mut people = fleet.at(0).people(if rounds > 10 { 12 } else { 5 }, 1, 33).await;
    let newcomers = people.split_off(3);
    for person in &people {
        fleet.at(0).welcome(person).await;
    }
    let world = World::of(&mut fleet, people).await;
    let (users, begun) = (users(&world, &mut rng, newcomers), Instant::now());
    let (mut kinds, mut kills) = (Vec::new(), BTreeMap::new());
    for round in 1..=rounds {
        tokio::time::sleep_until((begun + pause * round).into()).await;
        if kinds.is_empty() {
            kinds.extend(KINDS);
            kinds.shuffle(&mut rng);
        }
        let kind = kinds.pop().unwrap();
        kill(&mut fleet, &world, server, (kind, rng.random_range(0..NODES))).await;
        *kills.entry(kind).or_insert(0) += 1;
        if let Some(ended) = users.iter().position(JoinHandle::is_finished) {
            panic!("user {ended} found something wrong in round {round}; see above");
        }
    }
    tokio::time::sleep(pause).await;
    world.stop.store(true, Ordering::Relaxed);
    for user in users {
        user.await.unwrap();
    }
    let lasted = begun.elapsed();
    for node in 0..NODES {
        world.check_writes(node).await;
        while world.attack_once(node).await != Some(true) {}
    }
    let newest = is_one_chain_everywhere(&fleet, server, &world).await;
    let command = format!("{SEED}={seed} cargo test --workspace --test it killed_under_load");
    reports::keep("fleet-faults", &command, report(&world.told(), (rounds, lasted, newest), &kills));
}

/// The log in the database is one chain with every seal that was answered, and what each node shows is of it. Returns the newest seal's number.
async fn is_one_chain_everywhere(fleet: &Fleet, server: &Server, world: &World) -> u64 {
    let stored = block_in_place(|| is_one_log(server, &fleet.plan.database));
    let seals: HashMap<u64, [u8; 32]> = world.told().seals.clone();
    for (number, digest) in &seals {
        assert_eq!(
            stored.get(*number as usize),
            Some(digest),
            "seal {number} is not the one that was answered"
        );
    }
    assert_eq!(world.told().signers.len(), NODES, "each node signs with keys of its own");
    let mut before: Option<Seal> = None;
    for node in &fleet.nodes {
        let head = Seal::decode(&node.public.get("/v1/log/head").await.body).unwrap();
        verify_seal(&head, &fleet.trust_root).unwrap();
        let first = Seal::decode(&node.public.get("/v1/seals/1").await.body).unwrap();
        for earlier in [Some(first), before].into_iter().flatten() {
            let (old, new) = (earlier.header.seal_number, head.header.seal_number);
            let get = async |what: &str| {
                let reply = node.public.get(&format!("/v1/log/{what}/{old}/{new}")).await.json();
                let hashes = reply["path"].as_array().or(reply["proof"].as_array()).unwrap().clone();
                let hash = |hash: Value| hex::decode(hash.as_str().unwrap()).unwrap().try_into().unwrap();
                hashes.into_iter().map(hash).collect::<Vec<_>>()
            };
            let (consistency, inclusion) = match old == new {
                true => (Vec::new(), Vec::new()),
                false => (get("consistency").await, get("inclusion").await),
            };
            verify_same_log(&earlier.header, &head.header, &consistency, &inclusion).unwrap();
        }
        before = Some(head);
    }
    stored.len() as u64 - 1
}

/// What was done, what was refused, and where.
fn report(told: &Told, (rounds, lasted, newest): (u32, Duration, u64), kills: &BTreeMap<&str, u32>) -> Value {
    let refused: u64 = told.refused.values().sum();
    let requests = told.attested + refused;
    let share = |part: u64, of: u64| (100_000 * part / of.max(1)) as f64 / 1000.0;
    assert!(told.attested > 20 && told.replays > 5, "{} attested, {} replays", told.attested, told.replays);
    json!({
        "rounds": rounds,
        "seconds": lasted.as_secs(),
        "killed": kills,
        "logins": {
            "attested": told.attested,
            "of_impostors": told.impostors,
            "requests": requests,
            "refused": told.refused,
            "refused_percent": share(refused, requests),
            "people": told.logins,
            "undecided_at_three_nodes": told.undecided,
            "undecided_at_three_nodes_percent": share(told.undecided, told.logins),
            "longest_outage_s": told.outages.each_ref().map(|outage| outage.longest.as_millis() as f64 / 1000.0),
        },
        "replays": {"sent_again": told.replays, "sent_to_two_nodes": told.doubled},
        "budget": {"attempts": BUDGET, "matched": told.matched, "denied": told.spent},
        "writes": {
            "enrolments": told.enrolled.len() + told.revoked.len() + told.erased.len(),
            "revocations": told.revoked.len(),
            "erasures": told.erased.len(),
            "api_keys": told.api_keys.len(),
            "policies": told.policies.len(),
            "sessions": told.sessions,
            "receipts_missing": told.receipts_missing,
            "refused": told.writes_refused,
        },
        "seals": {"newest": newest, "answered": told.seals.len()},
    })
}
