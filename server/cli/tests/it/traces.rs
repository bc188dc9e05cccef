//! Traces at a collector: a login with its steps, in its caller's trace, and nothing about the person. A collector that is away costs no login.

use crate::collector::{Collector, Span};
use crate::http::{Endpoint, Reply};
use crate::service::{self, Person, Service, answer, templates_path};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::time::{Duration, Instant, UNIX_EPOCH};
use trefoil_api::{Authentication, Decision};
use trefoil_server::config::Config;
use trefoil_testing::contains;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";
const STEPS: [&str; 8] = ["queue", "prove", "match", "key_holder", "digest", "gather", "sign", "store"];
/// Every attribute that a span may have.
const ATTRIBUTES: [&str; 9] = [
    "error.type",
    "http.request.method",
    "http.response.status_code",
    "http.route",
    "trefoil.batch.lanes",
    "trefoil.logins",
    "trefoil.problem",
    "trefoil.request_id",
    "trefoil.tenant",
];

/// A `traceparent` with these flags.
fn traceparent(flags: &str) -> String {
    format!("00-{TRACE}-{CALLER}-{flags}")
}

/// A service that traces one in `sample` requests, and those that their caller traces.
fn config(folder: &tempfile::TempDir, endpoint: &str, sample: u64) -> Config {
    let mut config = service::config(&folder.path().join("data"));
    config.trace.endpoint = endpoint.to_owned();
    config.trace.sample = sample;
    config
}

async fn with_people(config: Config) -> (Service, Vec<Person>) {
    let service = Service::new(config).await;
    let people = service.people(2, 1, 5).await;
    for person in &people {
        service.welcome(person).await;
    }
    (service, people)
}

async fn log_in(service: &Service, request: &Authentication, traceparent: &str) -> Reply {
    let body = serde_json::to_vec(request).unwrap();
    service.public.send(Method::POST, "/v1/authentications", &[("traceparent", traceparent)], body).await
}

fn unix_ns() -> u64 {
    UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64
}

