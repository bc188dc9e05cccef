//! What the steps cost, measured each for itself while nothing else runs: no input of the model comes from the loop that it predicts.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, unbounded};
use trefoil_cache::Cache;
use trefoil_matching::LANES;
use trefoil_pipeline::affinity::{Pin, Placement, pin_current};
use trefoil_pipeline::{
    Batcher, Bound, Cadence, ChainHead, Floor, Open, Origin, Outlet, Pool, Refusal, Release, Sealed, Sealer,
    Sequence, Verdict,
};

use crate::Failure;
use crate::clock::WorldClock;
use crate::match_stages::checksum;
use crate::population::TENANT;
use crate::processor::{process_cpu_ns, thread_cpu_ns};
use crate::run::Common;
use crate::seals::{Ledger, Submitted};
use crate::visits::Visits;
use crate::workload::Ticket;
use crate::world::{World, signing_keys};

/// Batches under the seals that are timed.
pub(super) const SEALED: [usize; 4] = [1, 16, 128, 512];
/// Batches that workers leave unsealed: what they touch next is in a cache or not because of these.
pub(super) const UNSEALED: [usize; 4] = [4, 64, 384, 1_000];

/// The mean of what `one` gives on each of so many pinned threads that begin together.
fn on_threads(threads: usize, one: impl Fn(usize, &Barrier) -> f64 + Sync) -> f64 {
    let placement = Placement::new(Some(threads), Pin::Auto);
    let barrier = Barrier::new(threads);
    let pinned = |index: usize| {
        if let Some(cpu) = placement.cpus[index] {
            pin_current(cpu);
        }
        one(index, &barrier)
    };
    let pinned = &pinned;
    let sum: f64 = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|index| scope.spawn(move || pinned(index))).collect();
        let joined = all
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.sum()
    });
    sum / threads as f64
}

/// Processor time of a batch on each of so many workers, microseconds, while `unsealed` batches of all of them together stay in memory.
/// The oldest then makes room, which is not timed: in the pipeline the sealing thread does that.
pub(super) fn batch_us<C: Cache<Verdict>>(
    world: &World<C>,
    common: &Common,
    threads: usize,
    unsealed: usize,
    duration: Duration,
) -> f64 {
    on_threads(threads, |index, barrier| {
        let clock = WorldClock::start();
        let mut worker = world.pipeline.worker();
        let mut visits = Visits::new(common.prepared(), index, threads);
        let mut batch = || {
            let batch = visits.batch(&world.ground, true, &mut Submitted::default());
            world.pipeline.run(batch, &mut worker, &clock, &Open)
        };
        let room = (unsealed / threads).max(1);
        let mut kept: VecDeque<Bound<Ticket>> = (0..room.max(WARM)).map(|_| batch()).collect();
        barrier.wait();
        let (began, mut ns, mut batches) = (Instant::now(), 0, 0_u64);
        while began.elapsed() < duration || batches == 0 {
            let before = thread_cpu_ns();
            kept.push_back(batch());
            ns += thread_cpu_ns() - before;
            batches += 1;
            kept.drain(..kept.len() - room);
        }
        ns as f64 / 1e3 / batches as f64
    })
}

/// Batches before the first that is timed.
const WARM: usize = 16;

/// A ledger that keeps account of its own time.
struct TimedLedger {
    ledger: Ledger,
    ns: AtomicU64,
}

impl Release<Ticket> for TimedLedger {
    fn sealed(&self, sealed: Sealed<Ticket>) {
        let before = thread_cpu_ns();
        self.ledger.sealed(sealed);
        self.ns.fetch_add(thread_cpu_ns() - before, Ordering::Relaxed);
    }

    fn refused(&self, ticket: Ticket, why: Refusal) {
        self.ledger.refused(ticket, why);
    }
}

/// A sealer that nobody else uses.
pub(super) struct Sealing {
    outlet: Outlet<Ticket>,
    sealer: Sealer<Ticket>,
    ledger: Arc<TimedLedger>,
    sealed: Receiver<usize>,
}

impl Sealing {
    pub(super) fn start(issuer: &str, cadence: Cadence) -> Result<Self, Failure> {
        let (keys, _) = signing_keys()?;
        let clock = Arc::new(WorldClock::start());
        let ledger = Ledger::new(Arc::clone(&clock), 1);
        let ledger = Arc::new(TimedLedger { ledger, ns: AtomicU64::new(0) });
        let (tell, sealed) = unbounded();
        let (outlet, sealer) = Sealer::start(
            keys,
            Origin::new(issuer),
            ChainHead::GENESIS,
            Sequence { cadence, floor: Floor::NONE, sealers: 1 },
            clock,
            Arc::clone(&ledger) as Arc<dyn Release<Ticket>>,
            move |batches| tell.send(batches).unwrap_or_default(),
        )
        .map_err(Failure::in_step("sealer"))?;
        Ok(Sealing { outlet, sealer, ledger, sealed })
    }

    pub(super) fn stop(self) -> Result<(), Failure> {
        drop(self.outlet);
        self.sealer.join().map(drop).ok_or_else(|| Failure::fault("the sealer panicked"))
    }

