//! A batch between its steps.

use trefoil_kernels::Cpu;
use trefoil_matching::BatchId;

use crate::request::{LaneRequest, Refusal, StageTimes};
use crate::verdict::Verdict;

/// A lane with a valid session.
pub(crate) struct ProvenLane<R> {
    pub(crate) request: LaneRequest<R>,
    pub(crate) verdict: Verdict,
    pub(crate) root: [u8; 32],
}

/// One batch on its way.
pub(crate) struct Run<R> {
    pub(crate) now: u64,
    pub(crate) cpu: Cpu,
    pub(crate) batch_id: BatchId,
    pub(crate) refused: Vec<(R, Refusal)>,
    pub(crate) times: StageTimes,
}

impl<R> Run<R> {
    /// Answers lanes without a verdict.
    pub(crate) fn refuse_all(&mut self, lanes: impl IntoIterator<Item = LaneRequest<R>>, why: Refusal) {
        self.refused.extend(lanes.into_iter().map(|lane| (lane.reply, why)));
    }

    /// Takes lanes out of the batch.
    pub(crate) fn refuse(&mut self, lanes: impl IntoIterator<Item = ProvenLane<R>>, why: Refusal) {
        self.refuse_all(lanes.into_iter().map(|lane| lane.request), why);
    }
}
