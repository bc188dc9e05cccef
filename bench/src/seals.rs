//! The sealer's output.

#[expect(clippy::disallowed_types, reason = "taken once per seal and at the ends of windows")]
use std::sync::Mutex;
use std::sync::{Arc, MutexGuard, PoisonError};

use trefoil_attest::Decision;
use trefoil_pipeline::{Clock, Refusal, Release, Sealed, StageTimes};

use crate::audit::Reservoir;
use crate::clock::WorldClock;
use crate::sessions::Settled;
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

/// All released seals, and whether they were correct.
pub(crate) struct Tally {
    pub(crate) seals: Vec<SealEntry>,
    pub(crate) matches: u64,
    pub(crate) denials: u64,
    /// Lanes whose decision differs from the prediction.
    pub(crate) wrong: u64,
    pub(crate) refused: u64,
    pub(crate) first_refusal: Option<Refusal>,
    pub(crate) samples: Reservoir,
}

/// The batches handed to the pipeline.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Submitted {
    pub(crate) lanes: u64,
    /// How many of them must match.
    pub(crate) matches: u64,
    /// How many the pipeline refused to decide.
    pub(crate) refused: u64,
    pub(crate) first_refusal: Option<Refusal>,
    /// What was done for sessions on the way.
    pub(crate) settled: Settled,
    /// Processor time of the worker's thread.
    pub(crate) cpu_ns: u64,
}

impl Submitted {
    /// Counts what the pipeline refused of a batch.
    pub(crate) fn note<R>(&mut self, refused: &[(R, Refusal)]) {
        self.refused += refused.len() as u64;
        self.first_refusal = self.first_refusal.or(refused.first().map(|(_, why)| *why));
    }

    /// Counts what another worker submitted.
    pub(crate) fn add(&mut self, other: &Submitted) {
        let Submitted { lanes, matches, refused, first_refusal, settled, cpu_ns } = other;
        self.lanes += lanes;
        self.matches += matches;
        self.refused += refused;
        self.settled.revived += settled.revived;
        self.settled.proofs += settled.proofs;
        self.cpu_ns += cpu_ns;
        self.first_refusal = self.first_refusal.or(*first_refusal);
    }
}

impl Tally {
    fn keeping(samples: usize) -> Self {
        Tally {
            seals: Vec::new(),
            matches: 0,
            denials: 0,
            wrong: 0,
            refused: 0,
            first_refusal: None,
            samples: Reservoir::new(samples),
        }
    }

    /// What is wrong with these results, if anything: every lane submitted must be sealed, with the
    /// decision that was predicted for it.
    pub(crate) fn problem(&self, submitted: &Submitted) -> Option<String> {
        let refused = self.refused + submitted.refused;
        let sealed = self.matches + self.denials;
        if refused > 0 || sealed != submitted.lanes {
            let why = self
                .first_refusal
                .or(submitted.first_refusal)
                .map(|why| format!(", first: {why}"))
                .unwrap_or_default();
            return Some(format!("{refused} lanes refused{why}; {sealed} of {} sealed", submitted.lanes));
        }
        let (matches, expected) = (self.matches, submitted.matches);
        (self.wrong > 0 || matches != expected)
            .then(|| format!("{} lanes decided wrongly; {matches} matches instead of {expected}", self.wrong))
    }
}

/// Receives released seals. The sealer takes the mutex once per seal, and otherwise it is taken only at the ends of windows.
#[expect(clippy::disallowed_types, reason = "see above")]
pub(crate) struct Ledger {
    tally: Mutex<Tally>,
    clock: Arc<WorldClock>,
}

impl Ledger {
    /// An empty ledger that keeps at most `samples` lanes for verification.
    pub(crate) fn new(clock: Arc<WorldClock>, samples: usize) -> Self {
        #[expect(clippy::disallowed_types, reason = "see the type")]
        Ledger { tally: Mutex::new(Tally::keeping(samples)), clock }
    }

    /// The tally so far; an empty one takes its place.
    pub(crate) fn take(&self) -> Tally {
        std::mem::replace(&mut *self.lock(), Tally::keeping(0))
    }

    /// Seals so far.
    pub(crate) fn seals(&self) -> usize {
        self.lock().seals.len()
    }

    /// Lanes so far.
    pub(crate) fn lanes(&self) -> u64 {
        let tally = self.lock();
        tally.matches + tally.denials
    }

    fn lock(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Release<Ticket> for Ledger {
    fn sealed(&self, sealed: Sealed<Ticket>) {
        let at_ns = self.clock.monotonic_ns();
        let mut tally = self.lock();
        let mut count = 0;
        for lane in sealed.lanes() {
            count += 1;
            match lane.decision {
                Some(Decision::Match) => tally.matches += 1,
                Some(Decision::NoMatch) => tally.denials += 1,
                None => {}
            }
            tally.wrong += u64::from(lane.decision != Some(lane.reply.expected));
        }
        let Sealed { under, batches, seal_ns, .. } = sealed;
        let times = batches.iter().map(|batch| batch.times).collect();
        tally.seals.push(SealEntry { at_ns, lanes: count as u64, seal_ns, batches: times });
        if count > 0 {
            let chosen = tally.samples.below(count);
            let lane = batches.into_iter().flat_map(|batch| batch.lanes).nth(chosen);
            lane.into_iter().for_each(|lane| tally.samples.offer(lane, chosen as u64, &under));
        }
    }

    fn refused(&self, _: Ticket, why: Refusal) {
        let mut tally = self.lock();
        tally.refused += 1;
        tally.first_refusal.get_or_insert(why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_predicted_decisions_pass() {
        let submitted = Submitted { lanes: 5, matches: 3, ..Submitted::default() };
        let tally = |matches, denials, wrong, refused| Tally {
            matches,
            denials,
            wrong,
            refused,
            first_refusal: (refused > 0).then_some(Refusal::KeyHolder),
            ..Tally::keeping(0)
        };
        assert_eq!(tally(3, 2, 0, 0).problem(&submitted), None);
        assert!(tally(2, 3, 1, 0).problem(&submitted).is_some(), "a lane was decided wrongly");
        assert!(tally(3, 2, 2, 0).problem(&submitted).is_some(), "two errors that cancel");
        assert!(tally(3, 1, 0, 0).problem(&submitted).is_some(), "a lane was lost");
        assert!(tally(3, 1, 0, 1).problem(&submitted).is_some(), "a lane was refused");
        let refused = Submitted { refused: 1, ..submitted };
        assert!(tally(3, 2, 0, 0).problem(&refused).is_some());
    }
}
