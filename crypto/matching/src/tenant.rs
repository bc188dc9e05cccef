//! One tenant in the memory of the key-holder.
//!
//! Locks: `state` guards everything that changes and is held for table look-ups only, twice per batch (32 look-ups by name
//! the first time, by place the second): never during arithmetic, never during a vault write. `writes` serialises vault
//! writes, so that of two records of one subject the later one is written last; it is taken before `state`, never after.

mod state;
mod subjects;

use crate::epoch::Epoch;
use crate::keyholder::KeyHolderError;
use crate::names::Name;
use crate::{AttemptRecord, DecisionPolicy, Handle, KeyStructure, Lane, LaneSet, MatchJob};
use crate::{EpochRecord, SubjectRecord, TenantId, TenantRecord, Vault};
pub(crate) use state::Admitted;
use state::{State, Subject};
use std::sync::Arc;
#[expect(clippy::disallowed_types, reason = "never held during arithmetic")]
use std::sync::{Mutex, MutexGuard};
use trefoil_bfv::{LANES, SubjectKey};

/// Seconds within which malformed jobs count together.
const MALFORMED_WINDOW_S: u64 = 3600;
/// Malformed jobs within the window that freeze the tenant. An honest matcher makes none; what an attacker learns from
/// each is at most whether it was malformed.
const MALFORMED_MAX: usize = 3;

/// A tenant: what never changes and a state that does.
pub(crate) struct Tenant {
    id: TenantId,
    keys: KeyStructure,
    #[expect(clippy::disallowed_types, reason = "orders what is written to the vault")]
    writes: Mutex<()>,
    #[expect(
        clippy::disallowed_types,
        reason = "attempts are counted before a batch is decided and after it"
    )]
    state: Mutex<State>,
}

/// What it takes to renew a template.
pub(crate) struct Renewal {
    pub(crate) old: Arc<Epoch>,
    pub(crate) new: Arc<Epoch>,
    /// The key of the template as it is.
    pub(crate) key: SubjectKey,
    pub(crate) lane: Lane,
}

impl Tenant {
    /// The tenant of a record, with the subjects whose keys are there.
    pub(crate) fn restore(record: &TenantRecord, subjects: &[SubjectRecord]) -> Tenant {
        Tenant {
            id: record.tenant,
            keys: record.keys,
            writes: ().into(),
            state: State::restore(record, subjects).into(),
        }
    }

    /// Whether this is the master key of all its epochs.
    pub(crate) fn is_of(&self, master: &[u8; 32]) -> bool {
        locked(&self.state).epochs.iter().all(|epoch| epoch.record().master == *master)
    }

    /// The newest keys: those that templates are encrypted under.
    pub(crate) fn newest(&self) -> Result<Arc<Epoch>, KeyHolderError> {
        locked(&self.state).epochs.last().cloned().ok_or(KeyHolderError::UnknownTenant)
    }

    /// To store.
    fn record(&self) -> TenantRecord {
        let state = locked(&self.state);
        let epochs = state.epochs.iter().map(|epoch| epoch.record()).collect();
        let State { policy, frozen, .. } = *state;
        TenantRecord { tenant: self.id, keys: self.keys, epochs, policy, frozen }
    }

    /// Replaces policy and frozen state, in the vault first.
    pub(crate) fn update(
        &self,
        vault: &dyn Vault,
        change: impl Fn(&mut DecisionPolicy, &mut bool),
    ) -> Result<(), KeyHolderError> {
        let _writes = locked(&self.writes);
        let mut record = self.record();
        change(&mut record.policy, &mut record.frozen);
        vault.put_tenant(&record)?;
        let TenantRecord { policy, frozen, .. } = record;
        let mut state = locked(&self.state);
        if state.frozen && !frozen {
            state.malformed.clear();
        }
        (state.policy, state.frozen) = (policy, frozen);
        Ok(())
    }

    /// Adds a subject of `epoch`, in the vault first.
    pub(crate) fn insert(
        &self,
        vault: &dyn Vault,
        epoch: &Epoch,
        record: &SubjectRecord,
    ) -> Result<(), KeyHolderError> {
        let _writes = locked(&self.writes);
        let key = (record.handle, record.generation);
        if locked(&self.state).subjects.find(&key).is_some() {
            return Err(KeyHolderError::SubjectExists);
        }
        vault.put_subject(&self.id, record)?;
        let subject = Subject::of(epoch, record);
        locked(&self.state).subjects.insert(key, subject);
        Ok(())
    }

