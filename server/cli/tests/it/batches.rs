//! Several logins in one request: each is decided, charged and attested as a single login is.

use crate::service::sign;
use crate::world::*;
use tokio::io::AsyncWriteExt as _;
use trefoil_api::{Authenticated, AuthenticatedBatch, Outcome};
use trefoil_attest::{ExpectedNonce, Policy, Seal, verify, verify_with_seal};
use trefoil_client::{Client, ClientError};

const BATCHES: &str = "/v1/authentications/batch";

async fn send(public: &Endpoint, entries: &[Value]) -> Reply {
    public.post(BATCHES, &json!({ "authentications": entries })).await
}

/// The results of an accepted batch.
async fn results(service: &Service, entries: &[Value]) -> Vec<Value> {
    let reply = send(&service.public, entries).await.is(200);
    let results = reply.json()["results"].as_array().unwrap().clone();
    assert_eq!(results.len(), entries.len());
    results
}

/// The decision of each result, or the code of its problem.
fn said(results: &[Value]) -> Vec<&str> {
    let said = |result: &Value, path| result.pointer(path).and_then(Value::as_str).is_some();
    let path = |result| if said(result, "/problem/code") { "/problem/code" } else { "/decision" };
    results.iter().map(|result| result.pointer(path(result)).unwrap().as_str().unwrap()).collect()
}

fn entry(request: &Authentication) -> Value {
    serde_json::to_value(request).unwrap()
}

fn with(mut entry: Value, field: &str, value: Value) -> Value {
    entry[field] = value;
    entry
}

/// Verified as by its relying party, whatever the decision.
async fn verify_entry(service: &Service, request: &Authentication, answer: &Authenticated) {
    let digest = request.probe_digest();
    let policy = Policy::new(
        service.trust_root.clone(),
        AUDIENCE,
        ExpectedNonce::Exactly(request.nonce.as_bytes().to_vec()),
    )
    .tenant(service.tenant)
    .request_digest(request.header(&digest).digest())
    .any_decision();
    let now = service.clock.unix_s();
    let attestation = &answer.attestation.as_ref().unwrap().0;
    let verified = match request.attestation {
        AttestationForm::None => panic!("an attestation that was not asked for"),
        AttestationForm::Full => verify(attestation, &policy, now).unwrap(),
        AttestationForm::Compact => {
            let seal = service.public.get(&format!("/v1/seals/{}", answer.seal_number)).await;
            verify_with_seal(attestation, &Seal::decode(&seal.body).unwrap(), &policy, now).unwrap()
        }
    };
    let decision = match verified.statement().decision {
        trefoil_attest::Decision::Match => Decision::Match,
        trefoil_attest::Decision::NoMatch => Decision::NoMatch,
    };
    assert_eq!(decision, answer.decision);
    assert_eq!(verified.statement_digest(), &answer.id.0);
    assert_eq!(verified.seal().seal_number, answer.seal_number);
}

/// Logins of these people in turn, every third with another's face, every second in compact form.
fn mixed(service: &Service, people: &[Person], count: usize, nonces: u64) -> Vec<(Authentication, Decision)> {
    let one = |at: usize| {
        let (person, other) = (&people[at % people.len()], &people[(at + 1) % people.len()]);
        let is_own = at % 3 != 2;
        let face = if is_own { &person.face } else { &other.face };
        let mut request = service.request(person, face, nonces + at as u64);
        request.attestation =
            if at.is_multiple_of(2) { AttestationForm::Full } else { AttestationForm::Compact };
        (request, if is_own { Decision::Match } else { Decision::NoMatch })
    };
    (0..count).map(one).collect()
}

/// One snapshot of its tenant serves a request from its API key to its answer, however many logins it brings and wherever their sessions are.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_looks_its_tenant_up_once_alone_or_with_many_logins() {
    let mut service = Service::own(service::lenient(), |_| ()).await;
    let people = service.welcomed(2, 2).await;
    for nonces in [0, 1_000] {
        let look_ups = async || service.metric("trefoil_tenant_lookups_total").await;
        let before = look_ups().await;
        let logins = mixed(&service, &people, 12, nonces);
        for (request, decision) in &logins[..5] {
            assert_eq!(service.authenticate(request).await.decision(), *decision);
        }
        assert_eq!(look_ups().await - before, 5, "one for each login");
        let entries: Vec<Value> = logins[5..].iter().map(|(request, _)| entry(request)).collect();
        results(&service, &entries).await;
        assert_eq!(look_ups().await - before, 6, "and one for seven in a batch");
        // Now sessions are read from their rows, and templates from the store.
        service = service.restart().await;
    }
}

