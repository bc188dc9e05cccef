//! Three key-holders, any two of which decide.

use crate::attacks::{add_to_end, made_up};
use crate::malformed::MASKED;
use crate::three::{PRIMES, Three, alone, job_of};
use crate::{NOW, TENANT, handle, lane_of, lenient, policy, random_face};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use std::sync::Arc;
use trefoil_matching::quorum::{Parts, Pieces, QuorumHolder, Seat, SeatJob, assemble};
use trefoil_matching::{Embedding, JobError, KeyHolderError, KeyStructure, MatchJob, split};

#[test]
fn any_two_decide_as_one_alone_does() {
    let mut three = Three::new(lenient(15_000), 30);
    let mut accepted = 0;
    for batch in 0..12 {
        let [job, alone] = three.jobs(batch);
        let expected = three.alone.decide(&alone, NOW).unwrap().lanes().bits();
        accepted += expected.count_ones();
        for seat in Seat::ALL {
            let all = seat.others().map(|other| (other, three.parts(other, seat, &job)));
            assert_eq!(three.decide(seat, &job, &all).unwrap(), (expected, vec![], vec![]));
            for one in all {
                assert_eq!(three.decide(seat, &job, &[one]).unwrap(), (expected, vec![], vec![]));
            }
            assert!(matches!(three.decide(seat, &job, &[]), Err(KeyHolderError::Unavailable(_))));
        }
    }
    assert!((60..300).contains(&accepted), "some are accepted and some are not: {accepted}");
}

#[test]
fn of_a_job_that_a_matcher_made_up_there_are_no_parts() {
    let mut three = Three::new(lenient(0), 3);
    let [job, _] = three.jobs(1);
    for (seat, mut bytes) in Seat::ALL.into_iter().zip(SeatJob::encode(&job).unwrap()) {
        let holder = &three.holders[seat.index()];
        assert!(holder.begin(&SeatJob::from_bytes(&bytes).unwrap(), NOW).is_ok());
        // In the lane of a subject, and nowhere else.
        add_to_end(&mut bytes, &made_up(1, &mut three.rng));
        let crafted = SeatJob::from_bytes(&bytes).unwrap();
        for _ in 0..3 {
            assert!(matches!(holder.begin(&crafted, NOW), Err(KeyHolderError::Malformed)));
        }
        assert!(matches!(holder.begin(&crafted, NOW), Err(KeyHolderError::Frozen)), "each counts");
    }
}

#[test]
fn each_seat_gets_its_own_witness_and_another_seats_job_is_refused() {
    let mut three = Three::new(lenient(0), 3);
    let [job, plain] = three.jobs(1);
    assert!(SeatJob::encode(&plain).is_none(), "masked without witnesses");
    let encoded = SeatJob::encode(&job).unwrap();
    let digests: Vec<[u8; 32]> = Seat::ALL
        .map(|seat| three.holders[seat.index()].begin(&job_of(seat, &job), NOW).unwrap().digest())
        .to_vec();
    assert!(digests[0] == digests[1] && digests[1] == digests[2]);
    for (seat, bytes) in Seat::ALL.into_iter().zip(&encoded) {
        assert!(SeatJob::BYTES.contains(&bytes.len()));
        assert_eq!(job_of(seat, &job).to_bytes(), *bytes);
        let wrong = three.holders[seat.others()[0].index()].begin(&job_of(seat, &job), NOW);
        assert!(matches!(wrong, Err(KeyHolderError::Forbidden(_))));
        // 32 factors and 64 coefficients of c0 are in nobody else's bytes.
        let secret = &bytes[1..1 + 128 + 384];
        let has = |other: &Seat| encoded[other.index()].windows(secret.len()).any(|window| window == secret);
        assert!(!seat.others().iter().any(has));
        for length in [0, 1, 200, 50_000, 148_000, bytes.len() - 1] {
            assert!(SeatJob::from_bytes(&bytes[..length]).is_err());
        }
        let changed = |at: usize, value: u8| {
            let mut changed = bytes.clone();
            changed[at] = value;
            SeatJob::from_bytes(&changed)
        };
        assert_eq!(changed(0, 3).err(), Some(JobError::Format));
        assert!(changed(3, 0xff).is_err(), "a factor above t");
        // The third residue of the next seat's c1: parts would be of something else, and so is the name.
        let at = 1 + 128 + 384 + 8192 * 6 + 12;
        // Likewise where c0 differs: no flooding is used twice.
        for at in [at, bytes.len() - MASKED, bytes.len() - MASKED + 6 * 32] {
            let other = changed(at, bytes[at] ^ 1).unwrap();
            assert_ne!(three.holders[seat.index()].begin(&other, NOW).unwrap().digest(), digests[0]);
        }
    }
}

