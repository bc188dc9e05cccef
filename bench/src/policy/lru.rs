//! Least recently used.

use std::collections::HashMap;

use super::Policy;

/// Keeps the keys that were requested last.
pub(crate) struct Lru {
    capacity: usize,
    /// Where each held key is in `nodes`.
    places: HashMap<u64, usize>,
    /// A ring; `nodes[0]` holds no key: it stands between the oldest and the newest.
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Default)]
struct Node {
    key: u64,
    newer: usize,
    older: usize,
}

impl Lru {
    /// An empty cache of `capacity` keys, at least one.
    pub(crate) fn new(capacity: usize) -> Self {
        Lru { capacity: capacity.max(1), places: HashMap::new(), nodes: vec![Node::default()] }
    }

    fn unlink(&mut self, place: usize) {
        let Node { newer, older, .. } = self.nodes[place];
        self.nodes[newer].older = older;
        self.nodes[older].newer = newer;
    }

    fn make_newest(&mut self, place: usize) {
        let newest = self.nodes[0].older;
        self.nodes[place].newer = 0;
        self.nodes[place].older = newest;
        self.nodes[newest].newer = place;
        self.nodes[0].older = place;
    }

    /// A place for a new key: a fresh one, or that of the oldest.
    fn vacate(&mut self) -> usize {
        if self.places.len() < self.capacity {
            self.nodes.push(Node::default());
            return self.nodes.len() - 1;
        }
        let oldest = self.nodes[0].newer;
        self.unlink(oldest);
        self.places.remove(&self.nodes[oldest].key);
        oldest
    }
}

impl Policy for Lru {
    fn request(&mut self, key: u64) -> bool {
        let held = self.places.get(&key).copied();
        let place = match held {
            Some(place) => {
                self.unlink(place);
                place
            }
            None => {
                let place = self.vacate();
                self.nodes[place].key = key;
                self.places.insert(key, place);
                place
            }
        };
        self.make_newest(place);
        held.is_some()
    }

    fn held(&self) -> usize {
        self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::hits;
    use super::*;
    use crate::trace::Trace;

    #[test]
    fn the_longest_unused_key_goes() {
        let mut lru = Lru::new(3);
        // 1 2 3 fill it; 1 is renewed, so 4 displaces 2; 2 displaces 3; 3 displaces 1.
        let found = hits(&mut lru, &[1, 2, 3, 1, 4, 2, 1, 4, 3, 2]);
        assert_eq!(found, [false, false, false, true, false, false, true, true, false, false]);
        assert_eq!(lru.held(), 3);
    }

    #[test]
    fn a_loop_longer_than_the_cache_never_hits_and_one_that_fits_does() {
        let requests: Vec<u64> = (0..40).map(|n| n % 4).collect();
        assert!(!hits(&mut Lru::new(3), &requests).contains(&true));
        assert_eq!(hits(&mut Lru::new(4), &requests).iter().filter(|&&hit| hit).count(), 36);
        assert!(!hits(&mut Lru::new(1), &[1, 2, 1, 2]).contains(&true));
        assert_eq!(hits(&mut Lru::new(1), &[1, 1]), [false, true]);
    }

    /// The stack property: a request hits exactly if fewer than `capacity` other keys came since its last time.
    #[test]
    fn hits_on_a_recorded_trace_are_those_of_the_definition() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/traces/web12.u64.zst");
        let requests = &Trace::read(&path).expect("trace").requests[..20_000];
        let mut recent: Vec<u64> = Vec::new();
        let by_definition: Vec<bool> = requests
            .iter()
            .map(|key| {
                let depth = recent.iter().rev().position(|other| other == key);
                if let Some(depth) = depth {
                    recent.remove(recent.len() - 1 - depth);
                }
                recent.push(*key);
                depth.is_some_and(|depth| depth < 300)
            })
            .collect();
        assert_eq!(hits(&mut Lru::new(300), requests), by_definition);
    }
}
