//! A template is replaced in one step: a login meanwhile is compared with the old or with the new one.

use crate::gateway::Plan;
use crate::nodes;
use crate::world::*;
use rand::RngExt as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use trefoil_attest::{What, consent_digest};
use trefoil_storage::store::{Idempotency, Present, Sqlite, Subject, Subjects as _, Template};

/// Replacements, and kills during them, at full volume.
const REPLACEMENTS: usize = 500;
const KILLS: usize = 100;

async fn replace(customer: &Customer, person: &Person, face: &[f32; 128], key: &str, consent: &str) -> Reply {
    try_replace(customer, person, face, key, consent).await.unwrap()
}

async fn try_replace(
    customer: &Customer,
    person: &Person,
    face: &[f32; 128],
    key: &str,
    consent: &str,
) -> Result<Reply, Box<dyn std::error::Error>> {
    customer.public.try_template(Method::PUT, person.handle, (face, consent), key).await
}

/// The decisions of logins with both faces.
async fn decisions(
    customer: &Customer,
    person: &Person,
    faces: [&[f32; 128]; 2],
    nonces: &AtomicU64,
) -> [Decision; 2] {
    let mut decided = [Decision::NoMatch; 2];
    for (face, decided) in faces.into_iter().zip(&mut decided) {
        let request = customer.request(person, face, nonces.fetch_add(1, Ordering::Relaxed));
        *decided = answer(&customer.authenticate(&request).await).decision;
    }
    decided
}

