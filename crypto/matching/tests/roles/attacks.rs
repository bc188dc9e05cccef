//! The attacks that this kind of scheme is known for. Each works against a naive service and fails against the roles.

use super::malformed::{C0, MASKED, PRIMES, add, delta, full, get, head, neighbours, put, read};
use super::*;
use trefoil_bfv::{Drbg, MasterKey, Salt};
use trefoil_matching::{Blind, BlindedTemplate, EncryptedTemplate, KeyHolderError, Share};
use trefoil_testing::volume;

/// The stored form of `Delta`: as the second polynomial of a template it is `(0, Delta)`.
pub(super) fn delta_polynomial() -> Vec<u8> {
    let mut polynomial = vec![0; POLYNOMIAL];
    for (limb, q) in PRIMES.iter().enumerate() {
        for at in (0..4096).map(|j| 6 * (4096 * limb + j)) {
            put(&mut polynomial, at, (delta() % u128::from(*q)) as u64);
        }
    }
    polynomial
}

/// A template whose ciphertext was swapped on its way from the key-holder: the wire form is for templates that it made.
pub(super) fn swapped(world: &mut World, crafted: &[u8]) -> Template {
    let (blinded, blind) = split(&world.face(), &mut world.rng);
    let encrypted =
        world.key_holder.enrol(named(1, 0), lane_of(4), world.model, &blinded.into(), NOW).expect("new");
    let mut bytes = encrypted.to_bytes();
    let header = bytes.len() - crafted.len();
    bytes[header..].copy_from_slice(crafted);
    unblind(EncryptedTemplate::from_bytes(&bytes).expect("canonical residues"), blind)
}

/// A probe that is one in this coordinate and zero elsewhere.
pub(super) fn unit(width: Width, k: usize) -> Embedding {
    let mut unit = vec![0.0; width.numbers()];
    unit[k % width.numbers()] = 1.0;
    Embedding::quantise(&unit).expect("a unit vector")
}

/// A "ciphertext" `(0, Delta)` reads out a key: anybody who enrols it and has it matched against unit vectors sees the key's
/// coefficients as scores. Here the enroller sends residues, not ciphertexts: any 272 bytes that pass for a share are a
/// message, which is encrypted, and what is no share is refused.
#[test]
fn an_enrolment_cannot_carry_a_ciphertext() {
    let polynomial = delta_polynomial();
    for (mode, width) in everywhere() {
        // Keys per subject have one polynomial to a template, the tenant's key two.
        let crafted = match mode.keys() {
            KeyStructure::PerSubject => polynomial.clone(),
            KeyStructure::PerTenant => [vec![0; POLYNOMIAL], polynomial.clone()].concat(),
        };
        assert!(BlindedTemplate::from_bytes(&crafted).is_err());
        // A part of it that is as long as a share is no share, or is the residues that it spells: every score is that of these
        // residues, whatever the key.
        let mut part = crafted[crafted.len() - Share::bytes(width)..].to_vec();
        (0..width.numbers()).map(|k| 17 * k + 16).for_each(|top| part[top / 8] &= !(1 << (top % 8)));
        let residue = |k: usize| {
            let bit = |at: usize| i32::from(part[at / 8] >> (at % 8) & 1);
            (0..17).map(|i| bit(17 * k + i) << i).sum::<i32>()
        };
        let mut world = World::with_keys(mode.keys(), wide(width, lenient(9_000)));
        let share = BlindedTemplate::from_bytes(&part).expect("residues");
        let encrypted =
            world.key_holder.enrol(named(1, 0), lane_of(4), world.model, &share.into(), NOW).expect("new");
        let template = unblind(encrypted, zero(width));
        for k in (0..width.numbers()).step_by(width.numbers() / 128) {
            let job = world.job_in(mode, &[(&template, &unit(width, k))]);
            let decided = world.key_holder.decide(&job, NOW).expect("a well-formed job");
            let score = (width.scale() * residue(k) + 32_768).rem_euclid(65_537) - 32_768;
            assert_eq!(decided.accepted(lane_of(4)), score >= 9_000, "{mode:?}, {width:?}, coordinate {k}");
        }
    }
}

