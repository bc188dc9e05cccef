//! Lists of more than a page: each entry stands on one page, once.

use crate::world::*;
use std::collections::BTreeSet;

/// Most entries of a page, for all lists but the usage of API keys.
const PAGE: usize = 256;
/// Most API keys of a page of usage.
const KEYS: usize = 64;
/// Requests at the same time.
const AT_ONCE: usize = 16;

/// The entries of each page of a list, read from its beginning to its end.
async fn pages(endpoint: &Endpoint, path: &str, list: &str) -> Vec<Vec<Value>> {
    let mut page = endpoint.get(path).await.json();
    let mut pages = Vec::new();
    loop {
        pages.push(page[list].as_array().unwrap_or_else(|| panic!("{page}")).clone());
        let Some(next) = page["next"].as_str() else { return pages };
        assert!(pages.len() < 10, "a list that does not end");
        page = endpoint.get(&format!("{path}?from={next}")).await.json();
    }
}

/// Asserts that these are two pages, of which the first one is full, and that they have each of these entries once, in order.
fn hold(pages: &[Vec<Value>], most: usize, field: &str, expected: &BTreeSet<String>) {
    let sizes: Vec<usize> = pages.iter().map(Vec::len).collect();
    assert_eq!(sizes, [most, expected.len() - most]);
    let found = pages.iter().flatten().map(|entry| entry[field].as_str().unwrap());
    assert!(found.eq(expected.iter().map(String::as_str)), "{field}: another list than was made");
}

/// Posts these bodies, a few at a time, and collects a field of the answers.
async fn posted(admin: &Endpoint, path: &str, bodies: Vec<Value>, field: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for bodies in bodies.chunks(AT_ONCE) {
        for created in join_all(bodies.iter().map(|body| admin.post(path, body))).await {
            assert_eq!(created.status, 201, "{}", created.text());
            all.insert(created.json()[field].as_str().unwrap().to_owned());
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_and_operators_beyond_a_page_are_each_on_one_page() {
    let service = Service::start().await;
    let policy = service::policy();
    let bodies = (0..PAGE + 2).map(|number| json!({"name": format!("t{number}"), "policy": policy}));
    let mut tenants = posted(&service.admin, "/v1/tenants", bodies.collect(), "tenant_id").await;
    // The tests' own.
    tenants.insert(hex::encode(service.tenant));
    hold(&pages(&service.admin, "/v1/tenants", "tenants").await, PAGE, "tenant_id", &tenants);
    let bodies = (0..PAGE + 2).map(|number| json!({"name": format!("o{number}"), "role": "viewer"}));
    let mut operators = posted(&service.admin, "/v1/operators", bodies.collect(), "operator_id").await;
    // The owner of the file `admin.token`.
    operators.insert("0".repeat(16));
    hold(&pages(&service.admin, "/v1/operators", "operators").await, PAGE, "operator_id", &operators);
}

#[tokio::test(flavor = "multi_thread")]
async fn subjects_and_sessions_beyond_a_page_are_each_on_one_page() {
    let service = Service::start().await;
    let people = service.people(PAGE as u32 + 3, 1, 91).await;
    for people in people.chunks(AT_ONCE) {
        join_all(people.iter().map(|person| service.welcome(person))).await;
    }
    let handles = people.iter().map(|person| hex::encode(person.handle)).collect();
    hold(&pages(&service.public, "/v1/subjects", "subjects").await, PAGE, "handle", &handles);
    let sessions = people.iter().map(|person| hex::encode(person.session_id)).collect();
    hold(&pages(&service.public, "/v1/proof-sessions", "sessions").await, PAGE, "session_id", &sessions);
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_of_more_keys_than_a_page_has_is_on_one_page_for_each_key() {
    let service = Service::start().await;
    let path = service.path("");
    let bodies = vec![json!({"scopes": ["authenticate"]}); KEYS + 3];
    let secrets = posted(&service.admin, &format!("{path}/api-keys"), bodies, "api_key").await;
    for secret in &secrets {
        // Each is refused once, which is a use.
        service.public.with_bearer(secret).get("/v1/subjects").await.problem(403, "scope-missing");
    }
    let keys = pages(&service.admin, &format!("{path}/api-keys"), "api_keys").await;
    let keys = keys.iter().flatten().map(|key| key["id"].as_str().unwrap().to_owned());
    let path = format!("{path}/usage");
    let mut tries = 0..600;
    let usage = loop {
        let usage = pages(&service.admin, &path, "usage").await;
        if usage.iter().map(Vec::len).sum::<usize>() == secrets.len() {
            break usage;
        }
        // It is stored every two seconds.
        assert!(tries.next().is_some(), "{usage:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert!(usage.iter().flatten().all(|day| day["refusals"] == 1), "{usage:?}");
    let used: BTreeSet<String> =
        usage.iter().flatten().map(|day| day["api_key"].as_str().unwrap().to_owned()).collect();
    assert!(used.is_subset(&keys.collect()), "they are the tenant's keys");
    hold(&usage, KEYS, "api_key", &used);
}
