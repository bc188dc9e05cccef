//! The hash that peers are given: keys are digests, so a cheap one suffices. It does the same work as the one inside
//! our caches, so that a comparison shows the tables and not the hash functions.

use std::hash::{BuildHasher, Hasher, RandomState};

use trefoil_cache::value::pack;

/// Keyed hash of 32 bytes: two folded multiplications side by side and one after them.
#[derive(Clone)]
pub(super) struct DigestHash {
    secret: [u64; 5],
}

impl DigestHash {
    pub(super) fn random() -> Self {
        let source = RandomState::new();
        DigestHash { secret: std::array::from_fn(|word| source.hash_one(word)) }
    }
}

impl BuildHasher for DigestHash {
    type Hasher = DigestHasher;

    #[inline(always)]
    fn build_hasher(&self) -> DigestHasher {
        DigestHasher { secret: self.secret, hash: 0 }
    }
}

pub(super) struct DigestHasher {
    secret: [u64; 5],
    hash: u64,
}

impl Hasher for DigestHasher {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        let [k0, k1, k2, k3] = pack(bytes);
        let [s0, s1, s2, s3, s4] = self.secret;
        let (a, b) = (folded_product(k0 ^ s0, k1 ^ s1), folded_product(k2 ^ s2, k3 ^ s3));
        self.hash = folded_product(a ^ b.rotate_left(32), s4 | 1);
    }

    /// All keys have one length: its prefix adds nothing.
    #[inline(always)]
    fn write_usize(&mut self, _: usize) {}

    #[inline(always)]
    fn finish(&self) -> u64 {
        self.hash
    }
}

#[inline(always)]
fn folded_product(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    wide as u64 ^ (wide >> 64) as u64
}