/// With keys per subject a template that was swapped for `Delta` is under nobody's key, and no batch with it is decided.
#[test]
fn a_swapped_template_is_never_decided_with_keys_per_subject() {
    let mut world = World::new(lenient(0));
    let template = swapped(&mut world, &delta_polynomial());
    for k in 0..20 {
        let job = world.crafted(&[(&template, &unit(MODEL.width(), k))], |_, _| ());
        world.refuses_as_malformed(&job);
    }
}

/// `Delta` times random residues in `lane`, packed as a polynomial of a job is.
pub(super) fn made_up(width: Width, lane: u8, rng: &mut StdRng) -> Vec<u8> {
    let scheme = trefoil_bfv::Scheme::shared();
    let nothing = trefoil_bfv::TemplateCiphertext::from_bytes(scheme, &[0; POLYNOMIAL]).expect("zeros");
    nothing.subtract(scheme, usize::from(lane), &Share::random(width, rng)).as_bytes().to_vec()
}

/// Adds a polynomial to the one that ends at the end of `bytes`.
pub(super) fn add_to_end(bytes: &mut [u8], polynomial: &[u8]) {
    let start = bytes.len() - POLYNOMIAL;
    for at in (0..POLYNOMIAL).step_by(6) {
        let sum = get(bytes, start + at) + get(polynomial, at);
        put(bytes, start + at, sum % PRIMES[at / (POLYNOMIAL / 2)]);
    }
}

/// Multiples of `Delta` that are zero outside of one occupied lane leave the error and the empty lanes as an honest job's, and
/// decrypt to a bit about the keys. What refuses them is that their maker cannot tag them: with one subject, and with 32.
#[test]
fn a_job_made_up_in_its_subjects_lanes_is_refused_where_subjects_have_keys() {
    ENDS.into_iter().for_each(made_up_is_refused);
}

fn made_up_is_refused(width: Width) {
    let mut world = World::new(wide(width, lenient(0)));
    let face = world.face();
    let templates: Vec<Template> = (0..32).map(|i| world.enrol(i, i, &face)).collect();
    // In the last ciphertext, in which the last of them are.
    let last = 32 - width.lanes();
    for subjects in [1, 32] {
        let lanes: Vec<_> = templates[..subjects].iter().map(|template| (template, &face)).collect();
        for lane in
            (0..subjects as u8).filter(|lane| subjects == 1 || usize::from(*lane) >= last).cycle().take(64)
        {
            let honest = world.crafted(&lanes, |_, _| ());
            assert_eq!(world.key_holder.decide(&honest, NOW).expect("honest").lanes().len(), subjects);
            let crafted = world.crafted(&lanes, |bytes, rng| add_to_end(bytes, &made_up(width, lane, rng)));
            world.refuses_as_malformed(&crafted);
        }
        // The tag of another batch of the same people with the same probes does not fit either.
        let other = world.crafted(&lanes, |_, _| ()).to_bytes();
        let tag = head(&other) - 384..head(&other);
        let swapped = world.crafted(&lanes, |bytes, _| bytes[tag.clone()].copy_from_slice(&other[tag]));
        world.refuses_as_malformed(&swapped);
    }
}

/// A template that also carries data in a neighbour's lane would move the neighbour's score. A share has as many residues as its lane has
/// room for, which the key-holder lays out in the lane that it was told: the largest possible ones leave a neighbour's score as it was.
#[test]
fn an_enrolled_template_does_not_reach_a_neighbours_lane() {
    for (mode, width) in everywhere() {
        let mut world = World::with_keys(mode.keys(), wide(width, lenient(12_000)));
        let (victim, stranger) = (world.face(), world.face());
        assert!(victim.dot(&stranger) < 12_000);
        let victims: Vec<Template> = [8, 10].map(|lane| world.enrol(lane, lane, &victim)).into();
        for residue in [1u32, 32_768, 65_536] {
            let mut bits = vec![0u8; Share::bytes(width)];
            for k in 0..width.numbers() {
                for bit in (0..17).filter(|bit| residue >> bit & 1 == 1) {
                    bits[(17 * k + bit) / 8] |= 1 << ((17 * k + bit) % 8);
                }
            }
            let hostile = BlindedTemplate::from_bytes(&bits).expect("residues");
            let name = named(200 - residue as u8, residue);
            let encrypted =
                world.key_holder.enrol(name, lane_of(9), world.model, &hostile.into(), NOW).expect("new");
            let hostile = unblind(encrypted, zero(width));
            let lanes = [(&victims[0], &stranger), (&hostile, &stranger), (&victims[1], &victim)];
            let job = world.job_in(mode, &lanes);
            let decisions = world.key_holder.decide(&job, NOW).expect("a well-formed job");
            let neighbours = [8, 10].map(|lane| decisions.accepted(lane_of(lane)));
            assert_eq!(neighbours, [false, true], "{mode:?}, {width:?}");
        }
    }
}

