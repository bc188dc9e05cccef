//! The verdict cache of a node as tenants share it, through HTTP.
#![cfg(feature = "cache-engine")]

use crate::members::Wallet;
use crate::world::*;

/// Verdicts that the tests' tenants have room for.
const QUOTA: usize = 8;

/// A count of the cache for a tenant.
async fn count(customer: &Customer, outcome: &str) -> u64 {
    let tenant = hex::encode(customer.tenant);
    let name = format!("trefoil_verdict_cache_operations_total{{tenant=\"{tenant}\",outcome=\"{outcome}\"}}");
    customer.metric(&name).await
}

/// A size of a tenant's partition.
async fn size(customer: &Customer, which: &str) -> u64 {
    let tenant = hex::encode(customer.tenant);
    customer.metric(&format!("trefoil_verdict_cache_{which}{{tenant=\"{tenant}\"}}")).await
}

fn with_quota(quota: usize) -> Value {
    with(policy(), "sessions_in_memory", quota)
}

async fn open(customer: &Customer, members: &Members, sessions: usize) -> Vec<Wallet> {
    let mut wallets = Vec::new();
    for _ in 0..sessions {
        wallets.push(members.open(customer, 0, 1, AUDIENCE).await);
    }
    wallets
}

async fn log_all_in(customer: &Customer, wallets: &mut [Wallet]) {
    for wallet in wallets {
        wallet.log_in(customer).await.matches();
    }
}

/// Claim O6.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_proof_leaves_nothing_in_the_cache_and_a_verified_one_its_verdict() {
    let service = Service::start().await.at_one_node();
    let (root, people) = service.make_people(1, 1, 7);
    service.publish(root, 1).await;
    let mut altered = people[0].envelope.clone();
    let middle = altered.len() / 2;
    altered[middle] ^= 1;
    let headers = [("content-type", "application/octet-stream")];
    for _ in 0..3 {
        let refused =
            service.public.send(Method::POST, "/v1/proof-sessions", &headers, altered.clone()).await;
        refused.problem(422, "proof-rejected");
    }
    assert_eq!(size(&service, "entries").await, 0);
    service.prove(&people[0]).await.is(201);
    assert_eq!(size(&service, "entries").await, 1);
}

/// Claim O5: One tenant's flood of the cache costs other tenants no hit, and the cache allocates nothing in steady state.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_floods_the_cache_with_sessions_costs_another_no_hit() {
    let service = Service::configured(|config| config.proofs.cache_capacity = QUOTA).await.at_one_node();
    let victim = &service.customer;
    let members = Members::enrolled(victim, 1, 51).await;
    let mut wallets = open(victim, &members, QUOTA / 2).await;
    log_all_in(victim, &mut wallets).await;

    // Six times as many sessions as a tenant's partition holds, each used more often than the victim's.
    let flooder = service.neighbour(policy()).await;
    let strangers = Members::enrolled(&flooder, 1, 52).await;
    for mut wallet in open(&flooder, &strangers, 6 * QUOTA).await {
        for _ in 0..4 {
            wallet.log_in(&flooder).await.matches();
        }
    }
    assert!(count(&flooder, "eviction").await > 0, "the flood is larger than its room");

    let (hits, misses) = (count(victim, "hit").await, count(victim, "absent").await);
    log_all_in(victim, &mut wallets).await;
    assert_eq!(count(victim, "hit").await - hits, wallets.len() as u64, "every login hits");
    assert_eq!(count(victim, "absent").await, misses);
    assert_eq!(count(victim, "eviction").await, 0);
}

