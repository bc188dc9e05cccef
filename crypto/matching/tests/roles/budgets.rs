//! Attempt budgets through decisions.

#![expect(clippy::disallowed_methods, reason = "counts in a test")]

use super::malformed::{add_to_c0, delta, read};
use super::*;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use trefoil_matching::{Decisions, KeyHolderError, LaneSet, VaultError, Write};

const STRICT: DecisionPolicy = DecisionPolicy::new(
    MODEL,
    25_000,
    AttemptPolicy {
        consecutive: 3,
        delay_s: 30,
        failures_per_day: 5,
        failures_per_generation: 7,
        attempts_per_day: 40,
        attempts_per_generation: 100,
    },
);

/// What a gateway makes of a batch: lanes that the key-holder names as spent are left out and denied.
fn attempt(world: &mut World, people: &[(&Template, &Embedding)], now: u64) -> Vec<Option<bool>> {
    let mut spent = LaneSet::EMPTY;
    loop {
        let left: Vec<_> = people.iter().copied().filter(|(of, _)| !spent.contains(of.lane)).collect();
        let decided = match left.is_empty() {
            true => Decisions::from_lanes(LaneSet::EMPTY),
            false => {
                let job = world.mask(&left);
                match world.key_holder.decide(&job, now) {
                    Err(KeyHolderError::NoAttempts(lanes)) => {
                        assert!(!lanes.is_empty() && lanes.bits() & spent.bits() == 0);
                        spent = LaneSet::from_bits(spent.bits() | lanes.bits());
                        continue;
                    }
                    decided => decided.expect("honest"),
                }
            }
        };
        let answer =
            |(of, _): &(&Template, &Embedding)| (!spent.contains(of.lane)).then(|| decided.accepted(of.lane));
        return people.iter().map(answer).collect();
    }
}

/// Claim M8: A spent budget denies the subject, even with the right face, and does not affect the others in the batch.
/// Claim V72: Each attempt that a spent budget refuses is counted for its tenant, and counts as no failure or match. The count is a metric
/// that names no subject.
#[test]
fn a_spent_budget_is_spent_for_the_right_face_too_and_spares_the_neighbours() {
    let mut world = World::new(STRICT);
    let (face, wrong) = (world.face(), world.face());
    let (target, neighbour) = (world.enrol(1, 10, &face), world.enrol(2, 11, &face));
    let mut attempt = |probe: &Embedding, now| {
        let answers = attempt(&mut world, &[(&target, probe), (&neighbour, &face)], now);
        assert_eq!(answers[1], Some(true));
        answers[0]
    };
    let (yes, no, spent) = (Some(true), Some(false), None);
    // A match in between ends the row of failures.
    assert_eq!([attempt(&wrong, NOW), attempt(&wrong, NOW), attempt(&face, NOW)], [no, no, yes]);
    assert_eq!([attempt(&wrong, NOW), attempt(&wrong, NOW), attempt(&wrong, NOW)], [no; 3]);
    assert_eq!([attempt(&face, NOW), attempt(&face, NOW + 29)], [spent; 2], "a delay");
    // Five failures today: the delay is over, the day is spent.
    assert_eq!(attempt(&face, NOW + 30), spent);
    let tomorrow = NOW + 86_400;
    assert_eq!(
        [attempt(&face, tomorrow), attempt(&wrong, tomorrow), attempt(&wrong, tomorrow)],
        [yes, no, no]
    );
    // Seven failures of this generation: spent for good.
    assert_eq!([attempt(&face, tomorrow + 86_400), attempt(&face, tomorrow + 86_400 * 900)], [spent; 2]);
    assert_eq!(world.key_holder.status().trips, [(TENANT, 5)], "each that got no attempt, and no failure");
}

#[test]
fn a_reset_ends_delay_and_day_and_gives_the_generation_nothing_back_also_after_a_restart() {
    let mut world = World::new(STRICT);
    let (face, wrong) = (world.face(), world.face());
    let (target, neighbour) = (world.enrol(1, 10, &face), world.enrol(2, 11, &face));
    let name = TemplateName { tenant: TENANT, handle: target.handle, generation: target.generation };
    let fail = |world: &mut World, times: usize| {
        (0..times).filter(|_| attempt(world, &[(&target, &wrong)], NOW) == [Some(false)]).count()
    };
    assert_eq!((fail(&mut world, 9), world.key_holder.locked_out(TENANT, NOW)), (3, Ok(1)), "a delay");
    let before = world.attempts_of(1);
    world.key_holder.reset_attempts(name).unwrap();
    let after = world.attempts_of(1);
    assert_eq!((after.consecutive, after.retry_at, after.day_failures), (0, 0, 0));
    assert_eq!(
        (after.generation_failures, after.generation_attempts, after.day_attempts),
        (before.generation_failures, before.generation_attempts, before.day_attempts)
    );
    assert_eq!(attempt(&mut world, &[(&target, &face)], NOW), [Some(true)], "the right face is taken again");
    world.restart();
    assert_eq!(world.key_holder.locked_out(TENANT, NOW), Ok(0));
    assert_eq!(fail(&mut world, 9), 3);
    world.key_holder.reset_attempts(name).unwrap();
    // Seven failures of this generation: the last one, and then no reset helps.
    assert_eq!(fail(&mut world, 9), 1);
    world.key_holder.reset_attempts(name).unwrap();
    assert_eq!((fail(&mut world, 9), world.key_holder.locked_out(TENANT, NOW)), (0, Ok(1)));
    assert_eq!(attempt(&mut world, &[(&neighbour, &face)], NOW), [Some(true)]);
    let nobody = TemplateName { generation: 9, ..name };
    assert!(matches!(world.key_holder.reset_attempts(nobody), Err(KeyHolderError::UnknownSubjects(_))));
}

