//! Keccak-f\[1600\] in vectors of 64-bit lanes: one body for AVX-512, which rotates and has functions of three inputs,
//! and for AVX2, which has neither.

/// The permutation in terms of the module's `Vector`, `load`, `store`, `splat`, `xor`, `xor3`, `rotate` and `chi`.
macro_rules! permutation {
    ($features:literal) => {
        #[target_feature(enable = $features)]
        pub(crate) fn keccak_f1600(state: &mut State) {
            for first in (0..LANES).step_by(WIDTH) {
                let mut a = [splat(0); 25];
                for (a, words) in a.iter_mut().zip(state.iter()) {
                    *a = load(words[first..].first_chunk().expect("lanes are whole vectors"));
                }
                for constant in ROUND_CONSTANTS {
                    a = round(a, splat(constant));
                }
                for (a, words) in a.into_iter().zip(state.iter_mut()) {
                    store(words[first..].first_chunk_mut().expect("lanes are whole vectors"), a);
                }
            }
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn round(mut a: [Vector; 25], constant: Vector) -> [Vector; 25] {
            let mut column = [constant; 5];
            for x in 0..5 {
                column[x] = xor3(xor3(a[x], a[x + 5], a[x + 10]), a[x + 15], a[x + 20]);
            }
            for x in 0..5 {
                let (before, after) = (column[(x + 4) % 5], rotate::<1>(column[(x + 1) % 5]));
                for y in 0..5 {
                    a[x + 5 * y] = xor3(a[x + 5 * y], before, after);
                }
            }
            // Macros, because the distance of a rotation must be a constant.
            macro_rules! moved {
                ($x:literal, $y:literal) => {
                    rotate::<{ RHO[pi_source($x, $y)] }>(a[pi_source($x, $y)])
                };
            }
            macro_rules! row {
                ($y:literal) => {
                    [moved!(0, $y), moved!(1, $y), moved!(2, $y), moved!(3, $y), moved!(4, $y)]
                };
            }
            let mut out = a;
            for (y, row) in [row!(0), row!(1), row!(2), row!(3), row!(4)].into_iter().enumerate() {
                for x in 0..5 {
                    out[x + 5 * y] = chi(row[x], row[(x + 1) % 5], row[(x + 2) % 5]);
                }
            }
            out[0] = xor(out[0], constant);
            out
        }
    };
}

pub(crate) mod avx512 {
    use crate::keccak::{LANES, RHO, ROUND_CONSTANTS, State, pi_source};
    use std::arch::x86_64::{
        __m512i, _mm512_loadu_si512, _mm512_rol_epi64, _mm512_set1_epi64, _mm512_storeu_si512,
        _mm512_ternarylogic_epi64, _mm512_xor_si512,
    };

    const WIDTH: usize = 8;

    type Vector = __m512i;

    permutation!("avx512f");

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn splat(word: u64) -> Vector {
        _mm512_set1_epi64(word.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn xor(x: Vector, y: Vector) -> Vector {
        _mm512_xor_si512(x, y)
    }

    /// Functions of three inputs are the truth table of the immediate: parity, and `x ^ (!y & z)`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn xor3(x: Vector, y: Vector, z: Vector) -> Vector {
        _mm512_ternarylogic_epi64::<0x96>(x, y, z)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn chi(x: Vector, y: Vector, z: Vector) -> Vector {
        _mm512_ternarylogic_epi64::<0xd2>(x, y, z)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn rotate<const BITS: i32>(x: Vector) -> Vector {
        _mm512_rol_epi64::<BITS>(x)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(words: &[u64; WIDTH]) -> Vector {
        // SAFETY: the reference covers the 64 bytes read, and the load has no alignment requirement.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store(words: &mut [u64; WIDTH], value: Vector) {
        // SAFETY: the reference covers the 64 bytes written, and the store has no alignment requirement.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), value) }
    }
}

pub(crate) mod avx2 {
    use crate::keccak::{LANES, RHO, ROUND_CONSTANTS, State, pi_source};
    use std::arch::x86_64::{
        __m256i, _mm_cvtsi32_si128, _mm256_andnot_si256, _mm256_loadu_si256, _mm256_or_si256,
        _mm256_set1_epi64x, _mm256_sll_epi64, _mm256_srl_epi64, _mm256_storeu_si256, _mm256_xor_si256,
    };

    const WIDTH: usize = 4;

    type Vector = __m256i;

    permutation!("avx2");

    #[inline]
    #[target_feature(enable = "avx2")]
    fn splat(word: u64) -> Vector {
        _mm256_set1_epi64x(word.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn xor(x: Vector, y: Vector) -> Vector {
        _mm256_xor_si256(x, y)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn xor3(x: Vector, y: Vector, z: Vector) -> Vector {
        xor(xor(x, y), z)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn chi(x: Vector, y: Vector, z: Vector) -> Vector {
        xor(x, _mm256_andnot_si256(y, z))
    }

    /// The counts are constants after inlining; the immediate forms take no difference of constants.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn rotate<const BITS: i32>(x: Vector) -> Vector {
        let left = _mm256_sll_epi64(x, _mm_cvtsi32_si128(BITS));
        _mm256_or_si256(left, _mm256_srl_epi64(x, _mm_cvtsi32_si128(64 - BITS)))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(words: &[u64; WIDTH]) -> Vector {
        // SAFETY: the reference covers the 32 bytes read, and the load has no alignment requirement.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(words: &mut [u64; WIDTH], value: Vector) {
        // SAFETY: the reference covers the 32 bytes written, and the store has no alignment requirement.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), value) }
    }
}
