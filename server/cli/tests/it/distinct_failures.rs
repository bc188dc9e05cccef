//! A caller that tries a few faces on many people, and a backend whose people fail now and then.

use crate::world::*;
use std::collections::BTreeSet;
use trefoil_api::Source;

/// People that are tried.
const PEOPLE: u32 = 40;
/// Faces that each is tried with.
const PROBES: u64 = 5;

async fn with_people(people: u32, seed: u64) -> (Service, Vec<Person>) {
    let service = Service::own(service::lenient(), |config| {
        config.limits.distinct_failures = 10;
        // Otherwise five failures would lock a subject out.
    })
    .await
    .at_one_node();
    let people = service.welcomed(people, seed).await;
    (service, people)
}

/// A login of a person with somebody's face, and whether it was decided.
async fn tried(service: &Service, person: &Person, face: &Person, nonce: u64) -> Option<Decision> {
    let reply = service.login(person, &face.face, nonce).await;
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
    let path = service.path("");
    let shown = service.admin.get(&path).await.json();
    let counted = service.metric("trefoil_distinct_failures_refused_total").await;
    (counted, shown["distinct_failures_refused"].clone())
}

/// Claim V63: An API key that tries five faces on forty people fails for ten of them, one after the other or at once, and a backend is not
/// refused even if a fifth of its people fail at first.
#[tokio::test(flavor = "multi_thread")]
async fn five_faces_on_many_people_are_stopped_after_ten_of_them() {
    let (service, people) = with_people(PEOPLE + 1, 71).await;
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
    service.public.with_bearer(&other).post("/v1/authentications", &json!(request)).await.matches();
    // A tried subject that matches makes room for one more; the others are forgotten at the end of the window.
    assert_eq!(tried(&service, &people[0], &people[0], 100).await, Some(Decision::Match));
    assert_eq!(tried(&service, &people[39], &people[39], 101).await, Some(Decision::Match));
}

/// Claim V63.
#[tokio::test(flavor = "multi_thread")]
async fn many_people_tried_at_once_are_stopped_as_early_as_one_after_the_other() {
    let (service, people) = with_people(PEOPLE + 1, 72).await;
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
}

/// Claim V63.
#[tokio::test(flavor = "multi_thread")]
async fn a_backend_whose_people_fail_now_and_then_is_untouched() {
    let (service, people) = with_people(PEOPLE, 73).await;
    for round in 0..3 {
        // All at once: each key begins with little room, and gains more as its people match.
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
}

/// A busy backend: most of its people match, so its API key has room for many that fail.
async fn busy(seed: u64) -> (Service, Vec<Person>) {
    let (service, people) = with_people(PEOPLE, seed).await;
    for person in &people {
        let mut request = service.request(person, &person.face, 1);
        // Its own source, as each of its people has one.
        request.source = Source::new(hex::encode(&person.handle.to_bytes()[..16]));
        service.authenticate(&request).await.matches();
    }
    (service, people)
}

/// Claim V71: Logins from one source that the application names fail for at most ten of forty people, even through two API keys of a
/// backend whose people match, and logins from another source still work.
#[tokio::test(flavor = "multi_thread")]
async fn one_source_behind_a_busy_backend_is_stopped_after_ten_people_and_the_others_go_on() {
    let (service, people) = busy(74).await;
    let attack = async |person: &Person, nonce: u64, source: Option<&str>, endpoint: &Endpoint| {
        let mut request = service.request(person, &people[0].face, nonce);
        request.source = source.map(|source| Source::new(source).unwrap());
        endpoint.post("/v1/authentications", &json!(request)).await
    };
    let other_key = service.api_key(&["authenticate"]).await;
    let other_key = service.public.with_bearer(&other_key);
    let (mut failed, mut refused) = (BTreeSet::new(), 0);
    for round in 0..3 {
        for (at, person) in people.iter().enumerate().skip(1) {
            // Through two API keys in turn: the source is the same.
            let endpoint = if at % 2 == 0 { &service.public } else { &other_key };
            let reply = attack(person, 10 + round, Some("198.51.100.7, hashed"), endpoint).await;
            if reply.status == 429 {
                let problem = reply.problem(429, "distinct-failures");
                assert_eq!(problem["errors"][0]["pointer"], "/source");
                assert!(!reply.text().contains("198.51"), "{problem}");
                assert_eq!(reply.headers["retry-after"], "60");
                refused += 1;
            } else {
                reply.denies();
                failed.insert(person.handle);
            }
        }
    }
    assert_eq!((failed.len(), refused), (10, 3 * u64::from(PEOPLE - 11)));
    assert_eq!(counted(&service).await, (refused, json!(refused)));
    assert_eq!(service.metric("trefoil_source_failures_refused_total").await, refused);
    // In a batch only this entry is refused. Another source, or none, is not affected, nor is a person of this source who has matched.
    let mut entry = service.request(&people[39], &people[39].face, 50);
    entry.source = Source::new("198.51.100.7, hashed");
    let batch = json!({ "authentications": [entry, service.request(&people[39], &people[39].face, 51)] });
    let results = service.public.post("/v1/authentications/batch", &batch).await.json();
    assert_eq!(results["results"][0]["problem"]["code"], "distinct-failures", "{results}");
    assert_eq!(results["results"][1]["decision"], "match");
    attack(&people[38], 60, Some("another"), &service.public).await.denies();
    attack(&people[38], 61, None, &service.public).await.denies();
    let metrics = service.admin.get("/metrics").await;
    assert!(!metrics.text().contains("198.51"));
    service.clock.advance(3_601);
    // Sessions are over by now: the refusal is no longer about the source, which shows that the source is forgotten.
    attack(&people[39], 70, Some("198.51.100.7, hashed"), &service.public)
        .await
        .problem(410, "session-expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_is_a_short_text() {
    let (service, people) = with_people(1, 75).await;
    for wrong in [json!(""), json!("x".repeat(65)), json!("a\nb"), json!(7)] {
        let mut request = json!(service.request(&people[0], &people[0].face, 1));
        request["source"] = wrong.clone();
        let problem =
            service.public.post("/v1/authentications", &request).await.problem(422, "field-invalid");
        assert_eq!(problem["errors"][0]["pointer"], "/source", "{wrong}");
    }
    let mut longest = service.request(&people[0], &people[0].face, 1);
    longest.source = Source::new("x".repeat(64));
    assert_eq!(service.authenticate(&longest).await.decision(), Decision::Match, "the MAC does not cover it");
}
