//! Closed loop: workers run prepared batches as fast as they can; a lane counts once it is sealed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use trefoil_cache::Cache;
use trefoil_matching::{LANES, Tier};
use trefoil_pipeline::affinity::{Pin, Placement};
use trefoil_pipeline::{
    Bound, COMPUTING_PER_WORKER, Cadence, ChainHead, Clock, Pool, Release, Sealer, StageTimes, UNSEALED_MAX,
    Verdict, Worker,
};

use crate::audit::{Audit, audit};
use crate::clock::WorldClock;
use crate::distribution::{Distribution, rounded};
use crate::failure::Failure;
use crate::population::Population;
use crate::processor::process_cpu_ns;
use crate::record::Report;
use crate::seals::{Ledger, SealEntry, Submitted, Tally};
use crate::wiring::{CacheChoice, OverCache, over_cache};
use crate::workload::{self, Prepared, Ticket};
use crate::world::{World, capacity, signing_keys};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Pinned workers.
    pub workers: usize,
    /// Length of a window, seconds.
    pub seconds: f64,
    /// Time before the first window, seconds.
    pub warmup_s: f64,
    /// Windows.
    pub repeats: usize,
    /// Batches per seal.
    pub cadence: Cadence,
    /// The cache that verdicts are looked up in.
    pub cache: CacheChoice,
    /// Enrolled templates; a multiple of 32.
    pub users: usize,
    /// Distinct batches that the workers go round.
    pub batches: usize,
    /// Fixes users, probes and impostors.
    pub seed: u64,
    /// Attestations to verify afterwards.
    pub samples: usize,
    /// Highest tier to compute on.
    pub tier: Tier,
}

/// Runs the loop.
///
/// # Errors
/// When the world cannot be made. Wrong outputs are in the report, not here.
pub fn run(parameters: Run, population: Arc<Population>) -> Result<Report, Failure> {
    over_cache(parameters.cache, capacity(&population), ClosedLoop { parameters, population })?
}

struct ClosedLoop {
    parameters: Run,
    population: Arc<Population>,
}

impl OverCache for ClosedLoop {
    type Output = Result<Report, Failure>;

    fn over<C: Cache<Verdict>>(self, cache: C) -> Self::Output
    where
        C::Session: 'static,
    {
        let ClosedLoop { parameters, population } = self;
        let stand = Stand::new(cache, population, parameters)?;
        for warning in &stand.placement.warnings {
            eprintln!("warning: {warning}");
        }
        let Outcome { windows, audit, cpu_ns_per_lane: _ } = stand.run()?;
        Ok(report(&parameters, &stand.world, &stand.placement, &windows, audit))
    }
}

/// A world over one cache that can be loaded again and again.
pub(crate) struct Stand<C: Cache<Verdict>> {
    parameters: Run,
    world: Arc<World<C>>,
    prepared: Arc<Vec<Prepared>>,
    placement: Placement,
}

/// What one load gave.
pub(crate) struct Outcome {
    pub(crate) windows: Vec<Window>,
    pub(crate) audit: Audit,
    /// Processor time of the process for each sealed lane, from the first batch to the last seal.
    pub(crate) cpu_ns_per_lane: f64,
}

impl<C: Cache<Verdict>> Stand<C>
where
    C::Session: 'static,
{
    /// Enrols everybody and prepares the batches.
    pub(crate) fn new(cache: C, population: Arc<Population>, parameters: Run) -> Result<Self, Failure> {
        let world = Arc::new(World::new(cache, population, parameters.users, parameters.tier)?);
        let prepared = Arc::new(workload::prepare(&world, parameters.batches, parameters.seed)?);
        let placement = Placement::new(Some(parameters.workers), Pin::Auto);
        Ok(Stand { parameters, world, prepared, placement })
    }

    /// Loads the pipeline through warm-up and windows, drains it and audits what it gave.
    pub(crate) fn run(&self) -> Result<Outcome, Failure> {
        let (keys, trust_root) = signing_keys()?;
        let clock = Arc::new(WorldClock::start());
        let load = Load {
            parameters: self.parameters,
            world: Arc::clone(&self.world),
            prepared: Arc::clone(&self.prepared),
            clock,
        };
        let began = process_cpu_ns();
        let (tally, submitted, marks) = load.drive(keys, &self.placement)?;
        let cpu_ns = process_cpu_ns() - began;
        let windows = windows(&tally.seals, &marks)?;
        let audit = audit(&tally, &submitted, &self.world.population, &trust_root);
        Ok(Outcome { windows, audit, cpu_ns_per_lane: cpu_ns as f64 / submitted.lanes as f64 })
    }
}

