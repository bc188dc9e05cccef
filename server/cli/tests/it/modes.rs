//! Probes that the service never sees, and one key per tenant.

use crate::members::client;
use crate::service::sign;
use crate::world::*;
use trefoil_api::{Base64, Nonce, Shares};
use trefoil_attest::{Attestation, ProbeMode, Statement};
use trefoil_client::{SealTo, shares};
use trefoil_split::{Context, Fingerprint, SealingKey, split_probe, split_template};
use trefoil_types::TenantId;

/// A policy whose tenant's devices split what they see.
fn split() -> Value {
    service::with(service::policy(), "probe", "shared")
}

/// The key that devices seal to, as the service serves it.
pub(crate) async fn sealing_key(service: &Customer) -> (SealingKey, Value) {
    let keys = service.public.get(&format!("/v1/fhe/keys/{}", hex::encode(service.tenant))).await.is(200);
    let keys = keys.json();
    let bytes: Base64 = serde_json::from_value(keys["sealing_key"].clone()).unwrap();
    let pin: Fingerprint = keys["sealing_key_fingerprint"].as_str().unwrap().parse().unwrap();
    (SealingKey::from_bytes(&bytes.0).unwrap().pinned(&pin).unwrap(), keys)
}

/// Enrols a face that the device has split.
pub(crate) async fn enrol(service: &Customer, key: &SealingKey, handle: &Handle, face: &[f32]) {
    let name = hex::encode(rand::random::<[u8; 16]>());
    let issued_at = service.clock.unix_s();
    let context = Context::template(&service.tenant, handle, name.as_bytes(), issued_at);
    let split = split_template(&[face], key, &context, &mut rand::rng()).unwrap();
    let body = json!({"shares": shares(&split), "issued_at": issued_at, "consent_ref": "form 7"});
    let headers = [("idempotency-key", name.as_str())];
    let path = format!("/v1/subjects/{}/templates", hex::encode(handle.as_bytes()));
    service.public.send(Method::POST, &path, &headers, body.to_string()).await.is(201);
    let again = service.public.send(Method::POST, &path, &headers, body.to_string()).await;
    assert_eq!(again.headers["idempotent-replayed"], "true");
}

/// The same, and opens the session.
async fn welcome(service: &Customer, key: &SealingKey, person: &Person) {
    enrol(service, key, &person.handle, &person.face).await;
    service.prove(person).await.is(201);
}

/// A request whose probe the device has split.
pub(crate) fn shared(
    service: &Customer,
    key: &SealingKey,
    person: &Person,
    face: &[f32],
    nonce: u64,
) -> Authentication {
    let mut request = service.request(person, face, nonce);
    let Authentication { nonce, issued_at, .. } = &request;
    let context =
        Context::probe(&service.tenant, &person.handle, &person.session_id, nonce.as_bytes(), *issued_at);
    let split = split_probe(face, key, &context, &mut rand::rng()).unwrap();
    (request.embedding, request.shares) = (None, Some(shares(&split)));
    sign(&mut request, &person.key);
    request
}

/// How the people of a customer show their faces.
pub(crate) enum Devices {
    /// As they are.
    Plain,
    /// Split, one share sealed to this key.
    Shared(Box<SealingKey>),
}

impl Devices {
    /// The devices of a customer whose policy has this probe mode.
    pub(crate) async fn of(service: &Customer, probe: &str) -> Devices {
        match probe {
            "shared" => Devices::Shared(sealing_key(service).await.0.into()),
            _ => Devices::Plain,
        }
    }

    /// Enrols the person's face and opens the session.
    pub(crate) async fn welcome(&self, service: &Customer, person: &Person) {
        match self {
            Devices::Plain => service.welcome(person).await,
            Devices::Shared(key) => welcome(service, key, person).await,
        }
    }

    /// A request that shows `face`.
    pub(crate) fn request(
        &self,
        service: &Customer,
        person: &Person,
        face: &[f32],
        nonce: u64,
    ) -> Authentication {
        match self {
            Devices::Plain => service.request(person, face, nonce),
            Devices::Shared(key) => shared(service, key, person, face, nonce),
        }
    }
}

