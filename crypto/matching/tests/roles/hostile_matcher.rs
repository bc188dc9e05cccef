//! What a matcher that is itself the attacker gets, alone: one bit for each attempt, about the template that it names, within the budget of
//! that template. These tests say what remains, so that nobody relies on more; `NOTES.md` of `trefoil-bfv`, section 6, says what follows.

use super::attacks::{POLYNOMIAL, unit};
use super::malformed::{C0, PRIMES, add_score, add_to_c0, delta, full, head, lanes, put, read};
use super::*;
use trefoil_bfv::{Basis, Decryptor, Masker, MasterKey, Placed, Salt, Scheme, Share};
use trefoil_kernels::{Cpu, ntt::Ntt};
use trefoil_matching::{KeyHolderError, LaneSet};

const SECONDS_PER_DAY: u64 = 86_400;

/// Transforms for both primes, with the roots that the scheme has: the first powers that are primitive 8192nd roots of unity.
fn transforms() -> Vec<Ntt> {
    let power = |mut base: u128, mut exponent: u64, q: u64| {
        let mut product = 1;
        while exponent > 0 {
            if exponent & 1 == 1 {
                product = product * base % u128::from(q);
            }
            base = base * base % u128::from(q);
            exponent >>= 1;
        }
        product as u64
    };
    let root = |q: u64| {
        let mut candidates = (2..).map(|x| power(x, (q - 1) / 8192, q));
        candidates.find(|root| power((*root).into(), 4096, q) == q - 1).expect("half of all are")
    };
    PRIMES.iter().map(|&q| Ntt::new(Cpu::detected(), q, root(q))).collect()
}

/// Writes a polynomial with these coefficients (place, value) in place of the `c1` that ends at the end of `bytes`.
pub(super) fn write_c1(bytes: &mut [u8], coefficients: &[(usize, i128)]) {
    let start = bytes.len() - POLYNOMIAL;
    for (limb, (q, ntt)) in PRIMES.iter().zip(transforms()).enumerate() {
        let mut values = vec![0u64; 4096];
        for (at, value) in coefficients {
            values[*at] = value.rem_euclid(i128::from(*q)) as u64;
        }
        ntt.forward(&mut values);
        for (j, value) in values.iter().enumerate() {
            put(bytes, start + 6 * (4096 * limb + j), value % q);
        }
    }
}

/// `value X^-k`.
pub(super) fn at_minus(k: usize, value: i128) -> (usize, i128) {
    if k == 0 { (0, value) } else { (4096 - k, -value) }
}

/// Adds `shift` to the score in a lane and to no other.
fn shifted(job: &MatchJob, lane: Lane, shift: i32) -> MatchJob {
    let mut bytes = job.to_bytes();
    let c0 = head(&bytes);
    add_score(&mut bytes, c0, (job.model.width(), lane), shift);
    read(&bytes)
}

/// Claim M9.
///
/// A matcher shifts a score by what it likes. So it asks for more and more, from below any value that a coordinate has, until the answer
/// is no: that is one failure for a coordinate, and a few dozen matches. All of them are attempts, so this ends with the budget.
#[test]
fn a_hostile_matcher_that_mostly_matches_ends_with_the_attempts() {
    // From below every number of such a vector. A budget is of answers, whatever the width: numbers of a wide vector are smaller, so that more of
    // them are read, and a smaller part of all.
    for (width, lowest, read) in [(Width::W128, -59, 25..45), (Width::W512, -30, 50..80)] {
        ends_with_the_attempts(wide(width, policy(12_000)), lowest, read);
    }
}

fn ends_with_the_attempts(policy: DecisionPolicy, lowest: i32, expected: std::ops::Range<usize>) {
    let (width, threshold) = (policy.model.width(), policy.threshold);
    let mut world = World::new(policy);
    let face = world.face();
    let template = world.enrol(1, 10, &face);
    let (mut read, mut answers, mut day) = (Vec::new(), 0u32, 0);
    'all: for k in 0..width.numbers() {
        let job = world.mask(&[(&template, &unit(width, k))]);
        let mut value = lowest;
        loop {
            let job = shifted(&job, lane_of(10), threshold - width.scale() * value);
            match world.key_holder.decide(&job, NOW + SECONDS_PER_DAY * day) {
                Ok(decided) if decided.accepted(lane_of(10)) => value += 1,
                Ok(_) => break read.push(value - 1),
                Err(KeyHolderError::NoAttempts(_)) if day < 1000 => {
                    day += 1;
                    continue;
                }
                Err(KeyHolderError::NoAttempts(_)) => break 'all,
                Err(other) => panic!("{other:?}"),
            }
            answers += 1;
        }
        answers += 1;
    }
    // Right, as far as it goes; and it is over after so many attempts, over ten days.
    assert!(read.iter().zip(face.values()).all(|(read, value)| *read == i32::from(*value)));
    assert_eq!(answers, policy.attempts.attempts_per_generation);
    assert!(expected.contains(&read.len()), "{} of {} coordinates", read.len(), width.numbers());
    let failures = world.attempts_of(1).generation_failures;
    assert!(failures as usize == read.len() && failures < policy.attempts.failures_per_generation);
}

