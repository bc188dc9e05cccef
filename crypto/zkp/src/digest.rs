//! Eight canonical KoalaBear limbs: the form of every hash value that enters the circuit.

use std::fmt;

use p3_field::{PrimeCharacteristicRing, PrimeField32};
use p3_koala_bear::KoalaBear;
use sha3::{
    Shake256,
    digest::{ExtendableOutput, Update, XofReader},
};

/// Base field of the circuit, p = 2^31 - 2^24 + 1.
pub(crate) type Field = KoalaBear;

/// Limbs of a digest: 8 x 31 bits, 124 bits of collision resistance.
pub(crate) const LIMBS: usize = 8;

/// 32 bytes that hold eight little-endian `u32`, each below p = 2^31 - 2^24 + 1.
///
/// The invariant makes the encoding unique: two digests are equal exactly when their bytes are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// A limb at or above the field's modulus: the bytes are not a digest. Treat the sender's input as malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a digest: a limb is not below the KoalaBear modulus 2^31 - 2^24 + 1")]
pub struct NonCanonical;

impl Digest {
    /// All limbs zero: the value of an empty leaf. No preimage of it is known for any of the hash domains.
    pub const ZERO: Digest = Digest([0; 32]);

    /// Accepts 32 bytes whose eight little-endian limbs are all below the modulus.
    ///
    /// # Errors
    /// [`NonCanonical`] when a limb is not below the modulus.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Digest, NonCanonical> {
        let canonical = words(bytes).iter().all(|&word| word < Field::ORDER_U32);
        if canonical { Ok(Digest(*bytes)) } else { Err(NonCanonical) }
    }

    /// Hashes a domain-separated input to eight limbs, each uniform below p, by rejection on SHAKE256
    /// (FIPS 202). A plain reduction of 32 bits would favour the small residues.
    pub(crate) fn hash_to_field(domain: &str, input: &[u8; 32]) -> Digest {
        let mut shake = Shake256::default();
        shake.update(domain.as_bytes());
        shake.update(input);
        let mut reader = shake.finalize_xof();
        let mut next_limb = || loop {
            let mut word = [0; 4];
            reader.read(&mut word);
            let candidate = u32::from_le_bytes(word) & 0x7fff_ffff;
            if candidate < Field::ORDER_U32 {
                return Field::from_u32(candidate);
            }
        };
        Digest::from_limbs(&std::array::from_fn(|_| next_limb()))
    }

    /// The 32 canonical bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 32 canonical bytes.
    pub fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    pub(crate) fn from_limbs(limbs: &[Field; LIMBS]) -> Digest {
        let mut bytes = [0; 32];
        for (chunk, limb) in bytes.chunks_exact_mut(4).zip(limbs) {
            chunk.copy_from_slice(&limb.as_canonical_u32().to_le_bytes());
        }
        Digest(bytes)
    }

    pub(crate) fn limbs(&self) -> [Field; LIMBS] {
        words(&self.0).map(Field::from_u32)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

/// The eight little-endian words of 32 bytes.
pub(crate) fn words(bytes: &[u8; 32]) -> [u32; LIMBS] {
    std::array::from_fn(|i| u32::from_le_bytes(std::array::from_fn(|k| bytes[4 * i + k])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limb_at_or_above_the_modulus_is_refused_in_every_position() {
        for position in 0..LIMBS {
            for word in [Field::ORDER_U32, Field::ORDER_U32 + 1, u32::MAX] {
                let mut bytes = [0; 32];
                bytes[4 * position..4 * position + 4].copy_from_slice(&word.to_le_bytes());
                assert_eq!(Digest::from_bytes(&bytes), Err(NonCanonical));
            }
        }
    }
}
