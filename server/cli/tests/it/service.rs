//! A service in this process, one tenant, and people with credentials, faces and sessions.

use crate::http::{Endpoint, Reply, tls};
pub(crate) use crate::http::{answer, vector};
use crate::members::Members;
use crate::nodes::Nodes;
use crate::program::Program;
use crate::store;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hyper::Method;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use trefoil_api::{AttestationForm, Authentication, Base64, Hex, Nonce};
use trefoil_attest::{Attestation, Evidence, Seal, TrustRoot, What, verify_change};
use trefoil_issuer::{public_key, sign as sign_root};
use trefoil_pipeline::Clock;
use trefoil_server::config::{Config, DatabaseUrl, Overrides, Precompute};
use trefoil_server::server::Server;
use trefoil_service::login::clock::SystemClock;
use trefoil_sign::{MlDsa65, SignatureFamily as _};
use trefoil_types::TenantId;
use trefoil_types::{Handle, SessionId};
use trefoil_wallet::credentials::{IssuerPublicKey, RootLog, RootStatement, SignedRoot};
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::session::{SessionKey, request_mac};

pub(crate) const AUDIENCE: &str = "shop.example";

/// Ten minutes into an epoch, so that none ends during a test.
const START: u64 = 1_795_000_000 / trefoil_zkp::EPOCH_SECONDS * trefoil_zkp::EPOCH_SECONDS + 600;

/// A clock that stands at [`START`] and jumps when a test says so, so that no test depends on how fast it runs. So does that of the database
/// of a fleet, by which it goes.
#[derive(Default)]
pub(crate) struct TestClock {
    machine: SystemClock,
    ahead_s: AtomicU64,
    databases: Mutex<HashSet<String>>,
    /// Goes on with the machine's clock, as a database's does that it does not rule.
    goes_on: bool,
}

impl TestClock {
    pub(crate) fn advance(&self, seconds: u64) {
        self.ahead_s.fetch_add(seconds, Ordering::Relaxed);
        let databases = self.databases.lock().unwrap();
        databases.iter().for_each(|url| store::set_clock(url, self.unix_s()));
    }

    /// Jumps either way.
    pub(crate) fn step(&self, by_s: i64) {
        self.advance(by_s.cast_unsigned());
    }

    /// From now on this is the clock of the database at this address too, for sessions that begin after that.
    pub(crate) fn rule(&self, url: &str) {
        if self.goes_on {
            return;
        }
        if self.databases.lock().unwrap().insert(url.to_owned()) {
            store::make_clock(url);
        }
        store::set_clock(url, self.unix_s());
    }

    /// Stands where the machine's clock is, by which a key-holder elsewhere sees how old a sealed share is. That of a fleet goes on, because a test
    /// may take longer than a share lives.
    pub(crate) fn of_machine() -> TestClock {
        if store::is_fleet() {
            return TestClock::going_on();
        }
        let clock = TestClock::default();
        clock.advance(trefoil_host::unix_s().wrapping_sub(START));
        clock
    }

    /// The machine's clock, plus its jumps. A database of a fleet, which goes by its machine's, refuses a node whose clock stands.
    pub(crate) fn going_on() -> TestClock {
        TestClock { goes_on: true, ..TestClock::default() }
    }

    /// How far it has jumped, seconds.
    pub(crate) fn ahead(&self) -> u64 {
        self.ahead_s.load(Ordering::Relaxed)
    }
}

impl Clock for TestClock {
    fn unix_s(&self) -> u64 {
        let stands = if self.goes_on { trefoil_host::unix_s() } else { START };
        stands.wrapping_add(self.ahead())
    }

    fn monotonic_ns(&self) -> u64 {
        self.machine.monotonic_ns()
    }

    fn wait_until(&self, monotonic_ns: u64) {
        self.machine.wait_until(monotonic_ns);
    }
}

/// A running service with one tenant.
pub(crate) struct Service {
    pub(crate) server: Nodes,
    pub(crate) trust_root: TrustRoot,
    pub(crate) customer: Customer,
    pub(crate) config: Config,
    /// Its own, unless the test has one.
    folder: Option<TempDir>,
}

