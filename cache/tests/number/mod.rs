//! A value that is a number, and a key for each number.

use trefoil_cache::value::unpack;
use trefoil_cache::{Key, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) u64);

impl Value for Number {
    type Words = [u64; 1];

    fn to_words(&self) -> [u64; 1] {
        [self.0]
    }

    fn from_words(words: &[u64; 1]) -> Self {
        Self(words[0])
    }
}

pub(crate) fn key(n: u64) -> Key {
    unpack(&[n, n.wrapping_mul(0x9E37_79B9_7F4A_7C15), !n, n])
}
