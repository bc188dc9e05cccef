//! A canary in each field of requests, in their headers and paths. Answers, the log at its most detailed level, metrics and status show none of it.

use super::provoked::{NUMBER, WORD, folder};
use crate::world::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use trefoil_testing::contains;

/// The listener, the path, headers, and bodies with what is wrong with each.
type Requests<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], Vec<(String, String)>);

/// A request with the canary in the place of each field, and as one.
fn spoiled(body: &Value) -> Vec<(String, String)> {
    let mut all = vec![
        ("encoded twice".to_owned(), json!(body.to_string().replace("a.example", WORD)).to_string()),
        ("no JSON".to_owned(), WORD.to_owned()),
        ("breaks off".to_owned(), format!("{{\"a\": \"{WORD}\", \"{WORD}")),
        ("a string".to_owned(), json!(WORD).to_string()),
        ("a list".to_owned(), json!([WORD]).to_string()),
    ];
    let fields: Vec<String> = body.as_object().unwrap().keys().cloned().collect();
    for name in &fields {
        let number: Value = serde_json::from_str(NUMBER).unwrap();
        for value in
            [json!(WORD), number, json!({WORD: WORD}), json!([WORD, WORD]), json!(format!("{WORD}\n"))]
        {
            let mut spoiled = body.clone();
            spoiled[name] = value;
            all.push((format!("{name}: {}", spoiled[name]), spoiled.to_string()));
        }
    }
    let mut more = body.clone();
    more[WORD] = json!(WORD);
    all.push(("one more field".to_owned(), more.to_string()));
    all
}

/// Claim V171.
#[tokio::test(flavor = "multi_thread")]
async fn neither_answers_nor_the_log_nor_metrics_show_a_field_of_a_request() {
    let mut folder = folder();
    let log = folder.path("log");
    let variables = [("TREFOIL_LOG_FILTER", "trace")];
    let program = Program::start(&folder.path("data"), File::create(&log).unwrap(), &variables);
    let tenant = program.admin.tenant(&service::policy()).await;
    let keys = format!("/v1/tenants/{tenant}/api-keys");
    let key = program.admin.api_key(tenant, &["enrol", "authenticate", "issue"]).await;
    let public = program.public.with_bearer(&key);
    let face: Vec<i32> = (-60..68).collect();
    let login = json!({
        "handle": "00".repeat(32), "session_id": "00".repeat(32), "audience": "a.example", "nonce": "00".repeat(16),
        "issued_at": 0, "embedding": face, "mac": "00".repeat(32),
    });
    let templates = format!("/v1/subjects/{}/templates", "00".repeat(32));
    let enrolment = json!({"embeddings": [face], "consent_ref": "a.example"});
    let root = json!({"statement": BASE64.encode([0; 132]), "signature": BASE64.encode([0; 3309])});
    let idempotent = [("idempotency-key", "k")];
    let mut requests: Vec<Requests<'_>> = vec![
        ("public", "/v1/authentications", &[], spoiled(&login)),
        ("public", &templates, &idempotent, spoiled(&enrolment)),
        ("public", "/v1/credentials/roots", &[], spoiled(&root)),
        ("admin", "/v1/tenants", &idempotent, spoiled(&json!({"name": "a\nb", "policy": 1}))),
        ("admin", &keys, &idempotent, spoiled(&json!({"scopes": ["all"], "expires_at": 1, "label": "a\nb"}))),
        ("admin", "/v1/operators", &idempotent, spoiled(&json!({"name": "a\nb", "role": "any"}))),
    ];
    // A name that is no name stays refused whatever the other fields are.
    let policies: Vec<_> = spoiled(&service::policy())
        .into_iter()
        .filter(|(_, text)| serde_json::from_str::<Value>(text).is_ok())
        .map(|(how, text)| (how, format!("{{\"name\": \"a\\nb\", \"policy\": {text}}}")))
        .collect();
    requests.push(("admin", "/v1/tenants", &idempotent, policies));
    let batch = json!({"authentications": [json!(login.to_string().replace("a.example", WORD)), WORD]});
    requests.push((
        "public",
        "/v1/authentications/batch",
        &[],
        vec![("batch".to_owned(), batch.to_string())],
    ));
    for (listener, path, headers, bodies) in requests {
        let endpoint = if listener == "public" { &public } else { &program.admin };
        for (how, body) in bodies {
            let reply = endpoint.send(Method::POST, path, headers, body).await;
            assert_ne!(reply.status, 500, "{path} {how}: {}", reply.text());
            folder.look(&format!("{path} {how}"), &whole(&reply));
        }
    }
    let bearer = format!("Bearer {WORD}");
    for (name, value) in [
        ("content-type", WORD),
        ("authorization", WORD),
        ("authorization", &bearer),
        ("idempotency-key", &format!("{WORD} {WORD}")),
        ("accept", WORD),
        ("if-match", WORD),
        ("if-none-match", WORD),
        ("traceparent", WORD),
        ("x-request-id", WORD),
        ("cookie", WORD),
        ("content-encoding", WORD),
    ] {
        let reply = public.send(Method::POST, &templates, &[(name, value)], enrolment.to_string()).await;
        folder.look(name, &whole(&reply));
    }
    for path in [
        "/v1/subjects/*/templates",
        "/v1/seals/*",
        "/v1/keys/*",
        "/*",
        "/v1/log/head?from=*",
        "/v1/credentials/roots/00?*=1",
    ] {
        let path = path.replace('*', WORD);
        folder.look(&path, &whole(&public.get(&path).await));
        folder.look(&path, &whole(&program.admin.get(&path).await));
    }
    folder.look("metrics", program.admin.get("/metrics").await.text().as_bytes());
    folder.look("status", program.admin.get("/v1/status").await.text().as_bytes());
    assert_eq!(program.terminate().code(), Some(0));
    let log = std::fs::read(log).unwrap();
    assert!(contains(&log, b"DEBUG"), "everything is logged");
    folder.look("the log", &log);
    folder.has_no_leak();
    assert!(folder.provoked > 150, "{}", folder.provoked);
}

/// The head and the body of an answer.
fn whole(reply: &Reply) -> Vec<u8> {
    [format!("{:?}\n", reply.headers).as_bytes(), &reply.body].concat()
}
