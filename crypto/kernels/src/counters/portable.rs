//! One step, word by word. The cache's model checker compiles this file against its own atomics.

use super::{COUNTERS, Line, MAX_COUNT, ROWS};
use std::sync::atomic::Ordering::Relaxed;

pub(super) fn raise(line: &Line, picks: u32, more: u8, floor: u8) -> u8 {
    let places = picks.to_le_bytes();
    let places: [(usize, u64); ROWS] = std::array::from_fn(|row| {
        let counter = (u64::from(places[row]) * (COUNTERS[row] / 4)) >> 6;
        ((counter / 16) as usize, 4 * (counter % 16))
    });
    let words: [u64; ROWS] = std::array::from_fn(|row| line.0[places[row].0][row].load(Relaxed));
    let counts: [u64; ROWS] = std::array::from_fn(|row| words[row] >> places[row].1 & 15);
    let least = counts[0].min(counts[1]).min(counts[2].min(counts[3]));
    let count = (least + u64::from(more)).max(floor.into()).min(MAX_COUNT.into());
    // All four are stored, because which ones rise is practically random, and a mispredicted branch takes
    // longer than everything else.
    for row in 0..ROWS {
        let (half, shift) = places[row];
        line.0[half][row].store(words[row] + ((counts[row].max(count) - counts[row]) << shift), Relaxed);
    }
    count as u8
}
