//! A worker's wall time, by purpose.
//!
//! The worker reads the clock between its steps and attributes every interval, so that no time between its first batch and its last is left
//! out. The pipeline times the steps of a batch itself; the rest of its run is attributed to `between_steps`. An interval includes
//! the time that the system gave to other threads: `off_core` says how much that was, because a worker that does not wait wants its core.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;
use serde_json::{Map, Value, json};
use trefoil_pipeline::StageTimes;

use crate::distribution::rounded;
use crate::processor::thread_cpu_ns;

/// A purpose of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Waiting for a seal, because the maximum number of batches is unsealed.
    Waiting,
    /// Requests are made: template, probe, nonce.
    Requests,
    ProofLookup,
    Match,
    KeyHolder,
    Digest,
    /// The rest of the pipeline's run: the tenant's snapshot, lanes put in order and moved from step to step.
    BetweenSteps,
    /// Verdicts of evicted sessions go back into the cache, proofs of ended ones are verified.
    Sessions,
    /// The batch goes to the threads that seal; per batch it is sealed and released here.
    Sealing,
}

impl Purpose {
    const ALL: [(Purpose, &'static str); 9] = [
        (Purpose::Waiting, "waiting"),
        (Purpose::Requests, "requests"),
        (Purpose::ProofLookup, "proof_lookup"),
        (Purpose::Match, "match"),
        (Purpose::KeyHolder, "keyholder"),
        (Purpose::Digest, "digest"),
        (Purpose::BetweenSteps, "between_steps"),
        (Purpose::Sessions, "sessions"),
        (Purpose::Sealing, "sealing"),
    ];
}

/// One worker's time accounts. Only the worker writes them; any thread may read them.
#[derive(Default)]
pub(crate) struct Spending(CachePadded<Book>);

#[derive(Default)]
struct Book {
    ns: [AtomicU64; Purpose::ALL.len()],
    batches: AtomicU64,
    cpu_ns: AtomicU64,
}

impl Spending {
    /// Adds to the time spent on `purpose`.
    pub(crate) fn book(&self, purpose: Purpose, ns: u64) {
        add(&self.0.ns[purpose as usize], ns);
    }

    /// Attributes a run of the pipeline that took `ns`, by the times of its steps.
    pub(crate) fn book_run(&self, times: &StageTimes, ns: u64) {
        let StageTimes { proof_lookup_ns, match_ns, key_holder_ns, digest_ns } = *times;
        self.book(Purpose::ProofLookup, proof_lookup_ns);
        self.book(Purpose::Match, match_ns);
        self.book(Purpose::KeyHolder, key_holder_ns);
        self.book(Purpose::Digest, digest_ns);
        let steps = proof_lookup_ns + match_ns + key_holder_ns + digest_ns;
        self.book(Purpose::BetweenSteps, ns.saturating_sub(steps));
    }

    /// Ends a batch; to be called on the worker's thread.
    pub(crate) fn end_batch(&self) {
        add(&self.0.batches, 1);
        self.0.cpu_ns.store(thread_cpu_ns(), Ordering::Relaxed);
    }

    fn read(&self) -> Spent {
        let Book { ns, batches, cpu_ns } = &*self.0;
        let of = |value: &AtomicU64| value.load(Ordering::Relaxed);
        Spent {
            ns: std::array::from_fn(|purpose| of(&ns[purpose])),
            batches: of(batches),
            cpu_ns: of(cpu_ns),
        }
    }
}

/// Its only writer adds.
fn add(to: &AtomicU64, more: u64) {
    to.store(to.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// The time of all workers together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    ns: [u64; Purpose::ALL.len()],
    batches: u64,
    cpu_ns: u64,
}

impl Spent {
    /// All time accounts, now.
    pub(crate) fn read(books: &[Spending]) -> Spent {
        let mut sum = Spent::default();
        for book in books {
            let Spent { ns, batches, cpu_ns } = book.read();
            sum.ns.iter_mut().zip(ns).for_each(|(sum, ns)| *sum += ns);
            sum.batches += batches;
            sum.cpu_ns += cpu_ns;
        }
        sum
    }

    /// The time spent since `before`.
    pub(crate) fn since(&self, before: &Spent) -> Spent {
        Spent {
            ns: std::array::from_fn(|purpose| self.ns[purpose] - before.ns[purpose]),
            batches: self.batches - before.batches,
            cpu_ns: self.cpu_ns - before.cpu_ns,
        }
    }

    fn on(&self, purpose: Purpose) -> u64 {
        self.ns[purpose as usize]
    }

    /// The explained share of `workers_ns`, the wall time of all workers together.
    pub(crate) fn explained(&self, workers_ns: u64) -> f64 {
        self.ns.iter().sum::<u64>() as f64 / workers_ns as f64
    }

    /// Microseconds for each batch on each purpose, waiting included.
    pub(crate) fn us_per_batch(&self) -> Vec<(&'static str, f64)> {
        let each = |ns: u64| ns as f64 / 1e3 / self.batches.max(1) as f64;
        Purpose::ALL.map(|(purpose, name)| (name, each(self.on(purpose)))).to_vec()
    }

    /// For the record.
    pub(crate) fn json(&self, workers_ns: u64) -> Value {
        let of_all = |ns: u64| rounded4(ns as f64 / workers_ns as f64);
        let (mut shares, mut us) = (Map::new(), Map::new());
        for ((purpose, name), (_, each)) in Purpose::ALL.into_iter().zip(self.us_per_batch()) {
            shares.insert(name.to_owned(), json!(of_all(self.on(purpose))));
            us.insert(name.to_owned(), json!(rounded(each)));
        }
        let awake = workers_ns.saturating_sub(self.on(Purpose::Waiting));
        json!({
            "us_per_batch": us, "shares": shares, "explained": rounded4(self.explained(workers_ns)),
            "off_core": of_all(awake.saturating_sub(self.cpu_ns)), "batches": self.batches,
        })
    }
}

/// Shares, to a hundredth of a per cent.
fn rounded4(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_have_the_place_of_their_name() {
        for (at, (purpose, _)) in Purpose::ALL.iter().enumerate() {
            assert_eq!(*purpose as usize, at);
        }
    }

    #[test]
    fn every_nanosecond_of_a_run_is_booked_once() {
        let books = [Spending::default(), Spending::default()];
        let before = Spent::read(&books);
        let times = StageTimes { proof_lookup_ns: 1, match_ns: 20, key_holder_ns: 300, digest_ns: 4_000 };
        books[0].book_run(&times, 54_321);
        books[0].end_batch();
        books[1].book(Purpose::Waiting, 45_679);
        let spent = Spent::read(&books).since(&before);
        assert_eq!(spent.on(Purpose::BetweenSteps), 50_000);
        assert!((spent.explained(100_000) - 1.0).abs() < 1e-12);
        assert!((spent.explained(200_000) - 0.5).abs() < 1e-12);
        let json = spent.json(100_000);
        assert_eq!(json["us_per_batch"]["keyholder"], 0.3);
        assert_eq!(json["shares"]["waiting"], 0.4568);
    }
}
