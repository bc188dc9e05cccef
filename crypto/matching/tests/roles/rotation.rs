//! New keys for a tenant, with the old ones deciding until the end.

use super::*;
use trefoil_matching::{BlindedCiphertext, KeyHolderError, SubjectRecord, Vault as _, blind};

const BOTH: [KeyStructure; 2] = [KeyStructure::PerSubject, KeyStructure::PerTenant];

impl World {
    /// Renews a template as generation `to`.
    fn renew(&mut self, template: &Template, to: u32) -> Result<Template, KeyHolderError> {
        let (blinded, share) = blind(template, &mut self.rng);
        let blinded = BlindedCiphertext::from_bytes(blinded.as_bytes()).expect("its own encoding");
        let name = TemplateName { tenant: TENANT, handle: template.handle, generation: template.generation };
        let encrypted = self.key_holder.renew(name, to, &blinded)?;
        Ok(unblind(encrypted, share))
    }

    fn accepts(
        &mut self,
        key: &PublicKey,
        template: &Template,
        face: &Embedding,
    ) -> Result<bool, KeyHolderError> {
        let key = std::mem::replace(&mut self.key, key.clone());
        let job = match self.key.structure() {
            KeyStructure::PerSubject => Ok(self.mask(&[(template, face)])),
            KeyStructure::PerTenant => {
                self.probes += 1;
                let probe = self.device(template, face, &self.probes.to_le_bytes());
                self.job(&[(template, &probe)])
            }
        };
        self.key = key;
        Ok(self.key_holder.decide(&job?, NOW)?.accepted(template.lane))
    }
}

#[test]
fn old_and_new_decide_until_the_end_and_then_the_old_keys_are_gone() {
    for (keys, width) in BOTH.into_iter().flat_map(|keys| ENDS.map(|width| (keys, width))) {
        let mut world = World::with_keys(keys, wide(width, lenient(18_000)));
        let (face, wrong) = (world.face(), world.face());
        let old = world.enrol(1, 7, &face);
        let old_key = world.key.clone();
        let stolen = world.vault.tenants().expect("readable").remove(0);
        let next = world.key_holder.begin_rotation(TENANT).expect("known");
        assert_eq!((next.epoch(), next.structure()), (1, keys));
        world.restart();
        let again = world.key_holder.begin_rotation(TENANT).expect("under way");
        assert_eq!(again.to_bytes(), next.to_bytes(), "one rotation at a time");
        let new = world.renew(&old, 1).expect("honest");
        assert_eq!((new.generation, new.epoch, new.lane), (1, 1, old.lane));
        // What a subject enrols now is under the next keys.
        let late = world.enrol(2, 8, &face);
        assert_eq!(late.epoch, 1);
        for restart in [false, true] {
            if restart {
                world.restart();
            }
            for (key, template) in [(&old_key, &old), (&next, &new), (&next, &late)] {
                assert!(world.accepts(key, template, &face).expect("known"));
                assert!(!world.accepts(key, template, &wrong).expect("known"));
            }
        }
        for _ in 0..2 {
            world.key_holder.finish_rotation(TENANT, 0).expect("once or twice");
        }
        assert!(matches!(world.key_holder.finish_rotation(TENANT, 1), Err(KeyHolderError::Rotation)));
        let gone = world.accepts(&old_key, &old, &face);
        assert!(matches!(gone, Err(KeyHolderError::UnknownSubjects(_))));
        assert!(world.accepts(&next, &new, &face).expect("known"));
        // The vault has neither the old master key nor a salt of its time.
        let kept = world.vault.tenants().expect("readable").remove(0);
        assert_eq!(kept.epochs.iter().map(|epoch| epoch.epoch).collect::<Vec<_>>(), [1]);
        assert!(kept.epochs[0].master != stolen.epochs[0].master);
        let subjects = world.vault.subjects(&TENANT).expect("readable");
        assert!(subjects.iter().all(|subject| subject.epoch == 1) && subjects.len() == 2);
        // Nor has the memory: the name of an old template is free.
        assert_eq!(world.enrol(1, 7, &face).epoch, 1);
        // The old master key opens nothing of now, even with the salts of now.
        let vault = MemoryVault::default();
        vault.put_tenant(&stolen).expect("memory");
        for subject in subjects {
            vault.put_subject(&TENANT, &SubjectRecord { epoch: 0, ..subject.clone() }).expect("memory");
        }
        world.key_holder = KeyHolder::new(Arc::new(vault), &mut world.rng, NOW).expect("readable");
        let mut disguised = new.clone();
        disguised.epoch = 0;
        let opened = world.accepts(&old_key, &disguised, &face);
        assert!(matches!(opened, Err(KeyHolderError::Malformed)), "{opened:?}");
    }
}

