//! The operator's side of callers: API keys over their life, and tenants that are disabled and enabled.

use crate::world::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// A request that needs an API key and is refused later: only the key matters here.
async fn call(caller: &Endpoint) -> Reply {
    caller.post("/v1/authentications", &json!({})).await
}

fn is_taken(reply: &Reply) {
    reply.problem(422, "field-invalid");
}

/// The answer to a key that never existed.
fn is_unknown(reply: &Reply) {
    let problem = reply.problem(401, "caller-unauthenticated");
    let expected =
        "send `Authorization: Bearer <API key>` with a key that exists and is neither expired nor revoked";
    assert_eq!(problem["detail"], expected);
    assert_eq!(reply.headers["www-authenticate"], "Bearer");
}

async fn create(service: &Service, body: Value) -> Value {
    let created = service.admin.post(&service.path("/api-keys"), &body).await.is(201);
    created.json()
}

async fn listed(service: &Service, id: &Value) -> Value {
    let page = service.admin.get(&service.path("/api-keys")).await.is(200);
    let page = page.json();
    let keys = page["api_keys"].as_array().unwrap();
    keys.iter().find(|key| key["id"] == *id).unwrap_or_else(|| panic!("{id} in {page}")).clone()
}

async fn revoke(service: &Service, id: &Value) -> Reply {
    let path = format!("{}/{}", service.path("/api-keys"), id.as_str().unwrap());
    service.admin.delete(&path).await
}

/// Claim V37: A revoked or expired API key is refused like an unknown one, from the answer on and after a restart. Other keys of the tenant
/// still work, and a caller is named by one header.
#[tokio::test(flavor = "multi_thread")]
async fn an_api_key_is_rotated_and_a_revoked_one_is_unknown_from_then_on() {
    let service = Service::start().await;
    // Each node writes the use of keys at times.
    let service = service.at_one_node();
    let scopes = json!(["authenticate"]);
    let old = create(&service, json!({"scopes": scopes, "label": "web, first"})).await;
    let new = create(&service, json!({"scopes": scopes, "label": "web, second"})).await;
    let caller = |key: &Value| service.public.with_bearer(key["api_key"].as_str().unwrap());
    let (old_caller, new_caller) = (caller(&old), caller(&new));
    assert_eq!(listed(&service, &old["id"]).await["last_used_at"], Value::Null);
    is_taken(&call(&old_caller).await);
    is_taken(&call(&new_caller).await);
    let (now, shown) = (service.clock.unix_s(), listed(&service, &old["id"]).await);
    let hour = now - now % 3600;
    assert_eq!(
        shown,
        json!({
            "id": old["id"], "label": "web, first", "scopes": scopes, "state": "active", "created_at": now,
            "expires_at": null, "revoked_at": null, "last_used_at": hour,
        })
    );
    service.clock.advance(10);
    let revoked = revoke(&service, &old["id"]).await;
    assert_eq!((revoked.status.as_u16(), &revoked.json()["state"]), (200, &json!("revoked")));
    assert_eq!(revoked.json()["revoked_at"], now + 10);
    is_unknown(&call(&old_caller).await);
    is_unknown(&call(&service.public.with_bearer("trefoil_0011223344556677_")).await);
    is_taken(&call(&new_caller).await);
    service.clock.advance(10);
    // The second has no receipt, and reads as in the list.
    let mut revoked = revoked.json();
    assert!(revoked["receipt"].take().is_object(), "{revoked}");
    assert_eq!(revoke(&service, &old["id"]).await.json(), revoked, "the first revocation stays");
    revoked.as_object_mut().unwrap().remove("receipt");

    let service = service.restart().await;
    let caller = |key: &Value| service.public.with_bearer(key["api_key"].as_str().unwrap());
    is_unknown(&call(&caller(&old)).await);
    assert_eq!(listed(&service, &old["id"]).await, revoked, "the use too was stored");
    is_taken(&call(&caller(&new)).await);
}

