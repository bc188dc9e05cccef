//! Administration of tenants and subjects: none of it is on the path of a batch.

use super::{KeyHolder, Once, Threads, known};
use crate::tenant::{Count, Tenant};
use crate::{
    AttemptRecord, DecisionPolicy, EncryptedTemplate, EpochRecord, ForKeyHolder, JobsHead, KeyHolderError,
    KeyStructure, Lane, LaneSet, Model, PublicKey, SubjectRecord, Template, TemplateName, TenantId,
    TenantRecord, Vault, VaultError, VaultState, system_entropy,
};
use rand::CryptoRng;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;
use trefoil_bfv::{Drbg, NORM_SQUARED_MAX};
use trefoil_split::{OpeningKey, SealingKey};
use zeroize::Zeroizing;

/// A key-holder's counters, for operators; for a gateway, those of its own tenants. Nothing in it depends on a score or names a subject.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Attempts since the process began.
    pub attempts: u64,
    /// Those that failed.
    pub failures: u64,
    /// Enrolments since the process began.
    pub enrolments: u64,
    /// By tenant, malformed jobs that no operator has looked into: of at most [`Status::COUNTED_MAX`] tenants, those with most.
    pub malformed: Vec<(TenantId, u64)>,
    /// Tenants that are frozen because of them, at most [`Status::FROZEN_MAX`] of them.
    pub frozen: Vec<TenantId>,
    /// By tenant, logins since the process began that were refused an attempt because a budget of their subject was spent: of at most
    /// [`Status::COUNTED_MAX`] tenants, those with most.
    pub trips: Vec<(TenantId, u64)>,
    /// Those of them whose templates are of the `previous` model of their tenant's policy, with the same bound.
    pub trips_of_previous: Vec<(TenantId, u64)>,
    /// Tenants.
    pub tenants: u64,
    /// Templates of all of them.
    pub templates: u64,
    /// The vault: of a quorum, each seat's in order, and nothing for one that is away.
    pub vaults: Vec<Option<VaultState>>,
    /// The job log of each vault's key-holder; empty in the process of a gateway, where none is kept.
    pub jobs: Vec<Option<JobsHead>>,
}

impl Status {
    /// Frozen tenants that are named.
    pub const FROZEN_MAX: usize = 1024;
    /// Tenants whose counts are told.
    pub const COUNTED_MAX: usize = 1024;

    /// Names tenants in their order, and no more than are told: of the counts those with most.
    pub fn bounded(mut self) -> Status {
        self.frozen.sort_unstable();
        self.frozen.truncate(Status::FROZEN_MAX);
        for counts in [&mut self.malformed, &mut self.trips, &mut self.trips_of_previous] {
            counts.sort_unstable_by_key(|(tenant, count)| (std::cmp::Reverse(*count), *tenant));
            counts.truncate(Status::COUNTED_MAX);
            counts.sort_unstable_by_key(|(tenant, _)| *tenant);
        }
        self
    }

    /// Malformed jobs of all tenants.
    pub fn malformed_jobs(&self) -> u64 {
        self.malformed.iter().map(|(_, count)| count).sum()
    }
}

impl KeyHolder {
    /// A key-holder over the records of `vault`. `rng` seeds its generators; `now` is in unix seconds.
    ///
    /// # Errors
    /// [`KeyHolderError::Vault`] when the vault cannot be read.
    pub fn new(
        vault: Arc<impl Vault + 'static>,
        rng: &mut impl CryptoRng,
        now: u64,
    ) -> Result<KeyHolder, KeyHolderError> {
        let mut tenants = HashMap::new();
        for record in vault.tenants()? {
            let subjects = vault.subjects(&record.tenant)?;
            tenants.insert(record.tenant, Arc::new(Tenant::restore(&record, &subjects)));
        }
        let opening = match vault.opening_key()? {
            Some(key) => OpeningKey::from_bytes(&key)
                .ok_or_else(|| VaultError("the key that opens sealed shares cannot be read".to_owned()))?,
            None => {
                let key = OpeningKey::generate();
                vault.put_opening_key(&key.to_bytes())?;
                key
            }
        };
        let (threads, opened) = (Threads::new(rng), Once::new(now, vault.opened_until()?));
        Ok(KeyHolder { vault, opening, tenants: arc_swap::ArcSwap::from_pointee(tenants), threads, opened })
    }

