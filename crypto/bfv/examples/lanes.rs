//! A batch of each width from end to end, with the noise at every step: split, enrol, match, decide.
//! `cargo run --release -p trefoil-bfv --example lanes`.

use trefoil_bfv::{
    Basis, Decryptor, Drbg, Embedding, Handle, LANES, Masker, MasterKey, Opened, Placed, PlacedShare, Salt,
    Scheme, Share, SubjectKey, TemplateCiphertext, Width, noise,
};

fn main() -> Result<(), trefoil_bfv::QuantiseError> {
    let log_q = (Scheme::shared().params().modulus() as f64).log2();
    println!("N = {}, t = {}, log2 Q = {log_q:.2}", trefoil_bfv::N, trefoil_bfv::T);
    println!("decryption is right while |error| < Q/2t = 2^{:.2}", limit());
    println!("an honest batch is flooded to at most 2^{:.2}", (noise::BAND_MAX as f64).log2());
    Width::ALL.into_iter().try_for_each(batch)
}

/// The logarithm of the largest error that decrypts.
fn limit() -> f64 {
    (Scheme::shared().params().modulus() as f64 / (2.0 * trefoil_bfv::T as f64)).log2()
}

fn batch(width: Width) -> Result<(), trefoil_bfv::QuantiseError> {
    let scheme = Scheme::shared();
    let mut rng = Drbg::from_rng(&mut rand::rng());

    // Split: neither share says anything about the embedding.
    let people: Vec<Embedding> = (0..LANES).map(|i| face(width, i, 0.0)).collect::<Result<_, _>>()?;
    let splits: Vec<(Share, Share)> = people.iter().map(|person| Share::of(person).split(&mut rng)).collect();
    println!("\n{} numbers, {} lanes in a ciphertext", width.numbers(), width.lanes());
    println!("split    {LANES} embeddings into two shares of {} bytes each", Share::bytes(width));

    // Enrol: the key-holder encrypts one share in the subject's lane, the matcher takes the other one out again.
    let basis = Basis::from_seed(scheme, [1; 32]);
    let master = MasterKey::random(&mut rng);
    let keys: Vec<SubjectKey> = (0..LANES)
        .map(|i| master.subject_key(&Handle::new([i as u8; 32]), 0, &Salt::random(&mut rng)))
        .collect();
    let templates: Vec<TemplateCiphertext> = (0..LANES)
        .map(|lane| {
            let (rho, rest) = &splits[lane];
            // y + rho at the key-holder, rho at the matcher: here y + rho is rest + 2 rho.
            let blinded = basis.encrypt_lane(&keys[lane], lane, &rest.plus(rho).plus(rho), &mut rng);
            blinded.subtract(scheme, lane, rho)
        })
        .collect();
    println!("enrol    {LANES} ciphertexts of {} bytes, one per lane", scheme.template_bytes());

    // Match: even lanes see the same person again, odd lanes somebody else.
    let probes: Vec<Embedding> =
        (0..LANES).map(|lane| face(width, lane + 40 * (lane % 2), 0.3)).collect::<Result<_, _>>()?;
    let placed: Vec<Placed<'_>> =
        (0..LANES).map(|lane| Placed { lane, template: &templates[lane], probe: &probes[lane] }).collect();
    let masked = Masker::new(scheme, rand::random()).mask(&basis, &placed);
    let predicted = noise::predicted_deviation(width.lanes());
    leaves("match ", masked.shape().count(), masked.to_bytes().len(), predicted);

    // Decide: one bit per lane.
    let opened = Decryptor::new(scheme).decrypt(keys.iter().enumerate(), &masked);
    decide(&opened, &people, &probes);

    // The same in the shared mode: neither role sees the probes.
    let key = master.tenant_key(scheme);
    let zero = key.zero([2; 32], &mut rng);
    let pairs: Vec<_> =
        people.iter().enumerate().map(|(lane, y)| key.encrypt_lane(lane, &Share::of(y), &mut rng)).collect();
    let shares: Vec<(Share, Share)> = probes.iter().map(|probe| Share::of(probe).split(&mut rng)).collect();
    let of_key_holder: Vec<_> = shares.iter().map(|(_, x2)| x2).enumerate().collect();
    let encrypted = key.encrypt_probes(&of_key_holder, &mut rng);
    let placed: Vec<PlacedShare<'_>> =
        (0..LANES).map(|lane| PlacedShare { lane, template: &pairs[lane], share: &shares[lane].0 }).collect();
    let masked = Masker::new(scheme, rand::random()).mask_shared(&zero, &placed, &encrypted);
    let predicted = noise::predicted_product_deviation(width.lanes());
    leaves("shared", masked.shape().count(), masked.to_bytes().len(), predicted);
    decide(&Decryptor::new(scheme).decrypt_product(&key, &masked), &people, &probes);
    Ok(())
}

fn leaves(mode: &str, products: usize, bytes: usize, predicted: f64) {
    let predicted = predicted.log2();
    println!(
        "{mode}   {products} products, {bytes} bytes leave the matcher; predicted error 2^{predicted:.2}"
    );
}

fn decide(opened: &Opened, people: &[Embedding], probes: &[Embedding]) {
    let largest = opened.errors().iter().fold(0.0, |max: f64, error| max.max(error.abs())).log2();
    assert!(opened.within_band());
    let expected: Vec<i32> = people.iter().zip(probes).map(|(y, x)| y.dot(x)).collect();
    assert_eq!(opened.scores()[..], expected, "every score is the inner product in the clear");
    let matches = |(score, person): (&i32, &Embedding)| {
        // Cosine 0.4.
        if f64::from(*score) >= 0.4 * f64::from(person.width().scale().pow(2)) { '1' } else { '0' }
    };
    let bits: String = opened.scores().iter().zip(people).map(matches).collect();
    println!("decide   {bits}, {:.2} bits of budget left", limit() - largest);
}

fn face(width: Width, person: usize, noise: f32) -> Result<Embedding, trefoil_bfv::QuantiseError> {
    let coordinate = |k: usize| {
        let own = ((person * 131 + k * k * 7) as f32 * 0.37).sin();
        own + noise * ((k * 31 + person) as f32).cos()
    };
    Embedding::quantise(&(0..width.numbers()).map(coordinate).collect::<Vec<_>>())
}