#[test]
fn a_renewal_may_come_again_and_a_late_one_takes_nothing_back() {
    let mut world = World::new(lenient(18_000));
    let face = world.face();
    let old = world.enrol(1, 7, &face);
    assert!(matches!(world.renew(&old, 1), Err(KeyHolderError::Rotation)), "none is under way");
    let next = world.key_holder.begin_rotation(TENANT).expect("known");
    let lost = world.renew(&old, 2).expect("honest");
    let kept = world.renew(&old, 4).expect("honest");
    for to in [0, 2, 3, 4] {
        assert!(matches!(world.renew(&old, to), Err(KeyHolderError::Rotation)), "{to}");
    }
    assert!(world.accepts(&next, &kept, &face).expect("known"));
    assert!(matches!(world.accepts(&next, &lost, &face), Err(KeyHolderError::UnknownSubjects(_))));
    assert!(matches!(world.renew(&kept, 9), Err(KeyHolderError::UnknownSubjects(_))), "it is renewed");
    let stored = world.vault.subjects(&TENANT).expect("readable").into_iter();
    let mut stored: Vec<u32> = stored.map(|subject| subject.generation).collect();
    stored.sort_unstable();
    assert_eq!(stored, [0, 4], "what was replaced is forgotten on disk too");
    // Nor does a renewal take the place of a template that was enrolled meanwhile.
    let (blinded, _) = split(&face, &mut world.rng);
    world.key_holder.enrol(named(1, 6), lane_of(7), MODEL, &blinded.into(), NOW).expect("new");
    assert!(matches!(world.renew(&old, 6), Err(KeyHolderError::Rotation)));
    // Deleting a template deletes what it became.
    world.key_holder.shred(named(1, 0)).expect("there");
    assert!(matches!(world.accepts(&next, &kept, &face), Err(KeyHolderError::UnknownSubjects(_))));
}

#[test]
fn both_generations_spend_one_budget() {
    let mut world = World::new(policy(18_000));
    let (face, wrong) = (world.face(), world.face());
    let old = world.enrol(1, 7, &face);
    let old_key = world.key.clone();
    assert!(!world.accepts(&old_key, &old, &wrong).expect("known"));
    let next = world.key_holder.begin_rotation(TENANT).expect("known");
    let new = world.renew(&old, 1).expect("honest");
    assert!(!world.accepts(&next, &new, &wrong).expect("known"));
    assert!(!world.accepts(&old_key, &old, &wrong).expect("known"));
    world.restart();
    let newer = world.renew(&old, 2).expect("honest");
    for _ in 0..2 {
        assert!(!world.accepts(&old_key, &old, &wrong).expect("known"));
    }
    let spent = |outcome: Result<bool, KeyHolderError>| matches!(outcome, Err(KeyHolderError::NoAttempts(_)));
    assert!(spent(world.accepts(&next, &newer, &face)), "five failures in a row");
    assert!(spent(world.accepts(&old_key, &old, &face)));
    world.key_holder.finish_rotation(TENANT, 0).expect("there");
    assert!(spent(world.accepts(&next, &newer, &face)), "they are not forgotten");
    world.restart();
    assert!(spent(world.accepts(&next, &newer, &face)));
}

