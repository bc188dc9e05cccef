//! What one lane, one batch or one tenant can do to another: nothing.

use super::*;
use trefoil_matching::{AttemptRecord, KeyHolderError, MatchError, ProbeJob, SealedProbe, Share, Vault as _};
use trefoil_testing::volume;
use trefoil_types::BatchId;

/// Batches in each mode, and changed lanes, at full volume.
const CHANGED_BATCHES: usize = 10_000;
const THRESHOLD: i32 = 10_000;

/// Random batches, ten thousand at full volume, each of which differs from the one before in one lane: there the subject shows their own face
/// or a stranger's. Of the other 31 every decision stays, and is that of the plain inner product.
#[test]
fn changing_one_lane_leaves_the_other_31_decisions_identical() {
    for (width, batches) in ENDS.into_iter().zip([CHANGED_BATCHES, CHANGED_BATCHES / 4]) {
        changing_one_lane(&mut World::new(wide(width, lenient(THRESHOLD))), volume(batches, 500));
    }
}

fn changing_one_lane(world: &mut World, batches: usize) {
    let faces: Vec<Embedding> = (0..32).map(|_| world.face()).collect();
    let templates: Vec<Template> = (0..32).map(|i| world.enrol(i, i, &faces[usize::from(i)])).collect();
    let strangers: Vec<Embedding> = (0..16).map(|_| world.face()).collect();
    let draw = |world: &mut World, lane: usize| {
        let drawn = world.rng.next_u32() as usize;
        if drawn.is_multiple_of(2) { &faces[lane] } else { &strangers[drawn / 2 % 16] }
    };
    let mut shown: Vec<&Embedding> = (0..32).map(|lane| draw(world, lane)).collect();
    let mut before = None;
    let mut accepted = 0;
    for _ in 0..batches {
        let lane = world.rng.next_u32() as usize % 32;
        shown[lane] = draw(world, lane);
        let lanes: Vec<_> = templates.iter().zip(shown.iter().copied()).collect();
        let job = world.mask(&lanes);
        let after = world.key_holder.decide(&job, NOW).expect("an honest job").lanes().bits();
        let others = !(1 << lane);
        assert_eq!(after & others, before.unwrap_or(after) & others, "lane {lane} changed another");
        let expected = faces[lane].dot(shown[lane]) >= THRESHOLD;
        assert_eq!(after >> lane & 1 == 1, expected, "lane {lane}");
        before = Some(after);
        accepted += after.count_ones() as usize;
    }
    assert!((8..24).contains(&(accepted / batches)), "both answers occur: {accepted}");
}

/// The same with shared probes. The lane that changes has its own share or any residues at all, which is what a hostile device
/// can send; from time to time all devices split anew.
#[test]
fn changing_one_lane_leaves_the_other_31_identical_with_shared_probes() {
    for (width, batches) in ENDS.into_iter().zip([CHANGED_BATCHES, CHANGED_BATCHES / 4]) {
        let world = &mut World::with_keys(KeyStructure::PerTenant, wide(width, lenient(THRESHOLD)));
        changing_one_lane_of_shared_probes(world, volume(batches, 500));
    }
}

fn changing_one_lane_of_shared_probes(world: &mut World, batches: usize) {
    let faces: Vec<Embedding> = (0..32).map(|_| world.face()).collect();
    let templates: Vec<Template> = (0..32).map(|i| world.enrol(i, i, &faces[usize::from(i)])).collect();
    for round in 0..10u8 {
        let honest: Vec<SharedProbe> =
            (0..32).map(|lane| world.device(&templates[lane], &faces[lane], &[round])).collect();
        let mut probes = honest.clone();
        let lanes: Vec<_> = templates.iter().zip(&honest).collect();
        let sealed =
            world.matcher.gather(BatchId::new([5; 16]), TENANT, &world.key, &lanes).expect("a valid batch");
        let encrypted = world.key_holder.encrypt_probes(&sealed, NOW).expect("sealed for it");
        let mut before = u32::MAX;
        for _ in 0..batches / 10 {
            let drawn = world.rng.next_u32() as usize;
            let (lane, own) = (drawn % 32, (drawn / 32).is_multiple_of(2));
            probes[lane].share = if own {
                honest[lane].share.clone()
            } else {
                Share::random(world.model.width(), &mut world.rng)
            };
            let lanes: Vec<_> = templates.iter().zip(&probes).collect();
            let job = world.matcher.mask_shared(
                BatchId::new([5; 16]),
                TENANT,
                THRESHOLD,
                &world.key,
                &lanes,
                &encrypted,
            );
            let job = job.expect("a valid batch");
            let after = world.key_holder.decide(&job, NOW).expect("an honest job").lanes().bits();
            let others = !(1 << lane);
            assert_eq!(after & others, before & others, "lane {lane} changed another");
            assert!(!own || after >> lane & 1 == 1, "lane {lane} shows its own face");
            before = after;
        }
    }
}

/// A tenant with people in lanes 0 to 7, one more in lane 3, and a template of another tenant.
struct Forger {
    mode: Mode,
    world: World,
    face: Embedding,
    templates: Vec<Template>,
    same_lane: Template,
    foreign: Template,
}

const STRANGER: TenantId = TenantId::new([8; 16]);

