//! Counts of spans.

#![expect(
    clippy::disallowed_methods,
    reason = "counted by the exporter's thread, and by a request only where its spans are dropped"
)]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts since the start.
#[derive(Default)]
pub(super) struct Counters {
    exported: AtomicU64,
    crowded_out: AtomicU64,
    not_taken: AtomicU64,
}

impl Counters {
    /// The collector took them.
    pub(super) fn exported(&self, spans: u64) {
        self.exported.fetch_add(spans, Relaxed);
    }

    /// Too many requests waited.
    pub(super) fn crowded_out(&self, spans: u64) {
        self.crowded_out.fetch_add(spans, Relaxed);
    }

    /// The collector did not take them.
    pub(super) fn not_taken(&self, spans: u64) {
        self.not_taken.fetch_add(spans, Relaxed);
    }

    /// Spans that were exported, crowded out, and not taken.
    pub(super) fn read(&self) -> [u64; 3] {
        [&self.exported, &self.crowded_out, &self.not_taken].map(|count| count.load(Relaxed))
    }
}
