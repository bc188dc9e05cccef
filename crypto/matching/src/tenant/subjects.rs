//! The templates of a tenant, by subject and generation.
//!
//! Batches look up names without a lock while enrolments add others, in a papaya map. A removed template is wiped as soon
//! as no look-up is in flight.

use crate::attempts::Ledger;
use crate::epoch::Epoch;
use crate::names::{Name, NameHash};
use crate::{Lane, Model, SubjectRecord};
use papaya::HashMap;
use std::sync::Arc;
use trefoil_bfv::SubjectKey;

/// One template of a subject.
pub(crate) struct Subject {
    pub(crate) lane: Lane,
    pub(crate) model: Model,
    pub(crate) epoch: u32,
    /// The generation that it was made of while the keys were rotated.
    pub(crate) renewed_from: Option<u32>,
    /// Derived from the salt once: deriving 32 keys again would take longer than decrypting the batch.
    pub(crate) key: SubjectKey,
    /// Attempts, which both forms of a template share while it is renewed.
    pub(crate) ledger: Arc<Ledger>,
}

/// See the module.
pub(crate) struct Subjects {
    map: HashMap<Name, Subject, NameHash>,
}

impl Subject {
    pub(crate) fn of(epoch: &Epoch, record: &SubjectRecord, ledger: Arc<Ledger>) -> Subject {
        let SubjectRecord { lane, model, renewed_from, .. } = *record;
        Subject { lane, model, epoch: epoch.number(), renewed_from, key: epoch.subject_key(record), ledger }
    }
}

impl Subjects {
    pub(crate) fn with_capacity(templates: usize) -> Subjects {
        let map = HashMap::builder()
            .capacity(templates)
            .hasher(NameHash::default())
            // What is removed is dropped at once, not with the next 32.
            .collector(seize::Collector::new().batch_size(1));
        Subjects { map: map.build() }
    }

    /// The result of `read` for the templates of these names, all looked up at one time.
    pub(crate) fn look_up<const COUNT: usize, T>(
        &self,
        names: &[Option<Name>; COUNT],
        read: impl FnOnce([Option<&Subject>; COUNT]) -> T,
    ) -> T {
        let guard = self.map.guard();
        read(names.each_ref().map(|name| self.map.get(name.as_ref()?, &guard)))
    }

    /// The result of `read` for one template, if it is there.
    pub(crate) fn read<T>(&self, name: &Name, read: impl FnOnce(&Subject) -> T) -> Option<T> {
        self.map.pin().get(name).map(read)
    }

    pub(crate) fn contains(&self, name: &Name) -> bool {
        self.map.pin().contains_key(name)
    }

    /// Adds a template, replacing one of the same name.
    pub(crate) fn insert(&self, name: Name, subject: Subject) {
        self.map.pin().insert(name, subject);
    }

    /// Forgets a template.
    pub(crate) fn remove(&self, name: &Name) {
        self.map.pin().remove(name);
    }

    /// Removes every template that `keep` rejects.
    pub(crate) fn retain(&self, mut keep: impl FnMut(&Subject) -> bool) {
        self.map.pin().retain(|_, subject| keep(subject));
    }

    /// How many templates are such. Looks at each.
    pub(crate) fn count(&self, is_such: impl Fn(&Name, &Subject) -> bool) -> u64 {
        self.map.pin().iter().filter(|(name, subject)| is_such(name, subject)).count() as u64
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AttemptRecord;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use trefoil_bfv::{MasterKey, Salt};
    use trefoil_types::Handle;

    fn subject(epoch: u32) -> Subject {
        let salt = Salt::from_bytes([1; 32]);
        Subject {
            lane: Lane::new(3).expect("below 32"),
            model: Model::of("model", 128).expect("a width"),
            epoch,
            renewed_from: None,
            key: MasterKey::from_bytes([2; 32]).subject_key(&Handle::new([3; 32]), 0, &salt),
            ledger: Arc::new(Ledger::restore(&AttemptRecord::default(), 0)),
        }
    }

    #[test]
    fn templates_are_found_while_others_come_and_go() {
        let subjects = Subjects::with_capacity(8);
        let name = |i: u32| (Handle::new([9; 32]), i);
        (0..500).for_each(|i| subjects.insert(name(i), subject(i)));
        subjects.retain(|subject| subject.epoch % 3 != 0);
        (0..500).filter(|i| i % 5 == 1).for_each(|i| subjects.remove(&name(i)));
        for i in 0..500 {
            let kept = i % 3 != 0 && i % 5 != 1;
            assert_eq!(subjects.read(&name(i), |subject| subject.epoch), kept.then_some(i));
        }
        let names: [Option<Name>; 3] = [Some(name(2)), None, Some(name(3))];
        let found =
            subjects.look_up(&names, |found| found.map(|subject| subject.map(|subject| subject.epoch)));
        assert_eq!(found, [Some(2), None, None]);
    }

    /// A removed template is dropped, and its key wiped with it, no later than the end of the look-ups that may see it.
    #[test]
    fn a_removed_template_does_not_linger() {
        let subjects = Subjects::with_capacity(8);
        let kept = Arc::new(Ledger::restore(&AttemptRecord::default(), 0));
        subjects.insert((Handle::new([1; 32]), 0), Subject { ledger: Arc::clone(&kept), ..subject(0) });
        assert_eq!(Arc::strong_count(&kept), 2);
        subjects.remove(&(Handle::new([1; 32]), 0));
        assert_eq!(Arc::strong_count(&kept), 1);
        subjects.insert((Handle::new([1; 32]), 0), Subject { ledger: Arc::clone(&kept), ..subject(0) });
        subjects.insert((Handle::new([1; 32]), 0), subject(1));
        assert_eq!(Arc::strong_count(&kept), 1, "nor one that was replaced");
        subjects.insert((Handle::new([2; 32]), 0), Subject { ledger: Arc::clone(&kept), ..subject(0) });
        subjects.retain(|_| false);
        assert_eq!((Arc::strong_count(&kept), subjects.len()), (1, 0));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "counts in a test")]
    fn look_ups_see_whole_templates_while_they_are_replaced() {
        let subjects = Subjects::with_capacity(1);
        let (name, seen) = ((Handle::new([7; 32]), 0), AtomicUsize::new(0));
        subjects.insert(name, subject(0));
        std::thread::scope(|scope| {
            scope.spawn(|| (1..2_000).for_each(|i| subjects.insert(name, subject(i))));
            scope.spawn(|| {
                for _ in 0..2_000 {
                    let found = subjects.look_up(&[Some(name)], |[found]| found.map(|subject| subject.epoch));
                    assert!(found.is_some_and(|epoch| epoch < 2_000));
                    seen.fetch_add(1, SeqCst);
                }
            });
        });
        assert_eq!(seen.into_inner(), 2_000);
    }
}
