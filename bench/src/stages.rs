//! Time of each step of one batch of 32 on one pinned worker.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use trefoil_cache::Cache;
use trefoil_matching::{LANES, Tier};
use trefoil_pipeline::affinity::{Pin, Placement};
use trefoil_pipeline::{
    Bound, Cadence, ChainHead, Clock, Floor, Open, Origin, Pipeline, Pool, Release, Sealer, Sequence,
    StageTimes, Verdict, Worker,
};

use crate::Failure;
use crate::Report;
use crate::audit::audit;
use crate::clock::WorldClock;
use crate::distribution::{Distribution, rounded};
use crate::faces::FaceSource;
use crate::population::Population;
use crate::seals::{Ledger, Submitted, Tally};
use crate::wiring::{CacheChoice, OverCache, over_cache};
use crate::workload::{self, Popularity, Prepared, Ticket};
use crate::world::{Ground, World, capacity, signing_keys};

/// What to time.
#[derive(Clone, Copy, Debug)]
pub struct Stages {
    /// Enrolled templates; a multiple of 32.
    pub users: usize,
    /// Timed batches.
    pub iterations: usize,
    /// Batches before that.
    pub warmup: usize,
    /// Fixes users, probes and impostors.
    pub seed: u64,
    /// The cache that verdicts are looked up in.
    pub cache: CacheChoice,
    /// Highest tier to compute on.
    pub tier: Tier,
}

/// Times the stages.
///
/// # Errors
/// When the world cannot be made. Wrong outputs are in the report, not here.
pub fn stages(parameters: Stages, population: Arc<Population>) -> Result<Report, Failure> {
    over_cache(parameters.cache, capacity(&population), Timing { parameters, population })?
}

struct Timing {
    parameters: Stages,
    population: Arc<Population>,
}

impl OverCache for Timing {
    type Output = Result<Report, Failure>;

    fn over<C: Cache<Verdict>>(self, cache: C) -> Self::Output
    where
        C::Session: 'static,
    {
        let Timing { parameters, population } = self;
        let Stages { users, iterations, warmup, seed, tier, .. } = parameters;
        let world =
            World::new(cache, &Arc::new(Ground::new(population, users, FaceSource::Synthetic)?), tier)?;
        let prepared = workload::prepare(&world.ground, warmup + iterations, seed, Popularity::Uniform)?;
        let clock = Arc::new(WorldClock::start());
        let placement = Placement::new(Some(1), Pin::Auto);
        let outcomes = compute(&world, &prepared, &clock, &placement)?;
        let mut submitted = Submitted {
            lanes: (prepared.len() * LANES) as u64,
            matches: prepared.iter().map(Prepared::matches).sum(),
            ..Submitted::default()
        };
        let mut times = Vec::with_capacity(outcomes.len());
        let mut bound = Vec::with_capacity(outcomes.len());
        for outcome in outcomes {
            submitted.note(&outcome.refused);
            times.push(outcome.times);
            bound.push(outcome);
        }
        let (keys, trust_root) = signing_keys()?;
        let tally = seal_alone(&world.pipeline, keys, bound, &clock)?;
        let sealed: Vec<u64> = tally.seals.iter().map(|seal| seal.seal_ns).collect();
        let audit = audit(&tally, &submitted, &world.ground.population, &trust_root);
        let stage = by_stage(&times[warmup..], sealed.get(warmup..).unwrap_or_default());
        let mut result = figures(&stage);
        result.extend(context(&parameters, &world, &placement));
        result.insert("verified".into(), audit.counts);
        Ok(Report { summary: summary(&stage, users), result: Value::Object(result), problem: audit.problem })
    }
}

