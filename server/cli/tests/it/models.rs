//! Models of other widths than 128 numbers, and two models side by side.

use crate::modes;
use crate::quorum::{self, Three};
use crate::rotation;
use crate::service::{lenient, unlimited, unproven, vector};
use crate::world::*;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_api::{Authenticated, Nonce, UnprovenAuthentication};
use trefoil_attest::{ExpectedNonce, Policy, ProbeMode, Statement, TrustRoot, verify};
use trefoil_matching::Embedding;
use trefoil_types::Width;

const LOGINS: &str = "/v1/authentications";
/// A ciphertext has 32 lanes for vectors of up to 128 numbers, 16 of up to 256 and 8 of up to 512.
const PEOPLE: u8 = 33;

/// A model of these tests.
struct Model {
    name: &'static str,
    numbers: usize,
    /// Of its vectors that match.
    score: i32,
    quantiser: &'static str,
}

const OLD: Model = Model { name: "facenet-128", numbers: 128, score: 16_046, quantiser: "unit-r175/128" };
/// Of as many numbers, and stricter.
const ALIKE: Model = Model { name: "test-128", numbers: 128, score: 20_000, quantiser: "unit-r175/128" };
const MIDDLE: Model = Model { name: "test-192", numbers: 192, score: 17_500, quantiser: "unit-r173/192" };
const WIDE: Model = Model { name: "arcface-512", numbers: 512, score: 8_496, quantiser: "unit-r169/512" };

impl Model {
    /// This policy for the model.
    fn policy(&self, policy: Value) -> Value {
        with(
            with(with(policy, "embedder", self.name), "dimension", self.numbers),
            "threshold",
            self.threshold(),
        )
    }

    /// This policy for the model, and another one for those who were enrolled before.
    fn policy_after(&self, previous: &Model, policy: Value) -> Value {
        let Model { name, numbers, .. } = previous;
        let previous = json!({"embedder": name, "dimension": numbers, "threshold": previous.threshold()});
        with(self.policy(policy), "previous", previous)
    }

    fn threshold(&self) -> Value {
        json!({"calibrated": {"score": self.score, "fmr_class": 3}})
    }

    /// The face of a person.
    fn face(&self, person: u8) -> Vec<f32> {
        random(self.numbers, &mut StdRng::seed_from_u64(u64::from(person)))
    }

    /// What the clear arithmetic says of two faces.
    fn decides(&self, template: &[f32], shown: &[f32]) -> Decision {
        let quantised = |face| Embedding::quantise(face).unwrap();
        match quantised(template).dot(&quantised(shown)) >= self.score {
            true => Decision::Match,
            false => Decision::NoMatch,
        }
    }

    /// What people show, on both sides of the threshold; every fourth shows another's face.
    fn shown(&self, seed: u64) -> Vec<(u8, Vec<f32>)> {
        let rng = &mut StdRng::seed_from_u64(seed);
        let scale = Width::of(self.numbers).unwrap().scale();
        let threshold = f64::from(self.score) / f64::from(scale * scale);
        let show = |person: u8| match person % 4 {
            0 => (person, self.face(person + 1)),
            _ => (person, near(&self.face(person), threshold + rng.random_range(-0.01..0.01), rng)),
        };
        (0..PEOPLE).map(show).collect()
    }
}

fn random(numbers: usize, rng: &mut StdRng) -> Vec<f32> {
    (0..numbers).map(|_| (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0).collect()
}

/// A face at this cosine to another.
fn near(face: &[f32], cosine: f64, rng: &mut StdRng) -> Vec<f32> {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
    let other = random(face.len(), rng);
    let along = dot(face, &other) / dot(face, face);
    let across: Vec<f32> = face.iter().zip(&other).map(|(x, y)| y - along as f32 * x).collect();
    let (own, new) = (dot(face, face).sqrt(), dot(&across, &across).sqrt());
    let (own, new) = (cosine / own, (1.0 - cosine * cosine).sqrt() / new);
    face.iter().zip(&across).map(|(x, y)| (own * f64::from(*x) + new * f64::from(*y)) as f32).collect()
}

/// A login to be sent, and what must come of it.
struct Login {
    body: Value,
    nonce: Vec<u8>,
    digest: [u8; 32],
    decision: Decision,
}

/// A tenant, its people, and who verifies its attestations.
struct Tenant<'a> {
    customer: &'a Customer,
    trust_root: &'a TrustRoot,
    probe: ProbeMode,
}

