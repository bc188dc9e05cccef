//! The matcher's job for the key-holder to decide.

use crate::key_structure::POLYNOMIAL_BYTES;
use crate::{BatchId, Handle, KeyStructure, Lane, LaneSet, Model, TenantId};
use std::fmt;
use trefoil_bfv::threshold::{PIECES, Witness};
use trefoil_bfv::{LANES, MaskedBatch, MaskedError, MaskedProduct, Scheme, Shape, Tag, Width};

/// First bytes of an encoded job: format and version.
const MAGIC: [u8; 4] = *b"TFJ8";

/// Bytes but for the subjects and what is masked: magic, tenant, batch id, epoch, kind, occupied lanes, model, threshold.
const HEADER_BYTES: usize = 4 + 16 + 16 + 4 + 1 + 4 + Model::BYTES + 4;
/// Most ciphertexts of a batch: of the widest vectors.
pub(crate) const CIPHERTEXTS_MAX: usize = LANES / Width::W512.lanes();
/// Bytes per subject: handle, generation and leaf.
const SUBJECT_BYTES: usize = 32 + 4 + 32;
/// Bytes of the 32 coefficients of `c0`: 2 primes, 6 bytes.
const FOLDED_BYTES: usize = 2 * LANES * 6;

/// One masked batch: who is in it, and the re-randomised, flooded product.
#[derive(Clone, PartialEq, Eq)]
pub struct MatchJob {
    /// The tenant of every subject in the batch.
    pub tenant: TenantId,
    /// The name of the batch.
    pub batch_id: BatchId,
    /// The epoch of the tenant's keys that every template in the batch is under.
    pub epoch: u32,
    /// Handle and template generation of the subject in each lane.
    pub subjects: [Option<(Handle, u32)>; LANES],
    /// The model of every template and probe in the batch.
    pub model: Model,
    /// The threshold of the decision. A key-holder whose threshold for the tenant and model differs decides nothing. It is part of the encoding, and so
    /// of the digest that names the batch between key-holders: no two of them decide one batch under two thresholds.
    pub threshold: i32,
    /// What the key-holder's log shows of each lane that matches, so that an auditor finds its attestation there. The key-holder cannot know whether it
    /// is of the lane's subject. Zeros in lanes without one, and where nobody audits.
    pub leaves: [[u8; 32]; LANES],
    pub(crate) masked: Masked,
}

/// What is decrypted.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Masked {
    /// Templates under keys of their own and plain probes, for one key-holder.
    Plain(Stamp<1>, MaskedBatch),
    /// The same for a quorum. What each seat needs besides is not in the encoding: it is for that seat only
    /// ([`crate::quorum::SeatJob`]), and there is nothing in a job that was read.
    Quorum(Option<Box<[ForSeat; PIECES]>>, MaskedBatch),
    /// Templates under the tenant's key and shared probes.
    Product(MaskedProduct),
}

/// Tags under one key-holder's tag key, for every `c1` that it decrypts: they show that the matcher knows what each is a multiple of.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Stamp<const COUNT: usize> {
    /// Which of the key-holder's tag keys.
    pub(crate) version: u32,
    pub(crate) tags: [Tag; COUNT],
}

/// What one seat of a quorum is sent besides the batch.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ForSeat {
    pub(crate) witness: Witness,
    /// Of the batch, of this seat's witness, and of those of [`crate::quorum::Seat::others`].
    pub(crate) stamp: Stamp<4>,
}

/// Why bytes are not a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// The bytes end early or go on too long.
    #[error("the job has {0} bytes, which is not the length its lanes call for")]
    Length(usize),
    /// The first bytes do not name this format and version, or the kind does not exist.
    #[error("these bytes are not a match job of version 8")]
    Format,
    /// No lane is occupied, or one template occupies two.
    #[error("the job's templates are not distinct, or there are none")]
    Subjects,
    /// A coefficient is not reduced, or the polynomial is zero.
    #[error(transparent)]
    Ciphertext(#[from] MaskedError),
}