/// Runs all batches back to back on the only, pinned, worker of a pool.
fn compute<C: Cache<Verdict>>(
    world: &World<C>,
    prepared: &[Prepared],
    clock: &Arc<WorldClock>,
    placement: &Placement,
) -> Result<Vec<Bound<Ticket>>, Failure>
where
    C::Session: 'static,
{
    let audience = workload::audience();
    let tickets = (0u64..).step_by(LANES);
    let batches: Vec<_> =
        prepared.iter().zip(tickets).map(|(p, ticket)| p.batch(&world.ground, &audience, ticket)).collect();
    let pool = Arc::new(Pool::<Worker<C>>::new(placement).map_err(Failure::in_step("worker"))?);
    let (done, results) = crossbeam_channel::bounded(1);
    let (own, pipeline, clock) = (Arc::clone(&pool), Arc::clone(&world.pipeline), Arc::clone(clock));
    pool.spawn(move || {
        let mut worker = own.worker(|| pipeline.worker());
        let run = |batch| pipeline.run(batch, &mut worker, clock.as_ref(), &Open);
        // If the receiver is gone, nothing waits for the outcomes.
        done.send(batches.into_iter().map(run).collect::<Vec<_>>()).unwrap_or_default();
    });
    results.recv().map_err(Failure::in_step("worker"))
}

/// Seals each batch alone, one after the other, while nothing else runs.
fn seal_alone<C: Cache<Verdict>>(
    pipeline: &Pipeline<C>,
    keys: trefoil_sign::SigningKeys,
    bound: Vec<Bound<Ticket>>,
    clock: &Arc<WorldClock>,
) -> Result<Tally, Failure> {
    let ledger = Arc::new(Ledger::new(Arc::clone(clock), SAMPLES));
    let (mut outlet, sealer) = Sealer::start(
        keys,
        Origin::new(pipeline.issuer()),
        ChainHead::GENESIS,
        Sequence { cadence: Cadence::PerBatch, floor: Floor::NONE, sealers: 1 },
        Arc::clone(clock) as Arc<dyn Clock>,
        Arc::clone(&ledger) as Arc<dyn Release<Ticket>>,
        |_| {},
    )
    .map_err(Failure::in_step("sealer"))?;
    for batch in bound {
        if !outlet.seal(batch) {
            return Err(Failure::fault("the sealer stopped"));
        }
    }
    drop(outlet);
    sealer.join().ok_or_else(|| Failure::fault("the sealer panicked"))?;
    Ok(ledger.take())
}

/// Attestations to verify.
const SAMPLES: usize = 64;

