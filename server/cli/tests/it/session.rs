//! The steps of an authentication, and each check that can refuse it.

use crate::service::sign;
use crate::world::*;
use trefoil_attest::{ExpectedNonce, Policy, Seal, TrustRoot, verify, verify_with_seal};

/// Claim V1: Matches and denials are attested and verify offline, over real TLS.
#[tokio::test(flavor = "multi_thread")]
async fn a_match_and_a_denial_are_attested_and_verify_offline() {
    let service = Service::start().await;
    let people = service.people(2, 1, 4).await;
    service.welcome(&people[0]).await;
    let policy = |nonce: &[u8]| {
        Policy::new(service.trust_root.clone(), AUDIENCE, ExpectedNonce::Exactly(nonce.to_vec()))
            .tenant(service.tenant)
    };

    let request = service.request(&people[0], &people[0].face, 1);
    let matched = answer(&service.authenticate(&request).await);
    assert_eq!(matched.decision, Decision::Match);
    let now = service.clock.unix_s();
    let bytes = &matched.attestation.as_ref().unwrap().0;
    let verified = verify(bytes, &policy(request.nonce.as_bytes()), now).unwrap();
    let digest = request.probe_digest();
    assert_eq!(verified.statement().request_digest, request.header(&digest).digest());
    assert_eq!(verified.statement_digest(), &matched.id.0);
    assert_eq!(verified.seal().seal_number, matched.seal_number);
    for at in (0..bytes.len()).step_by(101) {
        let mut altered = bytes.clone();
        altered[at] ^= 1;
        assert!(verify(&altered, &policy(request.nonce.as_bytes()), now).is_err(), "byte {at}");
    }

    let mut request = service.request(&people[0], &people[1].face, 2);
    request.attestation = AttestationForm::Compact;
    let denied = answer(&service.authenticate(&request).await);
    assert_eq!(denied.decision, Decision::NoMatch);
    let stranger = Endpoint { bearer: None, ..service.public.clone() };
    let seal = stranger.get(&format!("/v1/seals/{}", denied.seal_number)).await;
    assert_eq!(
        (seal.status.as_u16(), &seal.headers["content-type"]),
        (200, &"application/cbor".parse().unwrap())
    );
    let seal = Seal::decode(&seal.body).unwrap();
    let policy = policy(request.nonce.as_bytes());
    assert!(
        verify_with_seal(&denied.attestation.as_ref().unwrap().0, &seal, &policy, now).is_err(),
        "a denial is no match"
    );
    verify_with_seal(&denied.attestation.as_ref().unwrap().0, &seal, &policy.any_decision(), now).unwrap();
    assert_eq!(seal.header.previous, trefoil_attest::Attestation::decode(bytes).map(seal_digest).unwrap());
    let root = TrustRoot::from_file(&stranger.get("/v1/keys").await.body).unwrap();
    assert_eq!(root, service.trust_root);
}

fn seal_digest(attestation: trefoil_attest::Attestation<'_>) -> [u8; 32] {
    match attestation.evidence {
        trefoil_attest::Evidence::Full(seal) => seal.header.digest(),
        trefoil_attest::Evidence::Compact(reference) => reference.digest,
    }
}

/// Claim P12: A request that does not come from the session holder is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_not_the_session_holders_is_refused() {
    let service = Service::start().await;
    let people = service.people(2, 1, 5).await;
    service.welcome(&people[0]).await;
    service.welcome(&people[1]).await;
    let person = &people[0];
    let good = || service.request(person, &person.face, 1);

    let mut altered: [Authentication; 6] = std::array::from_fn(|_| good());
    altered[0].mac.0[31] ^= 1;
    altered[1].issued_at += 1;
    altered[2].nonce = trefoil_api::Nonce::new(vec![9; 16]).unwrap();
    altered[3].embedding = Some(Vector::new(people[1].face));
    altered[4].audience = "bank.example".to_owned();
    altered[5].handle = Hex(people[1].handle.to_bytes());
    for request in &altered {
        service.authenticate(request).await.problem(403, "request-mac-invalid");
    }
    for request in &mut altered[4..] {
        sign(request, &person.key);
        service.authenticate(request).await.problem(403, "session-scope");
    }
    let foreign = serde_json::to_value(good()).unwrap();
    let refused = service.neighbour(policy()).await.public.post("/v1/authentications", &foreign).await;
    refused.problem(404, "session-unknown");
    assert_eq!(service.authenticate(&good()).await.decision(), Decision::Match, "none spent the nonce");
    service.authenticate(&good()).await.problem(409, "nonce-replayed");
}

/// Claim P13: Expiry and revocation end a session, even after a restart. One that its tenant ended is opened by its proof no more, as long
/// as the proof counts, nor by a node that was opening it meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn time_and_revocation_end_a_session() {
    let service = Service::configured(|config| config.proofs.session_life_s = 30).await;
    let people = service.people(2, 1, 6).await;
    let person = &people[0];
    service.welcome(person).await;
    let late = service.request(person, &person.face, 1);
    service.login(person, &person.face, 2).await.matches();
    service.clock.advance(31);
    service.login(person, &person.face, 3).await.problem(410, "session-expired");
    service.clock.advance(30);
    service.authenticate(&late).await.problem(422, "request-not-fresh");
    let mut early = service.request(person, &person.face, 4);
    early.issued_at += 6;
    service.authenticate(&early).await.problem(422, "request-not-fresh");

    let mut stranger = service.request(person, &person.face, 5);
    stranger.session_id = Hex(people[1].session_id.to_bytes());
    service.authenticate(&stranger).await.problem(404, "session-unknown");
    service.prove(&people[1]).await.is(201);
    service.login(&people[1], &people[1].face, 6).await.problem(404, "subject-unknown");
    service.publish([0; 32], 2).await;
    service.login(&people[1], &people[1].face, 7).await.problem(410, "session-expired");
    service.prove(&people[1]).await.problem(422, "proof-stale");
}

