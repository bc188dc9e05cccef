//! The standard hash functions as the proof system takes them: SHA-256 (FIPS 180-4) for the rows of committed
//! matrices, SHA3-256 (FIPS 202) for the transcript.

use std::iter;

use p3_field::PrimeField32;
use p3_symmetric::CryptographicHasher;
use sha2::{Digest as _, Sha256};
use sha3::Sha3_256;

use crate::digest::Field;

/// SHA-256 of a row's limbs, four little-endian bytes each, in the field's own (Montgomery) representation.
///
/// The same function as `p3_symmetric::SerializingHasher<p3_sha256::Sha256>`, which passes single bytes through
/// an iterator and spends more time there than in SHA-256.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowHash;

/// SHA3-256 of the transcript's bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transcript;

/// Limbs hashed at a time: four blocks of SHA-256.
const CHUNK_LIMBS: usize = 64;

/// Bytes hashed at a time: the rate of SHA3-256.
const RATE_BYTES: usize = 136;

impl CryptographicHasher<Field, [u8; 32]> for RowHash {
    fn hash_iter<I: IntoIterator<Item = Field>>(&self, input: I) -> [u8; 32] {
        let mut hasher = Sha256::new();
        let mut input = input.into_iter();
        let mut chunk = [[0; 4]; CHUNK_LIMBS];
        loop {
            let filled = iter::zip(&mut chunk, &mut input)
                .map(|(slot, limb)| *slot = limb.to_unique_u32().to_le_bytes())
                .count();
            hasher.update(chunk[..filled].as_flattened());
            if filled < CHUNK_LIMBS {
                return hasher.finalize().into();
            }
        }
    }
}

impl CryptographicHasher<u8, [u8; 32]> for Transcript {
    fn hash_iter<I: IntoIterator<Item = u8>>(&self, input: I) -> [u8; 32] {
        let mut hasher = Sha3_256::new();
        let mut input = input.into_iter();
        let mut chunk = [0; RATE_BYTES];
        loop {
            let filled = iter::zip(&mut chunk, &mut input).map(|(slot, byte)| *slot = byte).count();
            hasher.update(&chunk[..filled]);
            if filled < RATE_BYTES {
                return hasher.finalize().into();
            }
        }
    }

    fn hash_iter_slices<'a, I: IntoIterator<Item = &'a [u8]>>(&self, input: I) -> [u8; 32] {
        input.into_iter().fold(Sha3_256::new(), |hasher, slice| hasher.chain_update(slice)).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use p3_symmetric::SerializingHasher;
    use rand::RngExt;

    use super::*;
    use crate::fixture;

    #[test]
    fn the_row_hash_is_the_stock_one() {
        let stock = SerializingHasher::new(p3_sha256::Sha256);
        for length in [0, 1, 15, 16, 63, 64, 65, 127, 128, 129, 500] {
            let row: Vec<Field> = fixture::rng(8).random_iter().take(length).collect();
            let expected: [u8; 32] = stock.hash_iter(row.iter().copied());
            assert_eq!(RowHash.hash_iter(row.iter().copied()), expected, "{length} limbs");
            assert_eq!(RowHash.hash_iter_slices(row.chunks(7)), expected, "{length} limbs");
        }
    }

    #[test]
    fn the_transcript_hash_is_sha3_256_however_it_is_fed() {
        for length in [0, 1, 135, 136, 137, 271, 272, 1000] {
            let bytes: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let expected: [u8; 32] = Sha3_256::digest(&bytes).into();
            assert_eq!(Transcript.hash_iter(bytes.iter().copied()), expected, "{length} bytes");
            assert_eq!(Transcript.hash_iter_slices(bytes.chunks(7)), expected, "{length} bytes");
        }
    }
}