#[test]
fn what_is_no_blinded_template_is_malformed_and_freezes_the_key() {
    for (keys, width) in BOTH.into_iter().flat_map(|keys| ENDS.map(|width| (keys, width))) {
        let mut world = World::with_keys(keys, wide(width, policy(18_000)));
        let face = world.face();
        let (old, other) = (world.enrol(1, 7, &face), world.enrol(2, 8, &face));
        world.key_holder.begin_rotation(TENANT).expect("known");
        let (foreign, _) = blind(&other, &mut world.rng);
        for _ in 0..3 {
            let refused = world.key_holder.renew(named(1, 0), 1, &foreign);
            assert!(matches!(refused, Err(KeyHolderError::Malformed)));
        }
        assert!(matches!(world.renew(&old, 1), Err(KeyHolderError::Frozen)));
        world.key_holder.forgive_malformed(TENANT).expect("known");
        world.renew(&old, 1).expect("honest");
    }
}

/// Claim M22: A renewal is charged like an attempt, and a malformed one like a failure.
#[test]
fn a_renewal_is_an_attempt_of_its_template_and_a_malformed_one_a_failure() {
    let budget = |failures, attempts| {
        let attempts = AttemptPolicy {
            failures_per_generation: failures,
            attempts_per_generation: attempts,
            ..lenient(18_000).attempts
        };
        DecisionPolicy { attempts, ..lenient(18_000) }
    };
    let mut world = World::new(budget(2, 1_000));
    let face = world.face();
    let (old, other) = (world.enrol(1, 7, &face), world.enrol(2, 8, &face));
    world.key_holder.begin_rotation(TENANT).expect("known");
    for to in 1..6 {
        world.renew(&old, to).expect("an honest one keeps no failure");
        world.restart();
    }
    let (foreign, _) = blind(&other, &mut world.rng);
    for to in 6..8 {
        let refused = world.key_holder.renew(named(1, 0), to, &foreign);
        assert!(matches!(refused, Err(KeyHolderError::Malformed)), "{refused:?}");
        world.restart();
    }
    let spent = |outcome: Result<_, KeyHolderError>| matches!(outcome, Err(KeyHolderError::NoAttempts(_)));
    assert!(spent(world.key_holder.renew(named(1, 0), 8, &foreign).map(drop)), "refused before it is opened");
    assert!(spent(world.renew(&old, 8).map(drop)));
    world.renew(&other, 1).expect("the ledger of another template");

    let mut world = World::new(budget(100, 3));
    let face = world.face();
    let old = world.enrol(1, 7, &face);
    world.key_holder.begin_rotation(TENANT).expect("known");
    for to in 1..4 {
        world.renew(&old, to).expect("three attempts");
    }
    assert!(spent(world.renew(&old, 4).map(drop)));
}

/// A rotation in whose middle the key-holder is restarted.
struct Midway {
    world: World,
    face: Embedding,
    wrong: Embedding,
    old_key: PublicKey,
    next: PublicKey,
    old: Template,
}

/// Failures in a row after which an attempt is refused.
const ROW: u32 = 5;

impl Midway {
    fn new() -> Midway {
        let mut world = World::new(policy(18_000));
        let (face, wrong) = (world.face(), world.face());
        let old = world.enrol(1, 7, &face);
        let old_key = world.key.clone();
        let next = world.key_holder.begin_rotation(TENANT).expect("known");
        Midway { world, face, wrong, old_key, next, old }
    }

    /// Enrols another generation of the subject, under the keys of now.
    fn enrol(&mut self, generation: u32) -> Template {
        let (blinded, blind) = split(&self.face, &mut self.world.rng);
        let (lane, blinded) = (self.old.lane, blinded.into());
        let name = TemplateName { tenant: TENANT, handle: self.old.handle, generation };
        let enrolled = self.world.key_holder.enrol(name, lane, MODEL, &blinded, NOW);
        unblind(enrolled.expect("a new generation"), blind)
    }

    fn attempt(&mut self, template: &Template, face: &Embedding) -> Result<bool, KeyHolderError> {
        let key = if template.epoch == 0 { &self.old_key } else { &self.next };
        self.world.accepts(key, template, face)
    }

    fn fail(&mut self, template: &Template, times: u32) {
        let wrong = self.wrong.clone();
        for _ in 0..times {
            assert!(!self.attempt(template, &wrong).expect("known"));
        }
    }

