//! The public part of a tenant's keys.

mod seat_key;

pub use seat_key::SeatKey;
pub(crate) use seat_key::Versions;

use crate::key_structure::{KeyStructure, POLYNOMIAL_BYTES};
use std::fmt;
use std::sync::Arc;
use trefoil_bfv::threshold::{PIECES, Seat};
use trefoil_bfv::{CiphertextError, Scheme, TagBasis};

/// The tenant's keys for a matcher, prepared for computation: 128 KiB with keys per subject, 256 KiB with a quorum, 192 KiB with
/// one key per tenant. Shared by clones. Every rotation of the keys gives a new one, with the next epoch.
#[derive(Clone)]
pub struct PublicKey {
    epoch: u32,
    seed: [u8; 32],
    material: Arc<Material>,
}

enum Material {
    /// The polynomial over which the subjects' templates are encrypted, and what batches are tagged with: for one key-holder, or for
    /// each seat of a quorum.
    Basis(trefoil_bfv::Basis, Vec<Tags>),
    /// The encryption of zero that masks products.
    Zero(trefoil_bfv::Zero),
}

/// The tag basis of batches for one key-holder. A version is valid until that key-holder has seen a malformed job.
#[derive(Clone)]
pub(crate) struct Tags {
    pub(crate) version: u32,
    pub(crate) basis: Arc<TagBasis>,
}

/// Why bytes are not a public key, or keys are inconsistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublicKeyError {
    /// The length is not that of the kind.
    #[error("a public key of this kind does not have {0} bytes")]
    Length(usize),
    /// The first byte names no kind of public key.
    #[error("{0} names no kind of public key")]
    Kind(u8),
    /// A polynomial is not canonical.
    #[error(transparent)]
    Ciphertext(#[from] CiphertextError),
    /// Three key-holders answered with keys of different tenants or epochs.
    #[error("the three key-holders have different keys for the tenant")]
    Quorum,
    /// Two key-holders give different tag bases for one of them, so one of the two lies.
    #[error("key-holders {} and {} contradict each other about a tag basis", .0.index() + 1, .1.index() + 1)]
    Contradiction(Seat, Seat),
    /// The tag keys have versions other than the requested ones: request these.
    #[error("the key-holders have tag keys of versions {0:?}")]
    Versions([u32; PIECES]),
}

/// Kind and epoch.
const HEADER_BYTES: usize = 1 + 4;
const TAGS_BYTES: usize = 4 + POLYNOMIAL_BYTES;
/// The kind of a public key for a quorum; the others are those of [`KeyStructure::code`].
const QUORUM: u8 = 2;

impl PublicKey {
    /// Length of the longest encoding: that for a quorum.
    pub const BYTES_MAX: usize = HEADER_BYTES + 32 + PIECES * TAGS_BYTES;

    pub(crate) fn of_basis(epoch: u32, seed: [u8; 32], version: u32, tags: TagBasis) -> PublicKey {
        let basis = trefoil_bfv::Basis::from_seed(Scheme::shared(), seed);
        let tags = vec![Tags { version, basis: Arc::new(tags) }];
        PublicKey { epoch, seed, material: Arc::new(Material::Basis(basis, tags)) }
    }

    pub(crate) fn of_zero(epoch: u32, seed: [u8; 32], zero: trefoil_bfv::Zero) -> PublicKey {
        PublicKey { epoch, seed, material: Arc::new(Material::Zero(zero)) }
    }

    /// The public key for a quorum, from what its seats answered in order when they were asked for the tag bases of these versions.
    /// Each basis is the sum of two, and two key-holders must have given the same bytes for each of these. So none alone can pass
    /// off a basis that would reveal the probes to it.
    ///
    /// # Errors
    /// [`PublicKeyError`] unless they are of one tenant and epoch, of these versions, and agree.
    pub fn of_quorum(
        seats: &[SeatKey; PIECES],
        versions: [u32; PIECES],
    ) -> Result<PublicKey, PublicKeyError> {
        let [first, ..] = seats;
        let (epoch, seed) = (first.epoch, first.seed);
        if seats.iter().any(|key| (key.epoch, key.seed) != (epoch, seed)) {
            return Err(PublicKeyError::Quorum);
        }
        let now = seats.each_ref().map(|key| key.version);
        if now != versions {
            return Err(PublicKeyError::Versions(now));
        }
        let mut tags = Vec::with_capacity(PIECES);
        for (seat, version) in Seat::ALL.into_iter().zip(versions) {
            let [one, other] = seat.pieces().map(|piece| {
                let [holder, second] = piece.holders();
                let [part, its] = [holder, second].map(|by| seats[by.index()].summand(by, piece, seat));
                if part == its { Ok(part) } else { Err(PublicKeyError::Contradiction(holder, second)) }
            });
            tags.push(Tags { version, basis: Arc::new(one?.plus(other?)) });
        }
        let basis = trefoil_bfv::Basis::from_seed(Scheme::shared(), seed);
        Ok(PublicKey { epoch, seed, material: Arc::new(Material::Basis(basis, tags)) })
    }

