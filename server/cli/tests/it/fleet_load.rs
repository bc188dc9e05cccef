//! People, impostors, an attacker, a thief of requests and operators who use all nodes of a fleet at a time, and what they were told.

use crate::fleet::{Fleet, NODES};
use crate::world::*;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use trefoil_api::Base64;
use trefoil_attest::{ExpectedNonce, Policy, TrustRoot, What, verify, verify_change};
use trefoil_types::{KeySetId, TenantId};

/// Why a login may be refused while parts of the fleet are away.
const UNAVAILABLE: [&str; 10] = [
    "before-restart",
    "draining",
    "key-holder-unavailable",
    "no-answer",
    "no-connection",
    "policy-out-of-step",
    "store-unavailable",
    "timed-out",
    "undecided",
    "unsealed",
];
/// How long a client waits for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(20);
/// Accepted requests that are sent again.
const USED_MAX: usize = 256;
/// Attempts that the attacked account's policy allows in its life.
pub(crate) const BUDGET: u64 = 24;

/// The fleet as its clients see it.
pub(crate) struct World {
    nodes: Mutex<Vec<(Endpoint, Endpoint)>>,
    bearer: String,
    tenant: TenantId,
    trust_root: TrustRoot,
    people: Mutex<Vec<Arc<Person>>>,
    /// A tenant's only person, who may be tried [`BUDGET`] times, and the tenant's API key.
    attacked: (Person, String),
    pub(crate) stop: AtomicBool,
    told: Mutex<Told>,
}

/// The answers.
#[derive(Default)]
pub(crate) struct Told {
    /// Requests with a decision, each attested, and of these the impostors'.
    pub(crate) attested: u64,
    pub(crate) impostors: u64,
    pub(crate) refused: BTreeMap<String, u64>,
    /// Logins, each of which is tried at one node after the other, and those that no node decided.
    pub(crate) logins: u64,
    pub(crate) undecided: u64,
    /// Accepted requests that were sent again, and requests that were sent to two nodes at a time.
    pub(crate) replays: u64,
    pub(crate) doubled: u64,
    /// Attempts at the attacked account: right faces that matched, and that a spent budget denied.
    pub(crate) matched: u64,
    pub(crate) spent: u64,
    /// The digest of each seal's header.
    pub(crate) seals: HashMap<u64, [u8; 32]>,
    pub(crate) signers: HashSet<KeySetId>,
    /// Writes that were acknowledged, each with a receipt, but for so many whose receipt could not be sealed in time.
    pub(crate) enrolled: Vec<Handle>,
    pub(crate) revoked: Vec<Handle>,
    pub(crate) erased: Vec<Handle>,
    pub(crate) api_keys: Vec<String>,
    pub(crate) policies: Vec<(u64, u64)>,
    pub(crate) sessions: u64,
    pub(crate) receipts_missing: u64,
    pub(crate) writes_refused: u64,
    pub(crate) outages: [Outage; NODES],
    used: VecDeque<Authentication>,
}

/// From a request that a node did not decide to the next one that it did.
#[derive(Default)]
pub(crate) struct Outage {
    since: Option<Instant>,
    pub(crate) longest: Duration,
}

impl Outage {
    fn end(&mut self) {
        if let Some(since) = self.since.take() {
            self.longest = self.longest.max(since.elapsed());
        }
    }
}

impl World {
    /// The fleet with people who have sessions, and another tenant with the account that is attacked.
    pub(crate) async fn of(fleet: &mut Fleet, people: Vec<Person>) -> Arc<World> {
        let mut policy = service::lenient();
        policy["attempts"]["attempts_per_generation"] = BUDGET.into();
        let other = fleet.at(0).neighbour(policy).await;
        let person = other.welcomed(1, 77).await.remove(0);
        let of = |customer: &Customer| customer.public.bearer.clone().unwrap();
        Arc::new(World {
            nodes: Mutex::new(
                fleet.nodes.iter().map(|node| (node.public.clone(), node.admin.clone())).collect(),
            ),
            bearer: of(&fleet.customer),
            tenant: fleet.customer.tenant,
            trust_root: fleet.trust_root.clone(),
            people: Mutex::new(people.into_iter().map(Arc::new).collect()),
            attacked: (person, of(&other)),
            stop: AtomicBool::new(false),
            told: Mutex::default(),
        })
    }

