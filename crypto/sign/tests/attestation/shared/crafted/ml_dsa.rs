//! ML-DSA-65 signatures for a key with t1 = 0.

use serde_json::Value;
use sha2::{Digest as _, Sha512};
use sha3::digest::{ExtendableOutput as _, Update as _, XofReader as _};
use sha3::{Shake128, Shake256};
use trefoil_attest::{Family, ML_DSA_65_PUBLIC_KEY_BYTES};

use super::Crafted;

const Q: i64 = 8_380_417;
const ROWS: usize = 6;
const COLUMNS: usize = 5;
const GAMMA1: i64 = 1 << 19;
const GAMMA2: i64 = (Q - 1) / 32;
/// gamma1 - beta: coefficients of z are smaller.
const BOUND: i64 = GAMMA1 - 196;
const OMEGA: usize = 55;
const CHALLENGE_BYTES: usize = 48;
const RHO: [u8; 32] = [7; 32];

type Polynomial = [i64; 256];
type Z = [Polynomial; COLUMNS];
/// The coefficients of each row that have a hint.
type Hint = [Vec<u8>; ROWS];

pub(super) fn public_key() -> [u8; ML_DSA_65_PUBLIC_KEY_BYTES] {
    let mut key = [0; ML_DSA_65_PUBLIC_KEY_BYTES];
    key[..RHO.len()].copy_from_slice(&RHO);
    key
}

fn shake256<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut hash = Shake256::default();
    parts.iter().for_each(|part| hash.update(part));
    let mut out = [0; N];
    hash.finalize_xof().read(&mut out);
    out
}

/// The digest of a message behind these bytes, which FIPS 204 algorithms 2 and 4 put before it.
fn mu(prefix: &[u8], message: &[u8]) -> [u8; 64] {
    let tr: [u8; 64] = shake256(&[&public_key()]);
    shake256(&[&tr, prefix, message])
}

/// An entry of A, in the NTT domain (algorithm 30).
fn entry(row: usize, column: usize) -> Polynomial {
    let mut hash = Shake128::default();
    hash.update(&RHO);
    hash.update(&[column as u8, row as u8]);
    let mut reader = hash.finalize_xof();
    std::array::from_fn(|_| {
        loop {
            let mut bytes = [0; 3];
            reader.read(&mut bytes);
            let value = i64::from(bytes[0]) | i64::from(bytes[1]) << 8 | i64::from(bytes[2] & 0x7f) << 16;
            if value < Q {
                break value;
            }
        }
    })
}

/// A z, by the definition of the NTT: the values at the odd powers of 1753, in bit-reversed order (section 7.5).
fn product(z: &Z) -> [Polynomial; ROWS] {
    let mut powers = [1; 512];
    (1..512).for_each(|at| powers[at] = powers[at - 1] * 1753 % Q);
    let power = |at: usize, exponent: usize| {
        powers[(2 * usize::from((at as u8).reverse_bits()) + 1) * exponent % 512]
    };
    let transformed: [Polynomial; COLUMNS] = z.map(|z| match z == [0; 256] {
        true => z,
        false => std::array::from_fn(|at| (0..256).map(|j| z[j] * power(at, j)).sum::<i64>().rem_euclid(Q)),
    });
    if transformed == [[0; 256]; COLUMNS] {
        return [[0; 256]; ROWS];
    }
    // 256 * 8347681 = 1 modulo q (section 7.5).
    std::array::from_fn(|row| {
        let entries: [Polynomial; COLUMNS] = std::array::from_fn(|column| entry(row, column));
        let values: Polynomial = std::array::from_fn(|at| {
            (0..COLUMNS).map(|column| entries[column][at] * transformed[column][at] % Q).sum::<i64>() % Q
        });
        std::array::from_fn(|j| {
            let sum = (0..256).map(|at| values[at] * power(at, 512 - j) % Q).sum::<i64>();
            sum % Q * 8_347_681 % Q
        })
    })
}

/// Algorithm 40.
fn use_hint(hint: bool, r: i64) -> u8 {
    let mut low = r % (2 * GAMMA2);
    if low > GAMMA2 {
        low -= 2 * GAMMA2;
    }
    let (high, low) = if r - low == Q - 1 { (0, low - 1) } else { ((r - low) / (2 * GAMMA2), low) };
    let high = match (hint, low > 0) {
        (false, _) => high,
        (true, true) => high + 1,
        (true, false) => high + 15,
    };
    (high % 16) as u8
}

/// The challenge for the high parts of w' (algorithm 28).
fn challenge(mu: &[u8; 64], high: &[[u8; 256]; ROWS]) -> [u8; CHALLENGE_BYTES] {
    let packed: Vec<u8> = high.as_flattened().chunks(2).map(|pair| pair[0] | pair[1] << 4).collect();
    shake256(&[mu, &packed])
}

/// The signature of any z with any hint.
fn sign(mu: &[u8; 64], z: &Z, hint: &Hint) -> Vec<u8> {
    let w = product(z);
    let high = std::array::from_fn(|row| {
        std::array::from_fn(|at| use_hint(hint[row].contains(&(at as u8)), w[row][at]))
    });
    encode(&challenge(mu, &high), z, hint)
}