#[test]
fn the_threshold_itself_is_accepted_and_one_more_is_not() {
    let face = Three::new(lenient(0), 1).people[0].2.clone();
    for (above, expected) in [(0, 1), (1, 0)] {
        let mut three = Three::new(lenient(face.dot(&face) + above), 1);
        let lanes = [(&three.people[0].0, &face)];
        let job = three.matcher.mask_for_three([1; 16], TENANT, &three.keys[0], &lanes).unwrap();
        let [seat, other, _] = Seat::ALL;
        let parts = [(other, three.parts(other, seat, &job))];
        assert_eq!(three.decide(seat, &job, &parts).unwrap().0, expected);
    }
}

#[test]
fn malformed_jobs_freeze_each_and_budgets_bind_each() {
    let mut three = Three::new(policy(15_000), 30);
    let [job, _] = three.jobs(1);
    let mut crafted = SeatJob::encode(&job).unwrap();
    // c0 is at the head of the masked batch.
    let end = crafted[0].len();
    let c0 = end - 2 * (32 + 4096) * 6;
    for at in (c0..c0 + 2 * 32 * 6).step_by(6) {
        let residue = (three.rng.next_u64() % PRIMES[1]).to_le_bytes();
        crafted.iter_mut().for_each(|job| job[at..at + 6].copy_from_slice(&residue[..6]));
    }
    let crafted = crafted.map(|job| SeatJob::from_bytes(&job).unwrap());
    let others = Three::new(policy(15_000), 30);
    let begun = [0, 1, 2].map(|seat| others.holders[seat].begin(&crafted[seat], NOW).unwrap());
    for seat in Seat::ALL {
        for _ in 0..3 {
            let parts = seat.others().map(|other| (other, begun[other.index()].parts_for(seat)));
            let outcome = three.decide_job(&crafted[seat.index()], &parts);
            assert!(matches!(outcome, Err(KeyHolderError::Malformed)), "{outcome:?}");
        }
        let outcome = three.decide(seat, &job, &[]);
        assert!(matches!(outcome, Err(KeyHolderError::Frozen)), "{outcome:?}");
    }
}

#[test]
fn failures_are_counted_by_each() {
    let mut three = Three::new(policy(15_000), 1);
    let stranger = random_face(&mut three.rng);
    let person = three.people[0].clone();
    let mut job = |probe: &Embedding, batch| {
        three.matcher.mask_for_three([batch; 16], TENANT, &three.keys[0], &[(&person.0, probe)]).unwrap()
    };
    let (wrong, right) = (job(&stranger, 1), job(&person.2, 2));
    let decide = |job: &MatchJob| {
        // Each begins once: what it sends to the others is what it decides with.
        let jobs = Seat::ALL.map(|seat| job_of(seat, job));
        let begun: Vec<_> =
            three.holders.iter().zip(&jobs).map(|(holder, job)| holder.begin(job, NOW).unwrap()).collect();
        let decisions = three.holders.iter().zip(&jobs).zip(&begun).map(|((holder, job), own)| {
            let parts =
                holder.seat().others().map(|other| (other, begun[other.index()].parts_for(holder.seat())));
            let judged = holder.judge(job, own, &parts, true);
            holder.finish(job, own, &judged).unwrap().lanes().bits()
        });
        decisions.collect::<Vec<u32>>()
    };
    assert_eq!(decide(&right), [1, 1, 1]);
    for _ in 0..5 {
        assert_eq!(decide(&wrong), [0, 0, 0]);
    }
    assert_eq!(decide(&right), [0, 0, 0], "five failures in a row delay the sixth attempt at each");
}

