//! The vector operations, word by word. The cache's model checker compiles this file against its own atomics.

use super::{AtomicU64, WORDS};
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn load(cells: &[AtomicU64; WORDS]) -> [u64; WORDS] {
    std::array::from_fn(|word| cells[word].load(Relaxed))
}

pub(super) fn store(cells: &[AtomicU64; WORDS], words: &[u64; WORDS]) {
    for (cell, word) in cells.iter().zip(words) {
        cell.store(*word, Relaxed);
    }
}

pub(super) fn are(cells: &[AtomicU64; WORDS], words: &[u64; WORDS]) -> bool {
    cells.iter().zip(words).fold(0, |difference, (cell, word)| difference | (cell.load(Relaxed) ^ word)) == 0
}

pub(super) fn bytes_that_are(cells: &[AtomicU64; WORDS], byte: u8) -> u32 {
    let bytes = load(cells).map(u64::to_le_bytes);
    let found = |found, (place, &other): (usize, &u8)| found | u32::from(other == byte) << place;
    bytes.as_flattened().iter().enumerate().fold(0, found)
}
