//! Receipts: every change of a tenant's is sealed in the log of decisions, and verifies offline.

use crate::service::receipt;
use crate::world::*;
use sha3::{Digest as _, Sha3_256};
use trefoil_attest::{
    Attestation, Change, Policy, Seal, VerifiedChange, VerifyError, What, consent_digest, verify,
    verify_change, verify_change_with_seal,
};

fn verified<'a>(service: &Service, bytes: &'a [u8]) -> VerifiedChange<'a> {
    verify_change(bytes, &service.trust_root, Some(&service.tenant), service.clock.unix_s()).unwrap()
}

/// The change that a receipt states, verified now.
fn what(service: &Service, answer: &Value) -> What {
    let bytes = receipt(answer);
    let verified = verified(service, &bytes);
    let id = hex::encode(verified.digest());
    assert_eq!(
        (&answer["receipt"]["id"], verified.change().changed_at),
        (&json!(id), service.clock.unix_s())
    );
    assert_eq!(answer["receipt"]["seal_number"], verified.seal().seal_number);
    verified.change().what
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_answers_with_a_receipt_that_verifies_offline() {
    let service = Service::start().await;
    let data = service.data();
    let (root, people) = service.make_people(1, 1, 41);
    let signed = service.next_root(root, 1, 1);
    let published = service.send_root(&signed).await.is(201);
    let published = published.json();
    let head = |answer: &Value| hex::decode(answer["head"].as_str().unwrap()).unwrap().try_into().unwrap();
    let expected = What::RootPublished { generation: 1, generation_min: 1, root, head: head(&published) };
    assert_eq!(what(&service, &published), expected);
    // The same root again has the time of the first.
    service.clock.advance(3);
    let again = receipt(&service.send_root(&signed).await.json());
    assert_eq!(verified(&service, &again).change().changed_at, service.clock.unix_s() - 3);

    let person = &people[0];
    let enrolled = service.enrol(person, "first").await.json();
    let What::Enrolled { handle, generation, consent } = what(&service, &enrolled) else {
        panic!("{enrolled}")
    };
    assert_eq!((handle, generation), (person.handle, 1));
    assert_eq!(consent, consent_digest("form 7"), "the reference is not in it, and its holder can show it");
    let first = receipt(&enrolled);
    let replayed = service.enrol(person, "first").await;
    assert_eq!(replayed.headers["idempotent-replayed"], "true");
    let replayed = receipt(&replayed.json());
    assert_eq!(verified(&service, &replayed).change().what, verified(&service, &first).change().what);

    let opened = service.prove(person).await.json();
    let compact = receipt(&opened);
    let now = service.clock.unix_s();
    let refused = verify_change(&compact, &service.trust_root, Some(&service.tenant), now);
    assert!(matches!(refused, Err(VerifyError::SealNeeded(_))), "{refused:?}");
    let seal = service.public.get(&format!("/v1/seals/{}", opened["receipt"]["seal_number"])).await;
    let seal = Seal::decode(&seal.body).unwrap();
    let session =
        verify_change_with_seal(&compact, &seal, &service.trust_root, Some(&service.tenant), now).unwrap();
    let expires_at = opened["expires_at"].as_u64().unwrap();
    assert_eq!(session.change().what, What::SessionOpened { session: person.session_id, expires_at });
    assert!(service.prove(person).await.json()["receipt"].is_null(), "it was open already");

    let path = service.path("/policy");
    let json_body = [("content-type", "application/json")];
    let body = json!({ "policy": policy() }).to_string();
    let changed = service.admin.send(Method::PUT, &path, &json_body, body).await.json();
    let mut policy = changed["policy"].clone();
    // Canonical JSON: members sorted, no space.
    policy.sort_all_objects();
    let digest: [u8; 32] = Sha3_256::digest(policy.to_string()).into();
    let made_at = changed["made_at"].as_u64().unwrap();
    let sent = receipt(&changed);
    let again = *verified(&service, &sent).change();
    assert_eq!(again.what, What::PolicyChanged { id: 1, version: 1, digest });
    assert!(again.changed_at > made_at, "the version in force, dated when it was sent again");
    assert_eq!(changed["policy_digest"], hex::encode(digest));

    let erased = service.public.delete(&templates_path(person)).await;
    assert_eq!(erased.status, 200);
    assert_eq!(what(&service, &erased.json()), What::Erased { handle: person.handle, generation: 1 });
    assert_eq!(erased.json()["generation"], 1);

    // Each in the log, in its order, with the decisions.
    let numbers = [&published, &enrolled, &opened, &changed, &erased.json()]
        .map(|answer| answer["receipt"]["seal_number"].as_u64().unwrap());
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    altered_receipts_are_refused(&service, &receipt(&erased.json()));
    let tenant = hex::encode(service.tenant);
    let [root_file, answer_file] = ["trust-root.json", "erased.json"].map(|name| service.file(name));
    assert!(service.server.shutdown().await);
    std::fs::write(&root_file, service.trust_root.to_json()).unwrap();
    let root = ["--trust-root", root_file.to_str().unwrap()];
    trefoil(&[&["log", "audit", "--data-dir", data.to_str().unwrap()], &root[..]].concat()).done();

    // The command reads the answer as it came.
    std::fs::write(&answer_file, erased.body).unwrap();
    let verify = |tenant: &str| {
        let at = ["--at", &now.to_string(), "--tenant", tenant];
        trefoil(&[&["verify", answer_file.to_str().unwrap()], &root[..], &at].concat())
    };
    let text = verify(&tenant).done();
    let handle = hex::encode(person.handle);
    for part in ["three signatures verify", "erased", &tenant, &handle] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("not checked"), "{text}");
    verify(&"9".repeat(32)).ends(1, "");
}

