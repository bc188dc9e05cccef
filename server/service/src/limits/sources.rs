//! Limits for how many different subjects logins from one source may fail. Only the application knows the source.
//!
//! The service sees the tenant's backend and never its users, so it cannot tell one attacker behind a busy backend from its people: the limit of
//! the API key ([`crate::limits::distinct_failures`]) grows with all subjects that match. A login may therefore name its source, in a form that the
//! application chooses, such as a keyed hash of the user's address. Failures are counted for each source by the same rule as for an API key,
//! across all API keys and subjects of its tenant.
//!
//! Names are remembered as keyed hashes, only in memory, in two generations of half a window each. Sources are bounded: if there is no
//! room for more, the older generation is forgotten early.

#![expect(
    clippy::disallowed_types,
    reason = "on the path of a login that names its source: one of 16 locks of its tenant, see ARCHITECTURE.md"
)]

use crate::limits::distinct_failures::{Bounds, DistinctFailures, Trial};
use crate::refused::Refused;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use trefoil_types::Handle;

/// Number of locks, so that logins of one tenant seldom contend.
const SHARDS: usize = 16;
/// Most sources in each half of the window: 16,384 of a tenant in all, at most 40 MiB with their subjects.
const SHARD_MAX: usize = 512;

/// A source of a tenant: a keyed hash of its name, under a key of this process.
#[derive(Clone, Copy)]
pub struct Source(u64);

/// The sources of a tenant. See the module.
#[derive(Default)]
pub struct Sources([Mutex<Shard>; SHARDS]);

#[derive(Default)]
struct Shard {
    /// When the present half of the window began, Unix seconds.
    began: u64,
    /// The present half and the one before it. A source is in one of them only.
    seen: [HashMap<u64, Arc<DistinctFailures>>; 2],
    refused: u64,
}

impl Source {
    /// The source of this name.
    pub fn named(name: &str) -> Source {
        static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        Source(KEY.hash_one(name))
    }
}

impl Sources {
    /// Admits a login from a source, like [`DistinctFailures::admit`]. The trial is idle: it counts for nothing until it begins.
    pub(crate) async fn admit(
        &self,
        source: Source,
        handle: &Handle,
        bounds: Bounds,
        now: u64,
    ) -> Result<Option<Trial>, Refused> {
        if bounds.most == 0 {
            return Ok(None);
        }
        let failures = self.shard(source).of(source, bounds.window_s, now);
        match failures.admit(handle, bounds, now).await {
            Ok(trial) => Ok(trial.map(Trial::idle)),
            Err(_) => {
                self.shard(source).refused += 1;
                Err(Refused::SourceFailures { window_s: bounds.window_s })
            }
        }
    }

    /// How many logins were refused since the start.
    pub(crate) fn refused(&self) -> u64 {
        self.0.iter().map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner).refused).sum()
    }

    fn shard(&self, Source(hash): Source) -> MutexGuard<'_, Shard> {
        self.0[hash as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shard {
    /// The state of a source.
    fn of(&mut self, Source(hash): Source, window_s: u64, now: u64) -> Arc<DistinctFailures> {
        self.turn(window_s, now);
        if let Some(seen) = self.seen[0].get(&hash) {
            return Arc::clone(seen);
        }
        let seen = self.seen[1].remove(&hash).unwrap_or_else(|| Arc::new(DistinctFailures::of_source()));
        if self.seen[0].len() >= SHARD_MAX {
            self.seen[1] = std::mem::take(&mut self.seen[0]);
            self.began = now;
        }
        self.seen[0].insert(hash, Arc::clone(&seen));
        seen
    }

    /// Forgets sources that are older than the window.
    fn turn(&mut self, window_s: u64, now: u64) {
        let half = (window_s / 2).max(1);
        let passed = now.saturating_sub(self.began) / half;
        if passed > 0 {
            let present = std::mem::take(&mut self.seen[0]);
            self.seen[1] = if passed == 1 { present } else { HashMap::new() };
            self.began = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::distinct_failures::End;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    const BOUNDS: Bounds = Bounds { most: 10, window_s: 3_600 };

    /// Whether a login of this person is decided now, with this end.
    fn attempt(sources: &Sources, name: &str, person: u8, end: End, now: u64) -> bool {
        let handle = Handle::new([person; 32]);
        let admitted = pin!(sources.admit(Source::named(name), &handle, BOUNDS, now))
            .poll(&mut Context::from_waker(Waker::noop()));
        match admitted {
            Poll::Ready(Ok(trial)) => {
                trial.into_iter().for_each(|trial| trial.begin().end(end));
                true
            }
            Poll::Ready(Err(refused)) => {
                assert_eq!(refused, Refused::SourceFailures { window_s: 3_600 });
                false
            }
            Poll::Pending => panic!("it waits"),
        }
    }

    #[test]
    fn a_source_fails_for_ten_subjects_until_they_are_forgotten_and_others_go_on() {
        let sources = Sources::default();
        let tried = (0..200).filter(|person| attempt(&sources, "a", *person, End::NoMatch, 100)).count();
        assert_eq!((tried, sources.refused()), (10, 190));
        assert!(attempt(&sources, "b", 100, End::NoMatch, 100));
        assert!(!attempt(&sources, "a", 100, End::NoMatch, 1_899));
        assert!(attempt(&sources, "a", 100, End::NoMatch, 3_700), "the window is over");
    }

    #[test]
    fn a_trial_that_never_began_counts_for_nothing() {
        let sources = Sources::default();
        for person in 0..50 {
            let handle = Handle::new([person; 32]);
            let admitted = pin!(sources.admit(Source::named("a"), &handle, BOUNDS, 100))
                .poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(admitted, Poll::Ready(Ok(Some(_)))), "{person}");
        }
    }

    /// Claim V71.
    #[test]
    fn sources_without_end_take_bounded_room_and_the_newest_are_remembered() {
        let sources = Sources::default();
        for number in 0..100_000 {
            attempt(&sources, &number.to_string(), 1, End::NoMatch, 100);
        }
        let held = |shard: &Mutex<Shard>| shard.lock().unwrap().seen.iter().map(HashMap::len).sum::<usize>();
        assert!(sources.0.iter().map(held).sum::<usize>() <= 2 * SHARDS * SHARD_MAX);
        let newest = Source::named("99999");
        let known = sources.shard(newest).of(newest, 3_600, 100);
        assert_eq!(Arc::strong_count(&known), 2, "it was there");
    }
}
