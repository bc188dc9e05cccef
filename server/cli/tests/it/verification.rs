//! `POST /v1/attestations/verify`: the service checks attestations for developers who try the API.

use crate::http::{Endpoint, Reply};
use crate::service::{self, AUDIENCE, Service, answer};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hyper::StatusCode;
use serde_json::{Value, json};
use std::time::Duration;
use trefoil_api::{AttestationForm, Authenticated, Authentication};
use trefoil_pipeline::Clock as _;

const VERIFY: &str = "/v1/attestations/verify";

/// Asks without an API key, until there is a place.
async fn ask(stranger: &Endpoint, body: &Value) -> Reply {
    loop {
        let reply = stranger.post(VERIFY, body).await;
        if reply.status != StatusCode::SERVICE_UNAVAILABLE {
            return reply;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn said(stranger: &Endpoint, body: &Value) -> Value {
    let reply = ask(stranger, body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

fn required(request: &Authentication, answer: &Authenticated) -> Value {
    let attestation = BASE64.encode(&answer.attestation.as_ref().unwrap().0);
    json!({"attestation": attestation, "audience": AUDIENCE, "nonce": hex::encode(request.nonce.as_bytes())})
}

fn with(mut body: Value, fields: Value) -> Value {
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn without(mut body: Value, field: &str) -> Value {
    body.as_object_mut().unwrap().remove(field);
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn anyone_may_try_whether_an_attestation_verifies_and_hears_the_verifiers_reason() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::new(service::config(&directory.path().join("data"))).await;
    let people = service.people(2, 1, 4).await;
    service.welcome(&people[0]).await;
    let stranger = Endpoint { bearer: None, ..service.public.clone() };

    let request = service.request(&people[0], &people[0].face, 1);
    let matched = answer(&service.authenticate(&request).await);
    let good = required(&request, &matched);
    let valid = said(&stranger, &good).await;
    assert_eq!(
        (&valid["valid"], &valid["reason"], &valid["not_checked"]),
        (&json!(true), &Value::Null, &json!([]))
    );
    assert_eq!(valid["statement"]["digest"], hex::encode(matched.id.0));
    assert_eq!(
        (&valid["statement"]["decision"], &valid["statement"]["audience"]),
        (&json!("match"), &json!(AUDIENCE))
    );

    let mut request = service.request(&people[0], &people[1].face, 2);
    request.attestation = AttestationForm::Compact;
    let denied = answer(&service.authenticate(&request).await);
    let denied = required(&request, &denied);
    let shown = said(&stranger, &with(denied.clone(), json!({"any_decision": true}))).await;
    assert_eq!(
        shown["statement"]["decision"], "no_match",
        "a compact one is verified with the service's seal: {shown}"
    );

    let mut altered = matched.attestation.as_ref().unwrap().0.clone();
    *altered.last_mut().unwrap() ^= 1;
    let mut foreign = matched.attestation.as_ref().unwrap().0.clone();
    foreign.push(0);
    let later = service.clock.unix_s() + 200;
    for (body, reason) in [
        (with(good.clone(), json!({"audience": "bank.example"})), "audience"),
        (with(good.clone(), json!({"nonce": "00".repeat(16)})), "nonce"),
        (with(good.clone(), json!({"at": later})), "expired"),
        (with(good.clone(), json!({"attestation": ""})), "malformed"),
        (with(good.clone(), json!({"attestation": BASE64.encode(&foreign)})), "malformed"),
        (with(good.clone(), json!({"attestation": BASE64.encode(&altered)})), "signature-slh-dsa-sha2-128f"),
        (denied, "decision"),
    ] {
        let refused = said(&stranger, &body).await;
        assert_eq!((&refused["valid"], &refused["reason"]), (&json!(false), &json!(reason)), "{refused}");
        assert!(refused["detail"].is_string() && refused["statement"].is_null(), "{refused}");
    }

    // Both are required, unless their absence is asked for.
    for name in ["audience", "nonce"] {
        let waiver = format!("any_{name}");
        for body in [without(good.clone(), name), with(good.clone(), json!({ waiver.as_str(): true }))] {
            let problem = ask(&stranger, &body).await.problem(422, "field-invalid");
            assert_eq!(problem["errors"][0]["pointer"], format!("/{name}"), "{problem}");
        }
        let waived = said(&stranger, &with(without(good.clone(), name), json!({ waiver: true }))).await;
        assert_eq!((&waived["valid"], &waived["not_checked"]), (&json!(true), &json!([name])));
    }
    ask(&stranger, &with(good, json!({"attestation": "A".repeat(40 * 1024)})))
        .await
        .problem(413, "body-too-large");
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_without_a_proof_is_valid_only_where_that_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::new(service::config(&directory.path().join("data"))).await;
    let mut policy = service::policy();
    (policy["level_min"], policy["proof"]) = (json!(0), json!("none"));
    let tenant = service.admin.post("/v1/tenants", &json!({"name": "app", "policy": policy})).await.json();
    let keys = format!("/v1/tenants/{}/api-keys", tenant["tenant_id"].as_str().unwrap());
    let key = service.admin.post(&keys, &json!({"scopes": ["enrol", "authenticate"]})).await.json();
    let public = service.public.with_bearer(key["api_key"].as_str().unwrap());
    let face: Vec<f32> = (0..128).map(|i| (i as f32 * 0.7).sin()).collect();
    let (handle, nonce) = ("11".repeat(32), "22".repeat(16));
    let enrolment = json!({"embedding": face, "consent_ref": "form 7"}).to_string();
    let path = format!("/v1/subjects/{handle}/templates");
    let enrolled = public.send(hyper::Method::POST, &path, &[("idempotency-key", "1")], enrolment).await;
    assert_eq!(enrolled.status, 201, "{}", enrolled.text());
    let now = service.clock.unix_s();
    let login =
        json!({"handle": handle, "audience": AUDIENCE, "nonce": nonce, "issued_at": now, "embedding": face});
    let answer = public.post("/v1/authentications", &login).await.json();
    let stranger = Endpoint { bearer: None, ..service.public.clone() };
    let body = json!({"attestation": answer["attestation"], "audience": AUDIENCE, "nonce": nonce});
    assert_eq!(said(&stranger, &body).await["reason"], "no-proof");
    let valid = said(&stranger, &with(body, json!({"accept_no_proof": true}))).await;
    assert_eq!((&valid["valid"], &valid["statement"]["proof"]), (&json!(true), &Value::Null));
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_verifications_at_once_some_are_refused_and_a_login_is_decided() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::new(service::config(&directory.path().join("data"))).await.at_one_node();
    let person = &service.people(1, 1, 4).await[0];
    service.welcome(person).await;
    let first = service.request(person, &person.face, 1);
    let body = required(&first, &answer(&service.authenticate(&first).await));
    let stranger = Endpoint { bearer: None, ..service.public.clone() };
    let mut refused = 0;
    // A slow machine spreads a burst over so much time that there is a place for each.
    for burst in 0..20 {
        let many: Vec<_> = (0..40)
            .map(|_| {
                let (stranger, body) = (stranger.clone(), body.clone());
                tokio::spawn(async move { stranger.post(VERIFY, &body).await })
            })
            .collect();
        let login = service.authenticate(&service.request(person, &person.face, 2 + burst)).await;
        assert_eq!(login.status, 200, "{}", login.text());
        for reply in many {
            let reply = reply.await.unwrap();
            if reply.status != 200 {
                reply.problem(503, "overloaded");
                assert!(reply.headers.contains_key("retry-after"));
                refused += 1;
            }
        }
        if refused > 0 {
            break;
        }
    }
    assert!(refused > 0, "none of 800");
    assert!(service.server.shutdown().await);
}