    /// Makes the keys of a new tenant; returns the public key for its matcher.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant exists, the threshold is impossible or the vault fails.
    pub fn create_tenant(
        &self,
        tenant: TenantId,
        keys: KeyStructure,
        policy: DecisionPolicy,
    ) -> Result<PublicKey, KeyHolderError> {
        let epochs = vec![self.fresh_epoch(0)];
        self.insert_tenant(&TenantRecord { tenant, keys, epochs, policy, malformed: 0, forgiven: 0 })
    }

    /// Adds a tenant, in the vault first; its public key.
    pub(crate) fn insert_tenant(&self, record: &TenantRecord) -> Result<PublicKey, KeyHolderError> {
        check_threshold(&record.policy)?;
        let created = Arc::new(Tenant::restore(record, &[]));
        let public = created.newest()?.public_key(record.malformed);
        // Held across the vault write: two creations of one tenant must not both succeed.
        let _one_at_a_time = self.threads.rng();
        if self.tenants().contains_key(&record.tenant) {
            return Err(KeyHolderError::TenantExists);
        }
        self.vault.put_tenant(record)?;
        let mut tenants = HashMap::clone(&self.tenants());
        tenants.insert(record.tenant, created);
        self.tenants.store(Arc::new(tenants));
        Ok(public)
    }

    pub(crate) fn fresh_epoch(&self, epoch: u32) -> EpochRecord {
        let mut record = EpochRecord { epoch, master: [0; 32], seed: [0; 32], tags: [[0; 32]; 2] };
        let mut rng = self.threads.rng();
        rng.fill(&mut record.master);
        rng.fill(&mut record.seed);
        record.tags.iter_mut().for_each(|tags| rng.fill(tags));
        record
    }

    /// The public keys of the tenant, oldest first: two while they are rotated.
    ///
    /// # Errors
    /// [`KeyHolderError::UnknownTenant`].
    pub fn public_keys(&self, tenant: TenantId) -> Result<Vec<PublicKey>, KeyHolderError> {
        Ok(known(&self.tenants(), &tenant)?.public_keys())
    }

    /// The key to which devices seal their shares.
    pub fn sealing_key(&self) -> SealingKey {
        self.opening.sealing_key()
    }

    /// Replaces a tenant's threshold and attempt budget. Attempts counted so far stay counted.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant is unknown, the threshold is impossible or the vault fails.
    pub fn set_policy(&self, tenant: TenantId, policy: DecisionPolicy) -> Result<(), KeyHolderError> {
        check_threshold(&policy)?;
        known(&self.tenants(), &tenant)?.set_policy(&*self.vault, policy)
    }

    /// Resets the count of a tenant's malformed jobs, which lets a frozen tenant decide again. For an operator who has found the cause.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant is unknown or the vault fails.
    pub fn forgive_malformed(&self, tenant: TenantId) -> Result<(), KeyHolderError> {
        known(&self.tenants(), &tenant)?.forgive_malformed(&*self.vault)
    }

    /// Ends the delay of a subject and forgets its failures of the day. What its template's generation has spent of its budget stays spent.
    /// For an operator who knows the subject.
    ///
    /// # Errors
    /// [`KeyHolderError`] when tenant or subject are unknown or the vault fails.
    pub fn reset_attempts(&self, name: TemplateName) -> Result<(), KeyHolderError> {
        let TemplateName { tenant, handle, generation } = name;
        known(&self.tenants(), &tenant)?.reset_attempts(&*self.vault, handle, generation)
    }

    /// How many subjects of a tenant have no attempt at `now`, in unix seconds: until a delay or a day is over, or for good.
    ///
    /// # Errors
    /// [`KeyHolderError::UnknownTenant`].
    pub fn locked_out(&self, tenant: TenantId, now: u64) -> Result<u64, KeyHolderError> {
        Ok(known(&self.tenants(), &tenant)?.locked_out(now))
    }