/// The tenant, its issuer and its operator, wherever the service runs.
pub(crate) struct Customer {
    pub(crate) clock: Arc<TestClock>,
    pub(crate) public: Endpoint,
    pub(crate) admin: Endpoint,
    pub(crate) tenant: TenantId,
    /// The tenant's issuer: its key, and the end of its chain of roots.
    pub(crate) issuer: Mutex<(MlDsa65, RootLog)>,
}

impl Deref for Service {
    type Target = Customer;

    fn deref(&self) -> &Customer {
        &self.customer
    }
}

impl DerefMut for Service {
    fn deref_mut(&mut self) -> &mut Customer {
        &mut self.customer
    }
}

/// One person: a credential, a face, and a session once opened.
pub(crate) struct Person {
    pub(crate) handle: Handle,
    pub(crate) face: [f32; 128],
    pub(crate) envelope: Vec<u8>,
    pub(crate) session_id: SessionId,
    pub(crate) key: SessionKey,
}

/// A configuration on free ports.
pub(crate) fn config(data_dir: &Path) -> Config {
    let overrides = Overrides {
        data_dir: Some(data_dir.to_owned()),
        listen: Some("127.0.0.1:0".parse().unwrap()),
        admin_listen: Some("127.0.0.1:0".parse().unwrap()),
        workers: Some(2),
        ..Overrides::default()
    };
    let mut config = Config::load(None, std::iter::empty(), &overrides).unwrap();
    config.server.issuer = "https://auth.example".to_owned();
    if let Some(url) = store::database(data_dir) {
        config.store.url = DatabaseUrl(url);
        // A loaded machine is not a database that is away.
        config.store.timeout_ms = 60_000;
    }
    config.proofs.cache_capacity = 1000;
    // In the second that a test's service lives it earns back no more.
    config.keys.precompute = Precompute::Brief;
    // Most tests log people in one after the other, and each login would wait for others to join its batch.
    config.pipeline.seal_floor_ms = 0;
    // A loaded machine must not turn a slow verification into a refused one.
    config.proofs.deadline_ms = 60_000;
    config.limits.handshake_timeout_s = 60;
    config.limits.first_request_timeout_s = 60;
    config.limits.header_timeout_s = 60;
    config.limits.write_timeout_s = 60;
    config.limits.body_timeout_s = 60;
    config.limits.answer_timeout_s = 60;
    config
}

pub(crate) async fn start(config: Config, clock: &Arc<TestClock>) -> Nodes {
    Nodes::start(config, clock).await
}

pub(crate) fn policy() -> Value {
    json!({
        "embedder": "test-128",
        "threshold": {"calibrated": {"score": 18_000, "fmr_class": 3}},
        "audiences": [AUDIENCE, "bank.example"],
        "level_min": 2,
    })
}

/// This with another value of a member.
pub(crate) fn with(mut body: Value, member: &str, value: impl Into<Value>) -> Value {
    body[member] = value.into();
    body
}

/// The policy of a tenant that asks for no proof.
pub(crate) fn unproven() -> Value {
    with(with(policy(), "level_min", 0), "proof", "none")
}

/// A policy whose budgets no test uses up.
pub(crate) fn lenient() -> Value {
    with(policy(), "attempts", unlimited())
}

/// Budgets that no test uses up.
pub(crate) fn unlimited() -> Value {
    let most = 1_000_000;
    json!({
        "consecutive": most, "failures_per_day": most, "failures_per_generation": most,
        "attempts_per_day": most, "attempts_per_generation": most,
    })
}

impl Service {
    /// A service in a folder of its own.
    pub(crate) async fn start() -> Service {
        Service::own(policy(), |_| ()).await
    }

    /// The same with other settings.
    pub(crate) async fn configured(change: impl FnOnce(&mut Config)) -> Service {
        Service::own(policy(), change).await
    }

    /// The same, whose tenant has this policy.
    pub(crate) async fn own(policy: Value, change: impl FnOnce(&mut Config)) -> Service {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(&folder.path().join("data"));
        change(&mut config);
        Service { folder: Some(folder), ..Service::with_policy(config, policy).await }
    }

    /// A service whose tenant has this policy, and which goes by the machine's clock.
    pub(crate) async fn timely(policy: Value) -> Service {
        let folder = tempfile::tempdir().unwrap();
        let config = config(&folder.path().join("data"));
        Service { folder: Some(folder), ..Service::at(config, policy, TestClock::of_machine()).await }
    }

