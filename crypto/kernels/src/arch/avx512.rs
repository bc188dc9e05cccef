//! Kernels for AVX-512 with VBMI, VBMI2, IFMA and VPOPCNTDQ.

use super::{PREFETCH_STEP, prefetch_ahead, recompiled};
use crate::ntt::inverse_mod_word;
use crate::portable::RECIPROCALS;
use crate::sample::{BINOMIAL_BYTES, TRIT_BYTES, TRIT_POLYNOMIAL, TRITS_BOUND, TritBytes};
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_cvtsi64_si128, _mm256_loadu_si256, _mm256_storeu_si256, _mm512_add_epi16,
    _mm512_add_epi64, _mm512_and_si512, _mm512_cmplt_epu8_mask, _mm512_cvtepi64_epi32, _mm512_cvtepu8_epi16,
    _mm512_loadu_si512, _mm512_madd52hi_epu64, _mm512_madd52lo_epu64, _mm512_mask_storeu_epi8,
    _mm512_maskz_compress_epi8, _mm512_maskz_loadu_epi8, _mm512_maskz_permutexvar_epi8, _mm512_min_epu64,
    _mm512_mulhi_epu16, _mm512_mullo_epi16, _mm512_permutexvar_epi8, _mm512_popcnt_epi64,
    _mm512_reduce_add_epi64, _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_srl_epi64, _mm512_srli_epi64, _mm512_storeu_si512, _mm512_sub_epi16, _mm512_sub_epi64,
};

