//! The 32 places of a batch.

use rand::CryptoRng;
use trefoil_bfv::LANES;

/// One of the 32 places of a batch. A subject is given a random one at enrolment and keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(u8);

impl Lane {
    /// The lane `index`, or `None` above 31.
    pub fn new(index: u8) -> Option<Lane> {
        (usize::from(index) < LANES).then_some(Lane(index))
    }

    /// A uniformly random lane.
    pub fn random(rng: &mut impl CryptoRng) -> Lane {
        // 32 divides 2^32, so the low bits are uniform.
        Lane((rng.next_u32() % LANES as u32) as u8)
    }

    /// The index, 0..32.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// All 32 lanes in order.
    pub fn all() -> impl Iterator<Item = Lane> {
        (0..LANES as u8).map(Lane)
    }
}

/// A set of lanes, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LaneSet(u32);

impl LaneSet {
    /// No lane.
    pub const EMPTY: LaneSet = LaneSet(0);

    /// The set with bit `i` standing for lane `i`.
    pub fn from_bits(bits: u32) -> LaneSet {
        LaneSet(bits)
    }

    /// Bit `i` stands for lane `i`.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Whether `lane` is in the set.
    pub fn contains(self, lane: Lane) -> bool {
        self.0 >> lane.0 & 1 == 1
    }

    /// Adds `lane`; false if it was there already.
    pub fn insert(&mut self, lane: Lane) -> bool {
        let fresh = !self.contains(lane);
        self.0 |= 1 << lane.0;
        fresh
    }

    /// Whether the set has no lane.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The number of lanes in the set.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether every lane of the set is in `other`.
    pub fn is_within(self, other: LaneSet) -> bool {
        self.0 & !other.0 == 0
    }

    /// The lanes of the set in order.
    pub fn iter(self) -> impl Iterator<Item = Lane> {
        Lane::all().filter(move |lane| self.contains(*lane))
    }
}