    pub(crate) async fn new(config: Config) -> Service {
        Service::with_policy(config, policy()).await
    }

    /// A service whose tenant has this policy.
    pub(crate) async fn with_policy(config: Config, policy: Value) -> Service {
        Service::at(config, policy, TestClock::default()).await
    }

    /// The same, with this clock.
    pub(crate) async fn at(config: Config, policy: Value, clock: TestClock) -> Service {
        let clock = Arc::new(clock);
        let server = start(config.clone(), &clock).await;
        let (public, admin) = endpoints(&server);
        let trust_root = server.trust_root();
        let customer = Customer::new(public, admin, clock, policy).await;
        Service { server, trust_root, customer, config, folder: None }
    }

    /// The same, of which one node is asked from now on.
    pub(crate) fn at_one_node(self) -> Service {
        self.server.ask_the_first();
        self
    }

    /// The data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.config.server.data_dir.clone()
    }

    /// A path beside the data directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.config.server.data_dir.with_file_name(name)
    }

    /// The same service started again.
    pub(crate) async fn restart(self) -> Service {
        self.restart_after(async |_| ()).await
    }

    /// The same, with `between` called while no service runs.
    pub(crate) async fn restart_after(self, between: impl AsyncFnOnce(&Arc<TestClock>)) -> Service {
        let between = async |clock: &Arc<TestClock>| {
            between(clock).await;
            // Requests that the process before could have attested are refused, except by a fleet, which remembers them.
            if !store::is_fleet() {
                clock.advance(10);
            }
        };
        self.restart_at_once(between).await
    }

    /// The same without the seconds that pass in between.
    pub(crate) async fn restart_at_once(self, between: impl AsyncFnOnce(&Arc<TestClock>)) -> Service {
        let Service { server, trust_root, customer, config, folder } = self;
        assert!(server.shutdown().await);
        between(&customer.clock).await;
        Service { trust_root, folder, ..Service::resumed(config, customer).await }
    }

    /// A service that knows this customer already.
    pub(crate) async fn resumed(config: Config, mut customer: Customer) -> Service {
        let server = start(config.clone(), &customer.clock).await;
        customer.moved(endpoints(&server));
        Service { trust_root: server.trust_root(), server, customer, config, folder: None }
    }

    /// What the receipt in an answer says was done, verified offline, and when.
    #[track_caller]
    pub(crate) fn receipt(&self, answer: &Value) -> (What, u64) {
        let receipt = receipt(answer);
        let (root, tenant, now) = (&self.trust_root, Some(&self.tenant), self.clock.unix_s());
        let change = *verify_change(&receipt, root, tenant, now).unwrap().change();
        (change.what, change.changed_at)
    }
}

/// The receipt in an answer.
#[track_caller]
pub(crate) fn receipt(answer: &Value) -> Vec<u8> {
    let receipt = answer["receipt"]["attestation"].clone();
    serde_json::from_value::<Base64>(receipt).unwrap_or_else(|_| panic!("{answer:.300}")).0
}

/// The seal of an attestation that has it.
#[track_caller]
pub(crate) fn seal(attestation: &[u8]) -> Seal {
    match Attestation::decode(attestation).unwrap().evidence {
        Evidence::Full(seal) => seal,
        Evidence::Compact(_) => panic!("it is not a full one"),
    }
}

impl Customer {
    /// A new tenant of the service at these endpoints.
    pub(crate) async fn new(
        public: Endpoint,
        admin: Endpoint,
        clock: Arc<TestClock>,
        policy: Value,
    ) -> Customer {
        let tenant = Hex::<16>::parse(&admin.tenant(&policy).await).unwrap().0;
        let key = MlDsa65::generate(&mut StdRng::seed_from_u64(0)).unwrap();
        let registered = public_key(&key);
        let issuer = Mutex::new((key, RootLog::new(TenantId::new(tenant), None)));
        let mut customer = Customer { clock, public, admin, tenant: TenantId::new(tenant), issuer };
        if policy["proof"] != "none" {
            customer.register(&registered).await;
        }
        let key = customer.api_key(&["enrol", "authenticate", "issue"]).await;
        customer.public = customer.public.with_bearer(&key);
        customer
    }

