//! Bounded, replaced in place, and whole under load.

use super::*;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use std::sync::Arc;
use trefoil_matching::{
    AttemptPolicy, DecisionPolicy, Embedding, KeyHolder, Lane, MemoryVault, Model, TemplateName, split,
    unblind,
};

const TENANT: TenantId = TenantId::new([7; 16]);

/// A template of some subject, to be renamed.
fn template(keys: KeyStructure) -> Template {
    let mut rng = StdRng::seed_from_u64(1);
    let key_holder = KeyHolder::new(Arc::<MemoryVault>::default(), &mut rng, 0).expect("an empty vault");
    let model = Model::of("model", 128).expect("a width");
    let policy = DecisionPolicy::new(model, 0, AttemptPolicy::default());
    key_holder.create_tenant(TENANT, keys, policy).expect("new");
    let (blinded, blind) = split(&Embedding::quantise(&[1.0; 128]).expect("a vector"), &mut rng);
    let lane = Lane::new(3).expect("below 32");
    let name = TemplateName { tenant: TENANT, handle: Handle::new([0; 32]), generation: 0 };
    unblind(key_holder.enrol(name, lane, model, &blinded.into(), 0).expect("new"), blind)
}

/// The same for another subject. Handles differ in their first byte, so that they spread.
fn named(template: &Template, subject: u32, generation: u32) -> Template {
    let mut template = template.clone();
    let name = subject.to_le_bytes();
    let mut handle = template.handle.to_bytes();
    handle[..4].copy_from_slice(&name);
    template.handle = Handle::new(handle);
    template.generation = generation;
    template
}

fn used(templates: &Templates) -> [usize; 2] {
    templates.arenas().map(|(_, size)| size.used)
}

#[test]
fn the_bound_holds_and_the_latest_are_kept() {
    for (keys, at) in [(KeyStructure::PerSubject, 0), (KeyStructure::PerTenant, 1)] {
        let one = template(keys);
        let templates = Templates::new(128);
        for subject in 0..1000 {
            templates.insert(named(&one, subject, 0));
            assert!(templates.held() <= 128, "{}", templates.held());
            let held = templates.get(&TENANT, &named(&one, subject, 0).handle).expect("the latest");
            assert_eq!(held.handle, named(&one, subject, 0).handle);
        }
        let mut expected = [0, 0];
        expected[at] = templates.held();
        assert_eq!(used(&templates), expected, "what was dropped gave its slot back");
        let size = templates.arenas()[at].1;
        assert!(size.reserved_bytes <= size.slots_max * size.slot_bytes && size.slots_max >= 128);
    }
}

#[test]
fn a_template_is_replaced_and_removed_in_place() {
    let one = template(KeyStructure::PerSubject);
    let templates = Templates::new(128);
    for generation in 0..50 {
        templates.insert(named(&one, 9, generation));
        let held = templates.get(&TENANT, &named(&one, 9, 0).handle).expect("just put there");
        assert_eq!((held.generation, templates.held()), (generation, 1));
    }
    let held = templates.get(&TENANT, &named(&one, 9, 0).handle);
    templates.remove(&TENANT, &named(&one, 9, 0).handle);
    assert!(templates.get(&TENANT, &named(&one, 9, 0).handle).is_none());
    assert_eq!((templates.held(), used(&templates)), (0, [1, 0]), "anybody who matches it still has it");
    drop(held);
    assert_eq!(used(&templates), [0, 0]);
}

#[test]
fn under_load_everybody_gets_their_own_and_the_bound_holds() {
    let one = template(KeyStructure::PerTenant);
    let templates = Templates::new(64);
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let (one, templates) = (&one, &templates);
            scope.spawn(move || {
                for round in 0..2000 {
                    // Half of the subjects are this thread's, half are shared.
                    let subject = if round % 2 == 0 { 100 * thread + round % 40 } else { 1000 + round % 40 };
                    let wanted = named(one, subject, round);
                    match round % 5 {
                        0 | 1 => templates.insert(wanted.clone()),
                        2 => templates.remove(&TENANT, &wanted.handle),
                        _ => {}
                    }
                    let held = templates.get(&TENANT, &wanted.handle);
                    assert!(held.is_none_or(|held| held.handle == wanted.handle));
                    assert!(templates.held() <= 64 + 4);
                }
            });
        }
    });
    let held = templates.held();
    assert!(held <= 64);
    assert_eq!(used(&templates), [0, held]);
}
