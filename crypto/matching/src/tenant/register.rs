//! Changes of a tenant: creation, policy, enrolment, rotation, removal, and malformed jobs. In the vault first, then in memory, one change
//! at a time. Only a malformed batch waits for any of it.

use super::{Counts, InUse, State, Subjects, Tenant, only};
use crate::attempts::Ledger;
use crate::epoch::Epoch;
use crate::tenant::subjects::Subject;
use crate::{
    DecisionPolicy, EpochRecord, Handle, KeyHolderError, Lane, LaneSet, Model, SubjectRecord, TenantRecord,
    Vault,
};
use arc_swap::ArcSwap;
use std::collections::HashMap;
use std::sync::Arc;
#[expect(clippy::disallowed_types, reason = "no batch takes it")]
use std::sync::{Mutex, MutexGuard};
use trefoil_bfv::{Share, SubjectKey};

/// Lets one change in at a time.
#[derive(Default)]
pub(super) struct Register {
    #[expect(clippy::disallowed_types, reason = "no batch takes it")]
    open: Mutex<()>,
}

/// The inputs of a renewal.
pub(crate) struct Renewal {
    pub(crate) old: Arc<Epoch>,
    pub(crate) new: Arc<Epoch>,
    /// The template's present key.
    pub(crate) key: SubjectKey,
    pub(crate) lane: Lane,
    pub(crate) model: Model,
    /// The ledger that is charged.
    pub(crate) ledger: Arc<Ledger>,
    /// Malformed jobs before it.
    pub(crate) malformed: u32,
}

impl Register {
    fn lock(&self) -> MutexGuard<'_, ()> {
        // After a panic the guarded state may be half done, and no decision is the better outcome.
        self.open.lock().expect("no thread panicked while it changed the tenant")
    }
}

impl Tenant {
    /// The tenant of a record, with the subjects whose keys are there.
    pub(crate) fn restore(record: &TenantRecord, subjects: &[SubjectRecord]) -> Tenant {
        let TenantRecord { tenant, keys, policy, malformed, forgiven, .. } = *record;
        let epochs: Vec<InUse> = record
            .epochs
            .iter()
            .map(|epoch| InUse::new(Arc::new(Epoch::restore(keys, epoch)), malformed))
            .collect();
        let table = Subjects::with_capacity(subjects.len());
        let ledgers = ledgers(&epochs, subjects);
        for record in subjects {
            let epoch = epochs.iter().find(|in_use| in_use.epoch.number() == record.epoch);
            let name = (record.handle, record.generation);
            if let (Some(in_use), Some(ledger)) = (epoch, ledgers.get(&name)) {
                table.insert(name, Subject::of(&in_use.epoch, record, Arc::clone(ledger)));
            }
        }
        let state = State { epochs, policy, malformed, forgiven };
        let (state, register) = (ArcSwap::from_pointee(state), Register::default());
        let (found, counts) = (malformed.into(), Counts::default());
        Tenant { id: tenant, keys, state, found, subjects: table, register, counts }
    }

    /// Whether this is the master key of all its epochs.
    pub(crate) fn is_of(&self, master: &[u8; 32]) -> bool {
        self.record().epochs.iter().all(|epoch| epoch.master == *master)
    }

    /// Replaces the policy.
    pub(crate) fn set_policy(&self, vault: &dyn Vault, policy: DecisionPolicy) -> Result<(), KeyHolderError> {
        let _register = self.register.lock();
        vault.put_tenant(&TenantRecord { policy, ..self.record() })?;
        self.change(|state| state.policy = policy);
        Ok(())
    }

    /// Resets the count of malformed jobs so far.
    pub(crate) fn forgive_malformed(&self, vault: &dyn Vault) -> Result<(), KeyHolderError> {
        let _register = self.register.lock();
        let record = self.record();
        vault.put_tenant(&TenantRecord { forgiven: record.malformed, ..record.clone() })?;
        self.change(|state| state.forgiven = record.malformed);
        Ok(())
    }

    /// Ends the delay of a subject and forgets its failures of the day.
    pub(crate) fn reset_attempts(
        &self,
        vault: &dyn Vault,
        handle: Handle,
        generation: u32,
    ) -> Result<(), KeyHolderError> {
        let _register = self.register.lock();
        let ledger = self.subjects.read(&(handle, generation), |subject| Arc::clone(&subject.ledger));
        let ledger = ledger.ok_or(KeyHolderError::UnknownSubjects(LaneSet::EMPTY))?;
        ledger.reset();
        let record = ledger.record();
        vault.put_attempts(&self.id, &[(handle, ledger.generation(), record)])?;
        ledger.recorded(&record);
        Ok(())
    }

