//! Memory for many ciphertexts of one size.
//!
//! A batch reads 32 ciphertexts from all over a store that is far larger than the caches, so both the bandwidth of main
//! memory and the reach of the address translation count. An arena takes memory in slabs of many ciphertexts, asks for
//! huge pages, and never returns a slab: freed slots are used again. Taking and freeing a slot is a push or a pop under a
//! lock that is held no longer than that.

use memmap2::MmapMut;
use std::sync::{Arc, PoisonError};
#[expect(clippy::disallowed_types, reason = "a push or a pop when a template comes or goes")]
use std::sync::{Mutex, MutexGuard};

/// Slots of one slab: with 48 KiB slots a slab is 96 MiB, 48 huge pages. Memory is taken when it is written.
const SLAB_SLOTS: usize = 2048;

/// Memory for ciphertexts, bounded. Clones share it.
#[derive(Clone)]
pub struct Arena {
    shared: Arc<Shared>,
}

struct Shared {
    slot_bytes: usize,
    slots_max: usize,
    #[expect(clippy::disallowed_types, reason = "see the text of this file")]
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    slots: Vec<&'static mut [u8]>,
    made: usize,
}

/// The size of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaSize {
    /// Slots that hold a ciphertext.
    pub used: usize,
    /// Most slots that may hold one.
    pub slots_max: usize,
    /// Bytes of a slot.
    pub slot_bytes: usize,
    /// Bytes of address space taken so far.
    pub reserved_bytes: usize,
}

impl Arena {
    /// An arena of at most `slots_max` slots of `slot_bytes` bytes. Takes no memory yet.
    pub fn new(slot_bytes: usize, slots_max: usize) -> Arena {
        Arena { shared: Arc::new(Shared { slot_bytes, slots_max, free: Default::default() }) }
    }

    /// The size at this moment.
    pub fn size(&self) -> ArenaSize {
        let Shared { slot_bytes, slots_max, .. } = *self.shared;
        let free = self.shared.free();
        let used = free.made - free.slots.len();
        ArenaSize { used, slots_max, slot_bytes, reserved_bytes: free.made * slot_bytes }
    }

    /// A copy of `bytes` in a slot; none when the length is not that of a slot, all slots are taken, or the system
    /// gives no memory.
    pub(crate) fn store(&self, bytes: &[u8]) -> Option<Slot> {
        if bytes.len() != self.shared.slot_bytes {
            return None;
        }
        let place = self.shared.take()?;
        place.copy_from_slice(bytes);
        Some(Slot { place: Some(place), arena: Arc::clone(&self.shared) })
    }
}

impl Shared {
    fn free(&self) -> MutexGuard<'_, Free> {
        // A push or a pop leaves the list whole even if it panics.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<&'static mut [u8]> {
        let mut free = self.free();
        if free.slots.is_empty() {
            let count = SLAB_SLOTS.min(self.slots_max - free.made);
            let slab = slab(count * self.slot_bytes)?;
            free.made += count;
            // Reversed, so that the first slots taken are neighbours in order.
            free.slots.extend(slab.chunks_exact_mut(self.slot_bytes).rev());
        }
        free.slots.pop()
    }
}

/// Zeroed memory for the rest of the process's life, in huge pages where the system has them.
fn slab(bytes: usize) -> Option<&'static mut [u8]> {
    if bytes == 0 {
        return None;
    }
    let map = MmapMut::map_anon(bytes).ok()?;
    #[cfg(target_os = "linux")]
    {
        // Without huge pages the arena is slower but otherwise the same.
        let _ = map.advise(memmap2::Advice::HugePage);
    }
    let map: &'static mut MmapMut = Box::leak(Box::new(map));
    Some(&mut map[..])
}

/// A slot of an arena. Freed on drop; its bytes stay until the next ciphertext overwrites them.
pub(crate) struct Slot {
    /// Emptied by drop only.
    place: Option<&'static mut [u8]>,
    arena: Arc<Shared>,
}

impl Slot {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.place.as_deref().unwrap_or_default()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.arena.free().slots.extend(self.place.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_bounded_reused_and_counted() {
        let arena = Arena::new(48, 3);
        assert_eq!(arena.size(), ArenaSize { used: 0, slots_max: 3, slot_bytes: 48, reserved_bytes: 0 });
        let mut slots: Vec<Slot> = (0..3).map(|i| arena.store(&[i; 48]).expect("room")).collect();
        assert!(arena.store(&[9; 48]).is_none(), "full");
        assert!(arena.store(&[9; 47]).is_none(), "another length");
        assert_eq!((arena.size().used, arena.size().reserved_bytes), (3, 144));
        drop(slots.remove(1));
        assert_eq!(arena.size().used, 2);
        let again = arena.store(&[7; 48]).expect("room again");
        assert_eq!(
            (slots[0].bytes(), slots[1].bytes(), again.bytes()),
            (&[0; 48][..], &[2; 48][..], &[7; 48][..])
        );
        drop((slots, again));
        assert_eq!((arena.size().used, arena.size().reserved_bytes), (0, 144));
    }

    #[test]
    fn slots_survive_under_load_from_several_threads() {
        let arena = Arena::new(64, 40);
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                let arena = arena.clone();
                scope.spawn(move || {
                    for round in 0..2000u32 {
                        let mark = [thread ^ round as u8; 64];
                        let held: Vec<Slot> = (0..10).filter_map(|_| arena.store(&mark)).collect();
                        assert_eq!(held.len(), 10);
                        assert!(held.iter().all(|slot| slot.bytes() == mark));
                    }
                });
            }
        });
        assert_eq!(arena.size().used, 0);
    }
}
