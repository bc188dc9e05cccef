//! Attempt budgets through decisions.

use super::*;
use trefoil_matching::{AttemptRecord, KeyHolderError, SubjectRecord, TenantRecord, Vault, VaultError};

const STRICT: DecisionPolicy = DecisionPolicy {
    threshold: 25_000,
    attempts: AttemptPolicy { consecutive: 3, delay_s: 30, per_day: 5, per_generation: 7 },
};

#[test]
fn a_spent_budget_answers_no_to_the_right_face_too_and_spares_the_neighbours() {
    let mut world = World::new(STRICT);
    let (face, wrong) = (world.face(), world.face());
    let (target, neighbour) = (world.enrol(1, 10, &face), world.enrol(2, 11, &face));
    let mut attempt = |probe: &Embedding, now| {
        let job = world.mask(&[(&target, probe), (&neighbour, &face)]);
        let decisions = world.keyholder.decide(&job, now).expect("honest");
        assert!(decisions.accepted(lane_of(11)));
        decisions.accepted(lane_of(10))
    };
    // A match in between ends the row of failures.
    assert!(!attempt(&wrong, NOW) && !attempt(&wrong, NOW) && attempt(&face, NOW));
    assert!(!attempt(&wrong, NOW) && !attempt(&wrong, NOW) && !attempt(&wrong, NOW));
    assert!(!attempt(&face, NOW) && !attempt(&face, NOW + 29), "the delay holds for the right face");
    // Five failures today: the delay is over, the day is spent.
    assert!(!attempt(&face, NOW + 30));
    let tomorrow = NOW + 86_400;
    assert!(attempt(&face, tomorrow));
    assert!(!attempt(&wrong, tomorrow) && !attempt(&wrong, tomorrow));
    // Seven failures of this generation: spent for good.
    assert!(!attempt(&face, tomorrow + 86_400));
}

#[test]
fn matches_cost_nothing() {
    let mut world = World::new(STRICT);
    let face = world.face();
    let template = world.enrol(1, 10, &face);
    for _ in 0..20 {
        let job = world.mask(&[(&template, &face)]);
        assert!(world.keyholder.decide(&job, NOW).expect("honest").accepted(lane_of(10)));
    }
}

#[test]
fn budgets_survive_a_restart() {
    let mut world = World::new(STRICT);
    let (face, wrong) = (world.face(), world.face());
    let template = world.enrol(1, 10, &face);
    for _ in 0..3 {
        let job = world.mask(&[(&template, &wrong)]);
        assert!(!world.keyholder.decide(&job, NOW).expect("honest").accepted(lane_of(10)));
    }
    world.keyholder = KeyHolder::new(Box::new(Arc::clone(&world.vault)), &mut world.rng).expect("readable");
    let job = world.mask(&[(&template, &face)]);
    assert!(!world.keyholder.decide(&job, NOW + 1).expect("honest").accepted(lane_of(10)));
    assert!(world.keyholder.decide(&job, NOW + 30).expect("honest").accepted(lane_of(10)));
    // The match is remembered as well: the row of failures has ended.
    world.keyholder = KeyHolder::new(Box::new(Arc::clone(&world.vault)), &mut world.rng).expect("readable");
    assert_eq!(world.vault.subjects(&TENANT).expect("readable")[0].attempts.consecutive, 0);
}

#[test]
fn attempts_at_the_same_time_share_one_budget() {
    let mut world = World::new(STRICT);
    let (face, wrong) = (world.face(), world.face());
    let template = world.enrol(1, 10, &face);
    let job = world.mask(&[(&template, &wrong)]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert!(world.keyholder.decide(&job, NOW).expect("honest").lanes().is_empty());
                }
            });
        }
    });
    // Of twenty attempts, three were allowed; the others were refused and cost nothing.
    let attempts = world.vault.subjects(&TENANT).expect("readable")[0].attempts;
    let expected = AttemptRecord {
        consecutive: 3,
        retry_at: NOW + 30,
        day: NOW / 86_400,
        day_failures: 3,
        generation_failures: 3,
    };
    assert_eq!(attempts, expected);
}

/// A vault that can write neither attempts nor a freeze.
struct FullDisk(MemoryVault);

impl Vault for FullDisk {
    fn tenants(&self) -> Result<Vec<TenantRecord>, VaultError> {
        self.0.tenants()
    }
    fn subjects(&self, tenant: &TenantId) -> Result<Vec<SubjectRecord>, VaultError> {
        self.0.subjects(tenant)
    }
    fn put_tenant(&self, record: &TenantRecord) -> Result<(), VaultError> {
        if record.frozen { Err(VaultError("disk full".into())) } else { self.0.put_tenant(record) }
    }
    fn put_subject(&self, tenant: &TenantId, record: &SubjectRecord) -> Result<(), VaultError> {
        self.0.put_subject(tenant, record)
    }
    fn erase_epoch(&self, _: &TenantId, _: u32) -> Result<(), VaultError> {
        Err(VaultError("disk full".into()))
    }
    fn opening_key(&self) -> Result<Option<zeroize::Zeroizing<Vec<u8>>>, VaultError> {
        self.0.opening_key()
    }
    fn put_opening_key(&self, key: &[u8]) -> Result<(), VaultError> {
        self.0.put_opening_key(key)
    }
    fn delete_subject(&self, _: &TenantId, _: &Handle, _: u32) -> Result<(), VaultError> {
        Err(VaultError("disk full".into()))
    }
    fn put_attempts(&self, _: &TenantId, _: &[(Handle, u32, AttemptRecord)]) -> Result<(), VaultError> {
        Err(VaultError("disk full".into()))
    }
}

/// A world on a full disk.
fn full_disk() -> World {
    let mut world = World::new(STRICT);
    world.keyholder =
        KeyHolder::new(Box::new(FullDisk(MemoryVault::default())), &mut world.rng).expect("empty");
    world.key = world.keyholder.create_tenant(TENANT, KeyStructure::PerSubject, STRICT).expect("new");
    world
}

#[test]
fn a_freeze_that_cannot_be_recorded_holds_all_the_same() {
    let mut world = full_disk();
    let face = world.face();
    let template = world.enrol(1, 10, &face);
    let job = world.mask(&[(&template, &face)]);
    let mut empty = job.clone();
    empty.subjects[10] = None;
    let outcomes = [(); 3].map(|()| world.keyholder.decide(&empty, NOW));
    assert!(matches!(outcomes[2], Err(KeyHolderError::Vault(_))), "{outcomes:?}");
    assert!(matches!(world.keyholder.decide(&job, NOW), Err(KeyHolderError::Frozen)));
}

#[test]
fn an_answer_whose_failures_cannot_be_recorded_is_not_given() {
    let mut world = full_disk();
    let (face, wrong) = (world.face(), world.face());
    let (matching, failing) = (world.enrol(1, 10, &face), world.enrol(2, 11, &face));
    let job = world.mask(&[(&matching, &face), (&failing, &wrong)]);
    assert!(matches!(world.keyholder.decide(&job, NOW), Err(KeyHolderError::Vault(_))));
    // Nothing to record: a batch of matches is answered.
    let job = world.mask(&[(&matching, &face)]);
    assert!(world.keyholder.decide(&job, NOW).expect("honest").accepted(lane_of(10)));
    // A shredding that is not durable is reported, and the subject is still there.
    assert!(matches!(world.keyholder.shred(TENANT, handle(1), 0), Err(KeyHolderError::Vault(_))));
    assert!(world.keyholder.decide(&job, NOW).expect("honest").accepted(lane_of(10)));
}
