//! Encrypted scores are the plaintext inner products, bit for bit.

use crate::{expected, longest, random_face, random_faces};
use std::path::Path;
use std::sync::Arc;
use trefoil_bfv::{
    Basis, Decryptor, Drbg, Embedding, Handle, LANES, Masker, MasterKey, Params, Placed, Salt, Scheme, Share,
    SubjectKey, TemplateCiphertext, Tier,
};

/// A tenant on one processor tier.
struct Tenant {
    scheme: Arc<Scheme>,
    basis: Basis,
    master: MasterKey,
    masker: Masker,
    decryptor: Decryptor,
    rng: Drbg,
    enrolled: u32,
}

struct Subject {
    lane: usize,
    key: SubjectKey,
    template: TemplateCiphertext,
}

impl Tenant {
    fn new(tier: Tier, seed: u8) -> Tenant {
        let scheme = Scheme::new(Params::lanes94(), tier);
        let mut rng = Drbg::from_seed([seed; 32]);
        Tenant {
            basis: Basis::from_seed(&scheme, [seed; 32]),
            master: MasterKey::random(&mut rng),
            masker: Masker::new(&scheme, [seed ^ 0x55; 32]),
            decryptor: Decryptor::new(&scheme),
            scheme,
            rng,
            enrolled: 0,
        }
    }

    fn enrol(&mut self, lane: usize, face: &Embedding) -> Subject {
        self.enrolled += 1;
        let key = self.master.subject_key(&Handle::new([7; 32]), self.enrolled, &Salt::random(&mut self.rng));
        let template = self.basis.encrypt_lane(&key, lane, &Share::of(face), &mut self.rng);
        Subject { lane, key, template }
    }

    fn scores(&mut self, requests: &[(&Subject, &Embedding)]) -> [i32; LANES] {
        let placed: Vec<Placed<'_>> = requests
            .iter()
            .map(|(subject, probe)| Placed { lane: subject.lane, template: &subject.template, probe })
            .collect();
        let masked = self.masker.mask(&self.basis, &placed);
        let opened = self.decryptor.decrypt(requests.iter().map(|(subject, _)| &subject.key), &masked);
        assert!(opened.within_band());
        *opened.scores()
    }

    /// Enrols the faces from lane 0 on and matches each against its probe.
    fn check(&mut self, faces: &[Embedding], probes: &[Embedding]) {
        let subjects: Vec<Subject> =
            faces.iter().enumerate().map(|(lane, face)| self.enrol(lane, face)).collect();
        let requests: Vec<_> = subjects.iter().zip(probes).collect();
        assert_eq!(self.scores(&requests), expected(faces, probes));
    }
}

#[test]
fn random_vectors_on_every_tier() {
    for tier in Tier::available() {
        let mut tenant = Tenant::new(tier, 1);
        for n in [1, 2, 5, 31, 32, 32, 32] {
            let (faces, probes) = (random_faces(&mut tenant.rng, n), random_faces(&mut tenant.rng, n));
            tenant.check(&faces, &probes);
        }
    }
}

#[test]
fn a_single_subject_in_each_lane() {
    let mut tenant = Tenant::new(Tier::detected(), 2);
    for lane in 0..LANES {
        let (face, probe) = (random_face(&mut tenant.rng), random_face(&mut tenant.rng));
        let subject = tenant.enrol(lane, &face);
        let mut expected = [0; LANES];
        expected[lane] = face.dot(&probe);
        assert_eq!(tenant.scores(&[(&subject, &probe)]), expected);
    }
}

