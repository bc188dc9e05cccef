//! Jobs that no honest matcher makes.

use super::*;
use trefoil_kernels::fermat;
use trefoil_matching::{KeyHolderError, TenantRecord, Vault};

/// Bytes of the masked batch at the end of a job, and of `c0` at its head.
pub(super) const MASKED: usize = 2 * (32 + 4096) * 6;
pub(super) const C0: usize = 2 * 32 * 6;
pub(super) const PRIMES: [u64; 2] = [140_720_308_191_233, 140_700_980_543_489];

/// A job with one subject that would match, and its encoding.
fn honest(world: &mut World) -> (MatchJob, Vec<u8>) {
    let face = world.face();
    let template = world.enrol(1, 10, &face);
    let job = world.mask(&[(&template, &face)]);
    let bytes = job.to_bytes();
    (job, bytes)
}

pub(super) fn read(bytes: &[u8]) -> MatchJob {
    MatchJob::from_bytes(bytes).expect("canonical")
}

/// Writes one residue in place of another.
pub(super) fn put(bytes: &mut [u8], at: usize, residue: u64) {
    bytes[at..at + 6].copy_from_slice(&residue.to_le_bytes()[..6]);
}

pub(super) fn get(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word[..6].copy_from_slice(&bytes[at..at + 6]);
    u64::from_le_bytes(word)
}

/// Adds `value` to coefficient `index` of `c0`.
pub(super) fn add_to_c0(bytes: &mut [u8], index: usize, value: u128) {
    for (limb, q) in PRIMES.iter().enumerate() {
        let at = bytes.len() - MASKED + 6 * (32 * limb + index);
        let sum = (u128::from(get(bytes, at)) + value) % u128::from(*q);
        put(bytes, at, sum as u64);
    }
}

pub(super) fn delta() -> u128 {
    u128::from(PRIMES[0]) * u128::from(PRIMES[1]) / 65_537
}

/// The coefficients of `X^0, X^128, ..` of the polynomial that is `score` in a lane and zero in the others, modulo t.
pub(super) fn one_in(lane: Lane, score: i32) -> [u128; 32] {
    const T: i64 = 65_537;
    let root = i64::from(fermat::roots()[lane.index()]).rem_euclid(T);
    // (1/32) sum over m of (Y / root)^m; 1/32 is -2^11, and root^-m is -root^(32 - m).
    let mut coefficient = i64::from(score) << 11;
    let mut coefficients = [0; 32];
    for at in coefficients.iter_mut().rev() {
        coefficient = coefficient * root % T;
        *at = coefficient.rem_euclid(T) as u128;
    }
    coefficients
}

#[test]
fn forged_ciphertexts_are_malformed() {
    let mut world = World::new(lenient(-32_768));
    let (job, bytes) = honest(&mut world);
    assert!(world.keyholder.decide(&job, NOW).expect("honest").accepted(lane_of(10)));
    // Nothing but Delta in one coefficient of c0, and next to nothing in c1.
    let mut bare = bytes.clone();
    let c1 = bytes.len() - MASKED + C0;
    bare[c1 - C0..].fill(0);
    add_to_c0(&mut bare, 0, delta());
    put(&mut bare, c1, 1);
    put(&mut bare, c1 + 6 * 4096, 1);
    // A multiple of Delta in one coefficient shows in all 32 lanes.
    let mut shifted = bytes.clone();
    add_to_c0(&mut shifted, 3, delta());
    // Half of Delta puts the error outside the band.
    let mut halved = bytes.clone();
    for index in 0..32 {
        add_to_c0(&mut halved, index, delta() / 2);
    }
    // Another polynomial altogether.
    let mut random = bytes.clone();
    for at in (c1..bytes.len()).step_by(6) {
        put(&mut random, at, world.rng.next_u64() % PRIMES[1]);
    }
    for (name, forged) in [("bare", bare), ("shifted", shifted), ("halved", halved), ("random", random)] {
        let outcome = world.keyholder.decide(&read(&forged), NOW);
        assert!(matches!(outcome, Err(KeyHolderError::Malformed)), "{name}: {outcome:?}");
        world.keyholder.lift_freeze(TENANT).expect("the vault works");
    }
    assert!(world.keyholder.decide(&job, NOW).expect("honest").accepted(lane_of(10)));
}

#[test]
fn subjects_in_the_wrong_lane_are_unknown_and_repeated_ones_malformed() {
    let mut world = World::new(lenient(-32_768));
    let (job, _) = honest(&mut world);
    let mut moved = job.clone();
    moved.subjects.swap(10, 11);
    assert!(matches!(world.keyholder.decide(&moved, NOW), Err(KeyHolderError::UnknownSubjects(_))));
    let mut repeated = job.clone();
    repeated.subjects[11] = repeated.subjects[10];
    assert!(matches!(world.keyholder.decide(&repeated, NOW), Err(KeyHolderError::Malformed)));
    let mut empty = job.clone();
    empty.subjects[10] = None;
    assert!(matches!(world.keyholder.decide(&empty, NOW), Err(KeyHolderError::Malformed)));
    let mut unknown = job;
    unknown.tenant = [0; 16];
    assert!(matches!(world.keyholder.decide(&unknown, NOW), Err(KeyHolderError::UnknownTenant)));
}