/// Generations of a subject whose keys the key-holder has.
fn keys(data: &Path, handle: Handle) -> Vec<u32> {
    let vault = rusqlite::Connection::open(nodes::vault(data)).unwrap();
    let mut rows = vault.prepare("SELECT generation FROM subjects WHERE handle = ?").unwrap();
    let rows = rows.query_map([handle.as_bytes()], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Claim I10: A template is replaced in one step.
#[tokio::test(flavor = "multi_thread")]
async fn logins_during_replacements_see_the_old_or_the_new_template_and_never_none() {
    let service = Service::own(service::lenient(), |_| ()).await;
    let data = service.data();
    let people = service.people(2, 1, 61).await;
    let (person, faces) = (&people[0], [&people[0].face, &people[1].face]);
    service.welcome(person).await;
    let (nonces, done) = (AtomicU64::new(1), AtomicBool::new(false));
    let replacements = volume(REPLACEMENTS, 12);
    let replacing = async {
        for number in 1..=replacements {
            let reply =
                replace(&service, person, faces[number % 2], &format!("r{number}"), "form 8").await.is(200);
            let (generation, replaced) = (number + 1, number);
            assert_eq!(reply.json()["generation"], generation);
            assert_eq!(reply.json()["replaced"], replaced);
            let mut expected = [Decision::NoMatch; 2];
            expected[number % 2] = Decision::Match;
            assert_eq!(decisions(&service, person, faces, &nonces).await, expected, "after {number}");
        }
        done.store(true, Ordering::Relaxed);
    };
    // Each login was answered with a decision: `decisions` accepts nothing else.
    let logging_in = async || {
        let mut matches = [0_usize; 2];
        while !done.load(Ordering::Relaxed) {
            let decided = decisions(&service, person, faces, &nonces).await;
            for (matches, decided) in matches.iter_mut().zip(decided) {
                *matches += usize::from(decided == Decision::Match);
            }
        }
        matches
    };
    let ((), one, two) = tokio::join!(replacing, logging_in(), logging_in());
    assert!(
        (0..2).all(|face| one[face] + two[face] > 0),
        "each was the template for a while: {one:?}, {two:?}"
    );
    assert_eq!(keys(&data, person.handle), [replacements as u32 + 1], "the old keys are destroyed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_is_done_once_for_its_key_and_has_a_receipt() {
    let service = Service::own(service::lenient(), |_| ()).await;
    let people = service.people(2, 1, 62).await;
    let (person, new) = (&people[0], &people[1].face);
    replace(&service, person, new, "a", "form 8").await.problem(404, "subject-unknown");
    service.welcome(person).await;
    let first = replace(&service, person, new, "a", "form 8").await;
    let again = replace(&service, person, new, "a", "form 8").await;
    assert_eq!((first.status.as_u16(), again.status.as_u16()), (200, 200), "{}", again.text());
    assert!(!first.headers.contains_key("idempotent-replayed"));
    assert_eq!(again.headers["idempotent-replayed"], "true");
    for reply in [&first, &again] {
        let said = reply.json();
        assert_eq!((&said["generation"], &said["replaced"]), (&json!(2), &json!(1)), "{said}");
        let (handle, consent) = (person.handle, consent_digest("form 8"));
        let what = What::Replaced { handle, generation: 2, replaced: 1, consent };
        assert_eq!(service.receipt(&said).0, what);
    }
    replace(&service, person, &person.face, "a", "form 8").await.problem(422, "idempotency-key-reused");
    service.enrol(person, "a").await.problem(422, "idempotency-key-reused");
    replace(&service, person, new, "", "form 8").await.problem(400, "idempotency-key-missing");
    replace(&service, person, new, "b", "").await.problem(422, "field-invalid");
    replace(&service, person, &[0.0; 128], "b", "form 8").await.problem(422, "embedding-invalid");
    let shown = service.public.get(&format!("/v1/subjects/{}", hex::encode(person.handle))).await.json();
    assert_eq!((&shown["generation"], &shown["consent_ref"]), (&json!(2), &json!("form 8")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_that_is_killed_leaves_the_old_or_the_new_template_and_no_key_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("gateway.log"));
    let plan = Plan { data: data.clone(), key_holder: String::new(), batch_delay_us: 0, log };
    let clock = Arc::new(TestClock::default());
    let mut gateway = plan.start(&clock);
    let mut customer = gateway.customer(Arc::clone(&clock), service::lenient()).await;
    let people = customer.people(2, 1, 63).await;
    let (person, faces) = (&people[0], [&people[0].face, &people[1].face]);
    customer.welcome(person).await;
    let nonces = AtomicU64::new(1);
    let (mut present, mut acknowledged) = (0, 0);
    for round in 0..volume(KILLS, 4) {
        let (done, patience) = (AtomicU64::new(0), rand::rng().random_range(0..6));
        let yields = rand::rng().random_range(0..3_000);
        let kill = async {
            while done.load(Ordering::Relaxed) < patience {
                tokio::task::yield_now().await;
            }
            // At some moment of the next one.
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            gateway.kill();
        };
        let replacing = async {
            // The face of the last replacement that was answered, and that of the next, whose outcome is unknown.
            let mut last = present;
            for number in 0.. {
                let (next, key) = (1 - last, format!("{round}-{number}"));
                let Ok(reply) = try_replace(&customer, person, faces[next], &key, "form 8").await else {
                    break;
                };
                assert_eq!(reply.status, 200, "{}", reply.text());
                last = next;
                done.fetch_add(1, Ordering::Relaxed);
            }
            last
        };
        let ((), last) = tokio::join!(kill, replacing);
        acknowledged += done.load(Ordering::Relaxed);
        // Requests that the process before could have attested are refused.
        clock.advance(6);
        gateway = plan.start(&clock);
        customer.moved(gateway.endpoints());
        let decided = decisions(&customer, person, faces, &nonces).await;
        let there = decided.iter().position(|decided| *decided == Decision::Match);
        present = there.unwrap_or_else(|| panic!("round {round}: neither the old nor the new template"));
        assert_eq!(decided[1 - present], Decision::NoMatch, "round {round}: one of the two");
        assert_eq!(keys(&data, person.handle).len(), 1, "round {round}: {last}, {present}");
    }
    assert!(acknowledged > 0);
    gateway.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_replacement_left_behind_is_forgotten_at_the_next_start() {
    let service = Service::start().await;
    let data = service.data();
    let people = service.welcomed(2, 64).await;
    let tenant = service.tenant;
    let open = || {
        let secret = std::fs::read(data.join("master.key")).unwrap();
        Sqlite::open(&data.join("store.sqlite"), secret.as_array().unwrap()).unwrap()
    };
    let [before, after] = [&people[0].handle, &people[1].handle];
    let service = service
        .restart_after(async |_| {
            let store = open();
            // One was killed before the store had the new template, one after.
            let first = Present { generation: 1, revoked_at: None };
            assert_eq!(store.reserve_replacement(&tenant, before), Ok((2, first)));
            assert_eq!(store.reserve_replacement(&tenant, after), Ok((2, first)));
            let old = store.template(&tenant, after).unwrap().unwrap();
            let key = "k".to_owned();
            let answer = Idempotency {
                tenant,
                key,
                request_digest: [1; 32],
                generation: 1,
                replaced: None,
                created_at: 1,
            };
            let new = Template { subject: Subject { generation: 2, ..old.subject }, ..old };
            assert_eq!(store.replace_template(new, first, answer), Ok(true));
            assert_eq!(store.leftovers().unwrap().len(), 2);
        })
        .await;
    assert_eq!(keys(&data, *before), [1], "the old template is still the template");
    assert_eq!(keys(&data, *after), [0; 0], "nobody can decrypt the one that was replaced");
    service.login(&people[0], &people[0].face, 1).await.matches();
    assert!(service.server.shutdown().await);
    assert_eq!(open().leftovers(), Ok(vec![]));
}
