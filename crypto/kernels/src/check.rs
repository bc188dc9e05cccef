//! One checker per kernel: every tier of the machine against the portable twin, and the portable twin against the
//! definition, on random and extreme data at boundary sizes.

mod aes;
mod keccak;
mod packed;

use crate::ntt::{self, Ntt};
use crate::{Cpu, Tier, fermat, residue, sample, sha256};

/// A modulus of the scheme, and the largest that the kernels take.
const MODULI: [u64; 3] = [140_720_308_191_233, 140_700_980_543_489, residue::MODULUS_BOUND - 1];

/// The tokens of this machine; a machine without vector units still checks the portable twin.
fn tiers() -> impl Iterator<Item = Cpu> {
    Tier::available().map(Cpu::at_most)
}

/// SplitMix64: a fixed stream of test data.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Values below `bound`; the first ones are the extremes.
    fn below(&mut self, bound: u64, n: usize) -> Vec<u64> {
        (0..n).map(|i| if i < 8 { [bound - 1, 0][i % 2] } else { self.next() % bound }).collect()
    }

    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
}

#[test]
fn lifts_are_residues() {
    let mut x = vec![0, 1, -1, i32::MAX, i32::MIN, 98_305, -98_305];
    let mut stream = Stream(3);
    x.extend((0..4089).map(|_| stream.next() as i32));
    for q in MODULI {
        let expected: Vec<u64> = x.iter().map(|&v| i64::from(v).rem_euclid(q as i64) as u64).collect();
        for cpu in tiers() {
            let mut out = vec![0; x.len()];
            residue::lift(cpu, q, &x, &mut out);
            assert_eq!(out, expected, "{:?}", cpu.tier());
        }
    }
}

#[test]
fn folds_are_exact_dot_products() {
    let mut stream = Stream(4);
    for (blocks, length) in [(1, 8), (1, 4096), (3, 24), (32, 128), (5, 16)] {
        let extreme = vec![residue::OPERAND_BOUND - 1; blocks * length];
        let random = stream.below(residue::OPERAND_BOUND, blocks * length);
        for (x, y) in [(&extreme, &extreme), (&random, &extreme), (&random, &random)] {
            let expected: Vec<u128> = (0..blocks)
                .map(|b| (b * length..(b + 1) * length).map(|i| u128::from(x[i]) * u128::from(y[i])).sum())
                .collect();
            for cpu in tiers() {
                let mut out = vec![u128::MAX; blocks];
                residue::fold(cpu, x, y, &mut out);
                assert_eq!(out, expected, "{:?}, {blocks} blocks of {length}", cpu.tier());
            }
        }
    }
}

#[test]
fn mul_add_is_arithmetic_mod_q() {
    let mut stream = Stream(5);
    for q in MODULI {
        for n in [8, 16, 4096] {
            // Offsets make the extremes of the operands meet in every combination.
            let a = stream.below(q, n);
            let mut x = stream.below(residue::OPERAND_BOUND, n);
            x.rotate_left(1);
            let mut start = stream.below(residue::SUM_BOUND, n);
            start[..n / 2].fill(residue::SUM_BOUND - 1);
            let mut scaled = vec![0; n];
            residue::scale(q, &a, &mut scaled);
            let expected = multiplied(q, &a, &x, &start);
            let (mut y, mut z) = (stream.below(32 * q, n), stream.below(28 * q, n));
            y.rotate_left(1);
            z[n / 2..].fill(28 * q - 1);
            let expected_variable = multiplied(q, &y, &z, &start);
            for cpu in tiers() {
                let mut acc = start.clone();
                residue::mul_add(cpu, q, &scaled, &x, &mut acc);
                assert_eq!(acc, expected, "{:?}", cpu.tier());
                acc.clone_from(&start);
                residue::mul_add_variable(cpu, q, &y, &z, &mut acc);
                assert_eq!(acc, expected_variable, "{:?}", cpu.tier());
            }
        }
    }
}

/// `start + a * x mod q`, by division.
fn multiplied(q: u64, a: &[u64], x: &[u64], start: &[u64]) -> Vec<u64> {
    let exact = |i: usize| u128::from(start[i]) + u128::from(a[i]) * u128::from(x[i]);
    (0..start.len()).map(|i| (exact(i) % u128::from(q)) as u64).collect()
}

/// Primes of the scheme and a root of unity of order 8192 modulo each.
const ROOTS: [(u64, u64); 2] =
    [(140_720_308_191_233, 39_963_691_766_735), (140_700_980_543_489, 56_030_182_093_518)];