    /// Adds the keys of a rotation, in the vault first, unless one is under way; the newest keys.
    pub(crate) fn add_epoch(
        &self,
        vault: &dyn Vault,
        record: EpochRecord,
    ) -> Result<Arc<Epoch>, KeyHolderError> {
        let _writes = locked(&self.writes);
        let mut tenant = self.record();
        if tenant.epochs.len() == 1 {
            let added = Arc::new(Epoch::restore(self.keys, &record));
            tenant.epochs.push(record);
            vault.put_tenant(&tenant)?;
            locked(&self.state).epochs.push(added);
        }
        self.newest()
    }

    /// What it takes to renew generation `from` of a subject. As what it may be renewed is for [`Tenant::succeed`] to say.
    pub(crate) fn renewal(&self, handle: &Handle, from: u32) -> Result<Renewal, KeyHolderError> {
        let state = locked(&self.state);
        if state.frozen {
            return Err(KeyHolderError::Frozen);
        }
        let [old, new] = &state.epochs[..] else { return Err(KeyHolderError::Rotation) };
        let subject = state.subjects.get(&(*handle, from));
        let subject = subject.filter(|subject| subject.epoch == old.number());
        let subject = subject.ok_or(KeyHolderError::UnknownSubjects(LaneSet::EMPTY))?;
        let (old, new) = (Arc::clone(old), Arc::clone(new));
        Ok(Renewal { old, new, key: subject.key.clone(), lane: subject.lane })
    }

    /// Adds the generation that `from` was renewed as, in the vault first, in place of one that was made before. Its attempts are
    /// those that have been counted, whatever the record says.
    pub(crate) fn succeed(
        &self,
        vault: &dyn Vault,
        epoch: &Epoch,
        from: u32,
        record: &SubjectRecord,
    ) -> Result<(), KeyHolderError> {
        let _writes = locked(&self.writes);
        let (handle, to) = (record.handle, record.generation);
        let mut record = record.clone();
        let before = {
            let state = locked(&self.state);
            // Gone with its keys, if the rotation has ended meanwhile.
            let before = state.subjects.get(&(handle, from)).ok_or(KeyHolderError::Rotation)?.successor;
            if to <= before.unwrap_or(from) || state.subjects.find(&(handle, to)).is_some() {
                return Err(KeyHolderError::Rotation);
            }
            let ledger = state.ledger((handle, from));
            record.attempts = state.subjects.get(&ledger).map_or(record.attempts, |subject| subject.attempts);
            before
        };
        vault.put_subject(&self.id, &record)?;
        let mut state = locked(&self.state);
        let mut added = Subject::of(epoch, &record);
        // What was counted in the meantime.
        let ledger = state.ledger((handle, from));
        if let Some(current) = state.subjects.get(&ledger) {
            added.attempts = current.attempts;
        }
        if let Some(before) = before {
            state.subjects.remove(&(handle, before));
        }
        state.subjects.insert((handle, to), added);
        if let Some(subject) = state.subjects.get_mut(&(handle, from)) {
            subject.successor = Some(to);
        }
        Ok(())
    }

    /// Forgets the oldest keys and every subject of them, in the vault first.
    pub(crate) fn erase_epoch(&self, vault: &dyn Vault, epoch: u32) -> Result<(), KeyHolderError> {
        let _writes = locked(&self.writes);
        let newest = self.newest()?.number();
        if epoch >= newest {
            return Err(KeyHolderError::Rotation);
        }
        vault.erase_epoch(&self.id, epoch)?;
        let mut state = locked(&self.state);
        state.epochs.retain(|kept| kept.number() != epoch);
        state.subjects.retain(|subject| subject.epoch != epoch);
        Ok(())
    }

    /// Forgets a subject, in the vault first, with what it was renewed as or made of: they are one template. The named one goes
    /// last: what fails half-way is done again.
    pub(crate) fn remove(
        &self,
        vault: &dyn Vault,
        handle: Handle,
        generation: u32,
    ) -> Result<(), KeyHolderError> {
        let _writes = locked(&self.writes);
        let other = locked(&self.state).other_form((handle, generation));
        for generation in [other, Some(generation)].into_iter().flatten() {
            vault.delete_subject(&self.id, &handle, generation)?;
            locked(&self.state).subjects.remove(&(handle, generation));
        }
        Ok(())
    }

