//! Bodies in CBOR: a caller that speaks no JSON enrols, logs in, and is refused like any other.

use crate::batches::verify_entry;
use crate::http::{Endpoint, Reply};
use crate::service::{self, Person, Service, templates_path};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ciborium::Value as Cbor;
use hyper::Method;
use serde_json::{Value, json};
use trefoil_api::{AttestationForm, Authenticated, Authentication, Decision};

const CBOR: &str = "application/cbor";
const LOGINS: &str = "/v1/authentications";
const BATCHES: &str = "/v1/authentications/batch";

fn encoded(value: &Cbor) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).unwrap();
    bytes
}

fn tagged(tag: u64, bytes: Vec<u8>) -> Cbor {
    Cbor::Tag(tag, Box::new(Cbor::Bytes(bytes)))
}

/// A member as a caller that has bytes writes it: byte strings and numbers instead of text.
fn member(name: &str, value: &Value) -> Cbor {
    match (name, value) {
        ("handle" | "session_id" | "nonce" | "mac", Value::String(text)) => {
            tagged(23, hex::decode(text).unwrap())
        }
        ("embedding", Value::String(text)) => {
            let bytes = BASE64.decode(text).unwrap();
            let number = |word: &[u8]| Cbor::from(f32::from_le_bytes(word.try_into().unwrap()));
            Cbor::Array(bytes.chunks(4).map(number).collect())
        }
        (_, value) => Cbor::serialized(value).unwrap(),
    }
}

fn map(body: &Value) -> Cbor {
    let members = body.as_object().unwrap().iter();
    Cbor::Map(members.map(|(name, value)| (Cbor::from(name.as_str()), member(name, value))).collect())
}

fn login(request: &Authentication) -> Cbor {
    map(&serde_json::to_value(request).unwrap())
}

/// Sends CBOR and asks for it.
async fn send(public: &Endpoint, path: &str, body: &[u8]) -> Reply {
    let headers = [("content-type", CBOR), ("accept", CBOR)];
    public.send(Method::POST, path, &headers, body.to_vec()).await
}

