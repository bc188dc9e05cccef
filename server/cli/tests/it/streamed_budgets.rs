//! Limits of attempts and of failures within a stream: a login there counts and is refused exactly as one that comes alone.

use crate::batches::verify_entry;
use crate::http::Endpoint;
use crate::service::{self, Person, Service, answer};
use crate::streams::{Raw, client, next};
use serde_json::{Value, json};
use std::time::Duration;
use trefoil_api::{AttestationForm, Authenticated, Authentication, Decision, Source};
use trefoil_client::{LoginAnswers, LoginSender};

const LOGINS: &str = "/v1/authentications";

/// A service with this policy for attempts, and people with a session.
async fn with_people(attempts: Value, count: u32, seed: u64) -> (Service, Vec<Person>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = service::config(&folder.path().join("data"));
    (config.limits.distinct_failures, config.limits.source_failures) = (10, 10);
    let mut policy = service::policy();
    policy["attempts"] = attempts;
    let service = Service::with_policy(config, policy).await;
    let people = service.people(count, 1, seed).await;
    for person in &people {
        service.welcome(person).await;
    }
    (service, people, folder)
}

/// A login of a person with somebody's face, from a source.
fn login(service: &Service, (person, face): (&Person, &Person), nonce: u64, source: Option<&str>) -> Value {
    let login = service.request(person, &face.face, nonce);
    let source = source.map(|source| Source::new(source).unwrap());
    json!(Authentication { attestation: AttestationForm::Compact, source, ..login })
}

/// The answers to these lines, which are sent at once, in the order of the lines.
async fn said(stream: &mut Raw, lines: &[Value]) -> Vec<Value> {
    stream.send(&lines.iter().map(|line| format!("{line}\n")).collect::<String>()).await;
    let mut said = Vec::new();
    for _ in lines {
        said.push(stream.next().await.unwrap());
    }
    said.sort_by_key(|answer| answer["line"].as_u64());
    said
}

/// How many of these answers are denials; each of the others is the problem that the same login gets alone.
async fn denied(alone: &Endpoint, lines: &[Value], answers: &[Value]) -> usize {
    let mut denied = 0;
    for (line, answer) in lines.iter().zip(answers) {
        if answer["decision"] == "no_match" {
            denied += 1;
            continue;
        }
        let reply = alone.post(LOGINS, line).await;
        let mut problem = reply.problem(429, "distinct-failures");
        problem.as_object_mut().unwrap().remove("request_id");
        // A line has no headers.
        assert_eq!(reply.headers["retry-after"], "60");
        problem["retry_after_s"] = json!(60);
        assert_eq!(answer, &json!({ "line": answer["line"], "problem": problem }), "as if it had come alone");
    }
    denied
}