/// Claim V37.
#[tokio::test(flavor = "multi_thread")]
async fn an_api_key_ends_when_it_expires() {
    let service = Service::start().await;
    let end = service.clock.unix_s() + 100;
    let key = create(&service, json!({"scopes": ["issue"], "expires_at": end})).await;
    assert_eq!(key["expires_at"], end);
    let bearer = key["api_key"].as_str().unwrap();
    service.clock.advance(99);
    call(&service.public.with_bearer(bearer)).await.problem(403, "scope-missing");
    service.clock.advance(1);
    is_unknown(&call(&service.public.with_bearer(bearer)).await);
    assert_eq!(listed(&service, &key["id"]).await["state"], "expired");
    let late = json!({"scopes": ["issue"], "expires_at": end});
    let refused = service.admin.post(&service.path("/api-keys"), &late).await.problem(422, "field-invalid");
    assert!(refused["detail"].as_str().unwrap().contains(&end.to_string()), "{refused}");
    let service = service.restart().await;
    is_unknown(&call(&service.public.with_bearer(bearer)).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn api_keys_are_listed_in_pages_and_revoked_at_their_own_tenant() {
    let service = Service::start().await;
    let other = service.admin.tenant(&crate::service::policy()).await;
    let foreign = service.admin.api_key(&other, &["issue"]).await;
    let foreign = &foreign["trefoil_".len()..][..16];
    revoke(&service, &json!(foreign)).await.problem(404, "api-key-unknown");
    revoke(&service, &json!("00".repeat(8))).await.problem(404, "api-key-unknown");
    revoke(&service, &json!("00")).await.problem(400, "malformed-request");
    for _ in 0..256 {
        create(&service, json!({"scopes": ["issue"]})).await;
    }
    let first = service.admin.get(&service.path("/api-keys")).await.json();
    let next = first["next"].as_str().unwrap().to_owned();
    let second = service.admin.get(&format!("{}?from={next}", service.path("/api-keys"))).await.json();
    let ids = |page: &Value| -> Vec<String> {
        let keys = page["api_keys"].as_array().unwrap();
        keys.iter().map(|key| key["id"].as_str().unwrap().to_owned()).collect()
    };
    let all = [ids(&first), ids(&second)].concat();
    assert!(all.len() == 257 && all.is_sorted() && second["next"].is_null(), "{second}");
    assert!(!all.contains(&foreign.to_owned()));
    let refused = service.admin.get(&format!("{}?from=x", service.path("/api-keys"))).await;
    refused.problem(400, "malformed-request");
    let stranger = Endpoint { bearer: None, ..service.admin.clone() };
    for path in [&service.path("/api-keys"), "/v1/tenants", &format!("/v1/tenants/{other}")] {
        stranger.get(path).await.problem(401, "caller-unauthenticated");
    }
}

/// Claim V38: The API keys of a disabled tenant are refused until it is enabled, across restarts.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_is_disabled_and_enabled_again() {
    let service = Service::start().await;
    let shown = service.admin.get(&service.path("")).await.json();
    assert_eq!((&shown["name"], &shown["disabled_at"]), (&json!("shop"), &Value::Null));
    assert_eq!(shown["policy"]["audiences"], crate::service::policy()["audiences"]);
    is_taken(&call(&service.public).await);
    let now = service.clock.unix_s();
    let disabled = service.admin.post(&service.path("/disable"), &json!({})).await;
    assert_eq!((disabled.status.as_u16(), &disabled.json()["disabled_at"]), (200, &json!(now)));
    let refused = call(&service.public).await.problem(403, "tenant-disabled");
    assert!(refused["detail"].as_str().unwrap().contains("ask the operator to enable it"), "{refused}");
    is_unknown(&call(&service.public.with_bearer("trefoil_0011223344556677_")).await);
    service.clock.advance(5);
    let again = service.admin.post(&service.path("/disable"), &json!({})).await.json();
    assert_eq!(again["disabled_at"], now, "the first time stays");

    let service = service.restart().await;
    call(&service.public).await.problem(403, "tenant-disabled");
    let tenants = service.admin.get("/v1/tenants").await.json();
    let expected = json!([{
        "tenant_id": hex::encode(service.tenant), "name": "shop", "created_at": shown["created_at"],
        "dimension": 128,
        "disabled_at": now,
    }]);
    assert_eq!(tenants, json!({"tenants": expected, "next": null}));
    let enabled = service.admin.post(&service.path("/enable"), &json!({})).await;
    assert_eq!((enabled.status.as_u16(), &enabled.json()["disabled_at"]), (200, &Value::Null));
    is_taken(&call(&service.public).await);
    let unknown = format!("/v1/tenants/{}", "00".repeat(16));
    service.admin.get(&unknown).await.problem(404, "tenant-unknown");
    service.admin.post(&format!("{unknown}/disable"), &json!({})).await.problem(404, "tenant-unknown");
}

/// The status of a request with these `Authorization` headers, as they are written.
async fn by_hand(to: &Endpoint, request: &str, authorizations: &[&str]) -> u16 {
    let headers: String = authorizations.iter().map(|value| format!("authorization: {value}\r\n")).collect();
    let request = format!("{request} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
    let mut connection = to.connect().await;
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 12];
    connection.read_exact(&mut head).await.unwrap();
    std::str::from_utf8(&head).unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

/// Claim V37.
///
/// Behind a proxy that checks one header, another one must not be the caller's.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_is_named_by_one_header_in_one_form() {
    let service = Service::start().await;
    let secret = create(&service, json!({"scopes": ["authenticate"]})).await;
    let secret = secret["api_key"].as_str().unwrap();
    let (key, basic) = (format!("Bearer {secret}"), "Basic Og==");
    let key = key.as_str();
    let seen =
        async |authorizations: &[&str]| by_hand(&service.public, "GET /v1/tenant", authorizations).await;
    for taken in [key.to_owned(), format!("bearer {secret}"), format!("Bearer   {secret}  ")] {
        assert_eq!(seen(&[&taken]).await, 200, "{taken}");
    }
    let other = "Bearer trefoil_of_nobody";
    for several in [[key, key], [key, other], [other, key], [basic, key], ["", key]] {
        assert_eq!(seen(&several).await, 401, "{several:?}");
    }
    let joined = format!("{key}, {key}");
    let (tab, token) = (format!("Bearer\t{secret}"), format!("Token {secret}"));
    for form in ["", "Bearer", "Bearer ", secret, &joined, &tab, &token, basic] {
        assert_eq!(seen(&[form]).await, 401, "{form}");
    }
    assert_eq!(by_hand(&service.public, &format!("GET /v1/tenant?api_key={secret}"), &[]).await, 401);
    let operator = format!("Bearer {}", service.admin.bearer.as_deref().unwrap());
    let operator = operator.as_str();
    assert_eq!(by_hand(&service.admin, "GET /v1/tenants", &[operator]).await, 200);
    assert_eq!(by_hand(&service.admin, "GET /v1/tenants", &[operator, operator]).await, 401);
}
