//! Encrypted scores are the plaintext inner products, bit for bit.

use crate::{batches, expected, longest, random_face, random_faces};
use std::path::Path;
use std::sync::Arc;
use trefoil_bfv::{
    Basis, Decryptor, Drbg, Embedding, Handle, LANES, MaskedBatch, MaskedError, Masker, MasterKey, Params,
    Placed, Salt, Scheme, Shape, Share, SubjectKey, TemplateCiphertext, Tier, Width,
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

    /// Scores of a batch, which is read back from its bytes first.
    fn scores(&mut self, requests: &[(&Subject, &Embedding)]) -> [i32; LANES] {
        let placed: Vec<Placed<'_>> = requests
            .iter()
            .map(|(subject, probe)| Placed { lane: subject.lane, template: &subject.template, probe })
            .collect();
        let masked = self.masker.mask(&self.basis, &placed);
        let bytes = masked.to_bytes();
        assert_eq!(bytes.len(), self.scheme.masked_bytes(masked.shape()));
        let masked = MaskedBatch::from_bytes(&self.scheme, masked.shape(), &bytes).expect("its own");
        let keys = requests.iter().map(|(subject, _)| (subject.lane, &subject.key));
        let opened = self.decryptor.decrypt(keys, &masked);
        assert!(opened.within_band());
        *opened.scores()
    }

    fn enrol_all(&mut self, lanes: &[usize], faces: &[Embedding]) -> Vec<Subject> {
        lanes.iter().zip(faces).map(|(lane, face)| self.enrol(*lane, face)).collect()
    }

    /// Enrols the faces in these lanes and matches each against its probe.
    fn check(&mut self, lanes: &[usize], faces: &[Embedding], probes: &[Embedding]) {
        let subjects = self.enrol_all(lanes, faces);
        let requests: Vec<_> = subjects.iter().zip(probes).collect();
        assert_eq!(self.scores(&requests), expected(lanes, faces, probes), "{lanes:?}");
    }
}

#[test]
fn random_vectors_on_every_tier() {
    for (tier, width) in Tier::available().flat_map(|tier| Width::ALL.map(|width| (tier, width))) {
        let mut tenant = Tenant::new(tier, 1);
        for lanes in batches() {
            let [faces, probes] = [0; 2].map(|_| random_faces(width, &mut tenant.rng, lanes.len()));
            tenant.check(&lanes, &faces, &probes);
        }
    }
}

#[test]
fn a_single_subject_in_each_lane() {
    for width in Width::ALL {
        let mut tenant = Tenant::new(Tier::detected(), 2);
        for lane in 0..LANES {
            let [face, probe] = [0; 2].map(|_| random_face(width, &mut tenant.rng));
            tenant.check(&[lane], &[face], &[probe]);
        }
    }
}

/// Sums of templates serve as the templates do.
#[test]
fn blocks_give_the_scores_of_their_templates() {
    for width in Width::ALL {
        let mut tenant = Tenant::new(Tier::detected(), 9);
        let lanes: Vec<usize> = (0..LANES).collect();
        let [faces, probes] = [0; 2].map(|_| random_faces(width, &mut tenant.rng, LANES));
        let subjects = tenant.enrol_all(&lanes, &faces);
        let templates: Vec<_> = subjects.iter().map(|subject| &subject.template).collect();
        let of_one = templates.chunks(width.lanes());
        let blocks: Vec<_> = of_one.map(|all| TemplateCiphertext::block(&tenant.scheme, all)).collect();
        // Nobody asks for the odd lanes; their keys are needed all the same.
        let asked: Vec<usize> = lanes.iter().copied().filter(|lane| lane % 2 == 0).collect();
        let asking: Vec<_> = asked.iter().map(|lane| (*lane, &probes[*lane])).collect();
        let blocks: Vec<_> = blocks.iter().collect();
        let masked = tenant.masker.mask_blocks(&tenant.basis, &blocks, &asking);
        let keys = subjects.iter().map(|subject| (subject.lane, &subject.key));
        let opened = tenant.decryptor.decrypt(keys, &masked);
        assert!(opened.within_band());
        let of =
            |all: &[Embedding]| -> Vec<Embedding> { asked.iter().map(|lane| all[*lane].clone()).collect() };
        assert_eq!(*opened.scores(), expected(&asked, &of(&faces), &of(&probes)));
    }
}

