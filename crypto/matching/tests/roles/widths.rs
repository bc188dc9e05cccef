//! Lanes of several widths: what is as wide as something else, and what is cut to fit.

use super::attacks::POLYNOMIAL;
use super::malformed::{C0, full, lanes, model_at};
use super::three::{Three, WITNESS, job_at};
use super::*;
use trefoil_matching::quorum::SeatJob;
use trefoil_matching::{
    Blind, EncryptedProbes, JobError, KeyHolding, MatchError, ProbeJob, Reply, Request, Share,
};

#[test]
fn all_lanes_of_another_width_have_another_length() {
    for (from, units) in [(Width::W128, 4), (Width::W256, 1), (Width::W512, 2)] {
        let mut world = World::new(wide(from, lenient(0)));
        let people = full(&mut world);
        let mut bytes = world.mask(&lanes(&people)).to_bytes();
        let width = model_at(&bytes) + Model::BYTES - 1;
        bytes[width] = units;
        assert_eq!(MatchJob::from_bytes(&bytes), Err(JobError::Length(bytes.len())));
    }
}

#[test]
fn a_seats_job_has_as_many_ciphertexts_in_every_part() {
    let mut three = Three::new(wide(Width::W512, lenient(15_000)), 17);
    let [job, _] = three.jobs(1);
    for bytes in SeatJob::encode(&job).unwrap() {
        assert_eq!(bytes[1], 3, "of 17 lanes");
        for count in [0, 1, 2, 4, 255] {
            let mut other = bytes.clone();
            other[1] = count;
            assert!(SeatJob::from_bytes(&other).is_err(), "{count}");
        }
        // One fewer or one more in each of the three witnesses, so that the length fits.
        let ends = [1, 2, 3].map(|witness| WITNESS + 128 + C0 + 3 * witness * POLYNOMIAL);
        let (mut fewer, mut more) = (bytes.clone(), bytes.clone());
        for end in ends.into_iter().rev() {
            fewer.drain(end - POLYNOMIAL..end);
            more.splice(end..end, bytes[end - POLYNOMIAL..end].iter().copied());
        }
        (fewer[1], more[1]) = (2, 4);
        for other in [fewer, more] {
            assert!(matches!(SeatJob::from_bytes(&other), Err(JobError::Ciphertext(_))));
            assert!(MatchJob::from_bytes(&other[job_at(&other)..]).is_ok(), "the batch is as it was");
        }
    }
}

/// Claim I6.
///
/// A device that gives the gateway a share of another width than it seals would be in the lanes of others.
#[test]
fn a_blind_of_another_width_reaches_no_neighbour() {
    for (mode, of) in Mode::ALL.into_iter().flat_map(|mode| Width::ALL.map(|width| (mode, width))) {
        let mut world = World::with_keys(mode.keys(), wide(of, lenient(12_000)));
        let mut people = full(&mut world);
        let stranger = world.face();
        for other in Width::ALL.into_iter().filter(|other| *other != of) {
            let (blinded, _) = split(&world.face(), &mut world.rng);
            let name = named(100 + (other.numbers() / 128) as u8, 0);
            let encrypted =
                world.key_holder.enrol(name, lane_of(3), world.model, &blinded.into(), NOW).expect("new");
            let hostile =
                Blind::from_bytes(&Share::random(other, &mut world.rng).to_bytes()).expect("a share");
            people[3].0 = unblind(encrypted, hostile);
            let mut batch = lanes(&people);
            batch[7].1 = &stranger;
            let job = world.job_in(mode, &batch);
            let decided = world.key_holder.decide(&job, NOW).expect("well-formed").lanes().bits();
            assert_eq!(decided & !(1 << 3), !(1 << 3 | 1 << 7), "{mode:?}, {other:?} in {of:?}");
        }
    }
}

/// A key-holder whose encrypted probes are so many.
struct OtherProbes(Vec<u8>);

impl KeyHolding for OtherProbes {
    fn call(&self, _: Request) -> Result<Reply, KeyHolderError> {
        Ok(Reply::Probes(Box::new(EncryptedProbes::from_bytes(&self.0).expect("canonical"))))
    }
}