impl<const COUNT: usize> Stamp<COUNT> {
    pub(crate) const BYTES: usize = 4 + COUNT * Tag::BYTES;

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.version.to_le_bytes().to_vec();
        self.tags.iter().for_each(|tag| bytes.extend_from_slice(&tag.to_bytes()));
        bytes
    }

    /// Reads [`Stamp::BYTES`] bytes.
    pub(crate) fn read(bytes: &[u8]) -> Result<Stamp<COUNT>, JobError> {
        let length = JobError::Length(bytes.len());
        let (version, rest) = bytes.split_first_chunk().ok_or(length)?;
        let mut tags = Vec::with_capacity(COUNT);
        for tag in rest.chunks(Tag::BYTES) {
            tags.push(Tag::from_bytes(Scheme::shared(), tag)?);
        }
        let tags = tags.try_into().map_err(|_| length)?;
        Ok(Stamp { version: u32::from_le_bytes(*version), tags })
    }
}

impl Masked {
    fn code(&self) -> u8 {
        match self {
            Masked::Plain(..) => 0,
            Masked::Quorum(..) => 1,
            Masked::Product(_) => 2,
        }
    }

    /// The key structure that this kind of batch is for.
    pub(crate) fn structure(&self) -> KeyStructure {
        match self {
            Masked::Plain(..) | Masked::Quorum(..) => KeyStructure::PerSubject,
            Masked::Product(_) => KeyStructure::PerTenant,
        }
    }

    fn shape(&self) -> Shape {
        match self {
            Masked::Plain(_, batch) | Masked::Quorum(_, batch) => batch.shape(),
            Masked::Product(product) => product.shape(),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        match self {
            Masked::Plain(stamp, batch) => [stamp.to_bytes(), batch.to_bytes()].concat(),
            Masked::Quorum(_, batch) => batch.to_bytes(),
            Masked::Product(product) => product.to_bytes(),
        }
    }

    fn bytes_of(code: u8, shape: Shape) -> Option<usize> {
        match code {
            0 => Some(Stamp::<1>::BYTES + FOLDED_BYTES + shape.count() * POLYNOMIAL_BYTES),
            1 => Some(FOLDED_BYTES + shape.count() * POLYNOMIAL_BYTES),
            2 => Some(FOLDED_BYTES + shape.count() * 2 * POLYNOMIAL_BYTES),
            _ => None,
        }
    }

    fn read(code: u8, shape: Shape, bytes: &[u8]) -> Result<Masked, JobError> {
        let scheme = Scheme::shared();
        Ok(match code {
            0 => {
                let length = JobError::Length(bytes.len());
                let (stamp, batch) = bytes.split_at_checked(Stamp::<1>::BYTES).ok_or(length)?;
                Masked::Plain(Stamp::read(stamp)?, MaskedBatch::from_bytes(scheme, shape, batch)?)
            }
            1 => Masked::Quorum(None, MaskedBatch::from_bytes(scheme, shape, bytes)?),
            2 => Masked::Product(MaskedProduct::from_bytes(scheme, shape, bytes)?),
            _ => return Err(JobError::Format),
        })
    }
}

impl MatchJob {
    /// Length of the longest encoding: all 32 lanes occupied, shared probes, the widest vectors.
    pub const BYTES_MAX: usize =
        HEADER_BYTES + LANES * SUBJECT_BYTES + FOLDED_BYTES + CIPHERTEXTS_MAX * 2 * POLYNOMIAL_BYTES;