fn mode(attestation: &[u8]) -> ProbeMode {
    let attestation = Attestation::decode(attestation).unwrap();
    Statement::decode(attestation.statement).unwrap().probe_mode
}

/// What holds wherever the key-holder is.
async fn shared_tenant(service: &Service, pinned: Option<Fingerprint>) -> (Vec<Person>, SealingKey) {
    let (key, keys) = sealing_key(service).await;
    assert_eq!(keys["probe_mode"], "shared");
    assert!(pinned.is_none_or(|pinned| pinned == key.fingerprint()), "what the key-holder's operator prints");
    let people = service.people(4, 1, 41).await;
    for person in &people {
        welcome(service, &key, person).await;
    }
    for (nonce, wanted) in [Decision::Match, Decision::NoMatch].into_iter().enumerate() {
        let request = shared(service, &key, &people[0], &people[nonce].face, 1000 + nonce as u64);
        let answer = answer(&service.authenticate(&request).await);
        let travelled = mode(&answer.attestation.unwrap().0);
        assert_eq!((answer.decision, travelled), (wanted, ProbeMode::Shared), "the attestation says how");
    }
    (people, key)
}

#[tokio::test(flavor = "multi_thread")]
async fn shared_probes_decide_as_plain_ones_and_only_where_they_were_sealed_for() {
    let service = Service::timely(split()).await;
    let (people, key) = shared_tenant(&service, None).await;
    let refused = |mut request: Authentication, change: &dyn Fn(&mut Authentication)| {
        change(&mut request);
        sign(&mut request, &people[0].key);
        request
    };
    let first = shared(&service, &key, &people[0], &people[0].face, 1);
    service.authenticate(&first).await.matches();
    service.authenticate(&first).await.problem(409, "nonce-replayed");
    // Its shares again, under a fresh nonce.
    let second = shared(&service, &key, &people[0], &people[0].face, 2);
    let replayed = refused(second.clone(), &|request| request.shares.clone_from(&first.shares));
    service.authenticate(&replayed).await.problem(422, "share-refused");
    // Another subject's.
    let other = shared(&service, &key, &people[1], &people[0].face, 3);
    let third = shared(&service, &key, &people[0], &people[0].face, 3);
    let foreign = refused(third.clone(), &|request| request.shares.clone_from(&other.shares));
    service.authenticate(&foreign).await.problem(422, "share-refused");
    // Another tenant's.
    let fourth = shared(&service, &key, &people[0], &people[0].face, 4);
    let Authentication { nonce, issued_at, .. } = &fourth;
    let (handle, session) = (&people[0].handle, &people[0].session_id);
    let context = Context::probe(&TenantId::new([9; 16]), handle, session, nonce.as_bytes(), *issued_at);
    let sealed = split_probe(&people[0].face, &key, &context, &mut rand::rng()).unwrap();
    let foreign = refused(fourth, &|request| request.shares = Some(shares(&sealed)));
    service.authenticate(&foreign).await.problem(422, "share-refused");
    // Of other lengths, and the two exchanged.
    let cut = |change: &dyn Fn(&mut Shares), nonce| {
        let request = shared(&service, &key, &people[0], &people[0].face, nonce);
        refused(request, &|request| change(request.shares.as_mut().unwrap()))
    };
    for (nonce, request) in [
        cut(&|shares| shares.sealed.0.truncate(1407), 5),
        cut(&|shares| shares.sealed.0.push(0), 6),
        cut(&|shares| shares.open.0.truncate(271), 7),
        cut(&|shares| shares.open.0.fill(0xff), 8),
        cut(&|shares| std::mem::swap(&mut shares.open, &mut shares.sealed), 9),
    ]
    .iter()
    .enumerate()
    {
        let reply = service.authenticate(request).await;
        assert_eq!(reply.json()["code"], "share-refused", "{nonce}: {}", reply.text());
    }
    // None of these cost an attempt, and the neighbours of a refused lane are answered.
    let good = shared(&service, &key, &people[1], &people[1].face, 10);
    let bad = refused(shared(&service, &key, &people[0], &people[0].face, 10), &|request| {
        request.shares.clone_from(&first.shares)
    });
    let replies = join_all([&good, &bad].into_iter().map(|request| service.authenticate(request))).await;
    replies[0].matches();
    replies[1].problem(422, "share-refused");
    // A vector in the clear is refused.
    service
        .authenticate(&service.request(&people[0], &people[0].face, 11))
        .await
        .problem(422, "probe-mode-mismatch");
    service.enrol(&people[0], "clear").await.problem(422, "probe-mode-mismatch");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_splits_the_face_that_it_shows_and_refuses_what_is_no_face() {
    // Its key-holder goes by the machine's clock.
    let service = Service::timely(split()).await;
    let (key, _) = sealing_key(&service).await;
    let members = Members::new(&service, 2, 44);
    service.publish(members.root(), 1).await;
    let handle = Handle::new(members.holder(0, 1).handle().0);
    enrol(&service, &key, &handle, &members.face(0)).await;
    let wallet = members.open(&service, 0, 1, AUDIENCE).await;
    let (client, now) =
        (client(&service, service.public.bearer.as_deref().unwrap(), 1), service.clock.unix_s());
    let request = |face| {
        let nonce = Nonce::new(rand::random::<[u8; 16]>().to_vec()).unwrap();
        let to = SealTo { tenant: &service.tenant, key: &key };
        let (session, rng) = (&wallet.session, &mut rand::rng());
        session.shared_authentication(&Vector::new(face), to, nonce, now, AttestationForm::Full, rng)
    };
    for (shown, wanted) in [(0, Decision::Match), (1, Decision::NoMatch)] {
        let request = request(members.face(shown)).unwrap();
        assert!(request.embedding.is_none() && request.shares.is_some(), "the face itself is not sent");
        let login = client.login(&wallet.session, &request, &service.trust_root, now).await.unwrap();
        assert_eq!((login.decision, mode(&login.attestation)), (wanted, ProbeMode::Shared));
    }
    assert!(request([0.0; 128]).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_shares_match_sometimes_and_garbage_vectors_never() {
    let service = Service::timely(with(service::lenient(), "probe", "shared")).await;
    let (key, _) = sealing_key(&service).await;
    let people = service.people(1, 1, 43).await;
    welcome(&service, &key, &people[0]).await;
    let requests: Vec<Authentication> = (0..200)
        .map(|nonce| {
            let mut request = shared(&service, &key, &people[0], &people[0].face, nonce);
            let garbage = trefoil_split::Share::random(trefoil_split::Width::W128, &mut rand::rng());
            request.shares.as_mut().unwrap().open = Base64(garbage.to_bytes().to_vec());
            sign(&mut request, &people[0].key);
            request
        })
        .collect();
    let mut accepted = 0;
    for chunk in requests.chunks(20) {
        let replies = join_all(chunk.iter().map(|request| service.authenticate(request))).await;
        accepted += replies.iter().filter(|reply| answer(reply).decision == Decision::Match).count();
    }
    // 0.225 of uniform residues reach the threshold of 18,000: with probability below 2^-40 fewer than 10 of 200 or more than 90.
    assert!((10..90).contains(&accepted), "{accepted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_holder_elsewhere_opens_what_devices_seal_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    let data = folder.path().join("shared");
    let key_holder = KeyHolder::beside(&keys, &data);
    let service = Service::at(key_holder.config(&data), split(), TestClock::of_machine()).await;
    let pinned = operators_fingerprint(&keys, key_holder.listen());
    let (people, key) = shared_tenant(&service, Some(pinned)).await;
    // A deleted template is deleted on both sides; the subject enrols again.
    let deleted = service.public.delete(&templates_path(&people[0])).await;
    assert_eq!(deleted.status, 200);
    let request = shared(&service, &key, &people[0], &people[0].face, 77);
    service.authenticate(&request).await.problem(404, "subject-unknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_per_tenant_survives_restarts_and_deletions() {
    let service = Service::timely(split()).await;
    let (people, key) = shared_tenant(&service, None).await;
    let deleted = service.public.delete(&templates_path(&people[3])).await;
    assert_eq!(deleted.status, 200);
    let gone = shared(&service, &key, &people[3], &people[3].face, 1);
    service.authenticate(&gone).await.problem(404, "subject-unknown");
    // Here too the key-holder keeps the budgets.
    for nonce in 10..15 {
        let wrong = shared(&service, &key, &people[0], &people[1].face, nonce);
        service.authenticate(&wrong).await.denies();
    }
    let right = shared(&service, &key, &people[0], &people[0].face, 15);
    service.authenticate(&right).await.denies();

    let service = service.restart().await.at_one_node();
    // Templates are loaded when they are needed.
    let arena = "trefoil_template_arena_bytes{keys=\"per-tenant\",what=\"used\"}";
    assert_eq!((service.metric("trefoil_templates_in_memory").await, service.metric(arena).await), (0, 0));
    let request = shared(&service, &key, &people[2], &people[2].face, 20);
    service.authenticate(&request).await.matches();
    assert_eq!(service.metric("trefoil_templates_in_memory").await, 1);
    assert_eq!(service.metric(arena).await, 98_304);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_share_is_taken_once_and_in_its_mode_only() {
    let service = Service::timely(split()).await;
    let (people, key) = shared_tenant(&service, None).await;
    // The share of a probe, sent again as a template: for a subject that the service itself made up.
    let request = shared(&service, &key, &people[0], &people[0].face, 1);
    service.authenticate(&request).await.matches();
    let shares = request.shares.clone().unwrap();
    let own = "/v1/subjects/".to_owned() + &"ee".repeat(32) + "/templates";
    let enrol = |issued_at: Option<u64>, shares: &Shares| {
        let mut body = json!({"shares": shares, "consent_ref": "form 7"});
        if let Some(second) = issued_at {
            body["issued_at"] = second.into();
        }
        body.to_string()
    };
    let now = service.clock.unix_s();
    let headers = [("idempotency-key", "k")];
    let stolen = service.public.send(Method::POST, &own, &headers, enrol(Some(now), &shares)).await;
    stolen.problem(422, "share-refused");
    // Without the sealing time, or with another one.
    // The clock of a fleet goes on meanwhile.
    let ahead = if store::is_fleet() { 200 } else { 61 };
    for issued_at in [None, Some(now - 61), Some(now + ahead)] {
        let refused = service.public.send(Method::POST, &own, &headers, enrol(issued_at, &shares)).await;
        refused.problem(422, "request-not-fresh");
    }
    // A share where the policy says plain, and a key structure, which cannot be chosen.
    let service = Service::start().await;
    let people = service.welcomed(1, 43).await;
    let (key, _) = sealing_key(&service).await;
    let own = shared(&service, &key, &people[0], &people[0].face, 30);
    service.authenticate(&own).await.problem(422, "probe-mode-mismatch");
    let tenant = json!({"name": "shop", "policy": service::policy(), "keys": "per-tenant"});
    service.admin.post("/v1/tenants", &tenant).await.problem(422, "field-invalid");
    let tenant = json!({"name": "shop", "policy": service::with(service::policy(), "probe", "secret")});
    service.admin.post("/v1/tenants", &tenant).await.problem(422, "field-invalid");
}

/// What `trefoil key-holder sealing-key` prints.
fn operators_fingerprint(keys: &Path, listen: &str) -> Fingerprint {
    let of = ["--data-dir", keys.to_str().unwrap(), "--listen", listen];
    trefoil(&[&["key-holder", "sealing-key"], &of[..]].concat()).done().trim().parse().unwrap()
}