#[test]
fn transforms_are_values_at_the_roots() {
    let mut stream = Stream(11);
    for (q, root) in ROOTS {
        let reduced = stream.below(q, ntt::POINTS);
        let small: Vec<i32> =
            (0..ntt::POINTS as i32).map(|i| [98_305, i32::MIN, i32::MAX, i][i as usize % 4]).collect();
        let lifted: Vec<u64> = small.iter().map(|x| i64::from(*x).rem_euclid(q as i64) as u64).collect();
        for cpu in tiers() {
            let ntt = Ntt::new(cpu, q, root);
            // Both entrances, and the largest inputs.
            let (mut from_small, mut twice) = (vec![0; ntt::POINTS], reduced.clone());
            ntt.forward_small(&small, &mut from_small);
            twice.iter_mut().for_each(|x| *x += q);
            ntt.forward(&mut twice);
            for (input, output) in [(&lifted, from_small), (&reduced, twice)] {
                assert!(output.iter().all(|x| *x < 26 * q), "{:?}", cpu.tier());
                for place in (0..ntt::POINTS).step_by(37) {
                    let exponent = 2 * (ntt::order(place).reverse_bits() >> 52) + 1;
                    let point = (0..exponent).fold(1u128, |x, _| x * u128::from(root) % u128::from(q));
                    let value =
                        input.iter().rev().fold(0, |sum, c| (sum * point + u128::from(*c)) % u128::from(q));
                    assert_eq!(u128::from(output[place] % q), value, "{:?}, {place}", cpu.tier());
                }
            }
        }
    }
}

#[test]
fn transforms_of_all_tiers_are_congruent() {
    let mut stream = Stream(12);
    let (q, root) = ROOTS[0];
    let input = stream.below(2 * q, ntt::POINTS);
    let transform = |cpu| {
        let mut x = input.clone();
        Ntt::new(cpu, q, root).forward(&mut x);
        x.iter().map(|x| x % q).collect::<Vec<_>>()
    };
    let expected = transform(Cpu::at_most(Tier::Portable));
    for cpu in tiers() {
        assert!(transform(cpu) == expected, "{:?}", cpu.tier());
    }
}

#[test]
fn transforms_stay_in_range_where_every_stage_subtracts_most() {
    let (q, root) = ROOTS[0];
    let wide = u128::from(q);
    let power = |exponent: u32| (0..exponent).fold(1, |x, _| x * u128::from(root) % wide);
    // The last node of each stage leads to the difference of the differences. Coefficients at powers of two meet nothing
    // but multiples of q there, and each is chosen for a product so small that an estimate of its quotient which is not
    // raised is one too small, and leaves more than q: what it lacks is `short` times the operand over 2^52 q.
    let mut input = vec![0; ntt::POINTS];
    for stage in 0..ntt::POINTS.ilog2() {
        let exponent = ((2u32 << stage) - 1).reverse_bits() >> (u32::BITS - ntt::POINTS.ilog2());
        let short = (power(exponent) << 52) % wide;
        let product = ((short * u128::from(12 - stage) * wide) >> 52) * 9 / 10;
        input[ntt::POINTS >> (stage + 1)] = (product * power(8192 - exponent) % wide) as u64;
    }
    let transform = |cpu| {
        let mut x = input.clone();
        Ntt::new(cpu, q, root).forward(&mut x);
        assert!(x.iter().all(|x| *x < 26 * q), "{:?}", cpu.tier());
        x.iter().map(|x| x % q).collect::<Vec<_>>()
    };
    let expected = transform(Cpu::at_most(Tier::Portable));
    for cpu in tiers() {
        assert!(transform(cpu) == expected, "{:?}", cpu.tier());
    }
}

#[test]
fn sums_of_ternary_polynomials_are_what_adding_them_gives() {
    let mut stream = Stream(13);
    for count in [0, 1, 2, 31, 32] {
        let polynomials: Vec<sample::TritBytes> = (0..count)
            .map(|i| {
                std::array::from_fn(|k| if i == 0 { (k % 243) as u8 } else { (stream.next() % 243) as u8 })
            })
            .collect();
        let mut expected = vec![0; sample::TRIT_POLYNOMIAL];
        for polynomial in &polynomials {
            let cpu = Cpu::at_most(Tier::Portable);
            sample::add_ternary(cpu, &polynomial[..sample::TRIT_BYTES], 1, &mut expected);
        }
        for cpu in tiers() {
            let mut sum = [99; sample::TRIT_POLYNOMIAL];
            sample::sum_ternary(cpu, &polynomials, &mut sum);
            assert!(sum[..] == expected, "{:?}, {count}", cpu.tier());
        }
    }
}