/// Claim I13: A tenant has a partition of the cache with its policy's quota.
#[tokio::test(flavor = "multi_thread")]
async fn partitions_follow_tenants_with_the_quota_of_their_policy() {
    let mut service =
        Service::configured(|config| config.proofs.cache_capacity = 3 * QUOTA).await.at_one_node();
    let small = service.neighbour(with_quota(QUOTA)).await;
    assert_eq!((size(&service, "capacity").await, size(&small, "capacity").await), (24, 8));
    assert!(size(&small, "bytes").await > 0);
    let members = Members::enrolled(&small, 1, 53).await;
    let mut wallets = open(&small, &members, QUOTA + 4).await;
    assert_eq!((size(&small, "entries").await, size(&service, "entries").await), (8, 0));
    // A session without a place is read from its row; its holder need not prove again.
    let missed = "trefoil_verdict_cache_duration_seconds_count{operation=\"miss\"}";
    let before = service.metric(missed).await;
    log_all_in(&small, &mut wallets).await;
    assert!(count(&small, "absent").await > 0);
    // How long it took until its verdict was in the cache.
    assert!(service.metric(missed).await > before);
    let decided = count(&small, "admission_won").await + count(&small, "admission_lost").await;
    assert!(decided > 0 && count(&small, "migration").await >= count(&small, "admission_won").await);
    let refused = json!({"name": "none", "policy": with_quota(0)});
    service.admin.post("/v1/tenants", &refused).await.problem(422, "field-invalid");

    service = service.restart().await.at_one_node();
    let mut small = small;
    small.moved(service::endpoints(&service.server));
    assert_eq!((size(&service, "capacity").await, size(&small, "capacity").await), (24, 8));
    assert_eq!(size(&small, "entries").await, 8, "stored sessions are in the cache again");
}

/// A cache grows with the sessions of its tenant, so one policy must not ask for the machine's memory.
#[tokio::test(flavor = "multi_thread")]
async fn a_policy_asks_for_no_more_verdicts_than_the_service_has_room_for() {
    let mut service =
        Service::configured(|config| config.proofs.sessions_in_memory_max = 64).await.at_one_node();
    let refused = json!({"name": "greedy", "policy": with_quota(65)});
    let problem = service.admin.post("/v1/tenants", &refused).await.problem(422, "field-invalid");
    let detail = problem["errors"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("at most 64") && detail.contains("`proofs.sessions_in_memory_max`"), "{detail}");
    assert_eq!(problem["errors"][0]["pointer"], "/policy/sessions_in_memory");
    let mut large = service.neighbour(with_quota(64)).await;
    assert_eq!(size(&large, "capacity").await, 64);
    large.put_policy(&with_quota(65)).await.problem(422, "field-invalid");

    // The maximum was lowered since. The stored policy, which exceeds it, may be sent again unchanged.
    service.config.proofs.sessions_in_memory_max = 16;
    service = service.restart().await.at_one_node();
    large.moved(service::endpoints(&service.server));
    assert_eq!(size(&large, "capacity").await, 16);
    large.put_policy(&with_quota(64)).await.is(200);
}

/// Claim O4.
#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawn_root_leaves_no_verdict_in_the_cache_and_a_live_one_all() {
    let service = Service::start().await.at_one_node();
    let members = Members::enrolled(&service, 1, 54).await;
    let mut old = open(&service, &members, 3).await;
    service.publish_keeping(members.root(), 2, 1).await;
    let mut new =
        vec![members.open(&service, 0, 2, AUDIENCE).await, members.open(&service, 0, 2, AUDIENCE).await];
    assert_eq!((size(&service, "entries").await, count(&service, "removal").await), (5, 0), "a grace window");
    log_all_in(&service, &mut old).await;
    service.publish_keeping(members.root(), 3, 2).await;
    assert_eq!((size(&service, "entries").await, count(&service, "removal").await), (2, 3));
    let misses = count(&service, "absent").await;
    log_all_in(&service, &mut new).await;
    assert_eq!(count(&service, "absent").await, misses);
    old[0].log_in(&service).await.problem(410, "session-expired");
}

