//! A small real world: one tenant, people with credentials, proofs, sessions and encrypted templates.

#![expect(clippy::disallowed_methods, reason = "counts in a test")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use trefoil_types::{AccountKeyId, Handle, SessionId};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_attest::{KeySetStatus, ProbeMode, TrustRoot, TrustedKeySet};
use trefoil_cache::{Cache, Session as _};
use trefoil_matching::{
    AttemptPolicy, DecisionPolicy, Embedding, KeyHolder, KeyHolderError, KeyHolding, KeyStructure, Lane,
    Local, MemoryVault, Model, PublicKey, Reply, Request, Template, TemplateName, Tier, split, unblind,
};
use trefoil_pipeline::{
    Backing, Calibrated, Clock, InSession, LaneRequest, Pipeline, Policy, Probe, Registry, Tenant, TenantId,
    Tenants, Verdict,
};
use trefoil_sign::SigningKeys;
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::session::SessionKey;
use trefoil_zkp::{Attributes, Circuit, CredentialTree, Secret, SessionClaim, Witness};

pub(crate) const TENANT: TenantId = TenantId::new([7; 16]);
pub(crate) const ISSUER: &str = "trefoil.test";
pub(crate) const AUDIENCE: &str = "payments.example";
pub(crate) const NOW: u64 = 1_795_000_000;
pub(crate) const PEOPLE: usize = 32;
/// cos 0.6: independent unit vectors in 128 dimensions stay within 0.45.
pub(crate) const THRESHOLD: i32 = 18_000;

pub(crate) struct Person {
    pub(crate) face: [f32; 128],
    pub(crate) envelope: ProofEnvelope,
    pub(crate) session: SessionId,
    pub(crate) handle: Handle,
}

/// Proofs take seconds, so the people are made once per test binary.
pub(crate) static PEOPLE_ONCE: LazyLock<(Vec<Person>, [u8; 32])> = LazyLock::new(people);

fn people() -> (Vec<Person>, [u8; 32]) {
    let mut rng = StdRng::seed_from_u64(1);
    let epoch = trefoil_zkp::epoch_at(NOW);
    let mut tree = CredentialTree::new();
    let holders: Vec<(Secret, Attributes)> = (0..PEOPLE as u32)
        .map(|i| {
            let secret = Secret::random(&mut rng);
            let attributes = Attributes::new(epoch + 100, 3, 0, i, &mut rng).expect("attributes");
            let leaf = trefoil_zkp::leaf(&trefoil_zkp::commitment(&secret), &attributes);
            tree.update(i, leaf).expect("index");
            (secret, attributes)
        })
        .collect();
    let people = holders
        .into_iter()
        .zip(0u32..)
        .map(|((secret, attributes), index)| {
            let witness = Witness { secret, attributes, index, path: tree.path(index).expect("index") };
            let (session_key, account_key) = (SessionKey::random(&mut rng), AccountKeyId::new([0; 32]));
            let statement = witness.statement(&SessionClaim {
                circuit: Circuit::Cred2,
                tenant: TENANT,
                audience: AUDIENCE,
                root_generation: 1,
                epoch,
                level: 2,
                policy_id: 1,
                key_commitment: &session_key.commitment(),
                account_key,
            });
            let proof = trefoil_zkp::prove(&witness, &statement, &mut rng).expect("proof");
            Person {
                face: unit(&mut rng),
                session: SessionId::new(statement.digest()),
                handle: Handle::new(*statement.handle.as_bytes()),
                envelope: ProofEnvelope {
                    statement,
                    audience: AUDIENCE.into(),
                    session_key,
                    account_key,
                    policy_id: 1,
                    proof,
                },
            }
        })
        .collect();
    (people, *tree.root().as_bytes())
}

/// The model of everybody's vectors.
pub(crate) fn model() -> Model {
    Model::of("facenet-128", 128).expect("a width")
}