/// Algorithm 26.
fn encode(challenge: &[u8; CHALLENGE_BYTES], z: &Z, hint: &Hint) -> Vec<u8> {
    let mut out = challenge.to_vec();
    for pair in z.as_flattened().chunks(2) {
        let [low, high] = [pair[0], pair[1]].map(|value| ((GAMMA1 - value) & 0xf_ffff) as u64);
        out.extend_from_slice(&(low | high << 20).to_le_bytes()[..5]);
    }
    let mut places = hint.concat();
    places.resize(OMEGA, 0);
    out.extend(places);
    let mut end = 0;
    out.extend(hint.iter().map(|row| {
        end += row.len();
        end as u8
    }));
    out
}

/// z = 0 without a hint.
pub(super) fn plain(message: &[u8]) -> Vec<u8> {
    sign(&mu(&[0, 0], message), &[[0; 256]; COLUMNS], &Hint::default())
}

fn one(row: usize, at: usize, value: i64) -> Z {
    let mut z = [[0; 256]; COLUMNS];
    z[row][at] = value;
    z
}

fn hint<const N: usize>(rows: [&[u8]; N]) -> Hint {
    std::array::from_fn(|row| rows.get(row).map(|row| row.to_vec()).unwrap_or_default())
}

pub(super) fn cases(base: &Crafted) -> Vec<Value> {
    let message = base.message(Family::MlDsa65);
    let own = mu(&[0, 0], &message);
    let mut cases = Vec::new();
    let mut add = |name: &str, signature: &[u8], is_valid| {
        cases.push(base.case(Family::MlDsa65, name, signature, is_valid));
    };
    let none = Hint::default();
    for (row, at) in [(0, 0), (4, 255), (2, 128)] {
        for value in [BOUND - 1, 1 - BOUND, BOUND, -BOUND, BOUND + 1, GAMMA1, 1 - GAMMA1] {
            let name = format!("coefficient {at} of z[{row}] is {value}");
            add(&name, &sign(&own, &one(row, at, value), &none), value.abs() < BOUND);
        }
    }
    add("each coefficient of z is the largest", &sign(&own, &[[BOUND - 1; 256]; COLUMNS], &none), true);
    add("each coefficient of z is the smallest", &sign(&own, &[[1 - BOUND; 256]; COLUMNS], &none), true);

    let z = one(1, 77, 123_456);
    let some: Vec<u8> = (0..55).map(|at| 4 * at + 3).collect();
    let spread = std::array::from_fn(|row| some[9 * row..(9 * row + 9).max(11 * row)].to_vec());
    for (name, hint) in [
        ("no hint", none.clone()),
        ("55 hints", spread),
        ("55 hints in the first row", hint([&some])),
        ("55 hints in the last row", hint([&[], &[], &[], &[], &[], &some])),
        ("hints at both ends of each row", hint([&[0, 255]; ROWS])),
        ("the same hint in each row", hint([&[7]; ROWS])),
    ] {
        add(name, &sign(&own, &z, &hint), true);
        // With z = 0 the low parts are 0, where a hint lowers the high part.
        add(&format!("z = 0 and {name}"), &sign(&own, &[[0; 256]; COLUMNS], &hint), true);
    }
    let place = |at: usize| CHALLENGE_BYTES + 640 * COLUMNS + at;
    let mut encoded = |name: &str, hint: &Hint, bytes: &[(usize, u8)]| {
        let mut signature = sign(&own, &z, hint);
        bytes.iter().for_each(|&(at, byte)| signature[place(at)] = byte);
        add(name, &signature, false);
    };
    let ends = |value: u8| (OMEGA..OMEGA + ROWS).map(|at| (at, value)).collect::<Vec<_>>();
    encoded("hints out of order", &hint([&[3, 9]]), &[(0, 9), (1, 3)]);
    encoded("the same hint twice", &hint([&[3]]), &[&[(1, 3)], &ends(2)[..]].concat());
    encoded("a byte behind the hints", &hint([&[3]]), &[(1, 1)]);
    encoded("the last byte behind the hints", &hint([&[3]]), &[(54, 1)]);
    encoded("a row that ends before the one above", &hint([&[3, 4]]), &[(OMEGA, 2), (OMEGA + 1, 1)]);
    encoded("56 hints", &hint([&some]), &[(OMEGA + 5, 56)]);
    encoded("255 hints", &none, &[(OMEGA + 5, 255)]);
    encoded("a hint that the challenge does not have", &none, &[&[(0, 5)], &ends(1)[..]].concat());
    // A hint at a low part of 0, not read or read as if it were above.
    for (name, high) in [("ignored", 0), ("raising", 1)] {
        let mut rows = [[0; 256]; ROWS];
        rows[0][0] = high;
        let signature = encode(&challenge(&own, &rows), &[[0; 256]; COLUMNS], &hint([&[0]]));
        add(&format!("a hint at 0, {name}"), &signature, false);
    }

    const SHA512: &[u8] = &[1, 0, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 3];
    let long = [&[0, 255][..], &[b'x'; 255]].concat();
    for (name, mu) in [
        ("a context of one byte", mu(&[0, 1, b'x'], &message)),
        ("a context of 255 bytes", mu(&long, &message)),
        ("HashML-DSA with SHA-512", mu(SHA512, &Sha512::digest(&message))),
        ("round-3 Dilithium, without a prefix", mu(&[], &message)),
        ("another message", mu(&[0, 0], &message[1..])),
    ] {
        add(name, &sign(&mu, &z, &none), false);
    }
    let signature = base.signature(Family::MlDsa65);
    add("a byte too many", &[signature, &[0]].concat(), false);
    add("a byte too few", &signature[..signature.len() - 1], false);
    cases
}
