//! Wiping at the speed of a fill: `zeroize` writes words one by one, which for the chains takes a hundredth of a signature.

use zeroize::optimization_barrier;

/// Overwrites `words` with zeros; the barrier keeps the compiler from dropping writes that nobody reads.
pub(super) fn wipe(words: &mut [u32]) {
    words.fill(0);
    optimization_barrier(words);
    #[cfg(test)]
    tests::WIPED.set(tests::WIPED.get() + words.len());
}

#[cfg(test)]
pub(super) mod tests {
    use super::wipe;
    use std::cell::Cell;

    thread_local! {
        /// Words that this thread has wiped.
        pub(super) static WIPED: Cell<usize> = const { Cell::new(0) };
    }

    /// Words that are wiped when `value` is dropped.
    pub(in super::super) fn wiped_by_drop<T>(value: T) -> usize {
        let before = WIPED.get();
        drop(value);
        WIPED.get() - before
    }

    #[test]
    fn what_is_wiped_is_zero() {
        let mut words = [7; 100];
        wipe(&mut words);
        assert_eq!(words, [0; 100]);
    }
}
