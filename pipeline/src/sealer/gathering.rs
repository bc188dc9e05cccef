//! Which batches share a seal under group commit.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Receiver;

use crate::clock::Clock;
use crate::request::Bound;

/// Most batches under one seal: an inclusion path then has at most 15 hashes. A service lets no more in at a time
/// ([`UNSEALED_MAX`](crate::UNSEALED_MAX)), so a seal covers all batches that wait when it starts.
pub(super) const BATCHES_MAX: usize = 1024;

/// With this many lanes under the last seal there is load, and [`Floor::spacing`] holds. Fewer are mostly answered within one more seal, so they
/// would wait for nobody.
const LANES_UNDER_LOAD: usize = 16;

/// How far apart seals start: `distance` while few lanes wait, and `spacing` under load. The first bounds the disk space of a login at low load, the
/// second the processor's time for seals. A login waits for company, and never longer than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floor {
    /// From the start of one seal to the start of the next.
    pub distance: Duration,
    /// With this many lanes that distance does not apply.
    pub lanes: usize,
    /// Under load: from the start of one seal to the start of the next by the same thread, in durations of a seal. 1: as soon as a thread is free.
    pub spacing: u64,
}

impl Floor {
    /// No floor: seals follow at once.
    pub const NONE: Floor = Floor { distance: Duration::ZERO, lanes: 0, spacing: 1 };
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
    /// Lanes under the last one.
    pub(super) covered: usize,
    pub(super) clock: Arc<dyn Clock>,
}

impl<R> Gathering<R> {
    /// Waits for a batch and takes all waiting ones; none when all senders are gone.
    pub(super) fn group(&mut self) -> Option<Vec<Bound<R>>> {
        let mut batches = vec![self.batches.recv().ok()?];
        self.covered = self.gather(&mut batches);
        self.began = Some(self.clock.monotonic_ns());
        Some(batches)
    }

    /// Adds those that came while the turn in a shared log was waited for. The seal begins only now.
    pub(super) fn join(&mut self, batches: &mut Vec<Bound<R>>) {
        batches.extend(self.batches.try_iter().take(BATCHES_MAX - batches.len()));
        self.covered = batches.iter().map(|batch| batch.lanes.len()).sum();
        self.began = Some(self.clock.monotonic_ns());
    }

    /// Takes all waiting batches, and those that arrive until the next seal is due: seals start evenly spaced over the threads that make them, or
    /// one would cover only what the previous one just missed. Fewer lanes than the floor's also wait for its distance.
    /// Returns the number of lanes.
    fn gather(&self, batches: &mut Vec<Bound<R>>) -> usize {
        let due = |wait| self.began.map_or(0, |began| began.saturating_add(wait));
        let spacing = if self.covered < LANES_UNDER_LOAD { 1 } else { self.floor.spacing };
        let spaced = due(spacing * self.took / self.sealers);
        let floored = spaced.max(due(nanoseconds(self.floor.distance)));
        loop {
            batches.extend(self.batches.try_iter().take(BATCHES_MAX - batches.len()));
            let lanes: usize = batches.iter().map(|batch| batch.lanes.len()).sum();
            let due = if lanes >= self.floor.lanes { spaced } else { floored };
            let wait = due.saturating_sub(self.clock.monotonic_ns());
            if wait == 0 || batches.len() == BATCHES_MAX {
                return lanes;
            }
            // Nothing came, or nothing will: a drain does not wait.
            let Ok(batch) = self.batches.recv_timeout(Duration::from_nanos(wait)) else { return lanes };
            batches.push(batch);
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