/// Forged by its bytes, its tenant or its time, or presented as another kind of statement.
fn altered_receipts_are_refused(service: &Service, receipt: &[u8]) {
    let (root, tenant, now) = (&service.trust_root, Some(&service.tenant), service.clock.unix_s());
    for at in 0..receipt.len() {
        // Every byte of the change and its path, and samples of the signatures.
        if at < 600 || at % 97 == 0 {
            let mut altered = receipt.to_vec();
            altered[at] ^= 1;
            assert!(verify_change(&altered, root, tenant, now).is_err(), "byte {at}");
        }
    }
    let other = trefoil_types::TenantId::new([9; 16]);
    assert!(matches!(verify_change(receipt, root, Some(&other), now), Err(VerifyError::Tenant)));
    assert!(matches!(verify_change(receipt, root, tenant, now - 60), Err(VerifyError::NotYetValid { .. })));
    assert!(verify_change(receipt, root, tenant, now + 86_400).is_ok(), "a receipt is kept");
    let policy = Policy::new(root.clone(), service::AUDIENCE, trefoil_attest::ExpectedNonce::DangerousAny);
    assert!(matches!(verify(receipt, &policy.any_decision(), now), Err(VerifyError::Malformed(_))));
    let statement = Attestation::decode(receipt).unwrap().statement;
    assert!(Change::decode(statement).is_ok() && trefoil_attest::Statement::decode(statement).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_no_receipt_and_logins_go_on_beside_changes() {
    let service = Service::start().await;
    let people = service.welcomed(6, 42).await;
    let changes = async {
        for person in &people[1..] {
            let erased = service.public.delete(&templates_path(person)).await.json();
            what(&service, &erased);
        }
    };
    let logins = async {
        for nonce in 0..20 {
            let answer = answer(&service.login(&people[0], &people[0].face, nonce).await);
            assert_eq!(answer.decision, Decision::Match);
            let (login, now) = (&answer.attestation.as_ref().unwrap().0, service.clock.unix_s());
            let refused = verify_change(login, &service.trust_root, Some(&service.tenant), now);
            assert!(matches!(refused, Err(VerifyError::Malformed(_))), "{refused:?}");
        }
    };
    tokio::join!(changes, logins);
    let decided = service.metric("trefoil_authentications_total{decision=\"match\"}").await;
    assert_eq!(decided, 20, "a change is no decision");
}
