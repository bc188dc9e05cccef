//! The loop of one worker.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trefoil_cache::Cache;
use trefoil_pipeline::{Clock as _, Open, Outlet, Pool, Refusal, Stale, Verdict, Worker};

use crate::clock::WorldClock;
use crate::processor::thread_cpu_ns;
use crate::seals::Submitted;
use crate::sessions::{Rows, Sessions};
use crate::spending::{Purpose, Spending};
use crate::visits::Visits;
use crate::workload::Ticket;
use crate::world::World;

pub(super) struct WorkerLoop<C: Cache<Verdict>> {
    pub(super) index: usize,
    pub(super) world: Arc<World<C>>,
    pub(super) visits: Visits,
    pub(super) rows: Option<Arc<Rows>>,
    pub(super) clock: Arc<WorldClock>,
    pub(super) pool: Arc<Pool<Worker<C>>>,
    pub(super) permits: crossbeam_channel::Receiver<()>,
    pub(super) outlet: Outlet<Ticket>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) books: Arc<[Spending]>,
}

impl<C: Cache<Verdict>> WorkerLoop<C> {
    /// Runs batches until told to stop, and then those with retried requests. Every interval between two clock readings
    /// is attributed.
    pub(super) fn run(mut self) -> Submitted {
        let (pipeline, pool, books) =
            (Arc::clone(&self.world.pipeline), Arc::clone(&self.pool), Arc::clone(&self.books));
        let mut worker = pool.worker(|| pipeline.worker());
        let book = &books[self.index];
        let mut sessions = self.rows.as_ref().map(|rows| Sessions::new(&self.world, rows));
        let mut submitted = Submitted::default();
        let mut has_permit = false;
        let cpu_began = thread_cpu_ns();
        let mut since = self.clock.monotonic_ns();
        let mut lap = |clock: &WorldClock| {
            let began = std::mem::replace(&mut since, clock.monotonic_ns());
            since - began
        };
        loop {
            let fresh = !self.stop.load(Ordering::Relaxed);
            let is_done = !fresh && self.visits.is_settled();
            if is_done || !(has_permit || self.permits.recv().is_ok()) {
                break;
            }
            book.book(Purpose::Waiting, lap(&self.clock));
            let batch = self.visits.batch(&self.world.ground, fresh, &mut submitted);
            book.book(Purpose::Requests, lap(&self.clock));
            let mut bound = pipeline.run(batch, &mut worker, self.clock.as_ref(), &Open);
            book.book_run(&bound.times, lap(&self.clock));
            match &mut sessions {
                None => submitted.note(&bound.refused),
                Some(sessions) => {
                    let refused = bound.refused.drain(..);
                    retry(sessions, refused, &mut self.visits, self.clock.unix_s(), &mut submitted);
                }
            }
            book.book(Purpose::Sessions, lap(&self.clock));
            // A batch without a decision needs no seal, and keeps its permit for the next.
            has_permit = bound.lanes.is_empty();
            if !has_permit && !self.outlet.seal(bound) {
                break;
            }
            book.book(Purpose::Sealing, lap(&self.clock));
            book.end_batch();
        }
        submitted.cpu_ns = thread_cpu_ns() - cpu_began;
        submitted.settled = sessions.map(|sessions| sessions.settled).unwrap_or_default();
        submitted
    }
}

/// Settles the sessions of refused requests, and schedules those again.
fn retry<C: Cache<Verdict>>(
    sessions: &mut Sessions<C>,
    refused: impl Iterator<Item = (Ticket, Refusal)>,
    visits: &mut Visits,
    now_s: u64,
    submitted: &mut Submitted,
) {
    for (ticket, why) in refused {
        let comes_again = matches!(why, Refusal::Session(Stale::Missing | Stale::Expired));
        match comes_again.then(|| sessions.settle(ticket.person, now_s)) {
            Some(Ok(revived)) => visits.again(ticket, revived),
            Some(Err(_)) | None => submitted.note(&[(ticket, why)]),
        }
    }
}
