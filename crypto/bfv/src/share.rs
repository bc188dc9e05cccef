//! Vectors of 128 residues modulo t: an embedding, or one of two additive shares of it.

use crate::{DIM, Embedding, T};
use rand::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bits per residue in the encoding: t - 1 = 2^16 needs 17.
const RESIDUE_BITS: usize = 17;

/// 128 residues modulo 65537. Wiped on drop; `Debug` prints no values.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Share {
    residues: [u32; DIM],
}

/// Why bytes are not a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// The length is not [`Share::BYTES`].
    #[error("a share has exactly {expected} bytes, not {0}", expected = Share::BYTES)]
    Length(usize),
    /// A residue is 65537 or more.
    #[error("residue {0} is not below {T}")]
    NotReduced(usize),
}

impl Share {
    /// Length of the encoding: 128 residues of 17 bits.
    pub const BYTES: usize = DIM * RESIDUE_BITS / 8;

    /// The embedding itself, as residues.
    pub fn of(embedding: &Embedding) -> Share {
        let mut share = Share { residues: [0; DIM] };
        for (residue, &value) in share.residues.iter_mut().zip(embedding.values()) {
            // |value| <= 175: one conditional addition reduces it.
            let value = i32::from(value);
            *residue = (value + (T as i32 & (value >> 31))) as u32;
        }
        share
    }

    /// Zeros.
    pub(crate) fn zero() -> Share {
        Share { residues: [0; DIM] }
    }

    /// Uniform residues.
    pub fn random(rng: &mut impl CryptoRng) -> Share {
        let mut share = Share { residues: [0; DIM] };
        share.residues.fill_with(|| uniform_residue(rng));
        share
    }

    /// `factor * self`, residue by residue, for a factor below t.
    pub(crate) fn times(&self, factor: u32) -> Share {
        let product = |residue: u32| (u64::from(residue) * u64::from(factor) % T) as u32;
        Share { residues: self.residues.map(product) }
    }

    /// Two shares that add up to this one, each uniform by itself: a random one, and the rest.
    pub fn split(&self, rng: &mut impl CryptoRng) -> (Share, Share) {
        let first = Share::random(rng);
        let mut rest = self.clone();
        for (a, b) in rest.residues.iter_mut().zip(&first.residues) {
            *a = (*a + T as u32 - b) % T as u32;
        }
        (first, rest)
    }

    /// `self + other`, residue by residue.
    pub fn plus(&self, other: &Share) -> Share {
        let mut sum = self.clone();
        for (a, b) in sum.residues.iter_mut().zip(&other.residues) {
            *a = (*a + b) % T as u32;
        }
        sum
    }

    /// The share with these residues, all below t.
    pub(crate) fn from_residues(residues: [u32; DIM]) -> Share {
        Share { residues }
    }

    /// The residues centred around zero: within -32768..=32768.
    pub(crate) fn centred(&self) -> [i32; DIM] {
        self.residues.map(centre)
    }

    /// The canonical encoding: residue `i` takes bits `17 i .. 17 i + 17` of a little-endian bit string.
    pub fn to_bytes(&self) -> [u8; Share::BYTES] {
        let mut bytes = [0; Share::BYTES];
        for (i, residue) in self.residues.iter().enumerate() {
            let at = i * RESIDUE_BITS;
            for (k, byte) in (u64::from(*residue) << (at % 8)).to_le_bytes()[..4].iter().enumerate() {
                // A residue spans at most four bytes; beyond the end of the string the bits are zero.
                if let Some(place) = bytes.get_mut(at / 8 + k) {
                    *place |= byte;
                }
            }
        }
        bytes
    }

    /// Reads the canonical encoding and nothing else.
    ///
    /// # Errors
    /// [`ShareError`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Share, ShareError> {
        if bytes.len() != Share::BYTES {
            return Err(ShareError::Length(bytes.len()));
        }
        let mut share = Share { residues: [0; DIM] };
        for (i, residue) in share.residues.iter_mut().enumerate() {
            let at = i * RESIDUE_BITS;
            let word =
                (0..4).map(|k| u64::from(*bytes.get(at / 8 + k).unwrap_or(&0)) << (8 * k)).sum::<u64>();
            *residue = (word >> (at % 8)) as u32 & ((1 << RESIDUE_BITS) - 1);
            if u64::from(*residue) >= T {
                return Err(ShareError::NotReduced(i));
            }
        }
        Ok(share)
    }
}

/// A uniform residue modulo t.
pub(crate) fn uniform_residue(rng: &mut impl CryptoRng) -> u32 {
    // 2^32 - 1 = 65535 * 65537, so only the largest word is rejected.
    loop {
        let word = rng.next_u32();
        if word != u32::MAX {
            return word % T as u32;
        }
    }
}

/// The representative of a residue modulo t within -32768..=32768.
pub(crate) fn centre(x: u32) -> i32 {
    let x = x as i32;
    // All ones exactly when x > 32768.
    let above = (32_768 - x) >> 31;
    x - (T as i32 & above)
}

trefoil_types::opaque_debug!(Share);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Drbg;

    #[test]
    fn the_encoding_is_read_back_and_nothing_else_is() {
        let mut rng = Drbg::from_seed([4; 32]);
        for _ in 0..50 {
            let mut share = Share::random(&mut rng);
            share.residues[..2].copy_from_slice(&[65_536, 0]);
            share.residues[DIM - 1] = 65_536;
            let bytes = share.to_bytes();
            assert_eq!(Share::from_bytes(&bytes), Ok(share));
        }
        let bytes = Share::random(&mut rng).to_bytes();
        for n in 0..bytes.len() {
            assert_eq!(Share::from_bytes(&bytes[..n]), Err(ShareError::Length(n)));
        }
        assert_eq!(Share::from_bytes(&[0; Share::BYTES + 1]), Err(ShareError::Length(Share::BYTES + 1)));
        assert_eq!(Share::from_bytes(&[0xff; Share::BYTES]), Err(ShareError::NotReduced(0)));
    }

    #[test]
    fn shares_add_up_and_centre() {
        let mut rng = Drbg::from_seed([5; 32]);
        let (a, b) = (Share::random(&mut rng), Share::random(&mut rng));
        let sum = a.plus(&b);
        for i in 0..DIM {
            assert_eq!(sum.residues[i], (a.residues[i] + b.residues[i]) % 65_537);
            let centred = i64::from(a.centred()[i]);
            assert_eq!(centred.rem_euclid(65_537), i64::from(a.residues[i]));
            assert!(centred.abs() <= 32_768);
        }
        assert_eq!([0, 1, 32_768, 32_769, 65_536].map(centre), [0, 1, 32_768, -32_768, -1]);
    }

    #[test]
    fn random_shares_are_uniform_in_both_halves() {
        let mut rng = Drbg::from_seed([6; 32]);
        let mean =
            (0..500).flat_map(|_| Share::random(&mut rng).centred()).map(f64::from).sum::<f64>() / 64_000.0;
        // Five standard deviations of the mean of 64,000 uniform residues.
        assert!(mean.abs() < 5.0 * 18_918.9 / 64_000f64.sqrt(), "{mean}");
    }

    #[test]
    fn shares_are_wiped_and_not_printed() {
        let mut share = Share::random(&mut Drbg::from_seed([7; 32]));
        assert_eq!(format!("{share:?}"), "Share(..)");
        share.zeroize();
        assert_eq!(share.residues, [0; DIM]);
    }
}