/// Claim V120: A tenant without sessions takes less than 128 KiB of the verdict cache, and its partition grows with its sessions: none is
/// evicted, no proof is verified again, and what is removed meanwhile does not come back.
///
/// A tenant without sessions costs little, whatever its quota is.
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_tenants_without_sessions_cost_less_than_one_cache_of_their_quota() {
    const TENANTS: usize = 100;
    const BYTES_MAX: u64 = 128 << 10;
    let mut service =
        Service::configured(|config| config.proofs.cache_capacity = 100_000).await.at_one_node();
    for _ in 1..TENANTS {
        service.admin.tenant(&policy()).await;
    }
    for restarted in [false, true] {
        if restarted {
            service = service.restart().await.at_one_node();
        }
        let page = service.admin.get("/metrics").await.text().to_owned();
        let sizes = page.lines().filter_map(|line| line.strip_prefix("trefoil_verdict_cache_bytes{"));
        let sizes: Vec<u64> = sizes.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
        assert_eq!(sizes.len(), TENANTS, "restarted: {restarted}");
        assert!(sizes.iter().all(|bytes| *bytes < BYTES_MAX), "restarted: {restarted}, {sizes:?}");
    }
}

/// Claim V120.
///
/// A partition grows in the background while its tenant's sessions are opened and used.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_outgrow_the_first_partition_all_log_in_and_no_proof_is_verified_again() {
    const SESSIONS: usize = 136;
    let large = |config: &mut Config| config.proofs.cache_capacity = 100_000;
    let mut service = Service::own(service::lenient(), large).await.at_one_node();
    let first = size(&service, "capacity").await;
    assert!((first as usize) < SESSIONS, "{first}");
    let members = Members::enrolled(&service, 1, 55).await;
    // More than a third of the room, so that it grows, and less than all of it, so that nothing is evicted however fast these are opened.
    let mut wallets = open(&service, &members, first as usize / 2).await;
    until(async || size(&service, "capacity").await != first).await;
    log_all_in(&service, &mut wallets).await;
    wallets.extend(open(&service, &members, SESSIONS - wallets.len()).await);
    let hits = count(&service, "hit").await;
    log_all_in(&service, &mut wallets).await;
    assert_eq!((count(&service, "hit").await - hits) as usize, SESSIONS);
    assert_eq!(size(&service, "entries").await as usize, SESSIONS);
    assert_eq!((count(&service, "eviction").await, count(&service, "removal").await), (0, 0));
    assert_eq!(count(&service, "insertion").await as usize, SESSIONS, "what moved is not counted again");
    assert_eq!(service.metric("trefoil_proofs_total{outcome=\"accepted\"}").await as usize, SESSIONS);

    // After a start there is room for the sessions that are open, without an eviction.
    service = service.restart().await.at_one_node();
    assert_eq!(size(&service, "entries").await as usize, SESSIONS);
    assert_eq!(count(&service, "eviction").await, 0);
    log_all_in(&service, &mut wallets).await;
    assert_eq!(count(&service, "hit").await as usize, SESSIONS);
    assert_eq!(service.metric("trefoil_proofs_total{outcome=\"accepted\"}").await, 0);
}

/// Every other session ends in the middle of the openings that make the partition grow.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_end_while_their_partition_grows_stay_ended() {
    let large = |config: &mut Config| config.proofs.cache_capacity = 100_000;
    let service = Service::own(service::lenient(), large).await.at_one_node();
    let first = size(&service, "capacity").await;
    let members = Members::enrolled(&service, 1, 56).await;
    let (mut ended, mut stay) = (Vec::new(), Vec::new());
    while size(&service, "capacity").await == first {
        assert!(ended.len() < first as usize, "the partition does not grow");
        let mut both = open(&service, &members, 2).await;
        stay.extend(both.pop());
        let ending = both.pop().unwrap();
        let path = format!("/v1/proof-sessions/{}", hex::encode(ending.session.id().0));
        let reply = service.public.delete(&path).await;
        assert_eq!(reply.status, 200);
        ended.push(ending);
    }
    log_all_in(&service, &mut stay).await;
    for wallet in &mut ended {
        wallet.log_in(&service).await.problem(410, "session-expired");
    }
    assert_eq!(size(&service, "entries").await as usize, stay.len());
}
