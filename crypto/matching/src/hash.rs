//! The hash that names models, and that key-holders of a quorum derive with.

use trefoil_kernels::{Cpu, keccak};
use zeroize::Zeroizing;

/// SHA3-256 over parts of fixed length, but for the last.
pub(crate) fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let message = Zeroizing::new(parts.concat());
    let mut digest = [[0; 32]];
    keccak::sha3_256(Cpu::detected(), &[&message], &mut digest);
    digest[0]
}