/// The answer, which must be CBOR.
#[track_caller]
fn answered(reply: &Reply, status: u16) -> Value {
    assert_eq!((reply.status.as_u16(), &reply.headers["content-type"]), (status, &CBOR.parse().unwrap()));
    ciborium::from_reader(&reply.body[..]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_in_cbor_is_decided_and_attested_alone_and_in_a_batch() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::new(service::config(&directory.path().join("data"))).await;
    let people = service.people(2, 1, 11).await;
    for person in &people {
        let key = hex::encode(person.handle);
        let headers = [("content-type", CBOR), ("accept", CBOR), ("idempotency-key", &*key)];
        let body = json!({ "embedding": trefoil_api::Vector::new(person.face), "consent_ref": "form 7" });
        let path = templates_path(person);
        let enrolled = service.public.send(Method::POST, &path, &headers, encoded(&map(&body))).await;
        assert_eq!(answered(&enrolled, 201)["handle"], hex::encode(person.handle));
        let proof = [("content-type", "application/octet-stream"), ("accept", CBOR)];
        let opened =
            service.public.send(Method::POST, "/v1/proof-sessions", &proof, person.envelope.clone()).await;
        assert_eq!(answered(&opened, 201)["session_id"], hex::encode(person.session_id));
    }
    let (ann, bob) = (&people[0], &people[1]);

    // Alone: the MAC of the decoded fields is that of the same login in JSON.
    for (nonce, face, decision) in [(1, ann, Decision::Match), (2, bob, Decision::NoMatch)] {
        let request = service.request(ann, &face.face, nonce);
        let reply = send(&service.public, LOGINS, &encoded(&login(&request))).await;
        let answer: Authenticated = serde_json::from_value(answered(&reply, 200)).unwrap();
        assert_eq!(answer.decision, decision);
        verify_entry(&service, &request, &answer).await;
        // A nonce is spent in either form.
        let again = service.authenticate(&request).await;
        again.problem(409, "nonce-replayed");
    }

    // In a batch, with an entry that is no login.
    let mut compact = service.request(bob, &bob.face, 3);
    compact.attestation = AttestationForm::Compact;
    let requests = [service.request(ann, &ann.face, 4), compact];
    let mut entries: Vec<Cbor> = requests.iter().map(login).collect();
    entries.push(Cbor::from("no login"));
    let batch = Cbor::Map(vec![(Cbor::from("authentications"), Cbor::Array(entries))]);
    let reply = send(&service.public, BATCHES, &encoded(&batch)).await;
    let answer = answered(&reply, 200);
    assert_eq!(answer["results"].as_array().unwrap().len(), 3);
    for (request, result) in requests.iter().zip(answer["results"].as_array().unwrap()) {
        let answer: Authenticated = serde_json::from_value(result.clone()).unwrap();
        assert_eq!(answer.decision, Decision::Match);
        verify_entry(&service, request, &answer).await;
    }
    assert_eq!(answer["results"][2]["problem"]["code"], "field-invalid", "{answer}");
    assert!(service.server.shutdown().await);
}

/// The form of a request does not decide that of its answer.
#[tokio::test(flavor = "multi_thread")]
async fn accept_decides_the_form_of_an_answer_and_json_is_the_default() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::new(service::config(&directory.path().join("data"))).await;
    let ann = &service.people(1, 1, 12).await[0];
    service.welcome(ann).await;
    let body = encoded(&login(&service.request(ann, &ann.face, 1)));
    let reply = service.public.send(Method::POST, LOGINS, &[("content-type", CBOR)], body).await;
    assert_eq!(reply.headers["content-type"], "application/json");
    assert_eq!(service::answer(&reply).decision, Decision::Match);

    let get = async |endpoint: &Endpoint, path: &str, accept: &str| {
        endpoint.send(Method::GET, path, &[("accept", accept)], "").await
    };
    for path in [
        "/v1/tenant",
        "/v1/subjects",
        "/v1/proof-sessions",
        "/v1/fhe/parameters",
        "/v1/problems/seal-unknown",
    ] {
        let expected = service.public.get(path).await.json();
        assert_eq!(answered(&get(&service.public, path, CBOR).await, 200), expected, "{path}");
        let either = get(&service.public, path, "application/json, application/cbor, */*").await;
        assert_eq!(
            (&either.headers["content-type"], either.json()),
            (&"application/json".parse().unwrap(), expected)
        );
    }
    let tenants = get(&service.admin, "/v1/tenants", "application/cbor, application/json;q=0.9").await;
    assert_eq!(answered(&tenants, 200), service.admin.get("/v1/tenants").await.json());

    // Without a body, and where a cache may keep the answer.
    let head = service.public.send(Method::HEAD, "/v1/fhe/parameters", &[("accept", CBOR)], "").await;
    let got = get(&service.public, "/v1/fhe/parameters", CBOR).await;
    assert_eq!((&head.headers["content-type"], head.body.len()), (&CBOR.parse().unwrap(), 0));
    assert_eq!(head.headers["content-length"], got.body.len().to_string());
    for accept in ["application/json", CBOR] {
        let path = get(&service.public, "/v1/log/inclusion/0/1", accept).await;
        assert_eq!(
            (path.status.as_u16(), &path.headers["vary"]),
            (200, &"accept".parse().unwrap()),
            "{accept}"
        );
    }

    // Documents that are JSON or CBOR for everyone, and problems.
    for path in ["/v1/keys", "/v1/keys/1", "/openapi.json", "/.well-known/jwks.json"] {
        let reply = get(&service.public, path, CBOR).await;
        assert_eq!(reply.headers["content-type"], "application/json", "{path}");
        assert!(reply.json().is_object(), "{path}");
    }
    let seal = get(&service.public, "/v1/log/head", "application/json").await;
    assert_eq!(seal.headers["content-type"], CBOR);
    get(&service.public, "/v1/seals/4711", CBOR).await.problem(404, "seal-unknown");
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_in_cbor_that_is_wrong_is_refused_with_what_and_where() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::new(service::config(&directory.path().join("data"))).await;
    let ann = &service.people(1, 1, 13).await[0];
    service.welcome(ann).await;
    let good = service.request(ann, &ann.face, 1);
    let whole = encoded(&login(&good));
    let with = |name: &str, value: Cbor| {
        let Cbor::Map(mut members) = login(&good) else { panic!("a login is a map") };
        members.retain(|(key, _)| key.as_text() != Some(name));
        members.push((Cbor::from(name), value));
        encoded(&Cbor::Map(members))
    };
    let trailing = [&whole[..], &[0]].concat();
    // Two more members than the map had.
    let twice = [&[whole[0] + 2][..], &whole[1..], b"\x66source\x61a\x66source\x61b"].concat();
    let numbers = |number: f64| Cbor::Array(vec![Cbor::from(number); 128]);
    let cases = [
        (vec![], 400, "malformed-cbor", "the body is empty"),
        (whole[..whole.len() - 1].to_vec(), 400, "malformed-cbor", "ends within an item"),
        (trailing, 400, "malformed-cbor", "goes on after its item"),
        (twice, 400, "malformed-cbor", "the key \"source\" is in this map twice"),
        (vec![0xff; 20], 400, "malformed-cbor", "at byte 0: a break"),
        (vec![0x81; 8000], 400, "malformed-cbor", "more than 32 deep"),
        (b"{\"handle\": \"\"}".to_vec(), 400, "malformed-cbor", "no JSON form, at byte"),
        (with("mac", Cbor::Bytes(vec![1; 32])), 400, "malformed-cbor", "put tag 22 before it"),
        (with("embedding", numbers(f64::NAN)), 400, "malformed-cbor", "the number NaN"),
        (with("embedding", numbers(f64::INFINITY)), 400, "malformed-cbor", "the number inf"),
        (with("issued_at", Cbor::Tag(1, Box::new(Cbor::from(1)))), 400, "malformed-cbor", "tag 1;"),
        (encoded(&Cbor::Map(vec![(Cbor::from(1), Cbor::from(2))])), 400, "malformed-cbor", "not text"),
        (vec![0; 8 * 1024 + 1], 413, "body-too-large", "8192 bytes"),
        // Small as CBOR, large as JSON.
        (with("source", Cbor::from("\u{1}".repeat(1400))), 413, "body-too-large", "as JSON"),
        (with("mac", tagged(22, vec![1; 32])), 422, "field-invalid", "/mac"),
        (with("embedding", numbers(1e39)), 422, "field-invalid", "/embedding"),
        (with("issued_at", Cbor::from(1.5)), 422, "field-invalid", "/issued_at"),
        (with("no such field", Cbor::Null), 422, "field-invalid", "no such field"),
        (encoded(&Cbor::Array(vec![])), 422, "field-invalid", ""),
    ];
    for (body, status, code, says) in cases {
        let problem = send(&service.public, LOGINS, &body).await.problem(status, code);
        assert!(problem["detail"].as_str().unwrap().contains(says), "{says}: {problem}");
    }

    let typed = async |path: &str, media_type: &str| {
        let headers = [("content-type", media_type)];
        service
            .public
            .send(Method::POST, path, &headers, whole.clone())
            .await
            .problem(415, "media-type-unsupported")
    };
    let problem = typed(LOGINS, "application/cbor-seq").await;
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("send Content-Type: application/json or application/cbor"), "{detail}");
    let problem = typed("/v1/authentications/stream", CBOR).await;
    assert!(problem["detail"].as_str().unwrap().contains("application/jsonl"), "{problem}");
    typed("/v1/proof-sessions", CBOR).await;

    // Nothing was spent.
    let reply = send(&service.public, LOGINS, &whole).await;
    assert_eq!(answered(&reply, 200)["decision"], "match");
    assert!(service.server.shutdown().await);
}

