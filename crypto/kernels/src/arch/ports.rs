//! Chains of AVX-512 operations, for [`crate::ports`].

use crate::ports::{CHAINS, Operands};
use std::arch::x86_64::{
    __m512i, _mm_cvtsi128_si64, _mm512_add_epi64, _mm512_castsi512_si128, _mm512_madd52lo_epu64,
    _mm512_set1_epi64, _mm512_ternarylogic_epi64,
};

/// The table of an exclusive or of three.
const XOR_3: i32 = 0x96;

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiplies(operands: Operands, rounds: usize) -> [u64; CHAINS] {
    let [x, y] = operands.map(|word| _mm512_set1_epi64(word.cast_signed()));
    let mut chains = begun();
    for _ in 0..rounds {
        for chain in &mut chains {
            *chain = _mm512_madd52lo_epu64(*chain, x, y);
        }
    }
    chains.map(|chain| first(chain))
}

#[target_feature(enable = "avx512f")]
pub(super) fn simples(operands: Operands, rounds: usize) -> [u64; CHAINS] {
    let [x, y] = operands.map(|word| _mm512_set1_epi64(word.cast_signed()));
    let mut chains = begun();
    for _ in 0..rounds {
        for chain in &mut chains {
            *chain = _mm512_add_epi64(_mm512_ternarylogic_epi64::<XOR_3>(*chain, x, y), x);
        }
    }
    chains.map(|chain| first(chain))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn begun() -> [__m512i; CHAINS] {
    let mut chains = [_mm512_set1_epi64(0); CHAINS];
    for (number, chain) in chains.iter_mut().enumerate() {
        *chain = _mm512_set1_epi64(number as i64);
    }
    chains
}

#[inline]
#[target_feature(enable = "avx512f")]
fn first(chain: __m512i) -> u64 {
    _mm_cvtsi128_si64(_mm512_castsi512_si128(chain)).cast_unsigned()
}
