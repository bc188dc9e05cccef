//! Jobs that no honest matcher makes.

use super::*;
use trefoil_kernels::fermat;
use trefoil_matching::KeyHolderError;

/// Bytes of a masked batch of one ciphertext, and of `c0` at its head.
pub(super) const MASKED: usize = 2 * (32 + 4096) * 6;
pub(super) const C0: usize = 2 * 32 * 6;
pub(super) const PRIMES: [u64; 2] = [140_720_308_191_233, 140_700_980_543_489];

/// One person in lane 10.
fn person(world: &mut World) -> (Template, Embedding) {
    let face = world.face();
    (world.enrol(1, 10, &face), face)
}

impl World {
    /// An honest batch under the keys of now, changed by `craft` in its encoding: a matcher that lies tags as well as it can.
    pub(super) fn crafted(
        &mut self,
        lanes: &[(&Template, &Embedding)],
        craft: impl FnOnce(&mut Vec<u8>, &mut StdRng),
    ) -> MatchJob {
        self.refetch();
        let mut bytes = self.mask(lanes).to_bytes();
        craft(&mut bytes, &mut self.rng);
        read(&bytes)
    }
}

/// The occupied lanes of an encoded job.
fn occupied(job: &[u8]) -> u32 {
    u32::from_le_bytes(job[41..45].try_into().expect("four bytes"))
}

/// Where the first leaf of an encoded job is: after the header, a handle and a generation.
pub(super) const LEAF: usize = 45 + 36;

/// Where the model of an encoded job is: after the header and the subjects.
pub(super) fn model_at(job: &[u8]) -> usize {
    45 + 68 * occupied(job).count_ones() as usize
}

/// Where the masked batch of an encoded job begins: after model and threshold, and the tag of a plain one.
pub(super) fn head(job: &[u8]) -> usize {
    let tag = if job[40] == 0 { 4 + 384 } else { 0 };
    model_at(job) + Model::BYTES + 4 + tag
}

