//! Malformed requests are refused with a named problem, and with a pointer where there is a field.

use crate::world::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

const AUTHENTICATIONS: &str = "/v1/authentications";

fn templates() -> String {
    format!("/v1/subjects/{}/templates", "00".repeat(32))
}

fn authentication() -> Value {
    json!({
        "handle": "00".repeat(32),
        "session_id": "00".repeat(32),
        "audience": service::AUDIENCE,
        "nonce": "00".repeat(16),
        "issued_at": 0,
        "embedding": face(),
        "mac": "00".repeat(32),
    })
}

fn face() -> Vec<i32> {
    (-60..68).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_the_wrong_kind_or_size() {
    let service = Service::start().await;
    let send = |headers: &'static [(&'static str, &'static str)], body: Vec<u8>| {
        let public = service.public.clone();
        async move { public.send(Method::POST, AUTHENTICATIONS, headers, body).await }
    };
    send(&[], b"{\n \"handle\": \n}".to_vec()).await.problem(400, "malformed-json");
    let problem = send(&[], b"{\n\n  !".to_vec()).await.problem(400, "malformed-json");
    assert!(problem["detail"].as_str().unwrap().contains("line 3 column 3"), "{problem}");
    send(&[], vec![0xff; 20]).await.problem(400, "malformed-json");
    let trailing = authentication().to_string() + "{}";
    send(&[], trailing.into_bytes()).await.problem(400, "malformed-json");
    let deep = [b"[".repeat(4000), b"]".repeat(4000)].concat();
    let refused = send(&[], deep).await;
    assert!(refused.status.is_client_error());
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_that_are_unknown_missing_or_wrong() {
    let service = Service::start().await;
    let nan = BASE64.encode(f32::NAN.to_le_bytes().repeat(128));
    let cases = [
        (with(authentication(), "score", json!(1)), "field-invalid", ""),
        (with(authentication(), "handle", json!("0g")), "field-invalid", "/handle"),
        (with(authentication(), "issued_at", json!(-1)), "field-invalid", "/issued_at"),
        (with(authentication(), "audience", json!("")), "field-invalid", "/audience"),
        (with(authentication(), "embedding", json!(BASE64.encode([0; 510]))), "field-invalid", "/embedding"),
    ];
    for (body, code, pointer) in cases {
        let problem = service.public.post(AUTHENTICATIONS, &body).await.problem(422, code);
        assert!(problem["errors"][0]["pointer"].as_str().unwrap().starts_with(pointer), "{problem}");
    }
    let now = trefoil_pipeline::Clock::unix_s(service.clock.as_ref());
    let fresh = with(authentication(), "issued_at", json!(now));
    for embedding in
        [json!(nan), json!(vec![0.0; 128]), json!(BASE64.encode(f32::INFINITY.to_le_bytes().repeat(128)))]
    {
        let problem =
            service.public.post(AUTHENTICATIONS, &with(fresh.clone(), "embedding", embedding)).await;
        let problem = problem.problem(422, "embedding-invalid");
        assert_eq!(problem["errors"][0]["pointer"], "/embedding");
    }

    let enrolment = json!({"embeddings": [face()], "consent_ref": "c"});
    for key in ["", "a key", "a\tkey", &"k".repeat(256)] {
        let headers = [("idempotency-key", key)];
        let reply = service.public.send(Method::POST, &templates(), &headers, enrolment.to_string()).await;
        reply.problem(400, "idempotency-key-missing");
    }
    let headers = [("idempotency-key", "k")];
    let no_consent = json!({"embeddings": [face()]}).to_string();
    let refused = service.public.send(Method::POST, &templates(), &headers, no_consent).await;
    assert!(refused.problem(422, "field-invalid")["detail"].as_str().unwrap().contains("consent_ref"));
}

#[tokio::test(flavor = "multi_thread")]
async fn roots_that_are_not_the_next_of_their_chain() {
    let service = Service::start().await;
    let publish = |body: Value| {
        let public = service.public.clone();
        async move { public.post("/v1/credentials/roots", &body).await }
    };
    publish(json!({"root": "00".repeat(32), "generation": 1})).await.problem(422, "field-invalid");
    let other = service.admin.caller(&service.public, &policy(), &["issue"]).await;
    let body = json!({"statement": BASE64.encode([0; 132]), "signature": BASE64.encode([0; 3309])});
    other.post("/v1/credentials/roots", &body).await.problem(409, "issuer-key-missing");
    let [zero, one] = [[0; 32], [1; 32]];
    let short = json!({"statement": BASE64.encode([0; 131]), "signature": BASE64.encode([0; 3309])});
    publish(short).await.problem(422, "field-invalid");
    let first = service.next_root(zero, 5, 3);
    let mut altered = first.clone();
    altered.signature[100] ^= 1;
    service.send_root(&altered).await.problem(422, "root-signature-invalid");
    service.send_root(&first).await.is(201);
    assert_eq!(service.send_root(&first).await.status, 201, "the newest root may come again");
    let unlinked = service.next_root(one, 7, 3);
    service.send_root(&service.next_root(zero, 6, 3)).await.is(201);
    service.send_root(&unlinked).await.problem(409, "root-generation-stale");
    service.send_root(&service.next_root(one, 7, 3)).await.is(201);
    service.send_root(&service.next_root(zero, 7, 3)).await.problem(409, "root-generation-stale");
    let log =
        service.public.get(&format!("/v1/credentials/roots/{}", hex::encode(service.tenant))).await.json();
    assert_eq!(log["roots"].as_array().unwrap().len(), 3);
    assert_eq!(log["roots"][0]["statement"], BASE64.encode(&first.statement));
    let unknown = service.public.get(&format!("/v1/credentials/roots/{}", "00".repeat(16))).await;
    unknown.problem(404, "tenant-unknown");
    let query = format!("/v1/credentials/roots/{}?page=1", hex::encode(service.tenant));
    service.public.get(&query).await.problem(400, "malformed-request");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_sixteen_roots_are_accepted_at_once_and_the_log_has_pages() {
    let service = Service::start().await;
    let zero = [0; 32];
    for generation in 1..=16 {
        service.publish_keeping(zero, generation, 1).await;
    }
    let refused = service.next_root(zero, 17, 1);
    service.send_root(&refused).await.problem(422, "field-invalid");
    service.publish_keeping(zero, 17, 17).await;
    let path = |from: u32| format!("/v1/credentials/roots/{}?from={from}", hex::encode(service.tenant));
    for generation in 18..=70 {
        service.publish(zero, generation).await;
    }
    let page = service.public.get(&path(0)).await.json();
    assert_eq!((page["roots"].as_array().unwrap().len(), page["next"].as_u64()), (64, Some(65)));
    let page = service.public.get(&path(65)).await.json();
    assert_eq!((page["roots"].as_array().unwrap().len(), page["next"].as_u64()), (6, None));
}
