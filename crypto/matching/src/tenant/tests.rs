//! What happens between two steps of a renewal, or of a job.

use super::*;
use crate::{
    AttemptPolicy, KeyHolder, Matcher, MemoryVault, Template, Tier, VaultError, blind, split, unblind,
};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use std::sync::OnceLock;
use trefoil_bfv::Embedding;
use zeroize::Zeroizing;

const NAME: Name = ([1; 32], 0);

/// A vault in which a failure of the subject is counted while a new generation of it is written.
#[derive(Default)]
struct Slow {
    memory: MemoryVault,
    tenant: OnceLock<Arc<Tenant>>,
}

impl Vault for Slow {
    fn tenants(&self) -> Result<Vec<TenantRecord>, VaultError> {
        self.memory.tenants()
    }
    fn subjects(&self, tenant: &TenantId) -> Result<Vec<SubjectRecord>, VaultError> {
        self.memory.subjects(tenant)
    }
    fn put_tenant(&self, record: &TenantRecord) -> Result<(), VaultError> {
        self.memory.put_tenant(record)
    }
    fn erase_epoch(&self, tenant: &TenantId, epoch: u32) -> Result<(), VaultError> {
        self.memory.erase_epoch(tenant, epoch)
    }
    fn opening_key(&self) -> Result<Option<Zeroizing<Vec<u8>>>, VaultError> {
        self.memory.opening_key()
    }
    fn put_opening_key(&self, key: &[u8]) -> Result<(), VaultError> {
        self.memory.put_opening_key(key)
    }
    fn put_subject(&self, tenant: &TenantId, record: &SubjectRecord) -> Result<(), VaultError> {
        if let Some(tenant) = self.tenant.get()
            && let Some(subject) = locked(&tenant.state).subjects.get_mut(&NAME)
        {
            assert!(subject.attempts.charge(&AttemptPolicy::default(), 0));
        }
        self.memory.put_subject(tenant, record)
    }
    fn delete_subject(&self, tenant: &TenantId, handle: &Handle, generation: u32) -> Result<(), VaultError> {
        self.memory.delete_subject(tenant, handle, generation)
    }
    fn put_attempts(
        &self,
        tenant: &TenantId,
        records: &[(Handle, u32, AttemptRecord)],
    ) -> Result<(), VaultError> {
        self.memory.put_attempts(tenant, records)
    }
}

#[test]
fn a_failure_that_is_counted_while_a_renewal_is_written_is_not_forgotten() {
    let mut rng = StdRng::seed_from_u64(1);
    let vault = Arc::new(Slow::default());
    let keyholder = KeyHolder::new(Box::new(Arc::clone(&vault)), &mut rng).expect("an empty vault");
    let policy = DecisionPolicy { threshold: 0, attempts: AttemptPolicy::default() };
    let (id, lane) = ([7; 16], Lane::new(3).expect("below 32"));
    keyholder.create_tenant(id, KeyStructure::PerSubject, policy).expect("new");
    let (blinded, share) = split(&Embedding::quantise(&[1.0; 128]).expect("a vector"), &mut rng);
    let enrolled = keyholder.enrol(id, NAME.0, NAME.1, lane, &blinded.into()).expect("new");
    let (blinded, _) = blind(&unblind(enrolled, share), &mut rng);
    keyholder.begin_rotation(id).expect("known");
    let tenant = keyholder.tenant(&id).expect("known");
    assert!(vault.tenant.set(Arc::clone(&tenant)).is_ok());
    keyholder.renew(id, NAME.0, NAME.1, 1, &blinded, 0).expect("honest");
    let renewed = locked(&tenant.state).subjects.get(&(NAME.0, 1)).map(|subject| subject.attempts);
    assert_eq!(renewed.map(|attempts| attempts.consecutive), Some(1));
}

