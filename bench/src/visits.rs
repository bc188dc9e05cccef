//! One worker's requests, lane by lane: prepared ones in turn, and before them the retried ones.

use std::collections::VecDeque;
use std::sync::Arc;

use trefoil_matching::LANES;
use trefoil_pipeline::{Batch, LaneRequest, Verdict};

use crate::population::TENANT;
use crate::seals::Submitted;
use crate::workload::{self, Prepared, Ticket};
use crate::world::Ground;

/// See the module.
pub(crate) struct Visits {
    prepared: Arc<Vec<Prepared>>,
    audience: Arc<str>,
    /// Where in the round of prepared batches this worker starts.
    start: usize,
    /// Number of its first ticket, a multiple of [`LANES`].
    first_ticket: u64,
    /// Batches so far.
    batches: u64,
    /// Those that were refused because their session's verdict was not cached.
    again: [VecDeque<(u64, Option<Box<Verdict>>)>; LANES],
}

/// A worker's tickets have its number from this bit on.
const WORKER_BITS: u32 = 48;

impl Visits {
    /// Workers start at different batches of the round and number their tickets in ranges of their own.
    pub(crate) fn new(prepared: &Arc<Vec<Prepared>>, worker: usize, workers: usize) -> Self {
        Visits {
            prepared: Arc::clone(prepared),
            audience: workload::audience(),
            start: worker * prepared.len() / workers,
            first_ticket: (worker as u64) << WORKER_BITS,
            batches: 0,
            again: std::array::from_fn(|_| VecDeque::new()),
        }
    }

    fn prepared_at(&self, batch: u64) -> &Prepared {
        &self.prepared[(self.start + batch as usize) % self.prepared.len()]
    }

    /// The next batch. A retried request takes its lane's place; otherwise a new one takes it if `fresh` allows; new ones are
    /// counted.
    pub(crate) fn batch(
        &mut self,
        ground: &Ground,
        fresh: bool,
        submitted: &mut Submitted,
    ) -> Batch<LaneRequest<Ticket>> {
        let mut lanes = Vec::with_capacity(LANES);
        for lane in 0..LANES {
            let (number, revived) = match self.again[lane].pop_front() {
                Some(again) => again,
                None if fresh => {
                    submitted.lanes += 1;
                    submitted.matches += u64::from(self.prepared_at(self.batches).matches_at(lane));
                    (self.first_ticket + self.batches * LANES as u64 + lane as u64, None)
                }
                None => continue,
            };
            let batch = (number - self.first_ticket) / LANES as u64;
            let prepared = self.prepared_at(batch);
            lanes.push(prepared.request(lane, ground, &self.audience, number, revived));
        }
        self.batches += u64::from(fresh);
        Batch { tenant: TENANT, lanes }
    }

    /// Schedules a retry of a request, with its session's verdict if it is known.
    pub(crate) fn again(&mut self, ticket: Ticket, revived: Option<Box<Verdict>>) {
        let lane = (ticket.number % LANES as u64) as usize;
        self.again[lane].push_back((ticket.number, revived));
    }

    /// Whether no request is to be retried.
    pub(crate) fn is_settled(&self) -> bool {
        self.again.iter().all(VecDeque::is_empty)
    }
}
