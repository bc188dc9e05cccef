//! Old seals: what the service answers once their signatures are gone, and what auditors and relying parties do then.

use crate::service::sign;
use crate::world::*;
use trefoil_attest::tree::verify_inclusion;
use trefoil_attest::{
    ExpectedNonce, Policy, PrunedSeal, Seal, SealHeader, verify_pruned_seal, verify_with_pruned_seal,
};
use trefoil_server::config::OldSeals;

/// Seals do not keep their signatures at all.
fn config(data: &std::path::Path) -> Config {
    let mut config = service::config(data);
    config.retention.full_s = 0;
    config
}

/// Logs the same person in, one after the other.
async fn logins(
    service: &Service,
    person: &service::Person,
    nonces: std::ops::Range<u64>,
) -> Vec<(u64, Vec<u8>)> {
    let mut attestations = Vec::new();
    for nonce in nonces {
        let mut request = service.request(person, &person.face, nonce);
        request.attestation = AttestationForm::Compact;
        sign(&mut request, &person.key);
        let answer = service::answer(&service.authenticate(&request).await);
        attestations.push((answer.seal_number, answer.attestation.unwrap().0));
    }
    attestations
}

async fn until_pruned(service: &Service, count: u64) {
    until(async || service.metric("trefoil_seals_pruned_total").await >= count).await;
}

/// Claim V14.
#[tokio::test(flavor = "multi_thread")]
async fn a_pruned_seal_is_named_as_such_and_what_is_left_of_it_verifies_offline() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let service = Service::new(config(&data)).await;
    let people = service.welcomed(1, 91).await;
    let attested = logins(&service, &people[0], 0..40).await;
    let whole = Seal::decode(&service.public.get("/v1/log/head").await.body).unwrap();
    until_pruned(&service, 30).await;

    let (number, compact) = &attested[3];
    let gone = service.public.get(&format!("/v1/seals/{number}")).await.problem(410, "seal-pruned");
    let told = gone["detail"].as_str().unwrap();
    assert!(told.contains(&format!("/v1/seals/{number}/pruned")), "{told}");
    let header = service.public.get(&format!("/v1/seals/{number}/header")).await;
    let header = SealHeader::decode(&header.body).unwrap();
    let reply = service.public.get(&format!("/v1/seals/{number}/pruned")).await;
    let pruned = PrunedSeal::decode(&reply.body).unwrap();
    assert_eq!((pruned.header.clone(), verify_pruned_seal(&pruned, &service.trust_root)), (header, Ok(())));
    let nonce = [3_u64.to_le_bytes(), 3_u64.to_le_bytes()].concat();
    let policy = Policy::new(service.trust_root.clone(), AUDIENCE, ExpectedNonce::Exactly(nonce.clone()));
    verify_with_pruned_seal(compact, &pruned, &policy, service.clock.unix_s()).unwrap();
    // Proofs are served as before, and the newest seal is complete.
    let size = whole.header.seal_number;
    let path = service.public.get(&format!("/v1/log/inclusion/{number}/{size}")).await.json();
    let nodes = path["path"].as_array().unwrap().iter();
    let nodes: Vec<[u8; 32]> =
        nodes.map(|node| hex::decode(node.as_str().unwrap()).unwrap().try_into().unwrap()).collect();
    assert!(verify_inclusion(&pruned.header.digest(), *number, size, &nodes, &whole.header.log_root));
    let newest = service.public.get(&format!("/v1/seals/{size}")).await;
    assert_eq!(Seal::decode(&newest.body).unwrap(), whole);
    service.public.get(&format!("/v1/seals/{size}/pruned")).await.problem(404, "seal-unknown");
    service.public.get("/v1/seals/9999/header").await.problem(404, "seal-unknown");

    let file = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (compact, seal) = (file("compact.cbor", compact), file("pruned.cbor", &reply.body));
    let root = service.server.trust_root_path().to_str().unwrap().to_owned();
    let certificate = service.server.certificate_path().to_str().unwrap().to_owned();
    let at = service.clock.unix_s().to_string();
    let verify = |seal: &str| {
        let nonce = hex::encode(&nonce);
        let rest = ["--trust-root", &root, "--at", &at, "--audience", AUDIENCE, "--nonce", &nonce];
        trefoil(&[&["verify", &compact, "--seal", seal], &rest[..]].concat())
    };
    assert_eq!(code(&verify(&seal)), 0);
    let mut other = reply.body.to_vec();
    *other.last_mut().unwrap() ^= 1;
    assert_eq!(code(&verify(&file("other.cbor", &other))), 1);

    // The complete history passes, both from the API and without the service.
    let url = format!("https://{}", service.public.address);
    let remote = ["log", "audit", "--service", &url, "--ca", &certificate, "--trust-root", &root];
    let local = ["log", "audit", "--data-dir", data.to_str().unwrap(), "--trust-root", &root];
    for audit in [&remote[..], &local[..]] {
        let audited = trefoil(audit);
        let text = audited.text();
        assert!(code(&audited) == 0 && text.contains("seals were pruned to their headers"), "{text}");
    }
    // The next process continues a log whose first seals have only their headers.
    let service = service.restart().await;
    logins(&service, &people[0], 100..120).await;
    until_pruned(&service, 16).await;
    assert!(service.server.shutdown().await);
    assert_eq!(code(&trefoil(&local)), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn seals_that_are_kept_stay_whole_and_an_archive_needs_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let mut kept = config(&directory.path().join("data"));
    kept.retention.old_seals = OldSeals::Keep;
    let service = Service::new(kept).await;
    let people = service.welcomed(1, 92).await;
    let attested = logins(&service, &people[0], 0..20).await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    for (number, _) in attested {
        service.public.get(&format!("/v1/seals/{number}")).await.is(200);
    }
    assert!(service.server.shutdown().await);
    let wrong = trefoil(&["serve", "--print-config", "--config", {
        let path = directory.path().join("wrong.toml");
        std::fs::write(&path, "[retention]\nold_seals = \"archive\"\n").unwrap();
        path.to_str().unwrap().to_owned().leak()
    }]);
    assert!(code(&wrong) != 0 && wrong.err().contains("retention.archive_dir"));
}
