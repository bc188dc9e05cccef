//! Models of several widths: a batch has one, a template stays of its own, and a policy may have two while people are enrolled anew.

use super::codec::TEMPLATE_WIDTH;
use super::malformed::{C0, head, model_at, put};
use super::three::{Three, job_of, seat_enrolment};
use super::*;
use trefoil_matching::quorum::Seat;
use trefoil_matching::{Blind, Context, ForKeyHolder, JobError, MatchError, SealedTemplate, blind};
use trefoil_split::{Split, split_template};

const OLD: Model = MODEL;
const NEW: Model = model_of(Width::W512);
const OLD_THRESHOLD: i32 = 12_000;
const NEW_THRESHOLD: i32 = 9_000;

/// As wide as the new one, and of nobody.
fn unknown_model() -> Model {
    let mut bytes = *NEW.as_bytes();
    bytes[0] ^= 1;
    Model::from_bytes(bytes).expect("a width")
}

fn both_models() -> DecisionPolicy {
    DecisionPolicy { model: NEW, previous: Some((OLD, OLD_THRESHOLD)), ..policy(NEW_THRESHOLD) }
}

/// A tenant that has changed its model, with a person of the old one in lane 1 and one of the new one in lane 2.
struct Changed {
    world: World,
    old: (Template, Embedding),
    new: (Template, Embedding),
}

impl Changed {
    fn new(mode: Mode) -> Changed {
        let mut world = World::with_keys(mode.keys(), policy(OLD_THRESHOLD));
        let face = world.face();
        let old = (world.enrol(1, 1, &face), face);
        world.set_policy(both_models());
        let face = world.face();
        let new = (world.enrol(2, 2, &face), face);
        Changed { world, old, new }
    }

    /// A job of one of the two, under its own model's threshold.
    fn job(&mut self, mode: Mode, is_old: bool) -> MatchJob {
        let (template, face) = if is_old { self.old.clone() } else { self.new.clone() };
        self.world.threshold = if is_old { OLD_THRESHOLD } else { NEW_THRESHOLD };
        self.world.job_in(mode, &[(&template, &face)])
    }

    #[track_caller]
    fn refuses(&self, job: &MatchJob, as_what: impl Fn(&KeyHolderError) -> bool) {
        let before = self.attempts();
        let refused = self.world.key_holder.decide(job, NOW).expect_err("refused");
        assert!(as_what(&refused), "{refused:?}");
        assert_eq!(self.attempts(), before, "and nobody is charged");
        assert_eq!(self.world.key_holder.status().malformed_jobs(), 0);
    }

    fn attempts(&self) -> [AttemptRecord; 2] {
        [1, 2].map(|name| self.world.attempts_of(name))
    }
}

fn is_unknown(lane: u8) -> impl Fn(&KeyHolderError) -> bool {
    move |refused| matches!(refused, KeyHolderError::UnknownSubjects(lanes) if lanes.bits() == 1 << lane)
}

fn is_model(refused: &KeyHolderError) -> bool {
    matches!(refused, KeyHolderError::Model)
}

