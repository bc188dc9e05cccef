//! A job as one of three key-holders gets it.

use crate::hash::hash;
use crate::job::{CIPHERTEXTS_MAX, ForSeat, Masked, Stamp};
use crate::{JobError, MatchJob};
use trefoil_bfv::threshold::{PIECES, Piece, Seat, Witness};
use trefoil_bfv::{LANES, MaskedBatch, Scheme, Tag};
use trefoil_kernels::{Cpu, keccak};

/// Bytes of `c1`: 2 primes, 4096 residues, 6 bytes.
const C1_BYTES: usize = crate::key_structure::POLYNOMIAL_BYTES;
/// Bytes of a witness without its `c1`: factors, 32 coefficients per prime.
const WITNESS_HEAD_BYTES: usize = 4 * LANES + 2 * LANES * 6;

/// Bytes before the job: seat, number of ciphertexts, tags, witness, the `c1` of two others.
const fn head_bytes(ciphertexts: usize) -> usize {
    1 + 1 + Stamp::<4>::BYTES + WITNESS_HEAD_BYTES + 3 * ciphertexts * C1_BYTES
}

/// One seat's job: the batch, its own witness, the data of the other two witnesses from which it makes parts, and a tag for
/// each of the four under this seat's tag key.
pub struct SeatJob {
    pub(super) job: MatchJob,
    pub(super) masked: MaskedBatch,
    pub(super) seat: Seat,
    pub(super) digest: [u8; 32],
    pub(super) own: ForSeat,
    /// In the order of [`Seat::others`].
    pub(super) shadows: [MaskedBatch; 2],
}

impl SeatJob {
    /// Length of the shortest and the longest encoding.
    pub const BYTES: std::ops::RangeInclusive<usize> =
        head_bytes(1) + 1..=head_bytes(CIPHERTEXTS_MAX) + MatchJob::BYTES_MAX;

    /// The jobs for the three seats, in their order, each of which must see only its own; none if the job was not masked for a
    /// quorum. Seat (1), number of ciphertexts (1), its tags, its witness, the `c1` of the next seat's witness and of the one after it, and the job.
    pub fn encode(job: &MatchJob) -> Option<[Vec<u8>; PIECES]> {
        let Masked::Quorum(Some(for_seats), _) = &job.masked else { return None };
        let batch = job.to_bytes();
        Some(Seat::ALL.map(|seat| {
            let shadows = seat.others().map(|other| for_seats[other.index()].witness.batch());
            encode(seat, &for_seats[seat.index()], shadows, &batch)
        }))
    }

    /// The canonical encoding, which [`SeatJob::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        encode(self.seat, &self.own, self.shadows.each_ref(), &self.job.to_bytes())
    }

    /// Reads what [`SeatJob::encode`] writes and nothing else.
    ///
    /// # Errors
    /// [`JobError`] for any other bytes, and for a job of a kind that a quorum does not decide.
    pub fn from_bytes(bytes: &[u8]) -> Result<SeatJob, JobError> {
        let length = JobError::Length(bytes.len());
        let ([seat, ciphertexts], rest) = bytes.split_first_chunk().ok_or(length)?;
        let c1_bytes = usize::from(*ciphertexts) * C1_BYTES;
        let (stamp, rest) = rest.split_at_checked(Stamp::<4>::BYTES).ok_or(length)?;
        let (witness, rest) = rest.split_at_checked(WITNESS_HEAD_BYTES + c1_bytes).ok_or(length)?;
        let (next, rest) = rest.split_at_checked(c1_bytes).ok_or(length)?;
        let (last, batch) = rest.split_at_checked(c1_bytes).ok_or(length)?;
        let seat = Seat::new(usize::from(*seat)).ok_or(JobError::Format)?;
        let job = MatchJob::from_bytes(batch)?;
        let Masked::Quorum(_, masked) = &job.masked else { return Err(JobError::Format) };
        let shape = masked.shape();
        let mut c1 = [&[][..]; PIECES];
        c1[seat.index()] = &witness[WITNESS_HEAD_BYTES..];
        for (other, shadow) in seat.others().into_iter().zip([next, last]) {
            c1[other.index()] = shadow;
        }
        let digest = digest(batch, c1);
        let scheme = Scheme::shared();
        let own =
            ForSeat { stamp: Stamp::read(stamp)?, witness: Witness::from_bytes(scheme, shape, witness)? };
        let shadow = |bytes| MaskedBatch::from_c1_bytes(scheme, shape, bytes);
        let (masked, shadows) = (masked.clone(), [shadow(next)?, shadow(last)?]);
        Ok(SeatJob { seat, digest, own, shadows, masked, job })
    }

    /// Every polynomial that this seat decrypts with its pieces, and its tag: of the batch, its witness, and those of
    /// [`Seat::others`].
    pub(super) fn tagged(&self) -> [(&MaskedBatch, &Tag); 4] {
        let [next, last] = &self.shadows;
        let [of_batch, of_witness, of_next, of_last] = &self.own.stamp.tags;
        [(&self.masked, of_batch), (self.own.witness.batch(), of_witness), (next, of_next), (last, of_last)]
    }

    /// The seat that lacks `piece`, another than this one, and its witness without what is only for it.
    pub(super) fn lacking(&self, piece: Piece) -> (Seat, &MaskedBatch) {
        let [next, last] = self.seat.others();
        if next.lacks() == piece { (next, &self.shadows[0]) } else { (last, &self.shadows[1]) }
    }

    /// The seat that it is for.
    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// The batch.
    pub fn job(&self) -> &MatchJob {
        &self.job
    }
}

impl std::fmt::Debug for SeatJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SeatJob").field("seat", &self.seat).field("job", &self.job).finish_non_exhaustive()
    }
}

fn encode(seat: Seat, own: &ForSeat, shadows: [&MaskedBatch; 2], batch: &[u8]) -> Vec<u8> {
    let ForSeat { witness, stamp } = own;
    let [next, last] = shadows.map(MaskedBatch::c1_to_bytes);
    let head = [seat.index() as u8, witness.batch().shape().count() as u8];
    [&head[..], &stamp.to_bytes(), &witness.to_bytes(), &next, &last, batch].concat()
}

/// The name of a batch between key-holders: SHA3-256 over the digests of the job and of every `c1` that parts are made of. What is
/// derived from it must never be shared by two of them.
fn digest(batch: &[u8], [a, b, c]: [&[u8]; PIECES]) -> [u8; 32] {
    let mut digests = [[0; 32]; 1 + PIECES];
    keccak::sha3_256(Cpu::detected(), &[batch, a, b, c], &mut digests);
    hash(&[b"trefoil/quorum/job/2", digests.as_flattened()])
}