recompiled! { "avx512f,avx512bw,avx512dq,avx512vl":
    lift(q: u64, x: &[i32], out: &mut [u64]);
    add_ternary(bytes: &[u8], scale: i32, acc: &mut [i32]);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn add_packed(sources: &[&[u8]], coming: Option<&[&[u8]]>, more: bool, acc: &mut [u64]) {
    match coming {
        Some(coming) => add_streams::<true>(sources, coming, more, acc),
        None => add_streams::<false>(sources, &[], more, acc),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn add_streams<const ASKS: bool>(sources: &[&[u8]], coming: &[&[u8]], more: bool, acc: &mut [u64]) {
    let order = load_bytes(&SPREAD);
    // Four vectors at a time: whole lines of the sources.
    let (steps, rest) = acc.as_chunks_mut::<32>();
    for (i, sums) in steps.iter_mut().enumerate() {
        let sums = sums.as_chunks_mut::<8>().0;
        let mut totals = [_mm512_setzero_si512(); 4];
        if more {
            for (total, sum) in totals.iter_mut().zip(sums.iter()) {
                *total = load(sum);
            }
        }
        for (k, source) in sources.iter().enumerate() {
            if ASKS {
                prefetch_ahead(source, coming.get(k), PREFETCH_STEP * i);
            }
            let step: &[u8; PREFETCH_STEP] =
                source[PREFETCH_STEP * i..].first_chunk().expect("sources are as long as the sums");
            for (total, packed) in totals.iter_mut().zip(step.as_chunks().0) {
                *total = _mm512_add_epi64(*total, spread(packed, order));
            }
        }
        for (total, sum) in totals.into_iter().zip(sums) {
            store(sum, total);
        }
    }
    let done = PREFETCH_STEP * steps.len();
    if !more {
        rest.fill(0);
    }
    for source in sources {
        add_packed_1(&source[done..], rest);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn add_packed_1(source: &[u8], acc: &mut [u64]) {
    let order = load_bytes(&SPREAD);
    for (sum, source) in acc.as_chunks_mut::<8>().0.iter_mut().zip(source.as_chunks().0) {
        let total = _mm512_add_epi64(load(sum), spread(source, order));
        store(sum, total);
    }
}

/// Eight words at a time to 48 bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn pack(values: &[u64], bytes: &mut [u8]) {
    let order = load_bytes(&GATHER);
    let (vectors, rest) = values.as_chunks::<8>();
    let (places, last) = bytes.as_chunks_mut::<48>();
    for (place, words) in places.iter_mut().zip(vectors) {
        store_48(place, _mm512_permutexvar_epi8(order, load(words)));
    }
    crate::portable::pack(rest, last);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn unpack(bytes: &[u8], values: &mut [u64]) {
    let order = load_bytes(&SPREAD);
    let (vectors, rest) = values.as_chunks_mut::<8>();
    let (places, last) = bytes.as_chunks::<48>();
    for (words, place) in vectors.iter_mut().zip(places) {
        store(words, spread(place, order));
    }
    crate::portable::unpack(last, rest);
}

/// Eight packed residues to eight words, whose bytes 6 and 7 stay zero.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn spread(packed: &[u8; 48], order: __m512i) -> __m512i {
    _mm512_maskz_permutexvar_epi8(0x3f3f_3f3f_3f3f_3f3f, order, load_48(packed))
}

/// Byte `k` of word `e` comes from byte `6e + k` of the packed residues; places 6 and 7 are masked out.
const SPREAD: [u8; 64] = {
    let mut order = [0; 64];
    let mut place = 0;
    while place < 64 {
        if place % 8 < 6 {
            order[place] = (place / 8 * 6 + place % 8) as u8;
        }
        place += 1;
    }
    order
};

/// Byte `6e + k` of the packed residues comes from byte `k` of word `e`.
const GATHER: [u8; 64] = {
    let mut order = [0; 64];
    let mut place = 0;
    while place < 48 {
        order[place] = (place / 6 * 8 + place % 6) as u8;
        place += 1;
    }
    order
};

/// IFMA multiplies 52-bit operands and adds the low or high 52 bits of the product to a 64-bit word. A lane takes at
/// most 4096 / 8 products, so both sums stay below 2^61, also when the eight lanes are added.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn fold(x: &[u64], y: &[u64], out: &mut [u128]) {
    let block = x.len() / out.len();
    for ((sum, x), y) in out.iter_mut().zip(x.chunks_exact(block)).zip(y.chunks_exact(block)) {
        // Two pairs of accumulators hide half of the multiplier's latency.
        let mut low = [_mm512_setzero_si512(); 2];
        let mut high = [_mm512_setzero_si512(); 2];
        for (i, (x, y)) in x.as_chunks::<8>().0.iter().zip(y.as_chunks::<8>().0).enumerate() {
            let (x, y) = (load(x), load(y));
            low[i % 2] = _mm512_madd52lo_epu64(low[i % 2], x, y);
            high[i % 2] = _mm512_madd52hi_epu64(high[i % 2], x, y);
        }
        let low = _mm512_reduce_add_epi64(_mm512_add_epi64(low[0], low[1])) as u64;
        let high = _mm512_reduce_add_epi64(_mm512_add_epi64(high[0], high[1])) as u64;
        *sum = (u128::from(high) << 52) + u128::from(low);
    }
}

/// The portable twin's sample in each of eight lanes.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vpopcntdq")]
pub(super) fn centred_binomial_21(random: &[u8], out: &mut [i32]) {
    let order = load_bytes(&SPREAD);
    let mask = _mm512_set1_epi64((1 << 21) - 1);
    let (samples, rest) = out.as_chunks_mut::<8>();
    for (samples, bytes) in samples.iter_mut().zip(random.as_chunks().0) {
        let words = spread(bytes, order);
        let added = _mm512_popcnt_epi64(_mm512_and_si512(words, mask));
        let taken = _mm512_popcnt_epi64(_mm512_and_si512(_mm512_srli_epi64::<21>(words), mask));
        store_half(samples, _mm512_cvtepi64_epi32(_mm512_sub_epi64(added, taken)));
    }
    let done = random.len() - BINOMIAL_BYTES * rest.len();
    crate::portable::centred_binomial_21(&random[done..], rest);
}

/// Compresses in a register and stores the whole vector: compressing to memory is microcoded on some processors.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
pub(super) fn accept_trits(drawn: &[u8], out: &mut [u8]) -> usize {
    let bound = _mm512_set1_epi8(TRITS_BOUND as i8);
    let mut count = 0;
    for bytes in drawn.as_chunks().0 {
        let bytes = load_bytes(bytes);
        let accepted = _mm512_cmplt_epu8_mask(bytes, bound);
        let place = out[count..].first_chunk_mut().expect("the slack is a vector long");
        store_bytes(place, _mm512_maskz_compress_epi8(accepted, bytes));
        count += accepted.count_ones() as usize;
    }
    count
}

/// Montgomery's reduction with 52-bit words. The factor is below q, so the product is below 2q.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn mul_add(q: u64, scaled: &[u64], x: &[u64], acc: &mut [u64]) {
    let reduction = Reduction::new(q);
    let inverse = _mm512_set1_epi64(inverse_mod_word(q) as i64);
    for (sum, (a, x)) in
        acc.as_chunks_mut::<8>().0.iter_mut().zip(scaled.as_chunks::<8>().0.iter().zip(x.as_chunks::<8>().0))
    {
        let product = montgomery(reduction.q, inverse, load(a), load(x));
        store(sum, reduction.of(_mm512_add_epi64(load(sum), product)));
    }
}

/// Montgomery's reduction with 52-bit words, twice: the second time by 2^104, which makes up for both.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn mul_add_variable(q: u64, x: &[u64], y: &[u64], acc: &mut [u64]) {
    let reduction = Reduction::new(q);
    let inverse = _mm512_set1_epi64(inverse_mod_word(q) as i64);
    let square = _mm512_set1_epi64(((1u128 << 104) % u128::from(q)) as i64);
    for (sum, (x, y)) in
        acc.as_chunks_mut::<8>().0.iter_mut().zip(x.as_chunks::<8>().0.iter().zip(y.as_chunks::<8>().0))
    {
        // x y is below 896 q^2 < 2^103.9, so its high half is below 2^52 also with q added to it.
        let once = montgomery(reduction.q, inverse, load(x), load(y));
        let product = montgomery(reduction.q, inverse, once, square);
        store(sum, reduction.of(_mm512_add_epi64(load(sum), product)));
    }
}

/// `a * b / 2^52 mod q`, with a multiple of q that keeps it positive.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn montgomery(q: __m512i, inverse: __m512i, a: __m512i, b: __m512i) -> __m512i {
    let zero = _mm512_setzero_si512();
    let multiple = _mm512_madd52lo_epu64(zero, _mm512_madd52lo_epu64(zero, a, b), inverse);
    _mm512_sub_epi64(_mm512_madd52hi_epu64(q, a, b), _mm512_madd52hi_epu64(zero, multiple, q))
}

