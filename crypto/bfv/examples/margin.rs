//! Decrypts many lanes whose vectors are as long as any, in every mode, and says how far from failure the worst was:
//! `cargo run --release -p trefoil-bfv --example margin -- 1000000`.
//!
//! The flooding's bound leaves 8 bits (`noise::MARGIN_BITS`); the record of a run is the JSON that it prints last.

use trefoil_bfv::{
    Basis, Decryptor, Drbg, Embedding, LANES, Masker, MasterKey, Opened, PairCiphertext, Placed, PlacedPair,
    PlacedShare, Salt, Scheme, Share, SubjectKey, TemplateCiphertext, noise,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let lanes: usize = std::env::args().nth(1).map_or(Ok(100_000), |n| n.parse())?;
    let batches = lanes.div_ceil(LANES);
    let scheme = Scheme::shared();
    let mut rng = Drbg::from_rng(&mut rand::rng());
    let (longest, opposite) = (extreme(1.0)?, extreme(-1.0)?);
    println!("squared length {} of at most 32768", longest.norm_squared());
    let master = MasterKey::random(&mut rng);
    let basis = Basis::from_seed(scheme, [1; 32]);
    let keys: Vec<SubjectKey> =
        (0..LANES).map(|i| master.subject_key(&[i as u8; 32], 0, &Salt::random(&mut rng))).collect();
    let tenant = master.tenant_key(scheme);
    let zero = tenant.zero([2; 32], &mut rng);
    let share = Share::of(&longest);
    let templates: Vec<TemplateCiphertext> =
        (0..LANES).map(|lane| basis.encrypt_lane(&keys[lane], lane, &share, &mut rng)).collect();
    let pairs: Vec<PairCiphertext> =
        (0..LANES).map(|lane| tenant.encrypt_lane(lane, &share, &mut rng)).collect();
    let mut masker = Masker::new(scheme, rand::random());
    let mut decryptor = Decryptor::new(scheme);
    let probes: Vec<&Embedding> =
        (0..LANES).map(|lane| if lane % 3 == 0 { &opposite } else { &longest }).collect();
    let expected: Vec<i32> = probes.iter().map(|probe| probe.dot(&longest)).collect();

    let mut records = Vec::new();
    let mut tally = |name: &str, open: &mut dyn FnMut() -> Opened| {
        let (mut failures, mut largest) = (0, 0f64);
        for _ in 0..batches {
            let opened = open();
            failures += opened.scores().iter().zip(&expected).filter(|(score, right)| score != right).count();
            largest = opened.errors().iter().fold(largest, |max, error| max.max(error.abs()));
        }
        let limit = scheme.params().modulus() as f64 / (2.0 * trefoil_bfv::T as f64);
        let (flooded, limit) = (largest.log2(), limit.log2());
        println!(
            "{name:<24} {} lanes, {failures} failures, largest error 2^{flooded:.3}, limit 2^{limit:.3}",
            LANES * batches
        );
        records.push(format!(
            "{{\"mode\": \"{name}\", \"lanes\": {}, \"failures\": {failures}, \"margin_bits\": {:.3}}}",
            LANES * batches,
            limit - flooded
        ));
    };
    tally("plain, per-subject", &mut || {
        let placed: Vec<_> =
            (0..LANES).map(|lane| Placed { lane, template: &templates[lane], probe: probes[lane] }).collect();
        decryptor.decrypt(&keys, &masker.mask(&basis, &placed))
    });
    let decryptor = Decryptor::new(scheme);
    tally("plain, per-tenant", &mut || {
        let placed: Vec<_> =
            (0..LANES).map(|lane| PlacedPair { lane, template: &pairs[lane], probe: probes[lane] }).collect();
        decryptor.decrypt_pairs(&tenant, &masker.mask_pairs(&placed))
    });
    tally("shared, per-tenant", &mut || {
        let shares: Vec<(Share, Share)> =
            probes.iter().map(|probe| Share::of(probe).split(&mut rng)).collect();
        let of_keyholder: Vec<_> = shares.iter().map(|(_, x2)| x2).enumerate().collect();
        let encrypted = tenant.encrypt_probes(&of_keyholder, &mut rng);
        let placed: Vec<_> = (0..LANES)
            .map(|lane| PlacedShare { lane, template: &pairs[lane], share: &shares[lane].0 })
            .collect();
        decryptor.decrypt_product(&tenant, &masker.mask_shared(&zero, &placed, &encrypted))
    });
    for (name, worst) in [("plain", noise::HONEST_MAX), ("shared", noise::HONEST_PRODUCT_MAX)] {
        let limit = scheme.params().modulus() as f64 / (2.0 * trefoil_bfv::T as f64) / worst as f64;
        println!("{name}: before flooding the worst case is {:.1} bits below the limit", limit.log2());
    }
    let limit = scheme.params().modulus() as f64 / (2.0 * trefoil_bfv::T as f64);
    println!(
        "{{\"benchmark\": \"margin\", \"command\": \"cargo run --release -p trefoil-bfv --example margin -- {lanes}\", \
         \"squared_length\": {}, \"guaranteed_margin_bits\": {:.3}, \"modes\": [{}]}}",
        longest.norm_squared(),
        (limit / noise::BAND_MAX as f64).log2(),
        records.join(", ")
    );
    Ok(())
}

/// 123 coordinates just above 15.5 and 5 near 14.5: nearly every one rounds up by a half.
fn extreme(sign: f32) -> Result<Embedding, trefoil_bfv::QuantiseError> {
    let coordinate =
        |k: usize| if k.is_multiple_of(3) { -sign } else { sign } * if k < 123 { 15.5001 } else { 14.5001 };
    Embedding::quantise(&(0..128).map(coordinate).collect::<Vec<_>>())
}