/// Claim M9.
///
/// Two coordinates at once: 175 times one plus the other. A failure reads both, and takes the attempts of hundreds of matches.
#[test]
fn two_coordinates_for_each_failure_cost_attempts_too() {
    const THRESHOLD: i32 = 12_000;
    let mut world = World::new(policy(THRESHOLD));
    let face = world.face();
    let template = world.enrol(1, 10, &face);
    let mut vector = [0f32; 128];
    (vector[0], vector[1]) = (1.0, 175.0);
    let probe = Embedding::quantise(&vector).expect("a vector");
    assert_eq!((probe.values()[0], probe.values()[1]), (1, 175));
    let job = world.mask(&[(&template, &probe)]);
    let top = 175 * 59 + 59;
    let mut matches = 0;
    let outcome = (-top..=top).find_map(|value| {
        match world.key_holder.decide(&shifted(&job, lane_of(10), THRESHOLD - value), NOW) {
            Ok(decided) if decided.accepted(lane_of(10)) => {
                matches += 1;
                None
            }
            other => Some(other),
        }
    });
    assert!(matches!(outcome, Some(Err(KeyHolderError::NoAttempts(_)))), "{outcome:?}");
    assert_eq!(matches, AttemptPolicy::default().attempts_per_day, "20,768 values could follow");
}

const FLOOD_MAX: u128 = 3 * ((1 << 68) - 1) / 2;

/// In place of an honest ciphertext: `c1 = 2^bits X^-k`, a score that matches in the lane and nothing elsewhere, and in coefficient 0 an
/// error just below the limit, so that the sign of the key's digit `k` decides whether it is passed.
fn about_a_digit(honest: &[u8], lane: Lane, (k, bits, negative): (usize, u32, bool)) -> MatchJob {
    let mut bytes = honest.to_vec();
    let (start, width) = (head(&bytes), read(honest).model.width());
    bytes[start - 384..start + C0].fill(0);
    let size = 1i128 << bits;
    write_c1(&mut bytes, &[at_minus(k, if negative { -size } else { size })]);
    add_score(&mut bytes, start, (width, lane), 30_000);
    add_to_c0(&mut bytes, 0, FLOOD_MAX - (size as u128) / 2);
    read(&bytes)
}

/// Claim M11: A small crafted polynomial reveals no key: the error band answers at most three times, and nothing is decrypted for a subject
/// without attempts.
///
/// A small `c1` passes for an honest one, as its product with any key is small, and an error near the limit could then tell a digit of the
/// subject's key: one by one, beyond every budget, for ever. Now a `c1` that is larger than a tag tolerates is malformed whatever
/// the key; one that is smaller says something only through a job that is malformed, of which three end it; and a subject without an
/// attempt left is not decrypted.
#[test]
fn the_band_does_not_read_a_subjects_key() {
    for (width, bits) in ENDS.into_iter().flat_map(|width| [67, 56, 53, 51].map(|bits| (width, bits))) {
        let mut world = World::new(wide(width, policy(15_000)));
        let face = world.face();
        let template = world.enrol(1, 10, &face);
        let (mut answered, mut malformed, mut frozen) = (0, 0, 0);
        for k in 0..128 {
            for negative in [true, false] {
                world.refetch();
                let honest = world.mask(&[(&template, &face)]).to_bytes();
                let job = about_a_digit(&honest, lane_of(10), (k, bits, negative));
                let now = NOW + SECONDS_PER_DAY * k as u64;
                match world.key_holder.decide(&job, now) {
                    Ok(_) => answered += 1,
                    Err(KeyHolderError::Malformed) => malformed += 1,
                    Err(KeyHolderError::Frozen) => frozen += 1,
                    Err(other) => panic!("{other:?}"),
                }
            }
        }
        assert_eq!((malformed, answered + frozen), (3, 253), "2^{bits}, {width:?}");
        assert!(answered < 64, "2^{bits}, {width:?}: {answered} answers before the third malformed job");
        assert_eq!(world.key_holder.status().frozen, [TENANT]);
    }
}

