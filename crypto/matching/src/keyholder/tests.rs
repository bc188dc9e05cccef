//! What only the inside shows: whether anything was decrypted.

use super::*;
use crate::{AttemptPolicy, Matcher, MemoryVault, Template, split, unblind};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use trefoil_bfv::Embedding;
use trefoil_kernels::Tier;

/// Scratch memory is made at the first decryption and kept.
#[test]
fn a_forged_descriptor_is_refused_before_there_is_memory_to_decrypt_in() {
    for keys in [KeyStructure::PerSubject, KeyStructure::PerTenant] {
        let mut rng = StdRng::seed_from_u64(1);
        let keyholder = KeyHolder::new(Box::new(MemoryVault::default()), &mut rng).expect("an empty vault");
        let attempts =
            AttemptPolicy { consecutive: u32::MAX, delay_s: 0, per_day: u32::MAX, per_generation: u32::MAX };
        let policy = DecisionPolicy { threshold: -32_768, attempts };
        let key = keyholder.create_tenant([7; 16], keys, policy).expect("new");
        keyholder.create_tenant([8; 16], keys, policy).expect("new");
        let face = Embedding::quantise(&[1.0; 128]).expect("a vector");
        let templates: Vec<Template> = (0..8)
            .map(|i| {
                let (blinded, blind) = split(&face, &mut rng);
                let lane = Lane::new(i).expect("below 32");
                let enrolled = keyholder.enrol([7; 16], [i; 32], 0, lane, &blinded.into());
                unblind(enrolled.expect("new"), blind)
            })
            .collect();
        let lanes: Vec<_> = templates.iter().map(|template| (template, &face)).collect();
        let mut matcher = Matcher::new(Tier::detected(), [9; 32]);
        let honest = matcher.mask([0; 16], [7; 16], &key, &lanes).expect("a valid batch");
        let made = || keyholder.decryptors.lock().expect(UNPOISONED).len();
        for round in 0..250u32 {
            let place = round as usize % 8;
            // A stale generation, another subject, another tenant, other keys; one template twice, and nobody at all.
            let [mut stale, mut other, mut foreign, mut later] = [(); 4].map(|()| honest.clone());
            stale.subjects[place] = Some(([place as u8; 32], 1 + round));
            other.subjects[place] = Some(([100; 32], 0));
            foreign.tenant = [8; 16];
            later.epoch = 1 + round;
            for forged in [stale, other, foreign, later] {
                let outcome = keyholder.decide(&forged, 0);
                assert!(matches!(outcome, Err(KeyHolderError::UnknownSubjects(_))), "{outcome:?}");
            }
            let [mut twice, mut nobody] = [(); 2].map(|()| honest.clone());
            twice.subjects[(place + 1) % 8] = twice.subjects[place];
            nobody.subjects = [None; LANES];
            for forged in [twice, nobody] {
                assert!(matches!(keyholder.decide(&forged, 0), Err(KeyHolderError::Malformed)));
            }
            keyholder.lift_freeze([7; 16]).expect("known");
        }
        assert_eq!(made(), 0, "nothing was decrypted");
        assert_eq!(keyholder.decide(&honest, 0).expect("honest").lanes().bits(), 0xff);
        assert_eq!(made(), 1, "and this is where it shows");
    }
}
