//! A caller that tries a few faces on many people, and a backend whose people fail now and then.

use crate::enrolment::join_all;
use crate::http::Reply;
use crate::service::{self, Person, Service, answer};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use trefoil_api::Decision;

/// People that are tried.
const PEOPLE: u32 = 40;
/// Faces that each is tried with.
const PROBES: u64 = 5;

async fn with_people(people: u32, seed: u64) -> (Service, Vec<Person>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = service::config(&folder.path().join("data"));
    config.limits.distinct_failures = 10;
    // Else five failures would lock a subject out.
    let mut policy = service::policy();
    policy["attempts"] = service::unlimited();
    let service = Service::with_policy(config, policy).await;
    let people = service.people(people, 1, seed).await;
    for person in &people {
        service.welcome(person).await;
    }
    (service, people, folder)
}

/// A login of a person with somebody's face, and whether it was decided.
async fn tried(service: &Service, person: &Person, face: &Person, nonce: u64) -> Option<Decision> {
    let reply = service.authenticate(&service.request(person, &face.face, nonce)).await;
    if reply.status == 429 {
        is_refused(&reply);
        return None;
    }
    Some(answer(&reply).decision)
}

fn is_refused(reply: &Reply) {
    let problem = reply.problem(429, "distinct-failures");
    assert!(problem["detail"].as_str().unwrap().contains("too many different subjects"), "{problem}");
    assert_eq!(reply.headers["retry-after"], "60");
}

async fn counted(service: &Service) -> (u64, Value) {
    let path = format!("/v1/tenants/{}", hex::encode(service.tenant));
    let shown = service.admin.get(&path).await.json();
    let counted = service.metric("trefoil_distinct_failures_refused_total").await;
    (counted, shown["distinct_failures_refused"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn five_faces_on_many_people_are_stopped_after_ten_of_them() {
    let (service, people, _folder) = with_people(PEOPLE + 1, 71).await;
    let (stranger, people) = people.split_first().unwrap();
    let (mut failed, mut refused) = (BTreeSet::new(), 0);
    for probe in 0..PROBES {
        for person in people {
            match tried(&service, person, stranger, probe).await {
                Some(decision) => {
                    assert_eq!(decision, Decision::NoMatch);
                    failed.insert(person.handle);
                }
                None => refused += 1,
            }
        }
    }
    assert_eq!((failed.len(), refused), (10, PROBES * u64::from(PEOPLE - 10)));
    assert_eq!(counted(&service).await, (refused, json!(refused)));
    // Another key of the tenant is another caller, and an operator sees the key in the list.
    let other = service.api_key(&["authenticate"]).await;
    let request = service.request(&people[30], &people[30].face, 99);
    let own = service.public.with_bearer(&other).post("/v1/authentications", &json!(request)).await;
    assert_eq!(answer(&own).decision, Decision::Match);
    // One that was tried and matches makes room for one more; the window ends the rest.
    assert_eq!(tried(&service, &people[0], &people[0], 100).await, Some(Decision::Match));
    assert_eq!(tried(&service, &people[39], &people[39], 101).await, Some(Decision::Match));
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_people_tried_at_once_are_stopped_as_early_as_one_after_the_other() {
    let (service, people, _folder) = with_people(PEOPLE + 1, 72).await;
    let (stranger, people) = people.split_first().unwrap();
    let logins: Vec<_> = people.iter().map(|person| service.request(person, &stranger.face, 1)).collect();
    let batches = logins.chunks(20).map(async |logins| {
        service.public.post("/v1/authentications/batch", &json!({ "authentications": logins })).await.json()
    });
    let results: Vec<Value> = join_all(batches)
        .await
        .into_iter()
        .flat_map(|batch| batch["results"].as_array().unwrap().clone())
        .collect();
    let decided = results.iter().filter(|result| result["decision"] == "no_match").count();
    let refused = results.iter().filter(|result| result["problem"]["code"] == "distinct-failures").count();
    assert_eq!((decided, refused), (10, 30), "{results:?}");
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_whose_people_fail_now_and_then_is_untouched() {
    let (service, people, _folder) = with_people(PEOPLE, 73).await;
    for round in 0..3 {
        // All at once: each key begins with little room, and opens up as its people match.
        let logins = people.iter().enumerate().map(|(at, person)| {
            let (service, stranger) = (&service, &people[(at + 1) % people.len()]);
            async move {
                // One of five shows another face first, and one of twenty never the own one.
                if at % 5 == 0 {
                    let failed = tried(service, person, stranger, 10 * round).await;
                    assert_eq!(failed, Some(Decision::NoMatch), "{at}");
                }
                if at % 20 != 0 {
                    let matched = tried(service, person, person, 10 * round + 1).await;
                    assert_eq!(matched, Some(Decision::Match), "{at}");
                }
            }
        });
        join_all(logins).await;
    }
    assert_eq!(counted(&service).await, (0, json!(0)));
    assert!(service.server.shutdown().await);
}
