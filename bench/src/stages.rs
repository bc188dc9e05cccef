//! Time of each step of one batch of 32 on one pinned worker.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use serde_json::{Map, json};
use trefoil_cache::Cache;
use trefoil_kernels::Cpu;
use trefoil_matching::{LANES, Tier};
use trefoil_pipeline::affinity::{Pin, Placement};
use trefoil_pipeline::{Bound, Cadence, Open, Pool, Release, StageTimes, Verdict, Worker};

use crate::args::{WorldArgs, count};
use crate::audit::audit;
use crate::clock::WorldClock;
use crate::distribution::rounded;
use crate::limits::{Possible, limits};
use crate::match_stages::match_stages;
use crate::population::Population;
use crate::seals::{Ledger, Submitted, Tally};
use crate::visits::Visits;
use crate::wiring::{CacheChoice, OverCache, over_cache};
use crate::workload::{self, Popularity, Prepared, Ticket};
use crate::world::{Ground, World, capacity, sealer, signing_keys};
use crate::{Failure, Report, window};

#[derive(Debug, Args)]
pub(crate) struct Stages {
    /// Timed batches
    #[arg(long, default_value_t = 400, value_parser = count::<1, 100_000>)]
    pub(crate) iters: usize,
    /// Batches before them
    #[arg(long, default_value_t = 64, value_parser = count::<0, 100_000>)]
    pub(crate) warmup: usize,
    /// Cache to look verdicts up in
    #[arg(long, value_enum, default_value_t = CacheChoice::DEFAULT)]
    cache: CacheChoice,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
}

/// Times the stages, and beside them the roles' arithmetic alone and what this machine could do at best.
///
/// # Errors
/// When the world cannot be made. Wrong outputs are in the report, not here.
pub(crate) fn stages(args: &Stages, tier: Tier) -> Result<Report, Failure> {
    let mut arithmetic = match_stages(args, tier)?;
    arithmetic.summary.insert_str(0, "the roles' arithmetic alone:\n");
    let memory = MEMORY_FIGURES.map(|figure| (figure.to_owned(), arithmetic.result[figure].clone()));
    let gb_per_s = arithmetic.result["sequential_read_gb_per_s"].as_f64().unwrap_or(f64::NAN);
    let population = args.world.population(args.world.people)?;
    let timing = Timing { args, tier, population: Arc::clone(&population) };
    let report = over_cache(args.cache, capacity(&population), timing)??;
    let mut report = report.and("arithmetic", arithmetic);
    report.put(Map::from_iter(memory).into());
    let limits = limits(&report.result["stages_us"], &Possible::here(Cpu::at_most(tier), gb_per_s), tier);
    Ok(report.and("limits", limits))
}

/// Figures of the arithmetic that are at the top too.
const MEMORY_FIGURES: [&str; 4] =
    ["bytes_per_batch", "gb_per_s", "sequential_read_gb_per_s", "share_of_sequential_read"];

struct Timing<'a> {
    args: &'a Stages,
    tier: Tier,
    population: Arc<Population>,
}

impl OverCache for Timing<'_> {
    type Output = Result<Report, Failure>;

    fn over<C: Cache<Verdict>>(self, cache: C) -> Self::Output {
        let Timing { args, tier, population } = self;
        let Stages { iters, warmup, ref world, .. } = *args;
        let WorldArgs { users, people, seed, .. } = *world;
        let proofs_s = population.seconds;
        let ground = Arc::new(Ground::new(population, users)?);
        let world = World::new(cache, &ground, tier, true)?;
        let prepared = workload::prepare(&ground, warmup + iters, seed, Popularity::Uniform)?;
        let clock = Arc::new(WorldClock::start());
        let placement = Placement::new(Some(1), Pin::Auto);
        let (outcomes, mut submitted) = compute(&world, prepared, &clock, &placement)?;
        outcomes.iter().for_each(|outcome| submitted.note(&outcome.refused));
        let times: Vec<StageTimes> = outcomes.iter().map(|outcome| outcome.times).collect();
        let (keys, trust_root) = signing_keys()?;
        let tally = seal_alone(keys, outcomes, &clock)?;
        let audit = audit(&tally, &submitted, &ground.population, &trust_root);
        let sealed = tally.seals.iter().map(|seal| seal.seal_ns);
        let stages = window::stages(times.iter().zip(sealed).skip(warmup));
        let summary =
            format!("us per batch of {LANES} of {users} users: median (min, p90)\n{}", stages.text());
        let mut report = Report { summary, result: stages.json("stages_us"), problem: audit.problem };
        report.put(json!({
            "mode": "plain", "keys": "per-subject", "cadence": "per-batch", "cache": args.cache.name(),
            "users": users, "people": people, "lanes": LANES, "iterations": iters, "warmup_batches": warmup,
            "seed": seed, "tier": tier.name(), "template_store_bytes": ground.template_bytes(),
            "placement": placement.cpus, "warnings": placement.warnings,
            "proofs_seconds": rounded(proofs_s),
            "verified": audit.counts.into_iter().collect::<BTreeMap<_, _>>(),
        }));
        Ok(report)
    }
}