    /// Encrypts a blinded template of a model's vector into `lane` under the tenant's newest keys and a fresh salt. `now` is in unix seconds.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant is unknown or the model not its own, the generation exists, a sealed share does not open or the vault fails.
    pub fn enrol(
        &self,
        name: TemplateName,
        lane: Lane,
        model: Model,
        template: &ForKeyHolder,
        now: u64,
    ) -> Result<EncryptedTemplate, KeyHolderError> {
        let TemplateName { tenant, handle, generation } = name;
        let tenants = self.tenants();
        let of = known(&tenants, &tenant)?;
        // A sealed share opens once, and is not used up by an enrolment that cannot be.
        of.check_new(handle, generation)?;
        let opened;
        let share = match template {
            // A party that splits a template itself has seen it, so this is only for tenants with plain probes.
            ForKeyHolder::Open(blinded) => {
                of.check_model(model, blinded.share())?;
                blinded.share()
            }
            ForKeyHolder::Sealed(sealed) => {
                let mut only = LaneSet::EMPTY;
                only.insert(lane);
                let context = sealed.context(&tenant, &handle);
                let share = self.opening.open(&context, &sealed.sealed);
                opened = share.map_err(|_| KeyHolderError::SealedShares(only))?;
                of.check_model(model, &opened)?;
                if self.opened.is_fresh(sealed.issued_at, now) {
                    self.opened.note(&*self.vault, sealed.issued_at)?;
                }
                if !self.opened.first(&tenant, &sealed.sealed, sealed.issued_at, now) {
                    return Err(KeyHolderError::SealedShares(only));
                }
                &opened
            }
        };
        let epoch = of.newest()?;
        let mut record = SubjectRecord {
            handle,
            generation,
            lane,
            model,
            epoch: epoch.number(),
            renewed_from: None,
            salt: [0; 32],
            attempts: AttemptRecord::default(),
        };
        let mut rng = self.generator();
        rng.fill(&mut record.salt);
        of.insert(&*self.vault, &epoch, &record)?;
        // Every enrolment has a salt of its own, so a key never encrypts twice.
        let ciphertext = epoch.encrypt(&record, share, &mut rng);
        of.counts.add(Count::Enrolments, 1);
        let epoch = epoch.number();
        Ok(EncryptedTemplate {
            template: Template { tenant, handle, generation, lane, model, epoch, ciphertext },
        })
    }

    /// Erases the salt of a template's key, which makes the template undecryptable. Shredding twice succeeds.
    ///
    /// # Errors
    /// [`KeyHolderError`] when the tenant is unknown or the vault fails.
    pub fn shred(&self, name: TemplateName) -> Result<(), KeyHolderError> {
        let TemplateName { tenant, handle, generation } = name;
        known(&self.tenants(), &tenant)?.remove(&*self.vault, handle, generation)
    }

    /// The counters so far.
    pub fn status(&self) -> Status {
        self.status_of(|_| true)
    }

    /// The counters so far of some tenants.
    pub fn status_of(&self, is_of: impl Fn(&TenantId) -> bool) -> Status {
        let mut status = Status { vaults: vec![Some(self.vault.state())], ..Status::default() };
        for (id, tenant) in self.tenants().iter().filter(|(id, _)| is_of(id)) {
            let (malformed, frozen) = tenant.malformed();
            status.attempts += tenant.counts.total(Count::Attempts);
            status.failures += tenant.counts.total(Count::Failures);
            status.enrolments += tenant.counts.total(Count::Enrolments);
            status.tenants += 1;
            status.templates += tenant.templates() as u64;
            if malformed > 0 {
                status.malformed.push((*id, u64::from(malformed)));
            }
            if frozen {
                status.frozen.push(*id);
            }
            status.trips.push((*id, tenant.counts.total(Count::Trips)));
            status.trips_of_previous.push((*id, tenant.counts.total(Count::TripsOfPrevious)));
        }
        status.bounded()
    }

    /// A generator of one call. A key must not encrypt twice, so a copy of a running machine must draw different values from the machine
    /// itself draws.
    pub(crate) fn generator(&self) -> Drbg {
        let mut drbg = Drbg::from_rng(&mut *self.threads.rng());
        let mut fresh = Zeroizing::new([0; 32]);
        system_entropy(&mut fresh);
        drbg.reseed(&fresh);
        drbg
    }

    /// Whether every tenant's master is the one that `master` derives from its name.
    pub(crate) fn tenants_made_from(&self, master: impl Fn(&TenantId) -> Zeroizing<[u8; 32]>) -> bool {
        self.tenants().iter().all(|(id, tenant)| tenant.is_of(&master(id)))
    }
}

fn check_threshold(policy: &DecisionPolicy) -> Result<(), KeyHolderError> {
    let possible = -NORM_SQUARED_MAX..=NORM_SQUARED_MAX;
    let outside = policy.models().map(|(_, threshold)| threshold).find(|score| !possible.contains(score));
    outside.map_or(Ok(()), |threshold| Err(KeyHolderError::Threshold(threshold)))
}
