//! The service's own counts of the load.

use serde::Serialize;
use trefoil_api::ServiceStatus;

/// Medians in microseconds: per batch, `seal` per seal. `total` is the computation for a batch: its own
/// stages and its seal, without queues.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct StagesUs {
    /// The matcher's part of the encrypted match.
    pub(super) r#match: f64,
    /// Decryption and decision.
    pub(super) key_holder: f64,
    /// Verdict look-ups.
    pub(super) proof_lookup: f64,
    /// Statements and their digests.
    pub(super) digest: f64,
    /// Tree, three signatures, and their verification.
    pub(super) seal: f64,
    /// All of them.
    pub(super) total: f64,
}

impl StagesUs {
    /// `None` if the service counts no such stage.
    pub(super) fn of(status: &ServiceStatus) -> Option<StagesUs> {
        let median = |name: &str| {
            let stage = status.stages.iter().find(|times| times.stage == name)?;
            Some(1e6 * median(&status.stage_bounds_s, &stage.below, stage.count as f64 / 2.0))
        };
        Some(StagesUs {
            r#match: median("match")?,
            key_holder: median("key_holder")?,
            proof_lookup: median("proof_lookup")?,
            digest: median("digest")?,
            seal: median("seal")?,
            total: median("total")?,
        })
    }
}

/// The share of the verdict look-ups since `before` that hit.
pub(super) fn cache_hit_ratio(before: &ServiceStatus, now: &ServiceStatus) -> f64 {
    let sum = |status: &ServiceStatus| {
        let both = status.caches.iter().map(|cache| [cache.hits, cache.hits + cache.misses]);
        both.fold([0, 0], |[hits, all], [more_hits, more]| [hits + more_hits, all + more])
    };
    let ([hits_before, before], [hits, all]) = (sum(before), sum(now));
    (hits - hits_before) as f64 / (all - before).max(1) as f64
}

/// The median of a histogram, interpolated linearly in its bucket; that of one beyond the last bound is the last bound.
fn median(bounds: &[f64], below: &[u64], half: f64) -> f64 {
    let (mut low, mut before) = (0.0, 0.0);
    for (high, after) in bounds.iter().zip(below.iter().map(|count| *count as f64)) {
        if after >= half {
            return if after > before {
                low + (high - low) * (half - before) / (after - before)
            } else {
                *high
            };
        }
        (low, before) = (*high, after);
    }
    low
}
