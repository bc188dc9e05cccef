//! Observation of cache operations, chosen by type.
//!
//! An [`Observer`] belongs to a cache and gives each session a [`Recorder`]. Two ship: [`PerWorker`],
//! which counts and samples latencies, and [`Off`], whose recorder compiles to nothing.

mod latency;
mod per_worker;

use crate::{Event, Key, Stats};
pub use latency::Latency;
pub use per_worker::PerWorker;
use std::time::Instant;

/// The cache's side of observation.
pub trait Observer: Default + Send + Sync + 'static {
    /// The session's side.
    type Worker: Recorder;

    /// A recorder for a new session.
    fn worker(&self) -> Self::Worker;

    /// Totals over all recorders, live and dropped.
    fn stats(&self) -> Stats;

    /// Sampled look-up latencies over all recorders, live and dropped.
    fn latency(&self) -> Latency;
}

/// The session's side of observation: has one owner, so `&mut self` needs no synchronisation.
pub trait Recorder: Send + 'static {
    /// Counts `event` once.
    fn record(&mut self, event: Event);

    /// Counts `event` `n` times.
    fn record_many(&mut self, event: Event, n: u64);

    /// Called before `key` is looked up; the start time if this look-up is to be timed. An observer of
    /// access patterns sees the keys here.
    fn begin_get(&mut self, key: &Key) -> Option<Instant>;

    /// Called after a look-up that [`Recorder::begin_get`] selected.
    fn end_get(&mut self, began: Instant);
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

    fn latency(&self) -> Latency {
        Latency::default()
    }
}

impl Recorder for Off {
    #[inline(always)]
    fn record(&mut self, _: Event) {}

    #[inline(always)]
    fn record_many(&mut self, _: Event, _: u64) {}

    #[inline(always)]
    fn begin_get(&mut self, _: &Key) -> Option<Instant> {
        None
    }

    #[inline(always)]
    fn end_get(&mut self, _: Instant) {}
}
