//! What witnesses reveal, to whom, and what a malicious key-holder can do about it.

use super::*;
use crate::TagMaster;

/// One batch with its witnesses, and the partial decryptions of each.
struct Round {
    masked: MaskedBatch,
    witnesses: [Witness; PIECES],
    scores: Vec<i32>,
    partials: [Partial; PIECES],
    /// Of each seat's witness.
    of_witnesses: [[Partial; PIECES]; PIECES],
}

impl Round {
    /// With the first `people` of 32.
    fn new(people: &mut People, count: usize, masker: &mut Masker) -> Round {
        let probes = people.probes();
        let placed = place(people.templates.iter().take(count), &probes);
        let masked = masker.mask(&people.basis, &placed);
        let tags = [1, 2, 3].map(|seat| TagMaster::from_bytes([seat; 32]).basis(&people.basis, 0));
        let witnesses = masker.witnesses(&people.basis, &placed, tags.each_ref()).map(|(witness, _)| witness);
        let mut decryptor = Decryptor::new(Scheme::shared());
        let batches: [(Of, &MaskedBatch); 4] = std::array::from_fn(|i| match i.checked_sub(1) {
            None => (Of::Batch, &masked),
            Some(seat) => (Of::Witness(Seat::ALL[seat]), witnesses[seat].batch()),
        });
        let all = Piece::ALL.map(|piece| {
            let keys = people.pieces[piece.index()][..count].iter().enumerate();
            decryptor.partials(&people.masters[piece.index()], keys, batches, &[9; 32])
        });
        let partials = all.each_ref().map(|[of_batch, ..]| of_batch.clone());
        let of_witnesses = std::array::from_fn(|seat| all.each_ref().map(|of| of[1 + seat].clone()));
        let scores = people.scores(&probes)[..count].to_vec();
        Round { masked, witnesses, scores, partials, of_witnesses }
    }

    /// What the seat opens when the piece that it lacks is `moved` by these multiples of Delta in the coefficients of the batch and
    /// of its witness.
    fn open(&self, seat: Seat, moved: [&[u32; LANES]; 2]) -> (Opened, Opened, bool) {
        let lacks = seat.lacks().index();
        let shift = |partials: &[Partial; PIECES], by: &[u32; LANES]| {
            let mut partials = partials.clone();
            for (coefficient, by) in by.iter().enumerate() {
                partials[lacks] = altered(&partials[lacks], coefficient, delta() * u128::from(*by));
            }
            partials
        };
        let witness = &self.witnesses[seat.index()];
        let opened = combine(&self.masked, &shift(&self.partials, moved[0]));
        let of_witness = combine(witness.batch(), &shift(&self.of_witnesses[seat.index()], moved[1]));
        let confirmed = witness.confirms(&opened, &of_witness);
        (opened, of_witness, confirmed)
    }
}

fn delta() -> u128 {
    (Scheme::shared().params().modulus() - 1) / u128::from(T)
}

/// Coefficients of the polynomials in `Y`, of each ciphertext in turn, that are `value` in one lane and zero in the others.
fn one_lane(width: Width, lane: usize, value: u32) -> [u32; LANES] {
    let mut polynomial = vec![0; N];
    let mut residues = vec![0; width.numbers()];
    residues[0] = value;
    let share = Share::from_residues(residues.into());
    let place = lane % width.lanes();
    Scheme::shared().lanes().place_shares(width, [(place, &share)].into_iter(), &mut polynomial);
    let mut coefficients = [0; LANES];
    let of_its_ciphertext = &mut coefficients[lane - place..][..width.lanes()];
    for (coefficient, x) in of_its_ciphertext.iter_mut().zip(polynomial.iter().step_by(width.numbers())) {
        *coefficient = x.rem_euclid(T as i32) as u32;
    }
    coefficients
}

fn times(value: u32, factor: u32) -> u32 {
    (u64::from(value) * u64::from(factor) % T) as u32
}

#[test]
fn a_witness_confirms_honest_partials() {
    for width in Width::ALL {
        let mut people = People::new(11, width);
        let mut masker = Masker::new(Scheme::shared(), [3; 32]);
        for count in [32, 7, 1] {
            let round = Round::new(&mut people, count, &mut masker);
            for seat in Seat::ALL {
                let (opened, of_witness, confirmed) = round.open(seat, [&[0; LANES]; 2]);
                assert_eq!(opened.scores()[..count], round.scores);
                assert!(
                    opened.scores()[count..].iter().chain(&of_witness.scores()[count..]).all(|x| *x == 0)
                );
                assert!(confirmed && opened.within_quorum_band() && of_witness.within_quorum_band());
                assert_ne!(opened.scores()[..count], of_witness.scores()[..count], "factors are not all one");
                // Another seat's factors confirm nothing.
                let other = &round.witnesses[seat.others()[0].index()];
                assert!(!other.confirms(&opened, &of_witness));
            }
            let c1: Vec<Vec<u8>> =
                round.witnesses.iter().map(|witness| witness.batch().c1_to_bytes()).collect();
            assert!(c1[0] != c1[1] && c1[1] != c1[2] && !c1.contains(&round.masked.c1_to_bytes()));
        }
    }
}

