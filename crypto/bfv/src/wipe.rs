//! Wiping of scratch memory at the speed of a fill. `Zeroize` writes one element at a time, which for a batch's kilobytes
//! of bytes takes longer than decrypting it.

use zeroize::optimization_barrier;

/// Overwrites `values` with zeros; the barrier keeps the compiler from dropping writes that are never read.
pub(crate) fn wipe<T: Copy + Default>(values: &mut [T]) {
    values.fill(T::default());
    optimization_barrier(values);
}
