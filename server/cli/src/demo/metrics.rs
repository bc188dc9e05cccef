//! The service's own metrics of the load.

use super::error::DemoError;
use serde::Serialize;

/// Figures of one scrape of `/metrics`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scrape {
    /// Look-ups of the verdict cache that hit.
    cache_hits: f64,
    /// Look-ups that missed.
    cache_misses: f64,
    /// Batches sealed.
    pub(super) batches: u64,
    /// Lanes of these batches.
    pub(super) lanes: u64,
    /// Seals made.
    pub(super) seals: u64,
    /// Median time per stage.
    pub(super) stages_us: StagesUs,
}

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

impl Scrape {
    /// Reads the Prometheus text form.
    pub(super) fn parse(text: &str) -> Result<Scrape, DemoError> {
        let sample = |name: &str| {
            let value =
                text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse::<f64>().ok());
            value.ok_or_else(|| DemoError::Step { step: "metrics", cause: format!("{name} is missing") })
        };
        let median_us = |stage: &str| {
            let median = median(text, &format!("trefoil_stage_seconds_bucket{{stage=\"{stage}\",le=\""));
            let missing = || DemoError::Step { step: "metrics", cause: format!("stage {stage} is missing") };
            Ok::<_, DemoError>(1e6 * median.ok_or_else(missing)?)
        };
        let cache = |outcome: &str| {
            let outcome = format!("\",outcome=\"{outcome}\"}} ");
            let of_tenants = text.lines().filter_map(|line| {
                let (_, count) =
                    line.strip_prefix("trefoil_verdict_cache_operations_total{")?.split_once(&*outcome)?;
                count.parse::<f64>().ok()
            });
            of_tenants.sum::<f64>()
        };
        Ok(Scrape {
            cache_hits: cache("hit"),
            cache_misses: cache("absent") + cache("stale") + cache("contended"),
            batches: sample("trefoil_batches_total")? as u64,
            lanes: sample("trefoil_batch_lanes_total")? as u64,
            seals: sample("trefoil_seals_total")? as u64,
            stages_us: StagesUs {
                r#match: median_us("match")?,
                key_holder: median_us("key_holder")?,
                proof_lookup: median_us("proof_lookup")?,
                digest: median_us("digest")?,
                seal: median_us("seal")?,
                total: median_us("total")?,
            },
        })
    }

    /// Share of hits among the look-ups since an earlier scrape.
    pub(super) fn cache_hit_ratio_since(&self, before: &Scrape) -> f64 {
        let (hits, misses) = (self.cache_hits - before.cache_hits, self.cache_misses - before.cache_misses);
        hits / (hits + misses).max(1.0)
    }

    /// Share of a batch's lanes that are used.
    pub(super) fn batch_fill(&self) -> f64 {
        self.lanes as f64 / (self.batches.max(1) as f64 * trefoil_matching::LANES as f64)
    }
}

/// The median of a histogram whose samples begin with `name`, interpolated linearly in its bucket.
fn median(text: &str, name: &str) -> Option<f64> {
    let buckets = text.lines().filter_map(|line| line.strip_prefix(name)?.split_once("\"} "));
    let buckets: Vec<(f64, f64)> =
        buckets.filter_map(|(bound, below)| Some((bound.parse().ok()?, below.parse().ok()?))).collect();
    let half = buckets.last()?.1 / 2.0;
    let at = buckets.iter().position(|(_, below)| *below >= half)?;
    let (low, before) = at.checked_sub(1).map_or((0.0, 0.0), |at| buckets[at]);
    let (high, after) = buckets[at];
    Some(if after > before { low + (high - low) * (half - before) / (after - before) } else { high })
}