impl Tenant<'_> {
    /// All in two requests at once; every decision is that of the clear arithmetic, and so says the attestation, with the model.
    async fn decide(&self, model: &Model, logins: &[Login]) {
        let sent = logins.chunks(17).map(|logins| async move {
            let bodies: Vec<&Value> = logins.iter().map(|login| &login.body).collect();
            let batch = json!({ "authentications": bodies });
            self.customer.public.post("/v1/authentications/batch", &batch).await.is(200)
        });
        let replies = join_all(sent).await;
        let results = replies.iter().flat_map(|reply| reply.json()["results"].as_array().unwrap().clone());
        for (at, (result, login)) in results.zip(logins).enumerate() {
            let answer: Authenticated =
                serde_json::from_value(result.clone()).unwrap_or_else(|_| panic!("{at}: {result:.500}"));
            assert_eq!(answer.decision, login.decision, "{at} of {}", model.name);
            self.check(model, login, &answer);
        }
    }

    fn check(&self, model: &Model, login: &Login, answer: &Authenticated) {
        let policy =
            Policy::new(self.trust_root.clone(), AUDIENCE, ExpectedNonce::Exactly(login.nonce.clone()))
                .tenant(self.customer.tenant)
                .request_digest(login.digest)
                .any_decision()
                .accept_no_proof();
        let attestation = &answer.attestation.as_ref().unwrap().0;
        let verified = verify(attestation, &policy, self.customer.clock.unix_s()).unwrap();
        let Statement { embedder, quantiser, probe_mode, decision, .. } = verified.statement();
        assert_eq!((*embedder, *quantiser, *probe_mode), (model.name, model.quantiser, self.probe));
        assert_eq!(*decision == trefoil_attest::Decision::Match, answer.decision == Decision::Match);
    }

    /// A login without a proof.
    fn plain(&self, model: &Model, person: u8, shown: &[f32]) -> Login {
        let request = self.request(person, shown);
        Login {
            nonce: request.nonce.as_bytes().to_vec(),
            digest: request.request_digest(&self.customer.tenant),
            decision: model.decides(&model.face(person), shown),
            body: json!(request),
        }
    }

    fn request(&self, person: u8, shown: &[f32]) -> UnprovenAuthentication {
        UnprovenAuthentication {
            handle: Hex([person; 32]),
            audience: AUDIENCE.to_owned(),
            nonce: Nonce::new(rand::random::<[u8; 16]>().to_vec()).unwrap(),
            issued_at: self.customer.clock.unix_s(),
            embedding: vector(shown),
            embedder: None,
            source: None,
            attestation: AttestationForm::Full,
        }
    }

    async fn send(&self, person: u8, shown: &[f32], embedder: Option<&str>) -> Reply {
        let request =
            UnprovenAuthentication { embedder: embedder.map(str::to_owned), ..self.request(person, shown) };
        self.customer.public.post(LOGINS, &json!(request)).await
    }

    async fn enrol_all(&self, model: &Model) {
        let enrolled = (0..PEOPLE).map(|person| async move {
            self.customer.public.enrol([person; 32], &model.face(person), &person.to_string()).await
        });
        join_all(enrolled).await.into_iter().for_each(|reply| drop(reply.is(201)));
    }

    /// Everybody once.
    async fn round(&self, model: &Model, seed: u64) {
        let shown = model.shown(seed);
        let logins: Vec<_> = shown.iter().map(|(person, face)| self.plain(model, *person, face)).collect();
        for decision in [Decision::Match, Decision::NoMatch] {
            let those = logins.iter().filter(|login| login.decision == decision).count();
            assert!(those >= 5, "{decision:?} {those} of {}", logins.len());
        }
        self.decide(model, &logins).await;
    }
}