/// Claim M1.
#[test]
fn vectors_of_maximal_length_do_not_wrap() {
    let all: Vec<usize> = (0..LANES).collect();
    for (width, least) in Width::ALL.into_iter().zip([32_600, 32_740, 32_490]) {
        let mut tenant = Tenant::new(Tier::detected(), 3);
        let longest = [longest(width, 1.0), longest(width, -1.0)];
        assert!(longest[0].norm_squared() > least, "{}", longest[0].norm_squared());
        let faces = vec![longest[0].clone(); 32];
        let probes: Vec<Embedding> = (0..32).map(|i| longest[i % 2].clone()).collect();
        tenant.check(&all, &faces, &probes);
        // Not once in 3200 lanes is a lane less than eight bits from failure.
        let subjects = tenant.enrol_all(&all, &faces);
        let placed: Vec<Placed<'_>> = subjects
            .iter()
            .zip(&probes)
            .map(|(subject, probe)| Placed { lane: subject.lane, template: &subject.template, probe })
            .collect();
        let limit = tenant.scheme.params().modulus() as f64 / (2.0 * trefoil_bfv::T as f64);
        for _ in 0..100 {
            let masked = tenant.masker.mask(&tenant.basis, &placed);
            let keys = subjects.iter().map(|subject| (subject.lane, &subject.key));
            let opened = tenant.decryptor.decrypt(keys, &masked);
            let right = faces.iter().zip(&probes).map(|(face, probe)| face.dot(probe));
            assert!(opened.scores().iter().copied().eq(right));
            assert!(opened.errors().iter().all(|error| error.abs() * 256.0 <= limit));
        }
        // All of the length in one coordinate.
        let mut spike = vec![0.0; width.numbers()];
        spike[77] = -1.0;
        let spike = Embedding::quantise(&spike).expect("finite");
        assert_eq!(spike.dot(&spike), width.scale().pow(2));
        tenant.check(&all, &vec![spike.clone(); 32], &vec![spike; 32]);
    }
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
        assert_eq!(vector.values(), expected);
        vector.check_honest_band().expect("a real embedding");
    }
    // Each person's first vector against the second of every person: 64 scores, of which the 8 genuine ones stand out.
    let mut tenant = Tenant::new(Tier::detected(), 4);
    let mut genuine_above = 0;
    for shift in 0..8 {
        let faces: Vec<Embedding> = (0..8).map(|i| vectors[2 * i].clone()).collect();
        let probes: Vec<Embedding> = (0..8).map(|i| vectors[2 * ((i + shift) % 8) + 1].clone()).collect();
        tenant.check(&[0, 1, 2, 3, 4, 5, 6, 7], &faces, &probes);
        genuine_above +=
            faces.iter().zip(&probes).filter(|(x, y)| (x.dot(y) > 16_046) == (shift == 0)).count();
    }
    assert_eq!(genuine_above, 64);
}

/// Claim M28: The 32 lanes are independent: changing one leaves the scores of the others unchanged.
#[test]
fn changing_one_lane_leaves_the_other_31_scores_identical() {
    for width in Width::ALL {
        let mut tenant = Tenant::new(Tier::detected(), 5);
        let [faces, probes] = [0; 2].map(|_| random_faces(width, &mut tenant.rng, 32));
        let subjects = tenant.enrol_all(&(0..LANES).collect::<Vec<_>>(), &faces);
        let requests: Vec<_> = subjects.iter().zip(&probes).collect();
        let before = tenant.scores(&requests);
        for lane in 0..LANES {
            let [other_face, other_probe] = [0; 2].map(|_| random_face(width, &mut tenant.rng));
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
}

#[test]
fn a_missing_or_foreign_key_decrypts_nothing() {
    for width in Width::ALL {
        let mut tenant = Tenant::new(Tier::detected(), 6);
        let face = random_face(width, &mut tenant.rng);
        // Two of one ciphertext, and one of another where there are several.
        let [a, b, far, stranger] = [0, 1, 31, 1].map(|lane| tenant.enrol(lane, &face));
        let placed = [&a, &b, &far].map(|s| Placed { lane: s.lane, template: &s.template, probe: &face });
        let masked = tenant.masker.mask(&tenant.basis, &placed);
        let mut within = |subjects: &[&Subject]| {
            let keys = subjects.iter().map(|subject| (subject.lane, &subject.key));
            tenant.decryptor.decrypt(keys, &masked).within_band()
        };
        assert!(within(&[&a, &b, &far]) && within(&[&far, &b, &a]));
        let wrong = [
            &[][..],
            &[&a, &far],
            &[&a, &b],
            &[&a, &stranger, &far],
            &[&a, &b, &stranger, &far],
            &[&a, &b, &far, &far],
        ];
        for subjects in wrong {
            assert!(!within(subjects));
        }
    }
}

/// What is read is a batch of the shape that the reader expects.
#[test]
fn a_masked_batch_of_another_shape_is_refused() {
    let mut tenant = Tenant::new(Tier::detected(), 10);
    for (width, others) in Width::ALL.into_iter().zip([&[][..], &[1, 1 << 16 | 1], &[1, 1 << 16, 1 << 9 | 1]])
    {
        let face = random_face(width, &mut tenant.rng);
        let subject = tenant.enrol(9, &face);
        let placed = [Placed { lane: 9, template: &subject.template, probe: &face }];
        let masked = tenant.masker.mask(&tenant.basis, &placed);
        let (scheme, bytes) = (&tenant.scheme, masked.to_bytes());
        let read = |lanes: u32, bytes: &[u8]| MaskedBatch::from_bytes(scheme, Shape::of(width, lanes), bytes);
        assert!(read(1 << 9, &bytes).as_ref() == Ok(&masked));
        for lanes in others.iter().copied().filter(|lanes| Shape::of(width, *lanes) != masked.shape()) {
            let expected = scheme.masked_bytes(Shape::of(width, lanes));
            let error = match expected == bytes.len() {
                true => MaskedError::Stray,
                false => MaskedError::Length { found: bytes.len(), expected },
            };
            assert!(read(lanes, &bytes) == Err(error), "{lanes:b} of {width:?}");
        }
        for n in [0, bytes.len() - 1, bytes.len() + 1] {
            let mut cut = bytes.clone();
            cut.resize(n, 0);
            assert!(matches!(read(1 << 9, &cut), Err(MaskedError::Length { .. })));
        }
        // A coefficient that is no residue; c1 that is zero modulo a prime.
        let mut large = bytes.clone();
        large[6 * 9..6 * 10].fill(0xff);
        assert!(read(1 << 9, &large) == Err(MaskedError::NotReduced(9)));
        let mut transparent = bytes.clone();
        transparent[bytes.len() - 6 * 4096..].fill(0);
        assert!(read(1 << 9, &transparent) == Err(MaskedError::Transparent));
    }
}

#[test]
fn ciphertexts_are_read_back_and_others_refused() {
    let mut tenant = Tenant::new(Tier::detected(), 7);
    let face = random_face(Width::W128, &mut tenant.rng);
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
    let face = random_face(Width::W128, &mut tenant.rng);
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
