use super::*;
use crate::noise::{BAND_MAX, FLOOD_TERM_BITS, FLOOD_TERMS, predicted_deviation};
use crate::{Decryptor, Handle, MasterKey, Opened, Salt, Share, SubjectKey};

const BATCHES: usize = 40;

/// 32 enrolled subjects, whose probes are random faces.
struct Batch {
    basis: Basis,
    keys: Vec<SubjectKey>,
    templates: Vec<TemplateCiphertext>,
    rng: Drbg,
}

impl Batch {
    fn new() -> Batch {
        let mut rng = Drbg::from_seed([1; 32]);
        let basis = Basis::from_seed(Scheme::shared(), [2; 32]);
        let master = MasterKey::random(&mut rng);
        let keys: Vec<_> =
            (0..32).map(|i| master.subject_key(&Handle::new([i; 32]), 0, &Salt::random(&mut rng))).collect();
        let templates = (0..LANES)
            .map(|lane| {
                // Blinded and unblinded, as enrolment does.
                let (template, rho) = (Share::of(&face(&mut rng)), Share::random(&mut rng));
                let blinded = basis.encrypt_lane(&keys[lane], lane, &template.plus(&rho), &mut rng);
                blinded.subtract(Scheme::shared(), lane, &rho)
            })
            .collect();
        Batch { basis, keys, templates, rng }
    }

    /// A batch of random probes, with flooding or without.
    fn open(&mut self, masker: &mut Masker, flooded: bool) -> Opened {
        let probes: Vec<Embedding> = (0..LANES).map(|_| face(&mut self.rng)).collect();
        let placed: Vec<Placed<'_>> = (0..LANES)
            .map(|lane| Placed { lane, template: &self.templates[lane], probe: &probes[lane] })
            .collect();
        let mut masked = masker.mask(&self.basis, &placed);
        if !flooded {
            let probes = placed.iter().map(|request| (request.lane, request.probe));
            masker.prepare_multiplier(probes, &mut Ahead::none());
            let (c0, c1) = masked.parts_mut();
            masker.write_error(c1, &mut Ahead::none());
            masker.add_basis(&self.basis, c1, &mut Ahead::none());
            masker.write_c0(&[0; LANES], c0);
        }
        Decryptor::new(Scheme::shared()).decrypt(&self.keys, &masked)
    }
}

fn face(rng: &mut Drbg) -> Embedding {
    let mut bytes = [0u8; crate::DIM];
    rng.fill(&mut bytes);
    Embedding::quantise(&bytes.map(|x| f32::from(x) - 127.5)).expect("not zero")
}

fn deviation(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
}

/// Claim M4: The measured noise agrees with the predicted noise.
#[test]
fn the_error_before_flooding_has_the_predicted_deviation() {
    let mut batch = Batch::new();
    let mut masker = Masker::new(Scheme::shared(), [3; 32]);
    let opened: Vec<Opened> = (0..BATCHES).map(|_| batch.open(&mut masker, false)).collect();
    let measured = deviation(&opened.iter().flat_map(Opened::errors).collect::<Vec<_>>());
    let predicted = predicted_deviation(LANES);
    assert!((predicted.log2() - 25.99).abs() < 0.01);
    // 1280 samples give the deviation to 2 %; the neglected terms add up to 3 %.
    assert!(
        (0.93..1.10).contains(&(measured / predicted)),
        "2^{:.3}, not 2^{:.3}",
        measured.log2(),
        predicted.log2()
    );
    // Too little noise: the key-holder would refuse every one of them.
    assert!(opened.iter().all(|opened| !opened.within_band()));
}

/// Claim M27: Each batch from the matcher is masked by a fresh ternary secret.
#[test]
fn c1_is_an_lwe_sample_with_a_fresh_ternary_secret() {
    let mut batch = Batch::new();
    let mut masker = Masker::new(Scheme::shared(), [6; 32]);
    let probe = face(&mut batch.rng);
    let placed = [Placed { lane: 4, template: &batch.templates[4], probe: &probe }];
    let mut plain = vec![0; N];
    Scheme::shared().lanes().place_probes([(4, &probe)].into_iter(), &mut plain);
    let mut secrets: Vec<Vec<i64>> = Vec::new();
    for _ in 0..2 {
        let masked = masker.mask(&batch.basis, &placed);
        for (i, limb) in Scheme::shared().limbs().iter().enumerate() {
            let a = &batch.basis.values()[i * N..(i + 1) * N];
            let multiplier = &masker.multiplier[i * N..(i + 1) * N];
            // The multiplier is p + t * r.
            let r: Vec<i64> = limb
                .centred_coefficients(multiplier)
                .iter()
                .zip(&plain)
                .map(|(x, p)| {
                    assert_eq!((x - i64::from(*p)) % T as i64, 0);
                    (x - i64::from(*p)) / T as i64
                })
                .collect();
            assert!((-1..=1).all(|digit| (1200..1532).contains(&r.iter().filter(|x| **x == digit).count())));
            secrets.push(r);
            // c1 minus a times the multiplier is a small error.
            let m = limb.modulus();
            let c1 = &masked.parts().1[i * N..(i + 1) * N];
            let error: Vec<u64> =
                (0..N).map(|j| m.sub(c1[j], m.mul(a[j], m.reduce(multiplier[j])))).collect();
            assert_binomial(&limb.centred_coefficients(&error));
        }
    }
    assert!(
        secrets[0] == secrets[1] && secrets[0] != secrets[2],
        "one secret per batch, the same for both primes"
    );
}

/// Errors of at most 21 with a variance near 10.5 (deviation of the estimate: 0.23).
fn assert_binomial(errors: &[i64]) {
    assert!(errors.iter().all(|e| e.abs() <= 21));
    let variance = errors.iter().map(|e| (e * e) as f64).sum::<f64>() / errors.len() as f64;
    assert!((variance - 10.5).abs() < 1.2, "{variance}");
}

/// Claim M26: Flooding covers the error and stays within the band of an honest matcher.
#[test]
fn flooding_covers_the_error_and_stays_within_the_band() {
    let mut batch = Batch::new();
    let mut masker = Masker::new(Scheme::shared(), [4; 32]);
    let opened: Vec<Opened> = (0..BATCHES).map(|_| batch.open(&mut masker, true)).collect();
    let errors: Vec<f64> = opened.iter().flat_map(Opened::errors).collect();
    let predicted = 2f64.powi(FLOOD_TERM_BITS as i32) * (FLOOD_TERMS as f64 / 12.0).sqrt();
    assert!((0.93..1.07).contains(&(deviation(&errors) / predicted)));
    assert!(errors.iter().all(|e| e.abs() <= BAND_MAX as f64));
    assert!(opened.iter().all(Opened::within_band));
}

#[test]
fn scratch_is_wiped_by_what_drop_calls() {
    let mut batch = Batch::new();
    let mut masker = Masker::new(Scheme::shared(), [5; 32]);
    batch.open(&mut masker, true);
    assert!(masker.multiplier.iter().any(|x| *x != 0));
    masker.wipe();
    assert!(
        masker.small.iter().all(|x| *x == 0)
            && masker.multiplier.iter().chain(masker.sum.iter()).all(|x| *x == 0)
    );
}
