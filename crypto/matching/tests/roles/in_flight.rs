//! Malformed jobs that are in flight at one moment.

use super::attacks::POLYNOMIAL;
use super::collusion::{added, half_comb};
use super::malformed::{full, read};
use super::three::{Three, job_of};
use super::*;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use trefoil_matching::quorum::{Seat, SeatJob};
use trefoil_matching::{Decisions, KeyHolderError, Write};

/// A vault in which the first jobs meet, after the check of their tag keys and before they are decrypted: there their attempts are put on record.
#[expect(clippy::disallowed_methods, reason = "counts in a test")]
fn meeting(jobs: usize) -> MemoryVault {
    let (here, before) = (Barrier::new(jobs), AtomicUsize::new(0));
    MemoryVault::with(move |write| {
        if matches!(write, Write::Attempts) && before.fetch_add(1, SeqCst) < jobs {
            here.wait();
        }
        Ok(())
    })
}

/// Claim M13: Malformed jobs are counted without a time window. The third freezes the tenant until an operator resets the count, and each
/// one renews the tag keys. Of the jobs in flight under one tag key one is told that it is malformed.
///
/// Half of the modulus on 32 coefficients passes as honest where two parities are even, and is malformed otherwise. So each job that is told which
/// of them it is tells a parity.
#[test]
fn of_32_jobs_in_flight_one_is_told_that_it_is_malformed() {
    let mut world = World::in_vault(KeyStructure::PerSubject, policy(15_000), meeting(32));
    let people = full(&mut world);
    let crafted = |(k, (template, face)): (usize, &(Template, Embedding))| {
        let mut bytes = world.mask(&[(template, face)]).to_bytes();
        let start = bytes.len() - POLYNOMIAL;
        added(&mut bytes[start..], &half_comb(MODEL.width(), k));
        read(&bytes)
    };
    let jobs: Vec<MatchJob> = people.iter().enumerate().map(crafted).collect();
    let told: Vec<_> = at_once(&jobs, |job| world.key_holder.decide(job, NOW));
    let count =
        |of: fn(&Result<Decisions, KeyHolderError>) -> bool| told.iter().filter(|one| of(one)).count();
    let malformed = count(|one| matches!(one, Err(KeyHolderError::Malformed)));
    let nothing = count(|one| matches!(one, Err(KeyHolderError::TagKey)));
    assert_eq!((malformed, world.key_holder.status().malformed_jobs()), (1, 1), "{told:?}");
    assert_eq!(count(Result::is_ok) + malformed + nothing, 32, "{told:?}");
    // The next tag key is in force, and honest people log in.
    world.refetch();
    let (template, face) = &people[0];
    assert!(world.accepted(template, face));
}

/// Claim M13.
#[test]
fn of_8_jobs_in_flight_at_a_seat_one_is_told_that_it_is_malformed() {
    let mut three = Three::with(Arc::new(meeting(8)), policy(15_000), 8);
    let crafted = |person: usize| {
        let face = three.people[person].2.clone();
        let mut bytes = job_of(Seat::ALL[0], &three.login(5, person, &face)).to_bytes();
        // Its tag is not that of its c1.
        let last = bytes.len() - 12;
        bytes[last] ^= 1;
        SeatJob::from_bytes(&bytes).expect("canonical")
    };
    let jobs: Vec<SeatJob> = (0..8).map(crafted).collect();
    let holder = &three.holders[0];
    let told = at_once(&jobs, |job| holder.begin(job, NOW).err());
    let count = |of: fn(&KeyHolderError) -> bool| told.iter().flatten().filter(|one| of(one)).count();
    let malformed = count(|one| matches!(one, KeyHolderError::Malformed));
    let nothing = count(|one| matches!(one, KeyHolderError::TagKey));
    assert_eq!((malformed, nothing, holder.key_holder().status().malformed_jobs()), (1, 7, 1), "{told:?}");
}

/// What each is told when all are sent at the same moment.
fn at_once<Job: Sync, Told: Send>(jobs: &[Job], tell: impl Fn(&Job) -> Told + Sync) -> Vec<Told> {
    let (start, tell) = (&Barrier::new(jobs.len()), &tell);
    std::thread::scope(|scope| {
        let threads: Vec<_> = jobs
            .iter()
            .map(|job| {
                scope.spawn(move || {
                    start.wait();
                    tell(job)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}
