//! One tenant in the memory of the key-holder.
//!
//! A batch takes no lock and writes nothing that another batch reads, unless both hold the same template: `state` is a snapshot that is
//! replaced whole, `subjects` is read without a lock, and attempts are counted in a ledger for each template. A change of the tenant (in
//! `register.rs`) is rare and serialised.

mod counts;
mod register;
mod subjects;

use crate::attempts::Ledger;
use crate::epoch::Epoch;
use crate::names::Name;
use crate::{
    AttemptRecord, DecisionPolicy, Handle, KeyHolderError, KeyStructure, Lane, LaneSet, MALFORMED_MAX, Model,
};
use crate::{MatchJob, PublicKey, TenantId, TenantRecord, Vault};
use arc_swap::{ArcSwap, Guard};
pub(crate) use counts::{Count, Counts};
use register::Register;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use subjects::{Subject, Subjects};
use trefoil_bfv::{LANES, SubjectKey, TagKey};

/// See the module.
pub(crate) struct Tenant {
    id: TenantId,
    keys: KeyStructure,
    state: ArcSwap<State>,
    /// Malformed jobs found so far. The state follows, and then the vault.
    found: AtomicU32,
    subjects: Subjects,
    register: Register,
    pub(crate) counts: Counts,
}

/// The state of a tenant that an operator's or an attacker's actions change. Never changed in place.
#[derive(Clone)]
pub(crate) struct State {
    /// The keys in use, oldest first: two while they are rotated.
    epochs: Vec<InUse>,
    policy: DecisionPolicy,
    malformed: u32,
    forgiven: u32,
}

/// One epoch's keys, with the tag key of the present version.
#[derive(Clone)]
struct InUse {
    epoch: Arc<Epoch>,
    tag_key: Option<Arc<TagKey>>,
}

/// A batch whose subjects are known, and whose attempts are charged and on record.
pub(crate) struct Admitted {
    state: Guard<Arc<State>>,
    epoch: usize,
    now: u64,
    keys: [Option<SubjectKey>; LANES],
    ledgers: [Option<(Name, Arc<Ledger>)>; LANES],
    /// Lanes that had failures in a row before.
    in_a_row: LaneSet,
}

impl State {
    pub(crate) fn is_frozen(&self) -> bool {
        self.is_frozen_by(self.malformed)
    }

    fn is_frozen_by(&self, malformed: u32) -> bool {
        malformed.saturating_sub(self.forgiven) >= MALFORMED_MAX
    }

    fn newest(&self) -> Result<&Arc<Epoch>, KeyHolderError> {
        self.epochs.last().map(|in_use| &in_use.epoch).ok_or(KeyHolderError::UnknownTenant)
    }

    fn position(&self, epoch: u32) -> Option<usize> {
        self.epochs.iter().position(|in_use| in_use.epoch.number() == epoch)
    }
}

impl InUse {
    fn new(epoch: Arc<Epoch>, version: u32) -> InUse {
        InUse { tag_key: epoch.tag_key(version).map(Arc::new), epoch }
    }
}

impl Admitted {
    /// The keys that the batch is under.
    pub(crate) fn epoch(&self) -> &Epoch {
        &self.state.epochs[self.epoch].epoch
    }

    /// The key of the subject in each lane.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (usize, &SubjectKey)> + Clone {
        self.keys.iter().enumerate().filter_map(|(lane, key)| Some((lane, key.as_ref()?)))
    }

    /// The checker of the batch's tags.
    pub(crate) fn tag_key(&self) -> Option<&TagKey> {
        self.state.epochs[self.epoch].tag_key.as_deref()
    }
}

impl Tenant {
    /// The key structure.
    pub(crate) fn structure(&self) -> KeyStructure {
        self.keys
    }

    /// The newest keys: those that templates are encrypted under.
    pub(crate) fn newest(&self) -> Result<Arc<Epoch>, KeyHolderError> {
        self.state.load().newest().cloned()
    }

    /// How many malformed jobs there were: the version of the tag keys.
    pub(crate) fn version(&self) -> u32 {
        self.state.load().malformed
    }

    /// The public keys in use, oldest first.
    pub(crate) fn public_keys(&self) -> Vec<PublicKey> {
        let state = self.state.load();
        state.epochs.iter().map(|in_use| in_use.epoch.public_key(state.malformed)).collect()
    }

    /// The record to store.
    pub(crate) fn record(&self) -> TenantRecord {
        let state = self.state.load();
        let State { policy, malformed, forgiven, .. } = **state;
        let epochs = state.epochs.iter().map(|in_use| in_use.epoch.record()).collect();
        TenantRecord { tenant: self.id, keys: self.keys, epochs, policy, malformed, forgiven }
    }

    /// Malformed jobs that no operator has investigated, and whether they freeze the tenant.
    pub(crate) fn malformed(&self) -> (u32, bool) {
        let state = self.state.load();
        (state.malformed - state.forgiven, state.is_frozen())
    }

