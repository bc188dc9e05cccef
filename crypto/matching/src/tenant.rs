//! One tenant in the memory of the key-holder.
//!
//! Locks: `state` guards everything that changes and is held for table look-ups only, twice per batch (about 32 look-ups
//! each): never during arithmetic, never during a vault write. `writes` serialises vault writes, so that of two
//! records of one subject the later one is written last; it is taken before `state`, never after.

use crate::keyholder::KeyHolderError;
use crate::{AttemptPolicy, AttemptRecord, DecisionPolicy, Handle, Lane, LaneSet, MatchJob, TenantId};
use crate::{SubjectRecord, TenantRecord, Vault};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use trefoil_bfv::{Basis, LANES, MasterKey, Salt, Scheme, SubjectKey};
use zeroize::Zeroizing;

/// Seconds within which malformed jobs count together.
const MALFORMED_WINDOW_S: u64 = 3600;
/// Malformed jobs within the window that freeze the tenant. An honest matcher makes none; what an attacker learns from
/// each is at most whether it was malformed.
const MALFORMED_MAX: usize = 3;

/// A tenant: keys that never change and a state that does.
pub(crate) struct Tenant {
    id: TenantId,
    master: MasterKey,
    pub(crate) basis: Basis,
    writes: Mutex<()>,
    state: Mutex<State>,
}

struct State {
    policy: DecisionPolicy,
    frozen: bool,
    /// Times of recent malformed jobs, at most [`MALFORMED_MAX`].
    malformed: Vec<u64>,
    /// Boxed, so that a growing table copies pointers and leaves no keys behind.
    subjects: HashMap<(Handle, u32), Box<Subject>>,
}

struct Subject {
    lane: Lane,
    /// Derived from the salt once: deriving 32 keys anew would take longer than decrypting the batch.
    key: SubjectKey,
    attempts: AttemptRecord,
}

/// A job whose subjects are known and whose failures have been counted in advance.
pub(crate) struct Admitted {
    pub(crate) keys: [Option<SubjectKey>; LANES],
    /// The threshold in force.
    pub(crate) threshold: i32,
    /// Lanes whose budget allowed the attempt.
    charged: LaneSet,
    /// The records as they were.
    before: [AttemptRecord; LANES],
}

impl Tenant {
    pub(crate) fn restore(record: &TenantRecord, subjects: Vec<SubjectRecord>) -> Tenant {
        let master = MasterKey::from_bytes(record.master);
        let subjects = subjects.iter().map(|record| {
            let subject = Box::new(Subject::of(&master, record));
            ((record.handle, record.generation), subject)
        });
        let subjects = subjects.collect();
        Tenant {
            id: record.tenant,
            master,
            basis: Basis::from_seed(Scheme::shared(), record.basis_seed),
            writes: Mutex::new(()),
            state: Mutex::new(State {
                policy: record.policy,
                frozen: record.frozen,
                malformed: Vec::with_capacity(MALFORMED_MAX),
                subjects,
            }),
        }
    }

    /// Whether this is its master key.
    pub(crate) fn is_of(&self, master: &[u8; 32]) -> bool {
        self.master.expose_bytes() == master
    }

    /// The key of a template.
    pub(crate) fn key(&self, handle: &Handle, generation: u32, salt: &Salt) -> SubjectKey {
        self.master.subject_key(handle, generation, salt)
    }

    /// Replaces policy and frozen state, in the vault first.
    pub(crate) fn update(
        &self,
        vault: &dyn Vault,
        change: impl Fn(&mut DecisionPolicy, &mut bool),
    ) -> Result<(), KeyHolderError> {
        let _writes = locked(&self.writes);
        let (mut policy, mut frozen) = {
            let state = locked(&self.state);
            (state.policy, state.frozen)
        };
        change(&mut policy, &mut frozen);
        let master = Zeroizing::new(*self.master.expose_bytes());
        let basis_seed = self.basis.seed();
        vault.put_tenant(&TenantRecord { tenant: self.id, master: *master, basis_seed, policy, frozen })?;
        let mut state = locked(&self.state);
        if state.frozen && !frozen {
            state.malformed.clear();
        }
        (state.policy, state.frozen) = (policy, frozen);
        Ok(())
    }