/// Runs all batches back to back on the only, pinned, worker of a pool.
fn compute<C: Cache<Verdict>>(
    world: &World<C>,
    prepared: Vec<Prepared>,
    clock: &Arc<WorldClock>,
    placement: &Placement,
) -> Result<(Vec<Bound<Ticket>>, Submitted), Failure> {
    let (count, mut submitted) = (prepared.len(), Submitted::default());
    let mut visits = Visits::new(&Arc::new(prepared), 0, 1);
    let batches: Vec<_> = (0..count).map(|_| visits.batch(&world.ground, true, &mut submitted)).collect();
    let pool = Arc::new(Pool::<Worker<C>>::new(placement).map_err(Failure::in_step("worker"))?);
    let (done, results) = crossbeam_channel::bounded(1);
    let (own, pipeline, clock) = (Arc::clone(&pool), Arc::clone(&world.pipeline), Arc::clone(clock));
    pool.spawn(move || {
        let mut worker = own.worker(|| pipeline.worker());
        let run = |batch| pipeline.run(batch, &mut worker, clock.as_ref(), &Open);
        // If the receiver is gone, nothing waits for the outcomes.
        done.send(batches.into_iter().map(run).collect::<Vec<_>>()).unwrap_or_default();
    });
    Ok((results.recv().map_err(Failure::in_step("worker"))?, submitted))
}

/// Seals each batch alone, one after the other, while nothing else runs.
fn seal_alone(
    keys: trefoil_sign::SigningKeys,
    bound: Vec<Bound<Ticket>>,
    clock: &Arc<WorldClock>,
) -> Result<Tally, Failure> {
    let ledger = Arc::new(Ledger::new(Arc::clone(clock), SAMPLES));
    let release = Arc::clone(&ledger) as Arc<dyn Release<Ticket>>;
    let (mut outlet, sealer) = sealer(keys, (Cadence::PerBatch, 1), clock, release, |_| {})?;
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

#[cfg(test)]
mod tests {
    use trefoil_attest::Decision;

    use super::*;
    use crate::audit::Sample;
    use crate::world::{self, new_signing_keys};

    /// One batch, decided and sealed, over the cache that it is given.
    struct OneBatch(Arc<Population>);

    impl OverCache for OneBatch {
        type Output = Result<(Tally, Submitted, trefoil_attest::TrustRoot), Failure>;

        fn over<C: Cache<Verdict>>(self, cache: C) -> Self::Output {
            let ground = Arc::new(Ground::new(self.0, LANES)?);
            let world = World::new(cache, &ground, Tier::detected(), true)?;
            let prepared = workload::prepare(&world.ground, 1, 3, Popularity::Uniform)?;
            let clock = Arc::new(WorldClock::start());
            let (bound, submitted) = compute(&world, prepared, &clock, &Placement::new(Some(1), Pin::Auto))?;
            let (keys, trust_root) = signing_keys()?;
            let tally = seal_alone(keys, bound, &clock)?;
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
        let population = Arc::new(Population::new(LANES, 2).expect("proofs"));
        let one_batch = || {
            over_cache(CacheChoice::DEFAULT, capacity(&population), OneBatch(Arc::clone(&population)))
                .expect("cache")
                .expect("batch")
        };
        let (mut tally, submitted, trust_root) = one_batch();
        let right = audit(&tally, &submitted, &population, &trust_root);
        assert_eq!(right.problem, None);
        assert_eq!(right.counts[0], ("attestations", 1));
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
