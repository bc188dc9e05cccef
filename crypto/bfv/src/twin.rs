//! A slow twin of the scheme, from the definitions: coefficients modulo Q in 128-bit integers, schoolbook products, roots of
//! unity evaluated one by one. It shares no transform, no reduction and no lane layout with the rest of the crate.
//! Each decrypts the other's ciphertexts.

use crate::ciphertext::TemplateCiphertext;
use crate::keys::SubjectKey;
use crate::masked::MaskedBatch;
use crate::sample::TernarySampler;
use crate::{
    Basis, Decryptor, Drbg, Embedding, Handle, LANES, Masker, MasterKey, N, Placed, Salt, Scheme, Share, T,
    Width,
};
use trefoil_kernels::{Cpu, packed};

/// The primes and, for each, the root of unity of order 8192 that defines the stored form of a polynomial.
const LIMBS: [(u64, u64); 2] =
    [(140_720_308_191_233, 39_963_691_766_735), (140_700_980_543_489, 56_030_182_093_518)];
const Q: u128 = LIMBS[0].0 as u128 * LIMBS[1].0 as u128;
/// A 64th root of unity modulo 65537.
const LANE_ROOT: i64 = 4080;

fn power(base: u64, exponent: u64, q: u64) -> u64 {
    (0..exponent).fold(1, |x, _| (u128::from(x) * u128::from(base) % u128::from(q)) as u64)
}

fn inverse(x: u128, q: u128) -> u128 {
    // Euclid's algorithm, extended.
    let (mut r, mut s) = ((q as i128, (x % q) as i128), (0i128, 1i128));
    while r.1 != 0 {
        let quotient = r.0 / r.1;
        (r, s) = ((r.1, r.0 - quotient * r.1), (s.1, s.0 - quotient * s.1));
    }
    s.0.rem_euclid(q as i128) as u128
}

fn reverse(bits: u32, x: usize) -> usize {
    (0..bits).filter(|k| x >> k & 1 == 1).map(|k| 1 << (bits - 1 - k)).sum()
}

/// All powers of a root of order 8192.
fn powers(root: u64, q: u64) -> Vec<u128> {
    let mut powers = vec![1u128; 2 * N];
    for k in 1..2 * N {
        powers[k] = powers[k - 1] * u128::from(root) % u128::from(q);
    }
    powers
}

/// Bit-reversed, but with the last two octal digits swapped: the place of the value at `root^(2 * place + 1)`.
fn place(j: usize) -> usize {
    reverse(12, j / 64 * 64 + j % 8 * 8 + j / 8 % 8)
}

fn places() -> Vec<usize> {
    (0..N).map(place).collect()
}

/// Values at `root^(2 * place(j) + 1)` to coefficients, by the inversion formula.
fn interpolate(values: &[u64], root: u64, q: u64) -> Vec<u64> {
    let (powers, places) = (powers(root, q), places());
    let scale = inverse(N as u128, u128::from(q));
    let coefficient = |k: usize| {
        let term =
            |j: usize| u128::from(values[j]) * powers[(2 * N - (2 * places[j] + 1) * k % (2 * N)) % (2 * N)];
        ((0..N).map(term).sum::<u128>() % u128::from(q) * scale % u128::from(q)) as u64
    };
    (0..N).map(coefficient).collect()
}

/// Coefficients to values, by evaluation.
fn evaluate(coefficients: &[u64], root: u64, q: u64) -> Vec<u64> {
    let (powers, places) = (powers(root, q), places());
    let value = |j: usize| {
        let term = |k: usize| u128::from(coefficients[k]) * powers[(2 * places[j] + 1) * k % (2 * N)];
        ((0..N).map(term).sum::<u128>() % u128::from(q)) as u64
    };
    (0..N).map(value).collect()
}

/// The integer below Q with these residues.
fn combine(residues: [u64; 2]) -> u128 {
    let part = |i: usize| {
        let q = u128::from(LIMBS[i].0);
        let cofactor = Q / q;
        u128::from(residues[i]) * inverse(cofactor, q) % q * cofactor
    };
    (part(0) + part(1)) % Q
}

