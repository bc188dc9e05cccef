//! The `shared` mode: scores are the plaintext inner products on every tier.

use crate::{batches, expected, longest, random_face, random_faces};
use std::sync::Arc;
use trefoil_bfv::{
    Arena, CiphertextError, Decryptor, Drbg, Embedding, LANES, MaskedError, MaskedProduct, Masker, MasterKey,
    PairCiphertext, Params, PlacedShare, Scheme, Shape, Share, TenantKey, Tier, Width, Zero,
};

struct Tenant {
    scheme: Arc<Scheme>,
    key: TenantKey,
    zero: Zero,
    masker: Masker,
    rng: Drbg,
}

impl Tenant {
    fn new(tier: Tier, seed: u8) -> Tenant {
        let scheme = Scheme::new(Params::lanes94(), tier);
        let mut rng = Drbg::from_seed([seed; 32]);
        let key = MasterKey::random(&mut rng).tenant_key(&scheme);
        let zero = key.zero([seed; 32], &mut rng);
        Tenant { masker: Masker::new(&scheme, [seed; 32]), scheme, key, zero, rng }
    }

    /// Templates in these lanes.
    fn enrol(&mut self, lanes: &[usize], faces: &[Embedding]) -> Vec<PairCiphertext> {
        let lanes = lanes.iter().zip(faces);
        lanes.map(|(lane, face)| self.key.encrypt_lane(*lane, &Share::of(face), &mut self.rng)).collect()
    }

    fn shared(&mut self, lanes: &[usize], templates: &[PairCiphertext], probes: &[Share]) -> [i32; LANES] {
        let masked = self.product(lanes, templates, probes);
        let read = MaskedProduct::from_bytes(&self.scheme, masked.shape(), &masked.to_bytes());
        assert!(read.as_ref() == Ok(&masked));
        let opened = Decryptor::new(&self.scheme).decrypt_product(&self.key, &masked);
        assert!(opened.within_band());
        *opened.scores()
    }

    fn product(&mut self, lanes: &[usize], templates: &[PairCiphertext], probes: &[Share]) -> MaskedProduct {
        let shares: Vec<(Share, Share)> = probes.iter().map(|probe| probe.split(&mut self.rng)).collect();
        let for_key_holder: Vec<_> = lanes.iter().copied().zip(shares.iter().map(|(_, x2)| x2)).collect();
        let encrypted = self.key.encrypt_probes(&for_key_holder, &mut self.rng);
        let placed: Vec<PlacedShare<'_>> = lanes
            .iter()
            .zip(templates.iter().zip(&shares))
            .map(|(lane, (template, (share, _)))| PlacedShare { lane: *lane, template, share })
            .collect();
        self.masker.mask_shared(&self.zero, &placed, &encrypted)
    }
}

fn all() -> Vec<usize> {
    (0..LANES).collect()
}

#[test]
fn random_vectors_on_every_tier() {
    for (tier, width) in Tier::available().flat_map(|tier| Width::ALL.map(|width| (tier, width))) {
        let mut tenant = Tenant::new(tier, 1);
        for lanes in batches() {
            let [faces, probes] = [0; 2].map(|_| random_faces(width, &mut tenant.rng, lanes.len()));
            let templates = tenant.enrol(&lanes, &faces);
            let shares: Vec<Share> = probes.iter().map(Share::of).collect();
            let scores = tenant.shared(&lanes, &templates, &shares);
            assert_eq!(scores, expected(&lanes, &faces, &probes), "{lanes:?} of {width:?}");
        }
    }
}

#[test]
fn changing_one_lane_leaves_the_other_31_scores_identical() {
    for width in Width::ALL {
        let mut tenant = Tenant::new(Tier::detected(), 2);
        let faces = random_faces(width, &mut tenant.rng, 32);
        let probes: Vec<Share> = random_faces(width, &mut tenant.rng, 32).iter().map(Share::of).collect();
        let templates = tenant.enrol(&all(), &faces);
        let before = tenant.shared(&all(), &templates, &probes);
        for lane in 0..LANES {
            // Any residues at all, in one lane.
            let mut changed = probes.clone();
            changed[lane] = Share::random(width, &mut tenant.rng);
            let after = tenant.shared(&all(), &templates, &changed);
            assert!((0..LANES).all(|other| other == lane || after[other] == before[other]));
        }
    }
}

