//! Access tokens for API keys: an OAuth client's requests, and an attacker's attempts.

use crate::http::{Endpoint, Reply};
use crate::service::{self, Service, answer, config};
use crate::store;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hyper::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use trefoil_api::Decision;
use trefoil_pipeline::Clock as _;

const GRANT: &str = "grant_type=client_credentials";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// An API key as an OAuth client knows it.
pub(crate) struct Client {
    id: String,
    secret: String,
}

impl Client {
    pub(crate) async fn new(service: &Service, body: Value) -> Client {
        Client::of(service, &hex::encode(service.tenant), body).await
    }

    async fn of(service: &Service, tenant: &str, body: Value) -> Client {
        let created = service.admin.post(&format!("/v1/tenants/{tenant}/api-keys"), &body).await;
        assert_eq!(created.status, 201, "{}", created.text());
        let created = created.json();
        let text = |name: &str| created[name].as_str().unwrap().to_owned();
        Client { id: text("id"), secret: text("api_key") }
    }

    fn basic(&self) -> String {
        format!("Basic {}", STANDARD.encode(format!("{}:{}", self.id, self.secret)))
    }

    /// Asks with the header.
    async fn ask(&self, service: &Service, form: &str) -> Reply {
        asked(service, &[FORM, ("authorization", &self.basic())], form).await
    }

    pub(crate) async fn token(&self, service: &Service, form: &str) -> Value {
        let reply = self.ask(service, form).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(
            (&reply.headers["cache-control"], &reply.headers["pragma"]),
            (&"no-store".parse().unwrap(), &"no-cache".parse().unwrap())
        );
        reply.json()
    }
}

fn stranger(service: &Service) -> Endpoint {
    Endpoint { bearer: None, ..service.public.clone() }
}

async fn asked(service: &Service, headers: &[(&str, &str)], form: &str) -> Reply {
    stranger(service).send(Method::POST, "/oauth2/token", headers, form.to_owned()).await
}

fn bearer(service: &Service, token: &Value) -> Endpoint {
    service.public.with_bearer(token["access_token"].as_str().unwrap())
}