    /// Processor time of one seal over all of `batches`, and of its release, microseconds. The sealer takes what waits, so `first`
    /// keeps it busy while these come; its seal costs `first_us`.
    pub(super) fn group_us(
        &mut self,
        first: Option<Bound<Ticket>>,
        batches: Vec<Bound<Ticket>>,
        first_us: f64,
    ) -> Result<(f64, f64), Failure> {
        let expected = batches.len() + usize::from(first.is_some());
        let (before, seals) = (process_cpu_ns(), self.ledger.ledger.seals());
        let mut released = self.ledger.ns.load(Ordering::Relaxed);
        if let Some(batch) = first {
            self.outlet.seal(batch);
            // It is signing by then, which takes more than a millisecond.
            std::thread::sleep(Duration::from_micros(300));
            released = self.ledger.ns.load(Ordering::Relaxed);
        }
        batches.into_iter().for_each(|batch| _ = self.outlet.seal(batch));
        let mut sealed = 0;
        while sealed < expected {
            sealed += self.sealed.recv().map_err(Failure::in_step("sealer"))?;
        }
        let release = (self.ledger.ns.load(Ordering::Relaxed) - released) as f64 / 1e3;
        // The first alone, as a rule; none on a machine so busy that all came before the sealer woke.
        let more = (self.ledger.ledger.seals() - seals).saturating_sub(1);
        let all = (process_cpu_ns() - before) as f64 / 1e3 - first_us * more as f64;
        Ok(((all - release).max(1.0), release))
    }

    /// Processor time of a seal over one batch, microseconds, when several workers seal their own at the same time.
    pub(super) fn own_us(&self, batches: Vec<Vec<Bound<Ticket>>>) -> f64 {
        let threads = batches.len();
        let (give, own) = unbounded();
        for batches in batches {
            give.send((self.outlet.clone(), batches)).unwrap_or_default();
        }
        on_threads(threads, |_, barrier| {
            let Ok((mut outlet, mut own)) = own.recv() else { return f64::NAN };
            // The first makes this thread's copy of the keys.
            own.pop().into_iter().for_each(|batch| _ = outlet.seal(batch));
            let seals = own.len() as f64;
            barrier.wait();
            let before = thread_cpu_ns();
            own.into_iter().for_each(|batch| _ = outlet.seal(batch));
            (thread_cpu_ns() - before) as f64 / 1e3 / seals
        })
    }
}

/// Decided batches.
pub(super) fn decided<C: Cache<Verdict>>(
    world: &World<C>,
    common: &Common,
    count: usize,
) -> Vec<Bound<Ticket>> {
    let clock = WorldClock::start();
    let mut worker = world.pipeline.worker();
    let mut visits = Visits::new(common.prepared(), 0, 1);
    let mut batch = || visits.batch(&world.ground, true, &mut Submitted::default());
    (0..count).map(|_| world.pipeline.run(batch(), &mut worker, &clock, &Open)).collect()
}

/// Processor time of a service's dispatcher for one batch, microseconds: 32 requests out of the intake into the batcher, a batch out of
/// it into the pool, and word of its end and of its seal.
pub(super) fn dispatch_us<C: Cache<Verdict>>(world: &World<C>, common: &Common) -> Result<f64, Failure> {
    let mut visits = Visits::new(common.prepared(), 0, 1);
    let (submit, intake) = unbounded();
    for _ in 0..DISPATCHED {
        let batch = visits.batch(&world.ground, true, &mut Submitted::default());
        batch.lanes.into_iter().for_each(|request| submit.send(request).unwrap_or_default());
    }
    let pool = Pool::<()>::new(&Placement::new(Some(1), Pin::Auto)).map_err(Failure::in_step("workers"))?;
    let (tell, progress) = unbounded();
    let mut batcher = Batcher::default();
    let before = thread_cpu_ns();
    for at in 0..DISPATCHED as u64 {
        for request in intake.try_iter().take(LANES) {
            batcher.push(TENANT, request.template.lane.index(), request, at);
        }
        let Some(batch) = batcher.poll(at, 0) else { return Err(Failure::fault("a full batch is not due")) };
        let tell = tell.clone();
        pool.spawn(move || {
            drop(batch);
            tell.send(()).unwrap_or_default();
            tell.send(()).unwrap_or_default();
        });
        progress.try_iter().for_each(drop);
    }
    Ok((thread_cpu_ns() - before) as f64 / 1e3 / DISPATCHED as f64)
}

/// Enough that their mean stands still.
const DISPATCHED: usize = 256;

/// GB/s of a sequential read by so many threads at a time, in memory of their own, together.
pub(super) fn memory_gb_per_s(threads: usize, bytes: usize) -> f64 {
    let each = on_threads(threads, |index, barrier| {
        let memory = vec![index as u8 + 1; bytes];
        let mut best = f64::INFINITY;
        for _ in 0..READS {
            barrier.wait();
            let began = Instant::now();
            black_box(checksum(black_box(&memory)));
            best = best.min(began.elapsed().as_secs_f64());
        }
        bytes as f64 / best / 1e9
    });
    each * threads as f64
}

/// The best of so many counts: what other guests of the host take is not the memory's.
const READS: usize = 4;
