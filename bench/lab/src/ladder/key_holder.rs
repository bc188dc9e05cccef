//! The key-holder's rung: the same batches through its state without locks and through its former locks, kept as an exhibit.
//! Both decrypt with the same code and share nothing; only how a batch comes to its tenant, its subjects and its scratch memory differs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::time::{Duration, Instant};
use trefoil_types::BatchId;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Map, Value, json};
use trefoil_matching::{
    AttemptPolicy, AttemptRecord, DIM, DecisionPolicy, Embedding, Handle, KeyHolder, KeyStructure, LANES,
    Lane, LaneSet, MatchJob, Matcher, SubjectRecord, TemplateName, TenantId, TenantRecord, Tier, Vault,
    VaultError, VaultState, split, system_entropy, unblind,
};
use trefoil_pipeline::affinity::{Pin, Placement, pin_current};
use zeroize::Zeroizing;

use crate::Failure;
use crate::distribution::{Distribution, rounded};
use crate::exhibits::{Job, LockedKeyHolder};
use crate::opener::OpenVault;
use crate::paired::Ratios;
use crate::processor::thread_cpu_ns;

/// Unix second of every batch: an arbitrary one, since nothing here reads a clock.
const NOW_S: u64 = 1_795_003_200;

/// What to measure.
#[derive(Clone, Debug)]
pub struct KeyHolderLoad {
    /// Numbers of workers, one after the other.
    pub workers: Vec<usize>,
    /// Batches of 32 subjects each, none of which is in two.
    pub batches: usize,
    /// Length of one run.
    pub duration: Duration,
    /// Rounds of locks, none, none, locks.
    pub repeats: usize,
    /// Highest tier for the matcher, which makes the batches.
    pub tier: Tier,
}

const TENANT: TenantId = TenantId::new(*b"key-holder-rung-");
/// Between a face and itself the score is about 30,600, between strangers it is small.
const THRESHOLD: i32 = 16_046;
/// One probe in this many shows a different person's face.
const STRANGER_IN: u32 = 4;

/// Batches, what is to be decided of them, and both key-holders, which know the same subjects.
struct Stand {
    jobs: Vec<(MatchJob, Job, LaneSet)>,
    free: KeyHolder,
    locked: LockedKeyHolder,
}

/// The deciding key-holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Locked,
    Free,
}

/// One run.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    batches: u64,
    /// Batches whose decision differs from plaintext arithmetic.
    wrong: u64,
    cpu_ns: u64,
    wall: Duration,
}

/// The rounds with one number of workers.
pub struct Measured {
    workers: usize,
    rounds: Vec<[Run; 4]>,
}

/// Measures.
///
/// # Errors
/// When an enrolment or a batch is refused, or the two decide a batch differently.
pub fn measure(load: &KeyHolderLoad, seed: u64) -> Result<Vec<Measured>, Failure> {
    let stand = Stand::new(load, seed)?;
    stand.compare()?;
    let one = |&workers: &usize| {
        let rounds = (0..load.repeats).map(|round| {
            eprintln!("key-holder, {workers} workers: round {} of {}", round + 1, load.repeats);
            [Side::Locked, Side::Free, Side::Free, Side::Locked]
                .map(|side| stand.run(side, workers, load.duration))
        });
        Measured { workers, rounds: rounds.collect() }
    };
    Ok(load.workers.iter().map(one).collect())
}

impl Stand {
    fn new(load: &KeyHolderLoad, seed: u64) -> Result<Stand, Failure> {
        let mut rng = StdRng::seed_from_u64(seed);
        let vault = OpenVault::default();
        let free = KeyHolder::new(Box::new(Forgetful(Arc::clone(&vault))), &mut rng, NOW_S)
            .map_err(Failure::in_step("key-holder"))?;
        let policy = DecisionPolicy { threshold: THRESHOLD, attempts: AttemptPolicy::UNLIMITED };
        let key = free
            .create_tenant(TENANT, KeyStructure::PerSubject, policy)
            .map_err(Failure::in_step("tenant"))?;
        let mut matcher = Matcher::new(load.tier, Box::new(system_entropy));
        let mut jobs = Vec::with_capacity(load.batches);
        for _ in 0..load.batches {
            let (mut lanes, mut expected) = (Vec::with_capacity(LANES), LaneSet::EMPTY);
            for lane in Lane::all() {
                let enrolled = face(&mut rng)?;
                let stranger = rng.random_range(0..STRANGER_IN) == 0;
                let probe = if stranger { face(&mut rng)? } else { enrolled.clone() };
                if enrolled.dot(&probe) >= THRESHOLD {
                    expected.insert(lane);
                }
                let (blinded, blind) = split(&enrolled, &mut rng);
                let name = TemplateName { tenant: TENANT, handle: Handle::new(rng.random()), generation: 0 };
                let encrypted = free.enrol(name, lane, &blinded.into(), NOW_S);
                lanes.push((unblind(encrypted.map_err(Failure::in_step("enrolment"))?, blind), probe));
            }
            let lanes: Vec<_> = lanes.iter().map(|(template, probe)| (template, probe)).collect();
            let job = matcher
                .mask(BatchId::new(rng.random()), TENANT, THRESHOLD, &key, &lanes)
                .map_err(Failure::in_step("match"))?;
            let own = Job::of(&job)?;
            jobs.push((job, own, expected));
        }
        let locked = LockedKeyHolder::of(&vault, &TENANT, THRESHOLD)?;
        Ok(Stand { jobs, free, locked })
    }