/// A call of the scope `enrol`, one of `authenticate`, and one of any.
async fn statuses(caller: &Endpoint) -> [u16; 3] {
    let mut statuses = [0; 3];
    for (status, path) in statuses.iter_mut().zip(["/v1/subjects", "/v1/tenant", "/v1/usage"]) {
        *status = caller.get(path).await.status.as_u16();
    }
    statuses
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_does_what_its_api_key_does_and_no_longer_than_ten_minutes() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::new(config(&folder.path().join("data"))).await;
    let people = service.people(1, 1, 91).await;
    service.welcome(&people[0]).await;
    let client = Client::new(&service, json!({"scopes": ["authenticate", "enrol"]})).await;
    let token = client.token(&service, GRANT).await;
    assert_eq!((&token["token_type"], &token["expires_in"]), (&json!("Bearer"), &json!(600)));
    assert_eq!(token["scope"], "enrol authenticate");
    let caller = bearer(&service, &token);
    let request = service.request(&people[0], &people[0].face, 1);
    let login = caller.post("/v1/authentications", &json!(request)).await;
    assert_eq!(answer(&login).decision, Decision::Match);
    caller.post("/v1/authentications", &json!(request)).await.problem(409, "nonce-replayed");
    assert_eq!(statuses(&caller).await, [200; 3]);
    // What it does counts for the key.
    let mut tries = 0..500;
    let own = loop {
        let page = caller.get("/v1/usage").await.json();
        let days = page["usage"].as_array().unwrap();
        // Each node of a fleet stores what it counted.
        let is_whole =
            |day: &&Value| day["api_key"] == client.id && day["refusals"] != 0 && day["matched"] != 0;
        if let Some(day) = days.iter().find(is_whole) {
            break day.clone();
        }
        assert!(tries.next().is_some(), "no use of {} in {page}", client.id);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    assert_eq!((&own["matched"], &own["refusals"]), (&json!(1), &json!(1)));
    let keys =
        service.admin.get(&format!("/v1/tenants/{}/api-keys", hex::encode(service.tenant))).await.json();
    let key = keys["api_keys"].as_array().unwrap().iter().find(|key| key["id"] == client.id).unwrap();
    assert!(key["last_used_at"].is_u64(), "{key}");
    service.clock.advance(599);
    assert_eq!(statuses(&caller).await, [200; 3]);
    service.clock.advance(1);
    assert_eq!(statuses(&caller).await, [401; 3]);
    assert_eq!(statuses(&service.public.with_bearer(&client.secret)).await, [200; 3], "the key goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_never_reaches_further_than_its_api_key_and_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::new(config(&folder.path().join("data"))).await;
    let end = service.clock.unix_s() + 60;
    let narrow = Client::new(&service, json!({"scopes": ["authenticate"], "expires_at": end})).await;
    let wide = Client::new(&service, json!({"scopes": ["authenticate", "enrol"]})).await;
    // A token may have some of the key's scopes, but none that the key lacks.
    let part = wide.token(&service, &format!("{GRANT}&scope=enrol")).await;
    assert_eq!(
        (part["scope"].clone(), statuses(&bearer(&service, &part)).await),
        (json!("enrol"), [200, 403, 200])
    );
    for scope in ["enrol", "authenticate+enrol", "admin", "authenticate++authenticate", "%00"] {
        let refused = narrow.ask(&service, &format!("{GRANT}&scope={scope}")).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.json()["error"]),
            (400, &json!("invalid_scope")),
            "{scope}"
        );
    }
    // A token is no client's secret: it cannot get another token.
    let text = part["access_token"].as_str().unwrap().to_owned();
    for id in [&wide.id, &narrow.id] {
        let thief = Client { id: id.clone(), secret: text.clone() };
        is_unknown(&thief.ask(&service, GRANT).await);
    }
    // Forged: more scopes, a later end, another key, another prefix.
    let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix("trefoil_access_").unwrap()).unwrap();
    for at in [0, 7, 8, 15, 16, 17, 48] {
        let mut forged = bytes.clone();
        forged[at] ^= 4;
        let forged = format!("trefoil_access_{}", URL_SAFE_NO_PAD.encode(forged));
        assert_eq!(statuses(&service.public.with_bearer(&forged)).await, [401; 3], "byte {at}");
    }
    for forged in [text.replace("access_", ""), "trefoil_access_".to_owned(), text[..60].to_owned()] {
        assert_eq!(statuses(&service.public.with_bearer(&forged)).await, [401; 3], "{forged}");
    }
    let operator = service.admin.with_bearer(&text);
    operator.get("/v1/tenants").await.problem(401, "caller-unauthenticated");
    // A key of another tenant sees only that tenant's objects, and is no client of this one.
    let policy = service::policy();
    let other = service.admin.post("/v1/tenants", &json!({"name": "bank", "policy": policy})).await.json();
    let foreign =
        Client::of(&service, other["tenant_id"].as_str().unwrap(), json!({"scopes": ["authenticate"]})).await;
    let seen = bearer(&service, &foreign.token(&service, GRANT).await).get("/v1/tenant").await.json();
    assert_eq!(seen["tenant_id"], other["tenant_id"]);
    is_unknown(&Client { id: narrow.id.clone(), secret: foreign.secret }.ask(&service, GRANT).await);
    // A token is valid no longer than its key, whether the key expires or is revoked.
    let brief = narrow.token(&service, GRANT).await;
    assert_eq!(brief["expires_in"], 60);
    let (brief, whole) = (bearer(&service, &brief), bearer(&service, &wide.token(&service, GRANT).await));
    service.clock.advance(60);
    assert_eq!((statuses(&brief).await, statuses(&whole).await), ([401; 3], [200; 3]));
    is_unknown(&narrow.ask(&service, GRANT).await);
    let key = format!("/v1/tenants/{}/api-keys/{}", hex::encode(service.tenant), wide.id);
    assert_eq!(service.admin.send(Method::DELETE, &key, &[], "").await.status, 200);
    assert_eq!(statuses(&whole).await, [401; 3]);
    is_unknown(&wide.ask(&service, GRANT).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_end_with_their_tenant_and_with_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(&folder.path().join("data"));
    let service = Service::new(config.clone()).await;
    let client = Client::new(&service, json!({"scopes": ["authenticate"]})).await;
    let token = client.token(&service, GRANT).await;
    let path = |end: &str| format!("/v1/tenants/{}{end}", hex::encode(service.tenant));
    service.admin.post(&path("/disable"), &json!({})).await;
    bearer(&service, &token).get("/v1/tenant").await.problem(403, "tenant-disabled");
    let refused = client.ask(&service, GRANT).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["error"]), (400, &json!("unauthorized_client")));
    service.admin.post(&path("/enable"), &json!({})).await;
    assert_eq!(bearer(&service, &token).get("/v1/tenant").await.status, 200);
    let service = service.restart(config).await;
    let after = bearer(&service, &token).get("/v1/tenant").await;
    if store::is_fleet() {
        assert_eq!(after.status, 200, "all nodes take it, those that start later too");
    } else {
        after.problem(401, "caller-unauthenticated");
    }
    let fresh = client.token(&service, GRANT).await;
    assert_eq!(bearer(&service, &fresh).get("/v1/tenant").await.status, 200);
}

