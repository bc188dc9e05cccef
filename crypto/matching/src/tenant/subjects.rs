//! The subjects of a tenant, by name and by place.
//!
//! A batch needs 32 subjects three times: to see whether they are known, to charge them, and to settle. Each is looked up by
//! name once; then its place is known. Places never move, so a table that grows copies names and leaves no keys behind, and a place is
//! told from what it was before by how often it has been emptied.

use super::state::Subject;
use crate::names::{ByName, Name};

/// See the module.
#[derive(Default)]
pub(super) struct Subjects {
    places: ByName<Place>,
    chunks: Vec<Box<[Slot]>>,
    /// Slots without a subject.
    free: Vec<u32>,
}

/// Where a subject is until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    slot: u32,
    emptied: u32,
}

/// Room for a subject, in two lines of memory that processors fetch together.
#[derive(Default)]
#[repr(align(128))]
struct Slot {
    subject: Option<Subject>,
    /// How often a subject was removed from here.
    emptied: u32,
}

/// Slots that are made at a time: 32 KiB, little beside the keys of a tenant; the list of chunks of a million subjects has 64 KiB.
const CHUNK: usize = 256;

impl Subjects {
    /// The place of a subject.
    pub(super) fn find(&self, name: &Name) -> Option<Place> {
        self.places.get(name).copied()
    }

    /// The subject in a place, unless it was removed since.
    pub(super) fn at(&self, place: Place) -> Option<&Subject> {
        let slot = &self.chunks[place.slot as usize / CHUNK][place.slot as usize % CHUNK];
        slot.subject.as_ref().filter(|_| slot.emptied == place.emptied)
    }

    /// As [`Subjects::at`], to change it.
    pub(super) fn at_mut(&mut self, place: Place) -> Option<&mut Subject> {
        let slot = self.slot(place.slot);
        slot.subject.as_mut().filter(|_| slot.emptied == place.emptied)
    }

    pub(super) fn get(&self, name: &Name) -> Option<&Subject> {
        self.at(self.find(name)?)
    }

    pub(super) fn get_mut(&mut self, name: &Name) -> Option<&mut Subject> {
        self.at_mut(self.find(name)?)
    }

    /// Adds a subject. One of the same name is forgotten.
    pub(super) fn insert(&mut self, name: Name, subject: Subject) {
        self.remove(&name);
        if self.free.is_empty() {
            let first = self.chunks.len() * CHUNK;
            self.chunks.push((0..CHUNK).map(|_| Slot::default()).collect());
            self.free.extend((first..first + CHUNK).rev().map(|slot| slot as u32));
        }
        let Some(free) = self.free.pop() else { return };
        let slot = self.slot(free);
        slot.subject = Some(subject);
        let place = Place { slot: free, emptied: slot.emptied };
        self.places.insert(name, place);
    }

    /// Forgets a subject: its key is wiped where it was.
    pub(super) fn remove(&mut self, name: &Name) {
        let Some(place) = self.places.remove(name) else { return };
        self.slot(place.slot).empty();
        self.free.push(place.slot);
    }

    /// Forgets every subject that is not to be kept.
    pub(super) fn retain(&mut self, keep: impl Fn(&Subject) -> bool) {
        let Subjects { places, chunks, free } = self;
        places.retain(|_, place| {
            let slot = slot_in(chunks, place.slot);
            let kept = slot.subject.as_ref().is_some_and(&keep);
            if !kept {
                slot.empty();
                free.push(place.slot);
            }
            kept
        });
    }

    fn slot(&mut self, slot: u32) -> &mut Slot {
        slot_in(&mut self.chunks, slot)
    }
}

impl Slot {
    fn empty(&mut self) {
        (self.subject, self.emptied) = (None, self.emptied.wrapping_add(1));
    }
}

fn slot_in(chunks: &mut [Box<[Slot]>], slot: u32) -> &mut Slot {
    &mut chunks[slot as usize / CHUNK][slot as usize % CHUNK]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lane;
    use trefoil_bfv::{MasterKey, Salt};

    fn subject(epoch: u32) -> Subject {
        let salt = Salt::from_bytes([1; 32]);
        Subject {
            lane: Lane::new(3).expect("below 32"),
            epoch,
            successor: None,
            renewed_from: None,
            key: MasterKey::from_bytes([2; 32]).subject_key(&[3; 32], 0, &salt),
            attempts: crate::AttemptRecord::default(),
        }
    }

    #[test]
    fn subjects_stay_where_they_are_while_others_come_and_go() {
        let name = |i: u32| ([9; 32], i);
        let mut subjects = Subjects::default();
        let count = 3 * CHUNK as u32;
        let mut places = Vec::new();
        for i in 0..count {
            subjects.insert(name(i), subject(i));
            places.push(subjects.find(&name(i)).expect("there"));
        }
        let address = |subjects: &Subjects, i: u32| {
            std::ptr::from_ref(subjects.at(places[i as usize]).expect("there")).addr()
        };
        let before: Vec<usize> = (0..count).map(|i| address(&subjects, i)).collect();
        assert!(before.iter().all(|address| address % 128 == 0) && size_of::<Slot>() == 128);
        subjects.retain(|subject| subject.epoch % 3 != 0);
        for i in count..4 * count {
            subjects.insert(name(i), subject(i));
        }
        for i in 0..count {
            assert_eq!(subjects.find(&name(i)).is_some(), i % 3 != 0);
            assert_eq!(subjects.at(places[i as usize]).is_some(), i % 3 != 0, "no other in its place");
            if i % 3 != 0 {
                assert_eq!(address(&subjects, i), before[i as usize]);
                assert_eq!(subjects.get(&name(i)).map(|subject| subject.epoch), Some(i));
            }
        }
        assert_eq!(subjects.chunks.len(), (4 * count - count / 3).div_ceil(CHUNK as u32) as usize);
    }

    #[test]
    fn a_subject_of_the_same_name_is_another() {
        let name = ([9; 32], 5);
        let mut subjects = Subjects::default();
        subjects.insert(name, subject(1));
        let first = subjects.find(&name).expect("there");
        // Replaced, then removed and added again.
        subjects.insert(name, subject(2));
        assert!(subjects.at(first).is_none() && subjects.at_mut(first).is_none());
        let second = subjects.find(&name).expect("there");
        assert_eq!(subjects.at(second).map(|subject| subject.epoch), Some(2));
        subjects.remove(&name);
        assert!(subjects.at(second).is_none() && subjects.get(&name).is_none());
        subjects.insert(name, subject(3));
        assert!(subjects.at(second).is_none());
        assert_eq!(subjects.get_mut(&name).map(|subject| subject.epoch), Some(3));
    }
}