/// A key-holder with a tenant, two templates of it, and a job with both.
struct Job {
    keyholder: KeyHolder,
    tenant: Arc<Tenant>,
    templates: [Template; 2],
    job: MatchJob,
    rng: StdRng,
}

const ID: TenantId = [7; 16];

impl Job {
    fn new() -> Job {
        let mut rng = StdRng::seed_from_u64(1);
        let keyholder = KeyHolder::new(Box::new(MemoryVault::default()), &mut rng).expect("an empty vault");
        let policy = DecisionPolicy { threshold: 0, attempts: AttemptPolicy::default() };
        let key = keyholder.create_tenant(ID, KeyStructure::PerSubject, policy).expect("new");
        let templates = [1, 2].map(|name| enrol(&keyholder, name, &mut rng));
        let face = face();
        let lanes = templates.each_ref().map(|template| (template, &face));
        let mut matcher = Matcher::new(Tier::detected(), [9; 32]);
        let job = matcher.mask([5; 16], ID, &key, &lanes).expect("a valid batch");
        let tenant = keyholder.tenant(&ID).expect("known");
        Job { keyholder, tenant, templates, job, rng }
    }

    /// Ends the job as if all of its lanes had matched.
    fn settle(&self, admitted: &Admitted) -> Vec<usize> {
        let matched = self.job.occupied();
        let accepted = self.tenant.settle(self.keyholder.vault(), &self.job, admitted, matched, 0);
        accepted.expect("not frozen").iter().map(Lane::index).collect()
    }

    fn attempts(&self, name: Name) -> Option<AttemptRecord> {
        locked(&self.tenant.state).subjects.get(&name).map(|subject| subject.attempts)
    }
}

fn face() -> Embedding {
    Embedding::quantise(&[1.0; 128]).expect("a vector")
}

/// Enrols generation 0 of a handle made of `name`, in the lane of that number.
fn enrol(keyholder: &KeyHolder, name: u8, rng: &mut StdRng) -> Template {
    let (blinded, share) = split(&face(), rng);
    let lane = Lane::new(name).expect("below 32");
    unblind(keyholder.enrol(ID, [name; 32], 0, lane, &blinded.into()).expect("new"), share)
}

#[test]
fn a_subject_that_is_shredded_during_a_job_fails_whether_or_not_it_is_enrolled_anew() {
    for anew in [false, true] {
        let mut job = Job::new();
        let admitted = job.tenant.admit(&job.job, 0).expect("known");
        job.keyholder.shred(ID, NAME.0, NAME.1).expect("memory");
        if anew {
            enrol(&job.keyholder, 1, &mut job.rng);
            assert!(job.tenant.admit(&job.job, 0).is_ok());
        }
        assert_eq!(job.settle(&admitted), [2], "{anew}");
        // The failure of another attempt on the new one stays.
        assert_eq!(job.attempts(NAME).map(|attempts| attempts.consecutive), anew.then_some(1));
    }
}

#[test]
fn a_subject_that_is_renewed_during_a_job_gets_its_failure_back_where_it_is_counted() {
    let mut job = Job::new();
    job.keyholder.begin_rotation(ID).expect("known");
    let admitted = job.tenant.admit(&job.job, 0).expect("known");
    let (blinded, _) = blind(&job.templates[0], &mut job.rng);
    job.keyholder.renew(ID, NAME.0, NAME.1, 1, &blinded, 0).expect("honest");
    let failures = |job: &Job| job.attempts((NAME.0, 1)).map(|attempts| attempts.generation_failures);
    assert_eq!(failures(&job), Some(1));
    assert_eq!(job.settle(&admitted), [1, 2]);
    assert_eq!(failures(&job), Some(0));
}

#[test]
fn a_job_with_one_unknown_subject_charges_nobody() {
    let job = Job::new();
    job.keyholder.shred(ID, [2; 32], 0).expect("memory");
    assert!(job.tenant.admit(&job.job, 0).is_err());
    assert_eq!(job.attempts(NAME), Some(AttemptRecord::default()));
}