#[track_caller]
fn is_unknown(reply: &Reply) {
    assert_eq!(
        (reply.status.as_u16(), &reply.json()["error"]),
        (401, &json!("invalid_client")),
        "{}",
        reply.text()
    );
    assert_eq!(reply.headers["www-authenticate"], "Basic realm=\"trefoil\"");
    assert_eq!(reply.headers["cache-control"], "no-store");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_told_as_oauth_says_and_names_the_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::new(config(&folder.path().join("data"))).await;
    let client = Client::new(&service, json!({"scopes": ["authenticate"]})).await;
    let (id, secret, basic) = (&client.id, &client.secret, client.basic());
    let posted = format!("{GRANT}&client_id={id}&client_secret={secret}");
    assert_eq!(asked(&service, &[FORM], &posted).await.status, 200, "in the body");
    assert_eq!(client.ask(&service, &format!("{GRANT}&client_id={id}&resource=x&scope=")).await.status, 200);
    let wrong_id = format!("{GRANT}&client_id={}&client_secret={secret}", "00".repeat(8));
    let wrong = Client { id: id.clone(), secret: format!("{secret}x") }.basic();
    let cases: [(&str, &str, u16, &str, &str); 13] = [
        (&basic, "", 400, "invalid_request", "grant_type=client_credentials"),
        (&basic, "grant_type=password", 400, "unsupported_grant_type", "grant_type=client_credentials"),
        (
            &basic,
            "grant_type=client_credentials&grant_type=client_credentials",
            400,
            "invalid_request",
            "once",
        ),
        (&basic, "scope=%FF%FE&scope", 400, "invalid_request", "once"),
        (&basic, &posted, 400, "invalid_request", "not in both"),
        (&basic, "grant_type=client_credentials&client_id=x", 400, "invalid_request", "send it once"),
        (&basic, "grant_type=client_credentials&scope=issue", 400, "invalid_scope", "`authenticate`"),
        ("", GRANT, 401, "invalid_client", "client_secret"),
        ("", "grant_type=client_credentials&client_id=x", 401, "invalid_client", "client_secret"),
        ("", &wrong_id, 401, "invalid_client", "with its own id"),
        (&wrong, GRANT, 401, "invalid_client", "neither expired nor revoked"),
        ("Basic !", GRANT, 401, "invalid_client", "Authorization: Basic"),
        ("Bearer x", GRANT, 401, "invalid_client", "Authorization: Basic"),
    ];
    for (header, form, status, error, next) in cases {
        let headers = [FORM, ("authorization", header)];
        let headers = if header.is_empty() { &headers[..1] } else { &headers[..] };
        let refused = asked(&service, headers, form).await;
        let told = refused.json();
        assert_eq!((refused.status.as_u16(), &told["error"]), (status, &json!(error)), "{form} {told}");
        assert!(told["error_description"].as_str().unwrap().contains(next), "{form} {told}");
        assert!(
            !refused.text().contains(secret.as_str())
                && refused.headers["content-type"] == "application/json"
        );
    }
    let json = asked(&service, &[("authorization", &basic)], "{}").await.json();
    assert_eq!(json["error"], "invalid_request", "{json}");
    asked(&service, &[FORM], &"x".repeat(5_000)).await.problem(413, "body-too-large");
    let told = stranger(&service).get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(told["token_endpoint"], "https://auth.example/oauth2/token");
    assert_eq!(
        (&told["issuer"], &told["grant_types_supported"]),
        (&json!("https://auth.example"), &json!(["client_credentials"]))
    );
    assert_eq!(
        told["token_endpoint_auth_methods_supported"],
        json!(["client_secret_basic", "client_secret_post"])
    );
}

