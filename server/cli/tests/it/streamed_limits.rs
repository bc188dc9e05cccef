//! Conditions that end a stream of logins, and conditions that pause it.

use crate::http2::{self, Connection};
use crate::service::{self, Service, answer};
use crate::streams::{Raw, STREAMS, client, ended, next, welcomed};
use serde_json::json;
use std::time::{Duration, Instant};
use trefoil_api::{AttestationForm, Authentication, Decision, STREAM_IN_FLIGHT_MAX};

/// The time within which a stream must notice that its key is no longer valid.
const SOON: Duration = Duration::from_secs(2);
const WINDOW_UPDATE: u8 = 8;

async fn decided(service: &Service) -> u64 {
    service.metric("trefoil_authentications_total{decision=\"match\"}").await
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Lines of logins that all match, with small answers.
fn lines(service: &Service, person: &service::Person, count: u64) -> String {
    let line = |nonce| {
        let login = service.request(person, &person.face, nonce);
        let login = Authentication { attestation: AttestationForm::Compact, ..login };
        format!("{}\n", serde_json::to_string(&login).unwrap())
    };
    (1..=count).map(line).collect()
}

/// A stream over HTTP/2 with these lines, whose peer does not read answers.
async fn untaken(service: &Service, lines: &str) -> Connection {
    let mut connection = Connection::open(&service.public, Some((http2::INITIAL_WINDOW_SIZE, 0))).await;
    let bearer = format!("Bearer {}", service.public.bearer.as_deref().unwrap());
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/jsonl")];
    connection.request(1, 0, "POST", STREAMS, &headers).await;
    for piece in lines.as_bytes().chunks(16 * 1024) {
        connection.send(&http2::frame(http2::DATA, 0, 1, piece)).await;
    }
    connection.send(&http2::frame(http2::DATA, http2::END_STREAM, 1, &[])).await;
    connection
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_answers_is_not_read_and_loses_none() {
    let directory = tempfile::tempdir().unwrap();
    let (service, people) = welcomed(service::config(&directory.path().join("data")), 1).await;
    let (count, most) = (40, STREAM_IN_FLIGHT_MAX as u64);
    let mut connection = untaken(&service, &lines(&service, &people[0], count)).await;
    until("as many as may be untaken are decided", async || decided(&service).await == most).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(decided(&service).await, most, "nothing more is read");
    assert_eq!(service.metric("trefoil_open_streams").await, 1);
    let room = (1_u32 << 20).to_be_bytes();
    connection.send(&http2::frame(WINDOW_UPDATE, 0, 0, &room)).await;
    connection.send(&http2::frame(WINDOW_UPDATE, 0, 1, &room)).await;
    let data = connection.answer(1).await.into_iter().filter(|frame| frame.kind == http2::DATA);
    let text = String::from_utf8(data.flat_map(|frame| frame.payload).collect()).unwrap();
    assert_eq!(text.lines().count() as u64, count);
    assert!(text.lines().all(|line| line.contains("\"decision\":\"match\"")), "{text}");
    until("the stream is closed", async || service.metric("trefoil_open_streams").await == 0).await;
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_no_answer_for_long_is_closed_and_gives_its_places_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = service::config(&directory.path().join("data"));
    config.limits.write_timeout_s = 1;
    // The stream, and its logins that are under way.
    config.limits.in_flight_per_tenant = STREAM_IN_FLIGHT_MAX + 1;
    let (service, people) = welcomed(config, 1).await;
    let mut connection = untaken(&service, &lines(&service, &people[0], 40)).await;
    until("all places are taken", async || decided(&service).await == STREAM_IN_FLIGHT_MAX as u64).await;
    assert!(connection.answer(1).await.iter().all(|frame| frame.kind != http2::DATA), "it is closed");
    until("the stream is closed", async || service.metric("trefoil_open_streams").await == 0).await;
    let stalled = "trefoil_connections_closed_total{listener=\"public\",reason=\"write-timeout\"}";
    until("the connection is closed for it", async || service.metric(stalled).await == 1).await;
    let alone = service.request(&people[0], &people[0].face, 1_000);
    assert_eq!(answer(&service.authenticate(&alone).await).decision, Decision::Match);
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_soon_after_its_key_was_revoked_or_its_tenant_disabled() {
    let directory = tempfile::tempdir().unwrap();
    let (service, people) = welcomed(service::config(&directory.path().join("data")), 1).await;
    let ann = &people[0];
    let tenant = format!("/v1/tenants/{}", hex::encode(service.tenant));
    let created =
        service.admin.post(&format!("{tenant}/api-keys"), &json!({"scopes": ["authenticate"]})).await;
    let created = created.json();
    let (mut sender, mut answers) =
        client(&service, created["api_key"].as_str().unwrap()).authenticate_stream().await.unwrap();
    sender.send(&service.request(ann, &ann.face, 1)).await.unwrap();
    assert_eq!(next(&mut answers).await.answer.unwrap().without_verification().decision, Decision::Match);
    let path = format!("{tenant}/api-keys/{}", created["id"].as_str().unwrap());
    assert_eq!(service.admin.send(hyper::Method::DELETE, &path, &[], "").await.status, 200);
    let began = Instant::now();
    // Not even a line that is sent now is accepted.
    let late = service.request(ann, &ann.face, 2);
    sender.send(&late).await.unwrap();
    assert_eq!(ended(&mut answers, 2).await, "caller-unauthenticated");
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!(
        answer(&service.authenticate(&late).await).decision,
        Decision::Match,
        "its nonce was not spent"
    );
    // Another one sends nothing meanwhile.
    let key = service.public.bearer.clone().unwrap();
    let (_sender, mut answers) = client(&service, &key).authenticate_stream().await.unwrap();
    assert_eq!(service.admin.post(&format!("{tenant}/disable"), &json!({})).await.status, 200);
    let began = Instant::now();
    let last = next(&mut answers).await;
    assert_eq!((last.line, last.ended), (1, true));
    assert_eq!(last.answer.unwrap_err().code(), Some("tenant-disabled"));
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_answers_what_is_under_way_and_ends_the_stream() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = service::config(&directory.path().join("data"));
    // The batch waits that long for more logins; the shutdown comes first.
    config.pipeline.batch_delay_us = 500_000;
    let (service, people) = welcomed(config, 1).await;
    let key = service.public.bearer.clone().unwrap();
    let (mut sender, mut answers) = client(&service, &key).authenticate_stream().await.unwrap();
    for nonce in 1..=3 {
        sender.send(&service.request(&people[0], &people[0].face, nonce)).await.unwrap();
    }
    until("all are under way", async || service.metric("trefoil_submitted_total").await == 3).await;
    let reading = tokio::spawn(async move {
        for _ in 1..=3 {
            assert_eq!(
                next(&mut answers).await.answer.unwrap().without_verification().decision,
                Decision::Match
            );
        }
        // The sender continues until it sees the end.
        assert_eq!(ended(&mut answers, 4).await, "draining");
        drop(sender);
    });
    assert!(service.server.shutdown().await, "all in flight were answered");
    reading.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_sends_nothing_ends_and_empty_lines_keep_it_open() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = service::config(&directory.path().join("data"));
    config.limits.idle_timeout_s = 1;
    // An answer that is not yet complete must not count as one that the peer does not read.
    config.limits.write_timeout_s = 1;
    let (service, _) = welcomed(config, 1).await;
    let mut stream = Raw::open(&service.public).await;
    let began = Instant::now();
    for _ in 0..8 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        stream.send("\n").await;
    }
    // A line that is not complete does not count as a sign of life.
    stream.send("{").await;
    let last = stream.next().await.unwrap();
    assert!(began.elapsed() >= Duration::from_millis(3_000), "{:?}", began.elapsed());
    assert_eq!((&last["line"], &last["ended"]), (&json!(9), &json!(true)), "{last}");
    assert_eq!(last["problem"]["code"], "body-timeout");
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_too_long_ends_the_stream_and_says_which() {
    let directory = tempfile::tempdir().unwrap();
    let (service, people) = welcomed(service::config(&directory.path().join("data")), 1).await;
    let mut stream = Raw::open(&service.public).await;
    stream.send(&lines(&service, &people[0], 1)).await;
    assert_eq!(stream.next().await.unwrap()["line"], 1);
    stream.send(&" ".repeat(8 * 1024 + 1)).await;
    let last = stream.next().await.unwrap();
    assert_eq!((&last["line"], &last["ended"]), (&json!(2), &json!(true)), "{last}");
    assert_eq!(last["problem"]["code"], "body-too-large");
    assert!(last["problem"]["detail"].as_str().unwrap().contains("8192"), "{last}");
    assert_eq!(stream.next().await, None);
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_of_a_stream_count_among_the_requests_of_their_tenant() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = service::config(&directory.path().join("data"));
    config.pipeline.batch_delay_us = 500_000;
    config.limits.in_flight_per_tenant = 4;
    let (service, people) = welcomed(config, 1).await;
    let service = service.at_one_node();
    let mut stream = Raw::open(&service.public).await;
    stream.send(&lines(&service, &people[0], 4)).await;
    // The stream has a place, and three logins.
    let refused = stream.next().await.unwrap();
    assert_eq!((&refused["line"], &refused["ended"]), (&json!(4), &json!(null)), "{refused}");
    assert_eq!(refused["problem"]["code"], "quota-exceeded");
    let alone = service.request(&people[0], &people[0].face, 100);
    service.authenticate(&alone).await.problem(429, "quota-exceeded");
    for _ in 1..=3 {
        assert_eq!(stream.next().await.unwrap()["decision"], "match");
    }
    stream.end().await;
    assert_eq!(stream.next().await, None);
    assert_eq!(answer(&service.authenticate(&alone).await).decision, Decision::Match);
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_in_a_row_end_the_stream_as_they_end_a_connection() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = service::config(&directory.path().join("data"));
    config.limits.refusals_in_a_row = 5;
    let (service, _) = welcomed(config, 1).await;
    let mut stream = Raw::open(&service.public).await;
    for line in 1..=5 {
        stream.send("{}\n").await;
        assert_eq!(stream.next().await.unwrap()["line"], line);
    }
    let last = stream.next().await.unwrap();
    assert_eq!((&last["ended"], &last["problem"]["code"]), (&json!(true), &json!("draining")), "{last}");
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_are_kept_open_leave_half_of_the_places_to_other_requests() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = service::config(&directory.path().join("data"));
    config.limits.in_flight_per_tenant = 8;
    let (service, people) = welcomed(config, 1).await;
    let service = service.at_one_node();
    let mut kept = Vec::new();
    for _ in 0..4 {
        let mut stream = Raw::open(&service.public).await;
        stream.send("\n").await;
        kept.push(stream);
    }
    until("they are open", async || service.metric("trefoil_open_streams").await == 4).await;
    let more = async || {
        service.public.send(hyper::Method::POST, STREAMS, &[("content-type", "application/jsonl")], "").await
    };
    let refused = more().await.problem(429, "quota-exceeded");
    assert!(refused["detail"].as_str().unwrap().contains("in a stream that is open, or alone"), "{refused}");
    let alone = service.request(&people[0], &people[0].face, 1_000);
    assert_eq!(answer(&service.authenticate(&alone).await).decision, Decision::Match);
    kept[0].send(&lines(&service, &people[0], 1)).await;
    assert_eq!(kept[0].next().await.unwrap()["decision"], "match");
    kept[0].end().await;
    assert_eq!(kept[0].next().await, None);
    until("its place is free", async || service.metric("trefoil_open_streams").await == 3).await;
    assert_eq!(more().await.status, 200);
    drop(kept);
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_half_closed_ends_its_stream_and_gives_its_places_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = service::config(&directory.path().join("data"));
    // So long a login stays in flight.
    config.pipeline.batch_delay_us = 500_000;
    config.limits.in_flight_per_tenant = 2;
    let (service, people) = welcomed(config, 1).await;
    for (round, ends_body) in (1..).zip([false, true]) {
        let mut stream = Raw::open(&service.public).await;
        let login = service.request(&people[0], &people[0].face, round);
        let submitted = async || service.metric("trefoil_submitted_total").await;
        let before = submitted().await;
        stream.send(&format!("{}\n", serde_json::to_string(&login).unwrap())).await;
        until("it is in flight", async || submitted().await > before).await;
        if ends_body {
            stream.end().await;
        }
        stream.half_close().await;
        let began = Instant::now();
        until("the stream is closed", async || service.metric("trefoil_open_streams").await == 0).await;
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    }
    let alone = service.request(&people[0], &people[0].face, 1_000);
    assert_eq!(answer(&service.authenticate(&alone).await).decision, Decision::Match);
    assert!(service.server.shutdown().await);
}