fn unit(rng: &mut StdRng) -> [f32; 128] {
    std::array::from_fn(|_| (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0)
}

/// Time that only moves when told to, but for nanoseconds, which count calls.
pub(crate) struct TestClock {
    pub(crate) unix_s: AtomicU64,
    calls: AtomicU64,
    /// How long somebody waited, nanoseconds.
    pub(crate) waited: AtomicU64,
}

impl Clock for TestClock {
    fn unix_s(&self) -> u64 {
        self.unix_s.load(Ordering::Relaxed)
    }

    fn monotonic_ns(&self) -> u64 {
        // 20 us per reading, so that deadlines pass while the dispatcher turns.
        self.calls.fetch_add(20_000, Ordering::Relaxed)
    }

    fn wait_until(&self, monotonic_ns: u64) {
        let now = self.calls.fetch_max(monotonic_ns, Ordering::Relaxed);
        self.waited.fetch_add(monotonic_ns.saturating_sub(now), Ordering::Relaxed);
    }
}

pub(crate) fn clock() -> Arc<TestClock> {
    Arc::new(TestClock { unix_s: AtomicU64::new(NOW), calls: AtomicU64::new(0), waited: AtomicU64::new(0) })
}

/// A template of a person.
pub(crate) fn named(person: &Person, generation: u32) -> TemplateName {
    TemplateName { tenant: TENANT, handle: Handle::new(person.handle.to_bytes()), generation }
}

/// One deployment over the cache `C`.
pub(crate) struct World<C> {
    pub(crate) registry: Registry<C>,
    pub(crate) key_holder: Arc<KeyHolder>,
    pub(crate) cache: Arc<C>,
    pub(crate) templates: Vec<Template>,
    pub(crate) key: PublicKey,
}

impl<C: Cache<Verdict>> World<C> {
    pub(crate) fn new(cache: C) -> Self {
        World::with_keys(cache, KeyStructure::PerSubject)
    }

    pub(crate) fn with_keys(cache: C, keys: KeyStructure) -> Self {
        let (people, root) = &*PEOPLE_ONCE;
        let mut rng = StdRng::seed_from_u64(2);
        let key_holder = KeyHolder::new(Arc::<MemoryVault>::default(), &mut rng, NOW).expect("key-holder");
        let policy = DecisionPolicy::new(model(), THRESHOLD, AttemptPolicy::UNLIMITED);
        let key = key_holder.create_tenant(TENANT, keys, policy).expect("tenant");
        let templates = people
            .iter()
            .zip(Lane::all())
            .map(|(person, lane)| {
                let (blinded, blind) = split(&Embedding::quantise(&person.face).expect("face"), &mut rng);
                let encrypted =
                    key_holder.enrol(named(person, 5), lane, model(), &blinded.into(), NOW).expect("enrol");
                unblind(encrypted, blind)
            })
            .collect();
        let world = World {
            registry: Registry::default(),
            key_holder: Arc::new(key_holder),
            cache: Arc::new(cache),
            templates,
            key,
        };
        world.put_tenant(vec![(1, *root)], 2);
        world
    }

    /// One whose people have all proven and have sessions.
    pub(crate) fn proven(cache: C) -> Self {
        let world = World::new(cache);
        world.prove_all();
        world
    }

    /// (Re)publishes the tenant with these roots and this lowest level.
    pub(crate) fn put_tenant(&self, roots: Vec<(u32, [u8; 32])>, level_min: u8) {
        self.put_tenant_with(vec![self.key.clone()], roots, Some(level_min));
    }

    /// The same with these public keys.
    pub(crate) fn put_tenant_with(
        &self,
        keys: Vec<PublicKey>,
        roots: Vec<(u32, [u8; 32])>,
        proof_level: Option<u8>,
    ) {
        let tenant = Tenant {
            id: TENANT,
            keys,
            policy: Policy {
                id: 1,
                version: 4,
                models: vec![Calibrated::new("facenet-128", 128, THRESHOLD, 3).expect("a width")],
                proof_level,
                attestation_lifetime_s: 60,
                probe: match self.key.structure() {
                    KeyStructure::PerSubject => ProbeMode::Plain,
                    KeyStructure::PerTenant => ProbeMode::Shared,
                },
            },
            roots,
        };
        self.registry.put(tenant, Arc::clone(&self.cache));
    }

    /// Verifies every person's proof and caches the verdicts.
    pub(crate) fn prove_all(&self) {
        let mut session = self.cache.session();
        for person in &PEOPLE_ONCE.0 {
            let verdict = verdict_of(person, NOW + 600);
            assert!(session.insert(person.session.to_bytes(), verdict, NOW + 600, NOW).is_stored());
        }
    }

    pub(crate) fn pipeline(&self) -> Arc<Pipeline<C>> {
        self.pipeline_with(self.local())
    }

    /// The key-holder.
    pub(crate) fn local(&self) -> Arc<dyn KeyHolding> {
        Arc::new(Local::new(Arc::clone(&self.key_holder), || NOW))
    }

    /// The key-holder behind `first`, which may answer a request in its place.
    pub(crate) fn behind(
        &self,
        first: impl Fn(&Request) -> Option<KeyHolderError> + Send + Sync + 'static,
    ) -> Arc<dyn KeyHolding> {
        let key_holder = Arc::clone(&self.key_holder);
        answering(move |request| match first(&request) {
            Some(refused) => Err(refused),
            None => key_holder.answer(request, NOW),
        })
    }

    pub(crate) fn pipeline_with(&self, key_holder: Arc<dyn KeyHolding>) -> Arc<Pipeline<C>> {
        self.pipeline_of(self.registry.clone(), key_holder)
    }

    pub(crate) fn pipeline_of(
        &self,
        tenants: impl Tenants<C> + 'static,
        key_holder: Arc<dyn KeyHolding>,
    ) -> Arc<Pipeline<C>> {
        Arc::new(Pipeline::new(ISSUER.into(), tenants, key_holder, Tier::detected()))
    }

    /// A request by `person` showing the face of `shown`.
    pub(crate) fn request<R>(&self, person: usize, shown: usize, reply: R) -> LaneRequest<R> {
        let people = &PEOPLE_ONCE.0;
        LaneRequest {
            backing: Backing::Session(InSession {
                id: SessionId::new(people[person].session.to_bytes()),
                revived: None,
            }),
            template: self.templates[person].clone(),
            probe: Probe::Plain(Embedding::quantise(&people[shown].face).expect("face")),
            audience: AUDIENCE.into(),
            nonce: vec![person as u8; 16],
            request_digest: [person as u8; 32],
            reply,
        }
    }
}

struct Answering<F>(F);

impl<F: Fn(Request) -> Result<Reply, KeyHolderError> + Send + Sync> KeyHolding for Answering<F> {
    fn call(&self, request: Request) -> Result<Reply, KeyHolderError> {
        (self.0)(request)
    }
}

/// A key-holder that answers like this.
pub(crate) fn answering(
    answer: impl Fn(Request) -> Result<Reply, KeyHolderError> + Send + Sync + 'static,
) -> Arc<dyn KeyHolding> {
    Arc::new(Answering(answer))
}

/// A request's part in its session, to be changed.
pub(crate) fn in_session<R>(request: &mut LaneRequest<R>) -> &mut InSession {
    match &mut request.backing {
        Backing::Session(session) => session,
        Backing::Application(_) => panic!("the request is in no session"),
    }
}

pub(crate) fn verdict_of(person: &Person, not_after: u64) -> Verdict {
    let verified =
        trefoil_zkp::verify(&person.envelope.statement, &person.envelope.proof).expect("valid proof");
    Verdict::new(&verified, &person.envelope, not_after).expect("same statement")
}

pub(crate) fn signing_keys() -> (SigningKeys, TrustRoot) {
    let keys = SigningKeys::generate(NOW - 10, NOW + 1_000, &mut StdRng::seed_from_u64(3)).expect("keys");
    let active = TrustedKeySet { keys: keys.public().clone(), status: KeySetStatus::Active };
    let root = TrustRoot::new(ISSUER, vec![active]).expect("trust root");
    (keys, root)
}
