//! Tenants whose policy says `"proof": "none"`: logins that only the API key authenticates.

use crate::service::{endpoints, unproven};
use crate::world::*;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use std::sync::atomic::{AtomicU64, Ordering};
use trefoil_api::{Authenticated, Nonce, UnprovenAuthentication};
use trefoil_attest::{
    ExpectedNonce, Policy, Seal, Statement, TrustRoot, VerifyError, verify, verify_with_seal,
};
use trefoil_client::{Client, ClientError, LoginError};
use trefoil_host::backup::Passphrase;
use trefoil_service::backup;
use trefoil_types::{Account, TenantId};
use zeroize::Zeroizing;

const LOGINS: &str = "/v1/authentications";
/// Replays of one login.
const REPLAYS: usize = 10_000;

pub(crate) fn face(seed: u64) -> [f32; 128] {
    let mut rng = StdRng::seed_from_u64(seed);
    std::array::from_fn(|_| (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0)
}

/// The application of a tenant without proofs.
pub(crate) struct Application {
    pub(crate) public: Endpoint,
    tenant: TenantId,
    clock: Arc<TestClock>,
    trust_root: TrustRoot,
}

impl Application {
    pub(crate) async fn new(service: &Service, policy: Value) -> Application {
        let id = service.admin.tenant(&policy).await;
        let key = service.admin.api_key(&id, &["enrol", "authenticate", "issue"]).await;
        let (public, tenant) = (service.public.with_bearer(&key), TenantId::new(Hex::parse(&id).unwrap().0));
        let (clock, trust_root) = (Arc::clone(&service.clock), service.trust_root.clone());
        Application { public, tenant, clock, trust_root }
    }

    pub(crate) async fn try_enrol(&self, handle: u8, face: &[f32; 128]) -> Reply {
        let key: [u8; 16] = rand::rng().random();
        self.public.enrol([handle; 32], face, &hex::encode(key)).await
    }

    pub(crate) async fn enrol(&self, handle: u8, face: &[f32; 128]) {
        self.try_enrol(handle, face).await.is(201);
    }

    pub(crate) fn request(&self, handle: u8, face: &[f32; 128], nonce: u64) -> UnprovenAuthentication {
        UnprovenAuthentication {
            handle: Hex([handle; 32]),
            audience: AUDIENCE.to_owned(),
            nonce: Nonce::new([nonce.to_le_bytes(), nonce.to_le_bytes()].concat()).unwrap(),
            issued_at: self.clock.unix_s(),
            embedding: Vector::new(*face),
            embedder: None,
            source: None,
            attestation: AttestationForm::Full,
        }
    }

    pub(crate) async fn send(&self, request: &UnprovenAuthentication) -> Reply {
        self.public.post(LOGINS, &body(request)).await
    }

    /// The account of a login that matches.
    async fn account(&self, request: &UnprovenAuthentication) -> Account {
        let answer = self.send(request).await.matches();
        self.statement(request, &answer).account
    }

    /// The contents of an attestation for a relying party that accepts statements without a proof.
    fn statement<'a>(&self, request: &UnprovenAuthentication, answer: &'a Authenticated) -> Statement<'a> {
        let policy = self.policy(request).accept_no_proof();
        verify(attestation(answer), &policy, self.clock.unix_s()).unwrap().statement().clone()
    }

    fn policy(&self, request: &UnprovenAuthentication) -> Policy {
        let nonce = ExpectedNonce::Exactly(request.nonce.as_bytes().to_vec());
        Policy::new(self.trust_root.clone(), &request.audience, nonce)
            .tenant(self.tenant)
            .request_digest(request.request_digest(&self.tenant))
            .any_decision()
    }
}

fn attestation(answer: &Authenticated) -> &[u8] {
    &answer.attestation.as_ref().expect("asked for one").0
}

fn body(request: &UnprovenAuthentication) -> Value {
    serde_json::to_value(request).unwrap()
}