/// A tenant without proofs.
fn tenant_of(service: &Service) -> Tenant<'_> {
    Tenant { customer: &service.customer, trust_root: &service.trust_root, probe: ProbeMode::Plain }
}

fn limitless(model: &Model) -> Value {
    model.policy(with(unproven(), "attempts", unlimited()))
}

/// Lets logins join each other in a batch, and as many people fail as there are.
fn in_batches(config: &mut Config) {
    config.pipeline.seal_floor_ms = 200;
    config.limits.distinct_failures = 10 * usize::from(PEOPLE);
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_of_512_and_192_numbers_are_decided_as_in_the_clear_while_keys_are_rotated() {
    let service = Service::own(limitless(&WIDE), in_batches).await;
    let wide = tenant_of(&service);
    let neighbour = service.neighbour(limitless(&MIDDLE)).await;
    let middle = Tenant { customer: &neighbour, ..tenant_of(&service) };
    tokio::join!(wide.enrol_all(&WIDE), middle.enrol_all(&MIDDLE));
    tokio::join!(wide.round(&WIDE, 1), middle.round(&MIDDLE, 1));
    for tenant in [&service.customer, &neighbour] {
        rotation::begin(tenant).await;
    }
    tokio::join!(wide.round(&WIDE, 2), middle.round(&MIDDLE, 2));
    for tenant in [&service.customer, &neighbour] {
        assert_eq!(rotation::ended(tenant).await["renewed"], PEOPLE);
    }
    tokio::join!(wide.round(&WIDE, 3), middle.round(&MIDDLE, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_of_512_numbers_that_devices_split_are_decided_as_in_the_clear() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = service::config(&folder.path().join("data"));
    in_batches(&mut config);
    let policy = with(WIDE.policy(lenient()), "probe", "shared");
    // A share is refused that was sealed long ago by the key-holder's clock, which is the machine's.
    let service = Service::at(config, policy, TestClock::going_on()).await;
    let (key, _) = modes::sealing_key(&service).await;
    let people = service.people(u32::from(PEOPLE), 1, 71).await;
    for (at, person) in (0..).zip(&people) {
        modes::enrol(&service, &key, &person.handle, &WIDE.face(at)).await;
        service.prove(person).await.is(201);
    }
    let shown = WIDE.shown(4);
    let logins: Vec<Login> = people
        .iter()
        .zip(&shown)
        .map(|(person, (at, face))| {
            let request = modes::shared(&service, &key, person, face, u64::from(*at));
            Login {
                nonce: request.nonce.as_bytes().to_vec(),
                digest: request.header(&request.probe_digest()).digest(),
                decision: WIDE.decides(&WIDE.face(*at), face),
                body: json!(request),
            }
        })
        .collect();
    let tenant = Tenant { probe: ProbeMode::Shared, ..tenant_of(&service) };
    tenant.decide(&WIDE, &logins).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_key_holders_decide_vectors_of_512_numbers_as_in_the_clear() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let three = Three::beside(&data, quorum::start_lax);
    let mut config = three.config(&data);
    in_batches(&mut config);
    let service = Service::with_policy(config, limitless(&WIDE)).await.at_one_node();
    let tenant = tenant_of(&service);
    tenant.enrol_all(&WIDE).await;
    tenant.round(&WIDE, 5).await;
}

/// Asserts a refusal of one field, in words that begin like this.
#[track_caller]
fn says(reply: &Reply, code: &str, pointer: &str, said: &str) {
    let problem = reply.problem(422, code);
    assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
    assert!(problem["errors"][0]["detail"].as_str().unwrap().starts_with(said), "{problem}");
}

/// Asserts a refusal that names these lengths and the model.
#[track_caller]
fn is_of_another_length(reply: &Reply, pointer: &str, model: &Model, given: usize) {
    let Model { name, numbers, .. } = model;
    let said = format!("expected {numbers} numbers, which model {name} gives, got {given}");
    says(reply, "embedding-invalid", pointer, &said);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vector_of_another_length_is_refused_with_both_and_costs_nothing() {
    let once = json!({"attempts_per_day": 1});
    let service = Service::own(WIDE.policy(with(unproven(), "attempts", once)), |_| ()).await;
    let tenant = tenant_of(&service);
    let public = &service.public;
    let own = WIDE.face(1);
    is_of_another_length(&public.enrol([1; 32], &OLD.face(1), "short").await, "/embeddings/0", &WIDE, 128);
    let photographs = json!({
        "embeddings": [vector(&own), vector(&own[..511]), vector(&own)], "consent_ref": "form 7",
    });
    let path = format!("/v1/subjects/{}/templates", hex::encode([1; 32]));
    let several = [("idempotency-key", "several")];
    let refused = public.send(Method::POST, &path, &several, photographs.to_string()).await;
    is_of_another_length(&refused, "/embeddings/1", &WIDE, 511);
    public.get(path.trim_end_matches("/templates")).await.problem(404, "subject-unknown");
    public.enrol([1; 32], &own, "right").await.is(201);
    for numbers in [2, 128, 511] {
        let refused = tenant.send(1, &own[..numbers], None).await;
        is_of_another_length(&refused, "/embedding", &WIDE, numbers);
    }
    tenant.send(1, &own, None).await.matches();
    tenant.send(1, &own, None).await.denies();
}

/// Model and length of a subject's template, as the service says.
async fn of_template(tenant: &Tenant<'_>, person: u8) -> (Value, Value) {
    let path = format!("/v1/subjects/{}", hex::encode([person; 32]));
    let subject = tenant.customer.public.get(&path).await.is(200).json();
    (subject["embedder"].clone(), subject["dimension"].clone())
}

/// People 1 and 2 are of `OLD`, 3 is of `WIDE`; each threshold is its model's own.
async fn log_in_side_by_side(tenant: &Tenant<'_>) {
    let rng = &mut StdRng::seed_from_u64(9);
    // Between the two thresholds, which are cosines of 0.52 and 0.30.
    let [middling, wide] =
        [&OLD.face(1), &WIDE.face(3)].map(|face| near(face, 0.41, &mut StdRng::seed_from_u64(8)));
    let logins = [
        (&OLD, 1, OLD.face(1), Decision::Match),
        (&WIDE, 3, wide, Decision::Match),
        (&OLD, 1, middling, Decision::NoMatch),
        (&OLD, 2, near(&OLD.face(2), 0.55, rng), Decision::Match),
        (&WIDE, 3, near(&WIDE.face(3), 0.27, rng), Decision::NoMatch),
    ];
    let logins = logins.map(|(model, person, face, decision)| {
        let login = tenant.plain(model, person, &face);
        assert_eq!(login.decision, decision, "of clear arithmetic");
        (model, login)
    });
    let bodies: Vec<&Value> = logins.iter().map(|(_, login)| &login.body).collect();
    let batch = json!({ "authentications": bodies });
    let reply = tenant.customer.public.post("/v1/authentications/batch", &batch).await.is(200).json();
    for ((model, login), result) in logins.iter().zip(reply["results"].as_array().unwrap()) {
        let answer: Authenticated =
            serde_json::from_value(result.clone()).unwrap_or_else(|_| panic!("{result:.500}"));
        assert_eq!(answer.decision, login.decision);
        tenant.check(model, login, &answer);
    }
    is_of_another_length(&tenant.send(1, &WIDE.face(1), None).await, "/embedding", &OLD, 512);
    is_of_another_length(&tenant.send(3, &OLD.face(3), None).await, "/embedding", &WIDE, 128);
}

#[tokio::test(flavor = "multi_thread")]
async fn people_of_two_models_log_in_side_by_side_until_all_are_enrolled_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, data) = (folder.path().join("keys"), folder.path().join("data"));
    let mut key_holder = KeyHolder::beside(&keys, &data);
    let service = Service::with_policy(key_holder.config(&data), OLD.policy(unproven())).await;
    let tenant = tenant_of(&service);
    for person in [1, 2] {
        service.public.enrol([person; 32], &OLD.face(person), &person.to_string()).await.is(201);
    }
    let still_used = async |service: &Service, templates: u32| {
        let refused = service.put_policy(&WIDE.policy(unproven())).await;
        let said = format!(
            "{templates} of the tenant's templates, those of revoked people included, are of model facenet-128"
        );
        says(&refused, "field-invalid", "/policy/previous", &said);
    };
    still_used(&service, 2).await;
    service.put_policy(&WIDE.policy_after(&OLD, unproven())).await.is(200);
    is_of_another_length(
        &service.public.enrol([3; 32], &OLD.face(3), "old").await,
        "/embeddings/0",
        &WIDE,
        128,
    );
    service.public.enrol([3; 32], &WIDE.face(3), "new").await.is(201);
    for model in [&OLD, &WIDE, &MIDDLE] {
        tenant.send(9, &model.face(9), None).await.problem(404, "subject-unknown");
    }
    for (person, model) in [(1, &OLD), (3, &WIDE)] {
        let said = of_template(&tenant, person).await;
        assert_eq!(said, (json!(model.name), json!(model.numbers)));
    }
    log_in_side_by_side(&tenant).await;

    let restarted = service.restart_after(async |_| {
        key_holder.kill();
        key_holder.again();
    });
    let service = restarted.await;
    log_in_side_by_side(&tenant_of(&service)).await;

    for (person, left) in [(1, 1), (2, 0)] {
        let (key, template) = (format!("anew-{person}"), (&WIDE.face(person)[..], "form 8"));
        let replaced = service.public.try_template(Method::PUT, [person; 32], template, &key).await.unwrap();
        replaced.is(200);
        if left > 0 {
            still_used(&service, left).await;
        }
    }
    service.put_policy(&WIDE.policy(unproven())).await.is(200);
    let tenant = tenant_of(&service);
    for person in 1..=3 {
        tenant.send(person, &WIDE.face(person), None).await.matches();
    }
    is_of_another_length(&tenant.send(1, &OLD.face(1), None).await, "/embedding", &WIDE, 128);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_two_models_give_as_many_numbers_a_login_names_its_own() {
    let service = Service::own(OLD.policy(unproven()), |_| ()).await;
    service.public.enrol([1; 32], &OLD.face(1), "1").await.is(201);
    service.put_policy(&ALIKE.policy_after(&OLD, unproven())).await.is(200);
    service.public.enrol([2; 32], &ALIKE.face(2), "2").await.is(201);
    let service = service.restart().await;
    let tenant = tenant_of(&service);
    // Between the two thresholds, which are cosines of 0.52 and 0.65.
    for (person, own, other, decision) in
        [(1, &OLD, &ALIKE, Decision::Match), (2, &ALIKE, &OLD, Decision::NoMatch)]
    {
        let face = near(&own.face(person), 0.59, &mut StdRng::seed_from_u64(7));
        for wrong in [None, Some(other.name), Some("neither")] {
            let said = format!("the subject is enrolled with model {}", own.name);
            let refused = tenant.send(person, &face, wrong).await;
            says(&refused, "embedding-invalid", "/embedder", &said);
        }
        assert_eq!(tenant.send(person, &face, Some(own.name)).await.decision(), decision);
        tenant.send(person, &own.face(person), Some(own.name)).await.matches();
    }
    for named in [None, Some(OLD.name), Some(ALIKE.name)] {
        tenant.send(9, &OLD.face(9), named).await.problem(404, "subject-unknown");
    }
}