    /// The canonical encoding, which [`MatchJob::from_bytes`] reads: magic, tenant, batch id, epoch (little-endian), kind,
    /// occupied lanes (32 bits, little-endian), handle, generation and leaf of each in order, model, threshold, masked batch.
    pub fn to_bytes(&self) -> Vec<u8> {
        let MatchJob { tenant, batch_id, epoch, subjects, model, threshold, leaves, masked } = self;
        let mut bytes = Vec::with_capacity(MatchJob::BYTES_MAX);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(tenant.as_bytes());
        bytes.extend_from_slice(batch_id.as_bytes());
        bytes.extend_from_slice(&epoch.to_le_bytes());
        bytes.push(masked.code());
        bytes.extend_from_slice(&self.occupied().bits().to_le_bytes());
        for (subject, leaf) in subjects.iter().zip(leaves) {
            let Some((handle, generation)) = subject else { continue };
            bytes.extend_from_slice(handle.as_bytes());
            bytes.extend_from_slice(&generation.to_le_bytes());
            bytes.extend_from_slice(leaf);
        }
        bytes.extend_from_slice(model.as_bytes());
        bytes.extend_from_slice(&threshold.to_le_bytes());
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
        let epoch = u32::from_le_bytes(take(&mut rest).ok_or(length)?);
        let [kind] = take(&mut rest).ok_or(length)?;
        let occupied = LaneSet::from_bits(u32::from_le_bytes(take(&mut rest).ok_or(length)?));
        let (mut subjects, mut leaves) = ([None; LANES], [[0; 32]; LANES]);
        for lane in occupied.iter() {
            let handle = take(&mut rest).ok_or(length)?;
            let generation = u32::from_le_bytes(take(&mut rest).ok_or(length)?);
            subjects[lane.index()] = Some((Handle::new(handle), generation));
            leaves[lane.index()] = take(&mut rest).ok_or(length)?;
        }
        let model = Model::from_bytes(take(&mut rest).ok_or(length)?).ok_or(JobError::Format)?;
        let threshold = i32::from_le_bytes(take(&mut rest).ok_or(length)?);
        let shape = Shape::of(model.width(), occupied.bits());
        if rest.len() != Masked::bytes_of(kind, shape).ok_or(JobError::Format)? {
            return Err(length);
        }
        let masked = Masked::read(kind, shape, rest)?;
        let job = MatchJob {
            tenant: TenantId::new(tenant),
            batch_id: BatchId::new(batch_id),
            epoch,
            subjects,
            model,
            threshold,
            leaves,
            masked,
        };
        job.check_subjects()?;
        Ok(job)
    }

    /// The lanes that have a subject.
    pub fn occupied(&self) -> LaneSet {
        let mut occupied = LaneSet::EMPTY;
        for lane in Lane::all().filter(|lane| self.subjects[lane.index()].is_some()) {
            occupied.insert(lane);
        }
        occupied
    }

    /// Refuses a job without a subject, one in which a template occupies two lanes, and one whose ciphertexts are not those of its lanes: a lane
    /// without a ciphertext has score zero, which a threshold of zero accepts.
    pub(crate) fn check_subjects(&self) -> Result<(), JobError> {
        // The first bytes tell almost all handles apart; only where two agree are the whole names sorted.
        let (mut prefixes, mut count) = ([0u64; LANES], 0);
        for ((handle, _), prefix) in self.subjects.iter().flatten().zip(&mut prefixes) {
            *prefix = handle.as_bytes().first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
            count += 1;
        }
        let prefixes = &mut prefixes[..count];
        prefixes.sort_unstable();
        let distinct = prefixes.windows(2).all(|pair| pair[0] != pair[1]) || self.names_are_distinct();
        let fits = self.masked.shape() == Shape::of(self.model.width(), self.occupied().bits());
        if count > 0 && distinct && fits { Ok(()) } else { Err(JobError::Subjects) }
    }

    fn names_are_distinct(&self) -> bool {
        let mut present: Vec<&(Handle, u32)> = self.subjects.iter().flatten().collect();
        present.sort_unstable();
        present.windows(2).all(|pair| pair[0] != pair[1])
    }
}

/// Splits `N` bytes off the front, if there are as many.
pub(crate) fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (front, back) = rest.split_first_chunk()?;
    *rest = back;
    Some(*front)
}

impl fmt::Debug for MatchJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchJob").field("occupied", &self.occupied()).finish_non_exhaustive()
    }
}