#[tokio::test(flavor = "multi_thread")]
async fn proofs_for_another_root_tenant_or_epoch_are_refused() {
    let service = Service::start().await;
    let (root, people) = service.make_people(2, 1, 7);
    service.prove(&people[0]).await.problem(422, "proof-stale");
    service.publish([0; 32], 1).await;
    service.prove(&people[0]).await.problem(422, "proof-stale");
    service.publish(root, 2).await;
    service.prove(&people[0]).await.problem(422, "proof-stale");
    let (root, people) = service.make_people(2, 3, 7);
    service.publish(root, 3).await;
    let mut altered = people[0].envelope.clone();
    let last = altered.len() - 1;
    altered[last] ^= 1;
    let headers = [("content-type", "application/octet-stream")];
    let refused = service.public.send(Method::POST, "/v1/proof-sessions", &headers, altered).await;
    refused.problem(422, "proof-rejected");
    let opened = service.prove(&people[0]).await.is(201);
    let again = service.prove(&people[0]).await;
    assert_eq!(
        (again.status.as_u16(), &again.json()["session_id"], &again.json()["expires_at"]),
        (201, &opened.json()["session_id"], &opened.json()["expires_at"]),
        "an equal upload opens the same session"
    );
    service.clock.advance(2 * trefoil_zkp::EPOCH_SECONDS);
    service.prove(&people[1]).await.problem(422, "proof-stale");
}

/// Claim V4: Sessions, templates and the chain of seals survive a restart.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_templates_and_the_seal_chain_survive_a_restart() {
    let service = Service::start().await;
    let people = service.welcomed(1, 8).await;
    let before = service.request(&people[0], &people[0].face, 1);
    let first = answer(&service.authenticate(&before).await);
    let service = service.restart_at_once(async |clock| clock.advance(10)).await;
    // A fleet remembers it.
    let (status, code) = if store::is_fleet() { (409, "nonce-replayed") } else { (422, "request-not-fresh") };
    service.authenticate(&before).await.problem(status, code);
    let second = answer(&service.login(&people[0], &people[0].face, 2).await);
    assert_eq!((second.decision, second.seal_number), (Decision::Match, first.seal_number + 1));
    let seals = [&first, &second]
        .map(|answer| trefoil_attest::Attestation::decode(&answer.attestation.as_ref().unwrap().0).unwrap());
    let [Some(first), Some(second)] = seals.map(full) else { panic!("full attestations were asked for") };
    assert_eq!(second.header.previous, first.header.digest());
    assert_eq!(service.server.trust_root(), service.trust_root, "keys are kept");
}

/// Claim V26.
///
/// A login that was attested is not attested again by the next process, which does not know the nonces of this one: neither in the same
/// second nor if it was dated as far ahead as is accepted.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_not_replayed_across_a_restart() {
    let mut service = Service::start().await;
    let people = service.welcomed(1, 9).await;
    let person = &people[0];
    let start = service.clock.unix_s();
    let dated = |service: &Service, ahead: u64, nonce: u64| {
        let mut request = service.request(person, &person.face, nonce);
        request.issued_at = start + ahead;
        sign(&mut request, &person.key);
        request
    };
    service.authenticate(&dated(&service, 6, 99)).await.problem(422, "request-not-fresh");
    // At a node of a fleet a request waits until it is a second ahead, and this clock stands.
    let ahead_max = if store::is_fleet() { 1 } else { 5 };
    let sent: Vec<Authentication> = (0..=ahead_max).map(|ahead| dated(&service, ahead, ahead)).collect();
    for request in &sent {
        service.authenticate(request).await.matches();
    }
    let sealed = service.public.get("/v1/log/head").await.headers["content-location"].clone();
    // In the same second, then as long as any of them could date from before the restart.
    for pause in [0, 1, 4] {
        service = service.restart_at_once(async |clock| clock.advance(pause)).await;
        for request in &sent {
            let refused = service.authenticate(request).await;
            let code = refused.json()["code"].as_str().unwrap_or("none: it was answered").to_owned();
            // A fleet remembers it.
            let told = if store::is_fleet() { "nonce-replayed" } else { "before-restart" };
            assert!([told, "request-not-fresh"].contains(&&*code), "{code}");
        }
        let newest = service.public.get("/v1/log/head").await.headers["content-location"].clone();
        assert_eq!(newest, sealed, "nothing is attested a second time");
    }
    let early = service.request(person, &person.face, 50);
    if !store::is_fleet() {
        let refused = service.authenticate(&early).await.problem(503, "before-restart");
        let detail = refused["detail"].as_str().unwrap();
        assert!(detail.contains("sign it again with a later issued_at in 1 s"), "{refused}");
    }
    service.clock.advance(1);
    service.login(person, &person.face, 50).await.matches();
}

fn full(attestation: trefoil_attest::Attestation<'_>) -> Option<Seal> {
    match attestation.evidence {
        trefoil_attest::Evidence::Full(seal) => Some(seal),
        trefoil_attest::Evidence::Compact(_) => None,
    }
}
