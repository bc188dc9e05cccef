//! Time of the two roles' arithmetic on one batch of 32, with the memory bandwidth beside it.

use std::hint::black_box;
use std::time::Instant;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Map, Value, json};
use trefoil_bfv::{DIM, Decryptor, Embedding, LANES, Masker, TemplateCiphertext};
use trefoil_kernels::{Cpu, Tier, packed};

use crate::Failure;
use crate::Report;
use crate::distribution::{Distribution, rounded};
use crate::roles::{PlainStore, scheme};

/// What to time.
#[derive(Clone, Copy, Debug)]
pub struct MatchStages {
    /// Templates; a multiple of 32.
    pub users: usize,
    /// Timed batches.
    pub iterations: usize,
    /// Batches before that.
    pub warmup: usize,
    /// Seed of users and probes.
    pub seed: u64,
    /// Highest tier to compute on.
    pub tier: Tier,
}

/// Times the arithmetic and compares every score with the clear, on the highest tier and, under names with a tier, on what
/// machines without it have. Steps are interleaved: each round takes random batches through all of them, so that all see
/// the same disturbances.
///
/// # Errors
/// When the store cannot be made.
pub fn match_stages(parameters: MatchStages) -> Result<Report, Failure> {
    let mut rig = Rig::new(parameters)?;
    let mut stages: Vec<(&'static str, Vec<u64>)> = Vec::new();
    let mut wrong = 0;
    for round in 0..parameters.warmup + parameters.iterations {
        let (times, right) = rig.round()?;
        wrong += u64::from(!right);
        if round < parameters.warmup {
            continue;
        }
        if stages.is_empty() {
            stages = times.iter().map(|(name, _)| (*name, Vec::new())).collect();
        }
        for ((_, runs), (_, ns)) in stages.iter_mut().zip(times) {
            runs.push(ns);
        }
    }
    let stages: Vec<_> = stages.into_iter().map(|(name, ns)| (name, Distribution::of_ns(ns))).collect();
    Ok(report(&parameters, &rig, &stages, wrong))
}

/// The store and both roles.
struct Rig {
    parameters: MatchStages,
    store: PlainStore,
    faces: Vec<Embedding>,
    /// Both roles on the highest tier, and after them on each lower one.
    tiers: Vec<Roles>,
    /// The first 32 templates in one ciphertext.
    block: TemplateCiphertext,
    sum: Vec<u64>,
    rng: StdRng,
}

/// Both roles as they compute on one tier.
struct Roles {
    /// What the matcher's and the key-holder's step are called.
    steps: [&'static str; 2],
    masker: Masker,
    decryptor: Decryptor,
}

impl Roles {
    fn new(tier: Tier, highest: Tier) -> Roles {
        let steps = match tier {
            _ if tier == highest => ["match", "keyholder"],
            Tier::Avx512 => ["match_avx512", "keyholder_avx512"],
            Tier::Avx2 => ["match_avx2", "keyholder_avx2"],
            Tier::Portable => ["match_portable", "keyholder_portable"],
        };
        let scheme = scheme(tier);
        Roles { steps, masker: Masker::new(&scheme, rand::random()), decryptor: Decryptor::new(&scheme) }
    }
}

/// The nanoseconds of each step.
type Times = Vec<(&'static str, u64)>;

impl Rig {
    fn new(parameters: MatchStages) -> Result<Self, Failure> {
        let scheme = scheme(parameters.tier);
        let mut rng = StdRng::seed_from_u64(parameters.seed);
        let faces = (0..FACES).map(|_| face(&mut rng)).collect::<Result<Vec<_>, _>>()?;
        let templates = (0..parameters.users).map(|user| faces[user % FACES].clone());
        let store = PlainStore::new(&scheme, templates, &mut rng)?;
        let block = TemplateCiphertext::block(&scheme, &store.templates[..LANES].iter().collect::<Vec<_>>());
        let tiers: Vec<Tier> = Tier::available().filter(|tier| *tier <= parameters.tier).collect();
        Ok(Rig {
            tiers: tiers.into_iter().rev().map(|tier| Roles::new(tier, parameters.tier)).collect(),
            sum: vec![0; store.bytes(0).len() / packed::RESIDUE_BYTES],
            parameters,
            store,
            faces,
            block,
            rng,
        })
    }

    /// One random batch through every step, and whether its scores are right.
    fn round(&mut self) -> Result<(Times, bool), Failure> {
        let probes: Vec<Embedding> =
            (0..LANES).map(|_| self.faces[self.rng.random_range(0..FACES)].clone()).collect();
        let mut times = Times::new();
        // Each step that reads templates reads a batch of its own: none finds the other's in the cache.
        let start = self.random_group();
        times.push(("sequential_read", timed(|| black_box(self.read(start))).1));
        let users = self.random_users();
        times.push(("sum", timed(|| self.sum(&users)).1));
        let placed: Vec<_> = probes.iter().enumerate().collect();
        let (masker, PlainStore { basis, tag_basis, .. }) = (&mut self.tiers[0].masker, &self.store);
        let step = || (masker.mask_block(basis, &self.block, &placed), masker.tag(tag_basis));
        times.push(("match_prepacked", timed(step).1));
        let mut right = true;
        for tier in 0..self.tiers.len() {
            let users = self.random_users();
            let roles = &mut self.tiers[tier];
            let (masked, ns) = timed(|| self.store.mask(&mut roles.masker, &users, &probes));
            times.push((roles.steps[0], ns));
            let (opened, ns) = timed(|| self.store.open(&mut roles.decryptor, &users, &masked));
            times.push((roles.steps[1], ns));
            let opened = opened?;
            right &= (0..LANES)
                .all(|lane| opened.scores()[lane] == self.faces[users[lane] % FACES].dot(&probes[lane]));
        }
        Ok((times, right))
    }

    /// One user per lane.
    fn random_users(&mut self) -> Vec<usize> {
        let groups = self.parameters.users / LANES;
        (0..LANES).map(|lane| LANES * self.rng.random_range(0..groups) + lane).collect()
    }

    fn random_group(&mut self) -> usize {
        LANES * self.rng.random_range(0..self.parameters.users / LANES)
    }

    fn sum(&mut self, users: &[usize]) {
        let sources: Vec<&[u8]> = users.iter().map(|user| self.store.bytes(*user)).collect();
        packed::sum(Cpu::at_most(self.parameters.tier), &sources, &mut self.sum);
        black_box(&self.sum);
    }

    /// Reads 32 templates that are neighbours in memory, in order.
    fn read(&self, start: usize) -> u64 {
        (start..start + LANES).map(|user| checksum(self.store.bytes(user))).fold(0, |sum, part| sum ^ part)
    }
}

/// Enough for probes and templates to vary, few enough to stay in the cache.
const FACES: usize = 97;

fn face(rng: &mut StdRng) -> Result<Embedding, Failure> {
    let vector: [f32; DIM] = std::array::from_fn(|_| rng.random::<f32>() - 0.5);
    Embedding::quantise(&vector).map_err(Failure::in_step("quantiser"))
}

/// Several words at a time, so that memory and not addition limits it.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mut sums = [0u64; 32];
    for line in bytes.as_chunks::<256>().0 {
        for (sum, word) in sums.iter_mut().zip(line.as_chunks().0) {
            *sum ^= u64::from_le_bytes(*word);
        }
    }
    sums.iter().fold(0, |all, sum| all ^ sum)
}

fn timed<R>(step: impl FnOnce() -> R) -> (R, u64) {
    let begin = Instant::now();
    let result = step();
    (result, u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

fn report(
    parameters: &MatchStages,
    rig: &Rig,
    stages: &[(&'static str, Distribution)],
    wrong: u64,
) -> Report {
    let median = |name: &str| {
        stages.iter().find(|(stage, _)| *stage == name).map_or(f64::NAN, |(_, runs)| runs.median())
    };
    let each = |figure: &dyn Fn(&Distribution) -> Value| -> Value {
        stages.iter().map(|(name, runs)| ((*name).to_owned(), figure(runs))).collect::<Map<_, _>>().into()
    };
    let bytes = LANES * rig.store.bytes(0).len();
    let gb_per_s = |us: f64| rounded(bytes as f64 / us / 1_000.0);
    let share = median("sequential_read") / median("sum");
    let MatchStages { users, iterations, warmup, seed, tier } = *parameters;
    let result = json!({
        "stages_us": each(&|d| json!(rounded(d.median()))),
        "min_us": each(&|d| json!(rounded(d.min()))),
        "p90_us": each(&|d| json!(rounded(d.p90()))),
        "runs_us": each(&Distribution::runs_json),
        "bytes_per_batch": bytes,
        "gb_per_s": gb_per_s(median("sum")),
        "sequential_read_gb_per_s": gb_per_s(median("sequential_read")),
        "share_of_sequential_read": rounded(share),
        "users": users, "lanes": LANES,
        "iterations": iterations, "warmup_batches": warmup, "seed": seed, "tier": tier.name(),
        "template_store_bytes": rig.store.templates.len() * rig.store.bytes(0).len(),
        "scores": (warmup + iterations) * LANES * rig.tiers.len(), "batches_wrong": wrong,
    });
    let mut summary = format!("us per batch of {LANES} of {users} users: median (min, p90)\n");
    for (name, runs) in stages {
        let (median, min, p90) = (runs.median(), runs.min(), runs.p90());
        summary.push_str(&format!("  {name:<18} {median:>8.1}  ({min:.1}, {p90:.1})\n"));
    }
    summary.push_str(&format!(
        "sum of {bytes} bytes: {:.1} GB/s, {:.0} % of reading them in order\n",
        gb_per_s(median("sum")),
        100.0 * share
    ));
    let problem = (wrong > 0).then(|| format!("{wrong} batches have wrong scores"));
    Report { summary, result, problem }
}