#[test]
fn binomial_samples_count_bits() {
    let mut random = Stream(6).bytes(6 * 4096);
    random[..6].fill(0xff);
    random[6..12].copy_from_slice(&((1u64 << 21) - 1).to_le_bytes()[..6]);
    random[12..18].copy_from_slice(&(u64::MAX << 21).to_le_bytes()[..6]);
    let bits = |word: &[u8], from: usize| {
        (from..from + 21).filter(|i| word[i / 8] >> (i % 8) & 1 == 1).count() as i32
    };
    let expected: Vec<i32> = random.chunks(6).map(|word| bits(word, 0) - bits(word, 21)).collect();
    assert_eq!(expected[..3], [0, 21, -21]);
    for cpu in tiers() {
        for n in [1, 15, 16, 17, 4096] {
            let mut out = vec![99; n];
            sample::centred_binomial_21(cpu, &random[..6 * n], &mut out);
            assert_eq!(out, expected[..n], "{:?}", cpu.tier());
        }
    }
}

#[test]
fn accepted_bytes_are_those_below_the_bound_in_order() {
    let mut stream = Stream(8);
    let all: Vec<u8> = (0..=255).collect();
    for drawn in [vec![], vec![0; 64], vec![255; 128], vec![242; 192], all, stream.bytes(960)] {
        let expected: Vec<u8> = drawn.iter().copied().filter(|byte| *byte < 243).collect();
        for cpu in tiers() {
            let mut out = vec![0xaa; drawn.len() + sample::ACCEPT_SLACK];
            let count = sample::accept_trits(cpu, &drawn, &mut out);
            assert_eq!(out[..count], expected, "{:?}", cpu.tier());
        }
    }
}

#[test]
fn ternary_digits_are_the_base_3_expansion_of_every_byte() {
    let bytes: Vec<u8> = (0..sample::TRITS_BOUND).collect();
    for n in [5 * bytes.len(), 5 * bytes.len() - 4, 4 * bytes.len() + 1] {
        for scale in [1, -1, 65_537] {
            let expected: Vec<i32> = (0..n)
                .map(|i| 7 + scale * (i32::from(bytes[i % 243]) / 3i32.pow((i / 243) as u32) % 3 - 1))
                .collect();
            for cpu in tiers() {
                let mut acc = vec![7; n];
                sample::add_ternary(cpu, &bytes, scale, &mut acc);
                assert_eq!(acc, expected, "{:?}", cpu.tier());
            }
        }
    }
}

#[test]
fn interpolation_is_undone_by_evaluation() {
    let mut stream = Stream(7);
    let roots = fermat::roots();
    for columns in [1, 3, 16, 128] {
        let mut values: Vec<i32> =
            (0..32 * columns).map(|_| (stream.next() % 65_537) as i32 - 32_768).collect();
        values[0] = fermat::CENTRED_MAX;
        values[columns] = -fermat::CENTRED_MAX;
        for cpu in tiers() {
            let mut matrix = values.clone();
            fermat::interpolate_columns(cpu, &mut matrix);
            assert!(matrix.iter().all(|x| x.abs() <= fermat::CENTRED_MAX));
            for column in 0..columns {
                for (i, root) in roots.iter().enumerate() {
                    let horner = (0..32).rev().fold(0i64, |sum, k| {
                        (sum * i64::from(*root) + i64::from(matrix[k * columns + column])).rem_euclid(65_537)
                    });
                    let expected = i64::from(values[i * columns + column]).rem_euclid(65_537);
                    assert_eq!(horner, expected, "{:?}, column {column}, root {i}", cpu.tier());
                }
            }
        }
    }
}

/// Claim M28.
#[test]
fn the_roots_are_the_32_roots_of_x_to_the_32_plus_1() {
    let mut roots = fermat::roots();
    assert!(roots.iter().all(|root| fermat::power(*root, 32) == -1));
    roots.sort_unstable();
    assert!(roots.windows(2).all(|pair| pair[0] < pair[1]));
}

/// Known answers of FIPS 180-4 (examples of the Secure Hash Standard): the messages as padded blocks, and their digests.
const SHA_256_ANSWERS: [(&[u8], [u32; 8]); 3] = [
    (b"", [0xe3b0c442, 0x98fc1c14, 0x9afbf4c8, 0x996fb924, 0x27ae41e4, 0x649b934c, 0xa495991b, 0x7852b855]),
    (
        b"abc",
        [0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad],
    ),
    (
        b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        [0x248d6a61, 0xd20638b8, 0xe5c02693, 0x0c3e6039, 0xa33ce459, 0x64ff2167, 0xf6ecedd4, 0x19db06c1],
    ),
];

