//! How a tenant's templates are encrypted, and what of it is public.

use crate::template::POLYNOMIAL_BYTES;
use std::fmt;
use std::sync::Arc;
use trefoil_bfv::{CiphertextError, Scheme, TagBasis};

/// How a tenant's templates are encrypted. Chosen when the tenant is made, for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyStructure {
    /// Every template has a key of its own: 48 KiB each, erasable one by one.
    PerSubject,
    /// One key for all: 96 KiB each. Products of ciphertexts are possible, which shared probes need; a leaked key opens all of
    /// the tenant's templates.
    PerTenant,
}

impl KeyStructure {
    /// The byte that stands for it in encodings.
    pub fn code(self) -> u8 {
        match self {
            KeyStructure::PerSubject => 0,
            KeyStructure::PerTenant => 1,
        }
    }

    /// The structure that a byte stands for.
    pub fn from_code(code: u8) -> Option<KeyStructure> {
        [KeyStructure::PerSubject, KeyStructure::PerTenant].into_iter().find(|keys| keys.code() == code)
    }

    /// Polynomials of a template.
    pub(crate) fn polynomials(self) -> usize {
        match self {
            KeyStructure::PerSubject => 1,
            KeyStructure::PerTenant => 2,
        }
    }
}

/// What a matcher needs of a tenant's keys, prepared for computation: 128 KiB with keys per subject, 192 KiB with one per tenant.
/// Shared by clones. Every rotation of the keys gives another, with the next epoch.
#[derive(Clone)]
pub struct PublicKey {
    epoch: u32,
    seed: [u8; 32],
    material: Arc<Material>,
}

enum Material {
    /// The polynomial over which the subjects' templates are encrypted, and what batches are tagged with.
    Basis(trefoil_bfv::Basis, TagBasis),
    /// The encryption of zero that masks products.
    Zero(trefoil_bfv::Zero),
}

/// Why bytes are not a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublicKeyError {
    /// The length is not that of the structure.
    #[error("a public key of this structure does not have {0} bytes")]
    Length(usize),
    /// The first byte names no key structure.
    #[error("{0} names no key structure")]
    Structure(u8),
    /// The encryption of zero is not canonical.
    #[error(transparent)]
    Ciphertext(#[from] CiphertextError),
}

/// Structure and epoch.
const HEADER_BYTES: usize = 1 + 4;

impl PublicKey {
    /// Length of the encoding, with either structure.
    pub const BYTES: usize = HEADER_BYTES + 32 + POLYNOMIAL_BYTES;

    pub(crate) fn of_basis(epoch: u32, seed: [u8; 32], tags: TagBasis) -> PublicKey {
        let basis = trefoil_bfv::Basis::from_seed(Scheme::shared(), seed);
        PublicKey { epoch, seed, material: Arc::new(Material::Basis(basis, tags)) }
    }

    pub(crate) fn of_zero(epoch: u32, seed: [u8; 32], zero: trefoil_bfv::Zero) -> PublicKey {
        PublicKey { epoch, seed, material: Arc::new(Material::Zero(zero)) }
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

    /// The canonical encoding: structure, epoch (little-endian), then the seed of the basis and the tag basis, or the encryption of
    /// zero, which begins with a seed too.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.structure().code()];
        bytes.extend(self.epoch.to_le_bytes());
        match &*self.material {
            Material::Basis(_, tags) => {
                bytes.extend(self.seed);
                bytes.extend(tags.to_bytes());
            }
            Material::Zero(zero) => bytes.extend(zero.to_bytes()),
        }
        bytes
    }

    /// Reads the canonical encoding and nothing else. Takes about a millisecond: keep the result.
    ///
    /// # Errors
    /// [`PublicKeyError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<PublicKey, PublicKeyError> {
        let length = PublicKeyError::Length(bytes.len());
        let (header, rest) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or(length)?;
        let [code, epoch @ ..] = *header;
        let epoch = u32::from_le_bytes(epoch);
        let structure = KeyStructure::from_code(code).ok_or(PublicKeyError::Structure(code))?;
        let (seed, polynomial) = rest.split_first_chunk().ok_or(length)?;
        if polynomial.len() != POLYNOMIAL_BYTES {
            return Err(length);
        }
        Ok(match structure {
            KeyStructure::PerSubject => {
                PublicKey::of_basis(epoch, *seed, TagBasis::from_bytes(Scheme::shared(), polynomial)?)
            }
            KeyStructure::PerTenant => {
                PublicKey::of_zero(epoch, *seed, trefoil_bfv::Zero::from_bytes(Scheme::shared(), rest)?)
            }
        })
    }

    /// The basis, and what batches over it are tagged with.
    pub(crate) fn basis(&self) -> Option<(&trefoil_bfv::Basis, &TagBasis)> {
        match &*self.material {
            Material::Basis(basis, tags) => Some((basis, tags)),
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
            .finish_non_exhaustive()
    }
}
