//! A batch between its steps.

use trefoil_attest::Proof;
use trefoil_kernels::Cpu;
use trefoil_matching::BatchId;

use crate::Account;
use crate::request::{LaneRequest, Refusal, StageTimes};

/// A lane backed as the tenant's policy demands, and what is attested for that.
pub(crate) struct BackedLane<R> {
    pub(crate) request: LaneRequest<R>,
    pub(crate) account: Account,
    /// None where the policy asks for none.
    pub(crate) proof: Option<Proof>,
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
    /// Answers lanes that are not backed.
    pub(crate) fn refuse_all(&mut self, lanes: impl IntoIterator<Item = LaneRequest<R>>, why: Refusal) {
        self.refused.extend(lanes.into_iter().map(|lane| (lane.reply, why)));
    }

    /// Takes lanes out of the batch.
    pub(crate) fn refuse(&mut self, lanes: impl IntoIterator<Item = BackedLane<R>>, why: Refusal) {
        self.refuse_all(lanes.into_iter().map(|lane| lane.request), why);
    }
}
