//! Vectors aligned to cache lines.
//!
//! A vector register is as long as a line. Allocators align to 16 bytes, and then every access of a kernel touches two lines:
//! a transform takes a quarter longer.

use crate::wipe::wipe;
use std::ops::{Deref, DerefMut};

/// Bytes of a cache line.
const LINE: usize = 64;

/// A vector of fixed length, aligned to 64 bytes. Its owner wipes it if necessary.
pub(crate) struct Lines<T> {
    /// Longer than the vector by up to a line; never grown, so that it never moves.
    memory: Box<[T]>,
    start: usize,
    len: usize,
}

impl<T: Copy + Default> Lines<T> {
    /// Zeros.
    pub(crate) fn new(len: usize) -> Lines<T> {
        let memory = vec![T::default(); len + LINE / size_of::<T>()].into_boxed_slice();
        // The offset fits for every allocator; if not, the vector is slower but otherwise the same.
        let start = memory.as_ptr().align_offset(LINE).min(memory.len() - len);
        Lines { memory, start, len }
    }

    /// A copy.
    pub(crate) fn of(values: &[T]) -> Lines<T> {
        let mut lines = Lines::new(values.len());
        lines.copy_from_slice(values);
        lines
    }
}

impl<T> Deref for Lines<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[self.start..][..self.len]
    }
}

impl<T> DerefMut for Lines<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..][..self.len]
    }
}

/// The same for secrets: wiped on drop, at the speed of a fill.
pub(crate) struct Secret<T: Copy + Default>(Lines<T>);

impl<T: Copy + Default> Secret<T> {
    /// Zeros.
    pub(crate) fn new(len: usize) -> Secret<T> {
        Secret(Lines::new(len))
    }
}

impl<T: Copy + Default> Deref for Secret<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Copy + Default> DerefMut for Secret<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: Copy + Default> Drop for Secret<T> {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl<T: Copy + Default> Clone for Lines<T> {
    fn clone(&self) -> Lines<T> {
        Lines::of(self)
    }
}

impl<T: PartialEq> PartialEq for Lines<T> {
    fn eq(&self, other: &Lines<T>) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Lines<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_begin_at_lines_and_keep_their_values() {
        for len in [0, 1, 7, 64, 4097] {
            let mut words = Lines::<u64>::new(len);
            words.iter_mut().enumerate().for_each(|(i, word)| *word = i as u64);
            let (moved, copy) = (words.clone(), words);
            for words in [&moved, &copy] {
                assert_eq!((words.len(), words.as_ptr().align_offset(LINE)), (len, 0));
                assert!(words.iter().enumerate().all(|(i, word)| *word == i as u64));
            }
            assert!(moved == copy);
            assert_eq!(Lines::<u8>::new(len).as_ptr().align_offset(LINE), 0);
        }
    }
}
