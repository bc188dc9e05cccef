//! Each family against an independent implementation, both directions.

use fips204::traits::{KeyGen as _, SerDes as _, Signer as _, Verifier as _};
use fips205::traits::{SerDes as _, Signer as _, Verifier as _};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use slh_dsa::{Sha2_128f, SigningKey};
use trefoil_attest::Family;
use trefoil_sign::{Falcon512, MlDsa65, SignatureFamily, SlhDsaSha2_128f};

use crate::vectors::{Fixed, processors};

fn message(rng: &mut StdRng, round: usize) -> Vec<u8> {
    (0..round * 37).map(|_| rng.random()).collect()
}

#[test]
fn aws_lc_rs_and_fips204_accept_each_other() {
    let mut rng = StdRng::seed_from_u64(1);
    for round in 0..20 {
        let mut ours = MlDsa65::generate(&mut rng).unwrap();
        let message = message(&mut rng, round);
        let seed: [u8; 32] = ours.to_secret_bytes()[..].try_into().unwrap();
        let (public, secret) = fips204::ml_dsa_65::KG::keygen_from_seed(&seed);
        let signature: [u8; 3309] = ours.sign(&message, &mut rng).unwrap().try_into().unwrap();
        assert!(public.verify(&message, &signature, &[]));
        let theirs = secret.try_sign_with_seed(&rng.random(), &message, &[]).unwrap();
        assert!(MlDsa65::verify(&public.into_bytes(), &message, &theirs));
    }
}

#[test]
fn slh_dsa_and_fips205_accept_each_other() {
    let mut rng = StdRng::seed_from_u64(2);
    for round in 0..3 {
        let mut ours = SlhDsaSha2_128f::generate(&mut rng).unwrap();
        let message = message(&mut rng, round);
        let secret: [u8; 64] = ours.to_secret_bytes()[..].try_into().unwrap();
        let secret = fips205::slh_dsa_sha2_128f::PrivateKey::try_from_bytes(secret).unwrap();
        let public: [u8; 32] = ours.public_key().try_into().unwrap();
        let public = fips205::slh_dsa_sha2_128f::PublicKey::try_from_bytes(public).unwrap();
        let signature: [u8; 17_088] = ours.sign(&message, &mut rng).unwrap().try_into().unwrap();
        assert!(public.verify(&message, &signature, &[]));
        let theirs = secret.try_sign_with_rng(&mut Fixed(&[]), &message, &[], false).unwrap();
        assert!(SlhDsaSha2_128f::verify(&ours.public_key(), &message, &theirs[..]));
    }
}

#[test]
fn our_slh_dsa_signer_and_slh_dsa_give_the_same_bytes() {
    let mut rng = StdRng::seed_from_u64(4);
    for round in 0..20 {
        let seeds: [[u8; 16]; 3] = rng.random();
        let theirs = SigningKey::<Sha2_128f>::slh_keygen_internal(&seeds[0], &seeds[1], &seeds[2]);
        let message = message(&mut rng, round);
        // Deterministic: PK.seed in the place of opt_rand.
        let expected = theirs.try_sign_with_context(&message, &[], None).unwrap().to_bytes();
        for cpu in processors() {
            let ours = SlhDsaSha2_128f::from_secret_bytes(&theirs.to_bytes()).unwrap().on(cpu);
            let signature = ours.sign_internal(&[&[0, 0], &message], &seeds[2]).unwrap();
            assert!(signature == expected[..], "round {round}, {cpu:?}");
        }
    }
}

fn signs_hedged_and_strict<F: SignatureFamily>() {
    let mut rng = StdRng::seed_from_u64(3);
    let mut key = F::generate(&mut rng).unwrap();
    let public = key.public_key();
    assert_eq!(public.len(), F::FAMILY.public_key_bytes());
    let first = key.sign(b"message", &mut rng).unwrap();
    let second = key.sign(b"message", &mut rng).unwrap();
    assert_eq!(first.len(), F::FAMILY.signature_bytes());
    assert_ne!(first, second, "a hedged signer does not repeat itself");
    for signature in [&first, &second] {
        assert!(F::FAMILY.verifies(&public, b"message", signature));
        assert!(!F::FAMILY.verifies(&public, b"massage", signature));
        assert!(!F::FAMILY.verifies(&public, b"message", &signature[1..]));
        assert!(!F::FAMILY.verifies(&public, b"message", &[signature, &[0][..]].concat()));
    }
    let other = F::generate(&mut rng).unwrap();
    assert!(!F::FAMILY.verifies(&other.public_key(), b"message", &first));
    assert!(!F::FAMILY.verifies(&public[1..], b"message", &first));
    for family in Family::ALL.into_iter().filter(|family| *family != F::FAMILY) {
        assert!(!family.verifies(&public, b"message", &first));
    }
    let secret = key.to_secret_bytes();
    assert_eq!(secret.len(), F::SECRET_KEY_BYTES);
    let again = F::from_secret_bytes(&secret).unwrap();
    assert_eq!(again.public_key(), public);
    assert!(F::from_secret_bytes(&secret[1..]).is_err());
}

#[test]
fn every_family_signs_hedged_and_verifies_strictly() {
    signs_hedged_and_strict::<MlDsa65>();
    signs_hedged_and_strict::<Falcon512>();
    signs_hedged_and_strict::<SlhDsaSha2_128f>();
}