#[test]
fn encrypted_probes_are_as_many_as_the_batch_has_ciphertexts() {
    let mut world = World::with_keys(KeyStructure::PerTenant, wide(Width::W512, lenient(0)));
    let people: Vec<_> = [0, 31].map(|lane| (lane, world.face())).into();
    let people: Vec<(Template, Embedding)> =
        people.into_iter().map(|(lane, face)| (world.enrol(lane, lane, &face), face)).collect();
    let probes: Vec<SharedProbe> =
        people.iter().map(|(template, face)| world.device(template, face, b"n")).collect();
    let lanes: Vec<_> = people.iter().map(|(template, _)| template).zip(&probes).collect();
    let World { matcher, key, key_holder, .. } = &mut world;
    let job = matcher.gather(BatchId::new([5; 16]), TENANT, key, &lanes).expect("a valid batch");
    let nobody = ProbeJob { probes: [const { None }; 32], ..job.clone() };
    assert!(matches!(key_holder.encrypt_probes(&nobody, NOW), Err(KeyHolderError::Subjects)));
    let two = key_holder.encrypt_probes(&job, NOW).expect("sealed for it").to_bytes();
    assert_eq!(two.len(), 4 + 2 * 2 * POLYNOMIAL);
    let so_many = |length: usize| -> Vec<u8> {
        let rest = two[4..].iter().copied().cycle();
        two[..4].iter().copied().chain(rest).take(length).collect()
    };
    for length in [0, 3, 4, 4 + 2 * POLYNOMIAL - 1, 4 + 3 * POLYNOMIAL, 4 + 10 * POLYNOMIAL] {
        assert!(EncryptedProbes::from_bytes(&so_many(length)).is_err(), "{length}");
    }
    // As many ciphertexts, and of the lanes that were asked for.
    let mut cases: Vec<(Vec<u8>, bool)> =
        (1..=4).map(|count| (so_many(4 + 2 * count * POLYNOMIAL), count == 2)).collect();
    for lanes in [0, 1, 1 << 30 | 1, u32::MAX] {
        cases.push(([&lanes.to_le_bytes()[..], &two[4..]].concat(), false));
    }
    for (bytes, honest) in cases {
        let given = OtherProbes(bytes.clone()).encrypt_probes(job.clone());
        assert_eq!(given.is_ok(), honest, "{given:?}");
        let probes = EncryptedProbes::from_bytes(&bytes).expect("canonical");
        let masked = matcher.mask_shared(BatchId::new([5; 16]), TENANT, 0, key, &lanes, &probes);
        assert_eq!(masked.err(), (!honest).then_some(MatchError::Key));
    }
}

/// A lane that has no attempt left when the others' probes are encrypted already is left out, and with it its ciphertext if it was alone there. The
/// shares of the others were opened, which is once.
#[test]
fn a_lane_that_drops_out_leaves_the_probes_of_the_others() {
    for width in Width::ALL {
        let mut world = World::with_keys(KeyStructure::PerTenant, wide(width, lenient(12_000)));
        let stranger = world.face();
        let faces: Vec<Embedding> = (0..4).map(|_| world.face()).collect();
        let templates: Vec<Template> = [0, 9, 10, 31]
            .into_iter()
            .zip(&faces)
            .map(|(lane, face)| world.enrol(lane, lane, face))
            .collect();
        let shown = [&faces[0], &faces[1], &stranger, &faces[3]];
        let probes: Vec<SharedProbe> =
            templates.iter().zip(shown).map(|(template, face)| world.device(template, face, b"n")).collect();
        let lanes: Vec<_> = templates.iter().zip(&probes).collect();
        let World { matcher, key, key_holder, threshold, .. } = &mut world;
        let id = BatchId::new([5; 16]);
        let job = matcher.gather(id, TENANT, key, &lanes[..3]).expect("a valid batch");
        let some = key_holder.encrypt_probes(&job, NOW).expect("sealed for it");
        let more = matcher.mask_shared(id, TENANT, *threshold, key, &lanes, &some);
        assert_eq!(more.err(), Some(MatchError::Key), "there is no probe for lane 31");
        for (left, accepted) in [(0..3, 1 | 1 << 9), (1..3, 1 << 9), (0..1, 1), (2..3, 0), (0..2, 1 | 1 << 9)]
        {
            let job = matcher.mask_shared(id, TENANT, *threshold, key, &lanes[left], &some);
            let decided = key_holder.decide(&job.expect("a valid batch"), NOW).expect("honest");
            assert_eq!(decided.lanes().bits(), accepted, "{width:?}");
        }
    }
}
