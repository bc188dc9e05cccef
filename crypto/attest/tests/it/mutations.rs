//! A fuzzer without coverage feedback: mutants of a real attestation, its seal and its statement, of trust roots, text
//! forms and a witness's note go through every decoder and through verification. Nothing may panic, nothing but the
//! originals may verify, and whatever decodes must encode to the same bytes.
//!
//! The sequence of mutants is fixed; a larger scale only lengthens it.

use crate::target::{Form, Target};
use trefoil_testing::volume;

/// Mutants at full volume, and the fewest among which some decode in every form.
const EXECUTIONS: usize = 120_000;
const EXECUTIONS_MIN: usize = 18_000;

/// Most mutations of one input.
const MUTATIONS: u64 = 4;

/// SplitMix64.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// A place: mostly in the first 800 bytes, where the structure is; signatures are the rest.
    fn place(&mut self, length: usize) -> usize {
        let reach = if self.next().is_multiple_of(8) { length } else { length.min(800) };
        self.below(reach)
    }
}

/// Bytes that mean something as the head of a CBOR item: lengths that are missing, huge or not shortest, tags,
/// indefinite lengths, other types.
const HEADS: [&[u8]; 12] = [
    &[0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    &[0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    &[0x9b, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00],
    &[0x18, 0x17],
    &[0x58, 0x20],
    &[0x5f],
    &[0x9f],
    &[0xbf],
    &[0xff],
    &[0xd2],
    &[0xf6],
    &[0x80],
];

fn mutate(bytes: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Stream) {
    let at = random.place(bytes.len());
    let length = 1 + random.below(12);
    let end = (at + length).min(bytes.len());
    match random.below(9) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = random.next() as u8,
        2 if at < bytes.len() => {
            bytes[at] = bytes[at].wrapping_add(if random.below(2) == 0 { 1 } else { 255 })
        }
        3 => drop(bytes.drain(at..end)),
        4 => drop(bytes.splice(at..at, random.next().to_be_bytes())),
        5 => drop(bytes.splice(at..end, HEADS[random.below(HEADS.len())].iter().copied())),
        6 => {
            let copied = bytes[at..end].to_vec();
            let to = random.place(bytes.len());
            drop(bytes.splice(to..to, copied));
        }
        7 => {
            let other = &others[random.below(others.len())];
            let from = random.place(other.len());
            let piece = other[from..(from + length).min(other.len())].to_vec();
            drop(bytes.splice(at..end, piece));
        }
        _ => bytes.truncate(random.place(bytes.len())),
    }
}

/// Claim S8.
#[test]
fn no_mutant_panics_verifies_or_has_two_encodings() {
    let executions = volume(EXECUTIONS, EXECUTIONS_MIN) as u64;
    let target = Target::new();
    let originals = target.seeds.iter().flat_map(|seed| {
        let taken = target.execute(seed);
        assert_eq!(taken.len(), 1, "an original is of one form: {taken:?}");
        taken
    });
    let originals: Vec<Form> = originals.collect();
    assert!(Form::ALL.iter().all(|form| originals.contains(form)), "{originals:?}");
    let mut random = Stream(1);
    let mut decoded = Form::ALL.map(|_| 0u64);
    for _ in 0..executions {
        let mut bytes = target.seeds[random.below(target.seeds.len())].clone();
        for _ in 0..=random.next() % MUTATIONS {
            mutate(&mut bytes, &target.seeds, &mut random);
        }
        for form in target.execute(&bytes) {
            decoded[Form::ALL.iter().position(|one| *one == form).expect("one of all")] += 1;
        }
    }
    println!("{executions} executions; inputs that decoded:");
    for (form, count) in Form::ALL.iter().zip(decoded) {
        println!("{form:?}: {count}");
        // A verifier key names the digest of its bytes: a changed one is none.
        assert!(count > 0 || *form == Form::Witness, "none decoded as {form:?}");
    }
    // Otherwise the mutants are too wild to test anything behind the decoders.
    let decoded: u64 = decoded.iter().sum();
    assert!(decoded * 100 > executions, "{decoded} of {executions} decoded");
}