    /// Both decide every batch once, in agreement with plaintext arithmetic.
    fn compare(&self) -> Result<(), Failure> {
        let all = 0..self.jobs.len();
        let differ = |&job: &usize| {
            let expected = Some(self.jobs[job].2);
            self.decide(Side::Free, job) != expected || self.decide(Side::Locked, job) != expected
        };
        match all.filter(differ).count() {
            0 => Ok(()),
            wrong => Err(Failure::fault(format!(
                "the decisions of {wrong} batches differ from plaintext arithmetic"
            ))),
        }
    }

    fn decide(&self, side: Side, job: usize) -> Option<LaneSet> {
        let (job, own, _) = &self.jobs[job];
        match side {
            Side::Free => Some(self.free.decide(job, NOW_S).ok()?.lanes()),
            Side::Locked => self.locked.decide(own, NOW_S),
        }
    }

    fn run(&self, side: Side, workers: usize, duration: Duration) -> Run {
        let (barrier, started, over) = (Barrier::new(workers), OnceLock::new(), AtomicBool::new(false));
        let placement = Placement::new(Some(workers), Pin::Auto);
        let pinned = workers <= placement.physical_cores;
        let work = |worker: usize| {
            if let Some(cpu) = placement.cpus[worker].filter(|_| pinned) {
                pin_current(cpu);
            }
            // Workers begin far from each other: two with one batch at a time would share its subjects' counters.
            let mut at = worker * self.jobs.len() / workers;
            let mut run = Run::default();
            barrier.wait();
            let started = *started.get_or_init(Instant::now);
            let began = thread_cpu_ns();
            while !over.load(Ordering::Relaxed) {
                let decided = self.decide(side, at);
                run.wrong += u64::from(decided != Some(self.jobs[at].2));
                run.batches += 1;
                at = (at + 1) % self.jobs.len();
                if started.elapsed() >= duration {
                    over.store(true, Ordering::Relaxed);
                }
            }
            run.cpu_ns = thread_cpu_ns() - began;
            run.wall = started.elapsed();
            run
        };
        std::thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
            threads.into_iter().fold(Run::default(), |sum, thread| {
                let run = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                Run {
                    batches: sum.batches + run.batches,
                    wrong: sum.wrong + run.wrong,
                    cpu_ns: sum.cpu_ns + run.cpu_ns,
                    wall: sum.wall.max(run.wall),
                }
            })
        })
    }
}

fn face(rng: &mut StdRng) -> Result<Embedding, Failure> {
    let face: [f32; DIM] = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
    Embedding::quantise(&face).map_err(Failure::in_step("quantiser"))
}

impl Run {
    fn batches_per_s(&self) -> f64 {
        self.batches as f64 / self.wall.as_secs_f64()
    }

    fn cpu_us(&self) -> f64 {
        self.cpu_ns as f64 / 1e3 / self.batches as f64
    }
}

impl Measured {
    /// The problem, if there was one.
    pub fn problem(&self) -> Option<String> {
        let wrong: u64 = self.rounds.iter().flatten().map(|run| run.wrong).sum();
        (wrong > 0).then(|| format!("key-holder, {} workers: {wrong} batches decided wrongly", self.workers))
    }

    /// Without locks over with them.
    fn of_locks(&self, rate: impl Fn(&Run) -> f64) -> Ratios {
        Ratios::of_quadruples(
            &self.rounds.iter().map(|round| round.each_ref().map(&rate)).collect::<Vec<_>>(),
        )
    }

    fn figures(&self, sides: [usize; 2], figure: impl Fn(&Run) -> f64) -> Distribution {
        Distribution::new(self.rounds.iter().flat_map(|round| sides.map(|at| figure(&round[at]))).collect())
    }

    fn json(&self) -> Value {
        let side = |sides: [usize; 2]| {
            let (rate, cpu) = (self.figures(sides, Run::batches_per_s), self.figures(sides, Run::cpu_us));
            json!({
                "batches_per_s": rounded(rate.median()), "batches_per_s_runs": rate.runs_json(),
                "cpu_us_per_batch": rounded(cpu.median()), "cpu_us_per_batch_runs": cpu.runs_json(),
            })
        };
        let batches: u64 = self.rounds.iter().flatten().map(|run| run.batches).sum();
        json!({
            "locks": side([0, 3]), "no_locks": side([1, 2]),
            "of_locks": self.of_locks(Run::batches_per_s).interval().json(),
            "of_locks_cpu": self.of_locks(|run| 1.0 / run.cpu_us()).interval().json(),
            "batches_decided": batches,
        })
    }

