//! Falcon-512 signatures in other encodings than the one that is allowed, and under altered keys.

use serde_json::Value;
use trefoil_attest::{FALCON_512_SIGNATURE_BYTES, Family, PublicKeySet};
use trefoil_sign::{Falcon512, SignatureFamily as _};

use super::Crafted;

const SALT_BYTES: usize = 40;
/// Header and salt.
const START: usize = 1 + SALT_BYTES;
const Q: u16 = 12289;

/// A coefficient: whether its sign bit is set, and its absolute value.
type Coefficient = (bool, u16);

/// What is done to the public key.
pub(super) const KEYS: [&str; 5] =
    ["header 0x0a", "header 0x89", "a coefficient of 16383", "a coefficient plus q", "all coefficients 0"];

/// The key set, and with each altered Falcon key.
pub(super) fn key_sets(keys: &PublicKeySet) -> impl Iterator<Item = PublicKeySet> {
    let small = (0..512).find(|&at| coefficient(&keys.falcon_512[..], at) + u32::from(Q) < 1 << 14).unwrap();
    let changed = (0..KEYS.len()).map(move |which| {
        let mut keys = keys.clone();
        let key = &mut keys.falcon_512[..];
        match which {
            0 => key[0] = 0x0a,
            1 => key[0] = 0x89,
            2 => set(key, 0, 16383),
            3 => {
                let value = coefficient(key, small) + u32::from(Q);
                set(key, small, value);
            }
            _ => key[1..].fill(0),
        }
        keys
    });
    std::iter::once(keys.clone()).chain(changed)
}

fn coefficient(key: &[u8], at: usize) -> u32 {
    bits(&key[1..])[14 * at..][..14].iter().fold(0, |value, &bit| 2 * value + u32::from(bit))
}

fn set(key: &mut [u8], at: usize, value: u32) {
    let mut all = bits(&key[1..]);
    (0..14).for_each(|bit| all[14 * at + bit] = value >> (13 - bit) & 1 == 1);
    key[1..].copy_from_slice(&packed(&all));
}

fn bits(bytes: &[u8]) -> Vec<bool> {
    bytes.iter().flat_map(|byte| (0..8).map(move |bit| byte >> (7 - bit) & 1 == 1)).collect()
}

/// Whole bytes, the last one filled with zeros.
fn packed(bits: &[bool]) -> Vec<u8> {
    let byte = |eight: &[bool]| -> u8 { (0..).zip(eight).map(|(at, &bit)| u8::from(bit) << (7 - at)).sum() };
    bits.chunks(8).map(byte).collect()
}

/// The coefficients of a signature, and where the bits of each begin and the last end.
fn decode(signature: &[u8]) -> (Vec<Coefficient>, Vec<usize>) {
    let bits = bits(&signature[START..]);
    let (mut coefficients, mut starts) = (Vec::new(), vec![0]);
    while coefficients.len() < 512 {
        let at = starts[coefficients.len()];
        let low = bits[at + 1..at + 8].iter().fold(0, |value, &bit| 2 * value + u16::from(bit));
        let high = bits[at + 8..].iter().position(|&bit| bit).unwrap();
        coefficients.push((bits[at], low + 128 * high as u16));
        starts.push(at + 9 + high);
    }
    (coefficients, starts)
}

fn encode(coefficients: &[Coefficient]) -> Vec<bool> {
    let mut out = Vec::new();
    for &(sign, value) in coefficients {
        out.push(sign);
        out.extend((0..7).map(|bit| value >> (6 - bit) & 1 == 1));
        out.extend((0..value >> 7).map(|_| false));
        out.push(true);
    }
    out
}

/// The coefficients that are 0.
pub(super) fn zeros(signature: &[u8]) -> Vec<usize> {
    let (coefficients, _) = decode(signature);
    (0..512).filter(|&at| coefficients[at].1 == 0).collect()
}