/// Claim M11.
#[test]
fn a_subject_without_attempts_is_not_decrypted_whatever_is_sent() {
    let mut world = World::new(policy(15_000));
    let face = world.face();
    let template = world.enrol(1, 10, &face);
    let stranger = world.face();
    for day in 0.. {
        let job = world.mask(&[(&template, &stranger)]);
        match world.key_holder.decide(&job, NOW + SECONDS_PER_DAY * day) {
            Ok(decided) => assert!(decided.lanes().is_empty()),
            Err(KeyHolderError::NoAttempts(_)) => break,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(world.attempts_of(1).generation_failures, 100);
    let before = world.attempts_of(1);
    let honest = world.mask(&[(&template, &face)]).to_bytes();
    for k in 0..128 {
        let later = NOW + SECONDS_PER_DAY * 10_000;
        let job = about_a_digit(&honest, lane_of(10), (k, 67, k % 2 == 0));
        let outcome = world.key_holder.decide(&job, later);
        assert!(matches!(outcome, Err(KeyHolderError::NoAttempts(_))), "{outcome:?}");
    }
    assert_eq!(world.attempts_of(1), before);
    assert_eq!(world.key_holder.status().malformed_jobs(), 0, "nothing was looked at");
}

/// Claim M12: The bits of other lanes carry nothing about a subject, and a subject's key opens no other template.
///
/// A job that names 31 people of the gateway's own and one other could be about the other in all of its 32 bits, if a matcher could make
/// up what is decrypted. It cannot tag that, so a bit is about the template in its lane, which is charged for it.
#[test]
fn the_bits_of_31_lanes_are_not_about_the_template_in_the_last() {
    for width in ENDS {
        others_are_not_about_it(&mut World::new(wide(width, lenient(-10_000))));
    }
}

fn others_are_not_about_it(world: &mut World) {
    let people = full(world);
    for k in 0..20 {
        let job = world.crafted(&lanes(&people), |bytes, _| {
            write_c1(bytes, &[at_minus(k, delta() as i128)]);
        });
        world.refuses_as_malformed(&job);
    }
    // What is decided of the other 31 does not change with the face that is enrolled in lane 0.
    let mut decided = Vec::new();
    for _ in 0..4 {
        let stranger = world.face();
        world.key_holder.shred(named(0, 0)).expect("memory");
        let anew = world.enrol(0, 0, &stranger);
        let mut batch = lanes(&people);
        batch[0] = (&anew, &people[0].1);
        let job = world.mask(&batch);
        let others = world.key_holder.decide(&job, NOW).expect("honest").lanes().bits() & !1;
        decided.push(LaneSet::from_bits(others));
    }
    assert!(decided.windows(2).all(|pair| pair[0] == pair[1]));
}

/// Claim M12.
///
/// A key of a subject opens the template of that subject and no other: reading one, with its own budget, is worth no more than reading
/// the template.
#[test]
fn the_key_of_one_subject_opens_nothing_of_another() {
    let mut rng = StdRng::seed_from_u64(3);
    let master = MasterKey::random(&mut rng);
    let salt = Salt::random(&mut rng);
    let [one, other] = [1, 2].map(|name| master.subject_key(&Handle::new([name; 32]), 0, &salt));
    let world = &mut World::new(lenient(0));
    let basis = Basis::from_seed(Scheme::shared(), [4; 32]);
    let face = world.face();
    let template = basis.encrypt_lane(&other, 3, &Share::of(&face), &mut rng);
    let mut masker = Masker::new(Scheme::shared(), [5; 32]);
    let placed = [Placed { lane: 3, template: &template, probe: &face }];
    let masked = masker.mask(&basis, &placed);
    let mut decryptor = Decryptor::new(Scheme::shared());
    assert!(!decryptor.decrypt([(3, &one)], &masked).within_band());
    assert!(decryptor.decrypt([(3, &other)], &masked).within_band());
}

/// Claim M15: Under one key per tenant (`shared`) a malicious gateway does learn bits of that key: the mode protects only against curious
/// roles.
///
/// Where a tenant has one key, which the shared mode needs, a product carries no tag: `(0, Delta X^-j, 0)` is decided, for bits about the
/// tenant's key. The documents say that this mode is against curious roles only; this test says why. What it costs are attempts of
/// subjects that the gateway may enrol itself.
#[test]
fn with_one_key_per_tenant_a_gateway_that_lies_gets_bits_about_that_key() {
    let mut policy = policy(-10_000);
    policy.attempts.consecutive = u32::MAX;
    let mut world = World::with_keys(KeyStructure::PerTenant, policy);
    let people = full(&mut world);
    let honest = world.job_in(Mode::Shared, &lanes(&people)).to_bytes();
    let mut answers = Vec::new();
    for j in 0..8 {
        let mut bytes = honest.clone();
        let c0 = head(&bytes);
        // c2 next to nothing; c1 = Delta X^-j; in c0 a flooding of the attacker's own.
        write_c1(&mut bytes, &[(0, 1)]);
        let end = bytes.len() - POLYNOMIAL;
        write_c1(&mut bytes[..end], &[at_minus(j, delta() as i128)]);
        for k in 0..32 {
            let flooding = u128::from(world.rng.next_u64()) << 3;
            for (limb, q) in PRIMES.iter().enumerate() {
                put(&mut bytes, c0 + 6 * (32 * limb + k), (flooding % u128::from(*q)) as u64);
            }
        }
        answers.push(world.key_holder.decide(&read(&bytes), NOW).expect("it looks honest").lanes().bits());
    }
    assert!(answers.windows(2).any(|pair| pair[0] != pair[1]), "{answers:x?}");
    assert!((0..32).all(|name| world.attempts_of(name).day_attempts >= 8), "and each is an attempt");
}