/// The service remembers the JSON of a body: a repetition counts as one if it has the same, and gets its answer in the form that it asks for.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_enrolment_is_one_if_its_json_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::new(service::config(&directory.path().join("data"))).await;
    let people: Vec<Person> = service.people(2, 1, 14).await;
    let vector = |person: &Person| json!(trefoil_api::Vector::new(person.face));
    let body = |person: &Person| json!({ "consent_ref": "form 7", "embedding": vector(person) });
    let enrol = async |form: &str, accept: &str, bytes: Vec<u8>| {
        let headers = [("idempotency-key", "once"), ("content-type", form), ("accept", accept)];
        service.public.send(Method::POST, &templates_path(&people[0]), &headers, bytes).await
    };
    let text = Cbor::serialized(&body(&people[0])).unwrap();
    let first = answered(&enrol(CBOR, CBOR, encoded(&text)).await, 201);
    let replayed = |reply: &Reply| reply.headers.get("idempotent-replayed").is_some();

    let again = enrol(CBOR, CBOR, encoded(&text)).await;
    assert_eq!(
        (answered(&again, 201)["generation"].clone(), replayed(&again)),
        (first["generation"].clone(), true)
    );
    let json = body(&people[0]).to_string();
    let again = enrol("application/json", "*/*", json.clone().into_bytes()).await;
    assert_eq!((again.json()["generation"].clone(), replayed(&again)), (first["generation"].clone(), true));

    let spaced = json.replace(':', ": ");
    enrol("application/json", "*/*", spaced.into_bytes()).await.problem(422, "idempotency-key-reused");
    let numbers = encoded(&map(&body(&people[0])));
    enrol(CBOR, CBOR, numbers).await.problem(422, "idempotency-key-reused");
    let other = encoded(&Cbor::serialized(&body(&people[1])).unwrap());
    enrol(CBOR, CBOR, other).await.problem(422, "idempotency-key-reused");
    assert!(service.server.shutdown().await);
}