/// In plain mode a probe is a float vector that the service itself quantises, so it is always short. What is not a vector
/// of finite numbers with a length is refused, and one that is too large comes out as long as any other. (`tests/it/modes.rs` of
/// `trefoil-bfv` has what shared mode can promise instead: garbage shares match as often as a random residue.)
#[test]
fn a_garbage_probe_is_normalised_or_refused() {
    for garbage in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0] {
        assert!(Embedding::quantise(&[garbage; 128]).is_err());
        let mut one = [1.0; 128];
        one[77] = garbage;
        assert_eq!(Embedding::quantise(&one).is_err(), garbage != 0.0);
    }
    let mut world = World::new(lenient(12_250));
    let people = full(&mut world);
    let mut accepted = 0;
    for _ in 0..40 {
        let wild: Vec<f32> = (0..128).map(|_| f32::MAX / 1e3 * (uniform(&mut world.rng) - 0.5)).collect();
        let probe = Embedding::quantise(&wild).expect("finite");
        assert!(probe.norm_squared() <= 32_768);
        let lanes: Vec<_> = people.iter().map(|(template, _)| (template, &probe)).collect();
        let job = world.mask(&lanes);
        accepted += world.key_holder.decide(&job, NOW).expect("honest").lanes().len();
    }
    // Cosine 0.4 of random directions in 128 dimensions: 4.5 standard deviations.
    assert!(accepted <= 2, "{accepted} of 1280");
}

/// Each mode, and the narrowest and the widest vectors.
fn everywhere() -> impl Iterator<Item = (Mode, Width)> {
    Mode::ALL.into_iter().flat_map(|mode| ENDS.map(|width| (mode, width)))
}

/// A blind that hides nothing.
fn zero(width: Width) -> Blind {
    Blind::from_bytes(&vec![0; Share::bytes(width)]).expect("residues")
}

/// A tenant with one subject.
struct Target {
    mode: Mode,
    world: World,
    template: Template,
    face: Embedding,
}

impl Target {
    fn new(mode: Mode, width: Width) -> Target {
        let mut world = World::with_keys(mode.keys(), wide(width, lenient(-32_768)));
        let face = world.face();
        Target { mode, template: world.enrol(1, 10, &face), world, face }
    }

    /// An honest job of theirs under the keys of now: its encoding, and where its ciphertext begins.
    fn honest(&mut self) -> (Vec<u8>, usize) {
        self.world.refetch();
        let bytes = self.world.job_in(self.mode, &[(&self.template, &self.face)]).to_bytes();
        let head = head(&bytes);
        (bytes, head)
    }
}

/// Bytes of a polynomial.
pub(super) const POLYNOMIAL: usize = 2 * 4096 * 6;

