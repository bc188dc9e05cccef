//! What a matcher that is itself the attacker gets: bits, within the budgets, of its choice. These tests say what remains, so
//! that nobody relies on more; `NOTES.md` of `trefoil-bfv`, section 6, says what follows.

use super::attacks::{POLYNOMIAL, delta_polynomial, swapped, unit};
use super::malformed::{C0, MASKED, PRIMES, add_to_c0, delta, full, one_in, put, read};
use super::*;
use trefoil_bfv::{Decryptor, MaskedBatch, MasterKey, Scheme};
use trefoil_matching::{Decisions, KeyHolderError, LaneSet, Vault as _};

/// With one key per tenant `(0, Delta)` is a valid ciphertext under it, and nothing tells it from a template: a matcher that is
/// itself the attacker gets a bit about the key for each attempt. What bounds it is the budget: not more than the failures of
/// one generation, and the matches between them, and then nothing whatever the key.
#[test]
fn what_a_hostile_matcher_reads_of_a_tenants_key_ends_with_the_budget() {
    let crafted = [vec![0; POLYNOMIAL], delta_polynomial()].concat();
    let mut world = World::with_keys(KeyStructure::PerTenant, policy(-10_000));
    let template = swapped(&mut world, &crafted);
    let per_generation = AttemptPolicy::default().per_generation as usize;
    let mut replies = [0, 0];
    for (attempt, k) in (0..16 * per_generation).enumerate() {
        // Never delayed: each on a day of its own.
        let job = world.mask(&[(&template, &unit(k))]);
        let decided = world.keyholder.decide(&job, NOW + 86_400 * attempt as u64).expect("it looks honest");
        replies[usize::from(decided.accepted(lane_of(4)))] += 1;
        let failures = world.vault.subjects(&TENANT).expect("readable")[0].attempts.generation_failures;
        if failures as usize == per_generation {
            break;
        }
    }
    // 0.65 of uniform residues reach the threshold.
    assert_eq!(replies[0], per_generation);
    assert!(replies[1] < 4 * per_generation, "{replies:?}");
    for k in 0..64 {
        let job = world.mask(&[(&template, &unit(k))]);
        let decided = world.keyholder.decide(&job, NOW + 86_400 * 10_000).expect("it looks honest");
        assert!(decided.lanes().is_empty());
    }
}

/// `(0, w Delta)` with a flooding of the attacker's own, in place of a job's ciphertext.
fn crafted(world: &mut World, job: &[u8], w: u128) -> Vec<u8> {
    let mut bytes = job.to_vec();
    let c0 = bytes.len() - MASKED;
    for k in 0..32 {
        let flooding = u128::from(world.rng.next_u64()) << 3;
        for (limb, q) in PRIMES.iter().enumerate() {
            put(&mut bytes, c0 + 6 * (32 * limb + k), (flooding % u128::from(*q)) as u64);
        }
    }
    for (limb, q) in PRIMES.iter().enumerate() {
        for at in (0..4096).map(|j| c0 + C0 + 6 * (4096 * limb + j)) {
            put(&mut bytes, at, (w * delta() % u128::from(*q)) as u64);
        }
    }
    bytes
}

/// The lanes in which a job's ciphertext reaches the threshold: computed with the tenant's key, which the test takes from the vault.
fn reached(world: &World, job: &[u8], threshold: i32) -> LaneSet {
    let scheme = Scheme::shared();
    let tenant = &world.vault.tenants().expect("readable")[0];
    let key = MasterKey::from_bytes(tenant.epochs[0].master).tenant_key(scheme);
    let batch = MaskedBatch::from_bytes(scheme, &job[job.len() - MASKED..]).expect("canonical");
    let opened = Decryptor::new(scheme).decrypt_pairs(&key, &batch);
    let bits = opened.scores().iter().rev().fold(0, |bits, score| bits << 1 | u32::from(*score >= threshold));
    LaneSet::from_bits(bits)
}