    /// Adds a subject, in the vault first.
    pub(crate) fn insert(&self, vault: &dyn Vault, record: &SubjectRecord) -> Result<(), KeyHolderError> {
        let _writes = locked(&self.writes);
        let key = (record.handle, record.generation);
        if locked(&self.state).subjects.contains_key(&key) {
            return Err(KeyHolderError::SubjectExists);
        }
        vault.put_subject(&self.id, record)?;
        let subject = Box::new(Subject::of(&self.master, record));
        locked(&self.state).subjects.insert(key, subject);
        Ok(())
    }

    /// Forgets a subject, in the vault first.
    pub(crate) fn remove(
        &self,
        vault: &dyn Vault,
        handle: Handle,
        generation: u32,
    ) -> Result<(), KeyHolderError> {
        let _writes = locked(&self.writes);
        vault.delete_subject(&self.id, &handle, generation)?;
        locked(&self.state).subjects.remove(&(handle, generation));
        Ok(())
    }

    /// Looks up the subjects of a job and counts a failure for each that may try.
    pub(crate) fn admit(&self, job: &MatchJob, now: u64) -> Result<Admitted, KeyHolderError> {
        let mut state = locked(&self.state);
        if state.frozen {
            return Err(KeyHolderError::Frozen);
        }
        let mut unknown = LaneSet::EMPTY;
        for lane in job.occupied().iter() {
            let subject = job.subjects[lane.index()].and_then(|key| state.subjects.get(&key));
            if subject.is_none_or(|subject| subject.lane != lane) {
                unknown.insert(lane);
            }
        }
        if !unknown.is_empty() {
            return Err(KeyHolderError::UnknownSubjects(unknown));
        }
        let policy = state.policy.attempts;
        Ok(state.charge(job, &policy, now))
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
                let subject = job.subjects[lane.index()].and_then(|key| state.subjects.get_mut(&key));
                // A subject that was shredded in the meantime is answered like any other failure.
                let Some(subject) = subject else { continue };
                if matched.contains(lane) {
                    subject.attempts.refund(now);
                    accepted.insert(lane);
                }
                if subject.attempts != admitted.before[lane.index()] {
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
        self.write_attempts(vault, job, job.occupied())
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
            keys.filter_map(|key| Some((key.0, key.1, state.subjects.get(&key)?.attempts))).collect()
        };
        Ok(vault.put_attempts(&self.id, &records)?)
    }
}

impl Subject {
    fn of(master: &MasterKey, record: &SubjectRecord) -> Subject {
        let salt = Salt::from_bytes(record.salt);
        let key = master.subject_key(&record.handle, record.generation, &salt);
        Subject { lane: record.lane, key, attempts: record.attempts }
    }
}

impl State {
    fn charge(&mut self, job: &MatchJob, policy: &AttemptPolicy, now: u64) -> Admitted {
        let mut admitted = Admitted {
            keys: [const { None }; LANES],
            threshold: self.policy.threshold,
            charged: LaneSet::EMPTY,
            before: [AttemptRecord::default(); LANES],
        };
        for lane in job.occupied().iter() {
            let subject = job.subjects[lane.index()].and_then(|key| self.subjects.get_mut(&key));
            let Some(subject) = subject else { continue };
            admitted.keys[lane.index()] = Some(subject.key.clone());
            admitted.before[lane.index()] = subject.attempts;
            if subject.attempts.charge(policy, now) {
                admitted.charged.insert(lane);
            }
        }
        admitted
    }
}

/// Locks, or panics where another thread panicked: what it guards may then be inconsistent, and no decision is better.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panicked while it held this lock")
}