pub(super) fn cases(base: &Crafted, signatures: &[u8], altered: &[&PublicKeySet]) -> Vec<Value> {
    let signature = base.signature(Family::Falcon512);
    let (coefficients, starts) = decode(signature);
    let mut cases = Vec::new();
    let mut add = |name: &str, signature: &[u8], is_valid| {
        cases.push(base.case(Family::Falcon512, name, signature, is_valid));
    };
    let mut made = signatures.chunks(FALCON_512_SIGNATURE_BYTES);
    for salt in ["another salt", "a third salt"] {
        add(salt, made.next().unwrap(), true);
    }
    // The same header and salt before other bits, padded.
    let mut with = |name: &str, bits: &[bool]| {
        let mut whole = [&signature[..START], &packed(bits)].concat();
        assert!(whole.len() <= FALCON_512_SIGNATURE_BYTES, "{name}");
        whole.resize(FALCON_512_SIGNATURE_BYTES, 0);
        add(name, &whole, false);
    };
    let changed = |at: usize, to: Coefficient| {
        let mut changed = coefficients.clone();
        changed[at] = to;
        encode(&changed)
    };
    for at in zeros(signature) {
        with(&format!("coefficient {at} is minus zero"), &changed(at, (true, 0)));
    }
    // The longest coefficients make room for longer ones.
    let longest = (0..512).max_by_key(|&at| coefficients[at].1).unwrap();
    for value in [2047, 2048, 2175] {
        let mut others = coefficients.clone();
        others.iter_mut().for_each(|one| one.1 %= 128);
        others[longest].1 = value;
        with(&format!("a coefficient is {value}, the others below 128"), &encode(&others));
    }
    with("a coefficient is one more", &changed(0, (coefficients[0].0, coefficients[0].1 ^ 1)));
    let negated: Vec<Coefficient> =
        coefficients.iter().map(|&(sign, value)| (!sign && value > 0, value)).collect();
    with("s2 is negated", &encode(&negated));
    with("s2 is 0", &encode(&[(false, 0); 512]));
    with("no coefficient ends", &[]);
    with("each bit is 1", &[true; 5000]);
    with("the last coefficient is missing", &encode(&coefficients[..511]));
    let mut endless = encode(&coefficients);
    endless[starts[512] - 1] = false;
    with("the last coefficient does not end", &endless);
    // Each bit of the first byte of the padding, and the last bit of each other byte.
    let first = starts[512];
    for bit in (first..5000).filter(|bit| bit - first < 8 || bit % 8 == 7) {
        let mut padded = encode(&coefficients);
        padded.resize(5000, false);
        padded[bit] = true;
        with(&format!("padding bit {} is set", bit - first), &padded);
    }
    for header in [0x00, 0x09, 0x29, 0x30, 0x38, 0x3a, 0x49, 0x59, 0xb9] {
        add(&format!("header {header:#04x}"), &[&[header], &signature[1..]].concat(), false);
    }
    let mut salt = signature.to_vec();
    salt[SALT_BYTES] ^= 1;
    add("a bit of the salt", &salt, false);
    let short = [&signature[..START], &packed(&encode(&coefficients))].concat();
    add("without padding", &short, short.len() == FALCON_512_SIGNATURE_BYTES);
    add("without padding, header 0x29", &[&[0x29], &short[1..]].concat(), false);
    add("a byte too many", &[signature, &[0]].concat(), false);
    add("a byte too few", &signature[..FALCON_512_SIGNATURE_BYTES - 1], false);
    cases.extend(under_altered_keys(base, made, altered));
    cases
}

/// Signatures that verify under the base's key, named to be under an altered one.
fn under_altered_keys<'a>(
    base: &Crafted,
    signatures: impl Iterator<Item = &'a [u8]>,
    altered: &[&PublicKeySet],
) -> Vec<Value> {
    let mut cases = Vec::new();
    for (name, (keys, signature)) in KEYS.iter().zip(altered.iter().zip(signatures)) {
        let header = trefoil_attest::SealHeader { key_set_id: keys.id(), ..base.seal.header.clone() };
        let message = header.to_be_signed(Family::Falcon512);
        assert!(Falcon512::verify(base.keys.public_key(Family::Falcon512), &message, signature), "{name}");
        let ml_dsa = Crafted::plain(&header);
        let mut edits: Vec<Value> = base.renamed(&keys.id()).collect();
        edits.extend(base.replaced(Family::MlDsa65, &ml_dsa));
        edits.extend(base.replaced(Family::Falcon512, signature));
        let expect = format!("signature-{}", Family::Falcon512.id());
        cases.push(base.named(Family::Falcon512, &format!("a public key with {name}"), &edits, &expect));
    }
    cases
}