#[test]
fn a_subject_left_out_or_added_spoils_the_key() {
    let mut world = World::new(lenient(-32_768));
    let face = world.face();
    let (a, b) = (world.enrol(1, 1, &face), world.enrol(2, 2, &face));
    let mut less = world.mask(&[(&a, &face), (&b, &face)]);
    less.subjects[2] = None;
    assert!(matches!(world.keyholder.decide(&less, NOW), Err(KeyHolderError::Malformed)));
    let mut more = world.mask(&[(&a, &face)]);
    more.subjects[2] = Some((b.handle, b.generation));
    assert!(matches!(world.keyholder.decide(&more, NOW), Err(KeyHolderError::Malformed)));
}

#[test]
fn the_third_malformed_job_in_an_hour_freezes_the_tenant_until_the_freeze_is_lifted() {
    let mut world = World::new(lenient(-32_768));
    let (job, bytes) = honest(&mut world);
    let mut forged = bytes;
    add_to_c0(&mut forged, 3, delta());
    let forged = read(&forged);
    let outcome = |now| world.keyholder.decide(&forged, now).expect_err("never decided");
    assert!(matches!(outcome(NOW), KeyHolderError::Malformed));
    assert!(matches!(outcome(NOW + 1800), KeyHolderError::Malformed));
    // The first has left the window when the third arrives; the fourth is the third within an hour.
    assert!(matches!(outcome(NOW + 3600), KeyHolderError::Malformed));
    assert!(matches!(outcome(NOW + 5399), KeyHolderError::Malformed));
    assert!(matches!(outcome(NOW + 5400), KeyHolderError::Frozen));
    assert!(matches!(world.keyholder.decide(&job, NOW + 90_000), Err(KeyHolderError::Frozen)));

    // The freeze outlives the process, and other tenants do not notice.
    let frozen =
        |vault: &MemoryVault| vault.tenants().expect("readable").iter().any(|t: &TenantRecord| t.frozen);
    assert!(frozen(&world.vault));
    world.keyholder = KeyHolder::new(Box::new(Arc::clone(&world.vault)), &mut world.rng).expect("readable");
    assert!(matches!(world.keyholder.decide(&job, NOW + 90_000), Err(KeyHolderError::Frozen)));
    world.keyholder.set_policy(TENANT, lenient(-32_768)).expect("a policy does not thaw");
    assert!(matches!(world.keyholder.decide(&job, NOW + 90_000), Err(KeyHolderError::Frozen)));
    world.keyholder.lift_freeze(TENANT).expect("the vault works");
    assert!(!frozen(&world.vault));
    assert!(world.keyholder.decide(&job, NOW + 90_000).expect("honest").accepted(lane_of(10)));
}

/// A job with all 32 lanes occupied, so that no empty lane gives a forgery away.
pub(super) fn full(world: &mut World) -> Vec<u8> {
    let faces: Vec<Embedding> = (0..32).map(|_| world.face()).collect();
    let templates: Vec<Template> = (0..32).map(|i| world.enrol(i, i, &faces[usize::from(i)])).collect();
    let lanes: Vec<_> = templates.iter().zip(&faces).collect();
    world.mask(&lanes).to_bytes()
}

#[test]
fn random_ciphertexts_are_never_decided() {
    let mut world = World::new(lenient(-32_768));
    let bytes = full(&mut world);
    for round in 0..100 {
        let mut random = bytes.clone();
        // Everything, or c0 alone.
        let end = if round % 2 == 0 { bytes.len() } else { bytes.len() - MASKED + C0 };
        for at in (bytes.len() - MASKED..end).step_by(6) {
            put(&mut random, at, world.rng.next_u64() % PRIMES[1]);
        }
        assert!(matches!(world.keyholder.decide(&read(&random), NOW), Err(KeyHolderError::Malformed)));
        world.keyholder.lift_freeze(TENANT).expect("the vault works");
    }
}

#[test]
fn an_error_outside_the_band_is_malformed_in_a_full_batch_too() {
    let mut world = World::new(lenient(-32_768));
    let bytes = full(&mut world);
    for index in [0, 17, 31] {
        // The band is a quarter of Delta to either side. Shifted by 3/8 one stays in it with a flood below -1/8 only, by
        // 5/8 = 1 - 3/8 with a flood above 1/8 only: not both.
        let outcomes = [delta() * 3 / 8, delta() * 5 / 8].map(|shift| {
            let mut reaction = bytes.clone();
            add_to_c0(&mut reaction, index, shift);
            let outcome = world.keyholder.decide(&read(&reaction), NOW);
            world.keyholder.lift_freeze(TENANT).expect("the vault works");
            outcome
        });
        assert!(outcomes.iter().any(|outcome| matches!(outcome, Err(KeyHolderError::Malformed))), "{index}");
    }
}

#[test]
fn a_malformed_job_costs_its_subjects_an_attempt() {
    let mut world = World::new(policy(-32_768));
    let (_, mut bytes) = honest(&mut world);
    add_to_c0(&mut bytes, 0, delta());
    assert!(world.keyholder.decide(&read(&bytes), NOW).is_err());
    let attempts = world.vault.subjects(&TENANT).expect("readable")[0].attempts;
    assert_eq!((attempts.consecutive, attempts.generation_failures), (1, 1));
}
