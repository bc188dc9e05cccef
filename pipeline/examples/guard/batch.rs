//! Whole batches of 32 through the steps: verdicts, match, key-holder, statements, digests.

use std::hint::black_box;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_attest::ProbeMode;
use trefoil_cache::{Cache as _, Engine, EngineConfig, Session as _};
use trefoil_kernels::Tier;
use trefoil_matching::{
    AttemptPolicy, DIM, DecisionPolicy, Embedding, KeyHolder, KeyStructure, Lane, Local, MemoryVault,
    PublicKey, Template, TemplateName, split, unblind,
};
use trefoil_pipeline::{Batch, Clock, LaneRequest, Open, Pipeline, Policy, Probe, Registry, Tenant, Verdict};
use trefoil_types::{Handle, SessionId};

use crate::world::{AUDIENCE, ISSUER, LANES, LEVEL, NOW, POLICY, ROOT, TENANT, verdict};

/// cos 0.6: independent unit vectors in 128 dimensions stay within 0.45.
const THRESHOLD: i32 = 18_000;
const BATCHES: usize = 8;

struct Enrolled {
    handle: Handle,
    session: SessionId,
    face: [f32; DIM],
    template: Template,
}

pub(crate) fn guard(tier: Tier) {
    let mut rng = StdRng::seed_from_u64(crate::world::SEED);
    let key_holder = KeyHolder::new(Box::new(MemoryVault::default()), &mut rng, NOW).expect("key-holder");
    let policy = DecisionPolicy { threshold: THRESHOLD, attempts: AttemptPolicy::UNLIMITED };
    let key = key_holder.create_tenant(TENANT, KeyStructure::PerSubject, policy).expect("tenant");
    let enrolled: Vec<Enrolled> = Lane::all().map(|lane| enrol(&key_holder, lane, &mut rng)).collect();
    let cache = Arc::new(Engine::<Verdict>::new(EngineConfig { capacity: 32 * LANES }));
    let (proven, mut session) = (verdict(), cache.session());
    for Enrolled { handle, session: id, .. } in &enrolled {
        let mut verdict = proven;
        verdict.handle = *handle;
        assert!(session.insert(id.to_bytes(), verdict, NOW + 600, NOW).is_stored());
    }
    let registry = Registry::default();
    registry.put(tenant(key), cache);
    let key_holder = Arc::new(Local::new(Arc::new(key_holder), || NOW));
    let pipeline = Pipeline::new(ISSUER.into(), registry, key_holder, tier);
    let mut worker = pipeline.worker();
    let mut run = |lanes| {
        let outcome = pipeline.run(Batch { tenant: TENANT, lanes }, &mut worker, &Still, &Open);
        assert_eq!(outcome.lanes.len(), LANES, "everybody is decided");
        black_box(outcome);
    };
    // The first batch finds nothing spare and opens the session.
    run(requests(&enrolled));
    let mut batches: Vec<_> = (0..BATCHES).map(|_| Some(requests(&enrolled))).collect();
    crate::repeat(BATCHES as u64, |n| run(batches[n as usize].take().expect("once")));
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

fn enrol(key_holder: &KeyHolder, lane: Lane, rng: &mut StdRng) -> Enrolled {
    let handle = Handle::new(rng.random());
    let face = std::array::from_fn(|_| (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0);
    let (blinded, blind) = split(&embedding(&face), rng);
    let name = TemplateName { tenant: TENANT, handle, generation: 1 };
    let encrypted = key_holder.enrol(name, lane, &blinded.into(), NOW).expect("enrol");
    Enrolled { handle, session: SessionId::new(rng.random()), face, template: unblind(encrypted, blind) }
}

fn embedding(face: &[f32; DIM]) -> Embedding {
    Embedding::quantise(face).expect("face")
}

fn requests(enrolled: &[Enrolled]) -> Vec<LaneRequest<()>> {
    let audience: Arc<str> = AUDIENCE.into();
    let request = |Enrolled { session, face, template, .. }: &Enrolled| LaneRequest {
        session: *session,
        template: template.clone(),
        probe: Probe::Plain(embedding(face)),
        audience: Arc::clone(&audience),
        nonce: vec![3; 16],
        request_digest: [4; 32],
        reveal: None,
        revived: None,
        reply: (),
    };
    enrolled.iter().map(request).collect()
}

fn tenant(key: PublicKey) -> Tenant {
    Tenant {
        id: TENANT,
        keys: vec![key],
        policy: Policy {
            id: POLICY,
            version: 1,
            threshold: THRESHOLD,
            fmr_class: 3,
            embedder: "facenet-128".into(),
            level_min: LEVEL,
            attestation_lifetime_s: 60,
            probe: ProbeMode::Plain,
        },
        roots: vec![(ROOT, [5; 32])],
    }
}
