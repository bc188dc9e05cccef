//! Bounded cache of verdicts under 32-byte keys.
//!
//! One trait, two implementations:
//! * `Engine` (feature `engine`, default): a bounded set-associative table with admission by
//!   frequency, per-entry expiry and per-worker instrumentation;
//! * `Baseline` (feature `dashmap`): a raw `DashMap`, the yardstick the engine is measured against.
//!
//! Features are additive and change no behaviour; the program that links the cache chooses.
//!
//! A worker owns its [`Session`] by `&mut` and operates through it, so counters, histograms and
//! sampling phase have one writer each. Times are `u64` unix seconds passed in by the caller.
//!
//! Both implementations promise:
//! * a hit returns exactly the value last stored under that key: keys are compared in full;
//! * an entry is usable while `now < expires_at` and never after;
//! * after `remove` returns, no `get` that starts later returns the removed value;
//! * the number of entries never exceeds `capacity()`.
//!
//! A cache is free to forget: a miss says nothing about the key.
//!
//! ```
//! # #[cfg(feature = "engine")] {
//! use std::sync::Arc;
//! use trefoil_cache::{Cache, Engine, EngineConfig, Session, Value};
//!
//! #[derive(Clone, Copy, Debug, PartialEq)]
//! struct Level(u8);
//!
//! impl Value for Level {
//!     type Words = [u64; 1];
//!     fn to_words(&self) -> [u64; 1] {
//!         [self.0.into()]
//!     }
//!     fn from_words(words: &[u64; 1]) -> Self {
//!         Level(words[0] as u8)
//!     }
//! }
//!
//! let cache = Arc::new(Engine::<Level>::new(EngineConfig { capacity: 1000 }));
//! let mut session = cache.session();
//! session.insert([7; 32], Level(3), 1_700_003_600, 1_700_000_000);
//! assert_eq!(session.get(&[7; 32], 1_700_003_599), Some(Level(3)));
//! assert_eq!(session.get(&[7; 32], 1_700_003_600), None);
//! assert_eq!(cache.stats().hit_ratio(), 0.5);
//! # }
//! ```

mod counter;
mod histogram;
#[cfg(feature = "engine")]
mod inbox;
mod observe;
#[cfg(any(feature = "engine", feature = "dashmap"))]
mod placement;
mod stats;
mod sync;
pub mod value;
mod version;

#[cfg(feature = "dashmap")]
mod baseline;
#[cfg(feature = "engine")]
mod engine;

#[cfg(feature = "dashmap")]
pub use baseline::Baseline;
#[cfg(feature = "engine")]
pub use engine::{Engine, EngineConfig, EngineSession, Sketch};
pub use histogram::Histogram;
pub use observe::{
    Hint, Latency, Observer, Off, Operation, Pattern, PatternCounts, PerWorker, Phase, Recorder, Sampled,
    Sampling,
};
pub use stats::{Event, Stats};
use std::sync::Arc;
use std::time::Instant;
pub use value::Value;

/// A cache key: a digest. May be chosen by an attacker.
pub type Key = [u8; 32];

/// A shared cache. Workers reach it through sessions.
pub trait Cache<V: Value>: Send + Sync + 'static {
    /// The per-worker handle.
    type Session: Session<V>;

    /// Opens a session; call once per worker and keep it.
    fn session(self: &Arc<Self>) -> Self::Session;

    /// Totals over all sessions, open and closed. All zero under the [`Off`] observer.
    fn stats(&self) -> Stats;

    /// Largest number of entries that can be held.
    fn capacity(&self) -> usize;

    /// Number of entries held, expired ones included. Walks the table; not for the hot path.
    fn len(&self) -> usize;

    /// Bytes of memory for the entries, if known. Constant for one cache.
    fn table_bytes(&self) -> Option<usize> {
        None
    }

    /// Whether no entry is held.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One worker's handle on a cache.
pub trait Session<V: Value>: Send + 'static {
    /// The value stored under `key`, if it is held and `now` is before its expiry.
    fn get(&mut self, key: &Key, now: u64) -> Option<V>;

    /// Announces that these keys are about to be looked up, so that the lines they will read are fetched to the
    /// processor in parallel and not one after another. Changes nothing observable except time; worth it for
    /// several keys at once. By default it does nothing.
    fn announce<'k>(&mut self, keys: impl Iterator<Item = &'k Key>) {
        let _ = keys;
    }

    /// Stores `value` under `key` until `expires_at` (exclusive), replacing the present value.
    ///
    /// A value that has already expired is not stored, and the present entry is removed: the caller
    /// has just said that the newest value for this key is no longer valid.
    fn insert(&mut self, key: Key, value: V, expires_at: u64, now: u64) -> Inserted;

    /// Records what a miss cost its caller, from `missed_at` until now. For callers that insert the missing value through another session
    /// than the one that missed, as async tasks do when they resume on another thread.
    fn filled(&mut self, missed_at: Instant) {
        let _ = missed_at;
    }

    /// Forgets `key`; returns whether an entry was held (expired or not).
    fn remove(&mut self, key: &Key) -> bool;

    /// Removes every entry whose value `keep` rejects; returns how many there were. Entries stored meanwhile may stay. Walks the
    /// table; not for the hot path.
    fn retain(&mut self, keep: &dyn Fn(&V) -> bool) -> usize;

    /// Forgets every entry that has expired at `now`; returns how many there were.
    ///
    /// Expired entries are never returned and give way to new ones, so this is hygiene: it bounds
    /// how long their contents stay in memory. Walks the table; not for the hot path.
    fn sweep(&mut self, now: u64) -> usize;
}

/// What became of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// Stored under a new key.
    New,
    /// Stored over the previous value of the same key.
    Replaced,
    /// Not stored: `expires_at <= now`. An entry under the key, if any, was removed.
    Expired,
    /// Not stored: other writers held the place for too long. An entry under the key is unchanged.
    Contended,
    /// Not stored: the table is full and does not evict (`Baseline` only).
    Full,
}

impl Inserted {
    /// Whether the value is now held.
    #[must_use]
    pub fn is_stored(self) -> bool {
        matches!(self, Self::New | Self::Replaced)
    }
}
