//! Events between two steps of a renewal, or of a job.

use super::*;
use crate::{
    AttemptPolicy, KeyHolder, MatchJob, Matcher, MemoryVault, Template, TemplateName, Tier, Write, blind,
    split, unblind,
};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use std::sync::OnceLock;
use trefoil_bfv::Embedding;
use trefoil_types::BatchId;

const NOW: u64 = 1_800_000_000;
const MODEL: Model = Model::from_bytes([1; Model::BYTES]).expect("a width");
const ID: TenantId = TenantId::new([7; 16]);
const NAME: Name = (Handle::new([1; 32]), 0);

fn ledger_of(key_holder: &KeyHolder, name: Name) -> Option<Arc<Ledger>> {
    key_holder.tenants()[&ID].subjects.read(&name, |subject| Arc::clone(&subject.ledger))
}

/// Enrols generation 0 of a handle made of `name`, in the lane of that number.
fn enrol(key_holder: &KeyHolder, name: u8, rng: &mut StdRng) -> Template {
    let (blinded, share) = split(&face(), rng);
    let lane = Lane::new(name).expect("below 32");
    let name = TemplateName { tenant: ID, handle: Handle::new([name; 32]), generation: 0 };
    unblind(key_holder.enrol(name, lane, MODEL, &blinded.into(), NOW).expect("new"), share)
}

fn face() -> Embedding {
    Embedding::quantise(&[1.0; 128]).expect("a vector")
}

fn renewed(key_holder: &KeyHolder, template: &Template, rng: &mut StdRng) {
    let (blinded, _) = blind(template, rng);
    let Template { tenant, handle, generation, .. } = *template;
    key_holder.renew(TemplateName { tenant, handle, generation }, 1, &blinded).expect("honest");
}

#[test]
fn a_failure_that_is_counted_while_a_renewal_is_written_is_not_forgotten() {
    let mut rng = StdRng::seed_from_u64(1);
    let failing = Arc::<OnceLock<Arc<Ledger>>>::default();
    let fails = Arc::clone(&failing);
    let vault = Arc::new(MemoryVault::with(move |write| {
        if let (Write::Subject, Some(ledger)) = (write, fails.get()) {
            assert!(ledger.charge(&AttemptPolicy::default(), NOW));
        }
        Ok(())
    }));
    let key_holder = KeyHolder::new(Arc::clone(&vault), &mut rng, NOW).expect("an empty vault");
    let policy = DecisionPolicy::new(MODEL, 0, AttemptPolicy::default());
    key_holder.create_tenant(ID, KeyStructure::PerSubject, policy).expect("new");
    let template = enrol(&key_holder, 1, &mut rng);
    key_holder.begin_rotation(ID).expect("known");
    assert!(failing.set(ledger_of(&key_holder, NAME).expect("enrolled")).is_ok());
    renewed(&key_holder, &template, &mut rng);
    let newer = ledger_of(&key_holder, (NAME.0, 1)).expect("renewed").record();
    assert_eq!((newer.consecutive, newer.generation_failures), (1, 1));
    let stored = vault.subjects(&ID).expect("readable").into_iter().find(|record| record.generation == 1);
    assert_eq!(stored.map(|record| record.attempts.generation_failures), Some(1), "in the vault too");
}

/// A key-holder with two templates of a tenant, and a job with both.
struct Job {
    key_holder: KeyHolder,
    templates: [Template; 2],
    job: MatchJob,
    rng: StdRng,
}

impl Job {
    fn new() -> Job {
        let mut rng = StdRng::seed_from_u64(1);
        let key_holder =
            KeyHolder::new(Arc::<MemoryVault>::default(), &mut rng, NOW).expect("an empty vault");
        let policy = DecisionPolicy::new(MODEL, 0, AttemptPolicy::default());
        let key = key_holder.create_tenant(ID, KeyStructure::PerSubject, policy).expect("new");
        let templates = [1, 2].map(|name| enrol(&key_holder, name, &mut rng));
        let face = face();
        let lanes = templates.each_ref().map(|template| (template, &face));
        let mut matcher = Matcher::new(Tier::detected(), Box::new(|fresh| *fresh = [9; 32]));
        let job =
            matcher.mask(BatchId::new([5; 16]), ID, policy.threshold, &key, &lanes).expect("a valid batch");
        Job { key_holder, templates, job, rng }
    }

    fn admit(&self) -> Result<Admitted, KeyHolderError> {
        let vault = self.key_holder.vault();
        self.key_holder.tenants()[&ID].admit(vault, &self.job, Some(0), NOW)
    }