/// Claim V52: A batch of logins gives a caller nothing more than as many single calls: a nonce is accepted once, each attempt is charged,
/// each refusal is that of a single call, and each attestation verifies.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_answered_in_its_order_and_each_attestation_verifies() {
    let mut service = Service::own(service::lenient(), |_| ()).await;
    let people = service.welcomed(4, 4).await;
    // The second time each session is read from its row.
    for (round, count) in [32, 31].into_iter().enumerate() {
        let logins = mixed(&service, &people, count, 1_000 * round as u64);
        let entries: Vec<Value> = logins.iter().map(|(request, _)| entry(request)).collect();
        for (result, (request, decision)) in results(&service, &entries).await.iter().zip(&logins) {
            let answer: Authenticated = serde_json::from_value(result.clone()).unwrap();
            assert_eq!(answer.decision, *decision);
            verify_entry(&service, request, &answer).await;
        }
        let matches = service.metric("trefoil_authentications_total{decision=\"match\"}").await;
        assert_eq!(
            matches,
            logins.iter().filter(|(_, decision)| *decision == Decision::Match).count() as u64
        );
        service = service.restart().await;
    }
}

/// A login without an attestation is sealed all the same: the seal that the answer names signs one more login.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_asks_for_no_attestation_gets_none_alone_and_in_a_batch() {
    let service = Service::start().await;
    let people = service.people(2, 1, 8).await;
    service.welcome(&people[0]).await;
    let unattested = |face, nonce| {
        let mut request = service.request(&people[0], face, nonce);
        request.attestation = AttestationForm::None;
        entry(&request)
    };
    let check = async |said: &Value, decision: &str| {
        let members: Vec<&str> = said.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["decision", "id", "seal_number"], "{said}");
        assert_eq!(said["decision"], decision);
        let seal = service.public.get(&format!("/v1/seals/{}", said["seal_number"])).await;
        assert_eq!(Seal::decode(&seal.body).unwrap().header.seal_number, said["seal_number"]);
    };
    let alone = service.public.post("/v1/authentications", &unattested(&people[0].face, 1)).await.is(200);
    check(&alone.json(), "match").await;
    let entries = [unattested(&people[1].face, 2), entry(&service.request(&people[0], &people[0].face, 3))];
    let results = results(&service, &entries).await;
    check(&results[0], "no_match").await;
    assert!(results[1]["attestation"].is_string(), "each entry for itself");
    let decided = service.metric("trefoil_authentications_total{decision=\"match\"}").await;
    assert_eq!(decided, 2);
}

/// Claim V52.
#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_is_wrong_refuses_only_itself_with_the_problem_of_a_single_call() {
    let service = Service::start().await;
    let people = service.people(3, 1, 5).await;
    service.welcome(&people[0]).await;
    // In session, and not enrolled.
    service.prove(&people[1]).await.is(201);
    let ann = &people[0];
    let good = |nonce| entry(&service.request(ann, &ann.face, nonce));
    let mut elsewhere = service.request(ann, &ann.face, 90);
    elsewhere.audience = "bank.example".to_owned();
    sign(&mut elsewhere, &ann.key);
    let mut strange = service.request(ann, &ann.face, 91);
    strange.session_id = Hex(people[2].session_id.to_bytes());
    let used = good(92);
    service.public.post("/v1/authentications", &used).await.is(200);
    let wrong = [
        (with(good(93), "mac", json!("00".repeat(32))), "request-mac-invalid"),
        (entry(&strange), "session-unknown"),
        (entry(&service.request(&people[1], &ann.face, 94)), "subject-unknown"),
        (entry(&elsewhere), "session-scope"),
        (used, "nonce-replayed"),
        (with(good(95), "issued_at", json!(7)), "request-not-fresh"),
        (with(good(96), "audience", json!("nobody.example")), "audience-not-allowed"),
        (with(good(97), "embedding", json!(Vector::new([0.0; 128]))), "embedding-invalid"),
        (with(good(98), "nonce", json!("00")), "field-invalid"),
        (with(good(99), "score", json!(1)), "field-invalid"),
        (json!(7), "field-invalid"),
        (json!([]), "field-invalid"),
        (Value::Null, "field-invalid"),
    ];
    let mut entries = vec![good(1)];
    for (number, (entry, _)) in wrong.iter().enumerate() {
        entries.extend([entry.clone(), good(2 + number as u64)]);
    }
    let results = results(&service, &entries).await;
    for (result, said) in results.iter().zip(said(&results)).step_by(2) {
        assert_eq!(said, "match", "{result}");
    }
    for ((entry, code), result) in wrong.iter().zip(results.iter().skip(1).step_by(2)) {
        let alone = service.public.post("/v1/authentications", entry).await;
        let mut alone = alone.problem(alone.status.as_u16(), code);
        let mut among = result["problem"].clone();
        alone.as_object_mut().unwrap().remove("request_id");
        if *code == "request-not-fresh" {
            // It tells the time, which goes on between the two.
            for problem in [&mut alone, &mut among] {
                let fields = problem.as_object_mut().unwrap();
                assert!(fields.remove("detail").is_some() && fields.remove("errors").is_some());
            }
        }
        assert_eq!(among, alone, "as if it had come alone");
    }
    for route in ["/v1/authentications/batch", "/v1/authentications"] {
        let series = format!("trefoil_http_problems_total{{code=\"session-scope\",route=\"{route}\"}}");
        assert_eq!(service.metric(&series).await, 1, "one in the batch and one alone");
    }
}