#[test]
fn each_of_two_models_has_its_threshold_until_the_previous_one_is_dropped() {
    for mode in Mode::ALL {
        let mut changed = Changed::new(mode);
        for restarted in [false, true] {
            if restarted {
                changed.world.restart();
            }
            for (is_old, lane) in [(true, 1), (false, 2)] {
                let job = changed.job(mode, is_old);
                assert_eq!(
                    changed.world.key_holder.decide(&job, NOW).expect("honest").lanes().bits(),
                    1 << lane
                );
                // Not under the threshold of the other.
                let own = job.threshold;
                let mut other = job;
                other.threshold = OLD_THRESHOLD + NEW_THRESHOLD - own;
                let is_own = |refused: &KeyHolderError| matches!(refused, KeyHolderError::OtherThreshold(of) if *of == own);
                changed.refuses(&other, is_own);
            }
        }
        // A face between the two thresholds is let in by the new model only.
        for (is_old, of) in [(true, changed.old.clone()), (false, changed.new.clone())] {
            let middle = (0..).map(|_| disturbed(&mut changed.world.rng, &of.1, 120.0));
            let middle = { middle }.find(|face| (NEW_THRESHOLD..OLD_THRESHOLD).contains(&face.dot(&of.1)));
            changed.world.threshold = if is_old { OLD_THRESHOLD } else { NEW_THRESHOLD };
            let job = changed.world.job_in(mode, &[(&of.0, &middle.expect("there are such faces"))]);
            let decided = changed.world.key_holder.decide(&job, NOW).expect("honest");
            assert_eq!(decided.lanes().is_empty(), is_old);
        }
        let [old, new] = [true, false].map(|is_old| changed.job(mode, is_old));
        changed.world.set_policy(DecisionPolicy { previous: None, ..both_models() });
        changed.refuses(&old, is_model);
        assert_eq!(changed.world.key_holder.decide(&new, NOW).expect("honest").lanes().bits(), 1 << 2);
        if mode == Mode::Shared {
            let (template, face) = changed.old.clone();
            let probe = changed.world.device(&template, &face, b"late");
            let refused = changed.world.job(&[(&template, &probe)]);
            assert!(matches!(refused, Err(KeyHolderError::Model)), "nor is a probe encrypted");
        }
        changed.world.set_policy(both_models());
        assert_eq!(changed.world.key_holder.decide(&old, NOW).expect("honest").lanes().bits(), 1 << 1);
    }
}

#[test]
fn attempts_that_a_spent_budget_refuses_are_counted_by_model() {
    let mut changed = Changed::new(Mode::Plain);
    let attempts = AttemptPolicy { attempts_per_day: 1, ..AttemptPolicy::UNLIMITED };
    changed.world.set_policy(DecisionPolicy { attempts, ..both_models() });
    for is_old in [true, false, true, true, false] {
        let job = changed.job(Mode::Plain, is_old);
        let _ = changed.world.key_holder.decide(&job, NOW);
    }
    let status = changed.world.key_holder.status();
    assert_eq!((status.trips, status.trips_of_previous), (vec![(TENANT, 3)], vec![(TENANT, 2)]));
}

/// Claim I7.
#[test]
fn a_batch_of_two_models_is_not_masked() {
    let mut changed = Changed::new(Mode::Plain);
    let (old, new) = (changed.old.clone(), changed.new.clone());
    let mut refusal = |lanes: &[(&Template, &Embedding)]| {
        let World { matcher, key, .. } = &mut changed.world;
        matcher.mask(BatchId::new([5; 16]), TENANT, 0, key, lanes).expect_err("refused")
    };
    assert_eq!(refusal(&[(&old.0, &old.1), (&new.0, &new.1)]), MatchError::ForeignModel(lane_of(2)));
    assert_eq!(refusal(&[(&new.0, &new.1), (&old.0, &old.1)]), MatchError::ForeignModel(lane_of(1)));
    assert_eq!(refusal(&[(&old.0, &new.1)]), MatchError::ForeignModel(lane_of(1)), "a probe of the other");
    let mut renamed = new.0.clone();
    (renamed.model, renamed.lane) = (unknown_model(), lane_of(3));
    assert_eq!(refusal(&[(&new.0, &new.1), (&renamed, &new.1)]), MatchError::ForeignModel(lane_of(3)));

    // Either share of a probe.
    let mut changed = Changed::new(Mode::Shared);
    let (old, new) = (changed.old.clone(), changed.new.clone());
    let [narrow, wide] = [&old, &new].map(|(_, face)| changed.world.device(&new.0, face, b"nonce"));
    let open = SharedProbe { share: narrow.share.clone(), ..wide.clone() };
    let sealed = SharedProbe { sealed: narrow.sealed.clone(), ..wide.clone() };
    for probe in [narrow, open, sealed] {
        let World { matcher, key, .. } = &changed.world;
        let refused = matcher.gather(BatchId::new([5; 16]), TENANT, key, &[(&new.0, &probe)]).err();
        assert_eq!(refused, Some(MatchError::ForeignModel(lane_of(2))));
    }
}