/// A crafted job in which all 32 lanes are taken has no lane that must be 0, and whoever crafts it floods it as it should be. Where a
/// tenant has one key it is decided, and its 32 bits are about that key. After the failures of one generation a lane says nothing
/// more, and so in the end do all, to the right faces too. Where subjects have keys the same job has no tag that fits.
#[test]
fn a_full_crafted_job_is_answered_with_bits_about_a_tenants_key_until_every_budget_is_spent() {
    const THRESHOLD: i32 = -10_000;
    let per_generation = AttemptPolicy::default().per_generation;
    let mut own = World::new(policy(THRESHOLD));
    let honest = full(&mut own);
    let job = crafted(&mut own, &honest, 1);
    assert!(matches!(own.keyholder.decide(&read(&job), NOW), Err(KeyHolderError::Malformed)));

    let mut world = World::with_keys(KeyStructure::PerTenant, policy(THRESHOLD));
    let honest = full(&mut world);
    let mut failures = [0; 32];
    let mut matches = 0;
    for w in 1.. {
        let job = crafted(&mut world, &honest, w);
        // Never delayed: each on a day of its own.
        let decided = world.keyholder.decide(&read(&job), NOW + 86_400 * w as u64).expect("it looks honest");
        let reached = reached(&world, &job, THRESHOLD);
        for lane in Lane::all() {
            let spent = failures[lane.index()] == per_generation;
            assert_eq!(decided.accepted(lane), reached.contains(lane) && !spent, "{w}, {lane:?}");
            matches += u32::from(decided.accepted(lane));
            failures[lane.index()] += u32::from(!spent && !reached.contains(lane));
        }
        if failures == [per_generation; 32] {
            break;
        }
    }
    // 0.65 of uniform residues reach the threshold.
    let counted = 32 * per_generation;
    assert!((counted..3 * counted).contains(&matches), "{matches}");
    let attempts = world.vault.subjects(&TENANT).expect("readable");
    assert!(attempts.iter().all(|subject| subject.attempts.generation_failures == per_generation));
    let decided = world.keyholder.decide(&read(&honest), NOW + 86_400 * 10_000);
    assert_eq!(decided.expect("honest"), Decisions::from_lanes(LaneSet::EMPTY));
}

/// Adds `shift` to the score in a lane and to no other.
fn shifted(job: &MatchJob, lane: Lane, shift: i32) -> MatchJob {
    let mut bytes = job.to_bytes();
    for (m, coefficient) in one_in(lane, shift).into_iter().enumerate() {
        add_to_c0(&mut bytes, m, delta() * coefficient);
    }
    read(&bytes)
}

/// Matches are not counted, and a matcher shifts a score by what it likes. So it asks for more and more, from below any value that
/// a coordinate has, until the answer is no: that is one failure for a coordinate, and a few dozen matches. Budgets stop whoever
/// cannot see whether they will match; this matcher they slow down.
#[test]
fn a_hostile_matcher_that_mostly_matches_reads_a_coordinate_for_each_failure() {
    const THRESHOLD: i32 = 12_000;
    const COORDINATES: usize = 8;
    for mode in [Mode::PlainOwnKeys, Mode::PlainTenantKey] {
        let mut world = World::with_keys(mode.keys(), policy(THRESHOLD));
        let face = world.face();
        let template = world.enrol(1, 10, &face);
        let mut read = [0; COORDINATES];
        for (k, read) in read.iter_mut().enumerate() {
            // 175 times the coordinate; the scores of 118 steps lie between the threshold and the largest.
            let job = world.mask(&[(&template, &unit(k))]);
            let at_least = |value: i32| {
                let job = shifted(&job, lane_of(10), THRESHOLD - 175 * value);
                let decided = world.keyholder.decide(&job, NOW + 86_400 * k as u64).expect("it looks honest");
                decided.accepted(lane_of(10))
            };
            *read = (-59..59).find(|value| !at_least(*value)).expect("four standard deviations") - 1;
        }
        assert_eq!(read, std::array::from_fn(|k| i32::from(face.values()[k])), "{mode:?}");
        let attempts = world.vault.subjects(&TENANT).expect("readable")[0].attempts;
        assert_eq!(attempts.generation_failures, COORDINATES as u32);
    }
}
