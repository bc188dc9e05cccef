//! Residues below 2^48 packed into six bytes each, little-endian.

mod asking;
mod calibration;

use crate::{Cpu, dispatch};
pub(crate) use asking::asking_pays;
pub use calibration::calibrate;

/// Bytes per packed residue.
pub const RESIDUE_BYTES: usize = 6;

/// Most sources of one [`sum`]: 32 residues below 2^47 stay below 2^52, which [`crate::residue::fold`] takes.
pub const SOURCES_MAX: usize = 32;

/// Sources that are read at the same time.
pub(crate) const STREAMS: usize = 8;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Sources of an [`Ahead`] whose lines are asked for in turn.
const ABREAST: usize = 4;

/// Lines of the sources of a coming [`sum`] that other kernels ask for in passing, so that memory works while the processor
/// computes: into the second level of the cache, which holds a batch.
///
/// Taken are the first sources of each group that [`sum`] reads at the same time, then the second ones: every group then has
/// sources that are in the cache already beside others that are not, and keeps memory busy to its end.
pub struct Ahead<'a> {
    sources: &'a [&'a [u8]],
    /// Place in their groups of the sources that are next.
    place: usize,
    streams: [&'a [u8]; ABREAST],
    at: usize,
}

impl<'a> Ahead<'a> {
    /// Nothing to ask for.
    pub fn none() -> Ahead<'a> {
        Ahead { sources: &[], place: 0, streams: [&[]; ABREAST], at: 0 }
    }

    /// The lines of `sources`, which are equally long; none where asking does not help.
    pub fn of(cpu: Cpu, sources: &'a [&'a [u8]]) -> Ahead<'a> {
        let sources = if cpu.asks_ahead() { sources } else { &[] };
        Ahead { sources, place: 0, streams: [&[]; ABREAST], at: 0 }
    }

    /// Asks for the next `steps` lines of each of four sources: between pieces of work that takes memory as long to bring them.
    /// Does nothing on the tiers whose kernels do not ask either.
    pub fn ask(&mut self, cpu: Cpu, steps: usize) {
        #[cfg(target_arch = "x86_64")]
        if let crate::cpu::Token::Avx512(token) = cpu.token() {
            token.ask_ahead(self, steps);
        }
        let _ = (cpu, steps);
    }

    /// The next line of each of four sources, as a source and a place in it.
    #[inline(always)]
    pub(crate) fn step(&mut self) -> Option<([&'a [u8]; ABREAST], usize)> {
        if self.at >= self.streams[0].len() && (self.sources.is_empty() || !self.turn()) {
            return None;
        }
        let at = self.at;
        self.at += LINE;
        Some((self.streams, at))
    }

    /// Goes on to the next sources, if there are any.
    #[cold]
    fn turn(&mut self) -> bool {
        let Some(first) = self.sources.get(self.place).filter(|_| self.place < STREAMS) else {
            self.sources = &[];
            return false;
        };
        // A small batch has fewer groups than streams.
        self.streams =
            std::array::from_fn(|group| *self.sources.get(self.place + STREAMS * group).unwrap_or(first));
        self.place += 1;
        self.at = 0;
        !first.is_empty()
    }
}

/// Packs `values`, each below 2^48 (higher bits are lost), into `bytes`.
///
/// # Panics
/// Unless `bytes` is six times as long as `values`.
pub fn pack(cpu: Cpu, values: &[u64], bytes: &mut [u8]) {
    assert_eq!(bytes.len(), RESIDUE_BYTES * values.len());
    debug_assert!(values.iter().all(|value| *value < 1 << 48));
    dispatch!(cpu, pack(values, bytes));
}

/// Unpacks `bytes` into `values`.
///
/// # Panics
/// Unless `bytes` is six times as long as `values`.
pub fn unpack(cpu: Cpu, bytes: &[u8], values: &mut [u64]) {
    assert_eq!(bytes.len(), RESIDUE_BYTES * values.len());
    dispatch!(cpu, unpack(bytes, values));
}

/// Sums packed polynomials without reduction: `acc[i] = sum over s of sources[s][i]`.
///
/// Memory-bound when the sources are in main memory, so it reads eight of them at a time: the prefetchers follow
/// eight streams well, one leaves bandwidth unused and 32 are more than they track. The vector tiers also ask for lines
/// ahead of use, across pages and from each group of eight to the next, where the processor's own prefetchers stop; not on machines
/// where that costs more than it brings ([`calibrate`]).
///
/// # Panics
/// Unless there are at most [`SOURCES_MAX`] sources, each six times as long as `acc`, whose length is a multiple of 8.
pub fn sum(cpu: Cpu, sources: &[&[u8]], acc: &mut [u64]) {
    assert!(sources.len() <= SOURCES_MAX);
    assert!(acc.len().is_multiple_of(8));
    assert!(sources.iter().all(|source| source.len() == RESIDUE_BYTES * acc.len()));
    if sources.is_empty() {
        acc.fill(0);
    }
    for first in (0..sources.len()).step_by(STREAMS) {
        let (group, coming) = sources[first..].split_at(STREAMS.min(sources.len() - first));
        let coming = cpu.asks_ahead().then_some(coming);
        dispatch!(cpu, add_packed(group, coming, first > 0, acc));
    }
}