    /// Whether the right face is accepted, which it is not without an attempt left; nothing if the template is unknown.
    fn accepted(&mut self, template: &Template) -> Option<bool> {
        match self.attempt(template, &self.face.clone()) {
            Err(KeyHolderError::UnknownSubjects(_)) => None,
            Err(KeyHolderError::NoAttempts(_)) => Some(false),
            answer => Some(answer.expect("known")),
        }
    }

    fn shred(&mut self, template: &Template) {
        let Template { handle, generation, .. } = *template;
        self.world.key_holder.shred(TemplateName { tenant: TENANT, handle, generation }).expect("memory");
    }
}

#[test]
fn a_restart_in_mid_rotation_keeps_what_was_renewed_together() {
    for shredded in [0, 1] {
        let mut midway = Midway::new();
        let old = midway.old.clone();
        let renewed = midway.world.renew(&old, 1).expect("honest");
        midway.fail(&old, 1);
        midway.world.restart();
        midway.fail(&old, ROW - 2);
        midway.fail(&renewed, 1);
        assert_eq!((midway.accepted(&old), midway.accepted(&renewed)), (Some(false), Some(false)));
        // Whichever of the two is named.
        midway.shred([&old, &renewed][shredded]);
        assert_eq!((midway.accepted(&old), midway.accepted(&renewed)), (None, None));
        assert!(midway.world.vault.subjects(&TENANT).expect("readable").is_empty());
    }
}

/// Claim M23: A restart of a key-holder during a key rotation links a template only to its own renewal.
#[test]
fn a_restart_in_mid_rotation_tells_what_was_renewed_from_what_was_enrolled_anew() {
    // Whichever is the later generation.
    for (to, other) in [(1, 2), (2, 1), (3, 9), (9, 3)] {
        let mut midway = Midway::new();
        let old = midway.old.clone();
        let renewed = midway.world.renew(&old, to).expect("honest");
        let anew = midway.enrol(other);
        midway.world.restart();
        midway.fail(&old, ROW);
        let answers = [&old, &renewed, &anew].map(|template| midway.accepted(template));
        assert_eq!(answers, [Some(false), Some(false), Some(true)], "{to} {other}");
        midway.shred(&old);
        let answers = [&old, &renewed, &anew].map(|template| midway.accepted(template));
        assert_eq!(answers, [None, None, Some(true)], "{to} {other}");
    }
}

#[test]
fn a_name_that_is_free_again_has_nothing_to_do_with_what_was_made_of_it_before() {
    let mut midway = Midway::new();
    let old = midway.old.clone();
    let renewed = midway.world.renew(&old, 1).expect("honest");
    midway.world.key_holder.finish_rotation(TENANT, 0).expect("there");
    // Under the keys of now, as generation 1 is: neither is what the other was made of, now or in the next rotation.
    let again = midway.enrol(0);
    midway.next = midway.world.key_holder.public_keys(TENANT).expect("known").remove(0);
    for _ in 0..2 {
        midway.world.restart();
        midway.fail(&again, 1);
        assert_eq!((midway.accepted(&again), midway.accepted(&renewed)), (Some(true), Some(true)));
        midway.world.key_holder.begin_rotation(TENANT).expect("known");
    }
    midway.world.renew(&again, 2).expect("honest");
    midway.world.restart();
    midway.shred(&again);
    assert_eq!((midway.accepted(&again), midway.accepted(&renewed)), (None, Some(true)));
}

#[test]
fn a_shredding_that_was_cut_short_ties_a_renewed_template_to_nothing_else() {
    let mut midway = Midway::new();
    let old = midway.old.clone();
    let renewed = midway.world.renew(&old, 1).expect("honest");
    // The process ends after the first of the two forms.
    midway.world.vault.delete_subject(&TENANT, &old.handle, old.generation).expect("memory");
    midway.world.restart();
    let again = midway.enrol(old.generation);
    midway.world.restart();
    midway.fail(&again, ROW);
    assert_eq!((midway.accepted(&again), midway.accepted(&renewed)), (Some(false), Some(true)));
    midway.shred(&renewed);
    assert_eq!((midway.accepted(&again), midway.accepted(&renewed)), (Some(false), None));
}
