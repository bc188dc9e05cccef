//! Blinded enrolment, shredding, tenants.

use super::*;
use trefoil_matching::{Blind, BlindedTemplate, KeyHolderError, LaneSet};

/// Claim M6.
#[test]
fn the_ciphertext_needs_both_shares() {
    let mut world = World::new(lenient(30_000));
    let face = world.face();
    let template = world.enrol(1, 2, &face);
    assert!(world.accepted(&template, &face));

    // Unblinded with another share, or with none (an all-zero one), the subject does not match.
    let (blinded, _) = split(&face, &mut world.rng);
    let again = BlindedTemplate::from_bytes(&blinded.to_bytes()).expect("its own");
    let (_, wrong) = split(&face, &mut world.rng);
    let zero = Blind::from_bytes(&[0; 272]).expect("zeros are residues");
    for (name, blinded, blind) in [(2, blinded, wrong), (3, again, zero)] {
        let encrypted = world
            .key_holder
            .enrol(named(name, 0), lane_of(2), MODEL, &blinded.into(), NOW)
            .expect("a new subject");
        let template = unblind(encrypted, blind);
        let job = world.mask(&[(&template, &face)]);
        assert!(world.key_holder.decide(&job, NOW).expect("honest").lanes().is_empty());
    }
}

/// Claim M6: Neither role learns the vector from its share of an enrolment.
#[test]
fn each_share_alone_is_uniform_whatever_the_face() {
    // The same face, split many times: the top bit of a residue is about fair in either share, in every coordinate.
    let mut world = World::new(lenient(0));
    let face = world.face();
    const SPLITS: u32 = 2000;
    let mut counts = [[0u32; 128]; 2];
    for _ in 0..SPLITS {
        let (blinded, blind) = split(&face, &mut world.rng);
        assert!(blinded.to_bytes() != blind.to_bytes());
        for (count, bytes) in counts.iter_mut().zip([blinded.to_bytes(), blind.to_bytes()]) {
            for (k, count) in count.iter_mut().enumerate() {
                // Bit 15 of residue k, of 17 bits each.
                let bit = 17 * k + 15;
                *count += u32::from(bytes[bit / 8] >> (bit % 8) & 1);
            }
        }
    }
    // Five standard deviations, 22 each.
    assert!(counts.iter().flatten().all(|count| count.abs_diff(SPLITS / 2) < 112));
}

/// Claim M21: A shredded template is gone.
#[test]
fn a_shredded_template_is_gone_and_the_rest_of_the_batch_can_be_masked_again() {
    let mut world = World::new(lenient(30_000));
    let (face, other) = (world.face(), world.face());
    let (gone, kept) = (world.enrol(1, 1, &face), world.enrol(2, 2, &other));
    world.key_holder.shred(named(1, 0)).expect("the vault works");
    world.key_holder.shred(named(1, 0)).expect("shredding twice succeeds");
    let job = world.mask(&[(&gone, &face), (&kept, &other)]);
    match world.key_holder.decide(&job, NOW) {
        Err(KeyHolderError::UnknownSubjects(lanes)) => assert_eq!(lanes, LaneSet::from_bits(1 << 1)),
        other => panic!("expected the shredded lane, got {other:?}"),
    }
    assert!(world.accepted(&kept, &other));

    // Enrolled again, the subject has a new key: the old ciphertext stays dead, the new one works.
    let renewed = world.enrol(1, 1, &face);
    assert!(world.accepted(&renewed, &face));
    let job = world.mask(&[(&gone, &face)]);
    assert!(matches!(world.key_holder.decide(&job, NOW), Err(KeyHolderError::Malformed)));
}

/// Claim M38: A generation of a template is enrolled once, so its key encrypts only once.
#[test]
fn a_generation_is_enrolled_once() {
    let mut world = World::new(lenient(0));
    let face = world.face();
    world.enrol(1, 1, &face);
    let (blinded, _) = split(&face, &mut world.rng);
    let blinded = blinded.into();
    let again = world.key_holder.enrol(named(1, 0), lane_of(2), MODEL, &blinded, NOW);
    assert!(matches!(again, Err(KeyHolderError::SubjectExists)));
    world
        .key_holder
        .enrol(named(1, 1), lane_of(2), MODEL, &blinded, NOW)
        .expect("the next generation is another template");
}

#[test]
fn an_answer_to_another_question_is_told_apart() {
    let mut world = World::new(lenient(0));
    let (blinded, _) = split(&world.face(), &mut world.rng);
    let lane = lane_of(2);
    let answer = world.key_holder.enrol(named(1, 3), lane, MODEL, &blinded.into(), NOW).expect("new");
    assert!(answer.is_of(&named(1, 3), lane, MODEL) && answer.is_renewal(&named(1, 3)));
    for other in [TemplateName { tenant: TenantId::new([8; 16]), ..named(1, 3) }, named(2, 3), named(1, 4)] {
        assert!(!answer.is_of(&other, lane, MODEL) && !answer.is_renewal(&other));
    }
    assert!(!answer.is_of(&named(1, 3), lane_of(3), MODEL));
}

#[test]
fn tenants_are_created_once_and_their_thresholds_are_possible_scores() {
    let world = World::new(lenient(0));
    let key_holder = &world.key_holder;
    assert!(matches!(
        key_holder.create_tenant(TENANT, KeyStructure::PerSubject, policy(0)),
        Err(KeyHolderError::TenantExists)
    ));
    assert!(matches!(
        key_holder.create_tenant(TenantId::new([1; 16]), KeyStructure::PerSubject, policy(32_769)),
        Err(KeyHolderError::Threshold(32_769))
    ));
    assert!(matches!(
        key_holder.set_policy(TENANT, policy(-32_769)),
        Err(KeyHolderError::Threshold(-32_769))
    ));
    assert!(matches!(
        key_holder.set_policy(TenantId::new([1; 16]), policy(0)),
        Err(KeyHolderError::UnknownTenant)
    ));
    let second = key_holder
        .create_tenant(TenantId::new([1; 16]), KeyStructure::PerSubject, policy(32_768))
        .expect("a new tenant");
    assert_eq!(
        key_holder.public_keys(TenantId::new([1; 16])).expect("known")[0].to_bytes(),
        second.to_bytes()
    );
    assert!(second.to_bytes() != world.key.to_bytes());
}

#[test]
fn templates_in_an_arena_are_the_same_and_give_their_slot_back() {
    let mut world = World::new(lenient(30_000));
    let arena = Template::arena(KeyStructure::PerSubject, 2);
    let face = world.face();
    let templates: Vec<Template> = (0..3).map(|i| world.enrol(i, i, &face)).collect();
    let stored: Vec<Template> = templates.iter().map(|template| template.clone().stored_in(&arena)).collect();
    // The third found no room, and works all the same.
    assert_eq!((arena.size().used, arena.size().slots_max), (2, 2));
    assert!(stored == templates);
    let lanes: Vec<_> = stored.iter().map(|template| (template, &face)).collect();
    let job = world.mask(&lanes);
    assert_eq!(world.key_holder.decide(&job, NOW).expect("honest").lanes().len(), 3);
    drop(stored);
    assert_eq!(arena.size().used, 0);
}
