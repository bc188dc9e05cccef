//! A value that shows when it was put together from parts of two others.

use trefoil_cache::{Key, Value};

/// As large as a verdict.
const WORDS: usize = 25;

/// Key number, version, and words that follow from both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checked([u64; WORDS]);

impl Checked {
    pub(crate) fn new(key: u64, version: u64) -> Self {
        Self(std::array::from_fn(|i| match i {
            0 => key,
            1 => version,
            i => (key ^ version.rotate_left(32)).wrapping_add(i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        }))
    }

    pub(crate) fn version(&self) -> u64 {
        self.0[1]
    }

    /// Panics unless the value is one that was made for `key`.
    pub(crate) fn assert_whole(&self, key: u64) {
        assert_eq!(*self, Self::new(key, self.version()), "torn or foreign value under key {key}");
    }
}

impl Value for Checked {
    type Words = [u64; WORDS];

    fn to_words(&self) -> [u64; WORDS] {
        self.0
    }

    fn from_words(words: &[u64; WORDS]) -> Self {
        Self(*words)
    }
}

/// The key of a number, different in its first and last words.
pub(crate) fn key(number: u64) -> Key {
    let mut key = [0xA5; 32];
    key[..8].copy_from_slice(&number.to_le_bytes());
    key[24..].copy_from_slice(&number.wrapping_mul(0xD6E8_FEB8_6659_FD93).to_le_bytes());
    key
}
