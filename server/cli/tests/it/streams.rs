//! Logins in a stream: each is decided, charged and attested as a single login is, and answered as soon as it is decided.

use crate::batches::{mixed, verify_entry, with};
use crate::http::Endpoint;
use crate::service::{self, Person, Service, answer, policy, sign};
use hyper::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::client::TlsStream;
use trefoil_api::{Authentication, Decision, Hex, Vector};
use trefoil_client::{Client, LoginAnswers, StreamedLogin};
use trefoil_server::config::Config;
use trefoil_testing::volume;

pub(crate) const STREAMS: &str = "/v1/authentications/stream";

/// A typed client with this key.
pub(crate) fn client(service: &Service, key: &str) -> Client {
    let certificate = std::fs::read(service.server.certificate_path()).unwrap();
    Client::new(&format!("https://localhost:{}", service.public.address.port()), &certificate, key, 1)
        .unwrap()
}

/// A service without short timeouts, this many people with a session, and one without.
pub(crate) async fn welcomed(config: Config, count: u32) -> (Service, Vec<Person>) {
    let mut policy = policy();
    policy["attempts"] = service::unlimited();
    let service = Service::with_policy(config, policy).await;
    let people = service.people(count + 1, 1, 21).await;
    for person in &people[..count as usize] {
        service.welcome(person).await;
    }
    (service, people)
}

/// The next answer, which must come.
pub(crate) async fn next(answers: &mut LoginAnswers) -> StreamedLogin {
    answers.next().await.unwrap().expect("another answer")
}

/// The problem with which the service ends a stream at this line.
pub(crate) async fn ended(answers: &mut LoginAnswers, line: u64) -> String {
    let last = next(answers).await;
    assert_eq!((last.line, last.ended), (line, true), "{last:?}");
    assert!(answers.next().await.unwrap().is_none(), "it is the last");
    last.answer.unwrap_err().code().unwrap().to_owned()
}

/// A stream by hand, over HTTP/1.1, with lines that no typed client sends.
pub(crate) struct Raw {
    connection: TlsStream<tokio::net::TcpStream>,
    read: String,
}

impl Raw {
    pub(crate) async fn open(public: &Endpoint) -> Raw {
        let mut connection = public.connect().await;
        let head = format!(
            "POST {STREAMS} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
             content-type: application/jsonl\r\ntransfer-encoding: chunked\r\n\r\n",
            public.bearer.as_deref().unwrap()
        );
        connection.write_all(head.as_bytes()).await.unwrap();
        Raw { connection, read: String::new() }
    }

    /// Sends bytes, which need not end with a line.
    pub(crate) async fn send(&mut self, text: &str) {
        let chunk = format!("{:x}\r\n{text}\r\n", text.len());
        self.connection.write_all(chunk.as_bytes()).await.unwrap();
    }

    pub(crate) async fn end(&mut self) {
        self.connection.write_all(b"0\r\n\r\n").await.unwrap();
    }

    /// Says that nothing more will be sent, and reads on.
    pub(crate) async fn half_close(&mut self) {
        self.connection.shutdown().await.unwrap();
    }

