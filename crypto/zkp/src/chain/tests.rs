use super::*;
use crate::fixture::rng;

const CONTEXT: [u8; 32] = [5; 32];

fn chain(length: u32) -> Chain {
    Chain::random(CONTEXT, length, &mut rng(1)).expect("in range")
}

fn reveals(length: u32) -> (ChainCommitment, Vec<Reveal>) {
    let mut chain = chain(length);
    let all = std::iter::from_fn(|| chain.reveal()).collect();
    (*chain.commitment(), all)
}

#[test]
fn every_value_is_accepted_in_turn_and_once() {
    let (commitment, all) = reveals(100);
    let mut tip = ChainTip::new(CONTEXT, &commitment);
    for reveal in &all {
        assert_eq!(tip.accept(reveal), Ok(()));
        assert_eq!((tip.position(), tip.value()), (reveal.position, &reveal.value));
        assert_eq!(commitment.check(&CONTEXT, reveal), Ok(()));
        let used = ChainError::Used { position: reveal.position, last: reveal.position };
        assert_eq!(tip.accept(reveal), Err(used));
    }
    assert_eq!(tip.left(), 0);
}

#[test]
fn a_tip_goes_on_from_its_encoding() {
    let (commitment, all) = reveals(100);
    let mut tip = ChainTip::new(CONTEXT, &commitment);
    for reveal in &all {
        let mut restored = ChainTip::decode(&tip.encode()).expect("as it was");
        assert_eq!(restored, tip);
        assert_eq!((restored.accept(reveal), tip.accept(reveal)), (Ok(()), Ok(())));
        assert!(ChainTip::decode(&tip.encode()).expect("as it is").accept(reveal).is_err(), "used");
    }
    let with = |at: usize, word: u32| {
        let mut bytes = tip.encode();
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        ChainTip::decode(&bytes)
    };
    assert_eq!((with(32, 0), with(32, CHAIN_LENGTH_MAX + 1), with(36, 101)), (None, None, None));
}

#[test]
fn lost_requests_are_passed_over_up_to_the_window() {
    let (commitment, all) = reveals(100);
    let mut tip = ChainTip::new(CONTEXT, &commitment);
    assert_eq!(tip.accept(&all[15]), Ok(()), "position 16 after 0");
    assert_eq!(tip.accept(&all[32]), Err(ChainError::TooFar { position: 33, last: 16 }));
    assert_eq!(tip.accept(&all[31]), Ok(()), "position 32 after 16");
    for passed in [0, 15, 20, 30, 31] {
        let position = passed as u32 + 1;
        assert_eq!(tip.accept(&all[passed]), Err(ChainError::Used { position, last: 32 }));
    }
    assert_eq!(ChainTip::after(CONTEXT, &commitment, &all[31]), tip);
}

#[test]
fn a_tip_catches_up_with_a_far_value_and_with_no_wrong_one() {
    let (commitment, all) = reveals(100);
    let mut tip = ChainTip::new(CONTEXT, &commitment);
    assert_eq!(tip.catch_up(&Reveal { position: 91, ..all[91] }), Err(ChainError::Mismatch));
    assert_eq!(
        tip.catch_up(&Reveal { position: 101, ..all[99] }),
        Err(ChainError::BeyondEnd { position: 101, length: 100 })
    );
    assert_eq!(tip, ChainTip::new(CONTEXT, &commitment), "nothing moved");
    assert_eq!(tip.catch_up(&all[90]), Ok(()));
    assert_eq!(tip.catch_up(&all[90]), Err(ChainError::Used { position: 91, last: 91 }));
    assert_eq!(tip.accept(&all[91]), Ok(()), "and goes on from there");
}

#[test]
fn a_wrong_value_position_context_or_chain_is_refused_and_moves_nothing() {
    let (commitment, all) = reveals(100);
    let mut tip = ChainTip::new(CONTEXT, &commitment);
    tip.accept(&all[3]).expect("honest");
    let before = tip;
    let next = all[4];
    for bit in 0..256 {
        let mut other = next;
        other.value[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(tip.accept(&other), Err(ChainError::Mismatch));
        assert_eq!(commitment.check(&CONTEXT, &other), Err(ChainError::Mismatch));
    }
    for position in (6..=20).chain([1, 4]) {
        let moved = Reveal { position, ..next };
        assert!(tip.accept(&moved).is_err() && commitment.check(&CONTEXT, &moved).is_err(), "{position}");
    }
    assert_eq!(tip.accept(&Reveal { position: 5, ..all[5] }), Err(ChainError::Mismatch), "a later value");
    assert_eq!(tip.accept(&Reveal { position: 0, ..next }), Err(ChainError::Used { position: 0, last: 4 }));
    let beyond = Reveal { position: 101, ..next };
    assert_eq!(tip.accept(&beyond), Err(ChainError::BeyondEnd { position: 101, length: 100 }));
    let far = Reveal { position: u32::MAX, ..next };
    assert!(tip.accept(&far).is_err() && commitment.check(&CONTEXT, &far).is_err());
    assert_eq!(tip, before);
    assert_eq!(commitment.check(&[6; 32], &next), Err(ChainError::Mismatch), "another session");
    let tip_itself = Reveal { position: 0, value: *commitment.tip() };
    assert_eq!(commitment.check(&CONTEXT, &tip_itself), Err(ChainError::Used { position: 0, last: 0 }));
    assert_eq!(tip.accept(&next), Ok(()));
}

#[test]
fn lengths_are_bounded_and_encodings_round_trip() {
    for length in [0, CHAIN_LENGTH_MAX + 1, u32::MAX] {
        assert_eq!(ChainCommitment::new(length, [1; 32]), Err(ChainLength(length)));
        assert_eq!(Chain::random(CONTEXT, length, &mut rng(1)).err(), Some(ChainLength(length)));
        let mut bytes = [1; ChainCommitment::BYTES];
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        assert_eq!(ChainCommitment::decode(&bytes), Err(ChainLength(length)));
    }
    for length in [1, 300, CHAIN_LENGTH_MAX] {
        let commitment = ChainCommitment::new(length, [7; 32]).expect("in range");
        assert_eq!(ChainCommitment::decode(&commitment.encode()), Ok(commitment));
    }
}

/// Without position and context in the step, a value of one chain could be valid in another.
#[test]
fn equal_seeds_in_other_sessions_or_of_other_lengths_share_no_value() {
    let all = |context, length| {
        let mut chain = Chain::restore(context, length, &[9; 32], 0).expect("in range");
        std::iter::from_fn(move || chain.reveal()).map(|reveal| reveal.value).collect::<Vec<_>>()
    };
    let one = all([1; 32], 20);
    for other in [all([2; 32], 20), all([1; 32], 21)] {
        let shared = one.iter().filter(|value| other.contains(value)).count();
        assert_eq!(shared, 1, "the seed itself only");
    }
}
