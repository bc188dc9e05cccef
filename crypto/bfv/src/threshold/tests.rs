//! The scheme in three pieces against the scheme with one key, and the effect of wrong partial decryptions.

use super::*;
use crate::{Embedding, Handle, Masker, MasterKey, Placed, Salt, Shape, T};

mod witness;

/// 32 people, enrolled under one key each and under one key in three pieces.
struct People {
    width: Width,
    basis: Basis,
    faces: Vec<Embedding>,
    whole: Vec<(SubjectKey, TemplateCiphertext)>,
    masters: [PieceMaster; PIECES],
    /// Keys by piece, then by person.
    pieces: [Vec<SubjectKey>; PIECES],
    templates: Vec<TemplateCiphertext>,
    rng: Drbg,
}

impl People {
    fn new(seed: u8, width: Width) -> People {
        let mut rng = Drbg::from_seed([seed; 32]);
        let scheme = Scheme::shared();
        let basis = Basis::from_seed(scheme, [2; 32]);
        let (master, salt) = (MasterKey::random(&mut rng), Salt::random(&mut rng));
        let masters = [(); PIECES].map(|()| PieceMaster::random(&mut rng));
        let faces: Vec<Embedding> = (0..LANES).map(|_| Embedding::random(width, &mut rng)).collect();
        let whole = (0..LANES)
            .map(|lane| {
                let key = master.subject_key(&Handle::new([lane as u8; 32]), 0, &salt);
                let template = basis.encrypt_lane(&key, lane, &Share::of(&faces[lane]), &mut rng);
                (key, template)
            })
            .collect();
        let subjects: Vec<SubjectKey> =
            (0..LANES).map(|lane| master.subject_key(&Handle::new([lane as u8; 32]), 1, &salt)).collect();
        let pieces: [Vec<SubjectKey>; PIECES] =
            std::array::from_fn(|x| subjects.iter().map(|subject| masters[x].key(subject)).collect());
        let templates = (0..LANES)
            .map(|lane| {
                // Blinded and unblinded, as enrolment does.
                let rho = Share::random(width, &mut rng);
                let share = Share::of(&faces[lane]).plus(&rho);
                let parts = [Some(&share), None, None];
                let parts: Vec<TemplateCiphertext> = (0..PIECES)
                    .map(|x| basis.encrypt_piece(&pieces[x][lane], lane, width, parts[x]))
                    .collect();
                let sum = TemplateCiphertext::block(scheme, &parts.iter().collect::<Vec<_>>());
                sum.subtract(scheme, lane, &rho)
            })
            .collect();
        People { width, basis, faces, whole, masters, pieces, templates, rng }
    }

    /// A masked batch of random probes, and of everybody's own face in even lanes; the scores.
    fn batch(&mut self, masker: &mut Masker) -> (MaskedBatch, MaskedBatch, Vec<i32>) {
        let probes = self.probes();
        let in_pieces = masker.mask(&self.basis, &place(self.templates.iter(), &probes));
        let templates = self.whole.iter().map(|(_, template)| template);
        let whole = masker.mask(&self.basis, &place(templates, &probes));
        (in_pieces, whole, self.scores(&probes))
    }

    fn probes(&mut self) -> Vec<Embedding> {
        (0..LANES)
            .map(|lane| match lane % 2 {
                0 => self.faces[lane].clone(),
                _ => Embedding::random(self.width, &mut self.rng),
            })
            .collect()
    }

    fn scores(&self, probes: &[Embedding]) -> Vec<i32> {
        self.faces.iter().zip(probes).map(|(y, x)| y.dot(x)).collect()
    }

    fn partial(&self, piece: Piece, masked: &MaskedBatch, digest: u8) -> Partial {
        let x = piece.index();
        let mut decryptor = Decryptor::new(Scheme::shared());
        let keys = self.pieces[x].iter().enumerate();
        let [partial] = decryptor.partials(&self.masters[x], keys, [(Of::Batch, masked)], &[digest; 32]);
        partial
    }

    fn partials(&self, masked: &MaskedBatch, digest: u8) -> [Partial; PIECES] {
        Piece::ALL.map(|piece| self.partial(piece, masked, digest))
    }
}

/// Templates in the lanes of their order, and their probes.
fn place<'a>(
    templates: impl Iterator<Item = &'a TemplateCiphertext>,
    probes: &'a [Embedding],
) -> Vec<Placed<'a>> {
    let placed = templates.zip(probes).enumerate();
    placed.map(|(lane, (template, probe))| Placed { lane, template, probe }).collect()
}

fn combine(masked: &MaskedBatch, partials: &[Partial; PIECES]) -> Opened {
    Opened::combine(Scheme::shared(), masked, partials.each_ref())
}