    fn text(&self) -> String {
        let interval = self.of_locks(Run::batches_per_s).interval();
        format!(
            "  {:>3} workers {:>8.0} /s with locks {:>8.0} /s without: {:.3} [{:.3}, {:.3}]\n",
            self.workers,
            self.figures([0, 3], Run::batches_per_s).median(),
            self.figures([1, 2], Run::batches_per_s).median(),
            interval.mean,
            interval.low,
            interval.high
        )
    }
}

/// For the record.
pub fn json(load: &KeyHolderLoad, measured: &[Measured]) -> Value {
    let workers: Map<_, _> = measured.iter().map(|m| (format!("w{}", m.workers), m.json())).collect();
    json!({
        "locks": "std: RwLock of all tenants, once; the tenant's Mutex, twice; Mutex of scratch memory, twice",
        "no_locks": "the key-holder as it ships",
        "order": "locks, none, none, locks in every round",
        "batches": load.batches, "seconds": load.duration.as_secs_f64(), "repeats": load.repeats,
        "workers": workers,
    })
}

/// For people.
pub fn text(measured: &[Measured]) -> String {
    let head = "The key-holder: batches of 32 decided behind the locks that it had, and without\n";
    measured.iter().fold(head.to_owned(), |text, measured| text + &measured.text())
}

/// A vault that keeps no attempts, because writing them is not compared.
struct Forgetful(OpenVault);

impl Vault for Forgetful {
    fn tenants(&self) -> Result<Vec<TenantRecord>, VaultError> {
        self.0.tenants()
    }

    fn subjects(&self, tenant: &TenantId) -> Result<Vec<SubjectRecord>, VaultError> {
        self.0.subjects(tenant)
    }

    fn put_tenant(&self, record: &TenantRecord) -> Result<(), VaultError> {
        self.0.put_tenant(record)
    }

    fn erase_epoch(&self, tenant: &TenantId, epoch: u32) -> Result<(), VaultError> {
        self.0.erase_epoch(tenant, epoch)
    }

    fn opening_key(&self) -> Result<Option<Zeroizing<Vec<u8>>>, VaultError> {
        self.0.opening_key()
    }

    fn put_opening_key(&self, key: &[u8]) -> Result<(), VaultError> {
        self.0.put_opening_key(key)
    }

    fn opened_until(&self) -> Result<u64, VaultError> {
        self.0.opened_until()
    }

    fn put_opened_until(&self, time: u64) -> Result<(), VaultError> {
        self.0.put_opened_until(time)
    }

    fn put_subject(&self, tenant: &TenantId, record: &SubjectRecord) -> Result<(), VaultError> {
        self.0.put_subject(tenant, record)
    }

    fn delete_subject(&self, tenant: &TenantId, handle: &Handle, generation: u32) -> Result<(), VaultError> {
        self.0.delete_subject(tenant, handle, generation)
    }

    fn put_attempts(&self, _: &TenantId, _: &[(Handle, u32, AttemptRecord)]) -> Result<(), VaultError> {
        Ok(())
    }

    fn state(&self) -> VaultState {
        self.0.state()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exhibits::census::{self, Census};

    fn load() -> KeyHolderLoad {
        let (duration, tier) = (Duration::from_millis(2), Tier::detected());
        KeyHolderLoad { workers: vec![1, 3], batches: 3, duration, repeats: 2, tier }
    }

    /// Claim O9.
    #[test]
    fn both_key_holders_decide_every_batch_as_in_the_clear() {
        let mut stand = Stand::new(&load(), 7).expect("stand");
        assert!(stand.jobs.iter().all(|(.., expected)| !expected.is_empty() && expected.len() < LANES));
        stand.compare().expect("equal");
        // One that expects something else is not passed over.
        stand.jobs[1].2 = LaneSet::EMPTY;
        assert!(stand.compare().is_err());
        assert!(stand.run(Side::Locked, 2, Duration::from_millis(20)).wrong > 0);
    }

    /// Claim O9: The key-holder exhibit takes the five locks that a batch took, and its decisions equal those of the key-holder and of
    /// plaintext.
    #[test]
    fn a_batch_takes_the_locks_that_it_took() {
        let stand = Stand::new(&load(), 8).expect("stand");
        let taken = census::of(|| _ = stand.decide(Side::Locked, 0));
        // All tenants once, the tenant twice, scratch memory twice.
        assert_eq!(taken, Census { locks: 5, ..Census::default() });
    }

    #[test]
    fn every_number_of_workers_is_compared_with_its_interval() {
        let load = load();
        let measured = measure(&load, 9).expect("runs");
        assert!(measured.iter().all(|measured| measured.problem().is_none()));
        let value = json(&load, &measured);
        for workers in ["w1", "w3"] {
            let entry = &value["workers"][workers];
            assert!(entry["of_locks"]["mean"].as_f64().is_some_and(|mean| mean > 0.0), "{entry}");
            assert_eq!(entry["no_locks"]["batches_per_s_runs"].as_array().map(Vec::len), Some(4));
        }
        assert!(text(&measured).contains("without"));
    }
}
