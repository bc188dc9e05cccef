//! Keyed hash that decides where a key is placed.
//!
//! Keys are influenced by clients, so the hash takes a secret drawn once per table: without it,
//! nobody can collect keys that crowd one set. It is not a message authentication code. It needs to
//! spread keys and to be unpredictable to a party that sees none of its outputs, and an
//! unlucky spread only costs a miss: keys are always compared in full.

use std::hash::{BuildHasher, RandomState};

/// A key packed into words.
pub(crate) type KeyWords = [u64; 4];

/// The secret of one table: one word per word of the key, and one to finish with.
#[derive(Clone)]
pub(crate) struct Placement {
    secret: [u64; 5],
}

impl Placement {
    /// Draws a secret: outputs of a SipHash whose key the standard library seeds from the operating
    /// system.
    pub(crate) fn random() -> Self {
        let source = RandomState::new();
        Self::with_secret(std::array::from_fn(|i| source.hash_one(i)))
    }

    pub(crate) fn with_secret(secret: [u64; 5]) -> Self {
        Self { secret }
    }

    /// 64 well-mixed bits of `key`. Two independent folded multiplications, so that the processor
    /// overlaps them, and one more: a single product maps keys in arithmetic progression to few of
    /// the possible high bits.
    #[inline(always)]
    pub(crate) fn hash(&self, key: &KeyWords) -> u64 {
        let [k0, k1, k2, k3] = *key;
        let [s0, s1, s2, s3, s4] = self.secret;
        let (a, b) = (folded_product(k0 ^ s0, k1 ^ s1), folded_product(k2 ^ s2, k3 ^ s3));
        folded_product(a ^ b.rotate_left(32), s4 | 1)
    }
}

#[inline(always)]
fn folded_product(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    wide as u64 ^ (wide >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: u64 = if cfg!(miri) { 50 } else { 1000 };

    /// Shows why the secret must not be known: with this one a million keys fall on one place.
    #[test]
    fn keys_can_be_crafted_against_a_known_secret() {
        let zero = Placement::with_secret([0; 5]);
        let crafted = |n: u64| [0, n.wrapping_mul(0x9E37_79B9_7F4A_7C15), 0, n];
        assert!((0..KEYS).all(|n| zero.hash(&crafted(n)) == 0));
        let secret = Placement::random();
        let hashes: std::collections::HashSet<u64> = (0..KEYS).map(|n| secret.hash(&crafted(n))).collect();
        assert_eq!(hashes.len() as u64, KEYS);
    }

    #[test]
    fn two_tables_place_a_key_differently() {
        let key = [7; 4];
        assert_ne!(Placement::random().hash(&key), Placement::random().hash(&key));
    }

    // 25,600 hashes are only arithmetic.
    #[cfg(not(miri))]
    #[test]
    fn counters_in_any_word_spread_over_high_and_low_bits() {
        let secret = [
            0x243F_6A88_85A3_08D3,
            0x1319_8A2E_0370_7344,
            0xA409_3822_299F_31D0,
            0x082E_FA98_EC4E_6C89,
            0x4528_21E6_38D0_1377,
        ];
        let placement = Placement::with_secret(secret);
        for word in 0..4 {
            let (mut high, mut low) = ([0u32; 64], [0u32; 64]);
            for n in 0..6400 {
                let mut key = [0; 4];
                key[word] = n;
                let hash = placement.hash(&key);
                high[(hash >> 58) as usize] += 1;
                low[(hash & 63) as usize] += 1;
            }
            // Mean 100, standard deviation 10: seven of them either way.
            assert!(high.iter().chain(&low).all(|n| (30..170).contains(n)), "word {word}: {high:?} {low:?}");
        }
    }
}