struct Load<C: Cache<Verdict>> {
    parameters: Run,
    world: Arc<World<C>>,
    prepared: Arc<Vec<Prepared>>,
    clock: Arc<WorldClock>,
}

impl<C: Cache<Verdict>> Load<C>
where
    C::Session: 'static,
{
    /// Starts workers and sealer, lets them run for all windows, drains. Returns what was released, what was
    /// submitted, and the ends of the windows on the clock (one more than windows).
    fn drive(
        &self,
        keys: trefoil_sign::SigningKeys,
        placement: &Placement,
    ) -> Result<(Tally, Submitted, Vec<u64>), Failure> {
        let Run { workers, cadence, samples, .. } = self.parameters;
        let ledger = Arc::new(Ledger::new(Arc::clone(&self.clock), samples));
        // One permit per batch that may be unsealed: a worker takes it, the sealer gives it back.
        let unsealed = unsealed_max(cadence, workers);
        let (give, permits) = crossbeam_channel::bounded(unsealed);
        for _ in 0..unsealed {
            give.send(()).map_err(Failure::in_step("permits"))?;
        }
        let give_back = move |batches| (0..batches).for_each(|_| give.send(()).unwrap_or_default());
        let (bound, sealer) = Sealer::start(
            keys,
            self.world.pipeline.issuer().to_owned(),
            ChainHead::GENESIS,
            cadence,
            Arc::clone(&self.clock) as Arc<dyn Clock>,
            Arc::clone(&ledger) as Arc<dyn Release<Ticket>>,
            give_back,
        )
        .map_err(Failure::in_step("sealer"))?;
        let pool = Arc::new(Pool::<Worker<C::Session>>::new(placement).map_err(Failure::in_step("workers"))?);
        let stop = Arc::new(AtomicBool::new(false));
        let (done, totals) = crossbeam_channel::bounded(workers);
        for index in 0..workers {
            let looping = WorkerLoop {
                index,
                world: Arc::clone(&self.world),
                prepared: Arc::clone(&self.prepared),
                clock: Arc::clone(&self.clock),
                pool: Arc::clone(&pool),
                permits: permits.clone(),
                bound: bound.clone(),
                stop: Arc::clone(&stop),
            };
            let done = done.clone();
            pool.spawn(move || done.send(looping.run(workers)).unwrap_or_default());
        }
        drop((bound, done, permits));
        let marks = self.wait(&ledger);
        stop.store(true, Ordering::Relaxed);
        let mut submitted = Submitted::default();
        for worker in totals {
            submitted.add(&worker);
        }
        sealer.join().ok_or_else(|| Failure::fault("the sealer panicked"))?;
        Ok((ledger.take(), submitted, marks))
    }

    /// Sleeps through warm-up and windows, each of which lasts until at least one seal was made in it. Returns the
    /// ends of the windows on the clock.
    fn wait(&self, ledger: &Ledger) -> Vec<u64> {
        let Run { seconds, warmup_s, repeats, .. } = self.parameters;
        let pass = |seconds: f64| {
            let seals = ledger.seals();
            std::thread::sleep(Duration::from_secs_f64(seconds));
            let deadline = self.clock.monotonic_ns() + SEAL_PATIENCE_NS;
            while ledger.seals() == seals && self.clock.monotonic_ns() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            self.clock.monotonic_ns()
        };
        let mut marks = vec![pass(warmup_s)];
        for repeat in 0..repeats {
            marks.push(pass(seconds));
            if repeats > 1 {
                eprintln!("window {} of {repeats}", repeat + 1);
            }
        }
        marks
    }
}

/// A thousand times what a seal takes: whoever waits longer waits for something that has stopped.
const SEAL_PATIENCE_NS: u64 = 10_000_000_000;

/// Batches that may be decided and not yet sealed. The service's own bound where seals take all that waits;
/// where each batch is sealed alone, a queue of that length would only be waiting time.
fn unsealed_max(cadence: Cadence, workers: usize) -> usize {
    match cadence {
        Cadence::Group => UNSEALED_MAX,
        Cadence::PerBatch => COMPUTING_PER_WORKER * workers,
    }
}