    /// Ends the job as if all of its lanes had matched.
    fn settle(&self, admitted: &Admitted) -> Vec<usize> {
        let (vault, matched) = (self.key_holder.vault(), self.job.occupied());
        let accepted = self.key_holder.tenants()[&ID].settle(vault, admitted, Some(matched));
        accepted.expect("not frozen").iter().map(Lane::index).collect()
    }

    fn failures(&self, name: Name) -> Option<u32> {
        Some(ledger_of(&self.key_holder, name)?.record().generation_failures)
    }
}

#[test]
fn a_subject_that_is_shredded_during_a_job_fails_whether_or_not_it_is_enrolled_anew() {
    for anew in [false, true] {
        let mut job = Job::new();
        let admitted = job.admit().expect("known");
        let name = TemplateName { tenant: ID, handle: NAME.0, generation: NAME.1 };
        job.key_holder.shred(name).expect("memory");
        if anew {
            enrol(&job.key_holder, 1, &mut job.rng);
            assert!(job.admit().is_ok());
        }
        assert_eq!(job.settle(&admitted), [2], "{anew}");
        // The failure of another attempt on the new one stays.
        assert_eq!(job.failures(NAME), anew.then_some(1));
    }
}

#[test]
fn a_subject_that_is_renewed_during_a_job_gets_its_failure_back_where_it_is_counted() {
    let mut job = Job::new();
    job.key_holder.begin_rotation(ID).expect("known");
    let admitted = job.admit().expect("known");
    renewed(&job.key_holder, &job.templates[0], &mut job.rng);
    assert_eq!(job.failures((NAME.0, 1)), Some(1));
    assert_eq!(job.settle(&admitted), [1, 2]);
    assert_eq!(job.failures((NAME.0, 1)), Some(0));
    let record = ledger_of(&job.key_holder, (NAME.0, 1)).expect("renewed").record();
    assert_eq!(record.generation_attempts, 16, "and one attempt, of those that are reserved");
}

#[test]
fn a_job_with_one_subject_that_has_no_attempt_left_charges_nobody() {
    let job = Job::new();
    let spent = ledger_of(&job.key_holder, (Handle::new([2; 32]), 0)).expect("enrolled");
    let policy = AttemptPolicy { consecutive: 1, ..AttemptPolicy::default() };
    assert!(spent.charge(&policy, NOW));
    let refused = job.admit();
    assert!(matches!(refused, Err(KeyHolderError::NoAttempts(lanes)) if lanes.bits() == 1 << 2));
    assert_eq!(job.failures(NAME), Some(0));
}

/// Claim M10: Every attempt is recorded in the vault before anything is decrypted. A restart forgets none, nor does a kill of a key-holder in
/// its own process.
///
/// An attempt is in the vault before it is made, so that a crash in between cannot forget it.
#[test]
fn an_attempt_is_on_record_when_it_is_admitted() {
    let job = Job::new();
    let stored = |job: &Job| {
        let subjects = job.key_holder.vault().subjects(&ID).expect("readable");
        subjects.iter().map(|record| record.attempts.generation_attempts).collect::<Vec<_>>()
    };
    assert_eq!(stored(&job), [0, 0]);
    let _admitted = job.admit().expect("known");
    assert_eq!(stored(&job), [16, 16]);
}

/// Of the jobs in flight under one tag key, the first malformed one is told what it is. The others, whatever they are, learn only that the key has
/// changed, or that the tenant is frozen. Otherwise each would be told a bit more than the ledger counts.
#[test]
fn of_jobs_in_flight_one_is_told_that_it_is_malformed_and_no_other_what_it_is() {
    let job = Job::new();
    let vault = job.key_holder.vault();
    let tenants = job.key_holder.tenants();
    let tenant = &tenants[&ID];
    let all = LaneSet::from_bits(u32::MAX);
    for version in 0..3 {
        let admit = || tenant.admit(vault, &job.job, Some(version), NOW + 100 * u64::from(version));
        let [first, second, well_formed, before] = [(); 4].map(|()| admit().expect("not frozen yet"));
        assert!(tenant.settle(vault, &before, Some(all)).is_ok());
        let told = [(first, None), (second, None), (well_formed, Some(all))]
            .map(|(admitted, matched)| tenant.settle(vault, &admitted, matched).expect_err("not decided"));
        let well = match version {
            2 => matches!(told, [KeyHolderError::Malformed, KeyHolderError::Frozen, KeyHolderError::Frozen]),
            _ => matches!(told, [KeyHolderError::Malformed, KeyHolderError::TagKey, KeyHolderError::TagKey]),
        };
        assert!(well, "{version}: {told:?}");
    }
    assert_eq!(tenant.malformed(), (3, true), "one of each tag key is counted");
    let subjects = vault.subjects(&ID).expect("readable");
    assert!(subjects.iter().all(|record| record.attempts.generation_failures == 9), "and all are on record");
}
