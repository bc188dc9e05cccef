//! Runs one batch through the pipeline: 32 people with proofs and encrypted templates, matched in one computation, decided by the
//! key-holder, turned into statements and digests. Signing them is `trefoil-sign`'s example `seal`.
//!
//! ```text
//! cargo run -p trefoil-pipeline --example batch
//! ```

#[path = "guard/world.rs"]
mod world;

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_attest::{Decision, ProbeMode};
use trefoil_cache::{Cache as _, Engine, EngineConfig, Session as _};
use trefoil_kernels::Tier;
use trefoil_matching::{
    AttemptPolicy, DIM, DecisionPolicy, Embedding, KeyHolder, KeyStructure, Lane, Local, MemoryVault,
    TemplateName, split, unblind,
};
use trefoil_pipeline::{
    Backing, Batch, Clock, InSession, LaneRequest, Open, Pipeline, Policy, Probe, Registry, Tenant, Verdict,
};
use trefoil_types::{Handle, SessionId};
use world::{AUDIENCE, ISSUER, LANES, LEVEL, NOW, POLICY, ROOT, TENANT, verdict};

const SEED: u64 = 1;
/// cos 0.6; scores are 175 x 175 times the cosine.
const THRESHOLD: i32 = 18_000;
/// Who shows another face than the enrolled one.
const IMPOSTOR: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = StdRng::seed_from_u64(SEED);
    // The key-holder has the keys, the threshold and the budget of attempts. It never sees a template in the clear.
    let key_holder = KeyHolder::new(Box::new(MemoryVault::default()), &mut rng, NOW)?;
    let policy = DecisionPolicy { threshold: THRESHOLD, attempts: AttemptPolicy::UNLIMITED };
    let key = key_holder.create_tenant(TENANT, KeyStructure::PerSubject, policy)?;

    // Each person's proof was verified when the session was opened; its verdict is in the cache.
    let cache = Arc::new(Engine::<Verdict>::new(EngineConfig { capacity: 32 * LANES }));
    let (proven, mut verdicts) = (verdict(), cache.session());
    let audience: Arc<str> = AUDIENCE.into();
    let mut lanes = Vec::new();
    for lane in Lane::all() {
        let (handle, session) = (Handle::new(rng.random()), SessionId::new(rng.random()));
        let mut verdict = proven;
        verdict.handle = handle;
        assert!(verdicts.insert(session.to_bytes(), verdict, NOW + 600, NOW).is_stored());
        // Enrolment: the key-holder encrypts the face blinded, and the blind is taken off the ciphertext.
        let enrolled = face(&mut rng);
        let name = TemplateName { tenant: TENANT, handle, generation: 1 };
        let (blinded, blind) = split(&Embedding::quantise(&enrolled)?, &mut rng);
        let template = unblind(key_holder.enrol(name, lane, &blinded.into(), NOW)?, blind);
        let shown = if lane.index() == IMPOSTOR { face(&mut rng) } else { enrolled };
        lanes.push(LaneRequest {
            backing: Backing::Session(InSession { id: session, reveal: None, revived: None }),
            template,
            probe: Probe::Plain(Embedding::quantise(&shown)?),
            audience: Arc::clone(&audience),
            nonce: vec![3; 16],
            request_digest: [4; 32],
            reply: lane.index(),
        });
    }

    let registry = Registry::default();
    let policy = Policy {
        id: POLICY,
        version: 1,
        fmr_class: 3,
        embedder: "facenet-128".into(),
        proof_level: Some(LEVEL),
        threshold: THRESHOLD,
        attestation_lifetime_s: 60,
        probe: ProbeMode::Plain,
    };
    registry.put(Tenant { id: TENANT, keys: vec![key], policy, roots: vec![(ROOT, [5; 32])] }, cache);
    let key_holder = Arc::new(Local::new(Arc::new(key_holder), || NOW));
    let pipeline = Pipeline::new(ISSUER.into(), registry, key_holder, Tier::detected());
    let outcome = pipeline.run(Batch { tenant: TENANT, lanes }, &mut pipeline.worker(), &Still, &Open);
    for lane in &outcome.lanes {
        println!("person {:2}: {:?}, digest {}", lane.reply, lane.decision, hex::encode(lane.digest));
        assert_eq!(lane.decision == Some(Decision::Match), lane.reply != IMPOSTOR);
    }
    println!("{} decided in one batch, {} refused", outcome.lanes.len(), outcome.refused.len());
    Ok(())
}

/// A random direction: two of them are far apart in 128 dimensions.
fn face(rng: &mut StdRng) -> [f32; DIM] {
    std::array::from_fn(|_| (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0)
}

/// Time that stands still.
struct Still;

impl Clock for Still {
    fn unix_s(&self) -> u64 {
        NOW
    }

    fn monotonic_ns(&self) -> u64 {
        0
    }
}