/// Claim I8.
///
/// Whatever a gateway says of somebody's model: the key-holder has what they were enrolled with.
#[test]
fn a_template_of_another_model_is_nobody_and_costs_nothing() {
    for mode in Mode::ALL {
        let mut changed = Changed::new(mode);
        for is_old in [true, false] {
            let honest = changed.job(mode, is_old);
            let (lane, other) = if is_old { (1, (handle(2), 0)) } else { (2, (handle(1), 0)) };
            let mut forged = honest.clone();
            forged.subjects[usize::from(lane)] = Some(other);
            changed.refuses(&forged, is_unknown(lane));
            let mut forged = honest.clone();
            forged.model = unknown_model();
            // It is as wide as the new one. A job of the old one does not have the ciphertexts of such lanes.
            changed.refuses(&forged, |refused| {
                if is_old { *refused == KeyHolderError::Subjects } else { is_model(refused) }
            });

            // The other model's width and threshold in the bytes: with one lane the lengths fit.
            let model = if is_old { NEW } else { OLD };
            let mut bytes = honest.to_bytes();
            let at = model_at(&bytes);
            bytes[at..at + Model::BYTES].copy_from_slice(model.as_bytes());
            let threshold = if is_old { NEW_THRESHOLD } else { OLD_THRESHOLD };
            bytes[at + Model::BYTES..][..4].copy_from_slice(&threshold.to_le_bytes());
            if is_old {
                assert!(
                    matches!(MatchJob::from_bytes(&bytes), Err(JobError::Ciphertext(_))),
                    "24 coefficients too many"
                );
                let c0 = head(&bytes);
                (0..C0 / 6).filter(|k| k % 32 >= 8).for_each(|k| put(&mut bytes, c0 + 6 * k, 0));
            }
            let forged = MatchJob::from_bytes(&bytes).expect("canonical");
            changed.refuses(&forged, is_unknown(lane));

            // A stored template whose width was changed.
            let (template, _) = if is_old { &changed.old } else { &changed.new };
            let mut bytes = template.to_bytes();
            bytes[TEMPLATE_WIDTH] = if is_old { 4 } else { 1 };
            let altered = Template::from_bytes(&bytes).expect("canonical");
            let face = random_face(&mut changed.world.rng, model.width());
            if mode == Mode::Plain {
                changed.world.threshold = threshold;
                let job = changed.world.mask(&[(&altered, &face)]);
                changed.refuses(&job, is_unknown(lane));
            } else {
                let probe = changed.world.device(&altered, &face, b"altered");
                let refused = changed.world.job(&[(&altered, &probe)]).expect_err("refused");
                assert!(is_unknown(lane)(&refused), "{refused:?}");
            }
        }
    }
}

#[test]
fn three_key_holders_refuse_another_model_each() {
    let mut three = Three::new(wide(Width::W512, policy(15_000)), 1);
    let face = three.people[0].2.clone();
    let job = three.login(1, 0, &face);
    for (seat, previous) in Seat::ALL.into_iter().zip([None, Some((unknown_model(), 0)), Some((NEW, 15_000))])
    {
        let holder = &three.holders[seat.index()];
        holder.set_policy(TENANT, DecisionPolicy { previous, ..policy(15_000) }).expect("possible");
        let begun = holder.begin(&job_of(seat, &job), NOW);
        assert_eq!(
            begun.as_ref().err(),
            previous.is_none_or(|(of, _)| of != NEW).then_some(&KeyHolderError::Model)
        );
        assert_eq!(holder.key_holder().status().attempts, u64::from(begun.is_ok()));
    }
    // Nor do they enrol it, nor a share of another width.
    let (narrow, _) = split(&random_face(&mut three.rng, OLD.width()), &mut three.rng);
    for (model, generation) in [(NEW, 1), (unknown_model(), 2), (OLD, 3)] {
        let name = named(0, generation);
        let contributions = [three.holders[0].contribute(name, NOW).unwrap(), [2; 32], [3; 32]];
        let enrolled =
            three.holders[0].enrol(&seat_enrolment(name, lane_of(0), model, &narrow, contributions));
        assert_eq!(enrolled.err(), (model != OLD).then_some(KeyHolderError::Model), "{model:?}");
    }
}