/// SHA-256 padding (FIPS 180-4, section 5.1.1), as words.
fn padded_blocks(message: &[u8]) -> Vec<[u32; 16]> {
    let mut bytes = [message, &[0x80]].concat();
    bytes.resize((bytes.len() + 8).next_multiple_of(64), 0);
    let end = bytes.len() - 8;
    bytes[end..].copy_from_slice(&(8 * message.len() as u64).to_be_bytes());
    let words: Vec<u32> = bytes.as_chunks().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
    words.as_chunks().0.to_vec()
}

/// The tokens with and without the SHA extensions.
fn sha_tiers() -> impl Iterator<Item = Cpu> {
    tiers().flat_map(|cpu| [cpu, cpu.without_sha()])
}

#[test]
fn sha_256_gives_the_known_answers_in_every_lane() {
    for cpu in sha_tiers() {
        for (message, digest) in SHA_256_ANSWERS {
            for lane in 0..sha256::LANES {
                // The other lanes hash something else.
                let mut state = sha256::INITIAL_STATE.map(|word| [word; sha256::LANES]);
                for words in padded_blocks(message) {
                    let mut block = [[0x5a5a_5a5a; sha256::LANES]; 16];
                    block.iter_mut().zip(words).for_each(|(row, word)| row[lane] = word);
                    sha256::compress(cpu, &mut state, &block);
                }
                assert_eq!(state.map(|row| row[lane]), digest, "{cpu:?}, lane {lane}");
            }
        }
    }
}

#[test]
fn sha_256_of_different_states_and_blocks_agrees_with_the_portable_twin() {
    let mut stream = Stream(9);
    let mut words = |extreme: Option<u32>| -> sha256::Words {
        std::array::from_fn(|_| extreme.unwrap_or_else(|| stream.next() as u32))
    };
    for extreme in [Some(0), Some(u32::MAX)].into_iter().chain([None; 20]) {
        let start = std::array::from_fn(|_| words(extreme));
        let blocks: [[sha256::Words; 16]; 3] =
            std::array::from_fn(|_| std::array::from_fn(|_| words(extreme)));
        let run = |cpu| {
            let mut state = start;
            blocks.iter().for_each(|block| sha256::compress(cpu, &mut state, block));
            state
        };
        let expected = run(Cpu::at_most(Tier::Portable));
        for cpu in sha_tiers() {
            assert_eq!(run(cpu), expected, "{cpu:?}");
        }
    }
}

#[test]
fn sha_256_chains_hash_an_address_a_step_and_the_value_before() {
    let mut stream = Stream(10);
    let mut words = || -> sha256::Words { std::array::from_fn(|_| stream.next() as u32) };
    let midstate = std::array::from_fn(|_| words());
    let mut address: [sha256::Words; 6] = std::array::from_fn(|_| words());
    address[5] = address[5].map(|word| word & 0xffff_0000);
    let first: [sha256::Words; 4] = std::array::from_fn(|_| words());
    // The definition in bytes, one lane at a time.
    let mut expected = vec![first];
    for step in 0..16u16 {
        let mut block = [[0; sha256::LANES]; 16];
        for lane in 0..sha256::LANES {
            let mut bytes: Vec<u8> = address[..5].iter().flat_map(|row| row[lane].to_be_bytes()).collect();
            bytes.extend(((address[5][lane] >> 16) as u16).wrapping_add(step).to_be_bytes());
            bytes.extend(expected[usize::from(step)].iter().flat_map(|row| row[lane].to_be_bytes()));
            bytes.push(0x80);
            bytes.resize(56, 0);
            bytes.extend((8 * (64 + 38u64)).to_be_bytes());
            for (row, word) in block.iter_mut().zip(bytes.as_chunks().0) {
                row[lane] = u32::from_be_bytes(*word);
            }
        }
        let mut state = midstate;
        sha256::compress(Cpu::at_most(Tier::Portable), &mut state, &block);
        expected.push(*state.first_chunk().expect("four of eight words"));
    }
    for cpu in sha_tiers() {
        for length in [0, 1, 2, 16, 17] {
            let mut values = vec![[[0; sha256::LANES]; 4]; length];
            values.first_mut().into_iter().for_each(|value| *value = first);
            sha256::chain(cpu, &midstate, &address, &mut values);
            assert!(values == expected[..length], "{cpu:?}, {length} values");
        }
    }
}