/// The answer to a login that is sent in the stream.
async fn streamed(
    (sender, answers): &mut (LoginSender, LoginAnswers),
    request: &Authentication,
) -> Authenticated {
    let line = sender.send(request).await.unwrap();
    let answered = next(answers).await;
    assert_eq!((answered.line, answered.ended), (line, false));
    answered.answer.unwrap().without_verification()
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_of_a_stream_spend_the_budget_that_single_ones_do_and_it_goes_on() {
    let attempts = json!({ "consecutive": 3, "delay_s": 86_400, "failures_per_generation": 6 });
    let (service, people, _folder) = with_people(attempts, 3, 91).await;
    let [ann, bob, cid] = &people[..] else { panic!("three people") };
    let key = service.public.bearer.clone().unwrap();
    let mut stream = client(&service, &key).authenticate_stream().await.unwrap();
    // Ann's budget is spent in the stream, Bob's alone.
    for nonce in 0..3 {
        let tried = streamed(&mut stream, &service.request(ann, &cid.face, nonce)).await;
        assert_eq!(tried.decision, Decision::NoMatch);
        let tried = answer(&service.authenticate(&service.request(bob, &cid.face, nonce)).await);
        assert_eq!(tried.decision, Decision::NoMatch);
    }
    // Neither has one left, wherever the next login comes: it is denied and attested, and not told why.
    for (at, person) in [ann, bob].into_iter().enumerate() {
        let [first, second] = [10, 11].map(|nonce| service.request(person, &person.face, nonce));
        let inside = streamed(&mut stream, &first).await;
        let alone = answer(&service.authenticate(&second).await);
        assert_eq!((inside.decision, alone.decision), (Decision::NoMatch, Decision::NoMatch), "{at}");
        verify_entry(&service, &first, &inside).await;
        verify_entry(&service, &second, &alone).await;
    }
    let own = streamed(&mut stream, &service.request(cid, &cid.face, 20)).await;
    assert_eq!(own.decision, Decision::Match, "others go on in the same stream");
    assert_eq!(service.public.get("/v1/tenant").await.json()["locked_out"], 2);
    let trips = format!("trefoil_budget_trips_total{{tenant=\"{}\"}}", hex::encode(service.tenant));
    // The key-holder is asked once a second.
    let mut tries = 0..30;
    while service.metric(&trips).await < 2 && tries.next().is_some() {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(service.metric(&trips).await >= 2, "those of both");
    drop(stream);
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_of_many_subjects_in_a_stream_are_stopped_as_those_of_single_logins_are() {
    let (service, people, _folder) = with_people(service::unlimited(), 17, 92).await;
    let service = service.at_one_node();
    let (stranger, people) = people.split_first().unwrap();
    let with_stranger = |at: usize, nonce| login(&service, (&people[at], stranger), nonce, None);
    // Four of the ten fail alone.
    for at in 0..4 {
        let tried = service.public.post(LOGINS, &with_stranger(at, 1)).await;
        assert_eq!(tried.json()["decision"], "no_match");
    }
    let mut stream = Raw::open(&service.public).await;
    let lines: Vec<Value> = (4..16).map(|at| with_stranger(at, 1)).collect();
    let answers = said(&mut stream, &lines).await;
    assert_eq!(denied(&service.public, &lines, &answers).await, 6);
    let refused = "trefoil_distinct_failures_refused_total";
    assert_eq!(service.metric(refused).await, 6 + 6, "in the stream, and the same alone");
    // It goes on: a subject that failed may try again, and its match makes room for another one.
    let own = |at: usize| login(&service, (&people[at], &people[at]), 2, None);
    assert_eq!(said(&mut stream, &[own(0)]).await[0]["decision"], "match");
    let late = answers.iter().position(|answer| answer["problem"].is_object()).unwrap();
    assert_eq!(said(&mut stream, &[own(4 + late)]).await[0]["decision"], "match");
    assert_eq!(service.metric(refused).await, 12);
    stream.end().await;
    assert_eq!(stream.next().await, None);
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_fails_in_a_stream_is_stopped_as_alone_and_the_others_go_on() {
    let (service, people, _folder) = with_people(service::unlimited(), 16, 93).await;
    let service = service.at_one_node();
    // A busy backend, whose API key has room for many that fail.
    for (at, person) in people.iter().enumerate() {
        let own = login(&service, (person, person), 1, Some(&format!("person {at}")));
        assert_eq!(service.public.post(LOGINS, &own).await.json()["decision"], "match");
    }
    let attack = |at: usize, nonce, source| login(&service, (&people[at], &people[0]), nonce, source);
    // Five of the ten fail alone, with another API key: the source is the tenant's.
    let other = service.public.with_bearer(&service.api_key(&["authenticate"]).await);
    for at in 1..6 {
        let tried = other.post(LOGINS, &attack(at, 2, Some("one"))).await;
        assert_eq!(tried.json()["decision"], "no_match");
    }
    let mut stream = Raw::open(&service.public).await;
    let lines: Vec<Value> = (6..16).map(|at| attack(at, 2, Some("one"))).collect();
    let answers = said(&mut stream, &lines).await;
    assert_eq!(denied(&service.public, &lines, &answers).await, 5);
    let refused: Vec<&Value> = answers.iter().filter(|answer| answer["problem"].is_object()).collect();
    assert!(
        refused.iter().all(|answer| answer["problem"]["errors"][0]["pointer"] == "/source"),
        "{answers:?}"
    );
    assert_eq!(service.metric("trefoil_source_failures_refused_total").await, 5 + 5);
    // Another source goes on in the same stream, and so does none.
    for (nonce, source) in [(3, Some("another")), (4, None)] {
        assert_eq!(said(&mut stream, &[attack(15, nonce, source)]).await[0]["decision"], "no_match");
    }
    stream.end().await;
    assert_eq!(stream.next().await, None);
    assert!(service.server.shutdown().await);
}