/// Claim V52.
#[tokio::test(flavor = "multi_thread")]
async fn of_equal_nonces_in_a_batch_exactly_one_is_accepted() {
    let service = Service::start().await;
    let people = service.welcomed(2, 7).await;
    let [ann, bob] = [0, 1].map(|at| entry(&service.request(&people[at], &people[at].face, 1)));
    let entries: Vec<Value> = (0..32).map(|at| if at == 9 { bob.clone() } else { ann.clone() }).collect();
    let results = results(&service, &entries).await;
    let mut said = said(&results);
    assert_eq!(said.remove(9), "match", "a nonce is spent for its session alone");
    said.sort_unstable();
    assert_eq!(said[0], "match");
    assert_eq!(said[1..], ["nonce-replayed"; 30]);
    service.public.post("/v1/authentications", &ann).await.problem(409, "nonce-replayed");
}

/// Claim V52.
#[tokio::test(flavor = "multi_thread")]
async fn each_entry_is_charged_to_the_attempt_budget() {
    let attempts = with(service::unlimited(), "attempts_per_day", json!(5));
    let policy = with(policy(), "attempts", attempts);
    let service = Service::own(policy, |_| ()).await;
    let people = service.welcomed(2, 8).await;
    let [ann, bob] = [0, 1].map(|at: usize| &people[at]);
    let mut entries: Vec<Value> =
        (0..8).map(|nonce| entry(&service.request(ann, &ann.face, nonce))).collect();
    entries.push(entry(&service.request(bob, &bob.face, 1)));
    let results = results(&service, &entries).await;
    let mut said = said(&results);
    assert_eq!(said.pop(), Some("match"), "another's budget");
    said.sort_unstable();
    assert_eq!(said, [["match"; 5].as_slice(), &["no_match"; 3]].concat());
    let next = answer(&service.login(ann, &ann.face, 100).await);
    assert_eq!(next.decision, Decision::NoMatch);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_the_whole_refuses_it_and_attempts_nothing() {
    let service = Service::start().await;
    let people = service.people(1, 1, 9).await;
    let ann = &people[0];
    service.welcome(ann).await;
    let good = |nonce| entry(&service.request(ann, &ann.face, nonce));
    let raw = async |body: Vec<u8>| service.public.send(Method::POST, BATCHES, &[], body).await;
    raw(vec![]).await.problem(400, "malformed-json");
    raw(b"{\"authentications\": [".to_vec()).await.problem(400, "malformed-json");
    let text = |entries: &[Value]| json!({ "authentications": entries }).to_string();
    raw((text(&[good(1)]) + "]").into_bytes()).await.problem(400, "malformed-json");
    let cut = text(&[good(1)]);
    raw(cut.as_bytes()[..cut.len() - 3].to_vec()).await.problem(400, "malformed-json");
    for (count, given) in [(0, "length 0"), (33, "length 33"), (900, "length 900")] {
        let entries = if count == 33 { (0..33).map(good).collect() } else { vec![json!(0); count] };
        let problem = raw(text(&entries).into_bytes()).await.problem(422, "field-invalid");
        assert_eq!(problem["errors"][0]["pointer"], "/authentications", "{problem}");
        let detail = problem["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.contains(given) && detail.contains("1 to 32"), "{detail}");
    }
    for (body, pointer) in [
        (json!([good(1)]), ""),
        (json!({}), ""),
        (json!({"authentications": good(1)}), "/authentications"),
        (json!({"authentications": [good(1)], "more": 1}), ""),
    ] {
        let problem = raw(body.to_string().into_bytes()).await.problem(422, "field-invalid");
        assert!(problem["errors"][0]["pointer"].as_str().unwrap().starts_with(pointer), "{problem}");
    }
    let headers = [("content-type", "text/plain")];
    let typed = service.public.send(Method::POST, BATCHES, &headers, text(&[good(1)])).await;
    typed.problem(415, "media-type-unsupported");
    service.public.get(BATCHES).await.problem(405, "method-not-allowed");
    let stranger = Endpoint { bearer: None, ..service.public.clone() };
    send(&stranger, &[good(1)]).await.problem(401, "caller-unauthenticated");
    let issuer = service.public.with_bearer(&service.api_key(&["enrol", "issue"]).await);
    send(&issuer, &[good(1)]).await.problem(403, "scope-missing");
    let results = results(&service, &(0..32).map(good).collect::<Vec<_>>()).await;
    assert_eq!(said(&results), ["match"; 32], "no nonce was spent");
}

/// Until the body of a batch is read it counts as a full batch.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_counts_as_its_entries_among_the_requests_of_its_tenant() {
    let service = Service::configured(|config| config.limits.in_flight_per_tenant = 32).await;
    let people = service.people(1, 1, 10).await;
    let ann = &people[0];
    service.welcome(ann).await;
    let body = json!({"authentications": [service.request(ann, &ann.face, 1)]}).to_string();
    let head = format!(
        "POST {BATCHES} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        service.public.bearer.as_deref().unwrap(),
        body.len()
    );
    let alone = |nonce| service.request(ann, &ann.face, nonce);
    let mut nonce = 10;
    let (upload, refused) = 'refused: loop {
        assert!(nonce < 150, "no login is refused beside a batch whose body is not read");
        let mut upload = service.public.connect().await;
        upload.write_all(head.as_bytes()).await.unwrap();
        upload.flush().await.unwrap();
        // The head is on its way. If it arrives while a login is in flight, it is refused itself, and another one follows: so
        // there is mostly none in flight.
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            nonce += 1;
            let reply = service.authenticate(&alone(nonce)).await;
            if reply.status != 200 {
                break 'refused (upload, reply);
            }
        }
    };
    refused.problem(429, "quota-exceeded");
    drop(upload);
    while service.authenticate(&alone(nonce)).await.status != 200 {
        nonce += 1;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_typed_client_gives_each_entry_its_answer_or_its_problem() {
    let service = Service::start().await;
    let people = service.people(2, 1, 11).await;
    service.welcome(&people[0]).await;
    let certificate = std::fs::read(service.server.certificate_path()).unwrap();
    let base = format!("https://localhost:{}", service.public.address.port());
    let key = service.public.bearer.clone().unwrap();
    let client = Client::new(&base, &certificate, &key, 1).unwrap();
    let (ann, bob) = (&people[0], &people[1]);
    let requests: Vec<Authentication> =
        (0..32).map(|nonce| service.request(if nonce == 5 { bob } else { ann }, &ann.face, nonce)).collect();
    // All of full form: the largest answer that there is.
    let answers = client.authenticate_many(&requests).await.unwrap();
    assert_eq!(answers.len(), 32);
    for (at, (answer, request)) in answers.iter().zip(&requests).enumerate() {
        match answer {
            Ok(answer) => verify_entry(&service, request, &answer.clone().without_verification()).await,
            Err(cause) => {
                assert!(at == 5 && cause.is_session_over(), "{at}: {cause}");
            }
        }
        assert_eq!(answer.is_err(), at == 5);
    }
    let empty = client.authenticate_many(&[]).await.unwrap_err();
    assert_eq!(empty.code(), None, "{empty}");
    assert!(matches!(empty, ClientError::Argument(_)));
    // The parsed answer is what API.md says.
    let none: AuthenticatedBatch<Value> =
        serde_json::from_value(json!({"results": [{"problem": {"code": "x"}}]})).unwrap();
    assert!(matches!(&none.results[0], Outcome::Refused { problem } if problem["code"] == "x"));
}
