//! What one worker does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trefoil_cache::Cache;
use trefoil_kernels::allocations::Counts;
use trefoil_pipeline::{Clock as _, Open, Outlet, Pool, Refusal, Stale, Verdict, Worker};

use super::plan::Proofs;
use crate::clock::WorldClock;
use crate::pace::Pace;
use crate::processor::thread_cpu_ns;
use crate::renewal::Renewals;
use crate::seals::Submitted;
use crate::sessions::{Sessions, Settled};
use crate::spending::{Part, Purpose, Spending};
use crate::visits::Visits;
use crate::workload::{Prepared, Ticket};
use crate::world::World;

pub(super) struct WorkerLoop<C: Cache<Verdict>> {
    pub(super) index: usize,
    pub(super) world: Arc<World<C>>,
    pub(super) visits: Visits,
    pub(super) proofs: Proofs,
    pub(super) clock: Arc<WorldClock>,
    pub(super) pool: Arc<Pool<Worker<C>>>,
    pub(super) permits: crossbeam_channel::Receiver<()>,
    pub(super) outlet: Outlet<Ticket>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) books: Arc<[Spending]>,
    pub(super) pace: Option<Pace>,
    /// When its batches were due.
    pub(super) due: Vec<u64>,
}

impl<C: Cache<Verdict>> WorkerLoop<C>
where
    C::Session: 'static,
{
    /// Runs batches until told to stop, and then those in which requests come again. Every interval between two readings of the clock
    /// is booked.
    pub(super) fn run(mut self) -> (Submitted, Vec<u64>) {
        let (pipeline, pool, books) =
            (Arc::clone(&self.world.pipeline), Arc::clone(&self.pool), Arc::clone(&self.books));
        let mut worker = pool.worker(|| pipeline.worker());
        let book = &books[self.index];
        let mut sessions = SessionWork::new(&self.world, &self.proofs);
        let mut submitted = Submitted::default();
        let mut has_permit = false;
        let cpu_began = thread_cpu_ns();
        let mut since = self.clock.monotonic_ns();
        let mut lap = |clock: &WorldClock| {
            let began = std::mem::replace(&mut since, clock.monotonic_ns());
            since - began
        };
        let mut counted = Counts::of_this_thread();
        let mut book_allocations = |part| {
            let before = std::mem::replace(&mut counted, Counts::of_this_thread());
            book.book_allocations(part, counted.since(before).allocations);
        };
        loop {
            let fresh = !self.stop.load(Ordering::Relaxed);
            let is_done = !fresh && self.visits.is_settled();
            if is_done || !(has_permit || self.permits.recv().is_ok()) || !self.is_due(fresh) {
                break;
            }
            book.book(Purpose::Waiting, lap(&self.clock));
            let renewing_ns = sessions.before(self.visits.coming());
            book.book(Purpose::Sessions, renewing_ns);
            let batch = self.visits.batch(&self.world.ground, fresh, &mut submitted);
            book.book(Purpose::Requests, lap(&self.clock).saturating_sub(renewing_ns));
            book_allocations(Part::Requests);
            let mut bound = pipeline.run(batch, &mut worker, self.clock.as_ref(), &Open);
            book.book_run(&bound.times, lap(&self.clock));
            book_allocations(Part::Pipeline);
            bound.times.proof_lookup_ns += renewing_ns;
            sessions.after(&mut bound.refused, &mut self.visits, self.clock.unix_s(), &mut submitted);
            book.book(Purpose::Sessions, lap(&self.clock));
            book_allocations(Part::Sessions);
            // A batch of which nothing was decided needs no seal, and keeps its permit for the next.
            has_permit = bound.lanes.is_empty();
            if !has_permit && !self.outlet.seal(bound) {
                break;
            }
            book.book(Purpose::Sealing, lap(&self.clock));
            book_allocations(Part::Sealing);
            book.end_batch();
        }
        submitted.cpu_ns = thread_cpu_ns() - cpu_began;
        submitted.settled = sessions.settled();
        (submitted, self.due)
    }

    /// Waits until its next new batch is due; false where none will be.
    fn is_due(&mut self, fresh: bool) -> bool {
        let Some(pace) = self.pace.as_ref().filter(|_| fresh) else { return true };
        let due = pace.wait(&self.clock);
        self.due.extend(due);
        due.is_some()
    }
}

/// What a worker does for the sessions of its requests.
pub(super) enum SessionWork<C: Cache<Verdict>> {
    None,
    Renewals(Renewals<C>),
    Ending(Sessions<C>),
}

impl<C: Cache<Verdict>> SessionWork<C> {
    fn new(world: &Arc<World<C>>, proofs: &Proofs) -> Self {
        match proofs {
            Proofs::Cached => SessionWork::None,
            Proofs::Every(requests) => SessionWork::Renewals(Renewals::new(world, *requests)),
            Proofs::Ending(rows) => SessionWork::Ending(Sessions::new(world, rows)),
        }
    }

    /// Before a batch; the time that it took.
    fn before(&mut self, batch: &Prepared) -> u64 {
        match self {
            SessionWork::Renewals(renewals) => renewals.before(batch),
            SessionWork::None | SessionWork::Ending(_) => 0,
        }
    }

    /// Sees to what the pipeline refused.
    fn after(
        &mut self,
        refused: &mut Vec<(Ticket, Refusal)>,
        visits: &mut Visits,
        now_s: u64,
        submitted: &mut Submitted,
    ) {
        match self {
            SessionWork::None => submitted.note(refused),
            SessionWork::Renewals(_) => submitted.note_beside_renewals(refused),
            SessionWork::Ending(sessions) => {
                for (ticket, why) in refused.drain(..) {
                    let comes_again = matches!(why, Refusal::Session(Stale::Missing | Stale::Expired));
                    match comes_again.then(|| sessions.settle(ticket.person, now_s)) {
                        Some(Ok(revived)) => visits.again(ticket, revived),
                        Some(Err(_)) | None => submitted.note(&[(ticket, why)]),
                    }
                }
            }
        }
    }

    fn settled(&self) -> Settled {
        match self {
            SessionWork::None => Settled::default(),
            SessionWork::Renewals(renewals) => Settled { revived: 0, proofs: renewals.verified() },
            SessionWork::Ending(sessions) => sessions.settled,
        }
    }
}