/// Barrett's reduction of words below 2^52.
struct Reduction {
    q: __m512i,
    /// `floor(2^(52 + s) / q)`, below 2^52 for the largest s with `2^s <= q`.
    reciprocal: __m512i,
    s: __m128i,
}

impl Reduction {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(q: u64) -> Reduction {
        Reduction {
            q: _mm512_set1_epi64(q as i64),
            reciprocal: _mm512_set1_epi64(((1u128 << (52 + q.ilog2())) / u128::from(q)) as i64),
            s: _mm_cvtsi64_si128(i64::from(q.ilog2())),
        }
    }

    /// `x mod q`: the estimate of the quotient is right or one too small.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn of(&self, x: __m512i) -> __m512i {
        let zero = _mm512_setzero_si512();
        let estimate = _mm512_srl_epi64(_mm512_madd52hi_epu64(zero, x, self.reciprocal), self.s);
        subtract_once(_mm512_sub_epi64(x, _mm512_madd52lo_epu64(zero, estimate, self.q)), self.q)
    }
}

/// The portable twin's sums of quotients in 16-bit words, 32 columns at a time.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn sum_ternary(polynomials: &[TritBytes], sum: &mut [i32; TRIT_POLYNOMIAL]) {
    let reciprocals: [__m512i; 4] = [1, 2, 3, 4].map(|k: usize| _mm512_set1_epi16(RECIPROCALS[k] as i16));
    let three = _mm512_set1_epi16(3);
    let count = _mm512_set1_epi16(polynomials.len() as i16);
    for at in (0..TRIT_BYTES).step_by(32) {
        let mut quotients = [_mm512_setzero_si512(); 6];
        for polynomial in polynomials {
            let bytes = _mm512_cvtepu8_epi16(load_256(polynomial[at..].first_chunk().expect("padded")));
            quotients[0] = _mm512_add_epi16(quotients[0], bytes);
            for (quotient, reciprocal) in quotients[1..5].iter_mut().zip(reciprocals) {
                *quotient = _mm512_add_epi16(*quotient, _mm512_mulhi_epu16(bytes, reciprocal));
            }
        }
        for k in 0..5 {
            let digits = _mm512_sub_epi16(quotients[k], _mm512_mullo_epi16(three, quotients[k + 1]));
            let mut columns = [0; 32];
            store_columns(&mut columns, _mm512_sub_epi16(digits, count));
            let first = k * TRIT_BYTES + at;
            let last = (first + 32.min(TRIT_BYTES - at)).min(TRIT_POLYNOMIAL);
            for (place, digits) in sum[first.min(last)..last].iter_mut().zip(columns) {
                *place = i32::from(digits);
            }
        }
    }
}

/// `x mod q` for `x < 2q`: below `q` the difference wraps and is the larger of the two.
#[inline]
#[target_feature(enable = "avx512f")]
fn subtract_once(x: __m512i, q: __m512i) -> __m512i {
    _mm512_min_epu64(x, _mm512_sub_epi64(x, q))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_48(bytes: &[u8; 48]) -> __m512i {
    // SAFETY: the mask limits the load to the 48 bytes of the reference; masked bytes are not touched.
    unsafe { _mm512_maskz_loadu_epi8(0xffff_ffff_ffff, bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn store_48(bytes: &mut [u8; 48], value: __m512i) {
    // SAFETY: the mask limits the store to the 48 bytes of the reference; masked bytes are not touched.
    unsafe { _mm512_mask_storeu_epi8(bytes.as_mut_ptr().cast(), 0xffff_ffff_ffff, value) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_bytes(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the reference covers the 64 bytes read, and the load has no alignment requirement.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_bytes(bytes: &mut [u8; 64], value: __m512i) {
    // SAFETY: the reference covers the 64 bytes written, and the store has no alignment requirement.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), value) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(words: &[u64; 8]) -> __m512i {
    // SAFETY: the reference covers the 64 bytes read, and the load has no alignment requirement.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store(words: &mut [u64; 8], value: __m512i) {
    // SAFETY: the reference covers the 64 bytes written, and the store has no alignment requirement.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), value) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_256(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the reference covers the 32 bytes read, and the load has no alignment requirement.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_half(words: &mut [i32; 8], value: __m256i) {
    // SAFETY: the reference covers the 32 bytes written, and the store has no alignment requirement.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), value) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_columns(columns: &mut [i16; 32], value: __m512i) {
    // SAFETY: the reference covers the 64 bytes written, and the store has no alignment requirement.
    unsafe { _mm512_storeu_si512(columns.as_mut_ptr().cast(), value) }
}
