//! Counters of a cache.

/// One countable occurrence. The variants are disjoint: an operation records exactly one of the
/// look-up events, or exactly one of the store events plus at most one displacement, or a removal. An
/// insert that evicts also records the outcome of the competition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Event {
    /// A look-up returned a value.
    Hit,
    /// A look-up found no entry for the key.
    Absent,
    /// A look-up found an entry at or past its expiry, or one that was invalidated, and returned nothing.
    Stale,
    /// A look-up gave up because its set kept changing, and returned nothing.
    ContendedGet,
    /// An insert stored a key that was not present.
    Insertion,
    /// An insert overwrote the value of a present key.
    Replacement,
    /// An insert stored nothing (see [`crate::Inserted`]).
    Rejection,
    /// An unexpired entry was evicted for another.
    Eviction,
    /// An expired or invalidated entry was taken out, by an insert that used its place or by a sweep.
    Expiration,
    /// An entry was taken out by `remove`, or by an insert that arrived already expired.
    Removal,
    /// The oldest entry of a window was requested more often than the weakest of main, and stayed.
    AdmissionWon,
    /// It was not, and was evicted.
    AdmissionLost,
    /// An entry moved from a window to main: it won, or the window became smaller.
    Migration,
}

impl Event {
    /// Number of variants.
    pub const COUNT: usize = Self::Migration as usize + 1;
}

/// Monotone totals since the cache was made, over all sessions that exist or ever existed.
///
/// Once all sessions are idle the following hold exactly:
/// gets = `hits + misses`; inserts = `insertions + replacements + rejections`;
/// `len()` = `insertions - evictions - expirations - removals`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Look-ups that returned a value.
    pub hits: u64,
    /// Look-ups that returned nothing, for any reason; includes `stale` and `contended`.
    pub misses: u64,
    /// Misses whose entry was present but expired or invalidated.
    pub stale: u64,
    /// Misses whose set kept changing while it was read; the key may have been present.
    pub contended: u64,
    /// Inserts that stored a new key.
    pub insertions: u64,
    /// Inserts that overwrote a present key.
    pub replacements: u64,
    /// Inserts that stored nothing.
    pub rejections: u64,
    /// Unexpired entries evicted by an insert.
    pub evictions: u64,
    /// Expired or invalidated entries removed by an insert or a sweep.
    pub expirations: u64,
    /// Entries removed by key.
    pub removals: u64,
    /// Entries of a window that stayed because they were requested more often than one of main.
    pub admissions_won: u64,
    /// Entries of a window that were evicted.
    pub admissions_lost: u64,
    /// Entries that moved from a window to main.
    pub migrations: u64,
}

impl Stats {
    /// Names the totals of an array indexed by [`Event`].
    #[must_use]
    pub fn from_counts(counts: &[u64; Event::COUNT]) -> Self {
        let of = |event: Event| counts[event as usize];
        Self {
            hits: of(Event::Hit),
            misses: of(Event::Absent) + of(Event::Stale) + of(Event::ContendedGet),
            stale: of(Event::Stale),
            contended: of(Event::ContendedGet),
            insertions: of(Event::Insertion),
            replacements: of(Event::Replacement),
            rejections: of(Event::Rejection),
            evictions: of(Event::Eviction),
            expirations: of(Event::Expiration),
            removals: of(Event::Removal),
            admissions_won: of(Event::AdmissionWon),
            admissions_lost: of(Event::AdmissionLost),
            migrations: of(Event::Migration),
        }
    }

    /// Hits per look-up, in 0..=1; 0 before the first look-up.
    #[must_use]
    pub fn hit_ratio(&self) -> f64 {
        let gets = self.hits + self.misses;
        if gets == 0 { 0.0 } else { self.hits as f64 / gets as f64 }
    }
}