    /// The key structure.
    pub fn structure(&self) -> KeyStructure {
        match &*self.material {
            Material::Basis(..) => KeyStructure::PerSubject,
            Material::Zero(_) => KeyStructure::PerTenant,
        }
    }

    /// Counts the rotations of the tenant's keys. Only templates of one epoch are in a batch.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The version of the tag key of each key-holder, in the order of their seats; empty if batches carry no tags.
    pub fn tag_versions(&self) -> Vec<u32> {
        match &*self.material {
            Material::Basis(_, tags) => tags.iter().map(|tags| tags.version).collect(),
            Material::Zero(_) => Vec::new(),
        }
    }

    /// The canonical encoding: kind, epoch (little-endian), then the seed of the basis and, for each key-holder, the version of its
    /// tag key (little-endian) and its tag basis; or the encryption of zero, which begins with a seed too.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PublicKey::BYTES_MAX);
        match &*self.material {
            Material::Basis(_, tags) => {
                let kind = if tags.len() == PIECES { QUORUM } else { KeyStructure::PerSubject.code() };
                bytes.push(kind);
                bytes.extend(self.epoch.to_le_bytes());
                bytes.extend(self.seed);
                for Tags { version, basis } in tags {
                    bytes.extend(version.to_le_bytes());
                    bytes.extend(basis.to_bytes());
                }
            }
            Material::Zero(zero) => {
                bytes.push(KeyStructure::PerTenant.code());
                bytes.extend(self.epoch.to_le_bytes());
                bytes.extend(zero.to_bytes());
            }
        }
        bytes
    }

    /// The epoch of a canonical encoding, without the rest; `None` if it is too short.
    pub fn epoch_of(bytes: &[u8]) -> Option<u32> {
        let [_, epoch @ ..] = bytes.first_chunk::<HEADER_BYTES>()?;
        Some(u32::from_le_bytes(*epoch))
    }

    /// Reads the canonical encoding and nothing else. Takes about a millisecond: keep the result.
    ///
    /// # Errors
    /// [`PublicKeyError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<PublicKey, PublicKeyError> {
        let length = PublicKeyError::Length(bytes.len());
        let (header, rest) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or(length)?;
        let [kind, epoch @ ..] = *header;
        let epoch = u32::from_le_bytes(epoch);
        let (seed, body) = rest.split_first_chunk::<32>().ok_or(length)?;
        let scheme = Scheme::shared();
        let holders = match kind {
            QUORUM => PIECES,
            kind => match KeyStructure::from_code(kind).ok_or(PublicKeyError::Kind(kind))? {
                KeyStructure::PerSubject => 1,
                KeyStructure::PerTenant if body.len() == POLYNOMIAL_BYTES => {
                    let zero = trefoil_bfv::Zero::from_bytes(scheme, rest)?;
                    return Ok(PublicKey::of_zero(epoch, *seed, zero));
                }
                KeyStructure::PerTenant => return Err(length),
            },
        };
        if body.len() != holders * TAGS_BYTES {
            return Err(length);
        }
        let mut tags = Vec::with_capacity(holders);
        for part in body.chunks_exact(TAGS_BYTES) {
            let (version, basis) = part.split_first_chunk().ok_or(length)?;
            let basis = Arc::new(TagBasis::from_bytes(scheme, basis)?);
            tags.push(Tags { version: u32::from_le_bytes(*version), basis });
        }
        let basis = trefoil_bfv::Basis::from_seed(scheme, *seed);
        Ok(PublicKey { epoch, seed: *seed, material: Arc::new(Material::Basis(basis, tags)) })
    }

    /// The basis, and the tag basis of batches over it, if there is one key-holder.
    pub(crate) fn alone(&self) -> Option<(&trefoil_bfv::Basis, &Tags)> {
        match &*self.material {
            Material::Basis(basis, tags) if tags.len() == 1 => Some((basis, &tags[0])),
            _ => None,
        }
    }

    /// The basis, and the tag bases of batches over it for each seat of a quorum.
    pub(crate) fn quorum(&self) -> Option<(&trefoil_bfv::Basis, &[Tags; PIECES])> {
        match &*self.material {
            Material::Basis(basis, tags) => Some((basis, tags.as_slice().try_into().ok()?)),
            Material::Zero(_) => None,
        }
    }

    pub(crate) fn zero(&self) -> Option<&trefoil_bfv::Zero> {
        match &*self.material {
            Material::Basis(..) => None,
            Material::Zero(zero) => Some(zero),
        }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKey")
            .field("structure", &self.structure())
            .field("epoch", &self.epoch)
            .field("tag_versions", &self.tag_versions())
            .finish_non_exhaustive()
    }
}