    /// Counts a malformed job that [`Tenant::conclude`] found, which renews the tag keys. In memory first, and without waiting for another
    /// change: no batch is admitted under the old keys meanwhile, and the job is counted even if the vault fails.
    pub(crate) fn count_malformed(&self, vault: &dyn Vault) -> Result<(), KeyHolderError> {
        self.change(|state| {
            state.malformed = state.malformed.saturating_add(1);
            let version = state.malformed;
            state
                .epochs
                .iter_mut()
                .for_each(|in_use| *in_use = InUse::new(Arc::clone(&in_use.epoch), version));
        });
        let _register = self.register.lock();
        Ok(vault.put_tenant(&self.record())?)
    }

    /// Refuses a template if the tenant does not use its model, or if its width is not the model's.
    pub(crate) fn check_model(&self, model: Model, share: &Share) -> Result<(), KeyHolderError> {
        let known = self.state.load().policy.threshold_of(model).is_some();
        if known && share.width() == model.width() { Ok(()) } else { Err(KeyHolderError::Model) }
    }

    /// Refuses a template that is there already.
    pub(crate) fn check_new(&self, handle: Handle, generation: u32) -> Result<(), KeyHolderError> {
        if self.subjects.contains(&(handle, generation)) {
            Err(KeyHolderError::SubjectExists)
        } else {
            Ok(())
        }
    }

    /// Adds a subject of `epoch`.
    pub(crate) fn insert(
        &self,
        vault: &dyn Vault,
        epoch: &Epoch,
        record: &SubjectRecord,
    ) -> Result<(), KeyHolderError> {
        let _register = self.register.lock();
        let name = (record.handle, record.generation);
        self.check_new(record.handle, record.generation)?;
        vault.put_subject(&self.id, record)?;
        let ledger = Arc::new(Ledger::restore(&record.attempts, record.generation));
        self.subjects.insert(name, Subject::of(epoch, record, ledger));
        Ok(())
    }

    /// Adds the keys of a rotation, unless one is in progress; returns the newest keys.
    pub(crate) fn add_epoch(
        &self,
        vault: &dyn Vault,
        record: EpochRecord,
    ) -> Result<Arc<Epoch>, KeyHolderError> {
        let _register = self.register.lock();
        let mut tenant = self.record();
        if tenant.epochs.len() == 1 {
            let added = Arc::new(Epoch::restore(self.keys, &record));
            tenant.epochs.push(record);
            vault.put_tenant(&tenant)?;
            self.change(|state| state.epochs.push(InUse::new(Arc::clone(&added), state.malformed)));
        }
        self.newest()
    }

    /// The inputs of a renewal of generation `from` of a subject, which is charged a failed attempt, on record. The generation that it becomes is
    /// decided by [`Tenant::succeed`].
    pub(crate) fn renewal(
        &self,
        vault: &dyn Vault,
        handle: &Handle,
        from: u32,
    ) -> Result<Renewal, KeyHolderError> {
        let state = self.state.load();
        if state.is_frozen() {
            return Err(KeyHolderError::Frozen);
        }
        let [old, new] = &state.epochs[..] else { return Err(KeyHolderError::Rotation) };
        let (old, new) = (Arc::clone(&old.epoch), Arc::clone(&new.epoch));
        let found = self.subjects.read(&(*handle, from), |subject| {
            (subject.epoch == old.number())
                .then(|| (subject.key.clone(), subject.lane, subject.model, Arc::clone(&subject.ledger)))
        });
        let (key, lane, model, ledger) =
            found.flatten().ok_or(KeyHolderError::UnknownSubjects(LaneSet::EMPTY))?;
        if !ledger.charge_renewal(&state.policy.attempts) {
            return Err(KeyHolderError::NoAttempts(only(lane)));
        }
        let record = ledger.record();
        vault.put_attempts(&self.id, &[(*handle, ledger.generation(), record)])?;
        ledger.recorded(&record);
        Ok(Renewal { old, new, key, lane, model, ledger, malformed: state.malformed })
    }

