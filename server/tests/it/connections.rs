//! TLS, many connections, and connections that do nothing.

use crate::enrolment::join_all;
use crate::service::{self, Service, answer};
use hyper::Method;
use rustls::NamedGroup;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use trefoil_server::wire::Decision;

#[tokio::test(flavor = "multi_thread")]
async fn the_key_exchange_is_hybrid_and_older_protocols_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::new(service::config(&directory.path().join("data"))).await;
    let stream = service.public.connect().await;
    let connection = stream.get_ref().1;
    assert_eq!(connection.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
    let group = connection.negotiated_key_exchange_group().map(|group| group.name());
    assert_eq!(group, Some(NamedGroup::X25519MLKEM768));
    // A ClientHello of TLS 1.2: record header, handshake header, version 3.3, random, no session, one suite, no
    // compression, no extensions.
    let hello =
        [&[0x16, 3, 1, 0, 45, 1, 0, 0, 41, 3, 3][..], &[7; 32], &[0, 0, 2, 0xc0, 0x2b, 1, 0]].concat();
    let mut old = TcpStream::connect(service.public.address).await.unwrap();
    old.write_all(&hello).await.unwrap();
    let mut alert = Vec::new();
    old.read_to_end(&mut alert).await.unwrap();
    assert_eq!(alert.first(), Some(&0x15), "a TLS alert");
    drop(stream);
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_connections_are_served_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::new(service::config(&directory.path().join("data"))).await;
    let people = service.people(4, 1, 9).await;
    for person in &people {
        service.welcome(person).await;
    }
    let requests: Vec<_> = (0..100_u64)
        .map(|i| {
            let person = &people[i as usize % people.len()];
            service.request(person, &person.face, i)
        })
        .collect();
    for reply in join_all(requests.iter().map(|request| service.authenticate(request))).await {
        assert_eq!(answer(&reply).decision, Decision::Match);
    }
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_cap_wait_and_slow_ones_are_cut() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = service::config(&directory.path().join("data"));
    config.limits.handshake_timeout_s = 2;
    config.limits.header_timeout_s = 2;
    config.limits.body_timeout_s = 2;
    config.limits.connections = 3;
    let service = Service::new(config).await;

    let mut silent = TcpStream::connect(service.public.address).await.unwrap();
    let mut half_head = service.public.connect().await;
    half_head.write_all(b"POST /v1/authentications HTTP/1.1\r\nhost: localhost\r\n").await.unwrap();
    let mut half_body = service.public.connect().await;
    let bearer = service.public.bearer.as_ref().unwrap();
    let head = format!(
        "POST /v1/authentications HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {bearer}\r\n\
         content-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
    );
    half_body.write_all(head.as_bytes()).await.unwrap();
    // A fourth connection is served once one of the three has been cut.
    let fourth = service.public.send(Method::GET, "/v1/fhe/parameters", &[], "").await;
    assert_eq!(fourth.status, 200);

    let mut answer = Vec::new();
    assert_eq!(silent.read_to_end(&mut answer).await.unwrap(), 0, "cut without an answer");
    // Cut with or without a TLS close, after at most a 408 of hyper's.
    let _ = half_head.read_to_end(&mut answer).await;
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 408"));
    let mut answer = Vec::new();
    let _ = half_body.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("body-timeout"), "{answer}");
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_still_sends_gets_its_refusal_and_no_reset() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::new(service::config(&directory.path().join("data"))).await;
    let bearer = service.public.bearer.as_ref().unwrap();
    let body = vec![0; 300_000];
    let head = format!(
        "POST /v1/proof-sessions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {bearer}\r\n\
         content-type: application/octet-stream\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut peer = service.public.connect().await;
    peer.write_all(head.as_bytes()).await.unwrap();
    let mut refusal = Vec::new();
    // Read to the end: from here on the service has closed its side.
    peer.read_to_end(&mut refusal).await.unwrap();
    let refusal = String::from_utf8(refusal).unwrap();
    assert!(refusal.starts_with("HTTP/1.1 413") && refusal.contains("body-too-large"), "{refusal}");
    // A closed socket would answer the first piece with a reset and break the next.
    for piece in body.chunks(30_000) {
        peer.write_all(piece).await.unwrap();
        peer.flush().await.unwrap();
    }
    drop(peer);
    assert!(service.server.shutdown().await);
}