    /// The next line of the answer, or none at its end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        self.next_text().await.map(|line| serde_json::from_str(&line).unwrap())
    }

    /// The same with its end of the line, as it came. Lines are the only text in braces.
    pub(crate) async fn next_text(&mut self) -> Option<String> {
        loop {
            if let Some(begin) = self.read.find('{')
                && let Some(end) = self.read[begin..].find('\n')
            {
                let line = self.read.drain(..=begin + end).collect::<String>();
                return Some(line[begin..].to_owned());
            }
            if self.read.ends_with("0\r\n\r\n") {
                return None;
            }
            let mut bytes = [0; 16 * 1024];
            match self.connection.read(&mut bytes).await {
                Ok(0) | Err(_) => panic!("the connection broke after {:?}", self.read),
                Ok(count) => self.read.push_str(std::str::from_utf8(&bytes[..count]).unwrap()),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_logins_of_one_stream_are_decided_and_attested_as_those_that_come_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (service, people) = welcomed(service::config(&directory.path().join("data")), 4).await;
    let key = service.public.bearer.clone().unwrap();
    let (mut sender, mut answers) = client(&service, &key).authenticate_stream().await.unwrap();
    let logins = mixed(&service, &people[..4], volume(1_000, 100), 1_000);
    let sent = logins.clone();
    let sending = tokio::spawn(async move {
        for (at, (request, _)) in sent.iter().enumerate() {
            assert_eq!(sender.send(request).await.unwrap(), at as u64 + 1);
        }
        // The sender is dropped; requests already sent are answered all the same.
    });
    let mut answered = BTreeMap::new();
    while let Some(login) = answers.next().await.unwrap() {
        assert!(
            !login.ended
                && answered.insert(login.line, login.answer.unwrap().without_verification()).is_none()
        );
    }
    sending.await.unwrap();
    assert_eq!(answered.len(), logins.len());
    // The same people with the same faces, in single requests.
    let alone = mixed(&service, &people[..4], 12, 1_000_000);
    for (at, (request, expected)) in logins.iter().enumerate() {
        let streamed = &answered[&(at as u64 + 1)];
        assert_eq!(streamed.decision, *expected, "line {}", at + 1);
        verify_entry(&service, request, streamed).await;
        if let Some((request, expected)) = alone.get(at) {
            let alone = answer(&service.authenticate(request).await);
            assert_eq!((alone.decision, streamed.decision), (*expected, *expected));
            assert_eq!(alone.attestation.is_some(), streamed.attestation.is_some());
        }
    }
    let decided = service.metric("trefoil_authentications_total{decision=\"match\"}").await
        + service.metric("trefoil_authentications_total{decision=\"no_match\"}").await;
    assert_eq!(decided, (logins.len() + alone.len()) as u64, "each counts as one");
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_wrong_is_refused_as_alone_and_the_stream_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let (service, people) = welcomed(service::config(&directory.path().join("data")), 1).await;
    let [ann, stranger] = &people[..] else { panic!("two people") };
    let entry = |request: &Authentication| serde_json::to_value(request).unwrap();
    let good = |nonce| entry(&service.request(ann, &ann.face, nonce));
    let mut elsewhere = service.request(ann, &ann.face, 90);
    elsewhere.audience = "bank.example".to_owned();
    sign(&mut elsewhere, &ann.key);
    let mut strange = service.request(ann, &ann.face, 91);
    strange.session_id = Hex(stranger.session_id.to_bytes());
    let used = good(92);
    assert_eq!(service.public.post("/v1/authentications", &used).await.status, 200);
    let wrong = [
        (with(good(93), "mac", json!("00".repeat(32))), "request-mac-invalid"),
        (entry(&strange), "session-unknown"),
        (entry(&service.request(stranger, &ann.face, 94)), "session-unknown"),
        (entry(&elsewhere), "session-scope"),
        (used, "nonce-replayed"),
        (with(good(95), "issued_at", json!(7)), "request-not-fresh"),
        (with(good(96), "audience", json!("nobody.example")), "audience-not-allowed"),
        (with(good(97), "embedding", json!(Vector::new([0.0; 128]))), "embedding-invalid"),
        (with(good(98), "nonce", json!("00")), "field-invalid"),
        (with(good(99), "score", json!(1)), "field-invalid"),
        (json!(7), "field-invalid"),
        (Value::Null, "field-invalid"),
    ];
    let mut stream = Raw::open(&service.public).await;
    for (number, (entry, code)) in wrong.iter().enumerate() {
        let line = 3 * number as u64 + 1;
        stream.send(&format!("{entry}\n\r\n{}\n", good(number as u64))).await;
        // The empty line is counted, but not answered.
        let mut both = [stream.next().await.unwrap(), stream.next().await.unwrap()];
        both.sort_by_key(|answer| answer["line"].as_u64());
        let [refused, decided] = both;
        let alone = service.public.post("/v1/authentications", entry).await;
        let mut alone = alone.problem(alone.status.as_u16(), code);
        alone.as_object_mut().unwrap().remove("request_id");
        assert_eq!(refused, json!({ "line": line, "problem": alone }), "as if it had come alone");
        assert_eq!(decided["line"], line + 2);
        assert_eq!(decided["decision"], "match", "{decided}");
    }
    let line = 3 * wrong.len() as u64 + 1;
    stream.send("{\"handle\": oh}\n").await;
    let refused = stream.next().await.unwrap();
    assert_eq!((&refused["line"], &refused["problem"]["code"]), (&json!(line), &json!("malformed-json")));
    let detail = refused["problem"]["detail"].as_str().unwrap();
    assert!(detail.contains("column 12") && !detail.contains("line 1"), "{detail}");
    // In two pieces, and without an end of the line.
    let last = good(200).to_string();
    let (begin, end) = last.split_at(100);
    stream.send(begin).await;
    stream.send(end).await;
    stream.end().await;
    assert_eq!(stream.next().await.unwrap()["decision"], "match");
    assert_eq!(stream.next().await, None);
    let series = format!("trefoil_http_problems_total{{code=\"session-scope\",route=\"{STREAMS}\"}}");
    assert_eq!(service.metric(&series).await, 1);
    let refusals = format!("trefoil_tenant_refusals_total{{tenant=\"{}\"}}", hex::encode(service.tenant));
    let both = 2 * wrong.len() as u64 + 1;
    assert_eq!(service.metric(&refusals).await, both, "each refused line is a use of the key, as alone");
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_another_tenant_is_as_unknown_in_a_stream_as_one_that_never_was() {
    let directory = tempfile::tempdir().unwrap();
    let (service, people) = welcomed(service::config(&directory.path().join("data")), 1).await;
    let other = crate::session::other_tenant(&service).await;
    let mut stream = Raw::open(&other).await;
    let theirs = serde_json::to_value(service.request(&people[0], &people[0].face, 1)).unwrap();
    let unknown = serde_json::to_value(service.request(&people[1], &people[1].face, 2)).unwrap();
    let mut said = Vec::new();
    for line in [&theirs, &unknown] {
        stream.send(&format!("{line}\n")).await;
        said.push(stream.next().await.unwrap()["problem"].clone());
    }
    assert_eq!(said[0]["code"], "session-unknown");
    assert_eq!(said[0], said[1], "nothing tells a session of others from none");
    stream.end().await;
    let mine = service.public.post("/v1/authentications", &theirs).await;
    assert_eq!(answer(&mine).decision, Decision::Match, "its nonce was not spent");
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_the_head_refuses_the_whole() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::new(service::config(&directory.path().join("data"))).await;
    let send = async |public: &Endpoint, media_type| {
        public.send(Method::POST, STREAMS, &[("content-type", media_type)], "{}\n").await
    };
    send(&service.public, "application/json").await.problem(415, "media-type-unsupported");
    let stranger = Endpoint { bearer: None, ..service.public.clone() };
    send(&stranger, "application/jsonl").await.problem(401, "caller-unauthenticated");
    let issuer = service.public.with_bearer(&service.api_key(&["enrol", "issue"]).await);
    send(&issuer, "application/jsonl").await.problem(403, "scope-missing");
    service.public.get(STREAMS).await.problem(405, "method-not-allowed");
    // The body consists of just this line.
    let reply = send(&service.public, "application/jsonl").await;
    assert_eq!(
        (reply.status.as_u16(), &reply.headers["content-type"]),
        (200, &"application/jsonl".parse().unwrap())
    );
    assert_eq!(reply.json()["problem"]["code"], "field-invalid", "{}", reply.text());
    assert_eq!(service.metric("trefoil_open_streams").await, 0);
    assert!(service.server.shutdown().await);
}