    /// Looks up the subjects of a job and counts a failure for each that may try.
    pub(crate) fn admit(&self, job: &MatchJob, now: u64) -> Result<Admitted, KeyHolderError> {
        let mut state = locked(&self.state);
        let known = state.known(&job.subjects, job.epoch)?;
        let policy = state.policy.attempts;
        Ok(state.charge(job, known, &policy, now))
    }

    /// The keys of a batch whose subjects are all enrolled under them.
    pub(crate) fn batch_epoch(
        &self,
        subjects: &[Option<Name>; LANES],
        epoch: u32,
    ) -> Result<Arc<Epoch>, KeyHolderError> {
        locked(&self.state).known(subjects, epoch).map(|(epoch, _)| epoch)
    }

    /// The key structure.
    pub(crate) fn structure(&self) -> KeyStructure {
        self.keys
    }

    /// Ends a job with its decisions: takes back the failures of lanes that matched, writes the others to the vault, and only
    /// then returns the accepted lanes, so that an answer whose failure is not on record is never given.
    pub(crate) fn settle(
        &self,
        vault: &dyn Vault,
        job: &MatchJob,
        admitted: &Admitted,
        matched: LaneSet,
        now: u64,
    ) -> Result<LaneSet, KeyHolderError> {
        let mut accepted = LaneSet::EMPTY;
        let mut changed = LaneSet::EMPTY;
        {
            let mut state = locked(&self.state);
            if state.frozen {
                return Err(KeyHolderError::Frozen);
            }
            for lane in admitted.charged.iter() {
                let named = admitted.places[lane.index()].zip(job.subjects[lane.index()]);
                let attempts = named.and_then(|(place, name)| state.attempts(place, name));
                // A subject that was shredded in the meantime is answered like any other failure, enrolled anew or not.
                let Some(attempts) = attempts else { continue };
                if matched.contains(lane) {
                    attempts.refund(now);
                    accepted.insert(lane);
                }
                if *attempts != admitted.before[lane.index()] {
                    changed.insert(lane);
                }
            }
        }
        self.write_attempts(vault, job, changed)?;
        Ok(accepted)
    }

    /// Counts a malformed job. The third within an hour freezes the tenant, in the vault too. The failures that the job's
    /// subjects were charged stay.
    pub(crate) fn record_malformed(
        &self,
        vault: &dyn Vault,
        job: &MatchJob,
        now: u64,
    ) -> Result<(), KeyHolderError> {
        self.count_malformed(vault, now)?;
        self.write_attempts(vault, job, job.occupied())
    }

    /// Counts a malformed request. The third within an hour freezes the tenant, in the vault too.
    pub(crate) fn count_malformed(&self, vault: &dyn Vault, now: u64) -> Result<(), KeyHolderError> {
        let freeze = {
            let mut state = locked(&self.state);
            state.malformed.retain(|&time| now.saturating_sub(time) < MALFORMED_WINDOW_S);
            if state.malformed.len() < MALFORMED_MAX {
                state.malformed.push(now);
            }
            // In memory at once, whatever becomes of the vault.
            state.frozen |= state.malformed.len() >= MALFORMED_MAX;
            state.frozen
        };
        if freeze {
            self.update(vault, |_, frozen| *frozen = true)?;
        }
        Ok(())
    }

    /// Writes the present attempt records of some lanes to the vault.
    fn write_attempts(
        &self,
        vault: &dyn Vault,
        job: &MatchJob,
        lanes: LaneSet,
    ) -> Result<(), KeyHolderError> {
        if lanes.is_empty() {
            return Ok(());
        }
        let _writes = locked(&self.writes);
        let records: Vec<(Handle, u32, AttemptRecord)> = {
            let state = locked(&self.state);
            let keys = lanes.iter().filter_map(|lane| job.subjects[lane.index()]);
            let keys = keys.map(|key| state.ledger(key));
            keys.filter_map(|key| Some((key.0, key.1, state.subjects.get(&key)?.attempts))).collect()
        };
        Ok(vault.put_attempts(&self.id, &records)?)
    }
}

/// Locks, or panics where another thread panicked: what it guards may then be inconsistent, and no decision is better.
#[expect(clippy::disallowed_types, reason = "see the import")]
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panicked while it held this lock")
}

#[cfg(test)]
mod tests;
