//! The two roles together, through the public interface only.

mod attacks;
mod budgets;
mod codec;
mod collusion;
mod decisions;
mod enrolment;
mod hostile_matcher;
mod in_flight;
mod isolation;
mod liars;
mod malformed;
mod models;
mod modes;
mod quorum;
mod rotation;
mod snapshot;
mod three;
mod thresholds;
mod widths;

use rand::{Rng, SeedableRng, rngs::StdRng};
use std::sync::Arc;
use trefoil_matching::{
    AttemptPolicy, AttemptRecord, DecisionPolicy, Embedding, Handle, KeyHolder, KeyHolderError, KeyStructure,
    Lane, MatchJob, Matcher, MemoryVault, Model, PublicKey, SharedProbe, Template, TemplateName, TenantId,
    Tier, Vault as _, Width, split, unblind,
};
use trefoil_types::BatchId;

const TENANT: TenantId = TenantId::new([7; 16]);
const NOW: u64 = 1_800_000_000;
const MODEL: Model = model_of(Width::W128);
/// The ends: all lanes in one ciphertext, and eight in each of four.
const ENDS: [Width; 2] = [Width::W128, Width::W512];

/// A probe mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Plain,
    Shared,
}

impl Mode {
    const ALL: [Mode; 2] = [Mode::Plain, Mode::Shared];

    fn keys(self) -> KeyStructure {
        match self {
            Mode::Plain => KeyStructure::PerSubject,
            Mode::Shared => KeyStructure::PerTenant,
        }
    }
}

/// A key-holder with one tenant, a matcher, and the subjects enrolled so far.
struct World {
    vault: Arc<MemoryVault>,
    key_holder: KeyHolder,
    key: PublicKey,
    matcher: Matcher,
    rng: StdRng,
    /// Those of the tenant's policy, which each job names.
    model: Model,
    threshold: i32,
    /// Batches of shared probes so far.
    probes: u64,
    /// When devices seal shares, and the key-holder opens them.
    sealed_at: u64,
}

impl World {
    fn new(policy: DecisionPolicy) -> World {
        World::with_keys(KeyStructure::PerSubject, policy)
    }

    fn with_keys(keys: KeyStructure, policy: DecisionPolicy) -> World {
        World::in_vault(keys, policy, MemoryVault::default())
    }

    fn in_vault(keys: KeyStructure, policy: DecisionPolicy, vault: MemoryVault) -> World {
        let mut rng = StdRng::seed_from_u64(1);
        let vault = Arc::new(vault);
        let key_holder = KeyHolder::new(Arc::clone(&vault), &mut rng, NOW).expect("an empty vault");
        let key = key_holder.create_tenant(TENANT, keys, policy).expect("a new tenant");
        let matcher = matcher_on(Tier::detected(), 9);
        let DecisionPolicy { model, threshold, .. } = policy;
        World { vault, key_holder, key, matcher, rng, model, threshold, probes: 0, sealed_at: NOW }
    }

    /// Enrols `embedding` in lane `lane` under a handle made of `name`.
    fn enrol(&mut self, name: u8, lane: u8, embedding: &Embedding) -> Template {
        let (blinded, blind) = split(embedding, &mut self.rng);
        let encrypted = self
            .key_holder
            .enrol(named(name, 0), lane_of(lane), self.model, &blinded.into(), NOW)
            .expect("a new subject");
        unblind(encrypted, blind)
    }

    /// A random face.
    fn face(&mut self) -> Embedding {
        random_face(&mut self.rng, self.model.width())
    }

    fn mask(&mut self, lanes: &[(&Template, &Embedding)]) -> MatchJob {
        let World { matcher, key, threshold, .. } = self;
        matcher.mask(BatchId::new([5; 16]), TENANT, *threshold, key, lanes).expect("a valid batch")
    }

    /// Another policy, whose model and threshold later jobs name.
    fn set_policy(&mut self, policy: DecisionPolicy) {
        self.key_holder.set_policy(TENANT, policy).expect("a possible threshold");
        DecisionPolicy { model: self.model, threshold: self.threshold, .. } = policy;
    }