/// A partial with one coefficient of each prime changed.
fn altered(partial: &Partial, coefficient: usize, value: u128) -> Partial {
    let mut altered = partial.clone();
    for (limb, words) in Scheme::shared().limbs().iter().zip(altered.words.chunks_exact_mut(LANES)) {
        let modulus = limb.modulus();
        words[coefficient] = modulus.add(words[coefficient], modulus.reduce_wide(value));
    }
    altered
}

#[test]
fn three_pieces_give_the_scores_of_one_key() {
    for width in Width::ALL {
        let mut people = People::new(1, width);
        let mut masker = Masker::new(Scheme::shared(), [3; 32]);
        let mut decryptor = Decryptor::new(Scheme::shared());
        for digest in 0..15 {
            let (masked, whole, scores) = people.batch(&mut masker);
            let opened = combine(&masked, &people.partials(&masked, digest));
            assert_eq!(opened.scores()[..], scores);
            assert!(opened.within_quorum_band());
            let single = decryptor.decrypt(people.whole.iter().map(|(key, _)| key).enumerate(), &whole);
            assert_eq!(opened.scores(), single.scores());
            assert!(single.within_band());
        }
    }
}

/// Claim M37.
#[test]
fn the_two_holders_of_a_piece_make_the_same_bytes() {
    for width in Width::ALL {
        let mut people = People::new(2, width);
        let (masked, ..) = people.batch(&mut Masker::new(Scheme::shared(), [4; 32]));
        for piece in Piece::ALL {
            let bytes = people.partial(piece, &masked, 1).to_bytes();
            assert_eq!(bytes.len(), Partial::BYTES);
            assert_eq!(bytes, people.partial(piece, &masked, 1).to_bytes());
            assert_eq!(Partial::from_bytes(Scheme::shared(), &bytes).unwrap().to_bytes(), bytes);
            assert!(people.partial(piece, &masked, 1) != people.partial(piece, &masked, 2), "another batch");
            let key = &people.pieces[piece.index()][5];
            let part = || people.basis.encrypt_piece(key, 5, width, None);
            assert!(part() == part());
        }
    }
    for length in [0, Partial::BYTES - 1, Partial::BYTES + 1] {
        assert!(Partial::from_bytes(Scheme::shared(), &vec![0; length]).is_err());
    }
    let unreduced = Partial::from_bytes(Scheme::shared(), &[0xff; Partial::BYTES]);
    assert_eq!(unreduced, Err(MaskedError::NotReduced(0)));
}

#[test]
fn a_partial_that_is_not_the_batchs_is_outside_of_the_band() {
    for width in Width::ALL {
        let mut people = People::new(3, width);
        let mut masker = Masker::new(Scheme::shared(), [5; 32]);
        let (other, ..) = people.batch(&mut masker);
        let (masked, _, scores) = people.batch(&mut masker);
        let honest = people.partials(&masked, 1);
        let strangers = People::new(4, width);
        for piece in Piece::ALL {
            let mut garbage = vec![0; Partial::BYTES];
            people.rng.fill(&mut garbage);
            // Below every prime: the top bits of each residue are clear.
            garbage.chunks_exact_mut(6).for_each(|residue| residue[5] &= 0x3f);
            let honest_one = &honest[piece.index()];
            let mut wrong = vec![
                Partial::from_bytes(Scheme::shared(), &garbage).unwrap(),
                people.partial(piece, &other, 2),
                strangers.partial(piece, &masked, 1),
            ];
            // One coefficient of any ciphertext.
            wrong.extend([7, 13, 18, 31].map(|coefficient| altered(honest_one, coefficient, 1 << 77)));
            for (k, wrong) in wrong.into_iter().enumerate() {
                let mut partials = honest.clone();
                partials[piece.index()] = wrong;
                assert!(!combine(&masked, &partials).within_quorum_band(), "{piece:?}, {k}, {width:?}");
            }
            // One unit changes no score; only a comparison of the copies shows it.
            let mut partials = honest.clone();
            partials[piece.index()] = altered(honest_one, 7, 1);
            assert!(partials[piece.index()] != *honest_one);
            assert_eq!(combine(&masked, &partials).scores()[..], scores);
            assert!(combine(&masked, &partials).within_quorum_band());
        }
    }
}

