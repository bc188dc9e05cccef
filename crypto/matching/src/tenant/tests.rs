//! What happens between two steps of a renewal.

use super::*;
use crate::{AttemptPolicy, KeyHolder, MemoryVault, VaultError, blind, split, unblind};
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