    /// How many templates there are.
    pub(crate) fn templates(&self) -> usize {
        self.subjects.len()
    }

    /// Refuses a batch whose subjects are not all enrolled in their lanes with `model` under the keys of `epoch`, or of which one has no attempt left.
    /// Counts nothing.
    pub(crate) fn check(
        &self,
        subjects: &[Option<Name>; LANES],
        epoch: u32,
        model: Model,
        now: u64,
    ) -> Result<Arc<Epoch>, KeyHolderError> {
        let state = self.state.load();
        let found = self.find(&state, subjects, epoch, model)?;
        let spent = lanes(&found.ledgers, |(_, ledger)| !ledger.allows(&state.policy.attempts, now));
        match spent.is_empty() {
            true => Ok(Arc::clone(&state.epochs[found.epoch].epoch)),
            false => Err(self.trip(&state.policy, model, spent)),
        }
    }

    /// Charges a failed attempt to every subject of a batch, if all may try, and puts the attempts on record. `version` is that of the tag
    /// key that the batch is tagged for. Refuses a batch for another threshold than the one in force.
    pub(crate) fn admit(
        &self,
        vault: &dyn Vault,
        job: &MatchJob,
        version: Option<u32>,
        now: u64,
    ) -> Result<Admitted, KeyHolderError> {
        let state = self.state.load();
        let found = self.find(&state, &job.subjects, job.epoch, job.model)?;
        if job.threshold != found.threshold {
            return Err(KeyHolderError::OtherThreshold(found.threshold));
        }
        if version.is_some_and(|version| version != state.malformed) {
            return Err(KeyHolderError::TagKey);
        }
        let policy = state.policy.attempts;
        let Found { epoch, keys, ledgers, .. } = found;
        let in_a_row = lanes(&ledgers, |(_, ledger)| ledger.has_row());
        let charged = lanes(&ledgers, |(_, ledger)| ledger.charge(&policy, now));
        let spent = LaneSet::from_bits(lanes(&ledgers, |_| true).bits() & !charged.bits());
        if !spent.is_empty() {
            let taken_back = charged.iter().filter_map(|lane| ledgers[lane.index()].as_ref());
            taken_back.for_each(|(_, ledger)| ledger.uncharge(now));
            return Err(self.trip(&state.policy, job.model, spent));
        }
        let unreserved = lanes(&ledgers, |(_, ledger)| ledger.needs_reservation(&policy));
        let admitted = Admitted { state, epoch, now, keys, ledgers, in_a_row };
        self.put_on_record(vault, &admitted, unreserved, Ledger::reservation)?;
        Ok(admitted)
    }