/// Claim M37: The error band does not detect a moved score in a partial decryption, and both holders of a piece make the same bytes.
#[test]
fn a_multiple_of_delta_moves_scores_and_stays_in_the_band() {
    // What no band can detect, and why a key-holder trusts two equal copies over one.
    for width in Width::ALL {
        let mut people = People::new(5, width);
        let (masked, _, scores) = people.batch(&mut Masker::new(Scheme::shared(), [6; 32]));
        let mut partials = people.partials(&masked, 1);
        let delta = (Scheme::shared().params().modulus() - 1) / u128::from(T);
        let last = LANES - width.lanes();
        partials[1] = altered(&partials[1], last, delta);
        let opened = combine(&masked, &partials);
        assert!(opened.within_quorum_band());
        // All scores of the ciphertext, and no other.
        let moved = |lane: usize| opened.scores()[lane] != scores[lane];
        assert!((0..LANES).all(|lane| moved(lane) == (lane >= last)));
    }
}

/// Claim M26.
#[test]
fn partials_are_flooded_as_predicted() {
    // Without a batch, a partial is its flooding.
    let none = || Partial { words: vec![0; Scheme::shared().folded_words()].into() };
    let mut decryptor = Decryptor::new(Scheme::shared());
    let master = PieceMaster::from_bytes([7; 32]);
    let samples: Vec<f64> = (0..200u8)
        .zip(Width::ALL.into_iter().cycle())
        .flat_map(|(digest, width)| {
            let nothing = MaskedBatch::zero(Scheme::shared(), Shape::of(width, u32::MAX));
            let [partial] = decryptor.partials(&master, [], [(Of::Batch, &nothing)], &[digest; 32]);
            let opened = combine(&nothing, &[partial, none(), none()]);
            opened.errors()
        })
        .collect();
    assert!(samples.iter().all(|x| x.abs() <= PARTIAL_FLOOD_MAX as f64));
    let deviation = (samples.iter().map(|x| x * x).sum::<f64>() / samples.len() as f64).sqrt();
    let predicted = 2f64.powi(TERM_BITS as i32) * (TERMS as f64 / 12.0).sqrt();
    // 6400 samples give the deviation to 0.7 %.
    assert!((0.96..1.04).contains(&(deviation / predicted)), "2^{:.2}", deviation.log2());
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    assert!(mean.abs() < 5.0 * predicted / (samples.len() as f64).sqrt());
}

/// Lanes without a ciphertext have no coefficient: not even flooding.
#[test]
fn a_partial_is_zero_where_the_batch_has_no_ciphertext() {
    let nothing = MaskedBatch::zero(Scheme::shared(), Shape::of(Width::W512, 1 << 9));
    let master = PieceMaster::from_bytes([7; 32]);
    let [partial] = Decryptor::new(Scheme::shared()).partials(&master, [], [(Of::Batch, &nothing)], &[1; 32]);
    for words in partial.words.chunks_exact(LANES) {
        assert!(words.iter().enumerate().all(|(lane, word)| (*word != 0) == (8..16).contains(&lane)));
    }
}

#[test]
#[should_panic(expected = "batches of one shape")]
fn batches_of_two_shapes_have_no_partials() {
    let [first, second] =
        [1, 1 << 31].map(|lanes| MaskedBatch::zero(Scheme::shared(), Shape::of(Width::W256, lanes)));
    let batches = [(Of::Batch, &first), (Of::Witness(Seat::ALL[0]), &second)];
    Decryptor::new(Scheme::shared()).partials(&PieceMaster::from_bytes([7; 32]), [], batches, &[1; 32]);
}

/// Claim M25.
#[test]
fn the_largest_error_of_a_quorum_decrypts() {
    let modulus = Scheme::shared().params().modulus();
    // Correct for any random draws: there is no batch that fails.
    assert!(2 * u128::from(T) * QUORUM_BAND_MAX < modulus);
    // A residue without relation to the batch passes with this probability, all coefficients of a ciphertext of it.
    let passes = (2 * u128::from(T) * QUORUM_BAND_MAX) as f64 / modulus as f64;
    for (width, bits) in Width::ALL.into_iter().zip([-107.84, -53.92, -26.96]) {
        let all = width.lanes() as f64 * passes.log2();
        assert!((all - bits).abs() < 0.01, "2^{all:.2} for {width:?}");
    }
}

#[test]
fn pieces_and_partials_are_wiped_and_not_printed() {
    let mut people = People::new(6, Width::W128);
    let (masked, ..) = people.batch(&mut Masker::new(Scheme::shared(), [7; 32]));
    let mut partial = people.partial(Piece::ALL[0], &masked, 1);
    assert_eq!(format!("{partial:?}"), "Partial(..)");
    partial.zeroize();
    assert!(partial.words.iter().all(|word| *word == 0));
    let mut master = people.masters[0].clone();
    master.zeroize();
    assert_eq!(master.0, [0; 32]);
}