/// The seats' tags are of the witness, in each of its ciphertexts, and of no other.
#[test]
fn each_witness_has_a_tag_for_each_seat() {
    for width in Width::ALL {
        let mut people = People::new(14, width);
        let probes = people.probes();
        let placed = place(people.templates.iter(), &probes);
        let mut masker = Masker::new(Scheme::shared(), [6; 32]);
        masker.mask(&people.basis, &placed);
        let masters = [1, 2, 3].map(|seat| TagMaster::from_bytes([seat; 32]));
        let bases = masters.each_ref().map(|tags| tags.basis(&people.basis, 0));
        let witnesses = masker.witnesses(&people.basis, &placed, bases.each_ref());
        for (seat, tags) in masters.iter().enumerate() {
            let key = tags.key(&people.basis, 0);
            for (i, (witness, _)) in witnesses.iter().enumerate() {
                for (j, (_, tags)) in witnesses.iter().enumerate() {
                    let vouched = tags.each_ref().map(|tag| key.vouches(witness.batch(), tag));
                    assert_eq!(vouched, std::array::from_fn(|of| of == seat && i == j));
                }
            }
        }
    }
}

/// Claim M30: To move a score, a seat must know the factor of that lane. A moved share changes no decision and identifies its sender.
#[test]
fn whoever_moves_a_score_has_to_know_the_factor() {
    for width in Width::ALL {
        let mut people = People::new(12, width);
        let round = Round::new(&mut people, 32, &mut Masker::new(Scheme::shared(), [4; 32]));
        let (nothing, lane) = ([0; LANES], 13);
        for seat in Seat::ALL {
            let factor = round.witnesses[seat.index()].factors[lane];
            let one_lane = |value| one_lane(width, lane, value);
            for by in [1, 20_000, 65_536] {
                let moved = one_lane(by);
                let (opened, _, confirmed) = round.open(seat, [&moved, &nothing]);
                assert!(opened.within_quorum_band(), "the band does not show it");
                let expected = (round.scores[lane] + by as i32 - opened.scores()[lane]) % T as i32;
                assert_eq!(expected, 0);
                assert!((0..LANES).all(|at| at == lane || opened.scores()[at] == round.scores[at]));
                assert!(!confirmed, "{by}");
                // With the right guess, of 65537, it would pass; the next one does not.
                assert!(round.open(seat, [&moved, &one_lane(times(by, factor))]).2);
                let guess = (factor + 1) % T as u32;
                assert!(!round.open(seat, [&moved, &one_lane(times(by, guess))]).2);
            }
            // All scores of a ciphertext by as much; a witness alone.
            let mut all = nothing;
            all[0] = 1;
            assert!(!round.open(seat, [&all, &nothing]).2);
            assert!(!round.open(seat, [&all, &all]).2);
            assert!(!round.open(seat, [&nothing, &one_lane(1)]).2);
        }
    }
}

#[test]
fn floodings_of_batch_and_witnesses_are_independent() {
    // Without keys a partial is its flooding.
    let nothing = MaskedBatch::zero(Scheme::shared(), Shape::of(Width::W256, u32::MAX));
    let of = [Of::Batch, Of::Witness(Seat::ALL[0]), Of::Witness(Seat::ALL[1]), Of::Witness(Seat::ALL[2])];
    let master = PieceMaster::from_bytes([7; 32]);
    let partials =
        Decryptor::new(Scheme::shared()).partials(&master, [], of.map(|of| (of, &nothing)), &[1; 32]);
    let words: Vec<u64> = partials.iter().flat_map(|partial| partial.words.iter().copied()).collect();
    assert!(words.iter().enumerate().all(|(i, word)| !words[..i].contains(word)));
}

#[test]
fn witnesses_are_read_as_written_and_not_printed() {
    for width in Width::ALL {
        let mut people = People::new(13, width);
        let round = Round::new(&mut people, 3, &mut Masker::new(Scheme::shared(), [5; 32]));
        let [witness, ..] = &round.witnesses;
        let (scheme, shape) = (Scheme::shared(), witness.batch().shape());
        let bytes = witness.to_bytes();
        assert!(Witness::from_bytes(scheme, shape, &bytes).as_ref() == Ok(witness));
        assert_eq!(format!("{witness:?}"), "Witness(..)");
        for length in [0, 4 * LANES, bytes.len() - 1] {
            assert!(Witness::from_bytes(scheme, shape, &bytes[..length]).is_err());
        }
        let unreduced = [&65_537u32.to_le_bytes(), &bytes[4..]].concat();
        assert_eq!(Witness::from_bytes(scheme, shape, &unreduced), Err(MaskedError::NotReduced(0)));
        let c1 = witness.batch().c1_to_bytes();
        let read = MaskedBatch::from_c1_bytes(scheme, shape, &c1).unwrap();
        assert!(read.c1_to_bytes() == c1 && read.c0().iter().all(|word| *word == 0));
        assert!(MaskedBatch::from_c1_bytes(scheme, shape, &c1[1..]).is_err());
        let mut wiped = witness.clone();
        wiped.zeroize();
        assert_eq!(wiped.factors, [0; LANES]);
    }
}
