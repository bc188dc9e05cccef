//! A value that says nothing but that it is there.

use trefoil_cache::Value;

#[derive(Clone, Copy)]
pub(crate) struct Unit;

impl Value for Unit {
    type Words = [u64; 0];

    fn to_words(&self) -> [u64; 0] {
        []
    }

    fn from_words(_: &[u64; 0]) -> Self {
        Unit
    }
}