#[test]
fn copies_that_differ_are_not_enrolled() {
    let mut rng = StdRng::seed_from_u64(5);
    let three = Three::new(lenient(0), 1);
    let (blinded, _) = split(&random_face(&mut rng), &mut rng);
    let (other, _) = split(&random_face(&mut rng), &mut rng);
    let contributions = [[1; 32], [2; 32], [3; 32]];
    let mut answers = [0, 1, 2].map(|seat: usize| {
        // The last is told another share, and so makes another copy of the first piece.
        let share = if seat == 2 { &other } else { &blinded };
        three.holders[seat].enrol(TENANT, handle(50), 0, lane_of(7), share, &contributions).unwrap()
    });
    assert_eq!(assemble(&answers), Err([Seat::ALL[0], Seat::ALL[2]]));
    answers[2] = three.holders[2].enrol(TENANT, handle(50), 1, lane_of(7), &blinded, &contributions).unwrap();
    assert!(assemble(&answers).is_err(), "another generation");
    let again = three.holders[0].enrol(TENANT, handle(50), 0, lane_of(7), &blinded, &contributions);
    assert!(matches!(again, Err(KeyHolderError::SubjectExists)));
}

#[test]
fn pieces_and_parts_are_read_as_written_and_nothing_else_is() {
    let mut three = Three::new(lenient(0), 3);
    for pieces in Pieces::deal(&mut StdRng::seed_from_u64(3)) {
        let bytes = pieces.to_bytes();
        assert_eq!(bytes.len(), Pieces::BYTES);
        assert_eq!(*Pieces::from_bytes(&bytes).unwrap().to_bytes(), *bytes);
        assert!((0..bytes.len()).all(|length| Pieces::from_bytes(&bytes[..length]).is_none()));
        assert!(Pieces::from_bytes(&[&bytes[..4], &[3], &bytes[5..]].concat()).is_none());
        assert!(Pieces::from_bytes(&[b"TFP0", &bytes[4..]].concat()).is_none());
    }
    let [job, _] = three.jobs(1);
    let bytes = three.parts(Seat::ALL[1], Seat::ALL[0], &job).to_bytes();
    assert_eq!(bytes.len(), Parts::BYTES);
    assert_eq!(*Parts::from_bytes(&bytes).unwrap().to_bytes(), *bytes);
    assert!((0..bytes.len()).all(|length| Parts::from_bytes(&bytes[..length]).is_none()));
    assert!(Parts::from_bytes(&[b"TFD1", &bytes[4..]].concat()).is_none());
    assert!(Parts::from_bytes(&[&bytes[..40], &[0xff; 6], &bytes[46..]].concat()).is_none());
    assert_eq!(format!("{:?}", Parts::from_bytes(&bytes).unwrap()), "Parts(..)");
}

#[test]
fn a_key_holder_that_was_alone_does_not_become_one_of_three() {
    let mut dealt = [1, 2].map(|seed| Pieces::deal(&mut StdRng::seed_from_u64(seed)));
    let mut next = |deal: usize| {
        let again = Pieces::from_bytes(&dealt[deal][0].to_bytes()).unwrap();
        std::mem::replace(&mut dealt[deal][0], again)
    };
    let keyholder = alone();
    QuorumHolder::new(Arc::clone(&keyholder), next(0)).unwrap().create_tenant(TENANT, policy(0)).unwrap();
    assert!(QuorumHolder::new(Arc::clone(&keyholder), next(0)).is_ok());
    assert!(matches!(QuorumHolder::new(keyholder, next(1)), Err(KeyHolderError::Forbidden(_))));
    let single = alone();
    single.create_tenant(TENANT, KeyStructure::PerSubject, policy(0)).unwrap();
    assert!(matches!(QuorumHolder::new(single, next(0)), Err(KeyHolderError::Forbidden(_))));
}

#[test]
fn the_salt_of_an_enrolment_depends_on_what_each_of_the_three_contributes() {
    let mut rng = StdRng::seed_from_u64(6);
    let [pieces, ..] = Pieces::deal(&mut rng);
    let (share, _) = split(&random_face(&mut rng), &mut rng);
    let enrolled = |contributions: &[[u8; 32]; 3]| {
        let holder = QuorumHolder::new(alone(), Pieces::from_bytes(&pieces.to_bytes()).unwrap()).unwrap();
        holder.create_tenant(TENANT, policy(0)).unwrap();
        let parts = holder.enrol(TENANT, handle(1), 0, lane_of(3), &share, contributions).unwrap();
        parts.map(|part| part.to_bytes())
    };
    let contributions = [[1; 32], [2; 32], [3; 32]];
    let first = enrolled(&contributions);
    assert!(first == enrolled(&contributions), "the same salt makes the same bytes");
    for seat in 0..3 {
        let mut other = contributions;
        other[seat][31] ^= 1;
        assert!(first.iter().zip(enrolled(&other)).all(|(one, other)| *one != other), "seat {seat}");
    }
}
