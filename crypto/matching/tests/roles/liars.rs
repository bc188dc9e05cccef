//! What one of three key-holders can do that lies to the other two.

use crate::malformed::{PRIMES, add, add_score, delta, put};
use crate::three::{Three, WITNESS, altered, batch_at, job_of};
use crate::{ENDS, NOW, lane_of, lenient, wide};
use rand::Rng as _;
use trefoil_matching::quorum::{Parts, Seat, SeatJob};
use trefoil_matching::{KeyHolderError, MatchJob};

#[test]
fn a_liar_is_named_and_changes_nothing() {
    for width in ENDS {
        is_named_and_changes_nothing(&mut Three::new(wide(width, lenient(15_000)), 30));
    }
}

fn is_named_and_changes_nothing(three: &mut Three) {
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
                put(&mut garbage, at, three.rng.next_u64() % PRIMES[1]);
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

/// What `liar` sends to `seat` with the piece that `seat` lacks, and its witness, moved by so many whole scores in all lanes.
fn moved(three: &Three, liar: Seat, seat: Seat, job: &MatchJob, [batch, witness]: [u128; 2]) -> Parts {
    let missing = liar.pieces().iter().position(|piece| *piece == seat.lacks()).unwrap();
    let parts = altered(&three.parts(liar, seat, job), missing, 0, delta() * batch);
    altered(&parts, 2, 0, delta() * witness)
}

/// Claim M30.
#[test]
fn a_share_moved_by_whole_scores_changes_nothing_and_its_sender_is_named() {
    // With every lane taken it is within the band: only the witness contradicts it.
    for width in ENDS {
        changes_nothing(&mut Three::new(wide(width, lenient(15_000)), 32));
    }
}

fn changes_nothing(three: &mut Three) {
    let [job, alone] = three.jobs(1);
    let expected = three.alone.decide(&alone, NOW).unwrap().lanes().bits();
    for seat in Seat::ALL {
        for liar in seat.others() {
            let honest = seat.others().into_iter().find(|other| *other != liar).unwrap();
            let truth = (honest, three.parts(honest, seat, &job));
            for by in [[20_000, 0], [20_000, 20_000], [1, 77], [0, 1], [65_536, 65_535]] {
                let lie = (liar, moved(three, liar, seat, &job, by));
                for parts in [[lie.clone(), truth.clone()], [truth.clone(), lie]] {
                    assert_eq!(three.decide(seat, &job, &parts).unwrap(), (expected, vec![liar], vec![]));
                }
            }
            // Both honest ones decide the same, whatever each of them is told.
            let to_honest = [
                (liar, moved(three, liar, honest, &job, [30_000, 5])),
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
                let outcome = holder.finish(&job, &begun, &judged, true);
                assert!(matches!(outcome, Err(KeyHolderError::Malformed)), "{outcome:?}");
                three.refetch();
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
    for (width, guesses) in ENDS.into_iter().zip([2000, 500]) {
        refuses_every_guess(&mut Three::new(wide(width, lenient(15_000)), 32), guesses);
    }
}

fn refuses_every_guess(three: &mut Three, guesses: u128) {
    let [job, _] = three.jobs(1);
    let [seat, liar, _] = Seat::ALL;
    let (holder, job_here) = (&three.holders[0], job_of(seat, &job));
    let begun = holder.begin(&job_here, NOW).unwrap();
    let lie = moved(three, liar, seat, &job, [20_000, 0]);
    for guess in 0..guesses {
        let lie = [(liar, altered(&lie, 2, 0, guess * 31 * delta()))];
        let judged = holder.judge(&job_here, &begun, &lie, true);
        assert_eq!(judged.suspect, Some(liar), "guess {guess}");
    }
}

/// The factor of a lane in the witness of the seat that this job is for. Only a matcher knows it beforehand.
pub(crate) fn factor(job: &SeatJob, lane: usize) -> i64 {
    let bytes = job.to_bytes();
    i64::from(u32::from_le_bytes(bytes[WITNESS + 4 * lane..][..4].try_into().unwrap()))
}

/// A score that is multiplied by the factor of its lane, as a witness has it.
pub(crate) fn times(factor: i64, score: i32) -> i32 {
    (factor * i64::from(score) % 65_537) as i32
}

#[test]
fn a_liar_who_knows_a_factor_stops_one_seat_and_turns_no_decision() {
    for width in ENDS {
        stops_one_seat(&mut Three::new(wide(width, lenient(15_000)), 32));
    }
}

fn stops_one_seat(three: &mut Three) {
    let [job, alone] = three.jobs(1);
    let expected = three.alone.decide(&alone, NOW).unwrap().lanes().bits();
    let lane = lane_of(expected.trailing_zeros() as u8);
    let [seat, liar, honest] = Seat::ALL;
    let missing = liar.pieces().iter().position(|piece| *piece == seat.lacks()).unwrap();
    // What was accepted, moved by 20,000, is below the threshold.
    let (by, factor) = (20_000, factor(&job_of(seat, &job), lane.index()));
    let mut lie = three.parts(liar, seat, &job).to_bytes().to_vec();
    for (which, score) in [(missing, by), (2, times(factor, by))] {
        add_score(&mut lie, 36 + 384 * which, (three.model.width(), lane), score);
    }
    let lie = Parts::from_bytes(&lie).unwrap();
    let truth = (honest, three.parts(honest, seat, &job));
    for parts in [[(liar, lie.clone()), truth.clone()], [truth, (liar, lie)]] {
        let outcome = three.decide(seat, &job, &parts);
        assert!(matches!(outcome, Err(KeyHolderError::Unavailable(_))), "{outcome:?}");
    }
    // Nobody else is told the lie.
    let told = honest.others().map(|from| (from, three.parts(from, honest, &job)));
    assert_eq!(three.decide(honest, &job, &told).unwrap(), (expected, vec![], vec![]));
}

/// Each of these jobs differs from an honest one in a way that a single check sees: the error of the batch, the error of a
/// witness, and the score of a lane without a subject, which the witnesses confirm because the one who made them made that too.
#[test]
fn what_one_check_alone_sees_is_malformed() {
    for width in ENDS {
        sees_alone(&mut Three::new(wide(width, lenient(15_000)), 31));
    }
}

fn sees_alone(three: &mut Three) {
    let encoded = |three: &mut Three| SeatJob::encode(&three.jobs(1)[0]).unwrap();
    let (witness, batch) = (WITNESS + 4 * 32, batch_at(&encoded(three)[0]));
    let empty = (three.model.width(), lane_of(31));
    let stray = |bytes: &mut Vec<u8>| {
        let factor = factor(&SeatJob::from_bytes(bytes).unwrap(), empty.1.index());
        add_score(bytes, batch, empty, 1);
        add_score(bytes, witness, empty, times(factor, 1));
    };
    type Craft<'a> = (&'static str, &'a dyn Fn(&mut Vec<u8>));
    let crafts: [Craft<'_>; 4] = [
        ("nothing", &|_| ()),
        ("error of the batch", &|bytes| add(bytes, batch, 32, 5, delta() / 4)),
        ("error of the witness", &|bytes| add(bytes, witness, 32, 5, delta() / 4)),
        ("stray score", &stray),
    ];
    for (name, craft) in crafts {
        let mut crafted = encoded(three);
        crafted.iter_mut().for_each(craft);
        let crafted = crafted.map(|bytes| SeatJob::from_bytes(&bytes).unwrap());
        // The last of the three freezes: all parts are made before anybody judges.
        let parts = Seat::ALL.map(|seat| {
            seat.others().map(|other| {
                let begun = three.holders[other.index()].begin(&crafted[other.index()], NOW).unwrap();
                (other, begun.parts_for(seat))
            })
        });
        for (job, parts) in crafted.iter().zip(&parts) {
            let outcome = three.decide_job(job, parts);
            let refused = matches!(outcome, Err(KeyHolderError::Malformed));
            assert_eq!(refused, name != "nothing", "{name}: {outcome:?}");
        }
        three.forgive();
    }
}

#[test]
fn a_job_that_was_begun_before_a_freeze_is_not_answered_after_it() {
    let mut three = Three::new(lenient(15_000), 32);
    let [job, _] = three.jobs(1);
    let [seat, liar, _] = Seat::ALL;
    let truth = [(liar, three.parts(liar, seat, &job))];
    let job_here = job_of(seat, &job);
    let begun = three.holders[seat.index()].begin(&job_here, NOW).unwrap();
    for batch in 2..5 {
        three.refetch();
        let [job, _] = three.jobs(batch);
        let lie = [(liar, moved(&three, liar, seat, &job, [20_000, 0]))];
        assert!(matches!(three.decide(seat, &job, &lie), Err(KeyHolderError::Malformed)));
    }
    let holder = &three.holders[seat.index()];
    let judged = holder.judge(&job_here, &begun, &truth, true);
    let outcome = holder.finish(&job_here, &begun, &judged, true);
    assert!(matches!(outcome, Err(KeyHolderError::Frozen)), "{outcome:?}");
}
