//! Calls that the service refuses.

use super::{Answer, says};
use crate::service::{self, Service, unlimited};
use hyper::Method;
use serde_json::{Value, json};
use trefoil_api::Vector;
use trefoil_pipeline::Clock as _;

/// A request and what it is answered with.
struct Call<'a> {
    mistake: &'a str,
    method: Method,
    path: String,
    headers: Vec<(&'a str, &'a str)>,
    body: Vec<u8>,
    code: &'a str,
    answer: Answer<'a>,
}

#[expect(clippy::too_many_lines, reason = "one table of mistakes")]
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_wrong_is_answered_with_what_where_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut policy = service::policy();
    policy["attempts"] = unlimited();
    let service = Service::with_policy(service::config(&folder.path().join("data")), policy).await;
    let people = service.people(2, 1, 11).await;
    service.welcome(&people[0]).await;
    let (ann, bob) = (service::templates_path(&people[0]), service::templates_path(&people[1]));
    let tenant = hex::encode(service.tenant);
    let keys = format!("/v1/tenants/{tenant}/api-keys");
    let face = json!(Vector::new(people[1].face));
    let enrolment = json!({"embedding": face, "consent_ref": "form 7"});
    let request = serde_json::to_value(service.request(&people[0], &people[0].face, 1)).unwrap();
    let with = |body: &Value, field: &str, value: Value| {
        let mut body = body.clone();
        body[field] = value;
        body.to_string().into_bytes()
    };
    let numbers = |count: usize| json!((0..count).map(|i| i as f32 * 0.25 - 9.0).collect::<Vec<f32>>());
    let key = ("idempotency-key", "fresh");
    let enrol = |mistake, field: &str, value: Value, code, answer| Call {
        mistake,
        method: Method::POST,
        path: bob.clone(),
        headers: vec![key],
        body: with(&enrolment, field, value),
        code,
        answer,
    };
    let login = |mistake, field: &str, value: Value, code, answer| Call {
        mistake,
        method: Method::POST,
        path: "/v1/authentications".to_owned(),
        headers: vec![],
        body: with(&request, field, value),
        code,
        answer,
    };
    let raw = |mistake,
               method: Method,
               path: &str,
               headers: &[(&'static str, &'static str)],
               body: &str,
               code,
               answer| Call {
        mistake,
        method,
        path: path.to_owned(),
        headers: headers.to_vec(),
        body: body.as_bytes().to_vec(),
        code,
        answer,
    };
    let (post, get, delete) = (Method::POST, Method::GET, Method::DELETE);
    let whole = enrolment.to_string();
    let second =
        |number: &str| whole.replace("\"embedding\":", &format!("\"embedding\":[0.5,{number}],\"x\":"));
    let missing = json!({"consent_ref": "form 7"}).to_string();
    let an_hour_ago = json!(service.clock.unix_s() - 3600);
    let in_an_hour = json!(service.clock.unix_s() + 3600);
    let calls = vec![
        raw(
            "no JSON",
            post.clone(),
            &bob,
            &[key],
            "embedding=1",
            "malformed-json",
            says("not JSON", "line 1, column 1", "Send one JSON value"),
        ),
        raw(
            "cut off",
            post.clone(),
            &bob,
            &[key],
            "{\"embedding\": [1,",
            "malformed-json",
            says("not JSON", "line 1, column", "Send one JSON value"),
        ),
        raw(
            "empty",
            post.clone(),
            &bob,
            &[key],
            "",
            "malformed-json",
            says("the body is empty", "body", "Send one JSON value"),
        ),
        raw(
            "NaN",
            post.clone(),
            &bob,
            &[key],
            &second("NaN"),
            "malformed-json",
            says("number 2 of 128 is not a number", "line 1, column", "JSON has no NaN"),
        ),
        raw(
            "no embedding",
            post.clone(),
            &bob,
            &[key],
            &missing,
            "probe-mode-mismatch",
            says("plain", "`embedding`", "Send the face in the way"),
        ),
        raw(
            "not an object",
            post.clone(),
            &bob,
            &[key],
            "[1, 2]",
            "field-invalid",
            says("invalid", "pointer", "Correct the fields"),
        ),
        enrol(
            "a number for text",
            "consent_ref",
            json!(7),
            "field-invalid",
            says("integer", "/consent_ref", "expected a string"),
        ),
        enrol(
            "empty text",
            "consent_ref",
            json!(""),
            "field-invalid",
            says("1 to 256 bytes", "/consent_ref", "Correct the fields"),
        ),
        enrol(
            "text too long",
            "consent_ref",
            json!("x".repeat(257)),
            "field-invalid",
            says("1 to 256 bytes", "/consent_ref", "Correct the fields"),
        ),
        enrol(
            "unknown field",
            "consent",
            json!("x"),
            "field-invalid",
            says("unknown field `consent`", "/consent", "`consent_ref`"),
        ),
        enrol(
            "127 numbers",
            "embedding",
            numbers(127),
            "field-invalid",
            says("got 127", "/embedding", "expected 128 numbers"),
        ),
        enrol(
            "129 numbers",
            "embedding",
            numbers(129),
            "field-invalid",
            says("got 129", "/embedding", "expected 128 numbers"),
        ),
        enrol(
            "256 numbers",
            "embedding",
            numbers(256),
            "field-invalid",
            says("got 256", "/embedding", "expected 128 numbers"),
        ),
        enrol(
            "512 numbers",
            "embedding",
            json!(vec![0.123_456_789_012_345_68_f64; 512]),
            "body-too-large",
            says("8192 bytes", "an embedding has 128 numbers", "Send a smaller body"),
        ),
        enrol(
            "words",
            "embedding",
            json!(vec!["x"; 128]),
            "field-invalid",
            says("not a number", "/embedding/0", "takes no quotes around a number"),
        ),
        enrol(
            "beyond f32",
            "embedding",
            json!(vec![1e39_f64; 128]),
            "field-invalid",
            says("number 1 of 128", "/embedding", "beyond 3.4e38"),
        ),
        enrol(
            "zeros",
            "embedding",
            json!(vec![0; 128]),
            "embedding-invalid",
            says("zero", "/embedding", "128 numbers that the tenant's embedder gives"),
        ),
        enrol(
            "one size",
            "embedding",
            json!(vec![0.1_f32; 128]),
            "embedding-invalid",
            says("same size", "/embedding", "send its output unchanged"),
        ),
        raw(
            "beyond every number",
            post.clone(),
            &bob,
            &[key],
            &second("1e999"),
            "field-invalid",
            says("number 2 of 128", "/embedding/1", "beyond 3.4e38"),
        ),
        enrol(
            "base64 of URLs",
            "embedding",
            json!("_-".repeat(342) + "=="),
            "field-invalid",
            says("standard alphabet", "/embedding", "expected base64"),
        ),
        enrol(
            "base64 of f64",
            "embedding",
            json!("AAAA".repeat(341) + "AA=="),
            "field-invalid",
            says("got 1024", "/embedding", "expected 512 bytes"),
        ),
        enrol(
            "shares where plain",
            "shares",
            json!({"open": "", "sealed": ""}),
            "probe-mode-mismatch",
            says("plain", "`shares`", "send `embedding`"),
        ),
        raw(
            "wrong content type",
            post.clone(),
            &bob,
            &[key, ("content-type", "text/plain")],
            &whole,
            "media-type-unsupported",
            says("text/plain", "Content-Type", "send Content-Type: application/json"),
        ),
        raw(
            "form",
            post.clone(),
            &bob,
            &[key, ("content-type", "application/x-www-form-urlencoded")],
            &whole,
            "media-type-unsupported",
            says("a text of 33 characters", "Content-Type", "application/json"),
        ),
        raw(
            "no idempotency key",
            post.clone(),
            &bob,
            &[],
            &whole,
            "idempotency-key-missing",
            says("Idempotency-Key", "header", "fresh value"),
        ),
        raw(
            "wrong method",
            get.clone(),
            &bob,
            &[],
            "",
            "method-not-allowed",
            says("not allowed", "Allow", "Use a method"),
        ),
        raw(
            "wrong path",
            get.clone(),
            "/v1/login",
            &[],
            "",
            "route-unknown",
            says("no such path", "public listener", "API.md lists the routes"),
        ),
        raw(
            "admin route here",
            get.clone(),
            "/v1/tenants",
            &[],
            "",
            "route-unknown",
            says("no such path", "admin listener", "Correct the path and the listener"),
        ),
        raw(
            "subject is no id",
            post.clone(),
            "/v1/subjects/ann/templates",
            &[key],
            &whole,
            "malformed-request",
            says("64 hexadecimal digits", "path", "Correct what"),
        ),
        raw(
            "no key",
            post.clone(),
            &bob,
            &[key, ("authorization", "")],
            &whole,
            "caller-unauthenticated",
            says("API key", "Authorization", "Bearer"),
        ),
        raw(
            "another header",
            post.clone(),
            &bob,
            &[key, ("authorization", ""), ("x-api-key", "trefoil_x")],
            &whole,
            "caller-unauthenticated",
            says("API key", "Authorization", "Bearer"),
        ),
        raw(
            "basic",
            post.clone(),
            &bob,
            &[key, ("authorization", "Basic eDp5")],
            &whole,
            "caller-unauthenticated",
            says("API key", "Authorization", "Bearer"),
        ),
        raw(
            "unknown key",
            post.clone(),
            &bob,
            &[key, ("authorization", "Bearer trefoil_00")],
            &whole,
            "caller-unauthenticated",
            says("API key", "Authorization", "trefoil admin api-key list"),
        ),
        raw(
            "unknown subject",
            delete,
            &bob,
            &[],
            "",
            "subject-unknown",
            says("Nothing is there to delete", "path", "correct the handle"),
        ),
        raw(
            "enrolled already",
            post.clone(),
            &ann,
            &[("idempotency-key", "other")],
            &whole,
            "template-exists",
            says("a template, active or revoked", "PUT on this path", "replace it, or delete it"),
        ),
        raw(
            "unknown seal",
            get.clone(),
            "/v1/seals/99999",
            &[],
            "",
            "seal-unknown",
            says("no seal has this number", "seal", "GET /v1/log/head"),
        ),
        raw(
            "seal by name",
            get.clone(),
            "/v1/seals/last",
            &[],
            "",
            "malformed-request",
            says("whole number", "seal", "Correct what"),
        ),
        raw(
            "unknown trust root",
            get.clone(),
            "/v1/keys/9",
            &[],
            "",
            "trust-root-unknown",
            says("newest version is 1", "trust root", "from 1 to the newest"),
        ),
        raw(
            "no proof",
            post.clone(),
            "/v1/proof-sessions",
            &[("content-type", "application/octet-stream")],
            "x",
            "proof-rejected",
            says("shorter", "bytes", "Make a new proof with the wallet"),
        ),
        login(
            "clock behind",
            "issued_at",
            an_hour_ago,
            "request-not-fresh",
            says("3600 s before the service's clock", "/issued_at", "set the clock"),
        ),
        login(
            "clock ahead",
            "issued_at",
            in_an_hour,
            "request-not-fresh",
            says("3600 s after the service's clock", "/issued_at", "set the clock"),
        ),
        login(
            "time in words",
            "issued_at",
            json!("2026-11-20T09:47:40Z"),
            "field-invalid",
            says("string", "/issued_at", "expected a whole number"),
        ),
        login(
            "another audience",
            "audience",
            json!("evil.example"),
            "audience-not-allowed",
            says("allows the audiences", service::AUDIENCE, "use one of them"),
        ),
        login(
            "nonce too short",
            "nonce",
            json!("00"),
            "field-invalid",
            says("expected 32 to 128 hexadecimal digits", "/nonce", "Correct the fields"),
        ),
        login(
            "wrong MAC",
            "mac",
            json!("00".repeat(32)),
            "request-mac-invalid",
            says("mac", "session's key", "Compute the MAC over exactly"),
        ),
        login(
            "unknown session",
            "session_id",
            json!("00".repeat(32)),
            "session-unknown",
            says("session", "POST /v1/proof-sessions", "open a proof session first"),
        ),
        login(
            "session is no id",
            "session_id",
            json!("x"),
            "field-invalid",
            says("got 1 characters", "/session_id", "expected 64 hexadecimal digits"),
        ),
        login(
            "another form",
            "attestation",
            json!("short"),
            "field-invalid",
            says("unknown value", "/attestation", "`compact`"),
        ),
        login(
            "probe of 127",
            "embedding",
            numbers(127),
            "field-invalid",
            says("got 127", "/embedding", "expected 128 numbers"),
        ),
    ];
    let mut unproven = request.clone();
    for name in ["session_id", "mac"] {
        unproven.as_object_mut().unwrap().remove(name);
    }
    let mut calls = calls;
    calls.push(raw(
        "no session",
        post.clone(),
        "/v1/authentications",
        &[],
        &unproven.to_string(),
        "field-invalid",
        says("asks for a credential proof", "/session_id", "open a proof session"),
    ));
    let mut wrong = Vec::new();
    let on_public = calls.len();
    for call in calls {
        let reply = service.public.send(call.method, &call.path, &call.headers, call.body).await;
        check(call.mistake, &reply, call.code, &call.answer, &mut wrong);
    }

    let tenant_of = |policy: Value| json!({"name": "x", "policy": policy});
    let changed = |field: &str, value: Value| {
        let mut policy = service::policy();
        policy[field] = value;
        tenant_of(policy)
    };
    let mut without_embedder = changed("dimension", json!(128));
    without_embedder["policy"].as_object_mut().unwrap().remove("embedder");
    let admin_calls: Vec<(&str, &str, Value, &str, Answer<'_>)> = vec![
        (
            "a number for a threshold",
            "/v1/tenants",
            changed("threshold", json!(0.4)),
            "field-invalid",
            says("a value of another kind", "/policy/threshold", "Correct the fields"),
        ),
        (
            "no embedder",
            "/v1/tenants",
            without_embedder,
            "field-invalid",
            says("name the model", "/policy/embedder", "known are facenet-128 2"),
        ),
        (
            "unknown class",
            "/v1/tenants",
            changed("threshold", json!({"fmr_class": 9})),
            "field-invalid",
            says("no calibration", "/policy/threshold", "a score of your own calibration"),
        ),
        (
            "no audience",
            "/v1/tenants",
            changed("audiences", json!([])),
            "field-invalid",
            says("audiences", "/policy/audiences", "expected 1 to"),
        ),
        (
            "a long life",
            "/v1/tenants",
            changed("attestation_lifetime_s", json!(3600)),
            "field-invalid",
            says("1 to 120 seconds", "/policy/attestation_lifetime_s", "Correct the fields"),
        ),
        (
            "unknown scope",
            keys.as_str(),
            json!({"scopes": ["all"]}),
            "field-invalid",
            says("unknown value", "/scopes/0", "`enrol`"),
        ),
        (
            "expired from the start",
            keys.as_str(),
            json!({"scopes": ["enrol"], "expires_at": 1}),
            "field-invalid",
            says("is over", "/expires_at", "before the service's clock"),
        ),
        (
            "login here",
            "/v1/authentications",
            json!({}),
            "route-unknown",
            says("no such path", "public listener", "Correct the path and the listener"),
        ),
    ];
    let on_admin = admin_calls.len();
    for (mistake, path, body, code, answer) in admin_calls {
        check(mistake, &service.admin.post(path, &body).await, code, &answer, &mut wrong);
    }
    let missing = service.admin.get(&format!("/v1/tenants/{}", "00".repeat(16))).await;
    check(
        "unknown tenant",
        &missing,
        "tenant-unknown",
        &says("tenant", "identifier", "trefoil admin tenant list"),
        &mut wrong,
    );
    let stranger = service.admin.with_bearer("x").get("/v1/tenants").await;
    check(
        "wrong token",
        &stranger,
        "caller-unauthenticated",
        &says("token", "admin.token", "Bearer"),
        &mut wrong,
    );
    let narrow = service.public.with_bearer(&service.api_key(&["authenticate"]).await);
    let refused = narrow.send(Method::POST, &bob, &[key], whole.clone()).await;
    check(
        "scope missing",
        &refused,
        "scope-missing",
        &says("scope `enrol`", "API key", "api-key create --scope"),
        &mut wrong,
    );
    let short_lived = json!({"scopes": ["enrol"], "expires_at": service.clock.unix_s() + 5});
    let short_lived =
        service.admin.post(&keys, &short_lived).await.json()["api_key"].as_str().unwrap().to_owned();
    service.clock.advance(6);
    let refused =
        service.public.with_bearer(&short_lived).send(Method::POST, &bob, &[key], whole.clone()).await;
    check(
        "expired key",
        &refused,
        "caller-unauthenticated",
        &says("API key", "Authorization", "trefoil admin api-key list"),
        &mut wrong,
    );
    let disabled = service.admin.post(&format!("/v1/tenants/{tenant}/disable"), &json!({})).await;
    assert_eq!(disabled.status, 200);
    let refused = service.public.send(Method::POST, &bob, &[key], whole).await;
    check(
        "disabled tenant",
        &refused,
        "tenant-disabled",
        &says("disabled", "tenant", "trefoil admin tenant enable"),
        &mut wrong,
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((on_public, on_admin + 5), (50, 13));
    assert!(service.server.shutdown().await);
}

fn check(
    mistake: &str,
    reply: &crate::http::Reply,
    code: &str,
    answer: &Answer<'_>,
    wrong: &mut Vec<String>,
) {
    let text = reply.text();
    if serde_json::from_str::<Value>(text).is_ok_and(|problem| problem["code"] == code) {
        // A JSON text as a person reads it.
        answer.check(mistake, &text.replace("\\\"", "\""), wrong);
    } else {
        wrong.push(format!("{mistake}: not {code}: {text}"));
    }
}
