//! The kernels of aarch64. With `arch`, for x86-64, the only place of `unsafe`.
#![allow(unsafe_code)]

use crate::sha256::Words;

mod sha2;

impl crate::cpu::Sha {
    #[inline]
    pub(crate) fn sha256_compress(self, state: &mut [Words; 8], block: &[Words; 16]) {
        // SAFETY: `self` exists only where detection found the SHA-2 instructions.
        unsafe { sha2::sha256_compress(state, block) }
    }

    #[inline]
    pub(crate) fn sha256_chain(self, midstate: &[Words; 8], address: &[Words; 6], values: &mut [[Words; 4]]) {
        // SAFETY: as above.
        unsafe { sha2::sha256_chain(midstate, address, values) }
    }
}
