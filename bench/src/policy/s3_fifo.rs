//! S3-FIFO: a small queue on probation before the main one, and a memory of what did not pass.
//!
//! Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all you need for cache eviction" (SOSP 2023), algorithm 1, with the
//! sizes given there: a tenth of the capacity for the small queue, as many ghosts as the main queue has places.

use std::collections::{HashMap, VecDeque};

use super::Policy;

/// Keeps keys that were requested again while they were on probation.
pub(crate) struct S3Fifo {
    capacity: usize,
    small_target: usize,
    /// Requests of each held key since it came or was last spared, at most [`USES_MAX`].
    uses: HashMap<u64, u8>,
    small: VecDeque<u64>,
    main: VecDeque<u64>,
    ghosts: Ghosts,
}

/// The last keys that were dropped from the small queue.
struct Ghosts {
    capacity: usize,
    /// Dropped keys in order, with the number of the drop; entries taken back since are skipped.
    order: VecDeque<(u64, u64)>,
    /// The number of the last drop of each key.
    dropped: HashMap<u64, u64>,
    drops: u64,
}

/// Uses are counted in two bits.
const USES_MAX: u8 = 3;
/// Uses on probation that earn a place in the main queue.
const USES_TO_PASS: u8 = 2;

impl S3Fifo {
    /// An empty cache of `capacity` keys, at least two.
    pub(crate) fn new(capacity: usize) -> Self {
        let capacity = capacity.max(2);
        let small_target = (capacity / 10).max(1);
        S3Fifo {
            capacity,
            small_target,
            uses: HashMap::new(),
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghosts: Ghosts::new(capacity - small_target),
        }
    }

    /// Makes room for one key.
    fn evict(&mut self) {
        while self.uses.len() >= self.capacity {
            if self.small.len() >= self.small_target || self.main.is_empty() {
                self.pass_or_drop_from_small();
            } else {
                self.spare_or_drop_from_main();
            }
        }
    }

    fn pass_or_drop_from_small(&mut self) {
        let Some(key) = self.small.pop_front() else { return };
        let uses = self.uses.entry(key).or_default();
        if *uses < USES_TO_PASS {
            self.uses.remove(&key);
            self.ghosts.add(key);
            return;
        }
        *uses = 0;
        self.main.push_back(key);
        while self.main.len() > self.capacity - self.small_target {
            self.spare_or_drop_from_main();
        }
    }

    fn spare_or_drop_from_main(&mut self) {
        let Some(key) = self.main.pop_front() else { return };
        match self.uses.get_mut(&key) {
            Some(uses) if *uses > 0 => {
                *uses -= 1;
                self.main.push_back(key);
            }
            _ => {
                self.uses.remove(&key);
            }
        }
    }
}

impl Policy for S3Fifo {
    fn request(&mut self, key: u64) -> bool {
        if let Some(uses) = self.uses.get_mut(&key) {
            *uses = (*uses + 1).min(USES_MAX);
            return true;
        }
        let returns = self.ghosts.take(key);
        self.evict();
        self.uses.insert(key, 0);
        if returns {
            self.main.push_back(key)
        } else {
            self.small.push_back(key)
        }
        false
    }

    fn held(&self) -> usize {
        self.uses.len()
    }
}

impl Ghosts {
    fn new(capacity: usize) -> Self {
        Ghosts { capacity, order: VecDeque::new(), dropped: HashMap::new(), drops: 0 }
    }

    fn add(&mut self, key: u64) {
        self.drops += 1;
        self.dropped.insert(key, self.drops);
        self.order.push_back((key, self.drops));
        // The order also holds keys that returned; it is kept to twice the ghosts.
        while self.dropped.len() > self.capacity || self.order.len() > 2 * self.capacity {
            let Some((oldest, drop)) = self.order.pop_front() else { return };
            if self.dropped.get(&oldest) == Some(&drop) {
                self.dropped.remove(&oldest);
            }
        }
    }

    fn take(&mut self, key: u64) -> bool {
        self.dropped.remove(&key).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::hits;
    use super::*;

    fn queues(cache: &S3Fifo) -> (Vec<u64>, Vec<u64>) {
        (cache.small.iter().copied().collect(), cache.main.iter().copied().collect())
    }

    #[test]
    fn keys_used_twice_on_probation_pass_and_others_become_ghosts() {
        // Ten places: one small, nine main.
        let mut cache = S3Fifo::new(10);
        hits(&mut cache, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(hits(&mut cache, &[1, 1, 2]), [true, true, true]);
        // 11 needs room: 1 passes, 2 with one use does not.
        assert_eq!(hits(&mut cache, &[11]), [false]);
        assert_eq!(queues(&cache), ((3..=11).collect(), vec![1]));
        assert_eq!(cache.held(), 10);
        // 2 is remembered and comes back to the main queue; 3 makes room.
        assert_eq!(hits(&mut cache, &[2, 2]), [false, true]);
        assert_eq!(queues(&cache), ((4..=11).collect(), vec![1, 2]));
        assert!(cache.ghosts.take(3) && !cache.ghosts.take(2));
    }

    #[test]
    fn used_keys_of_the_main_queue_are_spared_once_per_use() {
        let mut cache = S3Fifo::new(10);
        // 1 to 9 pass; 10 stays on probation.
        for key in 1..=9 {
            hits(&mut cache, &[key, key, key]);
        }
        hits(&mut cache, &[10, 11, 12]);
        assert_eq!(queues(&cache), (vec![12], (1..=9).collect()));
        // 10 is a ghost: it returns to a full main queue. The small queue gives 12 up for it.
        hits(&mut cache, &[1, 10]);
        assert_eq!(queues(&cache), (vec![], vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
        // Now the main queue must give: 1 was used and is spared, 2 goes.
        hits(&mut cache, &[13]);
        assert_eq!(queues(&cache), (vec![13], vec![3, 4, 5, 6, 7, 8, 9, 10, 1]));
    }

    #[test]
    fn ghosts_are_as_many_as_the_main_queue_has_places_and_the_oldest_goes() {
        let mut ghosts = Ghosts::new(2);
        for key in [1, 2, 3] {
            ghosts.add(key);
        }
        assert_eq!([1, 2, 3].map(|key| ghosts.take(key)), [false, true, true]);
        for key in [4, 5, 4, 6] {
            ghosts.add(key);
        }
        assert_eq!([4, 5, 6].map(|key| ghosts.take(key)), [true, false, true], "4 was dropped again after 5");
        for key in 0..1_000 {
            ghosts.add(key);
            ghosts.take(key);
        }
        assert!(ghosts.order.len() <= 4 && ghosts.dropped.is_empty());
    }

    #[test]
    fn never_more_keys_than_places() {
        for capacity in [2, 3, 10, 25] {
            let mut cache = S3Fifo::new(capacity);
            let mut state = 1u64;
            for _ in 0..10_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                cache.request((state >> 33) % 40);
                assert!(cache.held() <= capacity);
                assert_eq!(cache.small.len() + cache.main.len(), cache.held());
            }
        }
    }
}