#[test]
fn matches_spend_attempts_and_no_failures() {
    let mut world = World::new(STRICT);
    let face = world.face();
    let template = world.enrol(1, 10, &face);
    let mut matches = |day: u64| {
        let now = NOW + 86_400 * day;
        (0..60).filter(|_| attempt(&mut world, &[(&template, &face)], now) == [Some(true)]).count()
    };
    assert_eq!([matches(0), matches(1), matches(2), matches(3)], [40, 40, 20, 0]);
    assert_eq!(world.attempts_of(1).generation_failures, 0);
}

#[test]
fn budgets_survive_a_restart() {
    let mut world = World::new(STRICT);
    let (face, wrong) = (world.face(), world.face());
    let template = world.enrol(1, 10, &face);
    for _ in 0..3 {
        assert_eq!(attempt(&mut world, &[(&template, &wrong)], NOW), [Some(false)]);
    }
    world.restart();
    assert_eq!(attempt(&mut world, &[(&template, &face)], NOW + 1), [None]);
    assert_eq!(attempt(&mut world, &[(&template, &face)], NOW + 30), [Some(true)]);
    // The match is remembered as well: the row of failures has ended.
    world.restart();
    assert_eq!(world.attempts_of(1).consecutive, 0);
    // A restart forgets no attempt: it may count up to fifteen that were not made.
    let mut made = 4;
    for restart in 0..10 {
        world.restart();
        let now = NOW + 100 + restart;
        made += usize::from(attempt(&mut world, &[(&template, &face)], now) == [Some(true)]);
    }
    assert!(made <= 6, "{made} of 40: each restart cost what was reserved");
}

/// A world on a disk that has room for so many writes of attempts, and none for malformed jobs and erasures.
fn full_disk(writes: usize) -> World {
    let left = AtomicUsize::new(writes);
    World::in_vault(
        KeyStructure::PerSubject,
        STRICT,
        MemoryVault::with(move |write| {
            let has_room = match write {
                Write::Tenant(record) => record.malformed == 0,
                Write::Attempts => left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok(),
                Write::Erasure => false,
                Write::Subject | Write::Opening => true,
            };
            if has_room { Ok(()) } else { Err(VaultError("disk full".into())) }
        }),
    )
}

#[test]
fn a_freeze_that_cannot_be_recorded_holds_all_the_same() {
    let mut world = full_disk(9);
    let face = world.face();
    let template = world.enrol(1, 10, &face);
    for job in 0..3 {
        let mut stray = world.mask(&[(&template, &face)]).to_bytes();
        add_to_c0(&mut stray, 3, delta());
        let outcome = world.key_holder.decide(&read(&stray), NOW);
        assert!(matches!(outcome, Err(KeyHolderError::Vault(_))), "{job}: {outcome:?}");
        world.refetch();
    }
    let job = world.mask(&[(&template, &face)]);
    assert!(matches!(world.key_holder.decide(&job, NOW), Err(KeyHolderError::Frozen)));
}

/// Claim M10.
#[test]
fn an_answer_whose_attempt_or_failure_cannot_be_recorded_is_not_given() {
    for (writes, what) in [(0, "the attempt"), (1, "the failure")] {
        let mut world = full_disk(writes);
        let (face, wrong) = (world.face(), world.face());
        let (matching, failing) = (world.enrol(1, 10, &face), world.enrol(2, 11, &face));
        let job = world.mask(&[(&matching, &face), (&failing, &wrong)]);
        assert!(matches!(world.key_holder.decide(&job, NOW), Err(KeyHolderError::Vault(_))), "{what}");
        // Nothing to record: attempts are reserved, and a batch of matches is answered.
        let job = world.mask(&[(&matching, &face)]);
        let answer = world.key_holder.decide(&job, NOW);
        assert_eq!(answer.is_ok_and(|decided| decided.accepted(lane_of(10))), writes == 1, "{what}");
    }
    // A shredding that is not durable is reported, and the subject is still there.
    let mut world = full_disk(9);
    let face = world.face();
    let template = world.enrol(1, 10, &face);
    assert!(matches!(world.key_holder.shred(named(1, 0)), Err(KeyHolderError::Vault(_))));
    assert!(world.accepted(&template, &face));
}

#[test]
fn a_batch_for_another_threshold_is_refused_and_charges_nobody() {
    let mut world = World::new(STRICT);
    let face = world.face();
    let template = world.enrol(1, 10, &face);
    for _ in 0..2 * STRICT.attempts.attempts_per_generation {
        let mut job = world.mask(&[(&template, &face)]);
        job.threshold += 1;
        let job = read(&job.to_bytes());
        let refused = world.key_holder.decide(&job, NOW);
        assert!(matches!(refused, Err(KeyHolderError::OtherThreshold(25_000))), "{refused:?}");
    }
    let job = world.mask(&[(&template, &face)]);
    assert!(world.key_holder.decide(&read(&job.to_bytes()), NOW).expect("honest").accepted(lane_of(10)));
    // From the moment that the threshold is another one, batches for the one before are refused.
    let policy = DecisionPolicy { threshold: 20_000, ..STRICT };
    world.set_policy(policy);
    let refused = world.key_holder.decide(&job, NOW);
    assert!(matches!(refused, Err(KeyHolderError::OtherThreshold(20_000))), "{refused:?}");
}