/// A stored polynomial (values modulo each prime) to coefficients modulo Q.
fn coefficients(values: &[u64]) -> Vec<u128> {
    let [a, b] = [0, 1].map(|i| interpolate(&values[i * N..(i + 1) * N], LIMBS[i].1, LIMBS[i].0));
    a.iter().zip(&b).map(|(a, b)| combine([*a, *b])).collect()
}

/// Coefficients modulo Q to a stored polynomial.
fn values(coefficients: &[u128]) -> Vec<u64> {
    LIMBS
        .iter()
        .flat_map(|&(q, root)| {
            let residues: Vec<u64> = coefficients.iter().map(|x| (x % u128::from(q)) as u64).collect();
            evaluate(&residues, root, q)
        })
        .collect()
}

/// The product modulo `X^4096 + 1` and Q of a polynomial and one with coefficients below 2^17.
fn product(x: &[u128], small: &[i64]) -> Vec<u128> {
    let mut sums = vec![0i128; N];
    for (j, &y) in small.iter().enumerate().filter(|(_, y)| **y != 0) {
        for (i, &x) in x.iter().enumerate() {
            // At most 2^94 * 2^17 * 2^12 = 2^123 in all.
            let term = x as i128 * i128::from(y);
            if i + j < N { sums[i + j] += term } else { sums[i + j - N] -= term }
        }
    }
    sums.iter().map(|x| x.rem_euclid(Q as i128) as u128).collect()
}

/// `c` of the lane `X^d - c` of a ciphertext of `4096 / d`, modulo t: an odd power of a root of twice this order.
fn lane_point(d: usize, lane: usize) -> i64 {
    let root = power(LANE_ROOT as u64, (d / 128) as u64, T);
    power(root, 2 * reverse((N / d).ilog2(), lane) as u64 + 1, T) as i64
}

/// The plaintext polynomial, modulo t, of which these are the lanes, of `d` numbers each.
fn encode(d: usize, lanes: &[Vec<i64>]) -> Vec<i64> {
    let (t, count) = (T as i64, N / d);
    let mut message = vec![0; N];
    for m in 0..count {
        let scale = inverse(count as u128, u128::from(T)) as i64;
        for (lane, content) in lanes.iter().enumerate() {
            // A lane's point has this order.
            let order = 2 * count;
            let weight =
                power(lane_point(d, lane) as u64, ((order - m) % order) as u64, T) as i64 * scale % t;
            for (k, value) in content.iter().enumerate() {
                message[d * m + k] = (message[d * m + k] + weight * value).rem_euclid(t);
            }
        }
    }
    message
}

/// The plaintext polynomial of a template in one lane of a ciphertext.
fn encode_template(lane: usize, template: &[i64]) -> Vec<i64> {
    let d = template.len();
    let untwist = inverse(lane_point(d, lane) as u128, u128::from(T)) as i64;
    let mut lanes = vec![vec![0; d]; N / d];
    lanes[lane][0] = template[0];
    for k in 1..d {
        lanes[lane][d - k] = template[k] * untwist % T as i64;
    }
    encode(d, &lanes)
}

/// `round(t * v / Q)` modulo t.
fn round(v: u128) -> i64 {
    (((v * u128::from(T) + Q / 2) / Q) % u128::from(T)) as i64
}

/// The value in `lane` of the polynomial whose coefficients of `X^0, X^d, ..` are given, centred.
fn score(lane: usize, constants: &[i64]) -> i32 {
    let (t, point) = (T as i64, lane_point(N / constants.len(), lane));
    let value = constants.iter().rev().fold(0, |sum, c| (sum * point + c) % t);
    (if value > t / 2 { value - t } else { value }) as i32
}