/// Crafted decryption jobs: multiples of Delta on single coefficients, of `c0`, of `c1` and, for shared probes, of `c2`, on top of
/// nothing and of an honest job, one per coefficient. None is decided, and the tenant freezes at the third.
#[test]
fn crafted_jobs_get_no_informative_reply() {
    for (mode, width) in everywhere() {
        let mut target = Target::new(mode, width);
        let places = neighbours(width, target.template.lane);
        for i in 0..CRAFTED_JOBS {
            let (mut crafted, head) = target.honest();
            let c1 = head + C0;
            if i % 2 == 0 {
                // Next to nothing, for what is zero would not even parse.
                crafted[head..].fill(0);
                (c1..crafted.len()).step_by(POLYNOMIAL / 2).for_each(|at| put(&mut crafted, at, 1));
            }
            let by = (1 + i as u128 / 64 % 65_536) * delta();
            // The key's coefficients would show if c1 = Delta X^j were decrypted, those of its square if c2 were.
            match i % 3 {
                1 if mode == Mode::Shared => add(&mut crafted, c1 + POLYNOMIAL, 4096, i % 4096, by),
                0 | 1 => add(&mut crafted, c1, 4096, i % 4096, by),
                _ => add(&mut crafted, head, 32, places.start + i % places.len(), by),
            }
            let outcome = target.world.key_holder.decide(&read(&crafted), NOW);
            assert!(matches!(outcome, Err(KeyHolderError::Malformed)), "{mode:?} {width:?} {i}: {outcome:?}");
            // After every third malformed job the next one meets the freeze.
            if i % 3 == 2 {
                let outcome = target.world.key_holder.decide(&read(&crafted), NOW);
                assert!(
                    matches!(outcome, Err(KeyHolderError::Frozen)),
                    "{mode:?} {width:?} {i}: {outcome:?}"
                );
                target.world.forgive();
            }
        }
    }
}

const CRAFTED_JOBS: usize = 768;

/// Uniform residues in place of `c0` and the rest: the error of one is below the upper end of the band in all 32 coefficients
/// with probability 2^-269, in all 8 of a wide one with 2^-67, and the score of each empty lane is zero with probability 2^-16.
#[test]
fn random_jobs_get_no_informative_reply() {
    for ((mode, width), jobs) in everywhere().zip([10_000, 2_000, 2_000, 1_000]) {
        let jobs = volume(jobs, 500);
        let mut target = Target::new(mode, width);
        let places = neighbours(width, target.template.lane);
        let (mut bytes, head) = target.honest();
        // The polynomials of one job and the c0 of another are as good as fresh draws, and cheaper.
        let drawn: Vec<u64> =
            (0..(bytes.len() - head) / 6).map(|_| target.world.rng.next_u64() % PRIMES[1]).collect();
        for round in 0..jobs {
            let shift = target.world.rng.next_u64() as usize % drawn.len();
            if mode == Mode::Plain {
                target.world.refetch();
                bytes = target.world.mask(&[(&target.template, &target.face)]).to_bytes();
            }
            for (k, at) in (head + C0..bytes.len()).step_by(6).enumerate() {
                put(&mut bytes, at, drawn[(k + shift) % drawn.len()]);
            }
            let exists = |at: &usize| places.contains(&((at - head) / 6 % 32));
            for at in (head..head + C0).step_by(6).filter(exists) {
                put(&mut bytes, at, target.world.rng.next_u64() % PRIMES[1]);
            }
            let outcome = target.world.key_holder.decide(&read(&bytes), NOW);
            assert!(
                matches!(outcome, Err(KeyHolderError::Malformed)),
                "{mode:?} {width:?} {round}: {outcome:?}"
            );
            target.world.forgive();
        }
    }
}

/// The raw scheme, without the roles, does fall to the first attack: `(0, Delta)` decrypts to the key. This is what the tests
/// above are worth.
#[test]
fn the_attacks_work_where_nothing_is_checked() {
    let scheme = trefoil_bfv::Scheme::shared();
    let mut rng = Drbg::from_seed([1; 32]);
    let key = MasterKey::random(&mut rng).subject_key(&Handle::new([1; 32]), 0, &Salt::random(&mut rng));
    let mut bytes = vec![0; MASKED];
    bytes[C0..].copy_from_slice(&delta_polynomial());
    let crafted =
        trefoil_bfv::MaskedBatch::from_bytes(scheme, trefoil_bfv::Shape::of(Width::W128, 1), &bytes)
            .expect("canonical");
    let opened = trefoil_bfv::Decryptor::new(scheme).decrypt([(0, &key)], &crafted);
    // The scores are the values, in the lanes, of the key's 32 coefficients at multiples of 128: not all zero, and the same
    // every time.
    assert!(opened.scores().iter().any(|score| *score != 0));
    let again = trefoil_bfv::Decryptor::new(scheme).decrypt([(0, &key)], &crafted);
    assert_eq!(opened.scores(), again.scores());
    assert!(!opened.within_band());
}
