//! Observation of cache operations, chosen by type.
//!
//! An [`Observer`] belongs to a cache and gives each session a [`Recorder`]. Two ship: [`PerWorker`],
//! which counts and samples latencies, and [`Off`], whose recorder compiles to nothing.

mod pattern;
mod per_worker;
mod throughput;

use crate::{Event, Histogram, Key, Stats};
pub use pattern::{Hint, Pattern, PatternCounts, Phase};
pub use per_worker::{PerWorker, Sampling};
use std::time::Instant;

/// Counts of sampled latencies: a bucket's width is at most 6.25 % of the values in it.
///
/// A sample includes one reading of the clock, about 20 ns where the clock is the processor's own.
pub type Latency = Histogram<16>;

/// The cache's side of observation.
pub trait Observer: Default + Send + Sync + 'static {
    /// The session's side.
    type Worker: Recorder;

    /// A recorder for a new session.
    fn worker(&self) -> Self::Worker;

    /// Totals over all recorders, live and dropped.
    fn stats(&self) -> Stats;

    /// Sampled durations of an operation, over all recorders, live and dropped; empty if none are kept.
    fn durations(&self, operation: Operation) -> Latency {
        let _ = operation;
        Latency::default()
    }
}

/// A timed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Operation {
    /// A look-up.
    Get,
    /// An insert.
    Put,
    /// The part of an insert that decides which entry to evict, and stores.
    Admission,
    /// From a look-up that missed to the insert of the missing value: the cost of the miss to its caller.
    Miss,
}

impl Operation {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Get, Self::Put, Self::Admission, Self::Miss];
}

/// Whether a look-up is in a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampled {
    /// In none.
    No,
    /// [`Recorder::saw`] gets its key.
    Shown,
    /// The same, and the look-up is timed from this moment on.
    Timed(Instant),
}

impl Sampled {
    /// The start of a look-up that is timed.
    #[inline(always)]
    #[must_use]
    pub fn began(self) -> Option<Instant> {
        if let Self::Timed(began) = self { Some(began) } else { None }
    }
}

/// The session's side of observation: has one owner, so `&mut self` needs no synchronisation.
pub trait Recorder: Send + 'static {
    /// Counts `event` once.
    fn record(&mut self, event: Event);

    /// Counts `event` `n` times.
    fn record_many(&mut self, event: Event, n: u64);

    /// Whether look-ups are shown to [`Recorder::begin_get`] at all.
    const SHOWN: bool = true;

    /// One in how many look-ups of a session is shown; constant for the session. A look-up that is not shown costs
    /// only its counting.
    fn sampling(&self) -> Sampling {
        Sampling::ALL
    }

    /// Number of the first look-up of a session, so that sessions opened together do not sample together.
    fn phase(&self) -> u64 {
        0
    }

    /// Called before `key` is looked up, for one look-up in as many as [`Recorder::sampling`] says; whether it is in a sample.
    fn begin_get(&mut self, key: &Key) -> Sampled;

    /// Called after a look-up that [`Recorder::begin_get`] chose to time.
    fn end_get(&mut self, began: Instant);

    /// Called before an insert; the start time if this insert is in the sample.
    #[inline(always)]
    fn begin_put(&mut self) -> Option<Instant> {
        None
    }

    /// Called within an insert, before it decides; the time if this insert is in the sample.
    #[inline(always)]
    fn begin_admission(&mut self) -> Option<Instant> {
        None
    }

    /// Called after an operation other than a look-up, with its start time.
    #[inline(always)]
    fn end(&mut self, operation: Operation, began: Instant) {
        let _ = (operation, began);
    }

    /// Called with the key of a look-up that [`Recorder::begin_get`] chose.
    #[inline(always)]
    fn saw(&mut self, key: &Key, hit: bool) {
        let _ = (key, hit);
    }

    /// What inserts and announcements can learn from the traffic seen so far.
    #[inline(always)]
    fn hint(&self) -> Hint {
        Hint::None
    }
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Off;

impl Observer for Off {
    type Worker = Off;

    fn worker(&self) -> Off {
        Off
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }
}

impl Recorder for Off {
    const SHOWN: bool = false;

    #[inline(always)]
    fn record(&mut self, _: Event) {}

    #[inline(always)]
    fn record_many(&mut self, _: Event, _: u64) {}

    #[inline(always)]
    fn begin_get(&mut self, _: &Key) -> Sampled {
        Sampled::No
    }

    #[inline(always)]
    fn end_get(&mut self, _: Instant) {}
}
