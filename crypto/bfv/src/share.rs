//! Vectors of 128, 256 or 512 residues modulo t: an embedding, or one of two additive shares of it.

use crate::{Embedding, T, Width};
use rand::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bits per residue in the encoding: t - 1 = 2^16 needs 17.
const RESIDUE_BITS: usize = 17;

/// 128, 256 or 512 residues modulo 65537, by width. Wiped on drop; `Debug` prints no values.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Share {
    residues: Box<[u32]>,
}

/// Why bytes are not a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// The length is not [`Share::bytes`] of a width.
    #[error("a share has {narrow}, {middle} or {wide} bytes, by the width of its vector, not {0}",
            narrow = Share::bytes(Width::W128), middle = Share::bytes(Width::W256), wide = Share::bytes(Width::W512))]
    Length(usize),
    /// A residue is 65537 or more.
    #[error("residue {0} is not below {T}")]
    NotReduced(usize),
}

impl Share {
    /// Length of the encoding: 17 bits for each residue. 272, 544 or 1,088 bytes.
    pub const fn bytes(width: Width) -> usize {
        width.numbers() * RESIDUE_BITS / 8
    }

    /// The width of the vector.
    ///
    /// # Panics
    /// Never: only shares of a width are made.
    pub fn width(&self) -> Width {
        Width::exactly(self.residues.len()).expect("a share of a width")
    }

    /// The embedding itself, as residues.
    pub fn of(embedding: &Embedding) -> Share {
        let mut share = Share::zero(embedding.width());
        for (residue, &value) in share.residues.iter_mut().zip(embedding.values()) {
            // |value| <= 175: one conditional addition reduces it.
            let value = i32::from(value);
            *residue = (value + (T as i32 & (value >> 31))) as u32;
        }
        share
    }

    /// Zeros.
    pub(crate) fn zero(width: Width) -> Share {
        Share { residues: vec![0; width.numbers()].into() }
    }

    /// Uniform residues.
    pub fn random(width: Width, rng: &mut impl CryptoRng) -> Share {
        let mut share = Share::zero(width);
        share.residues.fill_with(|| uniform_residue(rng));
        share
    }

    /// `factor * self`, residue by residue, for a factor below t.
    pub(crate) fn times(&self, factor: u32) -> Share {
        let product = |residue: &u32| (u64::from(*residue) * u64::from(factor) % T) as u32;
        Share { residues: self.residues.iter().map(product).collect() }
    }

    /// Two shares that add up to this one, each uniform by itself: a random one, and the rest.
    pub fn split(&self, rng: &mut impl CryptoRng) -> (Share, Share) {
        let first = Share::random(self.width(), rng);
        let mut rest = self.clone();
        for (a, b) in rest.residues.iter_mut().zip(&first.residues) {
            *a = (*a + T as u32 - b) % T as u32;
        }
        (first, rest)
    }

    /// `self + other`, residue by residue.
    ///
    /// # Panics
    /// If they are of two widths.
    pub fn plus(&self, other: &Share) -> Share {
        assert_eq!(self.width(), other.width(), "shares of one vector");
        let mut sum = self.clone();
        for (a, b) in sum.residues.iter_mut().zip(&other.residues) {
            *a = (*a + b) % T as u32;
        }
        sum
    }

    /// The share with these residues, all below t, as many as a width has.
    pub(crate) fn from_residues(residues: Box<[u32]>) -> Share {
        Share { residues }
    }

    /// The residues centred around zero: within -32768..=32768.
    pub(crate) fn centred(&self) -> impl Iterator<Item = i32> {
        self.residues.iter().map(|residue| centre(*residue))
    }

    /// The canonical encoding: residue `i` takes bits `17 i .. 17 i + 17` of a little-endian bit string.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; Share::bytes(self.width())];
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
        let width = Width::ALL.into_iter().find(|width| Share::bytes(*width) == bytes.len());
        let mut share = Share::zero(width.ok_or(ShareError::Length(bytes.len()))?);
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
        for width in Width::ALL.repeat(20) {
            let mut share = Share::random(width, &mut rng);
            share.residues[..2].copy_from_slice(&[65_536, 0]);
            *share.residues.last_mut().unwrap() = 65_536;
            let bytes = share.to_bytes();
            assert_eq!(bytes.len(), Share::bytes(width));
            assert_eq!(Share::from_bytes(&bytes), Ok(share));
        }
        let bytes = Share::random(Width::W512, &mut rng).to_bytes();
        for n in (0..bytes.len()).filter(|n| ![272, 544].contains(n)) {
            assert_eq!(Share::from_bytes(&bytes[..n]), Err(ShareError::Length(n)));
        }
        assert_eq!(Share::from_bytes(&[0; 1089]), Err(ShareError::Length(1089)));
        assert_eq!(Share::from_bytes(&[0xff; 272]), Err(ShareError::NotReduced(0)));
    }

    #[test]
    fn shares_add_up_and_centre() {
        let mut rng = Drbg::from_seed([5; 32]);
        let [a, b] = [(); 2].map(|()| Share::random(Width::W256, &mut rng));
        let sum = a.plus(&b);
        for (i, centred) in a.centred().map(i64::from).enumerate() {
            assert_eq!(sum.residues[i], (a.residues[i] + b.residues[i]) % 65_537);
            assert_eq!(centred.rem_euclid(65_537), i64::from(a.residues[i]));
            assert!(centred.abs() <= 32_768);
        }
        assert_eq!([0, 1, 32_768, 32_769, 65_536].map(centre), [0, 1, 32_768, -32_768, -1]);
    }

    #[test]
    fn random_shares_are_uniform_in_both_halves() {
        let mut rng = Drbg::from_seed([6; 32]);
        let sum = |share: Share| share.centred().map(f64::from).sum::<f64>();
        let mean = (0..500).map(|_| sum(Share::random(Width::W128, &mut rng))).sum::<f64>() / 64_000.0;
        // Five standard deviations of the mean of 64,000 uniform residues.
        assert!(mean.abs() < 5.0 * 18_918.9 / 64_000f64.sqrt(), "{mean}");
    }

    #[test]
    fn shares_are_wiped_and_not_printed() {
        let mut share = Share::random(Width::W128, &mut Drbg::from_seed([7; 32]));
        assert_eq!(format!("{share:?}"), "Share(..)");
        share.zeroize();
        assert!(share.residues.iter().all(|residue| *residue == 0));
    }
}
