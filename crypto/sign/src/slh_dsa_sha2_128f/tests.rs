//! Faults: a bit that flips while a signature is computed must not lead to the release of another signature.

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use trefoil_kernels::sha256::{self, LANES, Words};

use super::*;

const MESSAGE: &[&[u8]] = &[&EMPTY_CONTEXT, b"a message"];

/// Compressions of a signature: bounds the places where a fault can strike.
const CALLS: usize = 3_000;

/// Where a bit flips.
#[derive(Clone, Copy, Debug)]
struct Fault {
    call: usize,
    /// Word 0..8 of the state before, 8..24 of the block, 24..32 of the state after.
    word: usize,
    lane: usize,
    bit: u32,
}

impl Fault {
    fn random(rng: &mut StdRng) -> Self {
        Self {
            call: rng.random_range(0..CALLS),
            word: rng.random_range(0..32),
            lane: rng.random_range(0..LANES),
            bit: rng.random_range(0..32),
        }
    }
}

/// A processor on which one bit flips, once.
#[derive(Clone, Copy)]
struct Struck {
    calls: usize,
    fault: Option<Fault>,
}

impl Compression for &mut Struck {
    fn compress(&mut self, state: &mut [Words; 8], block: &[Words; 16]) {
        let mut block = *block;
        let now = self.fault.filter(|fault| fault.call == self.calls);
        let flip = |words: &mut [Words], first: usize| {
            if let Some(Fault { word, lane, bit, .. }) = now
                && let Some(words) = word.checked_sub(first).and_then(|word| words.get_mut(word))
            {
                words[lane] ^= 1 << bit;
            }
        };
        flip(state, 0);
        flip(&mut block, 8);
        sha256::compress(Cpu::detected(), state, &block);
        flip(state, 24);
        self.calls += 1;
    }

    fn chain(&mut self, midstate: &[Words; 8], address: &[Words; 5], values: &mut [[Words; 4]]) {
        sha256::chain_by(|state, block| self.compress(state, block), midstate, address, values);
    }
}

fn key(rng: &mut StdRng) -> SlhDsaSha2_128f {
    SlhDsaSha2_128f::generate(rng).unwrap()
}

fn sign_struck(
    key: &SlhDsaSha2_128f,
    faults: [Option<Fault>; 2],
    opt_rand: &[u8; 16],
) -> Result<Vec<u8>, SignError> {
    let [mut first, mut second] = faults.map(|fault| Struck { calls: 0, fault });
    let signature = key.sign_checked([&mut first, &mut second], MESSAGE, opt_rand);
    assert!(first.calls == second.calls && first.calls > CALLS, "{} compressions", first.calls);
    signature
}

#[test]
fn no_bit_that_flips_in_one_of_the_computations_changes_what_is_released() {
    let mut rng = StdRng::seed_from_u64(5);
    let key = key(&mut rng);
    let opt_rand = rng.random();
    let sound = key.sign_internal(MESSAGE, &opt_rand).unwrap();
    let mut refused = 0;
    for round in 0..400 {
        let fault = Fault::random(&mut rng);
        let faults = if round % 2 == 0 { [Some(fault), None] } else { [None, Some(fault)] };
        match sign_struck(&key, faults, &opt_rand) {
            Ok(signature) => assert!(signature == sound, "{fault:?}"),
            Err(error) => {
                assert_eq!(error, SignError::Fault(Family::SlhDsaSha2_128f));
                refused += 1;
            }
        }
    }
    // The rest struck a word or a lane that is not used.
    assert!(refused > 200, "{refused} of 400 faults changed the signature");
}

#[test]
fn verification_alone_would_release_faulty_signatures() {
    let mut rng = StdRng::seed_from_u64(6);
    let key = key(&mut rng);
    let opt_rand = rng.random();
    let sound = key.sign_internal(MESSAGE, &opt_rand).unwrap();
    // The same fault in both computations passes the comparison, so that only verification is left.
    let released = (0..100)
        .filter(|_| {
            let fault = Some(Fault::random(&mut rng));
            sign_struck(&key, [fault, fault], &opt_rand).is_ok_and(|signature| signature != sound)
        })
        .count();
    assert!(released > 10, "{released} of 100");
}

#[test]
fn no_bit_that_flips_in_the_key_leads_to_a_signature_that_is_wrong() {
    let mut rng = StdRng::seed_from_u64(7);
    let sound = key(&mut rng);
    let opt_rand = rng.random();
    for bit in (0..8 * SECRET_KEY_BYTES).step_by(3) {
        let mut secret = sound.to_secret_bytes();
        secret[bit / 8] ^= 1 << (bit % 8);
        let struck = SlhDsaSha2_128f::from_secret_bytes(&secret).unwrap();
        match struck.sign_internal(MESSAGE, &opt_rand) {
            // SK.prf only chooses the randomizer.
            Ok(signature) => {
                assert_eq!(bit / 128, 1, "bit {bit}");
                assert!(SlhDsaSha2_128f::verify(&sound.public_key(), MESSAGE[1], &signature));
            }
            Err(error) => assert_eq!(error, SignError::Fault(Family::SlhDsaSha2_128f)),
        }
    }
}

#[test]
fn without_fast_lanes_the_crate_signs_the_same_bytes() {
    let mut rng = StdRng::seed_from_u64(11);
    let key = SlhDsaSha2_128f::generate(&mut rng).expect("key").on(Cpu::at_most(Tier::Portable));
    let opt_rand = rng.random();
    let by_crate = key.sign_twice_by_crate(MESSAGE, &opt_rand).expect("signature");
    let own = key.sign_twice([Cpu::detected(); 2], MESSAGE, &opt_rand).expect("signature");
    assert!(by_crate == own);
}
