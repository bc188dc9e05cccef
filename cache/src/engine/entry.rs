//! One entry of the table: a value, its expiry, and its key.

use super::eviction::WAYS;
use crate::placement::KeyWords;
use crate::value::Words;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use trefoil_kernels::cells;

/// One entry, on its own cache lines. The value comes first and the key lies on a boundary of its size, so that nothing
/// that is read at once lies on two lines.
#[repr(C, align(128))]
pub(super) struct Entry<W: Words> {
    pub(super) value: W::Cells,
    pub(super) expires_at: AtomicU64,
    pub(super) key: KeyCells,
}

#[derive(Default)]
#[repr(align(32))]
pub(super) struct KeyCells(pub(super) [AtomicU64; 4]);

/// The entries of one set.
pub(super) type Entries<W> = [Entry<W>; WAYS];

/// A value with its expiry.
#[derive(Clone, Copy)]
pub(super) struct Held<W> {
    pub(super) words: W,
    /// Unix seconds; usable before that.
    pub(super) expires_at: u64,
}

impl<W: Words> Entry<W> {
    pub(super) fn empty() -> Self {
        Self { value: W::zeroed(), expires_at: AtomicU64::new(0), key: KeyCells::default() }
    }

    /// Overwrites key and value. Compilers do not remove atomic stores, so this also serves to take
    /// secrets out of memory that is about to be freed.
    pub(super) fn wipe(&self) {
        <KeyWords as Words>::wipe(&self.key.0);
        self.expires_at.store(0, Relaxed);
        W::wipe(&self.value);
    }

    /// Reads a word of each line.
    #[inline(always)]
    pub(super) fn touch(&self) -> u64 {
        self.key.0[0].load(Relaxed) ^ W::touch(&self.value)
    }

    #[inline(always)]
    pub(super) fn held(&self) -> Held<W> {
        Held { expires_at: self.expires_at.load(Relaxed), words: W::load(&self.value) }
    }

    #[inline(always)]
    pub(super) fn key(&self) -> KeyWords {
        <KeyWords as Words>::load(&self.key.0)
    }

    #[cfg(test)]
    pub(super) fn is_wiped(&self) -> bool
    where
        W: AsRef<[u64]>,
    {
        let Held { words, expires_at } = self.held();
        self.has_key(&[0; 4]) && expires_at == 0 && words.as_ref().iter().all(|&w| w == 0)
    }

    #[inline(always)]
    pub(super) fn is_usable(&self, now: u64) -> bool {
        now < self.expires_at.load(Relaxed)
    }

    #[inline(always)]
    pub(super) fn has_key(&self, key: &KeyWords) -> bool {
        cells::are(&self.key.0, key)
    }
}