/// `-a * s + floor(Q / t) * m + e`.
fn encrypt(a: &[u128], s: &[i64], message: &[i64], error: &[i64]) -> Vec<u128> {
    let masked = product(a, &s.iter().map(|s| -s).collect::<Vec<_>>());
    let scaled = message.iter().zip(error).map(|(&m, &e)| {
        (Q / u128::from(T) * m as u128 + (e.rem_euclid(1 << 40) as u128)).wrapping_add(if e < 0 {
            Q - (1 << 40)
        } else {
            0
        })
    });
    masked.iter().zip(scaled).map(|(x, y)| (x + y) % Q).collect()
}

/// Subjects with keys of the crate, and everything in the twin's form.
struct World {
    basis: Basis,
    a: Vec<u128>,
    keys: Vec<SubjectKey>,
    rng: Drbg,
}

impl World {
    fn new(seed: u8) -> World {
        let mut rng = Drbg::from_seed([seed; 32]);
        let basis = Basis::from_seed(Scheme::shared(), [seed; 32]);
        let a = coefficients(&basis.values());
        let master = MasterKey::random(&mut rng);
        let keys =
            (0..32).map(|i| master.subject_key(&Handle::new([i; 32]), 0, &Salt::random(&mut rng))).collect();
        World { basis, a, keys, rng }
    }

    /// The sum of these subjects' keys.
    fn secret(&self, subjects: &[usize]) -> Vec<i64> {
        let mut sum = vec![0; N];
        let mut sampler = TernarySampler::new(Cpu::detected());
        subjects.iter().for_each(|i| self.keys[*i].add_to(&mut sampler, 1, &mut sum));
        sum.into_iter().map(i64::from).collect()
    }

    fn small_error(&mut self) -> Vec<i64> {
        let mut bytes = vec![0u8; N];
        self.rng.fill(&mut bytes);
        bytes.iter().map(|x| i64::from(x % 21) - 10).collect()
    }
}

fn unpack(bytes: &[u8]) -> Vec<u64> {
    let mut values = vec![0; bytes.len() / 6];
    packed::unpack(trefoil_kernels::Cpu::at_most(trefoil_kernels::Tier::Portable), bytes, &mut values);
    values
}

fn as_integers(embedding: &Embedding) -> Vec<i64> {
    embedding.values().iter().copied().map(i64::from).collect()
}

#[test]
fn the_twin_decrypts_our_templates() {
    let mut world = World::new(1);
    for (width, lane) in Width::ALL
        .into_iter()
        .zip([[0, 13, 31], [7, 19, 16], [31, 22, 0]])
        .flat_map(|(w, x)| x.map(|x| (w, x)))
    {
        let face = Embedding::random(width, &mut world.rng);
        let ciphertext = world.basis.encrypt_lane(&world.keys[lane], lane, &Share::of(&face), &mut world.rng);
        let c0 = coefficients(&unpack(ciphertext.as_bytes()));
        let c1_s = product(&world.a, &world.secret(&[lane]));
        let message: Vec<i64> = c0.iter().zip(&c1_s).map(|(c0, c1)| round((c0 + c1) % Q)).collect();
        let expected = encode_template(lane % width.lanes(), &as_integers(&face));
        assert_eq!(message, expected, "lane {lane} of {width:?}");
        // What is left is a centred binomial error: at most 21 (and 1 for the centring of the message), variance 10.5.
        let errors = c0.iter().zip(&c1_s).zip(&message).map(|((c0, c1), m)| {
            let rest = (c0 + c1 + Q - Q / u128::from(T) * *m as u128) % Q;
            if rest > Q / 2 { rest as i128 - Q as i128 } else { rest as i128 }
        });
        let squares: Vec<i128> = errors.map(|e| e * e).collect();
        assert!(squares.iter().all(|square| *square <= 22 * 22));
        let variance = squares.iter().sum::<i128>() as f64 / N as f64;
        assert!((variance - 10.5).abs() < 1.2, "{variance}");
    }
}