fn width_of(job: &[u8]) -> Width {
    Width::exactly(128 * usize::from(job[model_at(job) + Model::BYTES - 1])).expect("a width")
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

/// Adds `value` to coefficient `index` of the `coefficients` of a polynomial that begins at `start`, modulo each prime.
pub(super) fn add(bytes: &mut [u8], start: usize, coefficients: usize, index: usize, value: u128) {
    for (limb, q) in PRIMES.iter().enumerate() {
        let at = start + 6 * (coefficients * limb + index);
        let sum = (u128::from(get(bytes, at)) + value) % u128::from(*q);
        put(bytes, at, sum as u64);
    }
}

/// Adds `value` to coefficient `index` of `c0`, counted from the first that exists.
pub(super) fn add_to_c0(bytes: &mut [u8], index: usize, value: u128) {
    let first = lane_of(occupied(bytes).trailing_zeros() as u8);
    let first = neighbours(width_of(bytes), first).start;
    add(bytes, head(bytes), 32, first + index, value);
}

/// Adds to the score of a lane in the `c0` that begins at `start`, and to that of no other.
pub(super) fn add_score(bytes: &mut [u8], start: usize, (width, lane): (Width, Lane), score: i32) {
    for (coefficient, m) in one_in(width, lane, score).into_iter().zip(neighbours(width, lane)) {
        add(bytes, start, 32, m, delta() * coefficient);
    }
}

/// The lanes of the ciphertext that a lane is in, which are its places in `c0` too.
pub(super) fn neighbours(width: Width, lane: Lane) -> std::ops::Range<usize> {
    let first = lane.index() / width.lanes() * width.lanes();
    first..first + width.lanes()
}

pub(super) fn delta() -> u128 {
    u128::from(PRIMES[0]) * u128::from(PRIMES[1]) / 65_537
}

/// The coefficients of `X^0, X^d, ..` of the polynomial that is `score` in a lane and zero in the others of its ciphertext, modulo t.
fn one_in(width: Width, lane: Lane, score: i32) -> Vec<u128> {
    const T: i64 = 65_537;
    let (lanes, parts) = (width.lanes(), 32 / width.lanes());
    let root = i64::from(fermat::roots()[parts * (lane.index() % lanes)]).rem_euclid(T);
    let root = (0..parts).fold(1, |power, _| power * root % T);
    // 1/n times the sum over m of (Y / root)^m; 1/n is -2^16 / n, and root^-m is -root^(n - m).
    let mut coefficient = i64::from(score) * (1 << 16) / lanes as i64;
    let mut coefficients = vec![0; lanes];
    for at in coefficients.iter_mut().rev() {
        coefficient = coefficient * root % T;
        *at = coefficient.rem_euclid(T) as u128;
    }
    coefficients
}

/// What is changed of an honest batch.
type Craft = fn(&mut Vec<u8>, &mut StdRng);

/// Uniform residues from here to the end.
fn randomise(bytes: &mut [u8], from: usize, rng: &mut StdRng) {
    for at in (from..bytes.len()).step_by(6) {
        put(bytes, at, rng.next_u64() % PRIMES[1]);
    }
}

/// Claim M7: No decision is made on forged or random ciphertexts.
#[test]
fn forged_ciphertexts_are_malformed() {
    ENDS.into_iter().for_each(forged_are_malformed);
}

fn forged_are_malformed(width: Width) {
    let mut world = World::new(wide(width, lenient(-32_768)));
    let (template, face) = person(&mut world);
    let lanes = [(&template, &face)];
    let crafts: [(&str, Craft); 4] = [
        ("nothing but Delta in one coefficient of c0, and next to nothing in c1", |bytes, _| {
            let c1 = head(bytes) + C0;
            bytes[c1 - C0..].fill(0);
            add_to_c0(bytes, 0, delta());
            put(bytes, c1, 1);
            put(bytes, c1 + 6 * 4096, 1);
        }),
        ("a multiple of Delta in one coefficient, which shows in all 32 lanes", |bytes, _| {
            add_to_c0(bytes, 3, delta());
        }),
        ("half of Delta, which puts the error outside the band", |bytes, _| {
            (0..width_of(bytes).lanes()).for_each(|index| add_to_c0(bytes, index, delta() / 2));
        }),
        ("another polynomial altogether", |bytes, rng| {
            let c1 = head(bytes) + C0;
            randomise(bytes, c1, rng);
        }),
    ];
    for (name, craft) in crafts {
        println!("{name}, {width:?}");
        let job = world.crafted(&lanes, |_, _| ());
        assert!(world.key_holder.decide(&job, NOW).expect("honest").accepted(lane_of(10)));
        let job = world.crafted(&lanes, craft);
        world.refuses_as_malformed(&job);
    }
}

/// Nothing secret has been touched by then, so these are refused and not counted.
#[test]
fn jobs_that_name_somebody_in_the_wrong_lane_or_no_known_tenant_are_refused() {
    let mut world = World::new(lenient(-32_768));
    let (template, face) = person(&mut world);
    let job = world.mask(&[(&template, &face)]);
    let mut moved = job.clone();
    moved.subjects.swap(10, 11);
    assert!(matches!(world.key_holder.decide(&moved, NOW), Err(KeyHolderError::UnknownSubjects(_))));
    let mut unknown = job.clone();
    unknown.tenant = TenantId::new([0; 16]);
    assert!(matches!(world.key_holder.decide(&unknown, NOW), Err(KeyHolderError::UnknownTenant)));
    assert!(world.key_holder.decide(&job, NOW).expect("honest").accepted(lane_of(10)));
    assert_eq!(world.key_holder.status().malformed_jobs(), 0);
}

#[test]
fn a_subject_left_out_or_added_spoils_the_key() {
    for width in ENDS {
        let mut world = World::new(wide(width, lenient(-32_768)));
        let face = world.face();
        let [a, b, far] = [1, 2, 31].map(|lane| world.enrol(lane, lane, &face));
        let mut less = world.mask(&[(&a, &face), (&b, &face)]);
        less.subjects[2] = None;
        assert!(matches!(world.key_holder.decide(&less, NOW), Err(KeyHolderError::Malformed)));
        world.refetch();
        let mut more = world.mask(&[(&a, &face)]);
        more.subjects[2] = Some((b.handle, b.generation));
        assert!(matches!(world.key_holder.decide(&more, NOW), Err(KeyHolderError::Malformed)));
        world.forgive();
        // With wide vectors the job lacks the ciphertext of this lane, so it is refused as a whole: the lane's score would be zero.
        let mut more = world.mask(&[(&a, &face)]);
        more.subjects[31] = Some((far.handle, far.generation));
        let outcome = world.key_holder.decide(&more, NOW);
        match width {
            Width::W128 => assert!(matches!(outcome, Err(KeyHolderError::Malformed)), "{outcome:?}"),
            _ => assert!(matches!(outcome, Err(KeyHolderError::Subjects)), "{outcome:?}"),
        }
    }
}

/// Claim M13.
///
/// However long there is between them, and whatever happens to the process.
#[test]
fn the_third_malformed_job_freezes_the_tenant_until_an_operator_resets_the_count() {
    let mut world = World::new(lenient(-32_768));
    let (template, face) = person(&mut world);
    let lanes = [(&template, &face)];
    const MONTH: u64 = 30 * 86_400;
    for job in 0..3 {
        let now = NOW + MONTH * job;
        let stray = world.crafted(&lanes, |bytes, _| add_to_c0(bytes, 3, delta()));
        assert!(matches!(world.key_holder.decide(&stray, now), Err(KeyHolderError::Malformed)));
        assert_eq!(world.key_holder.status().malformed_jobs(), job + 1);
        world.restart();
        world.refetch();
        let honest = world.mask(&lanes);
        let outcome = world.key_holder.decide(&honest, now + MONTH - 1);
        assert_eq!(matches!(outcome, Err(KeyHolderError::Frozen)), job == 2, "{outcome:?}");
    }
    // The freeze outlives the process, and other tenants do not notice.
    assert!(world.vault.tenants().expect("readable")[0].is_frozen());
    assert_eq!(world.key_holder.status().frozen, [TENANT]);
    let later = NOW + 100 * MONTH;
    let honest = world.mask(&lanes);
    world.key_holder.set_policy(TENANT, lenient(-32_768)).expect("a policy does not thaw");
    assert!(matches!(world.key_holder.decide(&honest, later), Err(KeyHolderError::Frozen)));
    world.forgive();
    assert!(!world.vault.tenants().expect("readable")[0].is_frozen());
    let honest = world.mask(&lanes);
    assert!(world.key_holder.decide(&honest, later).expect("honest").accepted(lane_of(10)));
    assert_eq!(world.key_holder.status().malformed_jobs(), 0);
}

/// Claim M13.
///
/// What somebody found out about a tag key, by a job that it refused, is about a key that is not used any more.
#[test]
fn a_malformed_job_makes_the_tag_key_anew() {
    let mut world = World::new(lenient(-32_768));
    let (template, face) = person(&mut world);
    let lanes = [(&template, &face)];
    let (before, earlier) = (world.key.clone(), world.mask(&lanes));
    let stray = world.crafted(&lanes, |bytes, _| add_to_c0(bytes, 3, delta()));
    assert!(matches!(world.key_holder.decide(&stray, NOW), Err(KeyHolderError::Malformed)));
    for restarted in [false, true] {
        if restarted {
            world.restart();
        }
        // An honest batch that was on its way is told so, and costs nothing.
        let attempts = world.attempts_of(1);
        assert!(matches!(world.key_holder.decide(&earlier, NOW), Err(KeyHolderError::TagKey)));
        assert_eq!(world.attempts_of(1), attempts);
        world.refetch();
        assert_eq!((before.tag_versions(), world.key.tag_versions()), (vec![0], vec![1]));
        assert!(before.to_bytes()[41..] != world.key.to_bytes()[41..], "another basis");
        let honest = world.mask(&lanes);
        assert!(world.key_holder.decide(&honest, NOW).expect("honest").accepted(lane_of(10)));
        // The tag of before under the version of now is malformed.
        let mut renamed = earlier.to_bytes();
        let version = head(&renamed) - 384 - 4;
        renamed[version] = 1;
        if restarted {
            assert!(matches!(world.key_holder.decide(&read(&renamed), NOW), Err(KeyHolderError::Malformed)));
        }
    }
}

/// People in all 32 lanes, so that no empty lane gives a forgery away.
pub(super) fn full(world: &mut World) -> Vec<(Template, Embedding)> {
    let faces: Vec<Embedding> = (0..32).map(|_| world.face()).collect();
    (0..32).map(|i| world.enrol(i, i, &faces[usize::from(i)])).zip(faces.clone()).collect()
}

/// As [`crate::World::mask`] takes them.
pub(super) fn lanes(people: &[(Template, Embedding)]) -> Vec<(&Template, &Embedding)> {
    people.iter().map(|(template, face)| (template, face)).collect()
}

/// Claim M7.
#[test]
fn random_ciphertexts_are_never_decided() {
    for (width, rounds) in ENDS.into_iter().zip([100, 30]) {
        random_are_never_decided(&mut World::new(wide(width, lenient(-32_768))), rounds);
    }
}

fn random_are_never_decided(world: &mut World, rounds: u8) {
    let people = full(world);
    for round in 0..rounds {
        // Everything, or c0 alone.
        let job = world.crafted(&lanes(&people), |bytes, rng| {
            let start = head(bytes);
            let end = if round % 2 == 0 { bytes.len() } else { start + C0 };
            randomise(&mut bytes[..end], start, rng);
        });
        world.refuses_as_malformed(&job);
    }
}

#[test]
fn an_error_outside_the_band_is_malformed_in_a_full_batch_too() {
    for width in ENDS {
        let mut world = World::new(wide(width, lenient(-32_768)));
        let people = full(&mut world);
        for index in [0, 17, 31] {
            // Shifted by 3/8 of Delta an error is far outside of the band, by 5/8 = 1 - 3/8 as well, to the other side.
            for shift in [delta() * 3 / 8, delta() * 5 / 8] {
                let job = world.crafted(&lanes(&people), |bytes, _| add_to_c0(bytes, index, shift));
                world.refuses_as_malformed(&job);
            }
        }
    }
}

#[test]
fn a_malformed_job_costs_its_subjects_an_attempt_and_a_failure() {
    let mut world = World::new(policy(-32_768));
    let (template, face) = person(&mut world);
    let job = world.crafted(&[(&template, &face)], |bytes, _| add_to_c0(bytes, 0, delta()));
    assert!(matches!(world.key_holder.decide(&job, NOW), Err(KeyHolderError::Malformed)));
    let attempts = world.attempts_of(1);
    assert_eq!(
        (attempts.consecutive, attempts.generation_failures, attempts.generation_attempts),
        (1, 1, 16)
    );
    let status = world.key_holder.status();
    assert_eq!((status.attempts, status.failures, status.malformed_jobs(), status.enrolments), (1, 1, 1, 1));
}
