//! The checks of a proof upload before its proof is verified.

use crate::members::client;
use crate::world::*;
use trefoil_zkp::envelope::ProofEnvelope;

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