impl Forger {
    fn new(mode: Mode) -> Forger {
        let mut world = World::with_keys(mode.keys(), policy(-32_768));
        world.key_holder.create_tenant(STRANGER, mode.keys(), policy(-32_768)).expect("a new tenant");
        let face = world.face();
        let templates: Vec<Template> = (0..8).map(|i| world.enrol(i, i, &face)).collect();
        let same_lane = world.enrol(100, 3, &face);
        let (blinded, blind) = split(&face, &mut world.rng);
        let encrypted = world
            .key_holder
            .enrol(TemplateName { tenant: STRANGER, ..named(1, 0) }, lane_of(20), MODEL, &blinded.into(), NOW)
            .expect("new");
        Forger { mode, foreign: unblind(encrypted, blind), world, face, templates, same_lane }
    }

    fn honest(&mut self) -> MatchJob {
        let lanes: Vec<_> = self.templates.iter().map(|template| (template, &self.face)).collect();
        self.world.job_in(self.mode, &lanes)
    }

    /// The sealed shares of an honest batch; with keys per subject there are none.
    fn honest_probes(&mut self) -> Option<ProbeJob> {
        let probe = self.probe()?;
        let lanes: Vec<_> = self.templates.iter().map(|template| (template, &probe)).collect();
        let World { matcher, key, .. } = &self.world;
        Some(matcher.gather(BatchId::new([5; 16]), TENANT, key, &lanes).expect("a valid batch"))
    }

    fn probe(&mut self) -> Option<SharedProbe> {
        let shared = self.mode == Mode::Shared;
        shared.then(|| self.world.device(&self.templates[0], &self.face, b"n"))
    }

    /// The matcher refuses an honest batch with this template added.
    fn matcher_refuses(&mut self, probe: Option<&SharedProbe>, round: usize, extra: &Template) -> MatchError {
        let mut templates: Vec<&Template> = self.templates[round % 4..].iter().collect();
        templates.insert(round % (templates.len() + 1), extra);
        let World { matcher, key, .. } = &mut self.world;
        let refused = match probe {
            None => {
                let lanes: Vec<_> = templates.iter().map(|template| (*template, &self.face)).collect();
                matcher.mask(BatchId::new([5; 16]), TENANT, 0, key, &lanes).err()
            }
            Some(probe) => {
                let lanes: Vec<_> = templates.iter().map(|template| (*template, probe)).collect();
                matcher.gather(BatchId::new([5; 16]), TENANT, key, &lanes).err()
            }
        };
        refused.expect("refused")
    }
}

/// The key-holder says that these lanes of a forged batch are unknown.
fn unknown<T>(outcome: Result<T, KeyHolderError>, lanes: u32) {
    match outcome.err() {
        Some(KeyHolderError::UnknownSubjects(named)) => assert_eq!(named.bits(), lanes),
        other => panic!("expected unknown subjects, got {other:?}"),
    }
}

/// Claim I8: A forged descriptor is refused before any computation.
///
/// A thousand batches in each mode that name a template where it may not be: of another tenant, in a lane that is taken, under
/// another key, of a generation that is not enrolled, of another subject. Both roles refuse: the key-holder before it would
/// count an attempt, which it does before every decryption.
#[test]
fn forged_descriptors_are_refused_before_any_arithmetic() {
    for mode in Mode::ALL {
        let mut forger = Forger::new(mode);
        let (honest, probe, sealed) = (forger.honest(), forger.probe(), forger.honest_probes());
        let mut refused = 0;
        for round in 0..150usize {
            let place = 4 + round % 4;
            let mut later = forger.templates[place].clone();
            later.epoch = 1 + round as u32;
            for (extra, why) in [
                (forger.foreign.clone(), MatchError::ForeignTenant(lane_of(20))),
                (forger.same_lane.clone(), MatchError::DuplicateLane(lane_of(3))),
                (later, MatchError::ForeignKey(lane_of(place as u8))),
            ] {
                assert_eq!(forger.matcher_refuses(probe.as_ref(), round, &extra), why, "{mode:?}");
            }
            let key_holder = &forger.world.key_holder;
            let others = [(handle(place as u8), 1 + round as u32), (handle(100), 0)];
            for name in others {
                let mut forged = honest.clone();
                forged.subjects[place] = Some(name);
                unknown(key_holder.decide(&forged, NOW), 1 << place);
            }
            let mut foreign = honest.clone();
            foreign.tenant = STRANGER;
            let mut later = honest.clone();
            later.epoch = 9;
            [foreign, later].iter().for_each(|forged| unknown(key_holder.decide(forged, NOW), 0xff));
            refused += 7;
            let Some(sealed) = &sealed else { continue };
            for (handle, generation) in others {
                let mut forged = sealed.clone();
                let probe = forged.probes[place].take().expect("occupied");
                forged.probes[place] = Some(SealedProbe { handle, generation, ..probe });
                unknown(key_holder.encrypt_probes(&forged, NOW), 1 << place);
            }
            unknown(key_holder.encrypt_probes(&ProbeJob { tenant: STRANGER, ..sealed.clone() }, NOW), 0xff);
            refused += 3;
        }
        assert!(refused >= 1000, "{refused}");
        let untouched = AttemptRecord::default();
        let subjects = forger.world.vault.subjects(&TENANT).expect("readable");
        assert!(subjects.iter().all(|subject| subject.attempts == untouched));
    }
}
