//! What the matcher sends to the key-holder.

use crate::{BatchId, Handle, TenantId};
use trefoil_bfv::LANES;

/// One masked batch: who is in it, and the re-randomised, flooded product.
pub struct MatchJob {
    /// The tenant of every subject in the batch.
    pub tenant: TenantId,
    /// The name of the batch.
    pub batch_id: BatchId,
    /// Handle and template generation of the subject in each lane.
    pub subjects: [Option<(Handle, u32)>; LANES],
    #[expect(dead_code)]
    masked: (),
}

/// Why bytes are not a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// The bytes end early or go on too long.
    #[error("the job has the wrong length")]
    Length,
    /// The first bytes do not name this format and version.
    #[error("these bytes are not a match job of version 1")]
    Format,
    /// No lane is occupied, or one subject occupies two.
    #[error("the job's subjects are not distinct, or there are none")]
    Subjects,
    /// A coefficient is not reduced, or the polynomial is zero.
    #[error("the job's ciphertext is not in canonical form")]
    Ciphertext,
}

impl MatchJob {
    /// Longest encoding.
    pub const BYTES_MAX: usize = 4 + 16 + 16 + 4 + LANES * 36 + 2 * 6 * (LANES + 4096);

    /// The canonical encoding, which [`MatchJob::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        todo!()
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`JobError`] for any other bytes.
    pub fn from_bytes(_bytes: &[u8]) -> Result<MatchJob, JobError> {
        todo!()
    }
}