    /// Adds the generation that `from` was renewed as, in place of one that was made before. Both share one ledger, whatever the record
    /// says of attempts.
    pub(crate) fn succeed(
        &self,
        vault: &dyn Vault,
        epoch: &Epoch,
        from: u32,
        record: &SubjectRecord,
    ) -> Result<(), KeyHolderError> {
        let _register = self.register.lock();
        let (handle, to) = (record.handle, record.generation);
        // Gone with its keys, if the rotation has ended meanwhile.
        let ledger = self.subjects.read(&(handle, from), |subject| Arc::clone(&subject.ledger));
        let ledger = ledger.ok_or(KeyHolderError::Rotation)?;
        let before = ledger.generation();
        if to <= before || self.subjects.contains(&(handle, to)) {
            return Err(KeyHolderError::Rotation);
        }
        let record = SubjectRecord { attempts: ledger.record(), ..record.clone() };
        vault.put_subject(&self.id, &record)?;
        self.subjects.insert((handle, to), Subject::of(epoch, &record, Arc::clone(&ledger)));
        ledger.move_to(to);
        if before != from {
            self.subjects.remove(&(handle, before));
        }
        // Attempts counted under the old name while the new one was written.
        Ok(vault.put_attempts(&self.id, &[(handle, to, ledger.record())])?)
    }

    /// Forgets the oldest keys and every subject of them.
    pub(crate) fn erase_epoch(&self, vault: &dyn Vault, epoch: u32) -> Result<(), KeyHolderError> {
        let _register = self.register.lock();
        if epoch >= self.newest()?.number() {
            return Err(KeyHolderError::Rotation);
        }
        vault.erase_epoch(&self.id, epoch)?;
        self.change(|state| state.epochs.retain(|in_use| in_use.epoch.number() != epoch));
        self.subjects.retain(|subject| subject.epoch != epoch);
        Ok(())
    }

    /// Forgets a template with its other form, if it was renewed: they are one template. The named one goes last, so that a partial failure is
    /// retried.
    pub(crate) fn remove(
        &self,
        vault: &dyn Vault,
        handle: Handle,
        generation: u32,
    ) -> Result<(), KeyHolderError> {
        let _register = self.register.lock();
        let other = self.other_form(handle, generation);
        for generation in [other, Some(generation)].into_iter().flatten() {
            vault.delete_subject(&self.id, &handle, generation)?;
            self.subjects.read(&(handle, generation), |subject| subject.ledger.close());
            self.subjects.remove(&(handle, generation));
        }
        Ok(())
    }

    /// The other form of a renewed template: its source or its successor.
    fn other_form(&self, handle: Handle, generation: u32) -> Option<u32> {
        let (ledger, renewed_from) = self
            .subjects
            .read(&(handle, generation), |subject| (Arc::clone(&subject.ledger), subject.renewed_from))?;
        let other = if ledger.generation() == generation { renewed_from? } else { ledger.generation() };
        let shares = |subject: &Subject| Arc::ptr_eq(&subject.ledger, &ledger);
        self.subjects.read(&(handle, other), shares).filter(|shares| *shares).map(|_| other)
    }

    /// Replaces the state.
    fn change(&self, change: impl Fn(&mut State)) {
        self.state.rcu(|state| {
            let mut state = State::clone(state);
            change(&mut state);
            state
        });
    }
}

/// A ledger for each template, of which the two forms of a renewed one share that of the newer form.
fn ledgers(epochs: &[InUse], subjects: &[SubjectRecord]) -> HashMap<(Handle, u32), Arc<Ledger>> {
    let of = |record: &SubjectRecord| Arc::new(Ledger::restore(&record.attempts, record.generation));
    let mut ledgers: HashMap<_, _> =
        subjects.iter().map(|record| ((record.handle, record.generation), of(record))).collect();
    let [old, new] = epochs else { return ledgers };
    let (old, new) = (old.epoch.number(), new.epoch.number());
    let of_old: HashMap<(Handle, u32), u32> =
        subjects.iter().map(|record| ((record.handle, record.generation), record.epoch)).collect();
    for record in subjects.iter().filter(|record| record.epoch == new) {
        let Some(from) = record.renewed_from.map(|from| (record.handle, from)) else { continue };
        if of_old.get(&from) == Some(&old)
            && let Some(newer) = ledgers.get(&(record.handle, record.generation)).cloned()
        {
            ledgers.insert(from, newer);
        }
    }
    ledgers
}
