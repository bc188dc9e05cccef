//! Subjects and sessions as their tenant lists, shows and ends them.

use crate::world::*;
use std::collections::BTreeSet;
use trefoil_attest::{What, verify_change};

/// All entries of a list, over its pages, and how many pages there were.
async fn all(service: &Service, path: &str, name: &str) -> (Vec<Value>, usize) {
    let (mut all, mut pages, mut next) = (Vec::new(), 0, Some("0".repeat(64)));
    while let Some(from) = next {
        let page = service.public.get(&format!("{path}?from={from}")).await.json();
        all.extend(page[name].as_array().unwrap_or_else(|| panic!("{page}")).iter().cloned());
        next = page["next"].as_str().map(str::to_owned);
        pages += 1;
    }
    (all, pages)
}

async fn delete(service: &Service, path: &str) -> Reply {
    service.public.delete(path).await
}

#[tokio::test(flavor = "multi_thread")]
async fn subjects_are_listed_by_handle_and_shown_without_their_templates() {
    let service = Service::start().await;
    let people = service.people(5, 1, 51).await;
    assert_eq!(all(&service, "/v1/subjects", "subjects").await, (vec![], 1));
    for (index, person) in people.iter().enumerate() {
        service.enrol(person, &format!("k{index}")).await.is(201);
    }
    let now = service.clock.unix_s();
    let (listed, _) = all(&service, "/v1/subjects", "subjects").await;
    let expected: BTreeSet<String> = people.iter().map(|person| hex::encode(person.handle)).collect();
    let row = |handle| {
        json!({
            "handle": handle, "generation": 1, "state": "active", "revoked_at": null, "embedder": "test-128", "dimension": 128,
            "enrolled_at": now, "consent_ref": "form 7",
        })
    };
    let expected: Vec<Value> = expected.into_iter().map(row).collect();
    assert_eq!(listed, expected, "and not a field more");
    let from = listed[2]["handle"].as_str().unwrap();
    let rest = service.public.get(&format!("/v1/subjects?from={from}")).await.json();
    assert_eq!((&rest["subjects"], &rest["next"]), (&json!(listed[2..]), &Value::Null));

    let path = format!("/v1/subjects/{}", hex::encode(people[0].handle));
    let shown = service.public.get(&path).await;
    assert_eq!(shown.headers["etag"], "\"1\"");
    assert!(listed.contains(&shown.json()) && path.ends_with(shown.json()["handle"].as_str().unwrap()));
    delete(&service, &templates_path(&people[0])).await.is(200);
    service.public.get(&path).await.problem(404, "subject-unknown");
    assert_eq!(all(&service, "/v1/subjects", "subjects").await.0.len(), 4);
    service.enrol(&people[0], "again").await.is(201);
    assert_eq!(service.public.get(&path).await.headers["etag"], "\"2\"");

    // Scopes, and other tenants.
    let narrow = service.public.with_bearer(&service.api_key(&["authenticate", "issue"]).await);
    narrow.get("/v1/subjects").await.problem(403, "scope-missing");
    narrow.get(&path).await.problem(403, "scope-missing");
    service.public.get("/v1/subjects?from=12").await.problem(400, "malformed-request");
    let other = service.neighbour(service::policy()).await;
    assert_eq!(other.public.get("/v1/subjects").await.json()["subjects"], json!([]));
    other.public.get(&path).await.problem(404, "subject-unknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_its_tenant_ends_takes_no_request_and_is_not_opened_again() {
    let service = Service::start().await;
    let people = service.welcomed(2, 52).await;
    let login = |service: &Service, person: usize, nonce| {
        service.request(&people[person], &people[person].face, nonce)
    };
    service.authenticate(&login(&service, 0, 1)).await.matches();
    let (listed, _) = all(&service, "/v1/proof-sessions", "sessions").await;
    let ids: BTreeSet<String> = people.iter().map(|person| hex::encode(person.session_id)).collect();
    let named: Vec<&str> = listed.iter().map(|session| session["session_id"].as_str().unwrap()).collect();
    assert_eq!(named, ids.iter().map(String::as_str).collect::<Vec<_>>());

    let path = format!("/v1/proof-sessions/{}", hex::encode(people[0].session_id));
    let narrow = service.public.with_bearer(&service.api_key(&["enrol"]).await);
    narrow.delete(&path).await.problem(403, "scope-missing");
    let ended = delete(&service, &path).await.is(200);
    let receipt = ended.json()["receipt"]["attestation"].clone();
    let receipt = serde_json::from_value::<trefoil_api::Base64>(receipt).unwrap().0;
    let now = service.clock.unix_s();
    let verified = verify_change(&receipt, &service.trust_root, Some(&service.tenant), now).unwrap();
    assert_eq!(verified.change().what, What::SessionEnded { session: people[0].session_id });

    service.authenticate(&login(&service, 0, 2)).await.problem(410, "session-expired");
    service.prove(&people[0]).await.problem(410, "session-expired");
    delete(&service, &path).await.problem(404, "session-unknown");
    delete(&service, &format!("/v1/proof-sessions/{}", "7".repeat(64))).await.problem(404, "session-unknown");
    assert_eq!(all(&service, "/v1/proof-sessions", "sessions").await.0.len(), 1);
    service.authenticate(&login(&service, 1, 3)).await.matches();

    let service = service.restart().await;
    service.authenticate(&login(&service, 0, 4)).await.problem(410, "session-expired");
    service.prove(&people[0]).await.problem(410, "session-expired");
    service.authenticate(&login(&service, 1, 5)).await.matches();
    // A withdrawn root ends the others, and they are listed no more.
    service.publish([0; 32], 2).await;
    assert_eq!(all(&service, "/v1/proof-sessions", "sessions").await, (vec![], 1));
}

/// Logins that race with the end of their session: none that is sent after that answer is accepted.
#[tokio::test(flavor = "multi_thread")]
async fn no_login_outruns_the_end_of_its_session() {
    // Most look-ups miss, so that rows are read while sessions end.
    let service = Service::configured(|config| config.proofs.cache_capacity = 1).await;
    let people = service.welcomed(4, 53).await;
    for (round, person) in people.iter().enumerate() {
        let nonce = |n: usize| (100 * round + n) as u64;
        let requests: Vec<_> = (0..8).map(|n| service.request(person, &person.face, nonce(n))).collect();
        let logins = async {
            for request in &requests {
                let reply = service.authenticate(request).await;
                assert!(matches!(reply.status.as_u16(), 200 | 410), "{}", reply.text());
            }
        };
        let path = format!("/v1/proof-sessions/{}", hex::encode(person.session_id));
        let end = async { assert_eq!(delete(&service, &path).await.status, 200) };
        tokio::join!(logins, end);
        service.login(person, &person.face, nonce(50)).await.problem(410, "session-expired");
    }
}
