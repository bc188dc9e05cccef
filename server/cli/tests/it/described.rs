//! The description of the API against the service: what the test client meets is what the description says.

use crate::world::*;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use trefoil_server::openapi::Listener;

#[tokio::test(flavor = "multi_thread")]
async fn each_listener_serves_its_own_description_a_page_and_every_problem() {
    let service = Service::start().await;
    for (endpoint, listener) in [(&service.public, Listener::Public), (&service.admin, Listener::Admin)] {
        let stranger = Endpoint { bearer: None, ..endpoint.clone() };
        let document = stranger.get("/openapi.json").await;
        let expected = trefoil_server::description::of(listener).to_string();
        assert!(document.status == 200 && document.text() == expected, "{listener:?}");
        let own = match listener {
            Listener::Public => ["/verify", "/verify.js", "/verify.css"],
            Listener::Admin => ["/operator", "/operator/page.js", "/operator/page.css"],
        };
        for path in own.into_iter().chain(["/reference", "/reference/page.js", "/reference/page.css"]) {
            let page = stranger.get(path).await.is(200);
            let kind = match path.rsplit('.').next().unwrap() {
                "js" => "text/javascript",
                "css" => "text/css",
                _ => "text/html",
            };
            assert!(page.headers["content-type"].to_str().unwrap().starts_with(kind), "{path}");
            let policy = page.headers["content-security-policy"].to_str().unwrap();
            assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
            let foreign = if path.starts_with("/verify") { "https://cdn" } else { "https://" };
            for part in [foreign, "src=\"http", "<script>", "style="] {
                assert!(!page.text().contains(part), "{path} has {part}");
            }
        }
        let refused = stranger.get("/v1/no-such-path").await.problem(404, "route-unknown");
        let explained = stranger.get(refused["type"].as_str().unwrap()).await.json();
        assert_eq!((&explained["code"], &explained["retry"]), (&json!("route-unknown"), &json!("no")));
        assert!(explained["cause"].is_string() && explained["cure"] == refused["cure"]);
        let no_such = stranger.get("/v1/problems/no-such").await.problem(404, "route-unknown");
        let advice = no_such["cure"].as_str().unwrap();
        assert!(
            advice.contains("a code from the list in API.md") && !advice.contains("listener"),
            "{advice}"
        );
        // Each problem that it describes has an explanation where its type says.
        for item in document.json()["paths"].as_object().unwrap().values() {
            for response in item
                .as_object()
                .unwrap()
                .values()
                .flat_map(|route| route["responses"].as_object().unwrap().values())
            {
                let examples = response["content"]["application/problem+json"]["examples"].as_object();
                for (name, example) in examples.into_iter().flatten() {
                    assert_eq!(example["value"]["type"], format!("/v1/problems/{name}"));
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_jwk_set_has_the_active_ml_dsa_keys_of_the_trust_root() {
    let service = Service::start().await;
    let stranger = Endpoint { bearer: None, ..service.public.clone() };
    let configuration = stranger.get("/.well-known/trefoil-configuration").await.json();
    let set = stranger.get(configuration["jwks"].as_str().unwrap()).await.json();
    let [trusted] = service.trust_root.key_sets() else { panic!("one key set") };
    let [key] = &set["keys"].as_array().unwrap()[..] else { panic!("{set}") };
    let public = URL_SAFE_NO_PAD.encode(&trusted.keys.ml_dsa_65[..]);
    assert_eq!((&key["kty"], &key["alg"], &key["pub"]), (&json!("AKP"), &json!("ML-DSA-65"), &json!(public)));
    assert_eq!((&key["nbf"], &key["exp"]), (&json!(trusted.keys.not_before), &json!(trusted.keys.not_after)));
}

/// A route that takes a foreign name, and where: from the description.
struct Named {
    method: Method,
    path: String,
    /// Names of the parameters, and of the fields of the body, that a route takes.
    names: Vec<String>,
    /// A body that the route takes, with the names of the example in it.
    body: Value,
    needs_key: bool,
}

/// Every route for which the caller must show who it is, and which names something.
fn named(listener: Listener) -> Vec<Named> {
    let document = trefoil_server::description::of(listener);
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, route) in item.as_object().unwrap() {
            if route["security"] == json!([]) {
                continue;
            }
            let parameters = route["parameters"].as_array().unwrap();
            let of_path = parameters.iter().filter(|parameter| parameter["in"] == "path");
            let mut names: Vec<String> =
                of_path.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect();
            let body = route["requestBody"]["content"]["application/json"]["example"].clone();
            let entry = body["authentications"].get(0).unwrap_or(&body);
            names.extend(
                ["handle", "session_id"]
                    .iter()
                    .filter(|name| entry.get(**name).is_some())
                    .map(|name| (*name).to_owned()),
            );
            if !names.is_empty() {
                let method = method.to_uppercase().parse().unwrap();
                let needs_key = parameters.iter().any(|parameter| parameter["name"] == "Idempotency-Key");
                found.push(Named { method, path: path.clone(), names, body, needs_key });
            }
        }
    }
    found
}

impl Named {
    /// Sends a request with these names, and returns everything by which a caller can tell the answer from others.
    async fn ask(&self, endpoint: &Endpoint, values: &[(&str, &str)], request: &Value) -> (u16, Value) {
        let mut path = self.path.clone();
        let mut body = if self.body.get("authentications").is_some() {
            json!({ "authentications": [request] })
        } else if self.body.get("session_id").is_some() {
            request.clone()
        } else {
            self.body.clone()
        };
        for (name, value) in values {
            path = path.replace(&format!("{{{name}}}"), value);
            let entry = match body.pointer_mut("/authentications/0") {
                Some(entry) => entry,
                None => &mut body,
            };
            if entry.get(*name).is_some() {
                entry[*name] = json!(value);
            }
        }
        assert!(!path.contains('{'), "{path}: the test has no foreign name for it");
        // Specific to this route: the key of another request is refused whatever it names.
        let key = format!("foreign-{}", self.method);
        let key = [("idempotency-key", key.as_str())];
        let headers = if self.needs_key { &key[..] } else { &[] };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let reply = endpoint.send(self.method.clone(), &path, headers, body).await;
        let mut told = if reply.body.is_empty() { Value::Null } else { reply.json() };
        if let Some(problem) = told.pointer("/results/0/problem").cloned() {
            told = problem;
        }
        told.as_object_mut().map(|told| told.remove("request_id"));
        (told["status"].as_u64().map_or(reply.status.as_u16(), |status| status as u16), told)
    }
}

/// Claim V52.
#[tokio::test(flavor = "multi_thread")]
async fn every_route_answers_a_foreign_name_as_one_that_never_was() {
    let service = Service::start().await;
    let owner = &service.people(1, 1, 5).await[0];
    service.welcome(owner).await;
    // Another tenant of the same service.
    let other = service.neighbour(service::policy()).await;
    let (stranger, other) = (other.public, hex::encode(other.tenant));
    let own_id = service.admin.get(&service.path("/api-keys")).await.json();
    let own_id = own_id["api_keys"][0]["id"].as_str().unwrap().to_owned();
    let (handle, session) = (hex::encode(owner.handle), hex::encode(owner.session_id));
    let request = serde_json::to_value(service.request(owner, &owner.face, 1)).unwrap();
    let (no_bytes_32, no_bytes_8) = ("5a".repeat(32), "5a".repeat(8));
    let (foreign, never) = (
        [("handle", &*handle), ("session_id", &*session)],
        [("handle", &*no_bytes_32), ("session_id", &*no_bytes_32)],
    );
    let mut asked = 0;
    for route in named(Listener::Public) {
        // A handle says who a subject is at the tenant that enrols it: another tenant's is as good as any.
        if route.method == Method::POST && route.path.ends_with("/templates") {
            let expected = (201, 1);
            let body = json!({ "embeddings": [request["embedding"]], "consent_ref": "form 7" });
            let enrolled = Named { body, ..route };
            let (status, told) = enrolled.ask(&stranger, &foreign, &request).await;
            assert_eq!((status, told["generation"].as_u64().unwrap()), expected, "{told}");
            stranger.delete(&format!("/v1/subjects/{handle}/templates")).await;
            asked += 1;
            continue;
        }
        let foreign = route.ask(&stranger, &foreign, &request).await;
        assert_eq!(foreign.0, 404, "{} {}: {}", route.method, route.path, foreign.1);
        assert_eq!(foreign, route.ask(&stranger, &never, &request).await, "{} {}", route.method, route.path);
        asked += 1;
    }
    assert_eq!(
        asked, 8,
        "a template made, replaced and deleted, a subject, its revocation, a session ended, a login, a batch"
    );
    // The operator sees all tenants; a key is found only under its own.
    let no_tenant = "5a".repeat(16);
    let mut ids = 0;
    for route in named(Listener::Admin) {
        let names = [
            ("tenant", &*no_tenant),
            ("id", &*no_bytes_8),
            ("operator", &*no_bytes_8),
            ("number", "9"),
            ("handle", &*no_bytes_32),
        ];
        let never = route.ask(&service.admin, &names, &request).await;
        if store::is_fleet() && never.1["code"] == "key-holder-forbids" {
            // Whatever it names: that is for the operator of its key-holder, which is elsewhere.
            continue;
        }
        assert_eq!(never.0, 404, "{} {}: {}", route.method, route.path, never.1);
        if route.names.iter().any(|name| name == "id") {
            let foreign = route.ask(&service.admin, &[("tenant", &other), ("id", &own_id)], &request).await;
            let never = route.ask(&service.admin, &[("tenant", &other), ("id", &no_bytes_8)], &request).await;
            assert_eq!(foreign.0, 404, "{}", foreign.1);
            assert_eq!(foreign, never, "{} {}", route.method, route.path);
            ids += 1;
        }
    }
    assert_eq!(ids, 1, "revoking a key");
    // Nothing of the owner has changed.
    let answer = service.public.post("/v1/authentications", &request).await;
    assert_eq!(answer.json()["decision"], "match", "{}", answer.text());
}
