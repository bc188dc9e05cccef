//! The checks of a proof upload before its proof is verified, and sessions with a hash chain.

use crate::members::client;
use crate::world::*;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use trefoil_api::{Nonce, Reveal};
use trefoil_attest::{ExpectedNonce, Policy, verify};
use trefoil_client::HolderSession;
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::session::context;

#[tokio::test(flavor = "multi_thread")]
async fn equal_uploads_at_one_time_open_one_session() {
    let service = Service::start().await;
    let people = service.people(1, 1, 21).await;
    let uploads = (0..12).map(|_| service.prove(&people[0]));
    for reply in crate::enrolment::join_all(uploads).await {
        assert_eq!(reply.status, 201, "{}", reply.text());
    }
    // Each was verified, waited for another, or found its verdict. One that joins when the first is done waits, and is verified.
    let mut counts = Vec::new();
    for name in [
        "trefoil_proofs_total{outcome=\"accepted\"}",
        "trefoil_proof_uploads_total{event=\"joined\"}",
        "trefoil_proof_uploads_total{event=\"known\"}",
    ] {
        counts.push(service.metric(name).await);
    }
    assert!(counts.iter().sum::<u64>() >= 12 && counts[0] < 12, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_sizes_and_circuits_that_are_accepted_are_read() {
    let service = Service::start().await;
    let headers = [("content-type", "application/octet-stream")];
    let window = ProofEnvelope::size_window(trefoil_zkp::Circuit::Cred2);
    let send = async |size: usize| {
        service.public.send(hyper::Method::POST, "/v1/proof-sessions", &headers, vec![0; size]).await
    };
    send(*window.end() + 1).await.problem(413, "body-too-large");
    send(*window.start() - 1).await.problem(422, "proof-rejected");
    let other = trefoil_zkp::Circuit::Cred2u;
    assert!(!window.contains(ProofEnvelope::size_window(other).start()), "the sizes of the circuits differ");
    assert_eq!(service.metric("trefoil_proof_uploads_total{event=\"malformed\"}").await, 2);
}

/// Claim I16: Invalid proofs cost only their sender.
#[tokio::test(flavor = "multi_thread")]
async fn invalid_proofs_shut_their_caller_out_and_nobody_else() {
    let service = Service::configured(|config| {
        (config.proofs.credit_max, config.proofs.credit_per_s) = (200, 1);
    })
    .await;
    let members = Members::new(&service, 2, 22);
    service.publish(members.root(), 1).await;
    let flooder = client(&service, &service.api_key(&["authenticate"]).await, 1);
    let honest = client(&service, service.public.bearer.as_deref().unwrap(), 1);
    let proven = members.prove(0, 1, 1);
    let mut bad = proven.envelope.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    for _ in 0..4 {
        assert_eq!(flooder.open_session(bad.clone()).await.unwrap_err().code(), Some("proof-rejected"));
    }
    // 200 of credit are used up by four refused proofs; the fifth upload is refused although its proof is good.
    let shut_out = flooder.open_session(proven.envelope.clone()).await.unwrap_err();
    assert_eq!(shut_out.code(), Some("quota-exceeded"), "{shut_out}");
    honest.open_session(proven.envelope.clone()).await.unwrap().without_verification();
    assert_eq!(service.metric("trefoil_proof_uploads_total{event=\"credit_exhausted\"}").await, 1);
    assert_eq!(service.metric("trefoil_proofs_total{outcome=\"refused\"}").await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_of_a_session_with_a_chain_reveals_the_next_value_and_attests_it() {
    let service = Service::start().await;
    let members = Members::new(&service, 1, 23);
    service.publish(members.root(), 1).await;
    let client = client(&service, service.public.bearer.as_deref().unwrap(), 1);
    let (mut rng, now) = (StdRng::seed_from_u64(5), service.clock.unix_s());
    let opened = members.holder(0, 1).open_with_chain(AUDIENCE, 40, now, &mut rng).unwrap();
    let envelope = ProofEnvelope::decode(&opened.envelope).unwrap();
    let session = opened.session;
    let enrolment = trefoil_api::Enrolment::of(vec![Vector::new(members.face(0))], "form 7");
    client.enrol(session.handle(), &enrolment, "once").await.unwrap().without_verification();
    client.open_session(opened.envelope).await.unwrap().without_verification();
    let request = |session: &HolderSession, nonce: u8| -> Authentication {
        let (face, nonce) = (Vector::new(members.face(0)), Nonce::new(vec![nonce; 16]).unwrap());
        session.authentication(face, nonce, now, AttestationForm::Full)
    };
    let resigned = |request: &Authentication, reveal: Option<Reveal>| {
        let mut changed = Authentication { reveal, ..request.clone() };
        service::sign(&mut changed, &envelope.session_key);
        changed
    };

    let first = request(&session, 1);
    let answered = answer(&service.authenticate(&first).await);
    let policy = Policy::new(service.trust_root.clone(), AUDIENCE, ExpectedNonce::Exactly(vec![1; 16]));
    let verified = verify(&answered.attestation.as_ref().unwrap().0, &policy, now).unwrap();
    let revealed = verified.statement().reveal.unwrap();
    let context = context(
        &envelope.statement.tenant,
        AUDIENCE,
        &envelope.session_key.commitment(),
        envelope.statement.epoch,
        1,
    );
    envelope.chain.unwrap().check(&context, &revealed).unwrap();
    assert_eq!(revealed.position, 1);

    let second = request(&session, 2);
    let used = resigned(&second, first.reveal);
    service.authenticate(&used).await.problem(409, "chain-value-refused");
    let mut third = request(&session, 3);
    service.authenticate(&resigned(&third, None)).await.problem(409, "chain-value-refused");
    let forged = third.reveal.map(|reveal| Reveal { position: reveal.position + 1, ..reveal });
    third.nonce = Nonce::new(vec![4; 16]).unwrap();
    service.authenticate(&resigned(&third, forged)).await.problem(409, "chain-value-refused");
    // Two requests were lost on the way; the fourth value is accepted, and the second no longer.
    let fourth = request(&session, 5);
    answer(&service.authenticate(&fourth).await);
    let mut late = second.clone();
    late.nonce = Nonce::new(vec![6; 16]).unwrap();
    let reveal = late.reveal;
    service.authenticate(&resigned(&late, reveal)).await.problem(409, "chain-value-refused");
    // Sixteen steps at most are walked for one request.
    for _ in 0..16 {
        request(&session, 7);
    }
    service.authenticate(&request(&session, 8)).await.problem(409, "chain-value-refused");
    assert_eq!(session.requests_left(), Some(40 - 4 - 17));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_without_a_chain_takes_no_value() {
    let service = Service::start().await;
    let people = service.welcomed(1, 24).await;
    let mut request = service.request(&people[0], &people[0].face, 1);
    request.reveal = Some(Reveal { position: 1, value: trefoil_api::Hex([0; 32]) });
    service::sign(&mut request, &people[0].key);
    service.authenticate(&request).await.problem(409, "chain-value-refused");
}
