//! Versions of a tenant's policy: an attestation names the version under which the login was decided.

use crate::key_holder_process::trefoil;
use crate::world::*;
use trefoil_attest::{Attestation, ExpectedNonce, Policy, Statement, VerifyError, verify};

async fn put(service: &Service, policy: &Value, headers: &[(&str, &str)]) -> Reply {
    let body = json!({ "policy": policy }).to_string();
    service.admin.send(Method::PUT, &service.path("/policy"), headers, body).await
}

/// The test's policy with this threshold.
fn with_threshold(score: i32, fmr_class: u8) -> Value {
    with(policy(), "threshold", json!({"calibrated": {"score": score, "fmr_class": fmr_class}}))
}

/// The version and class under which a login was decided, as attested.
fn under(reply: &Reply) -> (u32, u8) {
    let answer = answer(reply);
    let attestation = Attestation::decode(&answer.attestation.as_ref().unwrap().0).unwrap();
    let statement = Statement::decode(attestation.statement).unwrap();
    (statement.policy_version, statement.fmr_class)
}

async fn versions(service: &Service) -> Vec<(u64, Value)> {
    let (mut all, mut from) = (Vec::new(), json!(0));
    while !from.is_null() {
        let page = service.admin.get(&service.path(&format!("/policies?from={from}"))).await.json();
        let entry =
            |version: &Value| (version["policy_version"].as_u64().unwrap(), version["policy"].clone());
        all.extend(page["policies"].as_array().unwrap().iter().map(entry));
        from = page["next"].clone();
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_of_a_policy_is_a_version_that_attestations_name() {
    let service = Service::start().await;
    let people = service.people(2, 1, 31).await;
    service.welcome(&people[0]).await;
    let login = |service: &Service, face: &Person, nonce| service.request(&people[0], &face.face, nonce);
    let first = service.authenticate(&login(&service, &people[0], 1)).await;
    assert_eq!(under(&first), (1, 3));

    // The threshold moves at the key-holder with the version: under one that nobody reaches even the right face is denied.
    let none = put(&service, &with_threshold(32_768, 4), &[("if-match", "\"1\"")]).await;
    assert_eq!(
        (none.status.as_u16(), &none.headers["etag"]),
        (200, &"\"2\"".parse().unwrap()),
        "{}",
        none.text()
    );
    let denied = service.authenticate(&login(&service, &people[0], 2)).await;
    assert_eq!((answer(&denied).decision, under(&denied)), (Decision::NoMatch, (2, 4)));
    put(&service, &with_threshold(18_000, 4), &[("if-match", "\"1\"")])
        .await
        .problem(412, "policy-overtaken");
    put(&service, &with_threshold(18_000, 4), &[("if-match", "2")]).await.problem(400, "malformed-request");
    let third = put(&service, &with_threshold(18_000, 4), &[]).await.json();
    assert_eq!((&third["policy_version"], &third["policy_id"]), (&json!(3), &json!(1)));
    let same = put(&service, &with_threshold(18_000, 4), &[]).await.json();
    assert_eq!((&same["policy_version"], &same["made_at"]), (&json!(3), &third["made_at"]), "no change");
    let request = login(&service, &people[0], 3);
    let matched = answer(&service.authenticate(&request).await);
    assert_eq!(matched.decision, Decision::Match);

    // A relying party asks for a version or a later one.
    let now = service.clock.unix_s();
    let wants = |version, nonce: &[u8]| {
        Policy::new(service.trust_root.clone(), AUDIENCE, ExpectedNonce::Exactly(nonce.to_vec()))
            .policy_version(1, version)
    };
    let nonce = request.nonce.as_bytes();
    verify(&matched.attestation.as_ref().unwrap().0, &wants(3, nonce), now).unwrap();
    let refused = verify(&matched.attestation.as_ref().unwrap().0, &wants(4, nonce), now);
    assert!(matches!(refused, Err(VerifyError::PolicyVersion)), "{refused:?}");

    // Fields that templates fix for good, and values that no policy may have.
    let changed = |name: &str, value: Value| with(with_threshold(18_000, 4), name, value);
    for (name, value, at) in [
        ("embedder", json!("other-128"), "previous"),
        ("probe", json!("shared"), "probe"),
        ("audiences", json!([]), "audiences"),
        ("attestation_lifetime_s", json!(0), "attestation_lifetime_s"),
    ] {
        let problem = put(&service, &changed(name, value), &[]).await.problem(422, "field-invalid");
        assert_eq!(problem["errors"][0]["pointer"], format!("/policy/{at}"), "{problem}");
    }
    // A removed audience is refused for sessions that were opened for it too.
    put(&service, &changed("audiences", json!(["bank.example"])), &[]).await.is(200);
    service.authenticate(&login(&service, &people[0], 4)).await.problem(403, "audience-not-allowed");
    put(&service, &with_threshold(18_000, 3), &[]).await.is(200);

    let kept = versions(&service).await;
    assert_eq!(kept.iter().map(|(version, _)| *version).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(kept[1].1["threshold"], with_threshold(32_768, 4)["threshold"]);
    for score in 0..6 {
        put(&service, &with_threshold(18_001 + score, 3), &[]).await.is(200);
    }
    let kept = versions(&service).await;
    assert_eq!(kept.len(), 11, "in two pages");
    let shown = service.admin.get(&service.path("")).await;
    assert_eq!(
        (&shown.json()["policy_version"], &shown.headers["etag"]),
        (&json!(11), &"\"11\"".parse().unwrap())
    );

    let service = service.restart().await;
    assert_eq!(versions(&service).await, kept);
    let last = service.authenticate(&login(&service, &people[0], 9)).await;
    assert_eq!((answer(&last).decision, under(&last)), (Decision::Match, (11, 3)));
    let nobody = format!("/v1/tenants/{}/policies", "9".repeat(32));
    service.admin.get(&nobody).await.problem(404, "tenant-unknown");
    service.admin.get(&service.path("/policies?from=x")).await.problem(400, "malformed-request");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_threshold_that_is_changed_behind_the_service_is_attested_never() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, data) = (folder.path().join("keys"), folder.path().join("data"));
    let key_holder = KeyHolder::beside(&keys, &data);
    let service = Service::new(key_holder.config(&data)).await;
    let people = service.people(2, 1, 32).await;
    service.welcome(&people[0]).await;
    let right = |nonce| service.request(&people[0], &people[0].face, nonce);
    let wrong = |nonce| service.request(&people[0], &people[1].face, nonce);
    service.authenticate(&wrong(1)).await.denies();

    // Under this one every face matches every template.
    set_threshold(&keys, key_holder.listen(), &service, -32_768);
    for nonce in 0..30 {
        let problem = service.authenticate(&wrong(100 + nonce)).await.problem(503, "policy-out-of-step");
        assert!(problem["detail"].as_str().unwrap().contains("trefoil admin policy set"), "{problem}");
    }
    service.authenticate(&right(200)).await.problem(503, "policy-out-of-step");
    let batch = json!({ "authentications": [right(201)] });
    let batch = service.public.post("/v1/authentications/batch", &batch).await.json();
    assert_eq!(batch["results"][0]["problem"]["code"], "policy-out-of-step", "{batch}");

    // Sending the policy again restores the threshold without a new version; no attempt was charged meanwhile.
    let again = put(&service, &policy(), &[]).await;
    assert_eq!(
        (again.status.as_u16(), &again.json()["policy_version"]),
        (200, &json!(1)),
        "{}",
        again.text()
    );
    let denied = service.authenticate(&wrong(300)).await;
    assert_eq!((answer(&denied).decision, under(&denied)), (Decision::NoMatch, (1, 3)));
    service.authenticate(&right(301)).await.matches();

    // If the operator wants the new threshold, it becomes a version of the policy, and both sides agree.
    set_threshold(&keys, key_holder.listen(), &service, 17_000);
    service.authenticate(&right(302)).await.problem(503, "policy-out-of-step");
    put(&service, &with_threshold(17_000, 2), &[]).await.is(200);
    let matched = service.authenticate(&right(303)).await;
    assert_eq!((answer(&matched).decision, under(&matched)), (Decision::Match, (2, 2)));
    // A policy that the key-holder's configuration forbids does not become a version.
    let mut lax = policy();
    lax["attempts"] = json!({"failures_per_day": 1_000_000});
    put(&service, &lax, &[]).await.problem(403, "key-holder-forbids");
    assert_eq!(versions(&service).await.len(), 2);
    assert_eq!(under(&service.authenticate(&right(304)).await), (2, 2));
}

/// As the key-holder's operator.
fn set_threshold(keys: &std::path::Path, listen: &str, service: &Service, score: i32) {
    let tenant = hex::encode(service.tenant);
    trefoil(&["key-holder", "set-policy"], keys, listen)
        .args(["--embedder", "test-128", "--threshold", &score.to_string(), &tenant])
        .output()
        .unwrap()
        .done();
}
