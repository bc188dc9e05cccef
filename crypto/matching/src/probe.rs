//! Shared probes: a share at the matcher, a share sealed to the key-holder.

use crate::job::{CIPHERTEXTS_MAX, take};
use crate::key_structure::POLYNOMIAL_BYTES;
use crate::{BatchId, Handle, Lane, LaneSet, Model, TenantId};
use std::fmt;
use trefoil_bfv::{CiphertextError, LANES, PairCiphertext, Scheme, Shape, Share, Width};
use trefoil_split::{Context, SealedShare};
use trefoil_types::SessionId;

/// First bytes of an encoded job: format and version.
const MAGIC: [u8; 4] = *b"TFS3";
/// Bytes before the subjects: magic, tenant, batch id, epoch, model, occupied lanes.
const HEADER_BYTES: usize = 4 + 16 + 16 + 4 + Model::BYTES + 4;
/// Bytes per subject without its nonce and sealed share: handle, generation, session, second, length of the nonce.
const SUBJECT_BYTES: usize = 32 + 4 + 32 + 8 + 1;
/// Bytes of a nonce.
pub const NONCE_BYTES_MAX: usize = 64;

/// A probe that neither role sees.
#[derive(Clone, Debug)]
pub struct SharedProbe {
    /// The matcher's share.
    pub share: Share,
    /// The key-holder's.
    pub sealed: SealedShare,
    /// The context of the seal besides tenant and subject.
    pub sealed_for: SealedFor,
}

/// The request that a device sealed a probe for. With tenant and subject, which the key-holder takes from the batch, it makes the
/// [`Context`] under which the share opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedFor {
    /// The proof session.
    pub session: SessionId,
    /// The nonce of the request, at most [`NONCE_BYTES_MAX`] bytes.
    pub nonce: Vec<u8>,
    /// Unix second of the request, by the device's clock.
    pub issued_at: u64,
}

impl SealedFor {
    /// The context of a probe of `handle` in this request.
    pub fn context(&self, tenant: &TenantId, handle: &Handle) -> Context {
        Context::probe(tenant, handle, &self.session, &self.nonce, self.issued_at)
    }
}

/// The sealed shares of a batch of probes, for the key-holder to encrypt.
#[derive(Clone)]
pub struct ProbeJob {
    /// The tenant of every subject in the batch.
    pub tenant: TenantId,
    /// The name of the batch.
    pub batch_id: BatchId,
    /// The epoch of the tenant's keys that the batch is under.
    pub epoch: u32,
    /// The model of every template and probe in the batch.
    pub model: Model,
    /// The probe in each lane.
    pub probes: [Option<SealedProbe>; LANES],
}

/// One probe of a [`ProbeJob`].
#[derive(Clone)]
pub struct SealedProbe {
    /// The subject.
    pub handle: Handle,
    /// Which of its templates.
    pub generation: u32,
    /// The key-holder's share.
    pub sealed: SealedShare,
    /// The context of the seal besides tenant and subject.
    pub sealed_for: SealedFor,
}

/// The key-holder's shares of a batch of probes, encrypted under the tenant's key: 96 KiB for each of the batch's 1 to 4 ciphertexts.
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptedProbes {
    /// The lanes that have a probe.
    pub(crate) occupied: LaneSet,
    pub(crate) ciphertexts: Vec<PairCiphertext>,
}

/// Why bytes are not a probe job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeJobError {
    /// The bytes end early or go on too long.
    #[error("the job has {0} bytes, which is not the length its lanes call for")]
    Length(usize),
    /// The first bytes do not name this format and version.
    #[error("these bytes are not a probe job of version 3")]
    Format,
    /// No lane is occupied.
    #[error("the job has no probe")]
    Empty,
}

impl ProbeJob {
    /// Length of the longest encoding: all 32 lanes occupied by the widest vectors.
    pub const BYTES_MAX: usize =
        HEADER_BYTES + LANES * (SUBJECT_BYTES + NONCE_BYTES_MAX + SealedShare::bytes(Width::W512));

