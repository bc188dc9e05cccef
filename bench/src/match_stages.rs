//! Time of the two roles' arithmetic on one batch of 32, with the memory bandwidth beside it.

use std::hint::black_box;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use trefoil_bfv::{Decryptor, Embedding, LANES, Masker, TemplateCiphertext, Width};
use trefoil_kernels::{Cpu, Tier, packed};

use crate::distribution::{Distribution, Times, rounded};
use crate::roles::{PlainStore, face, random_users, scheme, timed};
use crate::stages::Stages;
use crate::{Failure, Report};

/// Times the arithmetic and compares every score with the clear, on the highest tier and, under names with a tier, on what
/// machines without it have; under names with a width, for vectors of 256 and 512 numbers. Steps are interleaved: each round takes random batches through all of them, so that all see
/// the same disturbances.
///
/// # Errors
/// When the store cannot be made.
pub(crate) fn match_stages(args: &Stages, tier: Tier) -> Result<Report, Failure> {
    let Stages { iters, warmup, ref world, .. } = *args;
    let mut rig = Rig::new(world.users, world.seed, tier)?;
    let mut runs: Vec<(&str, Vec<u64>)> = Vec::new();
    let mut wrong = 0;
    for round in 0..warmup + iters {
        let (times, right) = rig.round()?;
        wrong += u64::from(!right);
        if round < warmup {
            continue;
        }
        if runs.is_empty() {
            runs = times.iter().map(|(name, _)| (*name, Vec::new())).collect();
        }
        runs.iter_mut().zip(times).for_each(|((_, runs), (_, ns))| runs.push(ns));
    }
    let stages =
        Times(runs.into_iter().map(|(name, ns)| (name.to_owned(), Distribution::of_ns(ns))).collect());
    let bytes = LANES * rig.store.bytes(0).len();
    let gb_per_s = |stage| rounded(bytes as f64 / stages.median(stage) / 1_000.0);
    let share = stages.median("sequential_read") / stages.median("sum");
    let summary = format!(
        "us per batch of {LANES} of {} users: median (min, p90)\n{}sum of {bytes} bytes: {:.1} GB/s, {:.0} % of reading them in order\n",
        rig.users,
        stages.text(),
        gb_per_s("sum"),
        100.0 * share
    );
    let problem = (wrong > 0).then(|| format!("{wrong} batches have wrong scores"));
    let mut report = Report { summary, result: stages.json("stages_us"), problem };
    report.put(json!({
        "bytes_per_batch": bytes, "gb_per_s": gb_per_s("sum"), "sequential_read_gb_per_s": gb_per_s("sequential_read"),
        "share_of_sequential_read": rounded(share), "scores": (warmup + iters) * LANES * (rig.tiers.len() + rig.wide.len()), "batches_wrong": wrong,
    }));
    Ok(report)
}

/// The store and both roles.
struct Rig {
    users: usize,
    tier: Tier,
    store: PlainStore,
    faces: Vec<Embedding>,
    /// Both roles on the highest tier, and after them on each lower one.
    tiers: Vec<Roles>,
    /// Stores of the wider vectors, as many users, for the highest tier.
    wide: Vec<Wide>,
    /// The first 32 templates in one ciphertext.
    block: TemplateCiphertext,
    sum: Vec<u64>,
    rng: StdRng,
}

/// A store of wider vectors.
struct Wide {
    steps: [&'static str; 2],
    store: PlainStore,
    faces: Vec<Embedding>,
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
            Tier::Portable | Tier::Neon => ["match_portable", "keyholder_portable"],
        };
        let scheme = scheme(tier);
        Roles { steps, masker: Masker::new(&scheme, rand::random()), decryptor: Decryptor::new(&scheme) }
    }
}

