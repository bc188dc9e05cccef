//! Sampling: uniform ternary polynomials, centred binomial errors, flooding.

use crate::drbg::Drbg;
use crate::lines::Lines;
use crate::noise::{FLOOD_TERM_BITS, FLOOD_TERMS, sum_max};
use crate::wipe::wipe;
use crate::{LANES, N};
use trefoil_kernels::packed::Ahead;
use trefoil_kernels::sample::{TRIT_BYTES, TritBytes};
use trefoil_kernels::{Cpu, aes, sample};
use zeroize::Zeroizing;

/// Bytes drawn at once. 243 of 256 are accepted: 911 on average, with a deviation of 7, where 820 are needed.
const TRIT_BYTES_DRAWN: usize = 960;

/// Uniform ternary polynomials, without bias: bytes below 3^5 carry five digits each, the others are rejected.
///
/// Memory addresses reveal which bytes are rejected; this reveals nothing about the accepted ones.
pub(crate) struct TernarySampler {
    cpu: Cpu,
    drawn: [u8; TRIT_BYTES_DRAWN],
    streams: [[u8; TRIT_BYTES_DRAWN]; aes::KEYS],
    /// Room for a whole draw after one byte too few, and the kernel's slack.
    accepted: [u8; TRIT_BYTES + TRIT_BYTES_DRAWN + sample::ACCEPT_SLACK],
}

impl TernarySampler {
    pub(crate) fn new(cpu: Cpu) -> TernarySampler {
        TernarySampler {
            cpu,
            drawn: [0; TRIT_BYTES_DRAWN],
            streams: [[0; TRIT_BYTES_DRAWN]; aes::KEYS],
            accepted: [0; TRIT_BYTES + TRIT_BYTES_DRAWN + sample::ACCEPT_SLACK],
        }
    }

    /// Adds `scale` times a fresh ternary polynomial to `acc`.
    pub(crate) fn add(&mut self, drbg: &mut Drbg, scale: i32, acc: &mut [i32]) {
        self.draw(drbg, 0);
        sample::add_ternary(self.cpu, &self.accepted[..TRIT_BYTES], scale, acc);
    }

    /// The digits of the polynomials that generators of `seeds` give to [`TernarySampler::add`].
    pub(crate) fn expand(&mut self, seeds: &[[u8; aes::KEY_BYTES]], digits: &mut [TritBytes]) {
        assert_eq!(seeds.len(), digits.len());
        let (together, alone) = seeds.as_chunks::<{ aes::KEYS }>();
        for (seeds, digits) in together.iter().zip(digits.as_chunks_mut::<{ aes::KEYS }>().0) {
            let [a, b, c, d] = &mut self.streams;
            aes::streams(self.cpu, seeds, [a, b, c, d]);
            for (i, (seed, digits)) in seeds.iter().zip(digits).enumerate() {
                self.accept(seed, i, digits);
            }
        }
        for (seed, digits) in alone.iter().zip(&mut digits[together.len() * aes::KEYS..]) {
            aes::stream(self.cpu, seed, 0, &mut self.streams[0]);
            self.accept(seed, 0, digits);
        }
    }

    /// The accepted bytes of stream `i`, the first request of a generator of `seed`.
    fn accept(&mut self, seed: &[u8; aes::KEY_BYTES], i: usize, digits: &mut TritBytes) {
        let count = sample::accept_trits(self.cpu, &self.streams[i], digits);
        if count < TRIT_BYTES {
            // Thirteen standard deviations off: the generator is run from its start, with its second request.
            let mut drbg = Drbg::from_seed(*seed).on(self.cpu);
            drbg.fill(&mut self.drawn);
            self.accepted[..count].copy_from_slice(&digits[..count]);
            self.draw(&mut drbg, count);
            digits[..TRIT_BYTES].copy_from_slice(&self.accepted[..TRIT_BYTES]);
        }
    }

    /// Fills `accepted`, of which the first `count` bytes are there.
    fn draw(&mut self, drbg: &mut Drbg, mut count: usize) {
        while count < TRIT_BYTES {
            drbg.fill(&mut self.drawn);
            count += sample::accept_trits(self.cpu, &self.drawn, &mut self.accepted[count..]);
        }
    }
}

impl Drop for TernarySampler {
    fn drop(&mut self) {
        wipe(&mut self.drawn);
        wipe(self.streams.as_flattened_mut());
        wipe(&mut self.accepted);
    }
}

/// Errors made from random bytes at a time, between prefetches of lines of the next sum.
const PIECE: usize = 512;
/// Lines of each of four templates that memory delivers in that time.
const PIECE_STEPS: usize = 4;

/// Errors of the centred binomial distribution with parameter 21: standard deviation 3.24.
pub(crate) struct ErrorSampler {
    cpu: Cpu,
    random: Lines<u8>,
}

impl ErrorSampler {
    pub(crate) fn new(cpu: Cpu) -> ErrorSampler {
        ErrorSampler { cpu, random: Lines::new(sample::BINOMIAL_BYTES * N) }
    }

    /// Writes N fresh errors.
    pub(crate) fn fill(&mut self, drbg: &mut Drbg, out: &mut [i32]) {
        self.fill_ahead(drbg, out, &mut Ahead::none());
    }

