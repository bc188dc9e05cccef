//! One job is decided under one threshold, at however many seats.

use super::collusion::THRESHOLD;
use super::liars::{factor, times};
use super::malformed::add_score;
use super::three::{Three, WITNESS, batch_at, job_of};
use super::*;
use trefoil_matching::KeyHolderError;
use trefoil_matching::quorum::{Begun, Seat, SeatJob};

const ANYBODY: i32 = 6_000;
const NOBODY: i32 = 32_768;

/// Writes another threshold into a job: it stands before the masked batch.
fn under(job: &MatchJob, seat: Seat, threshold: i32) -> SeatJob {
    let mut bytes = job_of(seat, job).to_bytes();
    let at = batch_at(&bytes) - 4;
    bytes[at..at + 4].copy_from_slice(&threshold.to_le_bytes());
    SeatJob::from_bytes(&bytes).expect("canonical")
}

/// Adds to the score of lane 0 in a seat's job, in batch and witness alike: nothing of it is malformed.
fn moved(job: &SeatJob, by: i32) -> SeatJob {
    let (mut bytes, width) = (job.to_bytes(), job.job().model.width());
    let batch = batch_at(&bytes);
    add_score(&mut bytes, batch, (width, lane_of(0)), by);
    add_score(&mut bytes, WITNESS + 128, (width, lane_of(0)), times(factor(job, 0), by));
    SeatJob::from_bytes(&bytes).expect("canonical")
}

/// What two seats answer about lane 0, each to the job that it is sent, with the parts of the other.
fn answers(three: &Three, jobs: &[SeatJob; 2]) -> [Result<u32, KeyHolderError>; 2] {
    let begun: [Result<Begun, KeyHolderError>; 2] =
        jobs.each_ref().map(|job| three.holders[job.seat().index()].begin(job, NOW));
    [0, 1].map(|at: usize| {
        let (job, other) = (&jobs[at], &jobs[1 - at]);
        let holder = &three.holders[job.seat().index()];
        let own = begun[at].as_ref().map_err(KeyHolderError::clone)?;
        // A message that names another batch is not delivered.
        let heard: Vec<_> = begun[1 - at]
            .iter()
            .map(|begun| (other.seat(), begun.parts_for(job.seat())))
            .filter(|(_, parts)| parts.digest() == own.digest())
            .collect();
        let judged = holder.judge(job, own, &heard, true);
        Ok(holder.finish(job, own, &judged, true)?.lanes().bits())
    })
}

/// Claim M19: A gateway that uses three key-holders two at a time gets no more answers than a policy allows, each under one threshold: at
/// most 132.6 bits about a subject in a day and 632.2 in a generation under the default policy, and 744.5 under the laxest that
/// `init-quorum`'s configuration accepts.
///
/// A gateway may set each seat's policy by itself. Two seats that decide one score under two thresholds give two answers about it, of which one is
/// "yes" whatever the score and costs its seat no failure: a whole template was read with twice the failures that a policy allows.
#[test]
fn seats_decide_a_job_under_its_threshold_or_not_at_all() {
    let mut three = Three::new(policy(THRESHOLD), 1);
    let [one, other, _] = Seat::ALL;
    let face = three.people[0].2.clone();
    let mut job = |threshold: i32| {
        three.threshold = threshold;
        three.login(1, 0, &face)
    };
    let [in_force, low, none] = [THRESHOLD, ANYBODY, i32::MIN].map(&mut job);
    let set = |seat: Seat, threshold: i32| {
        three.holders[seat.index()].set_policy(TENANT, policy(threshold)).expect("within the limits");
    };
    let refused_under = |answer: &Result<u32, KeyHolderError>, own: i32| matches!(answer, Err(KeyHolderError::OtherThreshold(theirs)) if *theirs == own);
    let undecided =
        |answer: &Result<u32, KeyHolderError>| matches!(answer, Err(KeyHolderError::Unavailable(_)));

    // Alike at both, they decide.
    let alike = answers(&three, &[job_of(one, &in_force), job_of(other, &in_force)]);
    assert!(alike.iter().all(|answer| matches!(answer, Ok(1))), "{alike:?}");

    // One job, another policy at the second seat: it refuses, and the first hears nothing from it.
    set(other, NOBODY);
    let [first, second] = answers(&three, &[job_of(one, &in_force), job_of(other, &in_force)]);
    assert!(undecided(&first) && refused_under(&second, NOBODY), "{first:?} {second:?}");

    // To each the threshold that it has, in what is otherwise the same job: to them these are two jobs. So are jobs whose score was moved.
    set(other, ANYBODY);
    for shift in [0, THRESHOLD - 175 * 175 - 1] {
        let jobs = [moved(&job_of(one, &in_force), shift), moved(&under(&in_force, other, ANYBODY), shift)];
        let [first, second] = answers(&three, &jobs);
        assert!(undecided(&first) && undecided(&second), "{shift}: {first:?} {second:?}");
    }
    let [first, second] = answers(&three, &[job_of(one, &low), job_of(other, &low)]);
    assert!(refused_under(&first, THRESHOLD) && undecided(&second), "{first:?} {second:?}");

    set(other, THRESHOLD);
    // A job without a threshold is decided by none.
    let without = answers(&three, &[job_of(one, &none), job_of(other, &none)]);
    assert!(without.iter().all(|answer| refused_under(answer, THRESHOLD)), "{without:?}");

    // A policy that changes while a job is in flight decides nothing about it.
    let jobs = [one, other].map(|seat| job_of(seat, &in_force));
    let begun =
        jobs.each_ref().map(|job| three.holders[job.seat().index()].begin(job, NOW).expect("in force"));
    set(one, NOBODY);
    for (job, own, theirs) in [(&jobs[0], &begun[0], &begun[1]), (&jobs[1], &begun[1], &begun[0])] {
        let holder = &three.holders[job.seat().index()];
        let parts =
            if job.seat() == one { (other, theirs.parts_for(one)) } else { (one, theirs.parts_for(other)) };
        let judged = holder.judge(job, own, &[parts], true);
        assert_eq!(holder.finish(job, own, &judged, true).expect("decided").lanes().bits(), 1);
    }
}

/// Claim M19.
///
/// Another two seats each time: a policy's failures are spent after no more "no" than it says, and its attempts after no more jobs.
#[test]
fn two_seats_at_a_time_answer_no_more_often_than_a_policy_allows() {
    let attempts = AttemptPolicy {
        failures_per_generation: 10,
        attempts_per_generation: 40,
        consecutive: 100,
        ..AttemptPolicy::default()
    };
    for (is_match, most) in [(false, 10), (true, 40)] {
        let mut three = Three::new(DecisionPolicy::new(MODEL, THRESHOLD, attempts), 1);
        let probe = if is_match { three.people[0].2.clone() } else { three.face() };
        let (mut answered, mut refused, mut batch) = (0, 0, 0);
        while refused < 3 {
            batch += 1;
            let job = three.login(batch, 0, &probe);
            let pair = [0, 1].map(|next| job_of(Seat::ALL[(usize::from(batch) + next) % 3], &job));
            match answers(&three, &pair) {
                [Ok(one), Ok(other)] => {
                    assert_eq!((one, other), (u32::from(is_match), u32::from(is_match)));
                    (answered, refused) = (answered + 1, 0);
                }
                _ => refused += 1,
            }
        }
        assert!((most / 2..=most).contains(&answered), "{answered} of {most}");
    }
}