struct WorkerLoop<C: Cache<Verdict>> {
    index: usize,
    world: Arc<World<C>>,
    prepared: Arc<Vec<Prepared>>,
    clock: Arc<WorldClock>,
    pool: Arc<Pool<Worker<C::Session>>>,
    permits: crossbeam_channel::Receiver<()>,
    bound: crossbeam_channel::Sender<Bound<Ticket>>,
    stop: Arc<AtomicBool>,
}

impl<C: Cache<Verdict>> WorkerLoop<C>
where
    C::Session: 'static,
{
    /// Runs batches until told to stop. Workers start at different batches of the round and number their
    /// tickets in ranges of their own.
    fn run(self, workers: usize) -> Submitted {
        let pipeline = &self.world.pipeline;
        let mut worker = self.pool.worker(|| pipeline.worker());
        let audience = workload::audience();
        let mut submitted = Submitted::default();
        let mut ticket = (self.index as u64) << 48;
        let mut at = self.index * self.prepared.len() / workers;
        while !self.stop.load(Ordering::Relaxed) && self.permits.recv().is_ok() {
            let prepared = &self.prepared[at];
            at = (at + 1) % self.prepared.len();
            let batch = prepared.batch(&self.world, &audience, ticket);
            ticket += LANES as u64;
            submitted.lanes += batch.lanes.len() as u64;
            submitted.matches += prepared.matches();
            let outcome = pipeline.run(batch, &mut worker, self.clock.as_ref());
            submitted.note(&outcome.refused);
            if self.bound.send(Bound { lanes: outcome.bound, times: outcome.times }).is_err() {
                break;
            }
        }
        submitted
    }
}

/// One window, from the last seal before its start to the last seal before its end, so that a seal of
/// thousands of lanes falls neither half inside nor half outside.
pub(crate) struct Window {
    seconds: f64,
    lanes: u64,
    seals: u64,
    batches: u64,
    /// Per batch of 32.
    stages: Vec<(&'static str, Distribution)>,
    /// Per seal, whatever it covers.
    seal: Distribution,
}

fn windows(seals: &[SealEntry], marks: &[u64]) -> Result<Vec<Window>, Failure> {
    marks.windows(2).map(|ends| window(seals, ends[0], ends[1])).collect()
}

fn window(seals: &[SealEntry], from_ns: u64, to_ns: u64) -> Result<Window, Failure> {
    let (first, last) =
        (seals.partition_point(|s| s.at_ns <= from_ns), seals.partition_point(|s| s.at_ns <= to_ns));
    if first == 0 || last == first {
        return Err(Failure::fault("nothing was sealed in a window: the sealer has stopped"));
    }
    let inside = &seals[first..last];
    let times = || inside.iter().flat_map(|seal| &seal.batches);
    let batches = times().count();
    Ok(Window {
        seconds: (inside[inside.len() - 1].at_ns - seals[first - 1].at_ns) as f64 / 1e9,
        lanes: inside.iter().map(|seal| seal.lanes).sum(),
        seals: inside.len() as u64,
        batches: batches as u64,
        stages: vec![
            ("match", Distribution::of_ns(times().map(|t| t.match_ns))),
            ("keyholder", Distribution::of_ns(times().map(|t| t.keyholder_ns))),
            ("proof_lookup", Distribution::of_ns(times().map(|t| t.proof_lookup_ns))),
            ("digest", Distribution::of_ns(times().map(|t| t.digest_ns))),
            ("seal", Distribution::of_ns(inside.iter().flat_map(seal_shares))),
            ("total", Distribution::of_ns(inside.iter().flat_map(totals))),
        ],
        seal: Distribution::of_ns(inside.iter().map(|seal| seal.seal_ns)),
    })
}

/// Each batch's share of its seal, which costs the same for one batch and for a thousand.
fn seal_shares(seal: &SealEntry) -> impl Iterator<Item = u64> {
    let batches = seal.batches.len();
    std::iter::repeat_n(seal.seal_ns / batches.max(1) as u64, batches)
}

/// Time spent on each batch: its steps and its share of the seal.
fn totals(seal: &SealEntry) -> impl Iterator<Item = u64> {
    let steps = |t: &StageTimes| t.proof_lookup_ns + t.match_ns + t.keyholder_ns + t.digest_ns;
    seal.batches.iter().zip(seal_shares(seal)).map(move |(times, share)| steps(times) + share)
}

impl Window {
    pub(crate) fn auth_per_s(&self) -> f64 {
        self.lanes as f64 / self.seconds
    }