/// Names of the stages and their runs, microseconds per batch.
type ByStage = Vec<(&'static str, Distribution)>;

fn by_stage(times: &[StageTimes], sealed_ns: &[u64]) -> ByStage {
    let of = |stage: fn(&StageTimes) -> u64| Distribution::of_ns(times.iter().map(stage));
    let total = times
        .iter()
        .zip(sealed_ns)
        .map(|(t, seal)| t.match_ns + t.key_holder_ns + t.proof_lookup_ns + t.digest_ns + seal);
    vec![
        ("match", of(|t| t.match_ns)),
        ("keyholder", of(|t| t.key_holder_ns)),
        ("proof_lookup", of(|t| t.proof_lookup_ns)),
        ("digest", of(|t| t.digest_ns)),
        ("seal", Distribution::of_ns(sealed_ns.iter().copied())),
        ("total", Distribution::of_ns(total)),
    ]
}

fn figures(stages: &ByStage) -> Map<String, Value> {
    let each = |figure: &dyn Fn(&Distribution) -> Value| -> Value {
        stages.iter().map(|(name, runs)| ((*name).to_owned(), figure(runs))).collect::<Map<_, _>>().into()
    };
    let mut result = Map::new();
    result.insert("stages_us".into(), each(&|d| json!(rounded(d.median()))));
    result.insert("min_us".into(), each(&|d| json!(rounded(d.min()))));
    result.insert("p90_us".into(), each(&|d| json!(rounded(d.p90()))));
    result.insert("runs_us".into(), each(&Distribution::runs_json));
    result
}

fn context<C: Cache<Verdict>>(
    parameters: &Stages,
    world: &World<C>,
    placement: &Placement,
) -> Map<String, Value> {
    let Stages { users, iterations, warmup, seed, cache, tier } = *parameters;
    let context = json!({
        "mode": "plain", "keys": "per-subject", "cadence": "per-batch", "cache": cache.name(),
        "users": users, "people": world.ground.population.people.len(), "lanes": LANES,
        "iterations": iterations, "warmup_batches": warmup, "seed": seed, "tier": tier.name(),
        "template_store_bytes": world.ground.template_bytes(),
        "placement": placement.cpus, "warnings": placement.warnings,
        "proofs_from_file": world.ground.population.from_file,
        "proofs_seconds": rounded(world.ground.population.seconds),
    });
    context.as_object().cloned().unwrap_or_default()
}

fn summary(stages: &ByStage, users: usize) -> String {
    let mut text = format!("us per batch of {LANES} of {users} users: median (min, p90)\n");
    for (name, runs) in stages {
        let (median, min, p90) = (runs.median(), runs.min(), runs.p90());
        text.push_str(&format!("  {name:<13} {median:>10.1}  ({min:.1}, {p90:.1})\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use trefoil_attest::Decision;

    use super::*;
    use crate::audit::Sample;
    use crate::world::{self, new_signing_keys};

    /// One batch, decided and sealed, over the cache that it is given.
    struct OneBatch(Arc<Population>);

    impl OverCache for OneBatch {
        type Output = Result<(Tally, Submitted, trefoil_attest::TrustRoot), Failure>;

        fn over<C: Cache<Verdict>>(self, cache: C) -> Self::Output
        where
            C::Session: 'static,
        {
            let world = World::new(
                cache,
                &Arc::new(Ground::new(self.0, LANES, FaceSource::Synthetic)?),
                Tier::detected(),
            )?;
            let prepared = workload::prepare(&world.ground, 1, 3, Popularity::Uniform)?;
            let clock = Arc::new(WorldClock::start());
            let bound = compute(&world, &prepared, &clock, &Placement::new(Some(1), Pin::Auto))?;
            let (keys, trust_root) = signing_keys()?;
            let tally = seal_alone(&world.pipeline, keys, bound, &clock)?;
            let submitted =
                Submitted { lanes: LANES as u64, matches: prepared[0].matches(), ..Submitted::default() };
            Ok((tally, submitted, trust_root))
        }
    }

    /// Claim B14: Each window of a canonical run was audited: the counts of matches and denials are those that its seed predicts, no
    /// decision is wrong, and its sampled attestations verified. Also:
    /// `bench/records/2026-11-24-epyc-2vcpu/run-engine.json#/long_window/outcome/verified/expected_matches`,
    /// `bench/records/2026-11-25-epyc-zen3-b-2vcpu/run-reference.json#/long_window/outcome/verified/expected_matches`,
    /// `bench/records/2026-11-24-epyc-2vcpu/run-per-batch.json#/long_window/outcome/verified/attestations`.
    #[test]
    fn the_audit_finds_what_is_not_as_it_must_be() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench-world");
        let population = Arc::new(Population::new(LANES, &folder, 2).expect("proofs"));
        let one_batch = || {
            over_cache(CacheChoice::DEFAULT, capacity(&population), OneBatch(Arc::clone(&population)))
                .expect("cache")
                .expect("batch")
        };
        let (mut tally, submitted, trust_root) = one_batch();
        let right = audit(&tally, &submitted, &population, &trust_root);
        assert_eq!(right.problem, None);
        assert_eq!(right.counts["attestations"], 1);
        let mut with = |change: &dyn Fn(&mut Sample)| {
            let ticket = tally.samples.kept[0].lane.reply;
            let leaf_index = tally.samples.kept[0].leaf_index;
            change(&mut tally.samples.kept[0]);
            let problem = audit(&tally, &submitted, &population, &trust_root).problem;
            tally.samples.kept[0].lane.reply = ticket;
            tally.samples.kept[0].leaf_index = leaf_index;
            problem
        };
        assert!(with(&|sample| sample.lane.reply.number += 1).is_some(), "another nonce");
        assert!(with(&|sample| sample.lane.reply.person ^= 1).is_some(), "another person");
        assert!(with(&|sample| sample.leaf_index ^= 1).is_some(), "another path");
        let opposite = |sample: &mut Sample| {
            let expected = &mut sample.lane.reply.expected;
            *expected = if *expected == Decision::Match { Decision::NoMatch } else { Decision::Match };
        };
        assert!(with(&opposite).is_some(), "another decision");
        assert!(with(&|_| ()).is_none());
        let other_root = world::trust_root(&new_signing_keys().expect("keys")).expect("trust root");
        assert!(audit(&tally, &submitted, &population, &other_root).problem.is_some(), "other keys");
        tally.samples.kept.clear();
        assert!(audit(&tally, &submitted, &population, &trust_root).problem.is_some(), "nothing sampled");
    }
}
