//! What changes of a tenant: its subjects, its keys, and what is counted.

use super::MALFORMED_MAX;
use super::subjects::{Place, Subjects};
use crate::epoch::Epoch;
use crate::keyholder::KeyHolderError;
use crate::names::Name;
use crate::{AttemptPolicy, AttemptRecord, DecisionPolicy, Lane, LaneSet, MatchJob};
use crate::{SubjectRecord, TenantRecord};
use std::sync::Arc;
use trefoil_bfv::{LANES, SubjectKey};

/// See the module.
pub(super) struct State {
    /// The keys in use, oldest first: two while they are rotated.
    pub(super) epochs: Vec<Arc<Epoch>>,
    pub(super) policy: DecisionPolicy,
    pub(super) frozen: bool,
    /// Times of recent malformed jobs, at most [`MALFORMED_MAX`].
    pub(super) malformed: Vec<u64>,
    pub(super) subjects: Subjects,
}

/// One template of a subject.
pub(super) struct Subject {
    pub(super) lane: Lane,
    pub(super) epoch: u32,
    /// The generation that was made of it while the keys are rotated. Its record of attempts is the one that counts.
    pub(super) successor: Option<u32>,
    /// The generation that it was made of.
    pub(super) renewed_from: Option<u32>,
    /// Derived from the salt once: deriving 32 keys anew would take longer than decrypting the batch.
    pub(super) key: SubjectKey,
    pub(super) attempts: AttemptRecord,
}

/// A job whose subjects are known and whose failures have been counted in advance.
pub(crate) struct Admitted {
    pub(crate) keys: [Option<SubjectKey>; LANES],
    /// The keys that the batch is under.
    pub(crate) epoch: Arc<Epoch>,
    /// The threshold in force.
    pub(crate) threshold: i32,
    /// Lanes whose budget allowed the attempt.
    pub(super) charged: LaneSet,
    /// Where the subjects are, if they have not been shredded since.
    pub(super) places: Places,
    /// The records as they were.
    pub(super) before: [AttemptRecord; LANES],
}

/// Where the subjects of a batch are.
pub(crate) type Places = [Option<Place>; LANES];

impl Subject {
    pub(super) fn of(epoch: &Epoch, record: &SubjectRecord) -> Subject {
        let SubjectRecord { lane, renewed_from, attempts, .. } = *record;
        let (epoch, key) = (epoch.number(), epoch.subject_key(record));
        Subject { lane, epoch, successor: None, renewed_from, key, attempts }
    }
}

impl State {
    /// The state of a record, with the subjects whose keys are there.
    pub(super) fn restore(record: &TenantRecord, subjects: &[SubjectRecord]) -> State {
        let epochs: Vec<Arc<Epoch>> =
            record.epochs.iter().map(|epoch| Arc::new(Epoch::restore(record.keys, epoch))).collect();
        let of_epoch = |number: u32| epochs.iter().find(|epoch| epoch.number() == number);
        let mut table = Subjects::default();
        for record in subjects {
            if let Some(epoch) = of_epoch(record.epoch) {
                table.insert((record.handle, record.generation), Subject::of(epoch, record));
            }
        }
        if let [old, new] = &epochs[..] {
            for record in subjects.iter().filter(|record| record.epoch == new.number()) {
                let from = record.renewed_from.and_then(|from| table.get_mut(&(record.handle, from)));
                if let Some(subject) = from.filter(|subject| subject.epoch == old.number()) {
                    subject.successor = Some(record.generation);
                }
            }
        }
        State {
            epochs,
            policy: record.policy,
            frozen: record.frozen,
            malformed: Vec::with_capacity(MALFORMED_MAX),
            subjects: table,
        }
    }

    /// The template whose record of attempts counts for this one: itself, or what it was renewed as.
    pub(super) fn ledger(&self, (handle, generation): Name) -> Name {
        let successor = self.subjects.get(&(handle, generation)).and_then(|subject| subject.successor);
        (handle, successor.unwrap_or(generation))
    }

    /// The other form of a template that was renewed: what it was made of, or what was made of it.
    pub(super) fn other_form(&self, (handle, generation): Name) -> Option<u32> {
        let subject = self.subjects.get(&(handle, generation))?;
        let made_of = subject.renewed_from.filter(|from| {
            let from = self.subjects.get(&(handle, *from));
            from.is_some_and(|from| from.successor == Some(generation))
        });
        subject.successor.or(made_of)
    }

    /// The record of attempts that counts for the subject in a place, unless it was shredded.
    pub(super) fn attempts(&mut self, place: Place, (handle, _): Name) -> Option<&mut AttemptRecord> {
        let ledger = match self.subjects.at(place)?.successor {
            Some(successor) => self.subjects.get_mut(&(handle, successor)),
            None => self.subjects.at_mut(place),
        };
        ledger.map(|subject| &mut subject.attempts)
    }

    /// The keys of `epoch`, if nothing is frozen and every subject is enrolled in its lane under them; and where they are.
    pub(super) fn known(
        &self,
        subjects: &[Option<Name>; LANES],
        epoch: u32,
    ) -> Result<(Arc<Epoch>, Places), KeyHolderError> {
        if self.frozen {
            return Err(KeyHolderError::Frozen);
        }
        // All places before the first subject: none of these reads waits for another.
        let places = subjects.each_ref().map(|name| self.subjects.find(name.as_ref()?));
        let mut unknown = LaneSet::EMPTY;
        for lane in Lane::all().filter(|lane| subjects[lane.index()].is_some()) {
            let subject = places[lane.index()].and_then(|place| self.subjects.at(place));
            if !subject.is_some_and(|subject| subject.lane == lane && subject.epoch == epoch) {
                unknown.insert(lane);
            }
        }
        match self.epochs.iter().find(|known| known.number() == epoch) {
            Some(known) if unknown.is_empty() => Ok((Arc::clone(known), places)),
            _ => Err(KeyHolderError::UnknownSubjects(unknown)),
        }
    }

    /// Counts a failure for each lane that may try.
    pub(super) fn charge(
        &mut self,
        job: &MatchJob,
        (epoch, places): (Arc<Epoch>, Places),
        policy: &AttemptPolicy,
        now: u64,
    ) -> Admitted {
        let mut admitted = Admitted {
            keys: [const { None }; LANES],
            epoch,
            threshold: self.policy.threshold,
            charged: LaneSet::EMPTY,
            places,
            before: [AttemptRecord::default(); LANES],
        };
        for lane in Lane::all() {
            let (Some(place), Some(name)) = (places[lane.index()], job.subjects[lane.index()]) else {
                continue;
            };
            let Some(subject) = self.subjects.at(place) else { continue };
            admitted.keys[lane.index()] = Some(subject.key.clone());
            let Some(attempts) = self.attempts(place, name) else { continue };
            admitted.before[lane.index()] = *attempts;
            if attempts.charge(policy, now) {
                admitted.charged.insert(lane);
            }
        }
        admitted
    }
}
