//! Which batches share a seal under group commit.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Receiver;

use crate::clock::Clock;
use crate::request::Bound;

/// Most batches under one seal: an inclusion path then has at most 15 hashes. A service lets no more in at a time
/// ([`UNSEALED_MAX`](crate::UNSEALED_MAX)), so a seal covers all batches that wait when it starts.
pub(super) const BATCHES_MAX: usize = 1024;

/// The minimum interval between the starts of two seals while few lanes wait. It bounds the disk space of a login at low load:
/// a login waits for company, and never longer than this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// From the start of one seal to the start of the next.
    pub distance: Duration,
    /// With this many lanes the floor does not apply.
    pub lanes: usize,
}

impl Floor {
    /// No floor: seals follow at once.
    pub const NONE: Floor = Floor { distance: Duration::ZERO, lanes: 0 };
}

/// The queue of decided batches; the thread whose turn it is waits for them.
pub(super) struct Gathering<R> {
    pub(super) batches: Receiver<Bound<R>>,
    pub(super) floor: Floor,
    /// Threads that take turns.
    pub(super) sealers: u64,
    /// When the last seal was started, on the clock.
    pub(super) began: Option<u64>,
    /// How long the last finished one took, nanoseconds.
    pub(super) took: u64,
    pub(super) clock: Arc<dyn Clock>,
}

impl<R> Gathering<R> {
    /// Waits for a batch and takes all waiting ones; none when all senders are gone.
    pub(super) fn group(&mut self) -> Option<Vec<Bound<R>>> {
        let mut batches = vec![self.batches.recv().ok()?];
        self.gather(&mut batches);
        self.began = Some(self.clock.monotonic_ns());
        Some(batches)
    }

    /// Takes all waiting batches, and those that arrive until the next seal is due: seals start evenly spaced over the threads that make them, or
    /// one would cover only what the previous one just missed. Fewer lanes than the floor's also wait for the floor.
    fn gather(&self, batches: &mut Vec<Bound<R>>) {
        let due = |wait| self.began.map_or(0, |began| began.saturating_add(wait));
        let spaced = due(self.took / self.sealers);
        let floored = spaced.max(due(nanoseconds(self.floor.distance)));
        loop {
            batches.extend(self.batches.try_iter().take(BATCHES_MAX - batches.len()));
            let lanes: usize = batches.iter().map(|batch| batch.lanes.len()).sum();
            let due = if lanes >= self.floor.lanes { spaced } else { floored };
            let wait = due.saturating_sub(self.clock.monotonic_ns());
            if wait == 0 || batches.len() == BATCHES_MAX {
                return;
            }
            // Nothing came, or nothing will: a drain does not wait.
            let Ok(batch) = self.batches.recv_timeout(Duration::from_nanos(wait)) else { return };
            batches.push(batch);
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