/// Claim M1.
#[test]
fn vectors_of_maximal_length_do_not_wrap() {
    let mut tenant = Tenant::new(Tier::detected(), 3);
    let longest = [longest(1.0), longest(-1.0)];
    assert!(longest[0].norm_squared() > 32_600, "{}", longest[0].norm_squared());
    let faces = vec![longest[0].clone(); 32];
    let probes: Vec<Embedding> = (0..32).map(|i| longest[i % 2].clone()).collect();
    tenant.check(&faces, &probes);
    // Not once in 3200 lanes is a lane less than eight bits from failure.
    let subjects: Vec<Subject> =
        faces.iter().enumerate().map(|(lane, face)| tenant.enrol(lane, face)).collect();
    let placed: Vec<Placed<'_>> = subjects
        .iter()
        .zip(&probes)
        .map(|(subject, probe)| Placed { lane: subject.lane, template: &subject.template, probe })
        .collect();
    let limit = tenant.scheme.params().modulus() as f64 / (2.0 * trefoil_bfv::T as f64);
    for _ in 0..100 {
        let masked = tenant.masker.mask(&tenant.basis, &placed);
        let opened = tenant.decryptor.decrypt(subjects.iter().map(|subject| &subject.key), &masked);
        let right = faces.iter().zip(&probes).map(|(face, probe)| face.dot(probe));
        assert!(opened.scores().iter().copied().eq(right));
        assert!(opened.errors().iter().all(|error| error.abs() * 256.0 <= limit));
    }
    // All of the length in one coordinate.
    let mut spike = [0.0; 128];
    spike[77] = -1.0;
    let spike = Embedding::quantise(&spike).expect("finite");
    assert_eq!(spike.dot(&spike), 30_625);
    tenant.check(&vec![spike.clone(); 32], &vec![spike; 32]);
}

/// The rows of a sample file, `tests/data/README.md`.
fn sample<const BYTES: usize, X>(name: &str, read: impl Fn([u8; BYTES]) -> X) -> Vec<Vec<X>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rows: Vec<Vec<X>> = bytes
        .chunks_exact(128 * BYTES)
        .map(|row| row.as_chunks().0.iter().map(|x| read(*x)).collect())
        .collect();
    assert_eq!(rows.len(), 16);
    rows
}

/// Claim M1: Encrypted scores equal plaintext scores, on real face vectors and at maximal length.
#[test]
fn real_vectors_are_quantised_as_elsewhere_and_matched_exactly() {
    let vectors: Vec<Embedding> = sample("facenet128_x.f32", f32::from_le_bytes)
        .iter()
        .map(|row| Embedding::quantise(row).expect("a real embedding"))
        .collect();
    for (vector, expected) in vectors.iter().zip(sample("facenet128_q175.i16", i16::from_le_bytes)) {
        assert_eq!(vector.values()[..], expected);
        vector.check_honest_band().expect("a real embedding");
    }
    // Each person's first vector against the second of every person: 64 scores, of which the 8 genuine ones stand out.
    let mut tenant = Tenant::new(Tier::detected(), 4);
    let mut genuine_above = 0;
    for shift in 0..8 {
        let faces: Vec<Embedding> = (0..8).map(|i| vectors[2 * i].clone()).collect();
        let probes: Vec<Embedding> = (0..8).map(|i| vectors[2 * ((i + shift) % 8) + 1].clone()).collect();
        tenant.check(&faces, &probes);
        genuine_above +=
            faces.iter().zip(&probes).filter(|(x, y)| (x.dot(y) > 16_046) == (shift == 0)).count();
    }
    assert_eq!(genuine_above, 64);
}

