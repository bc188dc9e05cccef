//! The vector tiers of x86-64. All `unsafe` of the workspace is below this module.
#![allow(unsafe_code)]

use crate::sha256::Words;

mod avx2;
mod avx512;
mod avx512_sha256;
mod sha_ni;

/// Makes each listed kernel a method of a token: the one crossing from ordinary code into code that may use the
/// tier's instructions.
macro_rules! crossings {
    ($token:ty, $module:ident: $($kernel:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        impl $token {
            $(
                #[inline]
                pub(crate) fn $kernel(self, $($argument: $type),*) $(-> $result)? {
                    // SAFETY: `self` exists only where detection found every feature that the kernel enables.
                    unsafe { $module::$kernel($($argument),*) }
                }
            )*
        }
    };
}

macro_rules! all_crossings {
    ($($token:ty, $module:ident;)*) => {
        $(crossings! { $token, $module:
            add_packed_4(sources: [&[u8]; 4], acc: &mut [u64]);
            add_packed_1(sources: [&[u8]; 1], acc: &mut [u64]);
            lift(q: u64, x: &[i32], out: &mut [u64]);
            fold(x: &[u64], y: &[u64], out: &mut [u128]);
            mul_add(q: u64, factor: &[u64], quotient: &[u64], x: &[u64], acc: &mut [u64]);
            centred_binomial_21(random: &[u8], out: &mut [i32]);
            accept_trits(drawn: &[u8], out: &mut [u8]) -> usize;
            add_ternary(bytes: &[u8], scale: i32, acc: &mut [i32]);
            interpolate_columns(matrix: &mut [i32]);
        })*
    };
}

all_crossings! {
    crate::cpu::Avx2, avx2;
    crate::cpu::Avx512, avx512;
}

crossings! { crate::cpu::Avx2, avx2: sha256_compress(state: &mut [Words; 8], block: &[Words; 16]); }
crossings! { crate::cpu::Avx512, avx512_sha256:
    sha256_compress(state: &mut [Words; 8], block: &[Words; 16]);
    sha256_chain(midstate: &[Words; 8], address: &[Words; 5], values: &mut [[Words; 4]]);
}
crossings! { crate::cpu::ShaNi, sha_ni:
    sha256_compress(state: &mut [Words; 8], block: &[Words; 16]);
    sha256_chain(midstate: &[Words; 8], address: &[Words; 5], values: &mut [[Words; 4]]);
}

/// The portable bodies, compiled for a tier.
macro_rules! recompiled {
    ($features:literal: $($kernel:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[target_feature(enable = $features)]
            pub(super) fn $kernel($($argument: $type),*) $(-> $result)? {
                crate::portable::$kernel($($argument),*)
            }
        )*
    };
}
use recompiled;
