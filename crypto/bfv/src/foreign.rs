//! Another library's ciphertexts, over our primes: fhe.rs decrypts ours, and we decrypt its.

use crate::ciphertext::PairCiphertext;
use crate::share::centre;
use crate::{
    Decryptor, Drbg, Embedding, LANES, Masker, N, Params, PlacedShare, Scheme, Share, T, TenantKey, Width,
};
use fhe::bfv::{BfvParameters, BfvParametersBuilder, Ciphertext, Encoding, Plaintext, SecretKey};
use fhe_math::rq::{Poly, Representation, traits::TryConvertFrom};
use fhe_traits::{FheDecoder, FheDecrypter, FheEncoder, FheEncrypter};
use std::sync::Arc;
use trefoil_kernels::{Cpu, packed};

/// Their parameters and key, and ours for the same secret.
struct World {
    parameters: Arc<BfvParameters>,
    theirs: SecretKey,
    ours: TenantKey,
    rng: Drbg,
}

impl World {
    fn new() -> World {
        let parameters = BfvParametersBuilder::new()
            .set_degree(N)
            .set_plaintext_modulus(T)
            .set_moduli(Params::lanes94().primes())
            .build_arc()
            .expect("it takes our parameters");
        let theirs = SecretKey::random(&parameters, &mut rand_09::rng());
        let secret = secret(&parameters, &theirs);
        World {
            ours: TenantKey::of(Scheme::shared(), &secret),
            parameters,
            theirs,
            rng: Drbg::from_seed([1; 32]),
        }
    }

    fn faces(&mut self, width: Width) -> Vec<Embedding> {
        (0..LANES).map(|_| Embedding::random(width, &mut self.rng)).collect()
    }
}

fn poly(parameters: &BfvParameters, coefficients: Vec<u64>) -> Poly {
    let context = parameters.context_at_level(0).expect("the first level");
    let mut poly = Poly::try_convert_from(coefficients, context, false, Representation::PowerBasis)
        .expect("N per prime");
    poly.change_representation(Representation::Ntt);
    poly
}

/// The library does not expose the coefficients of a key, but decrypts any input: the phase of `(0, Delta)` is
/// `Delta s`. This is why only an authenticated matcher may request decryptions.
fn secret(parameters: &Arc<BfvParameters>, key: &SecretKey) -> [i32; N] {
    let delta = (Params::lanes94().modulus() - 1) / u128::from(T);
    let mut constant = vec![0; 2 * N];
    for (i, q) in Params::lanes94().primes().iter().enumerate() {
        constant[i * N] = (delta % u128::from(*q)) as u64;
    }
    let bare = vec![poly(parameters, vec![0; 2 * N]), poly(parameters, constant)];
    let bare = Ciphertext::new(bare, parameters).expect("two polynomials");
    let phase = key.try_decrypt(&bare).expect("decrypts anything");
    let residues = Vec::<u64>::try_decode(&phase, Encoding::poly()).expect("coefficients");
    let secret: Vec<i32> = residues.iter().map(|x| centre(*x as u32)).collect();
    secret.try_into().expect("N coefficients")
}

/// Their plaintext of a template in a lane.
fn message(lane: usize, face: &Embedding) -> Vec<i64> {
    let mut message = vec![0; N];
    Scheme::shared().lanes().place_template(lane, &Share::of(face), &mut message);
    message.into_iter().map(i64::from).collect()
}

#[test]
fn they_decrypt_our_templates() {
    let mut world = World::new();
    for width in Width::ALL {
        for (lane, face) in world.faces(width).iter().enumerate().step_by(7) {
            let ours = world.ours.encrypt_lane(lane, &Share::of(face), &mut world.rng);
            let mut residues = vec![0; 4 * N];
            packed::unpack(Cpu::detected(), ours.as_bytes(), &mut residues);
            let polynomials = residues.chunks_exact(2 * N).map(|values| {
                let limbs = Scheme::shared().limbs().iter().zip(values.chunks_exact(N));
                let coefficients = limbs.flat_map(|(limb, values)| {
                    let q = limb.modulus().value() as i64;
                    limb.centred_coefficients(values).into_iter().map(move |x| x.rem_euclid(q) as u64)
                });
                poly(&world.parameters, coefficients.collect())
            });
            let theirs = Ciphertext::new(polynomials.collect(), &world.parameters).expect("two polynomials");
            let read = world.theirs.try_decrypt(&theirs).expect("a ciphertext under their key");
            let read = Vec::<i64>::try_decode(&read, Encoding::poly()).expect("coefficients");
            let equal = read.iter().zip(message(lane, face)).all(|(x, y)| (x - y) % T as i64 == 0);
            assert!(equal, "lane {lane} of {width:?}");
        }
    }
}

#[test]
fn we_match_against_their_ciphertexts() {
    let mut world = World::new();
    for width in Width::ALL {
        let (faces, probes) = (world.faces(width), world.faces(width));
        let templates: Vec<PairCiphertext> = faces
            .iter()
            .enumerate()
            .map(|(lane, face)| {
                let plaintext =
                    Plaintext::try_encode(&message(lane, face), Encoding::poly(), &world.parameters)
                        .expect("N values");
                let theirs: Ciphertext =
                    world.theirs.try_encrypt(&plaintext, &mut rand_09::rng()).expect("encrypts");
                let mut values = Vec::new();
                for polynomial in theirs.iter() {
                    let mut polynomial = polynomial.clone();
                    polynomial.change_representation(Representation::PowerBasis);
                    for (limb, row) in Scheme::shared().limbs().iter().zip(polynomial.coefficients().rows()) {
                        let mut row = row.to_vec();
                        limb.transform(&mut row);
                        values.extend(row.iter().map(|x| limb.modulus().reduce(*x)));
                    }
                }
                PairCiphertext::pack(&values)
            })
            .collect();
        let mut rng = Drbg::from_seed([2; 32]);
        let shares: Vec<(Share, Share)> =
            probes.iter().map(|probe| Share::of(probe).split(&mut rng)).collect();
        let of_key_holder: Vec<_> = shares.iter().map(|(_, x2)| x2).enumerate().collect();
        let encrypted = world.ours.encrypt_probes(&of_key_holder, &mut rng);
        let placed: Vec<PlacedShare<'_>> = (0..LANES)
            .map(|lane| PlacedShare { lane, template: &templates[lane], share: &shares[lane].0 })
            .collect();
        let zero = world.ours.zero([3; 32], &mut rng);
        let masked = Masker::new(Scheme::shared(), [2; 32]).mask_shared(&zero, &placed, &encrypted);
        let opened = Decryptor::new(Scheme::shared()).decrypt_product(&world.ours, &masked);
        let expected: Vec<i32> = (0..LANES).map(|lane| faces[lane].dot(&probes[lane])).collect();
        assert_eq!(opened.scores()[..], expected);
        assert!(opened.within_band());
    }
}