    fn seals_per_s(&self) -> f64 {
        self.seals as f64 / self.seconds
    }

    fn batches_per_seal(&self) -> f64 {
        self.batches as f64 / self.seals as f64
    }

    fn json(&self) -> Value {
        let stages: serde_json::Map<_, _> = self
            .stages
            .iter()
            .map(|(name, runs)| ((*name).to_owned(), json!(rounded(runs.median()))))
            .collect();
        json!({
            "auth_per_s": rounded(self.auth_per_s()),
            "seals_per_s": rounded(self.seals_per_s()),
            "batches_per_seal": rounded(self.batches_per_seal()),
            "seconds": rounded(self.seconds), "lanes": self.lanes, "seals": self.seals,
            "stages_us": stages, "seal_us": rounded(self.seal.median()),
        })
    }
}

fn report<C: Cache<Verdict>>(
    parameters: &Run,
    world: &World<C>,
    placement: &Placement,
    windows: &[Window],
    audit: Audit,
) -> Report {
    let Run { workers, seconds, warmup_s, repeats, cadence, cache, users, batches, seed, samples: _, tier } =
        *parameters;
    let over = |figure: fn(&Window) -> f64| Distribution::new(windows.iter().map(figure).collect());
    let rate = over(Window::auth_per_s);
    let stage_names = windows.first().map(|w| w.stages.iter().map(|(name, _)| *name)).into_iter().flatten();
    let stages: serde_json::Map<_, _> = stage_names
        .enumerate()
        .map(|(at, name)| {
            let medians = windows.iter().map(|w| w.stages[at].1.median()).collect();
            (name.to_owned(), json!(rounded(Distribution::new(medians).median())))
        })
        .collect();
    let stats = world.cache.stats();
    let cadence_name = match cadence {
        Cadence::Group => "group",
        Cadence::PerBatch => "per-batch",
    };
    let result = json!({
        "auth_per_s": rounded(rate.median()),
        "auth_per_s_runs": rate.runs_json(),
        "seals_per_s": rounded(over(Window::seals_per_s).median()),
        "batches_per_seal": rounded(over(Window::batches_per_seal).median()),
        "stages_us": stages,
        "seal_us": rounded(over(|window| window.seal.median()).median()),
        "windows": windows.iter().map(Window::json).collect::<Vec<_>>(),
        "workers": workers, "physical_cores": placement.physical_cores, "placement": placement.cpus,
        "warnings": placement.warnings, "cadence": cadence_name, "cache": cache.name(),
        "seconds": seconds, "warmup_seconds": warmup_s, "repeats": repeats,
        "mode": "plain", "keys": "per-subject", "users": users,
        "people": world.population.people.len(), "prepared_batches": batches, "seed": seed,
        "unsealed_batches_max": unsealed_max(cadence, workers), "tier": tier.name(),
        "template_store_bytes": world.template_bytes(),
        "cache_stats": {"hits": stats.hits, "misses": stats.misses, "capacity": world.cache.capacity()},
        "verified": audit.counts,
    });
    let windows: Vec<String> = rate.runs().iter().map(|rate| format!("{rate:.0}")).collect();
    let summary = format!(
        "{:.0} authentications/s (windows: {})\n{workers} workers, {} cache, cadence {cadence_name}, {:.1} batches per seal\n",
        rate.median(),
        windows.join(", "),
        cache.name(),
        over(Window::batches_per_seal).median(),
    );
    Report { summary, result, problem: audit.problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(at_ns: u64, lanes: u64) -> SealEntry {
        SealEntry { at_ns, lanes, seal_ns: 1_000, batches: vec![Default::default(); lanes as usize / 32] }
    }

    #[test]
    fn a_window_reaches_from_seal_to_seal() {
        let seals = [seal(900, 32), seal(1_900, 64), seal(2_900, 64), seal(3_900, 32)];
        let window = window(&seals, 1_000, 3_000).expect("seals");
        assert_eq!((window.lanes, window.seals, window.batches), (128, 2, 4));
        assert!((window.seconds - 2e-6).abs() < 1e-12);
        assert_eq!(window.batches_per_seal(), 2.0);
    }

    #[test]
    fn a_window_without_a_seal_or_a_start_is_refused() {
        assert!(window(&[seal(900, 32)], 1_000, 2_000).is_err());
        assert!(window(&[seal(1_500, 32)], 1_000, 2_000).is_err(), "no seal before its start");
        assert!(window(&[], 0, 1).is_err());
    }
}