/// The status of a request with these `Authorization` headers, as they are written.
async fn by_hand(to: &Endpoint, request: &str, authorizations: &[&str], form: &str) -> u16 {
    let headers: String = authorizations.iter().map(|value| format!("authorization: {value}\r\n")).collect();
    let request = format!(
        "{request} HTTP/1.1\r\nhost: localhost\r\n{headers}content-type: {}\r\ncontent-length: {}\r\n\r\n{form}",
        FORM.1,
        form.len()
    );
    let mut connection = to.connect().await;
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 12];
    connection.read_exact(&mut head).await.unwrap();
    std::str::from_utf8(&head).unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

/// Behind a proxy that checks one header, another one must not be the caller's.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_is_named_by_one_header_in_one_form() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::new(config(&folder.path().join("data"))).await;
    let client = Client::new(&service, json!({"scopes": ["authenticate"]})).await;
    let (key, basic) = (format!("Bearer {}", client.secret), client.basic());
    let (key, basic) = (key.as_str(), basic.as_str());
    let seen =
        async |authorizations: &[&str]| by_hand(&service.public, "GET /v1/tenant", authorizations, "").await;
    for taken in
        [key.to_owned(), format!("bearer {}", client.secret), format!("Bearer   {}  ", client.secret)]
    {
        assert_eq!(seen(&[&taken]).await, 200, "{taken}");
    }
    let other = "Bearer trefoil_of_nobody";
    for several in [[key, key], [key, other], [other, key], [basic, key], ["", key]] {
        assert_eq!(seen(&several).await, 401, "{several:?}");
    }
    let joined = format!("{key}, {key}");
    let tab = format!("Bearer\t{}", client.secret);
    let (token, posted) = (format!("Token {}", client.secret), format!("access_token={}", client.secret));
    for form in ["", "Bearer", "Bearer ", &client.secret, &joined, &tab, &token, basic] {
        assert_eq!(seen(&[form]).await, 401, "{form}");
    }
    assert_eq!(by_hand(&service.public, &format!("GET /v1/tenant?{posted}"), &[], "").await, 401);
    let operator = format!("Bearer {}", service.admin.bearer.as_deref().unwrap());
    let operator = operator.as_str();
    assert_eq!(by_hand(&service.admin, "GET /v1/tenants", &[operator], "").await, 200);
    assert_eq!(by_hand(&service.admin, "GET /v1/tenants", &[operator, operator], "").await, 401);
    assert_eq!(by_hand(&service.public, "POST /oauth2/token", &[basic], GRANT).await, 200);
    assert_eq!(by_hand(&service.public, "POST /oauth2/token", &[basic, basic], GRANT).await, 400);
}
