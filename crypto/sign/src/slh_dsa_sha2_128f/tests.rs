//! Faults: a bit that flips while a signature is computed must not lead to the release of another signature.

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use trefoil_kernels::sha256::{self, LANES, Words};
use trefoil_testing::volume;

use super::parameters::LAYERS;
use super::tweaked_hash::Node;
use super::*;

const MESSAGE: &[&[u8]] = &[&EMPTY_CONTEXT, b"a message"];

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
    /// Anywhere in a computation of so many compressions.
    fn random(rng: &mut StdRng, calls: usize) -> Self {
        Self {
            call: rng.random_range(0..calls),
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

    fn chain(&mut self, midstate: &[Words; 8], address: &[Words; 6], values: &mut [[Words; 4]]) {
        sha256::chain_by(|state, block| self.compress(state, block), midstate, address, values);
    }
}

fn key(rng: &mut StdRng) -> SlhDsaSha2_128f {
    SlhDsaSha2_128f::generate(rng).unwrap()
}

/// The same key with its top layers, which faults may have hit since.
fn with_top(key: &SlhDsaSha2_128f, strike: impl FnOnce(&mut TopLayers)) -> SlhDsaSha2_128f {
    let mut top = top_layers(&key.secret_key()).ok().expect("top layers");
    strike(&mut top);
    let key = SlhDsaSha2_128f::from_secret_bytes(&key.to_secret_bytes()).unwrap();
    assert!(key.upper.top[0].set(Ok(top)).is_ok());
    key
}

/// The same key with two top layers and the leaf layer below them, which faults may have hit since.
fn with_leaf_layer(key: &SlhDsaSha2_128f, strike: impl FnOnce(&mut LeafLayer)) -> SlhDsaSha2_128f {
    let secret = key.secret_key();
    let top = TopLayers::new([Cpu::detected(); 2], &secret, LAYERS - 2, || true);
    let mut leaves =
        LeafLayer::new([Cpu::detected(); 2], &secret, LAYERS - 2, || true).ok().expect("leaf layer");
    strike(&mut leaves);
    let key = SlhDsaSha2_128f::from_secret_bytes(&key.to_secret_bytes()).unwrap();
    assert!(key.upper.top[1].set(top.map_err(drop)).is_ok());
    assert!(key.upper.leaf_layer.set(Ok(leaves)).is_ok());
    key
}

fn top_layers(secret_key: &[u8; SECRET_KEY_BYTES]) -> Result<TopLayers, Unmade> {
    TopLayers::new([Cpu::detected(); 2], secret_key, KEPT_FROM[0], || true)
}

/// Signs with a fault in the first computation, the second, or the verification. Says too how many compressions each of
/// these took.
fn sign_struck(
    key: &SlhDsaSha2_128f,
    faults: [Option<Fault>; 3],
    opt_rand: &[u8; 16],
) -> (Result<Vec<u8>, SignError>, [usize; 3]) {
    let [mut first, mut second, mut third] = faults.map(|fault| Struck { calls: 0, fault });
    let signature = key.sign_by(&mut first, MESSAGE, opt_rand).and_then(|(bytes, _)| {
        let unchecked = UncheckedSignature { bytes, opt_rand: *opt_rand };
        key.check_by([&mut second, &mut third], &key.verifying_key(), MESSAGE, unchecked)
    });
    (signature, [first.calls, second.calls, third.calls])
}

/// Claim S11: No signature of a faulty SLH-DSA computation is released, although verification alone would pass some.
#[test]
fn no_bit_that_flips_in_one_of_the_computations_changes_what_is_released() {
    let mut rng = StdRng::seed_from_u64(5);
    let without = key(&mut rng);
    let with = with_top(&without, |_| ());
    let opt_rand = rng.random();
    let sound = without.sign_internal(MESSAGE, &opt_rand).unwrap();
    // Faults hit all compressions, of which a key with top layers needs fewer.
    let [calls_with, calls_without] = [&with, &without].map(|key| sign_struck(key, [None; 3], &opt_rand).1);
    assert!(calls_with[0] == calls_with[1] && calls_without[0] > calls_with[0] && calls_with[2] > 0);
    let mut refused = 0;
    let rounds = volume(1_500, 150);
    for round in 0..rounds {
        let (key, calls) = if round % 2 == 0 { (&with, calls_with) } else { (&without, calls_without) };
        let struck = round / 2 % 3;
        let fault = Fault::random(&mut rng, calls[struck]);
        let mut faults = [None; 3];
        faults[struck] = Some(fault);
        match sign_struck(key, faults, &opt_rand) {
            (Ok(signature), _) => assert!(signature == sound, "{fault:?}"),
            (Err(error), _) => {
                assert_eq!(error, SignError::Fault(Family::SlhDsaSha2_128f));
                refused += 1;
            }
        }
    }
    // The rest hit a word or a lane that is not used.
    assert!(2 * refused > rounds, "{refused} of {rounds} faults were detected");
}

/// Claim S15: The cached top layers change no byte of a signature, and every signature equals the slh-dsa crate's, byte for byte. Also:
/// `bench/records/sign-2vcpu.json#/slhdsa/wrong`.
#[test]
fn the_top_layers_change_no_byte_of_a_signature() {
    let mut rng = StdRng::seed_from_u64(12);
    let without = key(&mut rng);
    let with = [with_top(&without, |_| ()), with_leaf_layer(&without, |_| ())];
    for round in 0u8..40 {
        let (message, opt_rand): ([&[u8]; 1], _) = ([&[round]], rng.random());
        let expected = without.sign_internal(&message, &opt_rand).unwrap();
        for with in &with {
            assert!(with.sign_internal(&message, &opt_rand).unwrap() == expected, "{round}");
        }
    }
}

#[test]
fn no_bit_that_flips_in_the_leaf_layer_leads_to_a_signature_that_is_wrong() {
    let mut rng = StdRng::seed_from_u64(19);
    let sound = key(&mut rng);
    let opt_rand = rng.random();
    let expected = sound.sign_internal(MESSAGE, &opt_rand).unwrap();
    let mut released = 0;
    for node in 0..9 {
        for _ in 0..6 {
            let struck = with_leaf_layer(&sound, |leaves| leaves.flip(node, rng.random_range(0..128)));
            match struck.sign_internal(MESSAGE, &opt_rand) {
                Ok(signature) => {
                    assert!(signature == expected);
                    released += 1;
                }
                Err(error) => assert_eq!(error, SignError::Fault(Family::SlhDsaSha2_128f)),
            }
        }
    }
    // Only the leaf that signs is not shown, and what is above it is hashed from the others too.
    assert!(released <= 6, "{released} of 54");
}

#[test]
fn no_bit_that_flips_in_the_top_layers_leads_to_a_signature_that_is_wrong() {
    let mut rng = StdRng::seed_from_u64(13);
    let sound = key(&mut rng);
    let opt_rand = rng.random();
    let expected = sound.sign_internal(MESSAGE, &opt_rand).unwrap();
    let mut refused = 0;
    let mut struck = with_top(&sound, |_| ());
    for _ in 0..200 {
        let (layer, node, bit) = (rng.random_range(0..5), rng.random_range(0..50), rng.random_range(0..128));
        let flip = |key: &mut SlhDsaSha2_128f| {
            let top = Arc::get_mut(&mut key.upper).and_then(|upper| upper.top[0].get_mut());
            top.and_then(|top| top.as_mut().ok()).expect("top layers").flip(layer, node, bit);
        };
        flip(&mut struck);
        match struck.sign_internal(MESSAGE, &opt_rand) {
            Ok(signature) => assert!(signature == expected),
            Err(error) => {
                assert_eq!(error, SignError::Fault(Family::SlhDsaSha2_128f));
                refused += 1;
            }
        }
        flip(&mut struck);
    }
    // The rest hit a node that this signature does not show.
    assert!(refused > 50, "{refused} of 200");
}

#[test]
fn top_layers_are_not_kept_where_a_bit_flipped_while_they_were_computed() {
    let mut rng = StdRng::seed_from_u64(14);
    let secret_key = key(&mut rng).secret_key();
    for fault in [Some(Fault { call: 40, word: 25, lane: 7, bit: 3 }), None] {
        let mut compressions = [fault, None].map(|fault| Struck { calls: 0, fault });
        let made = TopLayers::new(compressions.each_mut(), &secret_key, KEPT_FROM[0], || true);
        assert_eq!(matches!(made, Err(Unmade::Fault)), fault.is_some());
        assert_eq!(made.is_ok(), fault.is_none());
    }
    for fault in [Some(Fault { call: 40, word: 25, lane: 7, bit: 3 }), None] {
        let mut compressions = [fault, None].map(|fault| Struck { calls: 0, fault });
        let made = LeafLayer::new(compressions.each_mut(), &secret_key, LAYERS - 1, || true);
        assert_eq!(made.is_ok(), fault.is_none());
    }
    let mut damaged = secret_key.clone();
    damaged[63] ^= 1;
    assert!(matches!(top_layers(&damaged), Err(Unmade::Fault)), "another root");
}

#[test]
fn a_key_whose_precomputation_met_a_fault_does_not_sign() {
    let mut secret = key(&mut StdRng::seed_from_u64(15)).to_secret_bytes();
    secret[63] ^= 1;
    let key = SlhDsaSha2_128f::from_secret_bytes(&secret).unwrap().on(Cpu::detected());
    let fault = Err(SignError::Fault(Family::SlhDsaSha2_128f));
    if has_fast_lanes(Cpu::detected()) {
        assert_eq!(key.precomputation(Extent::Usual).run(), fault);
        assert!(key.upper.top[0].get().is_some_and(Result::is_err));
    }
    assert_eq!(key.sign_internal(MESSAGE, &[0; 16]).map(drop), fault);
}

#[test]
fn precomputation_ends_when_the_key_is_gone_or_has_it_already() {
    let sound = key(&mut StdRng::seed_from_u64(16));
    let abandoned = sound.precomputation(Extent::Usual);
    drop(sound);
    assert_eq!(abandoned.run(), Ok(()));
    let made = TopLayers::new([Cpu::detected(); 2], &[0; SECRET_KEY_BYTES], KEPT_FROM[0], || false);
    assert!(matches!(made, Err(Unmade::Unwanted)));
}

/// Claim S11.
#[test]
fn verification_alone_would_release_faulty_signatures() {
    let mut rng = StdRng::seed_from_u64(6);
    let key = key(&mut rng);
    let opt_rand = rng.random();
    let sound = key.sign_internal(MESSAGE, &opt_rand).unwrap();
    let calls = sign_struck(&key, [None; 3], &opt_rand).1[0];
    // The same fault in both computations passes the comparison, so that only verification is left.
    let released = (0..100)
        .filter(|_| {
            let fault = Some(Fault::random(&mut rng, calls));
            sign_struck(&key, [fault, fault, None], &opt_rand).0.is_ok_and(|signature| signature != sound)
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
    let by_crate = key.sign_by_crate(MESSAGE, &opt_rand);
    let own = key.on(Cpu::detected()).sign_internal(MESSAGE, &opt_rand).expect("signature");
    assert!(*by_crate == own);
}

/// Checks that both verifications agree about a signature of [`MESSAGE`], and returns their result.
fn verified_by_both(public_key: &[u8; 32], signature: &[u8], roots: &[Node; LAYERS]) -> bool {
    let own = verifier::verifies(Cpu::detected(), public_key, MESSAGE, signature, roots);
    let by_crate = SlhDsaSha2_128f::verify(public_key, MESSAGE[1], signature);
    assert_eq!(own, by_crate);
    own
}

#[test]
fn own_verification_agrees_with_the_crate() {
    let mut rng = StdRng::seed_from_u64(17);
    for _ in 0..10 {
        let key = key(&mut rng);
        let public_key = key.verifying_key();
        let Signed { bytes, roots } = signer::sign_internal(
            Cpu::detected(),
            &key.secret_key(),
            Kept::default(),
            MESSAGE,
            &rng.random(),
        );
        assert!(verified_by_both(&public_key, &bytes, &roots));
        for _ in 0..40 {
            let (mut bytes, mut public_key) = (bytes.clone(), public_key);
            match rng.random_range(0..10) {
                0 => public_key[rng.random_range(0..32)] ^= 1 << rng.random_range(0..8),
                1 => bytes.truncate(rng.random_range(0..bytes.len())),
                _ => {
                    let at = rng.random_range(0..bytes.len());
                    bytes[at] ^= 1 << rng.random_range(0..8);
                }
            }
            assert!(!verified_by_both(&public_key, &bytes, &roots));
        }
        let other: &[&[u8]] = &[&EMPTY_CONTEXT, b"another message"];
        assert!(!verifier::verifies(Cpu::detected(), &public_key, other, &bytes, &roots));
    }
}

#[test]
fn every_bit_of_every_node_counts_in_own_verification() {
    let mut rng = StdRng::seed_from_u64(18);
    let key = key(&mut rng);
    let Signed { bytes, roots } =
        signer::sign_internal(Cpu::detected(), &key.secret_key(), Kept::default(), MESSAGE, &rng.random());
    let verifies = |bytes: &[u8], roots: &[Node; LAYERS]| {
        verifier::verifies(Cpu::detected(), &key.verifying_key(), MESSAGE, bytes, roots)
    };
    assert!(verifies(&bytes, &roots));
    for node in 0..bytes.len() / 16 {
        let mut struck = bytes.clone();
        struck[16 * node + rng.random_range(0..16)] ^= 1 << rng.random_range(0..8);
        assert!(!verifies(&struck, &roots), "node {node}");
    }
    // False roots make no signature pass, nor do they let a sound one through.
    for layer in 0..LAYERS {
        let mut struck = roots;
        struck[layer][rng.random_range(0..4)] ^= 1 << rng.random_range(0..32);
        assert!(!verifies(&bytes, &struck), "layer {layer}");
    }
}
