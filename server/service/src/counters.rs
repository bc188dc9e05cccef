//! The service's counts and the durations of its steps. They are never by subject, and no score is ever counted.
//!
//! Stage times and decisions are written by one thread, the seal log.

#![expect(clippy::disallowed_methods, reason = "the seal log alone counts here")]

pub mod proofs;

use crate::counters::proofs::ProofCounters;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use thread_local::ThreadLocal;
use trefoil_attest::Decision;
use trefoil_cache::Histogram;
use trefoil_pipeline::{Bound, StageTimes};

/// Distribution of durations, whose quantiles are exact to 2 %.
pub type Durations = Histogram<32>;

/// A count with a separate cell for each thread, because cores would contend for a shared one.
#[derive(Default)]
pub(crate) struct Apart(ThreadLocal<AtomicU64>);

impl Apart {
    pub(crate) fn add_one(&self) {
        let own = self.0.get_or_default();
        own.store(own.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    pub(crate) fn sum(&self) -> u64 {
        self.0.iter().map(|own| own.load(Ordering::Relaxed)).sum()
    }
}

/// See the module.
#[derive(Default)]
pub struct Counters {
    submitted: Apart,
    /// Logins refused because they are too old or too new.
    pub(crate) not_fresh: Apart,
    matches: AtomicU64,
    denials: AtomicU64,
    batches: AtomicU64,
    lanes: AtomicU64,
    seals: AtomicU64,
    /// In the order of [`STAGES`].
    stages: [Durations; 6],
    /// Of the proof intake, which counts for itself.
    pub proofs: Arc<ProofCounters>,
}

/// Counts since the start of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Requests handed to the pipeline.
    pub submitted: u64,
    /// Authentications answered with a match.
    pub matches: u64,
    /// Authentications answered with no match.
    pub denials: u64,
    /// Batches sealed.
    pub batches: u64,
    /// Their lanes.
    pub lanes: u64,
    /// Seals stored.
    pub seals: u64,
}

impl Counters {
    /// A request was handed to the pipeline.
    pub fn submitted(&self) {
        self.submitted.add_one();
    }

    /// Requests handed to the pipeline, and those refused because they are too old or too new.
    pub(crate) fn by_time(&self) -> [u64; 2] {
        [self.submitted.sum(), self.not_fresh.sum()]
    }

    /// Authentications answered.
    pub fn answered(&self) -> u64 {
        self.matches.load(Ordering::Relaxed) + self.denials.load(Ordering::Relaxed)
    }

    /// A lane was answered.
    pub(crate) fn decided(&self, decision: Decision) {
        let counter = match decision {
            Decision::Match => &self.matches,
            Decision::NoMatch => &self.denials,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// A seal was made over these batches in `seal_ns`. Records of changes do not count as a batch.
    pub fn sealed<R>(&self, batches: &[Bound<R>], seal_ns: u64) {
        let add = |counter: &AtomicU64, value: u64| counter.fetch_add(value, Ordering::Relaxed);
        add(&self.seals, 1);
        let [proof_lookup, r#match, key_holder, digest, seal, total] = &self.stages;
        seal.record(seal_ns);
        let decided = |batch: &&Bound<R>| batch.lanes.iter().any(|lane| lane.decision.is_some());
        for Bound { lanes, times, .. } in batches.iter().filter(decided) {
            let StageTimes { proof_lookup_ns, match_ns, key_holder_ns, digest_ns } = *times;
            add(&self.batches, 1);
            add(&self.lanes, lanes.len() as u64);
            proof_lookup.record(proof_lookup_ns);
            r#match.record(match_ns);
            key_holder.record(key_holder_ns);
            digest.record(digest_ns);
            total.record(proof_lookup_ns + match_ns + key_holder_ns + digest_ns + seal_ns);
        }
    }

    /// All counts.
    pub fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            submitted: self.submitted.sum(),
            matches: read(&self.matches),
            denials: read(&self.denials),
            batches: read(&self.batches),
            lanes: read(&self.lanes),
            seals: read(&self.seals),
        }
    }

    /// Durations by stage: of each batch in the stage; `seal`: of each seal; `total`: of a batch with its seal.
    pub fn stages(&self) -> impl Iterator<Item = (&'static str, &Durations)> {
        STAGES.into_iter().zip(&self.stages)
    }
}

const STAGES: [&str; 6] = ["proof_lookup", "match", "key_holder", "digest", "seal", "total"];
