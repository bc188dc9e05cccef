//! The vector tiers of x86-64. All `unsafe` of the workspace is below this module.
#![allow(unsafe_code)]

use crate::aes::{KEY_BYTES, KEYS};
use crate::keccak::State;
use crate::ntt::{Ntt, POINTS};
use crate::packed::Ahead;
use crate::ports::{CHAINS, Operands};
use crate::sample::{TRIT_POLYNOMIAL, TritBytes};
use crate::sha256::Words;
use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};

mod avx2;
mod avx2_ntt;
mod avx2_residue;
mod avx512;
mod avx512_fermat;
mod avx512_ntt;
mod avx512_sha256;
#[cfg(all(target_feature = "avx2", not(miri)))]
pub(crate) mod cells;
#[cfg(all(target_feature = "avx2", not(miri)))]
pub(crate) mod counters;
mod keccak;
mod ports;
mod sha_ni;
mod vaes;

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
            add_packed(sources: &[&[u8]], coming: Option<&[&[u8]]>, more: bool, acc: &mut [u64]);
            pack(values: &[u64], bytes: &mut [u8]);
            unpack(bytes: &[u8], values: &mut [u64]);
            lift(q: u64, x: &[i32], out: &mut [u64]);
            fold(x: &[u64], y: &[u64], out: &mut [u128]);
            mul_add(q: u64, scaled: &[u64], x: &[u64], acc: &mut [u64]);
            mul_add_variable(q: u64, x: &[u64], y: &[u64], acc: &mut [u64]);
            centred_binomial_21(random: &[u8], out: &mut [i32]);
            accept_trits(drawn: &[u8], out: &mut [u8]) -> usize;
            add_ternary(bytes: &[u8], scale: i32, acc: &mut [i32]);
            sum_ternary(polynomials: &[TritBytes], sum: &mut [i32; TRIT_POLYNOMIAL]);
        })*
    };
}

all_crossings! {
    crate::cpu::Avx2, avx2;
    crate::cpu::Avx512, avx512;
}

crossings! { crate::cpu::Avx2, avx2_ntt:
    ntt_forward(ntt: &Ntt, x: &mut [u64; POINTS]);
    ntt_forward_small(ntt: &Ntt, x: &[i32; POINTS], out: &mut [u64; POINTS]);
}
crossings! { crate::cpu::Avx512, avx512_ntt:
    ntt_forward(ntt: &Ntt, x: &mut [u64; POINTS]);
    ntt_forward_small(ntt: &Ntt, x: &[i32; POINTS], out: &mut [u64; POINTS], ahead: &mut Ahead<'_>);
}
crossings! { crate::cpu::Avx2, avx2: interpolate_columns(matrix: &mut [i32]); }
crossings! { crate::cpu::Avx512, avx512_fermat: interpolate_columns(matrix: &mut [i32]); }
crossings! { crate::cpu::Avx512, ports:
    multiplies(operands: Operands, rounds: usize) -> [u64; CHAINS];
    simples(operands: Operands, rounds: usize) -> [u64; CHAINS];
}
crossings! { crate::cpu::Vaes, vaes:
    aes_stream(key: &[u8; KEY_BYTES], first: u128, out: &mut [u8]);
    aes_streams(keys: &[[u8; KEY_BYTES]; KEYS], out: [&mut [u8]; KEYS]);
}
crossings! { crate::cpu::Avx2, avx2: sha256_compress(state: &mut [Words; 8], block: &[Words; 16]); }
crossings! { crate::cpu::Avx512, avx512_sha256:
    sha256_compress(state: &mut [Words; 8], block: &[Words; 16]);
    sha256_chain(midstate: &[Words; 8], address: &[Words; 6], values: &mut [[Words; 4]]);
}
crossings! { crate::cpu::Sha, sha_ni:
    sha256_compress(state: &mut [Words; 8], block: &[Words; 16]);
    sha256_chain(midstate: &[Words; 8], address: &[Words; 6], values: &mut [[Words; 4]]);
}

use keccak::{avx2 as avx2_keccak, avx512 as avx512_keccak};
crossings! { crate::cpu::Avx2, avx2_keccak: keccak_f1600(state: &mut State); }
crossings! { crate::cpu::Avx512, avx512_keccak: keccak_f1600(state: &mut State); }

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

/// A local that aligns the stack frame of its function.
#[repr(align(64))]
struct AlignedFrame(#[allow(dead_code)] u8);

/// Makes the caller keep spilled vectors on cache lines of their own. LLVM leaves a frame at 16 bytes where no local asks
/// for more, and then, depending on the caller, most of the spilled vectors lie across two lines: an eighth of the time of
/// a SHA-256 chain, and a lower clock.
#[inline(always)]
fn align_frame() {
    std::hint::black_box(&mut AlignedFrame(0));
}

/// Prefetch distance in bytes: about the latency of main memory at the speed of one stream.
const PREFETCH_BYTES: usize = 768;

/// Bytes that one call of [`prefetch_ahead`] prefetches: three lines.
const PREFETCH_STEP: usize = 192;

/// Prefetches the lines [`PREFETCH_BYTES`] beyond `at` in `source`, or, near its end, as far into `coming`.
#[inline(always)]
fn prefetch_ahead(source: &[u8], coming: Option<&&[u8]>, at: usize) {
    let ahead = at + PREFETCH_BYTES;
    let rest = if ahead < source.len() {
        &source[ahead..]
    } else {
        coming.and_then(|coming| coming.get(ahead - source.len()..)).unwrap_or_default()
    };
    if let Some(lines) = rest.first_chunk::<PREFETCH_STEP>() {
        for line in lines.chunks(64) {
            // SAFETY: a prefetch reads nothing that a program could observe, whatever the address; SSE is part of x86-64.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
        }
    }
}

impl crate::cpu::Avx512 {
    /// Prefetches the next `steps` lines of each of four coming sources.
    #[inline]
    pub(crate) fn ask_ahead(self, ahead: &mut Ahead<'_>, steps: usize) {
        ask_ahead(ahead, steps);
    }
}

/// Prefetches the next `steps` lines of each of four coming sources.
#[inline(always)]
fn ask_ahead(ahead: &mut Ahead<'_>, steps: usize) {
    for _ in 0..steps {
        let Some((streams, at)) = ahead.step() else { return };
        for stream in streams {
            let line = stream.as_ptr().wrapping_add(at);
            // SAFETY: a prefetch reads nothing that a program could observe, whatever the address; SSE is part of x86-64.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(line.cast()) }
        }
    }
}
