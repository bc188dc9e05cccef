use super::*;
use crate::noise::{BAND_MAX, FLOOD_TERM_BITS, FLOOD_TERMS, predicted_deviation};
use crate::{Decryptor, Handle, MasterKey, Opened, Salt, Share, SubjectKey};

const BATCHES: usize = 40;

/// 32 enrolled subjects, whose probes are random faces.
struct Batch {
    width: Width,
    basis: Basis,
    keys: Vec<SubjectKey>,
    templates: Vec<TemplateCiphertext>,
    rng: Drbg,
}

impl Batch {
    fn new(width: Width) -> Batch {
        let mut rng = Drbg::from_seed([1; 32]);
        let basis = Basis::from_seed(Scheme::shared(), [2; 32]);
        let master = MasterKey::random(&mut rng);
        let keys: Vec<_> =
            (0..32).map(|i| master.subject_key(&Handle::new([i; 32]), 0, &Salt::random(&mut rng))).collect();
        let templates = (0..LANES)
            .map(|lane| {
                // Blinded and unblinded, as enrolment does.
                let face = Embedding::random(width, &mut rng);
                let (template, rho) = (Share::of(&face), Share::random(width, &mut rng));
                let blinded = basis.encrypt_lane(&keys[lane], lane, &template.plus(&rho), &mut rng);
                blinded.subtract(Scheme::shared(), lane, &rho)
            })
            .collect();
        Batch { width, basis, keys, templates, rng }
    }

    /// A batch of random probes, of whose ciphertexts those for which `quiet` holds are not flooded.
    fn open(&mut self, masker: &mut Masker, quiet: impl Fn(usize) -> bool) -> Opened {
        let probes: Vec<Embedding> =
            (0..LANES).map(|_| Embedding::random(self.width, &mut self.rng)).collect();
        let placed: Vec<Placed<'_>> = (0..LANES)
            .map(|lane| Placed { lane, template: &self.templates[lane], probe: &probes[lane] })
            .collect();
        let mut masked = masker.mask(&self.basis, &placed);
        for (at, lanes) in masked.shape().ciphertexts().enumerate().filter(|(at, _)| quiet(*at)) {
            let probes = placed.iter().map(|request| (request.lane, request.probe));
            masker.prepare_multiplier(at, &lanes, probes, &mut Ahead::none());
            let (c0, c1) = masked.parts_mut(at);
            masker.write_error(c1, &mut Ahead::none());
            masker.add_basis(at, &self.basis, c1, &mut Ahead::none());
            masker.write_c0(at, &lanes, &[0; LANES], c0);
        }
        Decryptor::new(Scheme::shared()).decrypt(self.keys.iter().enumerate(), &masked)
    }
}

fn deviation(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
}

/// Claim M4: The measured noise agrees with the predicted noise.
#[test]
fn the_error_before_flooding_has_the_predicted_deviation() {
    for (width, bits) in Width::ALL.into_iter().zip([25.99, 25.49, 24.99]) {
        let mut batch = Batch::new(width);
        let mut masker = Masker::new(Scheme::shared(), [3; 32]);
        let opened: Vec<Opened> = (0..BATCHES).map(|_| batch.open(&mut masker, |_| true)).collect();
        let measured = deviation(&opened.iter().flat_map(Opened::errors).collect::<Vec<_>>());
        let predicted = predicted_deviation(width.lanes());
        assert!((predicted.log2() - bits).abs() < 0.01);
        // 1280 samples give the deviation to 2 %; the neglected terms add up to 3 %.
        assert!(
            (0.93..1.10).contains(&(measured / predicted)),
            "2^{:.3}, not 2^{:.3}, {width:?}",
            measured.log2(),
            predicted.log2()
        );
        // Too little noise: the key-holder would refuse every one of them.
        assert!(opened.iter().all(|opened| !opened.within_band()));
    }
}