/// Claim M28: The 32 lanes are independent: changing one leaves the scores of the others unchanged.
#[test]
fn changing_one_lane_leaves_the_other_31_scores_identical() {
    let mut tenant = Tenant::new(Tier::detected(), 5);
    let (faces, probes) = (random_faces(&mut tenant.rng, 32), random_faces(&mut tenant.rng, 32));
    let subjects: Vec<Subject> = (0..32).map(|lane| tenant.enrol(lane, &faces[lane])).collect();
    let requests: Vec<_> = subjects.iter().zip(&probes).collect();
    let before = tenant.scores(&requests);
    for lane in 0..LANES {
        let (other_face, other_probe) = (random_face(&mut tenant.rng), random_face(&mut tenant.rng));
        let replacement = tenant.enrol(lane, &other_face);
        let others = |scores: [i32; LANES]| [&scores[..lane], &scores[lane + 1..]].concat();
        // Another probe, another template, nobody.
        let mut changed = requests.clone();
        changed[lane] = (&subjects[lane], &other_probe);
        assert_eq!(others(tenant.scores(&changed)), others(before));
        changed[lane] = (&replacement, &probes[lane]);
        let after = tenant.scores(&changed);
        assert_eq!(others(after), others(before));
        assert_eq!(after[lane], other_face.dot(&probes[lane]));
        changed.remove(lane);
        let after = tenant.scores(&changed);
        assert_eq!((others(after), after[lane]), (others(before), 0));
    }
}

#[test]
fn a_missing_or_foreign_key_decrypts_nothing() {
    let mut tenant = Tenant::new(Tier::detected(), 6);
    let face = random_face(&mut tenant.rng);
    let (a, b, stranger) = (tenant.enrol(0, &face), tenant.enrol(1, &face), tenant.enrol(1, &face));
    let placed = [&a, &b].map(|s| Placed { lane: s.lane, template: &s.template, probe: &face });
    let masked = tenant.masker.mask(&tenant.basis, &placed);
    let mut within =
        |keys: &[&SubjectKey]| tenant.decryptor.decrypt(keys.iter().copied(), &masked).within_band();
    assert!(within(&[&a.key, &b.key]) && within(&[&b.key, &a.key]));
    for keys in [&[][..], &[&a.key], &[&a.key, &stranger.key], &[&a.key, &b.key, &stranger.key]] {
        assert!(!within(keys));
    }
}

#[test]
fn ciphertexts_are_read_back_and_others_refused() {
    let mut tenant = Tenant::new(Tier::detected(), 7);
    let face = random_face(&mut tenant.rng);
    let subject = tenant.enrol(3, &face);
    let bytes = subject.template.as_bytes();
    assert_eq!(bytes.len(), 49_152);
    assert!(TemplateCiphertext::from_bytes(&tenant.scheme, bytes) == Ok(subject.template.clone()));
    for n in (0..bytes.len()).step_by(6).chain([1, bytes.len() - 1]) {
        assert!(TemplateCiphertext::from_bytes(&tenant.scheme, &bytes[..n]).is_err());
    }
    for (at, prime) in [(0, 140_720_308_191_233u64), (4095, 140_720_308_191_233), (4096, 140_700_980_543_489)]
    {
        let mut changed = bytes.to_vec();
        changed[6 * at..6 * at + 6].copy_from_slice(&prime.to_le_bytes()[..6]);
        assert!(TemplateCiphertext::from_bytes(&tenant.scheme, &changed).is_err(), "residue {at}");
        changed[6 * at..6 * at + 6].copy_from_slice(&(prime - 1).to_le_bytes()[..6]);
        assert!(TemplateCiphertext::from_bytes(&tenant.scheme, &changed).is_ok(), "residue {at}");
    }
}

/// Claim M27.
#[test]
fn the_same_batch_is_masked_differently_every_time() {
    let mut tenant = Tenant::new(Tier::detected(), 8);
    let face = random_face(&mut tenant.rng);
    let subject = tenant.enrol(0, &face);
    let placed = [Placed { lane: 0, template: &subject.template, probe: &face }];
    let (first, second) =
        (tenant.masker.mask(&tenant.basis, &placed), tenant.masker.mask(&tenant.basis, &placed));
    let equal = first.to_bytes().chunks(6).zip(second.to_bytes().chunks(6)).filter(|(a, b)| a == b).count();
    // 8256 residues of 47 bits: a coincidence of two is already unlikely.
    assert!(equal < 2);
    let again = tenant.basis.encrypt_lane(&subject.key, 0, &Share::of(&face), &mut tenant.rng);
    assert!(again != subject.template);
}