    /// A new tenant of a program, which goes by the machine's clock.
    pub(crate) async fn of(program: &Program, policy: Value) -> Customer {
        let (public, admin) = (program.public.clone(), program.admin.clone());
        Customer::new(public, admin, Arc::new(TestClock::of_machine()), policy).await
    }

    /// Moves the customer to a service at other endpoints; its key stays valid.
    pub(crate) fn moved(&mut self, (public, admin): (Endpoint, Endpoint)) {
        let bearer = self.public.bearer.take();
        (self.public, self.admin) = (Endpoint { bearer, ..public }, admin);
    }

    /// A new API key with these scopes.
    pub(crate) async fn api_key(&self, scopes: &[&str]) -> String {
        self.admin.api_key(hex::encode(self.tenant), scopes).await
    }

    /// A path of the tenant.
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/v1/tenants/{}{rest}", hex::encode(self.tenant))
    }

    pub(crate) async fn put_policy(&self, policy: &Value) -> Reply {
        self.admin.put(&self.path("/policy"), &json!({ "policy": policy })).await
    }

    /// Another tenant of the service.
    pub(crate) async fn neighbour(&self, policy: Value) -> Customer {
        let (public, admin) = (self.public.clone(), self.admin.clone());
        Customer::new(public, admin, Arc::clone(&self.clock), policy).await
    }

    /// People under the first root, enrolled and in session.
    pub(crate) async fn welcomed(&self, count: u32, seed: u64) -> Vec<Person> {
        let people = self.people(count, 1, seed).await;
        self.welcome_all(&people).await;
        people
    }

    pub(crate) async fn welcome_all(&self, people: &[Person]) {
        for person in people {
            self.welcome(person).await;
        }
    }

    /// People with credentials under a root published as `generation`. `seed` fixes secrets and faces.
    pub(crate) async fn people(&self, count: u32, generation: u32, seed: u64) -> Vec<Person> {
        let (root, people) = self.make_people(count, generation, seed);
        self.publish(root, generation).await;
        people
    }

    pub(crate) async fn register(&self, key: &IssuerPublicKey) {
        let body = json!({"ml_dsa_65": BASE64.encode(key.as_bytes())});
        self.admin.put(&self.path("/issuer-key"), &body).await.is(200);
    }

    /// Publishes a root and withdraws all before it.
    pub(crate) async fn publish(&self, root: [u8; 32], generation: u32) {
        self.publish_keeping(root, generation, generation).await;
    }

    /// Publishes a root; generations from `generation_min` on stay accepted.
    pub(crate) async fn publish_keeping(&self, root: [u8; 32], generation: u32, generation_min: u32) {
        self.send_root(&self.next_root(root, generation, generation_min)).await.is(201);
    }

    /// The next root of the tenant's chain, signed.
    pub(crate) fn next_root(&self, root: [u8; 32], generation: u32, generation_min: u32) -> SignedRoot {
        let (key, log) = &mut *self.issuer.lock().unwrap();
        let statement = RootStatement {
            tenant: self.tenant,
            generation,
            generation_min,
            root: trefoil_zkp::Digest::from_bytes(&root).unwrap(),
            issued_at: self.clock.unix_s(),
            previous: log.head(),
            key_id: public_key(key).id(),
        };
        sign_root(&statement, key, &mut StdRng::seed_from_u64(1)).unwrap()
    }

    pub(crate) async fn send_root(&self, root: &SignedRoot) -> Reply {
        let body = json!({
            "statement": BASE64.encode(&root.statement),
            "signature": BASE64.encode(&root.signature),
        });
        let reply = self.public.post("/v1/credentials/roots", &body).await;
        if reply.status == 201 {
            let statement = RootStatement::decode(&root.statement).unwrap();
            self.issuer.lock().unwrap().1 = RootLog::new(self.tenant, Some(statement));
        }
        reply
    }

    /// As [`Service::people`], and the root, unpublished.
    pub(crate) fn make_people(&self, count: u32, generation: u32, seed: u64) -> ([u8; 32], Vec<Person>) {
        let members = Members::new(self, count as usize, seed);
        let person = |member| {
            let proven = members.prove(member, generation, seed + member as u64);
            let key = ProofEnvelope::decode(&proven.envelope).unwrap().session_key;
            let (handle, session_id) = (proven.session.handle().0, proven.session.id().0);
            Person {
                handle: Handle::new(handle),
                face: members.face(member),
                envelope: proven.envelope,
                session_id: SessionId::new(session_id),
                key,
            }
        };
        (members.root(), (0..count as usize).map(person).collect())
    }

    pub(crate) async fn enrol(&self, person: &Person, idempotency_key: &str) -> Reply {
        self.public.enrol(person.handle, &person.face, idempotency_key).await
    }

    pub(crate) async fn prove(&self, person: &Person) -> Reply {
        self.try_prove(person).await.unwrap()
    }

    /// Sends to a service that may end meanwhile.
    pub(crate) async fn try_prove(&self, person: &Person) -> Result<Reply, Box<dyn std::error::Error>> {
        self.try_open(&person.envelope).await
    }

    /// Uploads a proof.
    pub(crate) async fn open(&self, envelope: &[u8]) -> Reply {
        self.try_open(envelope).await.unwrap()
    }

    async fn try_open(&self, envelope: &[u8]) -> Result<Reply, Box<dyn std::error::Error>> {
        let headers = [("content-type", "application/octet-stream")];
        self.public.try_send(Method::POST, "/v1/proof-sessions", &headers, envelope.to_vec()).await
    }

    /// Enrols and opens the session.
    pub(crate) async fn welcome(&self, person: &Person) {
        self.enrol(person, &hex::encode(person.session_id)).await.is(201);
        let opened = self.prove(person).await.is(201);
        assert_eq!(opened.field("session_id"), hex::encode(person.session_id));
    }

    /// A signed request of `person` that shows `face`.
    pub(crate) fn request(&self, person: &Person, face: &[f32], nonce: u64) -> Authentication {
        request_at(self.clock.unix_s(), person, face, nonce)
    }

    /// Sends such a request.
    pub(crate) async fn login(&self, person: &Person, face: &[f32], nonce: u64) -> Reply {
        self.authenticate(&self.request(person, face, nonce)).await
    }

    pub(crate) async fn authenticate(&self, request: &Authentication) -> Reply {
        self.try_authenticate(request).await.unwrap()
    }

    /// Of a service that may be killed meanwhile.
    pub(crate) async fn try_authenticate(
        &self,
        request: &Authentication,
    ) -> Result<Reply, Box<dyn std::error::Error>> {
        let body = serde_json::to_vec(request).unwrap();
        self.public.try_send(Method::POST, "/v1/authentications", &[], body).await
    }

    /// The value of a metric.
    pub(crate) async fn metric(&self, name: &str) -> u64 {
        self.admin.metric(name).await
    }
}

