//! Seals are released in the order of their headers, regardless of which is signed first.

use std::collections::BTreeMap;
use std::sync::Arc;

use crossbeam_channel::Sender;

use super::chain::{ChainHead, LogTurn};
use super::release::{Release, Sealed, SealedTree};
use crate::request::{Bound, Refusal};

/// A group of batches whose seal was made, or refused.
pub(super) struct Finished<R> {
    /// Its place in the order of headers.
    pub(super) place: u64,
    /// What its header follows.
    pub(super) head: ChainHead,
    /// For a log that others extend too.
    pub(super) turn: Option<LogTurn>,
    pub(super) batches: Vec<Bound<R>>,
    /// The checked seal; none if the signer or the check refused it.
    pub(super) under: Option<SealedTree>,
    /// Why there is none.
    pub(super) why: Refusal,
    /// Duration, nanoseconds.
    pub(super) seal_ns: u64,
}

/// Releases finished groups in order.
pub(super) struct Releasing<R> {
    /// The end of the released chain.
    pub(super) head: ChainHead,
    /// Place of the next to be released.
    pub(super) next: u64,
    /// Finished, while an earlier one is not. No more than the batches that may be unsealed.
    pub(super) early: BTreeMap<u64, Finished<R>>,
    /// Says where the chain continues after a refused seal.
    pub(super) withdraw: Sender<ChainHead>,
    pub(super) release: Arc<dyn Release<R>>,
    pub(super) after_group: Box<dyn Fn(usize) + Send>,
}

impl<R> Releasing<R> {
    /// Takes a group, and releases all whose turn it is.
    pub(super) fn finish(&mut self, finished: Finished<R>) {
        self.early.insert(finished.place, finished);
        while let Some(finished) = self.early.remove(&self.next) {
            self.next += 1;
            let count = finished.batches.len();
            self.let_go(finished);
            (self.after_group)(count);
        }
    }

    /// Releases a group, or refuses it if it has no seal or if its seal follows one that was not released. Headers made
    /// until now follow a refused one; headers made from now on do not.
    fn let_go(&mut self, finished: Finished<R>) {
        let Finished { place: _, head, turn, batches, under, why, seal_ns } = finished;
        if turn.is_some() {
            // What others added is in the log already.
            self.head = head.clone();
        }
        let follows = head == self.head;
        if let (true, Some(under)) = (follows, under) {
            self.head.follow(&under.seal.header);
            let (under, log) = (Arc::new(under), head.log);
            return self.release.sealed(Sealed { under, batches, log, turn, seal_ns });
        }
        if follows {
            // The chain itself is gone where a thread panicked.
            self.withdraw.send(self.head.clone()).unwrap_or_default();
        }
        for lane in batches.into_iter().flat_map(|batch| batch.lanes) {
            self.release.refused(lane.reply, why);
        }
    }
}
