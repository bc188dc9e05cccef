//! What the sealer released.

use std::sync::{Mutex, MutexGuard, PoisonError};

use trefoil_attest::Decision;
use trefoil_pipeline::{Clock, Refusal, Release, Sealed, StageTimes};

use crate::audit::Reservoir;
use crate::clock::WorldClock;
use crate::workload::Ticket;

/// One seal.
pub(crate) struct SealEntry {
    /// When its lanes were released, on the world's clock.
    pub(crate) at_ns: u64,
    /// Lanes that it covers.
    pub(crate) lanes: u64,
    /// Tree, three signatures and their verification.
    pub(crate) seal_ns: u64,
    /// Step times of the batches that it covers.
    pub(crate) batches: Vec<StageTimes>,
}

/// All that was released, and whether it was right.
pub(crate) struct Tally {
    pub(crate) seals: Vec<SealEntry>,
    pub(crate) matches: u64,
    pub(crate) denials: u64,
    /// Lanes decided otherwise than predicted.
    pub(crate) wrong: u64,
    pub(crate) refused: u64,
    pub(crate) first_refusal: Option<Refusal>,
    pub(crate) samples: Reservoir,
}

/// Takes what is released. The mutex is taken once per seal by the sealer and otherwise only at the end.
pub(crate) struct Ledger {
    tally: Mutex<Tally>,
    clock: std::sync::Arc<WorldClock>,
}

impl Ledger {
    /// An empty ledger that keeps at most `samples` lanes for verification.
    pub(crate) fn new(clock: std::sync::Arc<WorldClock>, samples: usize) -> Self {
        let tally = Tally {
            seals: Vec::new(),
            matches: 0,
            denials: 0,
            wrong: 0,
            refused: 0,
            first_refusal: None,
            samples: Reservoir::new(samples),
        };
        Ledger { tally: Mutex::new(tally), clock }
    }

    /// The tally so far, left empty.
    pub(crate) fn take(&self) -> Tally {
        let empty = Ledger::new(std::sync::Arc::clone(&self.clock), 0);
        let empty = empty.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *self.lock(), empty)
    }

    fn lock(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Release<Ticket> for Ledger {
    fn sealed(&self, sealed: Sealed<Ticket>) {
        let at_ns = self.clock.monotonic_ns();
        let Sealed { seal, mut lanes, batches, seal_ns } = sealed;
        let mut tally = self.lock();
        for lane in &lanes {
            match lane.bound.decision {
                Decision::Match => tally.matches += 1,
                Decision::NoMatch => tally.denials += 1,
            }
            tally.wrong += u64::from(lane.bound.decision != lane.bound.reply.expected);
        }
        let batches = batches.into_iter().map(|(_, times)| times).collect();
        tally.seals.push(SealEntry { at_ns, lanes: lanes.len() as u64, seal_ns, batches });
        if !lanes.is_empty() {
            let chosen = tally.samples.below(lanes.len());
            tally.samples.offer(lanes.swap_remove(chosen), &seal);
        }
    }

    fn refused(&self, _: Ticket, why: Refusal) {
        let mut tally = self.lock();
        tally.refused += 1;
        tally.first_refusal.get_or_insert(why);
    }
}
