//! Kernels: the few loops worth writing for a particular processor, each with a portable twin.
//!
//! This is the only crate of the workspace that may contain `unsafe`, and only in its private modules `arch`
//! (x86-64) and `arm` and for system calls in [`pages`]. A kernel takes a [`Cpu`], a token that can only be made by
//! detection, so that an instruction is never reached on a processor that lacks it. Every tier of a kernel gives the same bits: one shared
//! checker compares each tier that the machine has with the portable twin.
//!
//! Some kernels are written with intrinsics where that clearly pays; the others are the portable body,
//! compiled once more with the tier's instructions enabled.
//!
//! Invariants: no allocation, no branch or address that depends on the data; slices of the wrong length
//! panic before anything is written.
//!
//! ```
//! use trefoil_kernels::{Cpu, Tier, keccak};
//!
//! // Two messages side by side, with the best instructions of this processor and with none: the same bits.
//! let messages: [&[u8]; 2] = [b"one", b"two"];
//! let (mut fast, mut portable) = ([[0; 32]; 2], [[0; 32]; 2]);
//! keccak::sha3_256(Cpu::detected(), &messages, &mut fast);
//! keccak::sha3_256(Cpu::at_most(Tier::Portable), &messages, &mut portable);
//! assert_eq!(fast, portable);
//! ```

pub mod aes;
#[cfg(target_arch = "x86_64")]
mod arch;
#[cfg(target_arch = "aarch64")]
mod arm;
pub mod cells;
#[cfg(test)]
mod check;
pub mod counters;
pub mod cpu;
pub mod fermat;
pub mod keccak;
pub mod ntt;
pub mod packed;
pub mod pages;
mod portable;
mod portable_keccak;
mod portable_ntt;
mod portable_sha256;
pub mod ports;
pub mod residue;
pub mod sample;
pub mod sha256;

pub use cpu::{Cpu, Tier};

/// Calls a kernel of the tier that `$cpu` stands for.
macro_rules! dispatch {
    ($cpu:expr, $kernel:ident($($argument:expr),*)) => {
        match $cpu.token() {
            $crate::cpu::Token::Portable => $crate::portable::$kernel($($argument),*),
            #[cfg(target_arch = "x86_64")]
            $crate::cpu::Token::Avx2(token) => token.$kernel($($argument),*),
            #[cfg(target_arch = "x86_64")]
            $crate::cpu::Token::Avx512(token) => token.$kernel($($argument),*),
        }
    };
}
use dispatch;