/// A signed request of `person` that shows `face` at this time, Unix seconds.
pub(crate) fn request_at(issued_at: u64, person: &Person, face: &[f32], nonce: u64) -> Authentication {
    let mut request = Authentication {
        handle: Hex(person.handle.to_bytes()),
        session_id: Hex(person.session_id.to_bytes()),
        audience: AUDIENCE.to_owned(),
        nonce: Nonce::new([nonce.to_le_bytes(), nonce.to_le_bytes()].concat()).unwrap(),
        issued_at,
        embedding: Some(vector(face)),
        shares: None,
        mac: Hex([0; 32]),
        embedder: None,
        source: None,
        attestation: AttestationForm::Full,
    };
    sign(&mut request, &person.key);
    request
}

pub(crate) fn endpoints(server: &Server) -> (Endpoint, Endpoint) {
    let tls = tls(&server.certificate_path());
    let public = Endpoint { address: server.public_address(), tls: Arc::clone(&tls), bearer: None };
    let admin = Endpoint { address: server.admin_address(), tls, bearer: None };
    (public, admin.with_bearer(server.admin_token()))
}

pub(crate) fn templates_path(person: &Person) -> String {
    format!("/v1/subjects/{}/templates", hex::encode(person.handle))
}

pub(crate) fn sign(request: &mut Authentication, key: &SessionKey) {
    let digest = request.probe_digest();
    request.mac = Hex(request_mac(key, &request.header(&digest)));
}
