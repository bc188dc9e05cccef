//! Tables keyed by the name of a template: its subject's handle and its generation.
//!
//! A batch looks up 32 names, at random places of a large table, so hashing must be cheap. The enroller may
//! choose handles, so it must be keyed too: multiplications with 128-bit products, folded, under keys of each table's own,
//! which never leave it.

use crate::Handle;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A template: the subject, and which of its templates.
pub(crate) type Name = (Handle, u32);

/// A table by name.
pub(crate) type ByName<T> = HashMap<Name, T, NameHash>;

/// The keys of a table.
#[derive(Clone)]
pub(crate) struct NameHash {
    keys: [u64; 3],
}

/// The hash of one name.
pub(crate) struct NameHasher {
    keys: [u64; 3],
    state: u64,
}

impl Default for NameHash {
    fn default() -> NameHash {
        let random = RandomState::new();
        NameHash { keys: [0, 1, 2].map(|i: u8| random.hash_one(i)) }
    }
}

impl BuildHasher for NameHash {
    type Hasher = NameHasher;

    fn build_hasher(&self) -> NameHasher {
        NameHasher { keys: self.keys, state: 0 }
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (pairs, rest) = bytes.as_chunks::<16>();
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        for pair in pairs.iter().chain((!rest.is_empty()).then_some(&last)) {
            let pair = u128::from_le_bytes(*pair);
            let low = pair as u64 ^ self.keys[0] ^ self.state;
            self.state = folded(low, (pair >> 64) as u64 ^ self.keys[1]);
        }
    }

    fn write_u32(&mut self, x: u32) {
        self.state = folded(self.state ^ u64::from(x), self.keys[2] | 1);
    }

    /// The length of a handle, which is always the same.
    fn write_usize(&mut self, _: usize) {}

    /// Once more, because a generation has gone through one product only.
    fn finish(&self) -> u64 {
        folded(self.state, 0x9e37_79b9_7f4a_7c15)
    }
}

/// Both halves of a product, so that every bit of it depends on all lower bits of both factors.
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that differ in a bit here and there, as counters and constants do.
    fn names() -> Vec<Name> {
        let mut names: Vec<Name> = (0..2048).map(|generation| (Handle::new([7; 32]), generation)).collect();
        names.extend((0..256).map(|bit| {
            let mut handle = [0; 32];
            handle[bit / 8] = 1 << (bit % 8);
            (Handle::new(handle), 0)
        }));
        names.extend((1..2048u64).map(|i| {
            let mut handle = [0; 32];
            handle[24..].copy_from_slice(&i.to_be_bytes());
            (Handle::new(handle), 1)
        }));
        names
    }

    #[test]
    fn similar_names_fill_buckets_like_random_ones() {
        // The keys are fixed, so that the test is.
        let table = NameHash { keys: [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344, 0xa409_3822_299f_31d0] };
        let hashes: Vec<u64> = names().iter().map(|name| table.hash_one(name)).collect();
        // Low bits choose the bucket of the standard table, the top seven tell its entries apart.
        for shift in [0, 57] {
            let mut counts = [0u32; 128];
            hashes.iter().for_each(|hash| counts[(hash >> shift & 127) as usize] += 1);
            let mean = hashes.len() as f64 / 128.0;
            let chi: f64 = counts.iter().map(|count| (f64::from(*count) - mean).powi(2) / mean).sum();
            // 127 degrees of freedom: a deviation of 16; eight of them.
            assert!(chi < 255.0, "bits {shift}..: {chi}");
        }
        let mut distinct = hashes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), hashes.len());
    }

    #[test]
    fn tables_have_keys_of_their_own_and_find_what_they_hold() {
        let name = (Handle::new([3; 32]), 5);
        let hashes = [NameHash::default(), NameHash::default()].map(|keys| keys.hash_one(name));
        assert_ne!(hashes[0], hashes[1]);
        let table: ByName<usize> = names().into_iter().enumerate().map(|(i, name)| (name, i)).collect();
        assert!(names().iter().enumerate().all(|(i, name)| table.get(name) == Some(&i)));
        assert_eq!(table.get(&name), None);
    }
}