/// Claim V76.
///
/// Logins that race with the revocation: none that is sent after that answer is accepted, alone or in a batch.
#[tokio::test(flavor = "multi_thread")]
async fn no_login_outruns_the_revocation_of_its_subject() {
    // Most look-ups miss, so that templates are read while their subject is revoked.
    let service = Service::configured(|config| config.store.templates_in_memory = 1).await;
    let policy = with(unproven(), "attempts", service::unlimited());
    let app = &Application::new(&service, policy).await;
    let (own, nonces) = (face(1), AtomicU64::new(0));
    let request = |handle| app.request(handle, &own, nonces.fetch_add(1, Ordering::Relaxed));
    for handle in 0..8 {
        app.enrol(handle, &own).await;
        let requests: Vec<_> = (0..32).map(|_| request(handle)).collect();
        let logins = join_all(requests.iter().map(|request| async move {
            let reply = app.send(request).await;
            assert!(matches!(reply.status.as_u16(), 200 | 404), "{}", reply.text());
        }));
        let path = format!("/v1/subjects/{}/revoke", hex::encode([handle; 32]));
        let revoked = async { app.public.send(Method::POST, &path, &[], "").await };
        let (_, revoked) = tokio::join!(logins, revoked);
        assert_eq!(revoked.status, 200, "{}", revoked.text());
        app.send(&request(handle)).await.problem(404, "subject-unknown");
        let entries = [handle, 99].map(|handle| body(&request(handle)));
        let batch = json!({ "authentications": entries });
        let results = app.public.post("/v1/authentications/batch", &batch).await.json()["results"].clone();
        assert_eq!(results[0]["problem"]["code"], "subject-unknown", "{results}");
        let told = |result: usize| results[result]["problem"]["detail"].clone();
        assert_eq!(told(0), told(1), "as one that never was");
    }
}

/// Claim V54.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_without_a_proof_is_attested_as_such_and_refused_by_who_demands_one() {
    let service = Service::start().await;
    let app = Application::new(&service, unproven()).await;
    let (own, other) = (face(1), face(2));
    app.enrol(1, &own).await;

    let request = app.request(1, &own, 1);
    let matched = answer(&app.send(&request).await);
    let now = service.clock.unix_s();
    assert_eq!(matched.decision, Decision::Match);
    let statement = app.statement(&request, &matched);
    assert_eq!(statement.proof, None);
    assert_eq!((statement.template_generation, statement.policy_version), (1, 1));
    assert_ne!(statement.account.as_bytes(), &request.handle.0, "nobody but the tenant learns the handle");
    let demands = app.policy(&request);
    assert_eq!(verify(attestation(&matched), &demands, now).unwrap_err(), VerifyError::NoProof);
    let level = app.policy(&request).accept_no_proof().proof_level(0);
    assert_eq!(verify(attestation(&matched), &level, now).unwrap_err(), VerifyError::NoProof);

    let mut request = app.request(1, &other, 2);
    request.attestation = AttestationForm::Compact;
    let denied = answer(&app.send(&request).await);
    assert_eq!(denied.decision, Decision::NoMatch);
    let seal = service.public.get(&format!("/v1/seals/{}", denied.seal_number)).await;
    let seal = Seal::decode(&seal.body).unwrap();
    let policy = app.policy(&request).accept_no_proof();
    let verified = verify_with_seal(attestation(&denied), &seal, &policy, now).unwrap();
    assert_eq!(verified.statement().account, statement.account, "the same account, whatever is decided");

    // Its partition of the verdict cache is of minimal size, and was never used.
    let tenant = hex::encode(app.tenant);
    for outcome in ["hit", "absent", "expired", "admission_lost"] {
        let name =
            format!("trefoil_verdict_cache_operations_total{{tenant=\"{tenant}\",outcome=\"{outcome}\"}}");
        assert_eq!(service.metric(&name).await, 0, "{outcome}");
    }
    let capacity = format!("trefoil_verdict_cache_capacity{{tenant=\"{tenant}\"}}");
    assert!(service.metric(&capacity).await < 100, "{}", service.metric(&capacity).await);
}