/// Claim M27: Each batch from the matcher is masked by a fresh ternary secret.
#[test]
fn c1_is_an_lwe_sample_with_a_fresh_ternary_secret() {
    for width in Width::ALL {
        let mut batch = Batch::new(width);
        let mut masker = Masker::new(Scheme::shared(), [6; 32]);
        // One ciphertext, or two.
        let probes = [4, 20].map(|lane| (lane, Embedding::random(width, &mut batch.rng)));
        let placed = probes.each_ref().map(|(lane, probe)| Placed {
            lane: *lane,
            template: &batch.templates[*lane],
            probe,
        });
        let mut secrets: Vec<Vec<i64>> = Vec::new();
        for _ in 0..2 {
            let masked = masker.mask(&batch.basis, &placed);
            for (at, (lanes, c1)) in masked.ciphertexts().enumerate() {
                let mut plain = vec![0; N];
                let inside = within(&lanes, probes.iter().map(|(lane, probe)| (*lane, probe)));
                Scheme::shared().lanes().place_probes(width, inside, &mut plain);
                let of_both = [0, 1].map(|i| {
                    let here = i * N..(i + 1) * N;
                    let a = &batch.basis.values()[here.clone()];
                    secret_of(i, &plain, &masker.factors[at].multiplier[here.clone()], a, &c1[here])
                });
                assert!(of_both[0] == of_both[1], "the same for both primes");
                secrets.push(of_both[0].clone());
            }
        }
        assert_eq!(secrets.len(), if width == Width::W128 { 2 } else { 4 });
        let fresh = |(i, secret)| !secrets[..i].contains(secret);
        assert!(secrets.iter().enumerate().all(fresh), "one secret for each ciphertext of each batch");
    }
}

/// The ternary `r` of the multiplier `p + t * r` modulo prime `i`, given the coefficients of `p`. Checks that `c1` less `a` times the
/// multiplier is a small error.
fn secret_of(i: usize, plain: &[i32], multiplier: &[u64], a: &[u64], c1: &[u64]) -> Vec<i64> {
    let limb = &Scheme::shared().limbs()[i];
    let r: Vec<i64> = limb
        .centred_coefficients(multiplier)
        .iter()
        .zip(plain)
        .map(|(x, p)| {
            assert_eq!((x - i64::from(*p)) % T as i64, 0);
            (x - i64::from(*p)) / T as i64
        })
        .collect();
    assert!((-1..=1).all(|digit| (1200..1532).contains(&r.iter().filter(|x| **x == digit).count())));
    let m = limb.modulus();
    let error: Vec<u64> = (0..N).map(|j| m.sub(c1[j], m.mul(a[j], m.reduce(multiplier[j])))).collect();
    assert_binomial(&limb.centred_coefficients(&error));
    r
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
    for width in Width::ALL {
        let mut batch = Batch::new(width);
        let mut masker = Masker::new(Scheme::shared(), [4; 32]);
        let opened: Vec<Opened> = (0..BATCHES).map(|_| batch.open(&mut masker, |_| false)).collect();
        let errors: Vec<f64> = opened.iter().flat_map(Opened::errors).collect();
        let predicted = 2f64.powi(FLOOD_TERM_BITS as i32) * (FLOOD_TERMS as f64 / 12.0).sqrt();
        assert!((0.93..1.07).contains(&(deviation(&errors) / predicted)));
        assert!(errors.iter().all(|e| e.abs() <= BAND_MAX as f64));
        assert!(opened.iter().all(|opened| opened.within_band() && opened.flooded_independently()));
    }
}

/// The flooding of the others does not excuse it.
#[test]
fn one_ciphertext_that_is_not_flooded_is_outside_the_band() {
    for width in Width::ALL {
        let mut batch = Batch::new(width);
        let mut masker = Masker::new(Scheme::shared(), [7; 32]);
        for quiet in 0..LANES / width.lanes() {
            let opened = batch.open(&mut masker, |at| at == quiet);
            assert!(!opened.within_band(), "{quiet} of {width:?}");
            let loud = opened.errors().iter().filter(|error| error.abs() >= 2f64.powi(53)).count();
            assert!(loud + width.lanes() <= LANES && loud + width.lanes() + 2 > LANES, "{loud}");
        }
    }
}

#[test]
fn scratch_is_wiped_by_what_drop_calls() {
    let mut batch = Batch::new(Width::W512);
    let mut masker = Masker::new(Scheme::shared(), [5; 32]);
    batch.open(&mut masker, |_| false);
    let words = |masker: &Masker| -> Vec<u64> {
        let each = masker.factors.iter().flat_map(|factors| factors.multiplier.iter().chain(&*factors.sum));
        each.copied().collect()
    };
    assert_eq!(masker.factors.len(), 4);
    assert!(words(&masker).iter().any(|x| *x != 0));
    masker.wipe();
    assert!(masker.small.iter().all(|x| *x == 0) && words(&masker).iter().all(|x| *x == 0));
}
