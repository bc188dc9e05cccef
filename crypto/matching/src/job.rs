//! What the matcher sends to the key-holder.

use crate::{BatchId, Handle, Lane, LaneSet, TenantId};
use std::fmt;
use trefoil_bfv::{LANES, MaskedBatch, MaskedError, Scheme};

/// First bytes of an encoded job: format and version.
const MAGIC: [u8; 4] = *b"TFJ2";

/// Bytes before the subjects: magic, tenant, batch id, occupied lanes.
const HEADER_BYTES: usize = 4 + 16 + 16 + 4;
/// Bytes per subject: handle and generation.
const SUBJECT_BYTES: usize = 32 + 4;
/// Bytes of the masked batch: 2 primes, 32 + 4096 residues, 6 bytes.
const MASKED_BYTES: usize = 2 * (32 + 4096) * 6;

/// One masked batch: who is in it, and the re-randomised, flooded product.
#[derive(Clone, PartialEq, Eq)]
pub struct MatchJob {
    /// The tenant of every subject in the batch.
    pub tenant: TenantId,
    /// The name of the batch.
    pub batch_id: BatchId,
    /// Handle and template generation of the subject in each lane.
    pub subjects: [Option<(Handle, u32)>; LANES],
    pub(crate) masked: MaskedBatch,
}

/// Why bytes are not a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// The bytes end early or go on too long.
    #[error("the job has {0} bytes, which is not the length its lanes call for")]
    Length(usize),
    /// The first bytes do not name this format and version.
    #[error("these bytes are not a match job of version 2")]
    Format,
    /// No lane is occupied, or one template occupies two.
    #[error("the job's templates are not distinct, or there are none")]
    Subjects,
    /// A coefficient is not reduced, or the polynomial is zero.
    #[error(transparent)]
    Ciphertext(#[from] MaskedError),
}

impl MatchJob {
    /// Length of the longest encoding: all 32 lanes occupied.
    pub const BYTES_MAX: usize = HEADER_BYTES + LANES * SUBJECT_BYTES + MASKED_BYTES;

    /// The canonical encoding, which [`MatchJob::from_bytes`] reads: magic, tenant, batch id, occupied lanes (32 bits,
    /// little-endian), handle and generation of each in order, masked batch.
    pub fn to_bytes(&self) -> Vec<u8> {
        let MatchJob { tenant, batch_id, subjects, masked } = self;
        let mut bytes = Vec::with_capacity(MatchJob::BYTES_MAX);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(tenant);
        bytes.extend_from_slice(batch_id);
        bytes.extend_from_slice(&self.occupied().bits().to_le_bytes());
        for (handle, generation) in subjects.iter().flatten() {
            bytes.extend_from_slice(handle);
            bytes.extend_from_slice(&generation.to_le_bytes());
        }
        bytes.extend_from_slice(&masked.to_bytes());
        bytes
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`JobError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<MatchJob, JobError> {
        let length = JobError::Length(bytes.len());
        let mut rest = bytes;
        if take(&mut rest).ok_or(length)? != MAGIC {
            return Err(JobError::Format);
        }
        let tenant = take(&mut rest).ok_or(length)?;
        let batch_id = take(&mut rest).ok_or(length)?;
        let occupied = LaneSet::from_bits(u32::from_le_bytes(take(&mut rest).ok_or(length)?));
        let mut subjects = [None; LANES];
        for lane in occupied.iter() {
            let handle = take(&mut rest).ok_or(length)?;
            let generation = u32::from_le_bytes(take(&mut rest).ok_or(length)?);
            subjects[lane.index()] = Some((handle, generation));
        }
        if rest.len() != MASKED_BYTES {
            return Err(length);
        }
        let masked = MaskedBatch::from_bytes(Scheme::shared(), rest)?;
        let job = MatchJob { tenant, batch_id, subjects, masked };
        if job.is_well_formed() { Ok(job) } else { Err(JobError::Subjects) }
    }

    /// The lanes that have a subject.
    pub fn occupied(&self) -> LaneSet {
        let mut occupied = LaneSet::EMPTY;
        for lane in Lane::all().filter(|lane| self.subjects[lane.index()].is_some()) {
            occupied.insert(lane);
        }
        occupied
    }

    /// Whether at least one lane is occupied and no template occupies two.
    pub(crate) fn is_well_formed(&self) -> bool {
        // The first bytes tell almost all handles apart; only where two agree are the whole names sorted.
        let (mut prefixes, mut count) = ([0u64; LANES], 0);
        for ((handle, _), prefix) in self.subjects.iter().flatten().zip(&mut prefixes) {
            *prefix = handle.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
            count += 1;
        }
        let prefixes = &mut prefixes[..count];
        prefixes.sort_unstable();
        count > 0 && (prefixes.windows(2).all(|pair| pair[0] != pair[1]) || self.names_are_distinct())
    }

    fn names_are_distinct(&self) -> bool {
        let mut present: Vec<&(Handle, u32)> = self.subjects.iter().flatten().collect();
        present.sort_unstable();
        present.windows(2).all(|pair| pair[0] != pair[1])
    }
}

/// Splits `N` bytes off the front, if there are as many.
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (front, back) = rest.split_first_chunk()?;
    *rest = back;
    Some(*front)
}

impl fmt::Debug for MatchJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchJob").field("occupied", &self.occupied()).finish_non_exhaustive()
    }
}