    /// The canonical encoding, which [`ProbeJob::from_bytes`] reads: magic, tenant, batch id, epoch, model and occupied lanes
    /// (little-endian), then handle, generation, session, second, length of the nonce, nonce and sealed share of each in order.
    pub fn to_bytes(&self) -> Vec<u8> {
        let ProbeJob { tenant, batch_id, epoch, model, probes } = self;
        let mut bytes = Vec::with_capacity(ProbeJob::BYTES_MAX);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(tenant.as_bytes());
        bytes.extend_from_slice(batch_id.as_bytes());
        bytes.extend_from_slice(&epoch.to_le_bytes());
        bytes.extend_from_slice(model.as_bytes());
        bytes.extend_from_slice(&self.occupied().bits().to_le_bytes());
        for SealedProbe { handle, generation, sealed, sealed_for } in probes.iter().flatten() {
            let SealedFor { session, nonce, issued_at } = sealed_for;
            bytes.extend_from_slice(handle.as_bytes());
            bytes.extend_from_slice(&generation.to_le_bytes());
            bytes.extend_from_slice(session.as_bytes());
            bytes.extend_from_slice(&issued_at.to_le_bytes());
            // A longer nonce was refused before; truncated, its share would not open.
            let nonce = &nonce[..nonce.len().min(NONCE_BYTES_MAX)];
            bytes.push(nonce.len() as u8);
            bytes.extend_from_slice(nonce);
            bytes.extend_from_slice(sealed.as_bytes());
        }
        bytes
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`ProbeJobError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<ProbeJob, ProbeJobError> {
        let length = ProbeJobError::Length(bytes.len());
        let mut rest = bytes;
        if take(&mut rest).ok_or(length)? != MAGIC {
            return Err(ProbeJobError::Format);
        }
        let tenant = take(&mut rest).ok_or(length)?;
        let batch_id = take(&mut rest).ok_or(length)?;
        let epoch = u32::from_le_bytes(take(&mut rest).ok_or(length)?);
        let model = Model::from_bytes(take(&mut rest).ok_or(length)?).ok_or(ProbeJobError::Format)?;
        let occupied = LaneSet::from_bits(u32::from_le_bytes(take(&mut rest).ok_or(length)?));
        if occupied.is_empty() {
            return Err(ProbeJobError::Empty);
        }
        let mut probes = [const { None }; LANES];
        for lane in occupied.iter() {
            let handle = take(&mut rest).ok_or(length)?;
            let generation = u32::from_le_bytes(take(&mut rest).ok_or(length)?);
            let session = take(&mut rest).ok_or(length)?;
            let issued_at = u64::from_le_bytes(take(&mut rest).ok_or(length)?);
            let [nonce_bytes] = take(&mut rest).ok_or(length)?;
            let (nonce, after) = rest.split_at_checked(nonce_bytes.into()).ok_or(length)?;
            if nonce.len() > NONCE_BYTES_MAX {
                return Err(length);
            }
            rest = after;
            let (sealed, after) = rest.split_at_checked(SealedShare::bytes(model.width())).ok_or(length)?;
            let sealed = SealedShare::from_bytes(model.width(), sealed).ok_or(length)?;
            rest = after;
            let sealed_for = SealedFor { session: SessionId::new(session), nonce: nonce.to_vec(), issued_at };
            probes[lane.index()] =
                Some(SealedProbe { handle: Handle::new(handle), generation, sealed, sealed_for });
        }
        if !rest.is_empty() {
            return Err(length);
        }
        Ok(ProbeJob { tenant: TenantId::new(tenant), batch_id: BatchId::new(batch_id), epoch, model, probes })
    }

    /// The lanes that have a probe.
    pub fn occupied(&self) -> LaneSet {
        let mut occupied = LaneSet::EMPTY;
        for lane in Lane::all().filter(|lane| self.probes[lane.index()].is_some()) {
            occupied.insert(lane);
        }
        occupied
    }

    /// The probes and their lanes.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (Lane, &SealedProbe)> {
        Lane::all().filter_map(|lane| Some((lane, self.probes[lane.index()].as_ref()?)))
    }

    /// Handle and generation of the subject in each lane.
    pub fn subjects(&self) -> [Option<(Handle, u32)>; LANES] {
        self.probes.each_ref().map(|probe| probe.as_ref().map(|probe| (probe.handle, probe.generation)))
    }
}

impl SharedProbe {
    /// The width of its vector; none if its two shares are of two widths.
    pub fn width(&self) -> Option<Width> {
        let width = self.share.width();
        (self.sealed.as_bytes().len() == SealedShare::bytes(width)).then_some(width)
    }
}

impl EncryptedProbes {
    /// Length of the longest encoding.
    pub const BYTES_MAX: usize = 4 + CIPHERTEXTS_MAX * 2 * POLYNOMIAL_BYTES;

    /// Whether they were made for a batch of these lanes.
    pub(crate) fn is_of(&self, model: Model, occupied: LaneSet) -> bool {
        let shape = Shape::of(model.width(), occupied.bits());
        (self.occupied, self.ciphertexts.len()) == (occupied, shape.count())
    }

    /// Those of a batch that may have fewer lanes than they were made for; none if it has others.
    pub(crate) fn of(&self, model: Model, occupied: LaneSet) -> Option<Vec<PairCiphertext>> {
        let [made, left] = [self.occupied, occupied].map(|of| Shape::of(model.width(), of.bits()));
        let fit = self.is_of(model, self.occupied) && occupied.is_within(self.occupied);
        let all = made.ciphertexts().zip(&self.ciphertexts);
        let still = all.filter(|(lanes, _)| left.ciphertexts().any(|there| there == *lanes));
        fit.then(|| still.map(|(_, ciphertext)| ciphertext.clone()).collect())
    }

    /// The canonical encoding: the lanes (little-endian), and the ciphertexts in order.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 + self.ciphertexts.len() * 2 * POLYNOMIAL_BYTES);
        bytes.extend_from_slice(&self.occupied.bits().to_le_bytes());
        self.ciphertexts.iter().for_each(|ciphertext| bytes.extend_from_slice(ciphertext.as_bytes()));
        bytes
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`CiphertextError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<EncryptedProbes, CiphertextError> {
        let length = CiphertextError::Length { found: bytes.len(), expected: EncryptedProbes::BYTES_MAX };
        let (occupied, rest) = bytes.split_first_chunk().ok_or(length)?;
        if rest.is_empty() || bytes.len() > EncryptedProbes::BYTES_MAX {
            return Err(length);
        }
        let occupied = LaneSet::from_bits(u32::from_le_bytes(*occupied));
        let read = rest.chunks(2 * POLYNOMIAL_BYTES);
        let read = read.map(|bytes| PairCiphertext::from_bytes(Scheme::shared(), bytes));
        Ok(EncryptedProbes { occupied, ciphertexts: read.collect::<Result<_, _>>()? })
    }
}

impl fmt::Debug for ProbeJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProbeJob").field("occupied", &self.occupied()).finish_non_exhaustive()
    }
}

trefoil_types::opaque_debug!(EncryptedProbes);
