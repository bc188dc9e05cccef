//! Which entry of a full set makes room: W-TinyLFU within a set.
//!
//! Entries of a set are ordered by age. The newest few form the window: they stay for a while
//! whatever their frequency, so a session that begins now is cached even beside old popular ones.
//! When a new entry comes, the oldest of the window competes with the least used of the rest, and
//! the one that was asked for more often stays. A winner by defence pays with one unit of heat, so
//! what was popular once and is no longer wears out: ageing without a clock, a rate set by how
//! often somebody actually wants the place.
//!
//! Pure functions of the set's order and heats; the table holds and publishes them.

use super::sketch::MAX_COUNT;

/// Entries per set. 16 tags of 16 bits fill half a cache line, and 16 four-bit positions one word.
pub(super) const WAYS: usize = 16;
/// Ways that belong to the window: a quarter gave the best mean hit ratio of the fixed sizes over
/// recorded traces.
const WINDOW: usize = 4;

/// The ways of a set from newest to oldest, four bits each, the newest in the lowest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order(pub(super) u64);

/// The outcome of a contest for a place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Contest {
    /// The way whose entry goes.
    pub(super) loser: usize,
    /// The way that stayed by defending its place, and pays for it.
    pub(super) defender: Option<usize>,
}

impl Order {
    /// Way 0 newest, way 15 oldest.
    pub(super) const INITIAL: Self = Self(0xFEDC_BA98_7654_3210);

    fn way_at(self, position: usize) -> usize {
        (self.0 >> (4 * position) & 15) as usize
    }

    /// Makes `way` the newest; the newer ones move back by one.
    pub(super) fn renew(self, way: usize) -> Self {
        let position = (0..WAYS).find(|&p| self.way_at(p) == way).unwrap_or(WAYS - 1);
        let newer = self.0 & ((1 << (4 * position)) - 1);
        let older = self.0.checked_shr(4 * (position as u32 + 1)).unwrap_or(0);
        let older = older.checked_shl(4 * (position as u32 + 1)).unwrap_or(0);
        Self(older | newer << 4 | way as u64)
    }

    /// Decides who makes room in a set without a free place.
    pub(super) fn contest(self, heat: &[u8; WAYS]) -> Contest {
        let candidate = self.way_at(WINDOW - 1);
        // Oldest first, so that of equally cold ways the oldest goes.
        let coldest = (WINDOW..WAYS).rev().map(|p| self.way_at(p)).min_by_key(|&way| heat[way]);
        let coldest = coldest.unwrap_or(candidate);
        if heat[candidate] > heat[coldest] {
            Contest { loser: coldest, defender: None }
        } else {
            Contest { loser: candidate, defender: Some(coldest) }
        }
    }
}

/// The heat of an entry after a hit.
#[inline(always)]
pub(super) fn warmer(heat: u8) -> u8 {
    if heat < MAX_COUNT { heat + 1 } else { heat }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ways(order: Order) -> Vec<usize> {
        (0..WAYS).map(|p| order.way_at(p)).collect()
    }

    proptest! {
        #[test]
        fn renewing_moves_one_way_to_the_front(renewed in prop::collection::vec(0..WAYS, 0..60)) {
            let mut order = Order::INITIAL;
            let mut model: Vec<usize> = (0..WAYS).collect();
            for way in renewed {
                order = order.renew(way);
                model.retain(|&w| w != way);
                model.insert(0, way);
                prop_assert_eq!(ways(order), model.clone());
            }
        }

        #[test]
        fn the_newest_entries_always_stay(heat: [u8; WAYS]) {
            let loser = Order::INITIAL.contest(&heat).loser;
            prop_assert!(loser >= WINDOW - 1);
        }
    }

    #[test]
    fn the_more_frequent_stays() {
        let mut heat = [5; WAYS];
        heat[9] = 2;
        heat[WINDOW - 1] = 3;
        assert_eq!(Order::INITIAL.contest(&heat), Contest { loser: 9, defender: None });
        heat[WINDOW - 1] = 2;
        assert_eq!(Order::INITIAL.contest(&heat), Contest { loser: WINDOW - 1, defender: Some(9) });
    }

    #[test]
    fn among_equals_the_oldest_goes() {
        let mut heat = [1; WAYS];
        heat[WINDOW - 1] = 2;
        assert_eq!(Order::INITIAL.contest(&heat).loser, 15);
    }

    #[test]
    fn heat_saturates() {
        assert_eq!((warmer(0), warmer(14), warmer(15)), (1, 15, 15));
    }
}