    /// What a judged job may be told, decided at one moment for all jobs in flight. `before` is the count of malformed jobs at its admission.
    ///
    /// The first malformed one ends them all: it alone is counted, durably, and told what it is. The others, malformed or not, are told only that
    /// the tag keys have changed or that the tenant is frozen. So jobs in flight together tell no more than jobs one after the other.
    #[expect(
        clippy::disallowed_methods,
        reason = "for a malformed job; all others load a word that is rarely written"
    )]
    pub(crate) fn conclude(
        &self,
        vault: &dyn Vault,
        before: u32,
        is_honest: bool,
    ) -> Result<(), KeyHolderError> {
        let now = match is_honest {
            true => self.found.load(Relaxed),
            false => match self.found.compare_exchange(before, before.saturating_add(1), Relaxed, Relaxed) {
                Ok(_) => {
                    self.count_malformed(vault)?;
                    return Err(KeyHolderError::Malformed);
                }
                Err(now) => now,
            },
        };
        match now == before {
            true => Ok(()),
            false if self.state.load().is_frozen_by(now) => Err(KeyHolderError::Frozen),
            false => Err(KeyHolderError::TagKey),
        }
    }

    /// Lets a judged batch go on, or ends it with the failures charged to its subjects: see [`Tenant::conclude`].
    pub(crate) fn pass(
        &self,
        vault: &dyn Vault,
        admitted: &Admitted,
        is_honest: bool,
    ) -> Result<(), KeyHolderError> {
        let concluded = self.conclude(vault, admitted.state.malformed, is_honest);
        if concluded.is_err() {
            self.keep_failures(vault, admitted)?;
        }
        concluded
    }

    /// Ends a judged batch; `matched` is none if it does not come from an honest matcher. Refunds the failures of lanes that matched, writes the
    /// others to the vault, and only then returns the accepted lanes, so that an answer whose failure is not on record is never given.
    pub(crate) fn settle(
        &self,
        vault: &dyn Vault,
        admitted: &Admitted,
        matched: Option<LaneSet>,
    ) -> Result<LaneSet, KeyHolderError> {
        self.pass(vault, admitted, matched.is_some())?;
        let matched = matched.unwrap_or(LaneSet::EMPTY);
        let (mut accepted, mut changed) = (LaneSet::EMPTY, LaneSet::EMPTY);
        for lane in Lane::all() {
            let Some((_, ledger)) = &admitted.ledgers[lane.index()] else { continue };
            if !matched.contains(lane) {
                changed.insert(lane);
            } else if !ledger.is_closed() {
                // A subject that was shredded in the meantime is answered like any other failure, re-enrolled or not.
                ledger.matched(admitted.now);
                accepted.insert(lane);
            }
        }
        let ended = LaneSet::from_bits(accepted.bits() & admitted.in_a_row.bits());
        changed = LaneSet::from_bits(changed.bits() | ended.bits());
        self.put_on_record(vault, admitted, changed, Ledger::record)?;
        Ok(accepted)
    }

    /// Counts the lanes that get no attempt.
    fn trip(&self, policy: &DecisionPolicy, model: Model, spent: LaneSet) -> KeyHolderError {
        self.counts.add(Count::Trips, spent.len());
        if policy.previous.is_some_and(|(previous, _)| previous == model) {
            self.counts.add(Count::TripsOfPrevious, spent.len());
        }
        KeyHolderError::NoAttempts(spent)
    }

    /// How many subjects have no attempt at `now`. Both forms of a template that is being renewed are one.
    pub(crate) fn locked_out(&self, now: u64) -> u64 {
        let policy = self.state.load().policy.attempts;
        self.subjects.count(|&(_, generation), Subject { ledger, .. }| {
            ledger.generation() == generation && !ledger.allows(&policy, now)
        })
    }

    /// Ends a batch whose subjects keep the failures that they were charged.
    pub(crate) fn keep_failures(&self, vault: &dyn Vault, admitted: &Admitted) -> Result<(), KeyHolderError> {
        self.put_on_record(vault, admitted, lanes(&admitted.ledgers, |_| true), Ledger::record)
    }

    /// Ends a batch that no other seat has heard of and that was not decided: it was an attempt and no failure.
    pub(crate) fn forgive(&self, admitted: &Admitted) {
        admitted.ledgers.iter().flatten().for_each(|(_, ledger)| ledger.forgive(admitted.now));
    }

    /// The subjects of a batch, all of which must be enrolled in their lanes with `model` under the keys of `epoch`.
    fn find(
        &self,
        state: &State,
        subjects: &[Option<Name>; LANES],
        epoch: u32,
        model: Model,
    ) -> Result<Found, KeyHolderError> {
        if state.is_frozen() {
            return Err(KeyHolderError::Frozen);
        }
        let threshold = state.policy.threshold_of(model).ok_or(KeyHolderError::Model)?;
        let (mut keys, mut ledgers) = ([const { None }; LANES], [const { None }; LANES]);
        let unknown = self.subjects.look_up(subjects, |found| {
            let mut unknown = LaneSet::EMPTY;
            for lane in Lane::all() {
                let Some(name) = subjects[lane.index()] else { continue };
                match found[lane.index()] {
                    Some(subject) if (subject.lane, subject.epoch, subject.model) == (lane, epoch, model) => {
                        keys[lane.index()] = Some(subject.key.clone());
                        ledgers[lane.index()] = Some((name, Arc::clone(&subject.ledger)));
                    }
                    _ => _ = unknown.insert(lane),
                }
            }
            unknown
        });
        match state.position(epoch) {
            Some(epoch) if unknown.is_empty() => Ok(Found { epoch, threshold, keys, ledgers }),
            _ => Err(KeyHolderError::UnknownSubjects(unknown)),
        }
    }

    /// Writes the records of some lanes to the vault.
    fn put_on_record(
        &self,
        vault: &dyn Vault,
        admitted: &Admitted,
        lanes: LaneSet,
        record: impl Fn(&Ledger) -> AttemptRecord,
    ) -> Result<(), KeyHolderError> {
        if lanes.is_empty() {
            return Ok(());
        }
        let ledgers: Vec<_> =
            lanes.iter().filter_map(|lane| admitted.ledgers[lane.index()].as_ref()).collect();
        let records: Vec<(Handle, u32, AttemptRecord)> = ledgers
            .iter()
            .map(|((handle, _), ledger)| (*handle, ledger.generation(), record(ledger)))
            .collect();
        vault.put_attempts(&self.id, &records)?;
        ledgers.iter().zip(&records).for_each(|((_, ledger), (.., record))| ledger.recorded(record));
        Ok(())
    }
}

/// The subjects that a batch names.
struct Found {
    epoch: usize,
    /// The one in force for their model.
    threshold: i32,
    keys: [Option<SubjectKey>; LANES],
    ledgers: [Option<(Name, Arc<Ledger>)>; LANES],
}

/// The lanes of which this holds.
fn lanes<T>(of: &[Option<T>; LANES], holds: impl Fn(&T) -> bool) -> LaneSet {
    let mut found = LaneSet::EMPTY;
    for lane in Lane::all().filter(|lane| of[lane.index()].as_ref().is_some_and(&holds)) {
        found.insert(lane);
    }
    found
}

fn only(lane: Lane) -> LaneSet {
    let mut only = LaneSet::EMPTY;
    only.insert(lane);
    only
}

#[cfg(test)]
mod tests;
