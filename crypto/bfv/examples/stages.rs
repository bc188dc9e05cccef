//! Times the two roles on one core, for a batch of 32 subjects: `cargo run --release -p trefoil-bfv --example stages`.
//!
//! Medians of batches over a store larger than the caches, so that templates come from main memory; `TREFOIL_TIER`
//! lowers the tier.

use std::time::Instant;
use trefoil_bfv::{
    Basis, Decryptor, Drbg, Embedding, LANES, Masker, MasterKey, Params, Placed, Salt, Scheme, Share,
    SubjectKey, TemplateCiphertext, Tier,
};

/// Subjects in the store, 32 MiB of templates per 683; a multiple of 32.
const SUBJECTS: usize = 4096;
const ROUNDS: usize = 2000;

fn main() {
    let tier = Tier::from_env().expect("TREFOIL_TIER names a tier");
    let scheme = Scheme::new(Params::lanes94(), tier);
    let mut rng = Drbg::from_rng(&mut rand::rng());
    let basis = Basis::from_seed(&scheme, [1; 32]);
    let master = MasterKey::random(&mut rng);
    let store: Vec<(SubjectKey, TemplateCiphertext)> = (0..SUBJECTS)
        .map(|i| {
            let key = master.subject_key(&[i as u8; 32], i as u32, &Salt::random(&mut rng));
            let ciphertext = basis.encrypt_lane(&key, i % LANES, &Share::of(&face(i)), &mut rng);
            (key, ciphertext)
        })
        .collect();
    let probes: Vec<Embedding> = (0..LANES).map(face).collect();
    let (mut masker, mut decryptor) = (Masker::new(&scheme, [2; 32]), Decryptor::new(&scheme));
    let (mut mask_ns, mut decrypt_ns) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // A stride that is odd in batches visits them all before any comes back.
        let start = round * 37 % (SUBJECTS / LANES) * LANES;
        let batch = &store[start..start + LANES];
        let placed: Vec<Placed<'_>> = batch
            .iter()
            .zip(&probes)
            .enumerate()
            .map(|(lane, ((_, template), probe))| Placed { lane, template, probe })
            .collect();
        let begin = Instant::now();
        let masked = masker.mask(&basis, &placed);
        mask_ns.push(begin.elapsed().as_nanos());
        let begin = Instant::now();
        let opened = decryptor.decrypt(batch.iter().map(|(key, _)| key), &masked);
        decrypt_ns.push(begin.elapsed().as_nanos());
        let expected: Vec<i32> = (0..LANES).map(|lane| probes[lane].dot(&face(start + lane))).collect();
        assert_eq!(opened.scores()[..], expected);
    }
    println!("tier {}, {SUBJECTS} subjects, {ROUNDS} batches of {LANES}, median microseconds", tier.name());
    println!("mask    {:8.1}", median_us(&mut mask_ns));
    println!("decrypt {:8.1}", median_us(&mut decrypt_ns));
}

fn face(i: usize) -> Embedding {
    let vector: Vec<f32> = (0..128).map(|k| ((i * 131 + k * k) as f32 * 0.37).sin()).collect();
    Embedding::quantise(&vector).expect("finite and not zero")
}

fn median_us(ns: &mut [u128]) -> f64 {
    ns.sort_unstable();
    ns[ns.len() / 2] as f64 / 1000.0
}
