//! `kill -9` of a gateway at random moments under load: everything that it acknowledged is there after the next start.

use crate::gateway::Plan;
use crate::world::*;
use rand::RngExt as _;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use trefoil_attest::{Seal, verify_same_log, verify_seal};

/// Kills at full volume.
const KILLS: usize = 100;

/// The answers of a round.
#[derive(Default)]
struct Told {
    /// Subjects that are enrolled, and those that were deleted.
    enrolled: Vec<[u8; 32]>,
    deleted: Vec<[u8; 32]>,
    /// Seals, each with its header's digest.
    seals: HashMap<u64, [u8; 32]>,
}

/// Enrols, and deletes every other one, until the gateway is gone.
async fn enrol(customer: &Customer, person: &Person, told: &mut Told, count: &AtomicU64) {
    for number in 0_u64.. {
        let somebody = Person {
            handle: Handle::new(rand::rng().random()),
            envelope: Vec::new(),
            key: person.key.clone(),
            ..*person
        };
        let (key, path) = (hex::encode(somebody.handle), service::templates_path(&somebody));
        let template = (&person.face[..], "form 7");
        let sent = customer.public.try_template(Method::POST, somebody.handle, template, &key);
        let Ok(reply) = sent.await else { return };
        assert_eq!(reply.status, 201, "{}", reply.text());
        count.fetch_add(1, Ordering::Relaxed);
        if number % 2 == 0 {
            told.enrolled.push(somebody.handle.to_bytes());
            continue;
        }
        let Ok(reply) = customer.public.try_send(Method::DELETE, &path, &[], Vec::new()).await else {
            return;
        };
        assert_eq!(reply.status, 200, "{}", reply.text());
        told.deleted.push(somebody.handle.to_bytes());
    }
}

/// Logs in until the gateway is gone.
async fn log_in(customer: &Customer, person: &Person, nonces: &AtomicU64, count: &AtomicU64) -> Vec<Vec<u8>> {
    let mut answered = Vec::new();
    loop {
        let nonce = nonces.fetch_add(1, Ordering::Relaxed);
        let mut request = customer.request(person, &person.face, nonce);
        request.attestation = AttestationForm::Full;
        let Ok(reply) = customer.try_authenticate(&request).await else { return answered };
        let answer = service::answer(&reply);
        assert_eq!(answer.decision, Decision::Match);
        count.fetch_add(1, Ordering::Relaxed);
        answered.push(answer.attestation.unwrap().0);
    }
}

/// Claim V90.
/// Claim V39: A gateway or a key-holder that is killed at any moment loses nothing that it acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_is_killed_at_any_moment_loses_nothing_that_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("gateway.log"));
    let plan = Plan { data, key_holder: String::new(), batch_delay_us: 0, log };
    let clock = Arc::new(TestClock::default());
    let gateway = plan.start(&clock);
    let mut customer = gateway.customer(Arc::clone(&clock), service::lenient()).await;
    let person = customer.welcomed(1, 81).await.remove(0);
    let trust_root = std::fs::read_to_string(plan.data.join("trust-root.json")).unwrap();
    let trust_root = trefoil_attest::TrustRoot::from_json(&trust_root).unwrap();
    let (nonces, mut gateway, mut all) = (AtomicU64::new(1), gateway, Told::default());
    let (mut logins, mut newest) = (0, None::<Seal>);
    for round in 0..volume(KILLS, 3) {
        let (mut told, count) = (Told::default(), AtomicU64::new(0));
        let enough = rand::rng().random_range(5..40);
        let kill = async {
            while count.load(Ordering::Relaxed) < enough {
                tokio::task::yield_now().await;
            }
            gateway.kill();
        };
        let caller = || log_in(&customer, &person, &nonces, &count);
        let (_, _, one, two, three) =
            tokio::join!(kill, enrol(&customer, &person, &mut told, &count), caller(), caller(), caller());
        for attestation in [one, two, three].concat() {
            logins += 1;
            let seal = crate::service::seal(&attestation);
            verify_seal(&seal, &trust_root).unwrap();
            told.seals.insert(seal.header.seal_number, seal.header.digest());
            if newest.as_ref().is_none_or(|newest| newest.header.seal_number < seal.header.seal_number) {
                newest = Some(seal);
            }
        }
        // Requests that the process before could have attested are refused.
        clock.advance(6);
        gateway = plan.start(&clock);
        customer.moved(gateway.endpoints());
        check(&customer, &person, &told, round).await;
        all.enrolled.extend(told.enrolled);
        all.deleted.extend(told.deleted);
        all.seals.extend(told.seals);
        let nonce = nonces.fetch_add(1, Ordering::Relaxed);
        let reply = customer.login(&person, &person.face, nonce).await;
        let answer = service::answer(&reply);
        let next = crate::service::seal(&answer.attestation.as_ref().unwrap().0);
        if let Some(before) = &newest {
            let (old, new) = (before.header.seal_number, next.header.seal_number);
            let get = async |what: &str| {
                let reply = customer.public.get(&format!("/v1/log/{what}/{old}/{new}")).await;
                let json = reply.json();
                let nodes = json["path"].as_array().or(json["proof"].as_array()).unwrap();
                nodes
                    .iter()
                    .map(|node| hex::decode(node.as_str().unwrap()).unwrap().try_into().unwrap())
                    .collect::<Vec<_>>()
            };
            let consistency = if old == 0 { Vec::new() } else { get("consistency").await };
            verify_same_log(&before.header, &next.header, &consistency, &get("inclusion").await).unwrap();
        }
        newest = Some(next);
    }
    check(&customer, &person, &all, usize::MAX).await;
    println!(
        "{logins} logins under {} seals, {} enrolments and {} deletions were acknowledged, and none was lost",
        all.seals.len(),
        all.enrolled.len(),
        all.deleted.len()
    );
    gateway.stop();
}

/// Whether all of it is there.
async fn check(customer: &Customer, person: &Person, told: &Told, round: usize) {
    for (handles, there) in [(&told.enrolled, true), (&told.deleted, false)] {
        for handle in handles {
            let somebody = Person {
                handle: Handle::new(*handle),
                envelope: Vec::new(),
                key: person.key.clone(),
                ..*person
            };
            let deleted = customer.public.delete(&service::templates_path(&somebody)).await;
            let expected = if there && round != usize::MAX { 200 } else { 404 };
            assert_eq!(deleted.status, expected, "round {round}: {}", deleted.text());
        }
    }
    for (number, digest) in &told.seals {
        let reply = customer.public.get(&format!("/v1/seals/{number}")).await;
        assert_eq!(reply.status, 200, "round {round}: seal {number}");
        assert_eq!(
            Seal::decode(&reply.body).unwrap().header.digest(),
            *digest,
            "round {round}: seal {number}"
        );
    }
}
