//! Decisions are those of the plaintext inner product.

use super::*;
use trefoil_matching::{BatchId, LaneSet, MatchError};

#[test]
fn the_threshold_itself_is_accepted_and_one_more_is_not() {
    let mut world = World::new(lenient(0));
    let face = world.face();
    let probe = disturbed(&mut world.rng, &face, 30.0);
    let template = world.enrol(1, 4, &face);
    for (above, expected) in [(0, true), (1, false)] {
        world.set_policy(lenient(face.dot(&probe) + above));
        let job = world.mask(&[(&template, &probe)]);
        assert_eq!(world.key_holder.decide(&job, NOW).expect("honest").accepted(lane_of(4)), expected);
    }
}

#[test]
fn a_partial_batch_answers_for_its_lanes_only() {
    // With this threshold an empty lane, whose score is 0, would be accepted.
    Width::ALL
        .into_iter()
        .for_each(|width| answers_for_its_lanes(&mut World::new(wide(width, lenient(-32_768)))));
}

fn answers_for_its_lanes(world: &mut World) {
    let face = world.face();
    let first = world.enrol(1, 0, &face);
    let last = world.enrol(2, 31, &face);
    for (lanes, bits) in [
        (vec![(&first, &face)], 1),
        (vec![(&last, &face)], 1 << 31),
        (vec![(&first, &face), (&last, &face)], 1 << 31 | 1),
    ] {
        let job = world.mask(&lanes);
        let decisions = world.key_holder.decide(&job, NOW).expect("honest");
        assert_eq!(decisions.lanes(), LaneSet::from_bits(bits));
    }
}

#[test]
fn every_tier_masks_alike() {
    ENDS.into_iter().for_each(|width| masks_alike(&mut World::new(wide(width, lenient(20_000)))));
}

fn masks_alike(world: &mut World) {
    let (face, other) = (world.face(), world.face());
    let (mine, theirs) = (world.enrol(1, 3, &face), world.enrol(2, 8, &other));
    for tier in Tier::available() {
        world.matcher = matcher_on(tier, 3);
        let job = world.mask(&[(&mine, &face), (&theirs, &face)]);
        let decisions = world.key_holder.decide(&job, NOW).expect("honest");
        assert_eq!(decisions.lanes(), LaneSet::from_bits(1 << 3), "{tier:?}");
    }
    // One seed, one stream: all tiers give the very same job.
    let batch: BatchId = BatchId::new([0; 16]);
    let jobs: Vec<MatchJob> = Tier::available()
        .map(|tier| matcher_on(tier, 4).mask(batch, TENANT, 0, &world.key, &[(&mine, &face)]).expect("valid"))
        .collect();
    assert!(jobs.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(
        jobs[0]
            != matcher_on(Tier::detected(), 5)
                .mask(batch, TENANT, 0, &world.key, &[(&mine, &face)])
                .expect("valid")
    );
}

/// Claim I7: A batch has one tenant, and no tenant starves.
#[test]
fn batches_that_cannot_be_masked_are_refused() {
    let mut world = World::new(lenient(0));
    let face = world.face();
    let template = world.enrol(1, 6, &face);
    let same_lane = world.enrol(2, 6, &face);
    let mut foreign = world.enrol(3, 7, &face);
    foreign.tenant = TenantId::new([8; 16]);
    let mut refusal = |lanes: &[(&Template, &Embedding)]| {
        world.matcher.mask(BatchId::new([5; 16]), TENANT, 0, &world.key, lanes).expect_err("refused")
    };
    assert_eq!(refusal(&[]), MatchError::Empty);
    assert_eq!(refusal(&[(&template, &face), (&same_lane, &face)]), MatchError::DuplicateLane(lane_of(6)));
    assert_eq!(refusal(&[(&template, &face), (&foreign, &face)]), MatchError::ForeignTenant(lane_of(7)));
    let many = vec![(&template, &face); 40];
    assert_eq!(refusal(&many), MatchError::DuplicateLane(lane_of(6)));
}
