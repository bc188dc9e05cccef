//! What one lane, one batch or one tenant can do to another: nothing.

use super::*;
use trefoil_matching::{Decisions, KeyHolderError, MatchError};

/// Decisions of random batches, in each of which one lane is then changed.
#[test]
fn changing_one_lane_leaves_the_other_31_decisions_identical() {
    let mut world = World::new(lenient(10_000));
    let faces: Vec<Embedding> = (0..32).map(|_| world.face()).collect();
    let templates: Vec<Template> = (0..32).map(|i| world.enrol(i, i, &faces[usize::from(i)])).collect();
    let probes: Vec<Embedding> = (0..16).map(|_| world.face()).collect();
    for _ in 0..CHANGED_BATCHES {
        // About half of the probes are the subject's own face.
        let draws: Vec<u32> = (0..33).map(|_| world.rng.next_u32()).collect();
        let own = |lane: usize| {
            if draws[lane] & 1 == 0 { &faces[lane] } else { &probes[draws[lane] as usize / 2 % 16] }
        };
        let lanes: Vec<(&Template, &Embedding)> = (0..32).map(|lane| (&templates[lane], own(lane))).collect();
        let changed = draws[32] as usize % 32;
        let mut other = lanes.clone();
        other[changed].1 = &probes[draws[32] as usize / 32 % 16];
        let [before, after] = [lanes, other].map(|lanes| decide(&mut world, &lanes));
        for lane in (0..32).filter(|lane| *lane != changed) {
            let name = lane_of(lane as u8);
            assert_eq!(before.accepted(name), after.accepted(name), "{changed} changed {lane}");
            assert_eq!(before.accepted(name), faces[lane].dot(own(lane)) >= 10_000);
        }
    }
}

/// Ten thousand took 2.4 s when this was written.
const CHANGED_BATCHES: usize = 10_000;

fn decide(world: &mut World, lanes: &[(&Template, &Embedding)]) -> Decisions {
    let job = world.mask(lanes);
    world.keyholder.decide(&job, NOW).expect("an honest job")
}

/// A thousand batches that name a template where it may not be: each is refused, by the matcher before any arithmetic or
/// by the key-holder before any decryption, which shows in that nothing is counted against the subjects.
#[test]
fn forged_descriptors_are_refused_before_any_arithmetic() {
    let mut world = World::new(policy(-32_768));
    let stranger: TenantId = [8; 16];
    world.keyholder.create_tenant(stranger, KeyStructure::PerSubject, policy(-32_768)).expect("a new tenant");
    let face = world.face();
    let templates: Vec<Template> = (0..8).map(|i| world.enrol(i, i, &face)).collect();
    let same_lane = world.enrol(100, 3, &face);
    let (blinded, blind) = split(&face, &mut world.rng);
    let encrypted = world.keyholder.enrol(stranger, handle(1), 0, lane_of(20), &blinded.into()).expect("new");
    let foreign = unblind(encrypted, blind);
    for round in 0..250usize {
        let lanes: Vec<(&Template, &Embedding)> =
            templates.iter().skip(round % 4).map(|template| (template, &face)).collect();
        // A template of another tenant, and a second one in a lane.
        let with = |extra: &'_ Template,
                    lanes: &[(&Template, &Embedding)],
                    matcher: &mut Matcher,
                    basis: &PublicKey| {
            let mut all = lanes.to_vec();
            all.insert(round % (all.len() + 1), (extra, &face));
            matcher.mask([round as u8; 16], TENANT, basis, &all).err()
        };
        let refused = with(&foreign, &lanes, &mut world.matcher, &world.key);
        assert_eq!(refused, Some(MatchError::ForeignTenant(lane_of(20))));
        let refused = with(&same_lane, &lanes, &mut world.matcher, &world.key);
        assert_eq!(refused, Some(MatchError::DuplicateLane(lane_of(3))));
        // A stale generation, and a template under the key of another subject.
        let job = world.mask(&lanes);
        let place = 4 + round % 4;
        let mut stale = job.clone();
        stale.subjects[place] = Some((handle(place as u8), 1 + round as u32));
        let mut other_key = job;
        other_key.subjects[place] = Some((handle(100), 0));
        for forged in [stale, other_key] {
            match world.keyholder.decide(&forged, NOW) {
                Err(KeyHolderError::UnknownSubjects(lanes)) => {
                    assert_eq!(lanes.iter().collect::<Vec<_>>(), [lane_of(place as u8)]);
                }
                other => panic!("expected an unknown subject, got {other:?}"),
            }
        }
    }
    let untouched = trefoil_matching::AttemptRecord::default();
    let subjects = trefoil_matching::Vault::subjects(&world.vault, &TENANT).expect("readable");
    assert!(subjects.iter().all(|subject| subject.attempts == untouched));
}
