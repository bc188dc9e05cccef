//! One tenant with 32 people, the key-holder of its keys, and a pipeline over both.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_attest::ProbeMode;
use trefoil_cache::{Cache as _, Engine, EngineConfig, Session as _};
use trefoil_kernels::Tier;
use trefoil_matching::{
    AttemptPolicy, DecisionPolicy, Embedding, KeyHolder, KeyStructure, Lane, Local, MemoryVault, Model,
    Template, TemplateName, split, unblind,
};
use trefoil_pipeline::{
    Backing, Calibrated, Clock, InSession, LaneRequest, Pipeline, Policy, Probe, Registry, Tenant, TenantId,
    Verdict,
};
use trefoil_types::{AccountKeyId, Handle, SessionId};
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::session::SessionKey;
use trefoil_zkp::{Attributes, Circuit, CredentialTree, Secret, SessionClaim, Witness};

pub(crate) const SEED: u64 = 1;
pub(crate) const TENANT: TenantId = TenantId::new([7; 16]);
pub(crate) const ISSUER: &str = "trefoil.example";
pub(crate) const NOW: u64 = 1_795_000_000;
pub(crate) const LANES: usize = trefoil_matching::LANES;
pub(crate) const AUDIENCE: &str = "payments.example";
/// Generation of the root, policy and level of the proof.
const ROOT: u32 = 1;
const POLICY: u32 = 1;
const LEVEL: u8 = 2;
/// cos 0.6; scores are 175 x 175 times the cosine. Independent unit vectors in 128 dimensions stay within 0.45.
const THRESHOLD: i32 = 18_000;

/// Somebody who is enrolled and has a session.
pub(crate) struct Person {
    session: SessionId,
    pub(crate) face: [f32; 128],
    template: Template,
}

impl Person {
    /// A request in the session that shows this face.
    pub(crate) fn request<R>(&self, audience: &Arc<str>, shown: &[f32; 128], reply: R) -> LaneRequest<R> {
        LaneRequest {
            backing: Backing::Session(InSession { id: self.session, revived: None }),
            template: self.template.clone(),
            probe: Probe::Plain(Embedding::quantise(shown).expect("face")),
            audience: Arc::clone(audience),
            nonce: vec![3; 16],
            request_digest: [4; 32],
            reply,
        }
    }
}

/// The pipeline, and one person for each lane.
pub(crate) fn pipeline(tier: Tier) -> (Pipeline<Engine<Verdict>>, Vec<Person>) {
    let mut rng = StdRng::seed_from_u64(SEED);
    // The key-holder has the keys, the threshold and the budget of attempts. It never sees a template in the clear.
    let key_holder = KeyHolder::new(Arc::<MemoryVault>::default(), &mut rng, NOW).expect("an empty vault");
    let policy = DecisionPolicy::new(model(), THRESHOLD, AttemptPolicy::UNLIMITED);
    let key = key_holder.create_tenant(TENANT, KeyStructure::PerSubject, policy).expect("a new tenant");

    // Each person's proof was verified when the session was opened; its verdict is in the cache.
    let cache = Arc::new(Engine::<Verdict>::new(EngineConfig { capacity: 32 * LANES }));
    let (proven, mut verdicts) = (verdict(), cache.session());
    let people = Lane::all().map(|lane| {
        let (handle, session) = (Handle::new(rng.random()), SessionId::new(rng.random()));
        let mut verdict = proven;
        verdict.handle = handle;
        assert!(verdicts.insert(session.to_bytes(), verdict, NOW + 600, NOW).is_stored());
        // Enrolment: the key-holder encrypts the face blinded, and the blind is taken off the ciphertext.
        let face = face(&mut rng);
        let (blinded, blind) = split(&Embedding::quantise(&face).expect("face"), &mut rng);
        let name = TemplateName { tenant: TENANT, handle, generation: 1 };
        let encrypted = key_holder.enrol(name, lane, model(), &blinded.into(), NOW).expect("new");
        Person { session, face, template: unblind(encrypted, blind) }
    });
    let people = people.collect();
    let policy = Policy {
        id: POLICY,
        version: 1,
        models: vec![Calibrated::new("facenet-128", 128, THRESHOLD, 3).expect("a width")],
        proof_level: Some(LEVEL),
        attestation_lifetime_s: 60,
        probe: ProbeMode::Plain,
    };
    let registry = Registry::default();
    registry.put(Tenant { id: TENANT, keys: vec![key], policy, roots: vec![(ROOT, [5; 32])] }, cache);
    let key_holder = Arc::new(Local::new(Arc::new(key_holder), || NOW));
    (Pipeline::new(ISSUER.into(), registry, key_holder, tier), people)
}

/// The model of everybody's vectors.
pub(crate) fn model() -> Model {
    Model::of("facenet-128", 128).expect("a width")
}

/// A random direction: two of them are far apart in 128 dimensions.
pub(crate) fn face(rng: &mut StdRng) -> [f32; 128] {
    std::array::from_fn(|_| (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0)
}

/// Time that stands still.
pub(crate) struct Still;

impl Clock for Still {
    fn unix_s(&self) -> u64 {
        NOW
    }

    fn monotonic_ns(&self) -> u64 {
        0
    }
}

/// The verdict on the only holder's proof, usable for ten minutes.
/// No device signs here.
const ACCOUNT_KEY: AccountKeyId = AccountKeyId::new([0; 32]);

fn verdict() -> Verdict {
    let mut rng = StdRng::seed_from_u64(SEED);
    let epoch = trefoil_zkp::epoch_at(NOW);
    let secret = Secret::random(&mut rng);
    let attributes = Attributes::new(epoch + 100, 3, 0, 0, &mut rng).expect("attributes");
    let mut tree = CredentialTree::new();
    tree.update(0, trefoil_zkp::leaf(&trefoil_zkp::commitment(&secret), &attributes)).expect("index");
    let witness = Witness { secret, attributes, index: 0, path: tree.path(0).expect("index") };
    let session_key = SessionKey::random(&mut rng);
    let statement = witness.statement(&SessionClaim {
        circuit: Circuit::Cred2,
        tenant: TENANT,
        audience: AUDIENCE,
        root_generation: ROOT,
        epoch,
        level: LEVEL,
        policy_id: POLICY,
        key_commitment: &session_key.commitment(),
        account_key: ACCOUNT_KEY,
    });
    let proof = trefoil_zkp::prove(&witness, &statement, &mut rng).expect("proof");
    let verified = trefoil_zkp::verify(&statement, &proof).expect("valid proof");
    let envelope = ProofEnvelope {
        statement,
        audience: AUDIENCE.into(),
        session_key,
        account_key: ACCOUNT_KEY,
        policy_id: POLICY,
        proof,
    };
    Verdict::new(&verified, &envelope, NOW + 600).expect("same statement")
}