/// The nanoseconds of each step.
type Steps = Vec<(&'static str, u64)>;

impl Rig {
    fn new(users: usize, seed: u64, tier: Tier) -> Result<Self, Failure> {
        let scheme = scheme(tier);
        let mut rng = StdRng::seed_from_u64(seed);
        let mut made = |width| -> Result<_, Failure> {
            let faces = (0..FACES).map(|_| face(width, &mut rng)).collect::<Result<Vec<_>, _>>()?;
            let templates = (0..users).map(|user| faces[user % FACES].clone());
            Ok((PlainStore::new(&scheme, templates, &mut rng)?, faces))
        };
        let (store, faces) = made(Width::W128)?;
        let mut wide = Vec::new();
        for (width, steps) in
            [(Width::W256, ["match_256", "keyholder_256"]), (Width::W512, ["match_512", "keyholder_512"])]
        {
            let (store, faces) = made(width)?;
            wide.push(Wide { steps, store, faces });
        }
        let block = TemplateCiphertext::block(&scheme, &store.templates[..LANES].iter().collect::<Vec<_>>());
        let tiers: Vec<Tier> = Tier::available().filter(|lower| *lower <= tier).collect();
        let tiers = tiers.into_iter().rev().map(|lower| Roles::new(lower, tier)).collect();
        let sum = vec![0; store.bytes(0).len() / packed::RESIDUE_BYTES];
        Ok(Rig { users, tier, store, faces, tiers, wide, block, sum, rng })
    }

    /// One random batch through every step, and whether its scores are right.
    fn round(&mut self) -> Result<(Steps, bool), Failure> {
        let probes: Vec<Embedding> =
            (0..LANES).map(|_| self.faces[self.rng.random_range(0..FACES)].clone()).collect();
        let mut times = Steps::new();
        // Each step that reads templates reads a batch of its own: none finds the other's in the cache.
        let start = LANES * self.rng.random_range(0..self.users / LANES);
        times.push(("sequential_read", timed(|| black_box(self.read(start))).1));
        let users = random_users(self.users, &mut self.rng);
        times.push(("sum", timed(|| self.sum(&users)).1));
        let placed: Vec<_> = probes.iter().enumerate().collect();
        let (masker, PlainStore { basis, tag_basis, .. }) = (&mut self.tiers[0].masker, &self.store);
        let step = || (masker.mask_blocks(basis, &[&self.block], &placed), masker.tag(tag_basis));
        times.push(("match_prepacked", timed(step).1));
        let mut right = true;
        for tier in 0..self.tiers.len() {
            let users = random_users(self.users, &mut self.rng);
            let roles = &mut self.tiers[tier];
            let (masked, ns) = timed(|| self.store.mask(&mut roles.masker, &users, &probes));
            times.push((roles.steps[0], ns));
            let (opened, ns) = timed(|| self.store.open(&mut roles.decryptor, &users, &masked));
            times.push((roles.steps[1], ns));
            let opened = opened?;
            right &= (0..LANES)
                .all(|lane| opened.scores()[lane] == self.faces[users[lane] % FACES].dot(&probes[lane]));
        }
        for Wide { steps, store, faces } in &self.wide {
            let users = random_users(self.users, &mut self.rng);
            let probes: Vec<Embedding> =
                (0..LANES).map(|_| faces[self.rng.random_range(0..FACES)].clone()).collect();
            let roles = &mut self.tiers[0];
            let (masked, ns) = timed(|| store.mask(&mut roles.masker, &users, &probes));
            times.push((steps[0], ns));
            let (opened, ns) = timed(|| store.open(&mut roles.decryptor, &users, &masked));
            times.push((steps[1], ns));
            let opened = opened?;
            right &=
                (0..LANES).all(|lane| opened.scores()[lane] == faces[users[lane] % FACES].dot(&probes[lane]));
        }
        Ok((times, right))
    }

    fn sum(&mut self, users: &[usize]) {
        let sources: Vec<&[u8]> = users.iter().map(|user| self.store.bytes(*user)).collect();
        packed::sum(Cpu::at_most(self.tier), &sources, &mut self.sum);
        black_box(&self.sum);
    }

    /// Reads 32 templates that are neighbours in memory, in order.
    fn read(&self, start: usize) -> u64 {
        (start..start + LANES).map(|user| checksum(self.store.bytes(user))).fold(0, |sum, part| sum ^ part)
    }
}

/// Enough for probes and templates to vary, few enough to stay in the cache.
const FACES: usize = 97;

/// Several words at a time, so that memory and not addition limits it.
fn checksum(bytes: &[u8]) -> u64 {
    let mut sums = [0u64; 32];
    for line in bytes.as_chunks::<256>().0 {
        for (sum, word) in sums.iter_mut().zip(line.as_chunks().0) {
            *sum ^= u64::from_le_bytes(*word);
        }
    }
    sums.iter().fold(0, |all, sum| all ^ sum)
}
