//! A shutdown in the middle of a batch answers and keeps everything that was accepted.

use crate::world::*;
use std::collections::BTreeSet;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use trefoil_storage::store::{Log as _, Sqlite};

/// Claim V24: A shutdown answers every accepted request.
#[tokio::test(flavor = "multi_thread")]
async fn every_request_in_a_waiting_batch_is_answered_and_its_seal_is_kept() {
    // The batch would wait half a second for its 32nd lane; the shutdown comes first.
    let service = Service::configured(|config| config.pipeline.batch_delay_us = 500_000).await;
    let data = service.data();
    let people = service.welcomed(2, 10).await;
    let public = service.public.clone();
    let requests: Vec<_> = (0..20_u64)
        .map(|i| {
            let person = &people[i as usize % people.len()];
            serde_json::to_vec(&service.request(person, &person.face, i)).unwrap()
        })
        .collect();
    let answers = tokio::spawn(async move {
        let send = |body: &Vec<u8>| {
            let (public, body) = (public.clone(), body.clone());
            async move { public.send(hyper::Method::POST, "/v1/authentications", &[], body).await }
        };
        join_all(requests.iter().map(send)).await
    });
    until(async || service.metric("trefoil_submitted_total").await >= 20).await;
    assert!(service.server.shutdown().await, "all in flight were answered");
    let mut seals = BTreeSet::new();
    for reply in answers.await.unwrap() {
        let answer = answer(&reply);
        assert_eq!(answer.decision, Decision::Match);
        seals.insert(answer.seal_number);
    }
    let secret = std::fs::read(data.join("master.key")).unwrap();
    let store = Sqlite::open(&data.join("store.sqlite"), secret.as_array().unwrap()).unwrap();
    for number in seals {
        assert!(store.seal(number).unwrap().is_some(), "seal {number}");
    }
    assert!(
        tokio::net::TcpStream::connect(service.customer.public.address).await.is_err(),
        "the socket is closed"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_beyond_its_quota_is_told_to_come_back() {
    let service = Service::configured(|config| {
        config.pipeline.batch_delay_us = 500_000;
        config.limits.in_flight_per_tenant = 1;
    })
    .await
    .at_one_node();
    let people = service.welcomed(1, 12).await;
    let waiting = service.request(&people[0], &people[0].face, 1);
    let (public, body) = (service.public.clone(), serde_json::to_vec(&waiting).unwrap());
    let waiting =
        tokio::spawn(async move { public.send(hyper::Method::POST, "/v1/authentications", &[], body).await });
    until(async || service.metric("trefoil_submitted_total").await >= 1).await;
    let next = service.request(&people[0], &people[0].face, 2);
    let refused = service.authenticate(&next).await;
    refused.problem(429, "quota-exceeded");
    assert_eq!(refused.headers["retry-after"], "1");
    waiting.await.unwrap().matches();
    assert_eq!(service.authenticate(&next).await.decision(), Decision::Match, "the nonce was not spent");
}

/// Claim V20: A connection that keeps sending after refusals is not read for a while, and is closed if it continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_sends_into_refusals_is_not_read_for_a_while() {
    let service = Service::configured(|config| {
        config.limits.in_flight_per_tenant = 1;
        // Each node counts for itself.
    })
    .await
    .at_one_node();
    let bearer = service.public.bearer.as_ref().unwrap();
    let head = format!(
        "POST /v1/authentications HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {bearer}\r\n\
         content-type: application/json\r\ncontent-length: 2\r\n\r\n"
    );
    // The tenant's only place: a request without its body.
    let mut holds = service.public.connect().await;
    holds.write_all(format!("{head}{{").as_bytes()).await.unwrap();
    while service.metric("trefoil_connections{listener=\"public\",state=\"waiting\"}").await < 1 {
        tokio::task::yield_now().await;
    }
    let mut sends = service.public.connect().await;
    let began = Instant::now();
    // The last two say for how long the connection is not read.
    for after in [1, 1, 1, 2, 5] {
        sends.write_all(format!("{head}{{}}").as_bytes()).await.unwrap();
        let mut answer = String::new();
        while !answer.ends_with('}') {
            let mut bytes = [0; 4096];
            let read = sends.read(&mut bytes).await.unwrap();
            assert!(read > 0, "closed after {answer:?}");
            answer.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        }
        assert!(answer.starts_with("HTTP/1.1 429") && answer.contains("quota-exceeded"), "{answer}");
        assert!(answer.contains(&format!("\r\nretry-after: {after}\r\n")), "{answer}");
    }
    // Pauses of 16, 64, 256 and 1024 ms lie between five refusals, whatever else takes time. Stamps are whole milliseconds.
    assert!(began.elapsed() >= Duration::from_millis(1_350), "{:?}", began.elapsed());
    drop(holds);
}

/// Claim V19: A tenant's queue delays only its own logins: another tenant's logins start at once.
///
/// As many requests of a tenant as are worked on at one time never end. Its next login waits for one of them, and another tenant's does not.
#[tokio::test(flavor = "multi_thread")]
async fn the_queue_of_one_tenant_stands_before_its_own_logins_only() {
    const SHARE: usize = 64;
    let limits = |config: &mut Config| {
        (config.limits.body_timeout_s, config.limits.answer_timeout_s) = (120, 120);
    };
    let service = Arc::new(Service::configured(limits).await.at_one_node());
    let other = service.neighbour(service::policy()).await;
    let (own, others) = (service.people(1, 1, 12).await, other.people(1, 1, 13).await);
    service.welcome(&own[0]).await;
    other.welcome(&others[0]).await;
    let bearer = service.public.bearer.as_ref().unwrap();
    let head = format!(
        "POST /v1/authentications HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {bearer}\r\n\
         content-type: application/json\r\ncontent-length: 2\r\n\r\n{{"
    );
    let mut held = Vec::new();
    for _ in 0..SHARE {
        let mut holds = service.public.connect().await;
        holds.write_all(head.as_bytes()).await.unwrap();
        held.push(holds);
    }
    let waiting = "trefoil_connections{listener=\"public\",state=\"waiting\"}";
    until(async || service.metric(waiting).await >= SHARE as u64).await;
    let waits = service.request(&own[0], &own[0].face, 1);
    let login = tokio::spawn({
        let service = Arc::clone(&service);
        async move { service.authenticate(&waits).await }
    });
    for nonce in 1..=3 {
        let login = other.request(&others[0], &others[0].face, nonce);
        other.authenticate(&login).await.matches();
    }
    assert!(!login.is_finished(), "all that may be worked on is taken");
    drop(held.pop());
    login.await.unwrap().matches();
    drop(held);
    assert!(Arc::into_inner(service).unwrap().server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_refuses_at_once_and_loses_nothing_it_took() {
    let service = Service::configured(|config| {
        // One request waits for its batch to fill and one waits behind it, for half a second; there is no place for a third.
        config.pipeline.batch_delay_us = 500_000;
        config.pipeline.queue = 1;
    })
    .await;
    let people = service.welcomed(1, 13).await;
    let requests: Vec<_> = (1..=8_u64).map(|i| service.request(&people[0], &people[0].face, i)).collect();
    let replies = join_all(requests.iter().map(|request| service.authenticate(request))).await;
    let mut refused = Vec::new();
    for (request, reply) in requests.iter().zip(&replies) {
        if reply.status == 200 {
            reply.matches();
        } else {
            reply.problem(503, "overloaded");
            assert_eq!(reply.headers["retry-after"], "1");
            refused.push(request);
        }
    }
    assert!((1..8).contains(&refused.len()), "{} of 8 refused", refused.len());
    assert_eq!(service.authenticate(refused[0]).await.decision(), Decision::Match, "its nonce was not spent");
}