    /// The same, prefetching lines of the next sum in passing.
    pub(crate) fn fill_ahead(&mut self, drbg: &mut Drbg, out: &mut [i32], ahead: &mut Ahead<'_>) {
        ahead.ask(self.cpu, PIECE_STEPS);
        drbg.fill(&mut self.random);
        let pieces = self.random.chunks(sample::BINOMIAL_BYTES * PIECE);
        for (random, out) in pieces.zip(out.chunks_mut(PIECE)) {
            ahead.ask(self.cpu, PIECE_STEPS);
            sample::centred_binomial_21(self.cpu, random, out);
        }
    }
}

impl Drop for ErrorSampler {
    fn drop(&mut self) {
        wipe(&mut self.random);
    }
}

/// One flooding sample per lane: the sum of three uniform integers of 68 bits, centred; below 2^68.6 in size.
pub(crate) fn flood(drbg: &mut Drbg) -> Zeroizing<[i128; LANES]> {
    sums::<FLOOD_TERMS>(drbg, FLOOD_TERM_BITS)
}

/// For each of 32 coefficients the sum of `TERMS` independent uniform integers of `bits` bits, centred: exact integer arithmetic,
/// constant in time, and at most [`noise::sum_max`](crate::noise::sum_max) in size.
pub(crate) fn sums<const TERMS: usize>(drbg: &mut Drbg, bits: u32) -> Zeroizing<[i128; LANES]> {
    let mut random = [[[0u8; 16]; TERMS]; LANES];
    drbg.fill(random.as_flattened_mut().as_flattened_mut());
    let mut samples = Zeroizing::new([-(sum_max(TERMS, bits) as i128); LANES]);
    for (sample, terms) in samples.iter_mut().zip(&random) {
        for term in terms {
            *sample += (u128::from_le_bytes(*term) >> (128 - bits)) as i128;
        }
    }
    wipe(random.as_flattened_mut().as_flattened_mut());
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean of `f(x)` over the values.
    fn mean(values: &[i32], f: impl Fn(f64) -> f64) -> f64 {
        values.iter().map(|x| f(f64::from(*x))).sum::<f64>() / values.len() as f64
    }

    #[test]
    fn ternary_polynomials_are_balanced_and_fresh() {
        let mut drbg = Drbg::from_seed([1; 32]);
        let mut sampler = TernarySampler::new(Cpu::detected());
        let mut digits = vec![0; 64 * N];
        digits.chunks_mut(N).for_each(|poly| sampler.add(&mut drbg, 1, poly));
        for digit in -1..=1 {
            let share = digits.iter().filter(|x| **x == digit).count() as f64 / digits.len() as f64;
            // Five standard deviations of a share of 1/3 in 2^18 draws.
            assert!((share - 1.0 / 3.0).abs() < 0.0046, "{digit}: {share}");
        }
        assert!(digits.chunks(N).zip(digits.chunks(N).skip(1)).all(|(a, b)| a != b));
    }

    #[test]
    fn an_expanded_seed_is_what_its_generator_gives() {
        let mut sampler = TernarySampler::new(Cpu::detected());
        // Groups of four and single ones.
        let seeds: Vec<[u8; 32]> = (0..23).map(|seed| [seed; 32]).collect();
        let mut digits = vec![[0; size_of::<TritBytes>()]; seeds.len()];
        sampler.expand(&seeds, &mut digits);
        for (seed, digits) in seeds.iter().zip(digits) {
            let (mut expected, mut sum) = (vec![0; N], [0; N]);
            sampler.add(&mut Drbg::from_seed(*seed), 1, &mut expected);
            sample::sum_ternary(Cpu::detected(), &[digits], &mut sum);
            assert!(sum[..] == expected);
        }
    }

    #[test]
    fn errors_have_mean_0_variance_10_5_and_the_binomial_fourth_moment() {
        let mut drbg = Drbg::from_seed([2; 32]);
        let mut sampler = ErrorSampler::new(Cpu::detected());
        let mut errors = vec![0; 64 * N];
        errors.chunks_mut(N).for_each(|poly| sampler.fill(&mut drbg, poly));
        assert!(mean(&errors, |x| x).abs() < 0.032);
        assert!((mean(&errors, |x| x * x) - 10.5).abs() < 0.15);
        // 42 fair bits: fourth central moment 3 * 10.5^2 - 2 * 42 / 16 = 325.5.
        assert!((mean(&errors, |x| x.powi(4)) - 325.5).abs() < 12.0);
    }

    #[test]
    fn flooding_has_the_variance_of_three_uniform_terms_and_stays_in_its_bound() {
        let mut drbg = Drbg::from_seed([3; 32]);
        let samples: Vec<f64> = (0..2000)
            .flat_map(|_| *flood(&mut drbg))
            .inspect(|x| assert!(x.unsigned_abs() <= crate::noise::FLOOD_MAX))
            .map(|x| x as f64 / (1u128 << FLOOD_TERM_BITS) as f64)
            .collect();
        let n = samples.len() as f64;
        let variance = samples.iter().map(|x| x * x).sum::<f64>() / n;
        assert!((variance - 3.0 / 12.0).abs() < 0.01, "{variance}");
        assert!((samples.iter().sum::<f64>() / n).abs() < 0.012);
        // The shape of a sum of three: two thirds of the mass lie within half a term of the centre.
        let within = samples.iter().filter(|x| x.abs() < 0.5).count() as f64 / n;
        assert!((within - 2.0 / 3.0).abs() < 0.01, "{within}");
    }
}