/// Claim M3.
#[test]
fn we_decrypt_the_twins_templates() {
    let mut world = World::new(2);
    for width in Width::ALL {
        let lanes = [3, 4, 30];
        let faces = lanes.map(|_| Embedding::random(width, &mut world.rng));
        let probes = lanes.map(|_| Embedding::random(width, &mut world.rng));
        let ciphertexts: Vec<TemplateCiphertext> = lanes
            .iter()
            .zip(&faces)
            .map(|(&lane, face)| {
                let error = world.small_error();
                let message = encode_template(lane % width.lanes(), &as_integers(face));
                let c0 = encrypt(&world.a, &world.secret(&[lane]), &message, &error);
                TemplateCiphertext::from_bytes(
                    Scheme::shared(),
                    TemplateCiphertext::pack(&values(&c0)).as_bytes(),
                )
                .expect("canonical")
            })
            .collect();
        let placed: Vec<Placed<'_>> =
            (0..3).map(|i| Placed { lane: lanes[i], template: &ciphertexts[i], probe: &probes[i] }).collect();
        let masked = Masker::new(Scheme::shared(), [3; 32]).mask(&world.basis, &placed);
        let keys = lanes.map(|lane| (lane, &world.keys[lane]));
        let opened = Decryptor::new(Scheme::shared()).decrypt(keys, &masked);
        let mut expected = [0; LANES];
        (0..3).for_each(|i| expected[lanes[i]] = faces[i].dot(&probes[i]));
        assert_eq!(opened.scores(), &expected, "{width:?}");
        assert!(opened.within_band());
    }
}

/// Claim M3: An independent slow implementation decrypts ciphertexts of this one, and the reverse.
#[test]
fn the_twin_decrypts_our_masked_batches() {
    let mut world = World::new(4);
    for width in Width::ALL {
        // The last lane of all, so that wide batches leave ciphertexts out.
        let lanes: Vec<usize> = (0..14).chain([31]).collect();
        let faces: Vec<Embedding> = lanes.iter().map(|_| Embedding::random(width, &mut world.rng)).collect();
        let probes: Vec<Embedding> = lanes.iter().map(|_| Embedding::random(width, &mut world.rng)).collect();
        let ciphertexts: Vec<TemplateCiphertext> = lanes
            .iter()
            .zip(&faces)
            .map(|(&lane, face)| {
                world.basis.encrypt_lane(&world.keys[lane], lane, &Share::of(face), &mut world.rng)
            })
            .collect();
        let placed: Vec<Placed<'_>> = (0..lanes.len())
            .map(|i| Placed { lane: lanes[i], template: &ciphertexts[i], probe: &probes[i] })
            .collect();
        let masked: MaskedBatch = Masker::new(Scheme::shared(), [5; 32]).mask(&world.basis, &placed);
        let (c0, mut scores) = (masked.c0(), [0; LANES]);
        for (of, c1) in masked.ciphertexts() {
            let subjects: Vec<usize> = lanes.iter().copied().filter(|lane| of.contains(lane)).collect();
            let c1_s = product(&coefficients(c1), &world.secret(&subjects));
            let constants: Vec<i64> = of
                .clone()
                .zip(c1_s.iter().step_by(width.numbers()))
                .map(|(k, c1_s)| round((combine([c0[k], c0[LANES + k]]) + c1_s) % Q))
                .collect();
            of.clone().for_each(|lane| scores[lane] = score(lane - of.start, &constants));
        }
        let mut expected = [0; LANES];
        (0..lanes.len()).for_each(|i| expected[lanes[i]] = faces[i].dot(&probes[i]));
        assert_eq!(scores, expected, "{width:?}");
    }
}

#[test]
fn the_twin_is_consistent_with_itself() {
    let mut world = World::new(6);
    let message: Vec<i64> = world.small_error().iter().map(|e| (e * 3001).rem_euclid(T as i64)).collect();
    let (error, s) = (world.small_error(), world.secret(&[1, 2]));
    let c0 = encrypt(&world.a, &s, &message, &error);
    assert_eq!(coefficients(&values(&c0)), c0);
    let c1_s = product(&world.a, &s);
    assert!(c0.iter().zip(&c1_s).map(|(c0, c1)| round((c0 + c1) % Q)).eq(message.iter().copied()));
}