    pub(crate) fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap()
    }

    /// A node was started again.
    pub(crate) fn moved(&self, node: usize, ends: (Endpoint, Endpoint)) {
        self.nodes.lock().unwrap()[node] = ends;
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn public(&self, node: usize) -> Endpoint {
        self.nodes.lock().unwrap()[node].0.with_bearer(&self.bearer)
    }

    fn admin(&self, node: usize) -> Endpoint {
        self.nodes.lock().unwrap()[node].1.clone()
    }

    /// Two people at random.
    fn two(&self, rng: &mut StdRng) -> (Arc<Person>, Arc<Person>) {
        let people = self.people.lock().unwrap();
        let mut two = people.sample(rng, 2).cloned();
        (two.next().unwrap(), two.next().unwrap())
    }

    /// Some requests that were accepted.
    fn used(&self, rng: &mut StdRng) -> Vec<Authentication> {
        let used = &self.told().used;
        let any = |_| used.get(rng.random_range(0..used.len().max(1))).cloned();
        (0..3).filter_map(any).collect()
    }

    /// Sends a login, and notes how it went. Whether it was decided.
    async fn login(&self, node: usize, request: &Authentication, expected: Decision) -> bool {
        let begun = Instant::now();
        match decided(&self.public(node), request).await {
            Ok(attestation) => {
                self.told().outages[node].end();
                self.attested(&attestation, request, expected);
                true
            }
            // The node decided it when it was sent before.
            Err(reason) if reason == "nonce-replayed" => false,
            Err(reason) => {
                self.refused(node, begun, reason);
                tokio::time::sleep(Duration::from_millis(20)).await;
                false
            }
        }
    }

    fn refused(&self, node: usize, begun: Instant, reason: String) {
        assert!(UNAVAILABLE.contains(&reason.as_str()), "{reason}");
        let mut told = self.told();
        told.outages[node].since.get_or_insert(begun);
        *told.refused.entry(reason).or_default() += 1;
    }

    fn attested(&self, decided: &(Decision, Vec<u8>), request: &Authentication, expected: Decision) {
        assert_eq!(decided.0, expected, "a wrong decision");
        self.verified(decided, request);
        let mut told = self.told();
        told.attested += 1;
        told.impostors += u64::from(expected == Decision::NoMatch);
        told.used.push_back(request.clone());
        if told.used.len() > USED_MAX {
            told.used.pop_front();
        }
    }

    /// The attestation says what the answer does, and its seal is the only one of its number.
    fn verified(&self, (decision, bytes): &(Decision, Vec<u8>), request: &Authentication) {
        let nonce = ExpectedNonce::Exactly(request.nonce.as_bytes().to_vec());
        let policy = Policy::new(self.trust_root.clone(), AUDIENCE, nonce).any_decision();
        let verified = verify(bytes, &policy, trefoil_host::unix_s()).unwrap();
        assert_eq!(verified.statement().decision, *decision, "another decision is attested");
        let seal = crate::service::seal(bytes);
        let (number, digest) = (seal.header.seal_number, seal.header.digest());
        let mut told = self.told();
        assert_eq!(*told.seals.entry(number).or_insert(digest), digest, "seal {number} has two contents");
        told.signers.insert(seal.header.key_set_id);
    }

    /// People who log in, and impostors who try to, at one node after the other until one decides.
    pub(crate) async fn visit(self: Arc<Self>, seed: u64) {
        let mut rng = StdRng::seed_from_u64(seed);
        while !self.stopped() {
            let (person, other) = self.two(&mut rng);
            let (face, expected) = match rng.random_bool(0.7) {
                true => (&person.face, Decision::Match),
                false => (&other.face, Decision::NoMatch),
            };
            let first = rng.random_range(0..NODES);
            let mut is_decided = false;
            for step in 0..NODES {
                let request = signed(&person, face, rng.random());
                if self.login((first + step) % NODES, &request, expected).await {
                    is_decided = true;
                    break;
                }
            }
            let mut told = self.told();
            told.logins += 1;
            told.undecided += u64::from(!is_decided);
        }
    }

    /// Sends one request to two nodes at a time, and requests that were accepted a while ago again.
    pub(crate) async fn replay(self: Arc<Self>, seed: u64) {
        let mut rng = StdRng::seed_from_u64(seed);
        while !self.stopped() {
            let (person, _) = self.two(&mut rng);
            let request = signed(&person, &person.face, rng.random());
            let one = rng.random_range(0..NODES);
            let two = (one + rng.random_range(1..NODES)) % NODES;
            let (first, second) = tokio::join!(
                self.login(one, &request, Decision::Match),
                self.login(two, &request, Decision::Match)
            );
            assert!(!(first && second), "one nonce was accepted by two nodes");
            self.told().doubled += 1;
            for request in self.used(&mut rng) {
                let outcome = decided(&self.public(rng.random_range(0..NODES)), &request).await;
                assert!(outcome.is_err(), "a nonce was accepted twice");
                self.told().replays += 1;
            }
        }
    }

    /// Shows the attacked account's right face at a node, again and again.
    pub(crate) async fn attack(self: Arc<Self>, node: usize) {
        while !self.stopped() {
            self.attack_once(node).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Whether a spent budget denied it; `None` if it was refused.
    pub(crate) async fn attack_once(&self, node: usize) -> Option<bool> {
        let (person, bearer) = &self.attacked;
        let request = signed(person, &person.face, rand::rng().random());
        let answer = decided(&self.public(node).with_bearer(bearer), &request).await.ok()?;
        self.verified(&answer, &request);
        let decision = answer.0;
        let mut told = self.told();
        match decision {
            Decision::Match => told.matched += 1,
            Decision::NoMatch => told.spent += 1,
        }
        assert!(told.matched <= BUDGET, "{} matches of at most {BUDGET}", told.matched);
        Some(decision == Decision::NoMatch)
    }

    /// Enrols, revokes and erases subjects, makes API keys, changes the policy, and welcomes these people.
    pub(crate) async fn write(self: Arc<Self>, seed: u64, mut newcomers: Vec<Person>) {
        let mut rng = StdRng::seed_from_u64(seed);
        for number in 0_u64.. {
            if self.stopped() {
                break;
            }
            let node = rng.random_range(0..NODES);
            let is_told = match number % 8 {
                0 => self.add_api_key(node).await,
                2 => self.put_policy(node, 18_000 + number % 64).await,
                3 => self.revoke(node).await,
                5 => self.erase(node).await,
                4 if !newcomers.is_empty() => self.welcome(node, &mut newcomers).await,
                _ => self.enrol(node, rng.random()).await,
            };
            self.told().writes_refused += u64::from(!is_told);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// A path of the tenant.
    fn path(&self, rest: &str) -> String {
        format!("/v1/tenants/{}/{rest}", hex::encode(self.tenant))
    }

    /// What an operation that succeeded returned. Its receipt verifies, if it could be sealed in time.
    fn acknowledged(&self, reply: Option<Reply>, status: u16) -> Option<(Value, Option<What>)> {
        let reply = reply?;
        let is_done = reply.status.as_u16() == status;
        assert!(is_done || reply.status == 503, "{}", reply.text());
        is_done.then(|| {
            let answer = reply.json();
            if answer["receipt"].is_null() {
                self.told().receipts_missing += 1;
                return (answer, None);
            }
            let receipt: Base64 = serde_json::from_value(answer["receipt"]["attestation"].clone()).unwrap();
            let now = trefoil_host::unix_s();
            let verified = verify_change(&receipt.0, &self.trust_root, Some(&self.tenant), now).unwrap();
            (answer, Some(verified.change().what))
        })
    }

    async fn add_api_key(&self, node: usize) -> bool {
        let (path, body) = (self.path("api-keys"), json!({"scopes": ["enrol"]}));
        let reply = sent(&self.admin(node), Method::POST, &path, &[], &body).await;
        let Some((reply, _)) = self.acknowledged(reply, 201) else { return false };
        self.told().api_keys.push(reply["api_key"].as_str().unwrap().to_owned());
        true
    }

    async fn put_policy(&self, node: usize, score: u64) -> bool {
        let mut policy = service::policy();
        policy["attempts"] = service::unlimited();
        policy["threshold"]["calibrated"]["score"] = score.into();
        let path = self.path("policy");
        let reply = sent(&self.admin(node), Method::PUT, &path, &[], &json!({"policy": policy})).await;
        let Some((reply, _)) = self.acknowledged(reply, 200) else { return false };
        self.told().policies.push((reply["policy_version"].as_u64().unwrap(), score));
        true
    }

    async fn enrol(&self, node: usize, handle: [u8; 32]) -> bool {
        let somebody = Arc::clone(&self.people.lock().unwrap()[0]);
        let reply = self.template(node, handle, &somebody).await;
        let is_told = self.acknowledged(reply, 201).is_some();
        if is_told {
            self.told().enrolled.push(Handle::new(handle));
        }
        is_told
    }

    /// Enrols under this handle.
    async fn template(&self, node: usize, handle: [u8; 32], person: &Person) -> Option<Reply> {
        let (public, key) = (self.public(node), hex::encode(handle));
        let template = (&person.face[..], "form 7");
        let sending = public.try_template(Method::POST, handle, template, &key);
        tokio::time::timeout(ANSWER_MAX, sending).await.ok()?.ok()
    }

    /// Revokes the subject who was enrolled last. Without an answer it may be revoked or not.
    async fn revoke(&self, node: usize) -> bool {
        let Some(handle) = self.told().enrolled.pop() else { return true };
        let path = format!("/v1/subjects/{}/revoke", hex::encode(handle));
        let reply = sent(&self.public(node), Method::POST, &path, &[], &json!({})).await;
        let Some((_, what)) = self.acknowledged(reply, 200) else { return false };
        assert!(what.is_none_or(|what| what == What::Revoked { handle, generation: 1 }));
        self.told().revoked.push(handle);
        true
    }

    /// The same with an erasure.
    async fn erase(&self, node: usize) -> bool {
        let Some(handle) = self.told().enrolled.pop() else { return true };
        let path = format!("/v1/subjects/{}/templates", hex::encode(handle));
        let reply = sent(&self.public(node), Method::DELETE, &path, &[], &json!({})).await;
        let Some((_, what)) = self.acknowledged(reply, 200) else { return false };
        assert!(what.is_none_or(|what| what == What::Erased { handle, generation: 1 }));
        self.told().erased.push(handle);
        true
    }

    /// Enrols the next newcomer and opens the session; who is not done stays a newcomer.
    async fn welcome(&self, node: usize, newcomers: &mut Vec<Person>) -> bool {
        let person = newcomers.last().unwrap();
        let public = self.public(node);
        let enrolled = self.template(node, person.handle.to_bytes(), person).await;
        if !enrolled.is_some_and(|reply| reply.status == 201 || reply.text().contains("template-exists")) {
            return false;
        }
        let headers = [("content-type", "application/octet-stream")];
        let opening = public.try_send(Method::POST, "/v1/proof-sessions", &headers, person.envelope.clone());
        let opened = tokio::time::timeout(ANSWER_MAX, opening).await;
        let is_told = opened.is_ok_and(|opened| opened.is_ok_and(|reply| reply.status.is_success()));
        if is_told {
            self.people.lock().unwrap().push(Arc::new(newcomers.pop().unwrap()));
            self.told().sessions += 1;
        }
        is_told
    }

    /// Every acknowledged write is there at this node, and everybody logs in.
    pub(crate) async fn check_writes(&self, node: usize) {
        let (public, admin) = (self.public(node), self.admin(node));
        let (enrolled, revoked, erased, keys, policies) = {
            let told = self.told();
            let subjects = [&told.enrolled, &told.revoked, &told.erased].map(Vec::clone);
            let [enrolled, revoked, erased] = subjects;
            (enrolled, revoked, erased, told.api_keys.clone(), told.policies.clone())
        };
        let shown =
            async |handle: &Handle| public.get(&format!("/v1/subjects/{}", hex::encode(handle))).await;
        for handle in enrolled {
            let shown = shown(&handle).await;
            assert_eq!(shown.status, 200, "node {node} lost an enrolment: {}", shown.text());
            assert!(shown.json()["revoked_at"].is_null(), "node {node}: nobody revoked it");
        }
        for handle in revoked {
            let shown = shown(&handle).await;
            assert!(shown.json()["revoked_at"].is_u64(), "node {node} lost a revocation: {}", shown.text());
        }
        for handle in erased {
            let shown = shown(&handle).await;
            assert_eq!(shown.status, 404, "node {node} lost an erasure: {}", shown.text());
        }
        for key in keys {
            let listed = public.with_bearer(&key).get("/v1/subjects").await;
            assert_eq!(listed.status, 200, "node {node} lost an API key: {}", listed.text());
        }
        let mut versions = HashMap::new();
        let mut from = json!(0);
        while !from.is_null() {
            let page = admin.get(&self.path(&format!("policies?from={from}"))).await.json();
            for entry in page["policies"].as_array().unwrap() {
                let score = entry["policy"]["threshold"]["calibrated"]["score"].as_u64().unwrap();
                versions.insert(entry["policy_version"].as_u64().unwrap(), score);
            }
            from = page["next"].clone();
        }
        for (version, score) in policies {
            assert_eq!(
                versions.get(&version),
                Some(&score),
                "node {node} lost version {version} of the policy"
            );
        }
        let people = self.people.lock().unwrap().clone();
        for person in &people {
            self.is_let_in(node, person).await;
        }
    }

    /// Once nothing is killed any more, a node decides within some seconds.
    async fn is_let_in(&self, node: usize, person: &Person) {
        let begun = Instant::now();
        loop {
            let request = signed(person, &person.face, rand::rng().random());
            match decided(&self.public(node), &request).await {
                Ok(attestation) => return self.attested(&attestation, &request, Decision::Match),
                Err(reason) => {
                    assert!(
                        begun.elapsed() < Duration::from_secs(20),
                        "node {node} lost a session: {reason}"
                    );
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn signed(person: &Person, face: &[f32; 128], nonce: u64) -> Authentication {
    service::request_at(trefoil_host::unix_s(), person, face, nonce)
}

/// The decision and its attestation, or why there is none.
pub(crate) async fn decided(
    public: &Endpoint,
    request: &Authentication,
) -> Result<(Decision, Vec<u8>), String> {
    let body = serde_json::to_vec(request).unwrap();
    let sending = public.try_send(Method::POST, "/v1/authentications", &[], body);
    let Ok(sent) = tokio::time::timeout(ANSWER_MAX, sending).await else {
        return Err("no-answer".to_owned());
    };
    let Ok(reply) = sent else { return Err("no-connection".to_owned()) };
    if reply.status == 200 {
        let answer = answer(&reply);
        return Ok((answer.decision, answer.attestation.unwrap().0));
    }
    let code = reply.json()["code"].as_str().unwrap().to_owned();
    Err(code)
}

async fn sent(
    at: &Endpoint,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Option<Reply> {
    let sending = at.try_send(method, path, headers, body.to_string());
    tokio::time::timeout(ANSWER_MAX, sending).await.ok()?.ok()
}