fn attributes<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// The parts of a login: each begins where the one before ends, within the request.
fn check_steps(request: &Span, steps: &[Span]) {
    assert_eq!(steps.iter().map(|step| step.name.as_str()).collect::<Vec<_>>(), STEPS);
    for step in steps {
        assert_eq!((&step.trace, &step.parent, step.kind), (&request.trace, &request.id, 1), "{step:?}");
        assert!(step.start <= step.end, "{step:?}");
    }
    assert!(request.start <= steps[0].start && steps[7].end <= request.end, "{request:?} {steps:?}");
    assert!(steps.windows(2).all(|pair| pair[0].end == pair[1].start), "{steps:?}");
    let ids: BTreeSet<&Vec<u8>> = steps.iter().chain([request]).map(|span| &span.id).collect();
    assert_eq!(ids.len(), 9);
    for name in ["match", "key_holder", "digest", "sign"] {
        let step = steps.iter().find(|step| step.name == name).unwrap();
        assert!(step.start < step.end, "{name} takes time: {step:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_a_span_of_its_callers_trace_with_its_steps_below() {
    let (folder, collector) = (tempfile::tempdir().unwrap(), Collector::start().await);
    let mut config = config(&folder, &collector.endpoint(), 0);
    config.trace.service_name = "logins of the shop".to_owned();
    let (service, people) = with_people(config).await;
    let began = unix_ns();
    let reply = log_in(&service, &service.request(&people[0], &people[0].face, 1), &traceparent("01")).await;
    let ended = unix_ns();
    assert_eq!(answer(&reply).decision, Decision::Match);
    for (nonce, untraced) in (2..).zip([traceparent("00"), traceparent("01").to_uppercase(), String::new()]) {
        let request = service.request(&people[1], &people[1].face, nonce);
        assert_eq!(log_in(&service, &request, &untraced).await.status, 200);
    }
    let tenant = service.tenant.to_string();
    assert!(service.server.shutdown().await);

    let spans = collector.spans();
    let [login, steps @ ..] = &spans[..] else { panic!("no spans") };
    assert_eq!([hex::encode(&login.trace), hex::encode(&login.parent)], [TRACE, CALLER]);
    assert_eq!((login.name.as_str(), login.kind), ("POST /v1/authentications", 2));
    assert_eq!(login.status.as_ref().map_or(0, |status| status.code), 0);
    assert!(began <= login.start && login.end <= ended, "{began} {login:?} {ended}");
    let id = reply.headers["request-id"].to_str().unwrap();
    let expected = attributes([
        ("http.request.method", "POST"),
        ("http.route", "/v1/authentications"),
        ("http.response.status_code", "200"),
        ("trefoil.request_id", id),
        ("trefoil.tenant", tenant.as_str()),
        ("trefoil.logins", "1"),
    ]);
    assert_eq!(login.attributes(), expected);
    check_steps(login, steps);
    assert_eq!(steps[2].attributes(), attributes([("trefoil.batch.lanes", "1")]));
    let version = env!("CARGO_PKG_VERSION");
    let service = attributes([("service.name", "logins of the shop"), ("service.version", version)]);
    assert!(collector.services().iter().all(|shown| *shown == service), "{:?}", collector.services());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_logins_has_the_steps_of_its_batches_and_a_refused_login_has_its_code() {
    let (folder, collector) = (tempfile::tempdir().unwrap(), Collector::start().await);
    let (service, people) = with_people(config(&folder, &collector.endpoint(), 0)).await;
    let logins = [&people[0], &people[1]].map(|person| service.request(person, &person.face, 1));
    let body = json!({ "authentications": logins }).to_string();
    let flags = traceparent("01");
    let headers = [("traceparent", flags.as_str())];
    let reply = service.public.send(Method::POST, "/v1/authentications/batch", &headers, body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let mut forged = service.request(&people[0], &people[0].face, 2);
    forged.mac.0[0] ^= 1;
    log_in(&service, &forged, &flags).await.problem(403, "request-mac-invalid");
    let stranger = Endpoint { bearer: None, ..service.public.clone() };
    let nowhere = stranger.send(Method::from_bytes(b"BREW").unwrap(), "/v1/coffee", &headers, "").await;
    nowhere.problem(404, "route-unknown");
    assert!(service.server.shutdown().await);

    let (requests, steps): (Vec<Span>, Vec<Span>) =
        collector.spans().into_iter().partition(|span| span.kind == 2);
    let names: Vec<&str> = requests.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["POST /v1/authentications/batch", "POST /v1/authentications", "HTTP"]);
    assert_eq!(requests[0].attributes()["trefoil.logins"], "2");
    // Two people may have the same lane, and are in two batches then.
    assert!(steps.len() == 8 || steps.len() == 16, "{steps:?}");
    for steps in steps.chunks(8) {
        check_steps(&requests[0], steps);
    }
    let of = |request: &Span| {
        let mut attributes = request.attributes();
        attributes.remove("trefoil.request_id").unwrap();
        attributes
    };
    let refused = of(&requests[1]);
    assert_eq!(
        [&refused["http.response.status_code"], &refused["trefoil.problem"]],
        ["403", "request-mac-invalid"]
    );
    let nowhere = attributes([
        ("http.request.method", "_OTHER"),
        ("http.response.status_code", "404"),
        ("trefoil.problem", "route-unknown"),
    ]);
    assert_eq!(of(&requests[2]), nowhere);
}

/// What no span may have of a person and of a login: bytes, and the forms in which requests carry them.
fn secrets(person: &Person, login: &Authentication) -> Vec<Vec<u8>> {
    let face: Vec<u8> = person.face.iter().flat_map(|x| x.to_le_bytes()).collect();
    let json = serde_json::to_value(login).unwrap();
    let nonce = json["nonce"].as_str().unwrap().as_bytes().to_vec();
    let named = [&person.handle.as_bytes()[..], person.session_id.as_bytes(), &login.mac.0];
    let forms = named.iter().flat_map(|bytes| {
        // A part of a name is a name.
        [bytes[..8].to_vec(), hex::encode(&bytes[..8]).into_bytes(), BASE64.encode(&bytes[..9]).into_bytes()]
    });
    forms.chain([nonce, face[..8].to_vec(), BASE64.encode(&face[..30]).into_bytes()]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_subject_nonce_face_or_key_is_in_a_trace_of_every_request() {
    let (folder, collector) = (tempfile::tempdir().unwrap(), Collector::start().await);
    let (service, people) = with_people(config(&folder, &collector.endpoint(), 1)).await;
    let handle = hex::encode(people[0].handle);
    let mut needles = Vec::new();
    for (nonce, person) in (0x6e6f_6e63_6531_u64..).zip(&people) {
        let request = service.request(person, &person.face, nonce);
        let reply = service.authenticate(&request).await;
        assert_eq!(answer(&reply).decision, Decision::Match);
        needles.extend(secrets(person, &request));
        needles.push(nonce.to_le_bytes()[..6].to_vec());
        // A refused one, too.
        service.authenticate(&request).await.problem(409, "nonce-replayed");
    }
    // A caller may write a handle in any place.
    let nowhere = format!("/v1/{handle}?{handle}");
    let method = Method::from_bytes(handle.as_bytes()).unwrap();
    service
        .public
        .send(method, &nowhere, &[("tracestate", handle.as_str()), ("baggage", handle.as_str())], "")
        .await;
    service.public.get(&nowhere).await;
    let path = templates_path(&people[0]);
    assert_eq!(service.public.send(Method::DELETE, &path, &[], "").await.status, 200);
    assert!(service.metric("trefoil_ready").await == 1);
    for endpoint in [&service.public, &service.admin] {
        needles.push(endpoint.bearer.clone().unwrap().into_bytes());
    }
    let tenant = service.tenant.to_string();
    assert!(service.server.shutdown().await);

    let (bytes, spans) = (collector.bytes(), collector.spans());
    assert!(
        contains(&bytes, tenant.as_bytes()) && contains(&bytes, b"DELETE /v1/subjects/{handle}/templates")
    );
    for needle in needles {
        assert!(!contains(&bytes, &needle), "{needle:02x?} {}", String::from_utf8_lossy(&needle));
    }
    let names: BTreeSet<String> = spans.iter().flat_map(|span| span.attributes().into_keys()).collect();
    assert!(names.iter().all(|name| ATTRIBUTES.contains(&name.as_str())), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_caller_is_traced_under_its_own_identifier_and_spans_are_counted() {
    let (folder, collector) = (tempfile::tempdir().unwrap(), Collector::start().await);
    let service = Service::new(config(&folder, &collector.endpoint(), 1)).await;
    let reply = service.public.get("/v1/keys").await;
    assert_eq!(reply.status, 200);
    let id = reply.headers["request-id"].to_str().unwrap().to_owned();
    wait_for(&service, "trefoil_trace_spans_exported_total").await;
    assert_eq!(service.metric("trefoil_trace_spans_dropped_total{reason=\"queue\"}").await, 0);
    assert_eq!(service.metric("trefoil_trace_spans_dropped_total{reason=\"collector\"}").await, 0);
    assert!(service.server.shutdown().await);
    let spans = collector.spans();
    let keys = spans.iter().find(|span| hex::encode(&span.trace) == id).unwrap();
    assert_eq!((keys.name.as_str(), keys.parent.len()), ("GET /v1/keys", 0));
}

/// Waits until a count is not zero.
async fn wait_for(service: &Service, name: &str) {
    let waits = async {
        while service.metric(name).await == 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waits).await.unwrap_or_else(|_| panic!("{name} stays 0"));
}

/// Everybody logs in.
async fn log_all_in(service: &Service, people: &[Person]) {
    for nonce in 1..=4 {
        for person in people {
            let reply = service.authenticate(&service.request(person, &person.face, nonce)).await;
            assert_eq!(answer(&reply).decision, Decision::Match);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_away_costs_no_login() {
    let folder = tempfile::tempdir().unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (service, people) = with_people(config(&folder, &format!("http://{gone}"), 1)).await;
    log_all_in(&service, &people).await;
    wait_for(&service, "trefoil_trace_spans_dropped_total{reason=\"collector\"}").await;
    assert_eq!(service.metric("trefoil_trace_spans_exported_total").await, 0);
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_never_answers_costs_no_login_and_delays_the_end_by_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let (service, people) = with_people(config(&folder, &endpoint, 1)).await;
    log_all_in(&service, &people).await;
    let dropped = "trefoil_trace_spans_dropped_total{reason=\"queue\"}";
    for _ in 0..100 {
        ask(&service.public, 100).await;
        if service.metric(dropped).await > 0 {
            break;
        }
    }
    assert!(service.metric(dropped).await > 0, "the queue is bounded");
    let begun = Instant::now();
    assert!(service.server.shutdown().await);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

/// Sends this many requests over one connection.
async fn ask(endpoint: &Endpoint, count: usize) {
    let stream = TokioIo::new(endpoint.connect().await);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    for _ in 0..count {
        sender.ready().await.unwrap();
        let request = Request::get("/v1/fhe/parameters").header("host", "localhost");
        let response = sender.send_request(request.body(Empty::<Bytes>::new()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 200);
        response.into_body().collect().await.unwrap();
    }
}