#[test]
fn vectors_of_maximal_length_do_not_wrap() {
    for width in Width::ALL {
        let mut tenant = Tenant::new(Tier::detected(), 7);
        let longest = longest(width, 1.0);
        let templates = tenant.enrol(&all(), &vec![longest.clone(); LANES]);
        let shares = vec![Share::of(&longest); LANES];
        for _ in 0..12 {
            assert_eq!(tenant.shared(&all(), &templates, &shares), [longest.norm_squared(); LANES]);
        }
    }
}

/// It would be cut off.
#[test]
#[should_panic(expected = "one width")]
fn shares_of_two_widths_are_not_encrypted_together() {
    let mut tenant = Tenant::new(Tier::detected(), 8);
    let shares = [Width::W128, Width::W256].map(|width| Share::random(width, &mut tenant.rng));
    tenant.key.encrypt_probes(&[(0, &shares[0]), (1, &shares[1])], &mut tenant.rng);
}

/// Claim M32.
#[test]
fn a_probe_that_is_not_short_gives_a_random_score() {
    // No modular norm can tell: this is why the shared mode is for devices whose key the tenant trusts.
    let mut tenant = Tenant::new(Tier::detected(), 3);
    let faces = random_faces(Width::W128, &mut tenant.rng, 32);
    let templates = tenant.enrol(&all(), &faces);
    let mut accepted = 0;
    for _ in 0..32 {
        let garbage: Vec<Share> = (0..32).map(|_| Share::random(Width::W128, &mut tenant.rng)).collect();
        // Cosine 0.4 of 175^2.
        accepted +=
            tenant.shared(&all(), &templates, &garbage).iter().filter(|score| **score >= 12_250).count();
    }
    // A uniform residue exceeds the threshold with probability 0.313; five standard deviations of 1024 trials are 0.073.
    let share = accepted as f64 / 1024.0;
    assert!((share - 0.313).abs() < 0.073, "{share}");
}

#[test]
fn another_tenants_key_decrypts_nothing() {
    let (mut tenant, other) = (Tenant::new(Tier::detected(), 4), Tenant::new(Tier::detected(), 5));
    let face = random_face(Width::W256, &mut tenant.rng);
    let templates = tenant.enrol(&[0], std::slice::from_ref(&face));
    let product = tenant.product(&[0], &templates, &[Share::of(&face)]);
    let decryptor = Decryptor::new(&tenant.scheme);
    assert!(decryptor.decrypt_product(&tenant.key, &product).within_band());
    assert!(!decryptor.decrypt_product(&other.key, &product).within_band());
}

#[test]
fn encodings_are_read_back_and_others_refused() {
    let mut tenant = Tenant::new(Tier::detected(), 6);
    let face = random_face(Width::W128, &mut tenant.rng);
    let template = &tenant.enrol(&[0], &[face])[0];
    let bytes = template.as_bytes();
    assert_eq!(bytes.len(), 98_304);
    assert!(PairCiphertext::from_bytes(&tenant.scheme, bytes).as_ref() == Ok(template));
    for n in [0, 1, 49_152, 98_303] {
        let short = PairCiphertext::from_bytes(&tenant.scheme, &bytes[..n]).err();
        assert_eq!(short, Some(CiphertextError::Length { found: n, expected: 98_304 }));
    }
    let mut large = bytes.to_vec();
    large[49_152..49_158].fill(0xff);
    assert!(PairCiphertext::from_bytes(&tenant.scheme, &large) == Err(CiphertextError::NotReduced(8192)));

    let zero = tenant.zero.to_bytes();
    assert_eq!(Zero::from_bytes(&tenant.scheme, &zero).expect("its own").to_bytes(), zero);
    for n in [0, 31, 32, zero.len() - 1] {
        assert!(Zero::from_bytes(&tenant.scheme, &zero[..n]).is_err());
    }
    for (width, lanes, ciphertexts) in
        [(Width::W128, 1, 1), (Width::W256, 1, 1), (Width::W512, 1 << 31 | 1, 2)]
    {
        let (shape, transparent) = (Shape::of(width, lanes), vec![0; 6 * (64 + ciphertexts * 16_384)]);
        let read = |bytes: &[u8]| MaskedProduct::from_bytes(&tenant.scheme, shape, bytes);
        assert!(read(&transparent) == Err(MaskedError::Transparent));
        assert!(matches!(read(&transparent[1..]), Err(MaskedError::Length { .. })));
    }

    let arena = Arena::new(98_304, 1);
    let stored = template.stored_in(&arena).expect("room");
    assert!(stored == *template && template.stored_in(&arena).is_none());
}