/// Claim V54.
///
/// A relying party keeps an account for years, so it must not change.
#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_the_same_for_good_and_another_for_each_audience_and_tenant() {
    let service = Service::start().await;
    let (data, copy, restored) = (service.data(), service.file("backup"), service.file("restored"));
    let (app, neighbour) =
        (Application::new(&service, unproven()).await, Application::new(&service, unproven()).await);
    let own = face(1);
    for application in [&app, &neighbour] {
        application.enrol(1, &own).await;
        application.enrol(2, &own).await;
    }
    let at_bank = |mut request: UnprovenAuthentication| {
        request.audience = "bank.example".to_owned();
        request
    };
    let account = app.account(&app.request(1, &own, 1)).await;
    assert_eq!(app.account(&app.request(1, &own, 2)).await, account);
    assert_ne!(app.account(&at_bank(app.request(1, &own, 3))).await, account);
    assert_ne!(app.account(&app.request(2, &own, 4)).await, account);
    assert_ne!(neighbour.account(&neighbour.request(1, &own, 5)).await, account);

    let mut app = app;
    let service = service.restart().await;
    let (public, _) = endpoints(&service.server);
    app.public = Endpoint { bearer: app.public.bearer.take(), ..public };
    assert_eq!(app.account(&app.request(1, &own, 6)).await, account, "after a restart");
    let clock = Arc::clone(&service.clock);
    assert!(service.server.shutdown().await);

    let Ok(passphrase) = Passphrase::new(Zeroizing::new(b"correct horse battery".to_vec())) else {
        panic!("too short")
    };
    backup::make(&data, &copy, &passphrase, clock.unix_s(), &mut |_| ()).unwrap();
    std::fs::remove_dir_all(&data).unwrap();
    clock.advance(10);
    backup::restore(&copy, &restored, &passphrase, None, clock.unix_s(), &mut |_| ()).unwrap();
    clock.advance(10);
    let server = service::start(service::config(&restored), &clock).await;
    app.public = Endpoint { bearer: app.public.bearer.take(), ..endpoints(&server).0 };
    assert_eq!(app.account(&app.request(1, &own, 7)).await, account, "after a restore");
    assert!(server.shutdown().await);
}

