//! Checks that need internals: whether anything was decrypted.

use super::*;
use crate::{
    AttemptPolicy, DecisionPolicy, KeyStructure, Matcher, MemoryVault, Model, Template, TemplateName, split,
    unblind,
};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use trefoil_bfv::Embedding;
use trefoil_kernels::Tier;
use trefoil_types::{BatchId, Handle};

const NOW: u64 = 1_800_000_000;
const MODEL: Model = Model::from_bytes([1; Model::BYTES]).expect("a width");
const TENANT: TenantId = TenantId::new([7; 16]);

/// A key-holder with eight people of one tenant, and an honest job of theirs.
fn eight() -> (KeyHolder, MatchJob) {
    let mut rng = StdRng::seed_from_u64(1);
    let key_holder = KeyHolder::new(Arc::<MemoryVault>::default(), &mut rng, NOW).expect("an empty vault");
    let policy = DecisionPolicy::new(MODEL, -32_768, AttemptPolicy::default());
    let key = key_holder.create_tenant(TENANT, KeyStructure::PerSubject, policy).expect("new");
    key_holder.create_tenant(TenantId::new([8; 16]), KeyStructure::PerSubject, policy).expect("new");
    let face = Embedding::quantise(&[1.0; 128]).expect("a vector");
    let templates: Vec<Template> = (0..8)
        .map(|i| {
            let (blinded, blind) = split(&face, &mut rng);
            let name = TemplateName { tenant: TENANT, handle: Handle::new([i; 32]), generation: 0 };
            let lane = Lane::new(i).expect("below 32");
            unblind(key_holder.enrol(name, lane, MODEL, &blinded.into(), NOW).expect("new"), blind)
        })
        .collect();
    let lanes: Vec<_> = templates.iter().map(|template| (template, &face)).collect();
    let mut matcher = Matcher::new(Tier::detected(), Box::new(|fresh| *fresh = [9; 32]));
    let job =
        matcher.mask(BatchId::new([0; 16]), TENANT, policy.threshold, &key, &lanes).expect("a valid batch");
    (key_holder, job)
}

/// Whether this thread has scratch memory, which is made at the first decryption and kept.
fn has_decrypted(key_holder: &KeyHolder) -> bool {
    key_holder.threads.has_scratch()
}

#[test]
fn a_forged_descriptor_is_refused_before_there_is_memory_to_decrypt_in() {
    let (key_holder, honest) = eight();
    for round in 0..250u32 {
        let place = round as usize % 8;
        // A stale generation, another subject, another tenant, other keys; one template twice, and nobody at all.
        let [mut stale, mut other, mut foreign, mut later] = [(); 4].map(|()| honest.clone());
        stale.subjects[place] = Some((Handle::new([place as u8; 32]), 1 + round));
        other.subjects[place] = Some((Handle::new([100; 32]), 0));
        foreign.tenant = TenantId::new([8; 16]);
        later.epoch = 1 + round;
        for forged in [stale, other, foreign, later] {
            let outcome = key_holder.decide(&forged, NOW);
            assert!(matches!(outcome, Err(KeyHolderError::UnknownSubjects(_))), "{outcome:?}");
        }
        let [mut twice, mut nobody] = [(); 2].map(|()| honest.clone());
        twice.subjects[(place + 1) % 8] = twice.subjects[place];
        nobody.subjects = [None; LANES];
        for forged in [twice, nobody] {
            assert!(matches!(key_holder.decide(&forged, NOW), Err(KeyHolderError::Subjects)));
        }
        let mut retagged = honest.clone();
        if let Masked::Plain(stamp, _) = &mut retagged.masked {
            stamp.version = 1 + round;
        }
        assert!(matches!(key_holder.decide(&retagged, NOW), Err(KeyHolderError::TagKey)));
    }
    assert!(!has_decrypted(&key_holder));
    assert_eq!(key_holder.status().attempts, 0);
    assert_eq!(key_holder.decide(&honest, NOW).expect("honest").lanes().bits(), 0xff);
    assert!(has_decrypted(&key_holder), "and this is where it shows");
}

#[test]
fn a_batch_with_a_lane_that_has_no_attempt_left_is_refused_before_anything_is_decrypted() {
    let (key_holder, honest) = eight();
    let none = AttemptPolicy { attempts_per_day: 0, ..AttemptPolicy::default() };
    key_holder.set_policy(TENANT, DecisionPolicy::new(MODEL, -32_768, none)).expect("known");
    let outcome = key_holder.decide(&honest, NOW);
    assert!(matches!(outcome, Err(KeyHolderError::NoAttempts(lanes)) if lanes.bits() == 0xff), "{outcome:?}");
    assert!(!has_decrypted(&key_holder));
}
