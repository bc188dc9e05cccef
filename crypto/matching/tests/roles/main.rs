//! The two roles together, through the public interface only.

mod attacks;
mod budgets;
mod codec;
mod decisions;
mod enrolment;
mod hostile_matcher;
mod isolation;
mod liars;
mod malformed;
mod modes;
mod quorum;
mod rotation;
mod three;

use rand::{Rng, SeedableRng, rngs::StdRng};
use std::sync::Arc;
use trefoil_matching::{
    AttemptPolicy, DecisionPolicy, Embedding, Handle, KeyHolder, KeyStructure, Lane, MatchJob, Matcher,
    MemoryVault, PublicKey, SharedProbe, Template, TenantId, Tier, split, unblind,
};

const TENANT: TenantId = [7; 16];
const NOW: u64 = 1_800_000_000;

/// A key structure and a probe mode that go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    PlainOwnKeys,
    PlainTenantKey,
    Shared,
}

impl Mode {
    const ALL: [Mode; 3] = [Mode::PlainOwnKeys, Mode::PlainTenantKey, Mode::Shared];

    fn keys(self) -> KeyStructure {
        match self {
            Mode::PlainOwnKeys => KeyStructure::PerSubject,
            Mode::PlainTenantKey | Mode::Shared => KeyStructure::PerTenant,
        }
    }
}

/// A key-holder with one tenant, a matcher, and the subjects enrolled so far.
struct World {
    vault: Arc<MemoryVault>,
    keyholder: KeyHolder,
    key: PublicKey,
    matcher: Matcher,
    rng: StdRng,
}

impl World {
    fn new(policy: DecisionPolicy) -> World {
        World::with_keys(KeyStructure::PerSubject, policy)
    }

    fn with_keys(keys: KeyStructure, policy: DecisionPolicy) -> World {
        let mut rng = StdRng::seed_from_u64(1);
        let vault = Arc::new(MemoryVault::default());
        let keyholder = KeyHolder::new(Box::new(Arc::clone(&vault)), &mut rng).expect("an empty vault");
        let key = keyholder.create_tenant(TENANT, keys, policy).expect("a new tenant");
        let matcher = Matcher::new(Tier::detected(), [9; 32]);
        World { vault, keyholder, key, matcher, rng }
    }

    /// Enrols `embedding` in lane `lane` under a handle made of `name`.
    fn enrol(&mut self, name: u8, lane: u8, embedding: &Embedding) -> Template {
        let (blinded, blind) = split(embedding, &mut self.rng);
        let encrypted = self
            .keyholder
            .enrol(TENANT, handle(name), 0, lane_of(lane), &blinded.into())
            .expect("a new subject");
        unblind(encrypted, blind)
    }

    /// A random face.
    fn face(&mut self) -> Embedding {
        random_face(&mut self.rng)
    }

    fn mask(&mut self, lanes: &[(&Template, &Embedding)]) -> MatchJob {
        self.matcher.mask([5; 16], TENANT, &self.key, lanes).expect("a valid batch")
    }

    /// A job of these faces, as it comes about in a mode.
    fn job_in(&mut self, mode: Mode, lanes: &[(&Template, &Embedding)]) -> MatchJob {
        if mode != Mode::Shared {
            return self.mask(lanes);
        }
        let probes: Vec<SharedProbe> =
            lanes.iter().map(|(template, face)| self.device(template, face, b"nonce")).collect();
        let shared: Vec<_> = lanes.iter().map(|(template, _)| *template).zip(&probes).collect();
        self.job(&shared).expect("sealed for it")
    }
}

fn random_face(rng: &mut StdRng) -> Embedding {
    let vector: Vec<f32> = (0..128).map(|_| (0..12).map(|_| uniform(rng)).sum::<f32>() - 6.0).collect();
    Embedding::quantise(&vector).expect("finite and not zero")
}

/// A face near another: its coordinates, disturbed.
fn disturbed(rng: &mut StdRng, face: &Embedding, by: f32) -> Embedding {
    let vector: Vec<f32> = face.values().iter().map(|x| f32::from(*x) + by * (uniform(rng) - 0.5)).collect();
    Embedding::quantise(&vector).expect("finite and not zero")
}

fn uniform(rng: &mut StdRng) -> f32 {
    (rng.next_u32() >> 8) as f32 / (1u32 << 24) as f32
}

fn handle(name: u8) -> Handle {
    [name; 32]
}

fn lane_of(index: u8) -> Lane {
    Lane::new(index).expect("below 32")
}

fn policy(threshold: i32) -> DecisionPolicy {
    DecisionPolicy { threshold, attempts: AttemptPolicy::default() }
}

/// Budgets that never bind.
fn lenient(threshold: i32) -> DecisionPolicy {
    let attempts =
        AttemptPolicy { consecutive: u32::MAX, delay_s: 0, per_day: u32::MAX, per_generation: u32::MAX };
    DecisionPolicy { threshold, attempts }
}