    /// A job of these faces, as it comes about in the tenant's mode.
    fn job_in(&mut self, mode: Mode, lanes: &[(&Template, &Embedding)]) -> MatchJob {
        if mode == Mode::Plain {
            return self.mask(lanes);
        }
        self.probes += 1;
        let nonce = self.probes.to_le_bytes();
        let probes: Vec<SharedProbe> =
            lanes.iter().map(|(template, face)| self.device(template, face, &nonce)).collect();
        let shared: Vec<_> = lanes.iter().map(|(template, _)| *template).zip(&probes).collect();
        self.job(&shared).expect("sealed for it")
    }

    /// Whether these are let in now, by an honest job of one lane.
    fn accepted(&mut self, template: &Template, face: &Embedding) -> bool {
        let job = self.mask(&[(template, face)]);
        self.key_holder.decide(&job, NOW).expect("honest").accepted(template.lane)
    }

    /// Refuses the job as malformed, and forgives it.
    #[track_caller]
    fn refuses_as_malformed(&mut self, job: &MatchJob) {
        let outcome = self.key_holder.decide(job, NOW);
        assert!(matches!(outcome, Err(KeyHolderError::Malformed)), "{outcome:?}");
        self.forgive();
    }

    /// What an operator does about malformed jobs, and what the matcher does then.
    fn forgive(&mut self) {
        self.key_holder.forgive_malformed(TENANT).expect("the vault works");
        self.refetch();
    }

    /// The public key as it is now.
    fn refetch(&mut self) {
        self.key = self.key_holder.public_keys(TENANT).expect("known").pop().expect("there is one");
    }

    /// Shares are sealed some seconds later from now on: those that the process before may have opened are refused.
    fn restart(&mut self) {
        self.sealed_at += 10;
        self.key_holder = KeyHolder::new(Arc::clone(&self.vault), &mut self.rng, NOW).expect("readable");
    }

    fn attempts_of(&self, name: u8) -> AttemptRecord {
        let subjects = self.vault.subjects(&TENANT).expect("readable");
        subjects.into_iter().find(|record| record.handle == handle(name)).expect("enrolled").attempts
    }
}

/// A matcher whose entropy is what this seed gives.
fn matcher_on(tier: Tier, seed: u8) -> Matcher {
    let mut rng = StdRng::seed_from_u64(seed.into());
    Matcher::new(tier, Box::new(move |fresh| rng.fill_bytes(fresh)))
}

fn random_face(rng: &mut StdRng, width: Width) -> Embedding {
    let vector: Vec<f32> =
        (0..width.numbers()).map(|_| (0..12).map(|_| uniform(rng)).sum::<f32>() - 6.0).collect();
    Embedding::quantise(&vector).expect("finite and not zero")
}

/// A face near another: its coordinates, disturbed.
fn disturbed(rng: &mut StdRng, face: &Embedding, by: f32) -> Embedding {
    // As much of its length, whatever its width.
    let by = by * (128.0 / face.values().len() as f32).sqrt();
    let vector: Vec<f32> = face.values().iter().map(|x| f32::from(*x) + by * (uniform(rng) - 0.5)).collect();
    Embedding::quantise(&vector).expect("finite and not zero")
}

fn uniform(rng: &mut StdRng) -> f32 {
    (rng.next_u32() >> 8) as f32 / (1u32 << 24) as f32
}

fn handle(name: u8) -> Handle {
    Handle::new([name; 32])
}

fn named(name: u8, generation: u32) -> TemplateName {
    TemplateName { tenant: TENANT, handle: handle(name), generation }
}

fn lane_of(index: u8) -> Lane {
    Lane::new(index).expect("below 32")
}

/// The model of these tests whose vectors take this much room.
const fn model_of(width: Width) -> Model {
    let units = (width.numbers() / 128) as u8;
    Model::from_bytes([1, 1, 1, 1, 1, 1, 1, 1, units]).expect("a width")
}

/// The policy for vectors of this width.
fn wide(width: Width, policy: DecisionPolicy) -> DecisionPolicy {
    DecisionPolicy { model: model_of(width), ..policy }
}

fn policy(threshold: i32) -> DecisionPolicy {
    DecisionPolicy::new(MODEL, threshold, AttemptPolicy::default())
}

/// Budgets that never bind.
fn lenient(threshold: i32) -> DecisionPolicy {
    DecisionPolicy::new(MODEL, threshold, AttemptPolicy::UNLIMITED)
}
