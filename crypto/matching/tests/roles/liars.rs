//! What one of three key-holders can do that lies to the other two.

use crate::three::{PRIMES, Three, altered, job_of};
use crate::{NOW, lenient};
use rand::Rng as _;
use trefoil_matching::quorum::{Parts, Seat};
use trefoil_matching::{KeyHolderError, MatchJob};

#[test]
fn a_liar_is_named_and_changes_nothing() {
    let mut three = Three::new(lenient(15_000), 30);
    let [other, _] = three.jobs(0);
    let [job, alone] = three.jobs(1);
    let expected = three.alone.decide(&alone, NOW).unwrap().lanes().bits();
    for seat in Seat::ALL {
        for liar in seat.others() {
            let honest = seat.others().into_iter().find(|other| *other != liar).unwrap();
            let truth = three.parts(liar, seat, &job);
            let replayed = three.parts(liar, seat, &other).to_bytes();
            let replayed = [&truth.to_bytes()[..36], &replayed[36..]].concat();
            let mut garbage = truth.to_bytes().to_vec();
            for at in (36..garbage.len()).step_by(6) {
                let residue = three.rng.next_u64() % PRIMES[1];
                garbage[at..at + 6].copy_from_slice(&residue.to_le_bytes()[..6]);
            }
            let both_shifted = altered(&altered(&truth, 0, 3, 1 << 77), 1, 3, 1 << 77);
            let lies =
                [Parts::from_bytes(&replayed).unwrap(), Parts::from_bytes(&garbage).unwrap(), both_shifted];
            for lie in lies {
                let parts = [(liar, lie.clone()), (honest, three.parts(honest, seat, &job))];
                assert_eq!(three.decide(seat, &job, &parts).unwrap(), (expected, vec![liar], vec![]));
                // Alone, a liar is not believed and costs nobody a freeze.
                let silent = three.decide(seat, &job, &[(liar, lie)]);
                assert!(matches!(silent, Err(KeyHolderError::Unavailable(_))), "{silent:?}");
            }
            // Off by one unit in either of its pieces, or in the witness: in the piece that is common it is seen, in the others it moves
            // nothing.
            for which in 0..3 {
                let parts = [(liar, altered(&truth, which, 5, 1)), (honest, three.parts(honest, seat, &job))];
                let (decided, liars, contradicting) = three.decide(seat, &job, &parts).unwrap();
                assert_eq!(decided, expected);
                assert!(liars == [liar] || (liars.is_empty() && contradicting.contains(&liar)));
            }
        }
    }
}

fn delta() -> u128 {
    (u128::from(PRIMES[0]) * u128::from(PRIMES[1]) - 1) / 65_537
}

/// What `liar` sends to `seat` with the piece that `seat` lacks, and its witness, moved by so many whole scores in all lanes.
fn moved(three: &Three, liar: Seat, seat: Seat, job: &MatchJob, [batch, witness]: [u128; 2]) -> Parts {
    let missing = liar.pieces().iter().position(|piece| *piece == seat.lacks()).unwrap();
    let parts = altered(&three.parts(liar, seat, job), missing, 0, delta() * batch);
    altered(&parts, 2, 0, delta() * witness)
}

#[test]
fn a_share_moved_by_whole_scores_changes_nothing_and_its_sender_is_named() {
    // With every lane taken it is within the band: only the witness contradicts it.
    let mut three = Three::new(lenient(15_000), 32);
    let [job, alone] = three.jobs(1);
    let expected = three.alone.decide(&alone, NOW).unwrap().lanes().bits();
    for seat in Seat::ALL {
        for liar in seat.others() {
            let honest = seat.others().into_iter().find(|other| *other != liar).unwrap();
            let truth = (honest, three.parts(honest, seat, &job));
            for by in [[20_000, 0], [20_000, 20_000], [1, 77], [0, 1], [65_536, 65_535]] {
                let lie = (liar, moved(&three, liar, seat, &job, by));
                for parts in [[lie.clone(), truth.clone()], [truth.clone(), lie]] {
                    assert_eq!(three.decide(seat, &job, &parts).unwrap(), (expected, vec![liar], vec![]));
                }
            }
            // Both honest ones decide the same, whatever each of them is told.
            let to_honest = [
                (liar, moved(&three, liar, honest, &job, [30_000, 5])),
                (seat, three.parts(seat, honest, &job)),
            ];
            assert_eq!(three.decide(honest, &job, &to_honest).unwrap(), (expected, vec![liar], vec![]));
        }
    }
}

#[test]
fn with_one_away_a_moved_share_is_refused_and_the_third_freezes() {
    for liar in Seat::ALL {
        let mut three = Three::new(lenient(15_000), 32);
        for seat in liar.others() {
            for attempt in 0..3u8 {
                let [job, alone] = three.jobs(attempt);
                let expected = three.alone.decide(&alone, NOW).unwrap().lanes().bits();
                let truth = [(liar, three.parts(liar, seat, &job))];
                assert_eq!(three.decide(seat, &job, &truth).unwrap(), (expected, vec![], vec![]));
                let lie = [(liar, moved(&three, liar, seat, &job, [20_000, 20_000 + u128::from(attempt)]))];
                let (holder, job) = (&three.holders[seat.index()], job_of(seat, &job));
                let begun = holder.begin(&job, NOW).unwrap();
                let early = holder.judge(&job, &begun, &lie, false);
                assert!(!early.is_final() && early.suspect == Some(liar), "the other may yet come");
                let judged = holder.judge(&job, &begun, &lie, true);
                assert_eq!((judged.suspect, &judged.liars[..]), (Some(liar), &[][..]));
                let outcome = holder.finish(&job, &begun, &judged);
                assert!(matches!(outcome, Err(KeyHolderError::Malformed)), "{outcome:?}");
            }
            let [job, _] = three.jobs(9);
            let outcome = three.decide(seat, &job, &[]);
            assert!(matches!(outcome, Err(KeyHolderError::Frozen)), "{outcome:?}");
        }
    }
}

#[test]
fn every_lie_about_one_lane_is_refused_but_the_one_that_knows_the_factor() {
    // The same lie about a batch and many about its witness: who guesses is refused, each time.
    let mut three = Three::new(lenient(15_000), 32);
    let [job, _] = three.jobs(1);
    let [seat, liar, _] = Seat::ALL;
    let (holder, job_here) = (&three.holders[0], job_of(seat, &job));
    let begun = holder.begin(&job_here, NOW).unwrap();
    let lie = moved(&three, liar, seat, &job, [20_000, 0]);
    for guess in 0..2000 {
        let lie = [(liar, altered(&lie, 2, 0, guess * 31 * delta()))];
        let judged = holder.judge(&job_here, &begun, &lie, true);
        assert_eq!(judged.suspect, Some(liar), "guess {guess}");
    }
}