#[test]
fn a_share_is_enrolled_for_its_own_width_and_one_of_the_tenants_models() {
    for mode in Mode::ALL {
        let mut changed = Changed::new(mode);
        let world = &mut changed.world;
        let face = random_face(&mut world.rng, NEW.width());
        let context = Context::template(&TENANT, &handle(3), b"key", NOW);
        let vector: Vec<f32> = face.values().iter().map(|x| f32::from(*x)).collect();
        let sealing = world.key_holder.sealing_key();
        let Split { open, sealed } =
            split_template(&[vector], &sealing, &context, &mut world.rng).expect("a face");
        let sealed =
            ForKeyHolder::Sealed(SealedTemplate { sealed, idempotency_key: b"key".to_vec(), issued_at: NOW });
        let (own, blinded) =
            (Blind::from_bytes(&open.to_bytes()).expect("a share"), split(&face, &mut world.rng).0);
        let blinded = ForKeyHolder::from(blinded);
        for model in [OLD, unknown_model(), model_of(Width::W256)] {
            for share in [&sealed, &blinded] {
                let refused = world.key_holder.enrol(named(3, 0), lane_of(3), model, share, NOW);
                assert!(matches!(refused, Err(KeyHolderError::Model)), "{refused:?}");
            }
        }
        // Which did not use up what the device sealed.
        let enrolled = world.key_holder.enrol(named(3, 0), lane_of(3), NEW, &sealed, NOW).expect("its own");
        assert!(
            enrolled.is_of(&named(3, 0), lane_of(3), NEW) && !enrolled.is_of(&named(3, 0), lane_of(3), OLD)
        );
        let template = unblind(enrolled, own);
        let job = world.job_in(mode, &[(&template, &face)]);
        assert!(world.key_holder.decide(&job, NOW).expect("honest").accepted(lane_of(3)));
    }
}

/// A template is renewed as wide as it was enrolled, whatever a gateway makes of it, and also when its model is not the tenant's any more.
#[test]
fn a_renewal_keeps_the_model_that_was_enrolled() {
    for mode in Mode::ALL {
        let mut changed = Changed::new(mode);
        changed.world.key_holder.begin_rotation(TENANT).expect("known");
        changed.world.set_policy(DecisionPolicy { previous: None, ..both_models() });
        for (name, (template, face), other) in [(1, changed.old.clone(), NEW), (2, changed.new.clone(), OLD)]
        {
            let mut altered = template.clone();
            altered.model = other;
            let (blinded, _) = blind(&altered, &mut changed.world.rng);
            let refused = changed.world.key_holder.renew(named(name, 0), 1, &blinded);
            assert!(matches!(refused, Err(KeyHolderError::Malformed)), "{refused:?}");
            assert_eq!(changed.world.attempts_of(name).generation_failures, 1);
            let (blinded, share) = blind(&template, &mut changed.world.rng);
            let renewed = changed.world.key_holder.renew(named(name, 0), 1, &blinded).expect("honest");
            let renewed = unblind(renewed, share);
            assert_eq!((renewed.model, renewed.lane), (template.model, template.lane));
            changed.world.set_policy(both_models());
            changed.world.refetch();
            changed.world.threshold = if name == 1 { OLD_THRESHOLD } else { NEW_THRESHOLD };
            let job = changed.world.job_in(mode, &[(&renewed, &face)]);
            assert!(changed.world.key_holder.decide(&job, NOW).expect("honest").accepted(template.lane));
        }
    }
}

#[test]
fn a_model_is_its_name_and_its_dimension() {
    let model = |name, numbers| Model::of(name, numbers).expect("a width");
    assert_eq!(model("arcface", 512), model("arcface", 512));
    for other in [model("arcface2", 512), model("arcface", 511), model("arcface", 128)] {
        assert_ne!(model("arcface", 512), other);
    }
    for (numbers, width) in [(2, 128), (128, 128), (129, 256), (256, 256), (257, 512), (512, 512)] {
        let model = model("a", numbers);
        assert_eq!(model.width().numbers(), width);
        assert_eq!(Model::from_bytes(*model.as_bytes()), Some(model));
    }
    assert!([0, 1, 513, usize::MAX].into_iter().all(|numbers| Model::of("a", numbers).is_none()));
    for units in 0..=u8::MAX {
        assert_eq!(Model::from_bytes([7, 7, 7, 7, 7, 7, 7, 7, units]).is_some(), [1, 2, 4].contains(&units));
    }
}