/// Claim V54: A tenant without credentials needs no prover: of 10,000 replays of a login none is accepted, its accounts are stable and
/// pairwise, and a verifier that demands a proof refuses its attestations, in Rust, TypeScript and Python. Also:
/// `crypto/clients/python/tests/test_unproven.py`.
///
/// A copied login cannot be used again, whether by a thief or by mistake of the application.
#[tokio::test(flavor = "multi_thread")]
async fn of_ten_thousand_replays_none_is_accepted() {
    let service = Service::start().await;
    // Exactly one further login is within the budget: no replay may cost an attempt.
    let policy = with(unproven(), "attempts", json!({"attempts_per_day": 2}));
    let app = Application::new(&service, policy).await;
    let own = face(1);
    app.enrol(1, &own).await;
    let request = app.request(1, &own, 1);
    let first = answer(&app.send(&request).await);
    assert_eq!(first.decision, Decision::Match);

    let certificate = std::fs::read(service.server.certificate_path()).unwrap();
    let base = format!("https://localhost:{}", service.server.public_address().port());
    let client = Client::new(&base, &certificate, app.public.bearer.as_ref().unwrap(), 2).unwrap();
    let replays = vec![request.clone(); 32];
    let mut refused = 0;
    while refused < REPLAYS {
        for outcome in client.authenticate_many_unproven(&replays).await.unwrap() {
            let Err(ClientError::Problem(problem)) = outcome else { panic!("a replay was decided") };
            assert_eq!(problem.code, "nonce-replayed");
            refused += 1;
        }
    }
    // The nonce stays used with another form of the answer, another audience or another face.
    let mut altered = [request.clone(), request.clone(), request.clone(), request.clone()];
    altered[0].attestation = AttestationForm::Compact;
    altered[1].audience = "bank.example".to_owned();
    altered[2].embedding = Vector::new(face(2));
    altered[3].issued_at += 1;
    for request in &altered {
        app.send(request).await.problem(409, "nonce-replayed");
    }
    for (issued_at, code) in
        [(request.issued_at - 61, "request-not-fresh"), (request.issued_at + 6, "request-not-fresh")]
    {
        let stale = UnprovenAuthentication { issued_at, ..app.request(1, &own, 9) };
        app.send(&stale).await.problem(422, code);
    }
    let login = client
        .login_unproven(app.tenant, &app.request(1, &own, 9), &app.trust_root, app.clock.unix_s())
        .await
        .unwrap();
    let account = app.statement(&request, &first).account;
    assert_eq!((login.decision, login.account), (Decision::Match, account));
    // Without an attestation it is decided and charged all the same.
    let late = UnprovenAuthentication { attestation: AttestationForm::None, ..app.request(1, &own, 10) };
    let now = app.clock.unix_s();
    let refused = client.login_unproven(app.tenant, &late, &app.trust_root, now).await;
    assert!(matches!(refused, Err(LoginError::Unattested)), "it is refused before it is sent");
    let denied = client.authenticate_unproven(&late).await.unwrap().without_verification();
    assert_eq!(denied.decision, Decision::NoMatch, "a third attempt in a day");

    // A new process knows no nonces, so it refuses logins that the previous one could have attested. A fleet remembers them (409).
    let service = service.restart().await;
    let (public, _) = endpoints(&service.server);
    let after = Endpoint { bearer: app.public.bearer.clone(), ..public };
    let refused = after.post(LOGINS, &body(&request)).await;
    assert!([409, 422, 503].contains(&refused.status.as_u16()), "{}", refused.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_credentials_is_refused_by_its_name_and_spends_nothing() {
    let service = Service::start().await;
    let app = Application::new(&service, unproven()).await;
    let own = face(1);
    app.enrol(1, &own).await;
    let good = body(&app.request(1, &own, 1));
    let digits = json!("00".repeat(32));
    for field in ["session_id", "mac"] {
        let refused = app.public.post(LOGINS, &with(good.clone(), field, digits.clone())).await;
        let problem = refused.problem(422, "proof-mode-mismatch");
        assert_eq!(problem["errors"][0]["pointer"], format!("/{field}"), "{problem}");
        assert!(problem["cure"].as_str().unwrap().contains("session"), "{problem}");
    }
    let shares = with(good.clone(), "shares", json!({"open": "", "sealed": ""}));
    let problem = app.public.post(LOGINS, &shares).await.problem(422, "field-invalid");
    assert_eq!(problem["errors"][0]["pointer"], "/shares");

    // Sessions, roots and the issuer's key.
    let envelope = vec![0; 70_000];
    let headers = [("content-type", "application/octet-stream")];
    let opened = app.public.send(Method::POST, "/v1/proof-sessions", &headers, envelope).await;
    opened.problem(422, "proof-mode-mismatch");
    assert_eq!(app.public.get("/v1/proof-sessions").await.json()["sessions"], json!([]));
    let path = format!("/v1/tenants/{}/issuer-key", hex::encode(app.tenant));
    let members = Members::new(&service.customer, 1, 71);
    let root = service.next_root(members.root(), 1, 1);
    let encoded = |bytes: &[u8]| trefoil_api::Base64(bytes.to_vec());
    let root = json!({"statement": encoded(&root.statement), "signature": encoded(&root.signature)});
    app.public.post("/v1/credentials/roots", &root).await.problem(422, "proof-mode-mismatch");
    let key = trefoil_issuer::public_key(&service.issuer.lock().unwrap().0);
    let key = json!({"ml_dsa_65": encoded(key.as_bytes())}).to_string();
    service.admin.send(Method::PUT, &path, &[], key).await.problem(422, "proof-mode-mismatch");

    // A tenant with proofs still refuses a login without one.
    let problem = service.public.post(LOGINS, &good).await.problem(422, "field-invalid");
    assert!(problem["detail"].as_str().unwrap().contains("`session_id`"), "{problem}");
    assert_eq!(app.public.post(LOGINS, &good).await.decision(), Decision::Match, "nothing was spent");
}

/// A handle that comes from a credential must not become reachable with an API key alone, nor the other way about.
#[tokio::test(flavor = "multi_thread")]
async fn whether_a_proof_is_needed_is_fixed_when_the_tenant_is_made() {
    let service = Service::start().await;
    let app = Application::new(&service, unproven()).await;
    for (tenant, mut policy, is) in
        [(app.tenant, service::policy(), "`none`"), (service.tenant, unproven(), "`credential`")]
    {
        policy["audiences"] = json!(["elsewhere.example"]);
        let path = format!("/v1/tenants/{}/policy", hex::encode(tenant));
        let put = json!({"policy": policy}).to_string();
        let problem = service.admin.send(Method::PUT, &path, &[], put).await.problem(422, "field-invalid");
        assert_eq!(problem["errors"][0]["pointer"], "/policy/proof");
        assert!(problem["detail"].as_str().unwrap().contains(is), "{problem}");
    }
    for (field, value) in
        [("level_min", json!(1)), ("sessions_in_memory", json!(8)), ("probe", json!("shared"))]
    {
        let policy = with(unproven(), field, value);
        let made = service.admin.post("/v1/tenants", &json!({"name": "t", "policy": policy})).await;
        let problem = made.problem(422, "field-invalid");
        assert_eq!(problem["errors"][0]["pointer"], format!("/policy/{field}"));
    }
    // A permitted change becomes a version that the next attestation names, still without a proof.
    let own = face(1);
    app.enrol(1, &own).await;
    let path = format!("/v1/tenants/{}", hex::encode(app.tenant));
    let mut policy = service.admin.get(&path).await.json()["policy"].clone();
    assert_eq!(policy["proof"], "none");
    policy["attestation_lifetime_s"] = json!(60);
    let put = json!({"policy": policy}).to_string();
    let changed = service.admin.send(Method::PUT, &format!("{path}/policy"), &[], put).await.json();
    assert_eq!(changed["policy_version"], 2);
    let request = app.request(1, &own, 1);
    let matched = answer(&app.send(&request).await);
    let statement = app.statement(&request, &matched);
    assert_eq!((statement.policy_version, statement.proof), (2, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_and_nonces_are_a_tenants_own_and_scopes_hold() {
    let service = Service::start().await;
    let (app, neighbour) =
        (Application::new(&service, unproven()).await, Application::new(&service, unproven()).await);
    let (own, other) = (face(1), face(2));
    app.enrol(1, &own).await;
    neighbour.send(&neighbour.request(1, &own, 1)).await.problem(404, "subject-unknown");
    // Both choose one handle, for different people, and relying parties one nonce.
    neighbour.enrol(1, &other).await;
    let (request, same) = (app.request(1, &own, 1), neighbour.request(1, &own, 1));
    app.send(&request).await.matches();
    neighbour.send(&same).await.denies();
    assert_ne!(request.request_digest(&app.tenant), same.request_digest(&neighbour.tenant));

    // The handle of somebody with a credential is unknown at a tenant without proofs.
    let members = Members::new(&service.customer, 1, 72);
    service.publish(members.root(), 1).await;
    members.enrol(&service.customer, 0).await;
    let mut wallet = members.open(&service.customer, 0, 1, AUDIENCE).await;
    let held = wallet.request(&service.customer);
    let mut stolen = app.request(1, &own, 2);
    stolen.handle = held.handle;
    stolen.embedding = held.embedding.clone().unwrap();
    app.send(&stolen).await.problem(404, "subject-unknown");
    service.public.post(LOGINS, &body(&stolen)).await.problem(422, "field-invalid");
    assert_eq!(service.authenticate(&held).await.decision(), Decision::Match, "and nothing was spent");

    let narrow =
        service.public.with_bearer(&service.admin.api_key(hex::encode(app.tenant), &["authenticate"]).await);
    narrow.enrol([3; 32], &own, "3").await.problem(403, "scope-missing");
    let path = format!("/v1/subjects/{}/templates", hex::encode([1; 32]));
    narrow.delete(&path).await.problem(403, "scope-missing");
    let kiosk = service.public.with_bearer(&service.admin.api_key(hex::encode(app.tenant), &["enrol"]).await);
    kiosk.post(LOGINS, &body(&app.request(1, &own, 3))).await.problem(403, "scope-missing");
    narrow.post(LOGINS, &body(&app.request(1, &own, 3))).await.matches();
}

#[tokio::test(flavor = "multi_thread")]
async fn budgets_are_charged_and_an_entry_that_is_wrong_refuses_only_itself() {
    let service = Service::start().await;
    let policy = with(unproven(), "attempts", json!({"consecutive": 2, "delay_s": 3600}));
    let app = Application::new(&service, policy).await;
    let (own, other) = (face(1), face(2));
    for handle in [1, 2, 3] {
        app.enrol(handle, &own).await;
    }
    let entry = |handle, face: &[f32; 128], nonce| body(&app.request(handle, face, nonce));
    let entries = json!({"authentications": [
        entry(1, &own, 1),
        entry(2, &other, 1),
        with(entry(3, &own, 2), "session_id", json!("00".repeat(32))),
        entry(4, &own, 3),
        with(entry(3, &own, 4), "embedding", json!([0.0])),
        entry(1, &own, 1),
        json!("no login at all"),
        with(entry(3, &own, 5), "audience", json!("elsewhere.example")),
        entry(3, &own, 6),
    ]});
    let results = app.public.post("/v1/authentications/batch", &entries).await.json()["results"].clone();
    let said: Vec<&str> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["problem"]["code"].as_str().or(result["decision"].as_str()).unwrap())
        .collect();
    // Of the two with one nonce exactly one is taken.
    let (replayed, decided) = if said[0] == "match" { (5, 0) } else { (0, 5) };
    assert_eq!((said[replayed], said[decided]), ("nonce-replayed", "match"), "{results}");
    let expected = ["no_match", "proof-mode-mismatch", "subject-unknown", "field-invalid"];
    assert_eq!(said[1..5], expected, "{results}");
    assert_eq!(said[6..], ["field-invalid", "audience-not-allowed", "match"], "{results}");
    assert_eq!(results[2]["problem"]["errors"][0]["pointer"], "/session_id");

    // After a second failure in a row not even the own face is accepted.
    app.send(&app.request(2, &other, 7)).await.denies();
    app.send(&app.request(2, &own, 8)).await.denies();
    app.send(&app.request(3, &own, 9)).await.matches();
}
