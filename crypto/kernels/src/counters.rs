//! One step of a count-min sketch with conservative update, on a cache line of four-bit counters that threads share.
//!
//! All accesses are relaxed: of two threads at one line one may undo what the other did. Estimates may be wrong.

use crate::cells::WORDS;
use std::sync::atomic::AtomicU64;

/// Rows of a line; a key has one counter in each.
pub const ROWS: usize = WORDS;
/// Counters of each row. The last one gives four of its 32 to the caller: the top 16 bits of the line's last word.
pub const COUNTERS: [u64; ROWS] = [32, 32, 32, 28];
/// Where a counter stops.
pub const MAX_COUNT: u8 = 15;

/// Two halves with a word of 16 counters of each row.
#[derive(Default)]
#[repr(align(64))]
pub struct Line(pub [[AtomicU64; ROWS]; 2]);

impl Line {
    /// The least of a key's counters, one of each row as the bytes of `picks` choose, raised by `more`, to `floor` at
    /// least and to [`MAX_COUNT`] at most. Counters below that are raised to it; the others are inflated by other keys.
    #[inline(always)]
    pub fn raise(&self, picks: u32, more: u8, floor: u8) -> u8 {
        #[cfg(all(target_arch = "x86_64", target_feature = "avx2", not(miri)))]
        return crate::arch::counters::raise(self, picks, more, floor);
        #[cfg(not(all(target_arch = "x86_64", target_feature = "avx2", not(miri))))]
        portable::raise(self, picks, more, floor)
    }
}

#[cfg_attr(all(target_arch = "x86_64", target_feature = "avx2", not(miri)), cfg(test))]
mod portable;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    fn line(mut word: impl FnMut() -> u64) -> Line {
        Line(std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(word()))))
    }

    fn words(line: &Line) -> [[u64; ROWS]; 2] {
        std::array::from_fn(|half| std::array::from_fn(|row| line.0[half][row].load(Relaxed)))
    }

    /// Every pick of every row, on lines of random counters, of none and of full ones.
    #[test]
    fn both_twins_raise_the_same_counters() {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
            (state ^ state >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        };
        for round in 0..if cfg!(miri) { 20 } else { 3000 } {
            let filled: [[u64; ROWS]; 2] = match round % 8 {
                0 => [[0; ROWS]; 2],
                1 => [[u64::MAX; ROWS]; 2],
                _ => std::array::from_fn(|_| std::array::from_fn(|_| random() & random())),
            };
            let mut flat = filled.into_iter().flatten();
            let one = line(|| flat.next().unwrap_or(0));
            let mut flat = filled.into_iter().flatten();
            let other = line(|| flat.next().unwrap_or(0));
            for (more, floor) in [(1, 0), (0, 0), (0, 9), (1, 15), (255, 255)] {
                let picks = random() as u32;
                assert_eq!(one.raise(picks, more, floor), portable::raise(&other, picks, more, floor));
                assert_eq!(words(&one), words(&other), "{picks:x} {more} {floor}");
                assert_eq!(words(&one)[1][3] >> 48, filled[1][3] >> 48, "the caller's bits");
            }
        }
    }

    #[test]
    fn a_counter_rises_to_its_limit_and_alone() {
        for pick in (0..=255u32).step_by(if cfg!(miri) { 51 } else { 1 }) {
            let line = Line::default();
            let picks = pick * 0x0101_0101;
            let counts: Vec<u8> = (0..17).map(|_| line.raise(picks, 1, 0)).collect();
            assert_eq!(counts, (1..=15).chain([15, 15]).collect::<Vec<u8>>());
            let bits: u32 = words(&line).iter().flatten().map(|word| word.count_ones()).sum();
            assert_eq!(bits, 16, "four counters of four bits");
            assert_eq!(line.raise(picks, 0, 0), 15);
        }
    }
}
