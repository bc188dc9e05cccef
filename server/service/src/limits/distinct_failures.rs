//! Limits for how many different subjects one API key may fail, so that a caller cannot try a few faces on many people.
//!
//! A subject's own budget bounds how often it is tried, but does not stop a caller that tries each of many subjects once. Such a caller fails
//! for almost all of them. A relying party's backend, which is one caller for all of its people, fails for few, and most of these match a
//! moment later. So for each API key the service counts the subjects that failed and did not match since. The limit is a number that the
//! operator sets plus a quarter of the subjects that matched. A subject that matched lately is known and costs one look-up. Only a subject
//! that is new to the key needs room, and waits while other new subjects without an answer take the room. So a new key gets more room as its
//! people match, and logins sent at once fail for no more subjects than logins sent one after the other.
//!
//! Subjects are remembered as keyed hashes in two bounded generations of half a window each, and forgotten with them.

#![expect(
    clippy::disallowed_types,
    reason = "on the path of a login: the API key's own, see ARCHITECTURE.md"
)]

use crate::refused::Refused;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use trefoil_types::Handle;

/// Number of subjects that must match for one more failing subject.
const MATCHED_PER_FAILED: usize = 4;
/// Most subjects that matched, remembered in each half of the window: half a MiB. Further ones are not remembered, and need room again.
const MATCHED_MAX: usize = 65_536;
/// The same for a source, because there are many sources.
const SOURCE_MATCHED_MAX: usize = 64;

/// The operator's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Subjects that may have failed and not matched since, besides a quarter of those that matched; 0 for no limit.
    pub most: usize,
    /// For how long a subject is remembered, seconds; at least half of it.
    pub window_s: u64,
}

/// Bounds that may change while the service runs.
pub struct LiveBounds {
    most: AtomicUsize,
    window_s: AtomicU64,
}

impl LiveBounds {
    /// Begins with these bounds.
    pub fn new(bounds: Bounds) -> LiveBounds {
        LiveBounds { most: bounds.most.into(), window_s: bounds.window_s.into() }
    }

    /// Uses other bounds from now on.
    pub fn set(&self, Bounds { most, window_s }: Bounds) {
        self.most.store(most, Relaxed);
        self.window_s.store(window_s, Relaxed);
    }

    /// The present bounds.
    pub fn now(&self) -> Bounds {
        Bounds { most: self.most.load(Relaxed), window_s: self.window_s.load(Relaxed) }
    }
}

/// The outcomes of the subjects of one API key or of one source. See the module.
pub struct DistinctFailures {
    seen: Mutex<Seen>,
    ended: Notify,
    matched_max: usize,
}

impl Default for DistinctFailures {
    fn default() -> DistinctFailures {
        DistinctFailures { seen: Mutex::default(), ended: Notify::default(), matched_max: MATCHED_MAX }
    }
}

#[derive(Default)]
struct Seen {
    /// When the present half of the window began, Unix seconds.
    began: u64,
    /// The present half and the one before it. A subject is in one of them only.
    matched: [HashSet<u64>; 2],
    failed: [HashSet<u64>; 2],
    /// New subjects whose answer is not known yet, each with its attempts in flight.
    pending: HashMap<u64, usize>,
    refused: u64,
}

/// An attempt of a subject that is not known to match. If dropped without an end, it counts as a failure.
pub struct Trial {
    of: Arc<DistinctFailures>,
    subject: u64,
    /// Whether it holds room, because its subject had not failed when it was admitted.
    pends: bool,
    end: End,
}

/// How a trial ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The subject matches.
    Match,
    /// The subject does not match.
    NoMatch,
    /// There was no decision.
    Undecided,
}

enum Admission {
    Known,
    Trial { pends: bool },
    Wait,
    Full,
}

impl DistinctFailures {
    /// Of a source.
    pub(crate) fn of_source() -> DistinctFailures {
        DistinctFailures { matched_max: SOURCE_MATCHED_MAX, ..DistinctFailures::default() }
    }

    /// Admits a login, with a trial unless the subject is known to match. Waits while there may soon be room.
    pub async fn admit(
        self: &Arc<Self>,
        handle: &Handle,
        bounds: Bounds,
        now: u64,
    ) -> Result<Option<Trial>, Refused> {
        static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        if bounds.most == 0 {
            return Ok(None);
        }
        let subject = KEY.hash_one(handle);
        loop {
            let mut ended = pin!(self.ended.notified());
            // A trial that ends between the check and the wait must not be missed.
            ended.as_mut().enable();
            let admission = self.seen().admit(subject, bounds, now);
            match admission {
                Admission::Known => return Ok(None),
                Admission::Trial { pends } => {
                    return Ok(Some(Trial { of: Arc::clone(self), subject, pends, end: End::NoMatch }));
                }
                Admission::Wait => ended.await,
                Admission::Full => return Err(Refused::DistinctFailures { window_s: bounds.window_s }),
            }
        }
    }

    /// How many logins were refused since the start.
    pub fn refused(&self) -> u64 {
        self.seen().refused
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn admit(&mut self, subject: u64, bounds: Bounds, now: u64) -> Admission {
        self.turn(bounds.window_s, now);
        if holds(&self.matched, subject) {
            return Admission::Known;
        }
        let (failed, room) = (count(&self.failed), bounds.most + count(&self.matched) / MATCHED_PER_FAILED);
        if holds(&self.failed, subject) {
            return Admission::Trial { pends: false };
        }
        if self.pending.contains_key(&subject) || failed + self.pending.len() < room {
            *self.pending.entry(subject).or_default() += 1;
            return Admission::Trial { pends: true };
        }
        if failed < room {
            return Admission::Wait;
        }
        self.refused += 1;
        Admission::Full
    }

    fn end(&mut self, subject: u64, pends: bool, end: End, matched_max: usize) {
        if let Some(under_way) = self.pending.get_mut(&subject).filter(|_| pends) {
            *under_way -= 1;
            if *under_way == 0 {
                self.pending.remove(&subject);
            }
        }
        match end {
            End::Match => {
                for half in &mut self.failed {
                    half.remove(&subject);
                }
                self.matched[1].remove(&subject);
                if self.matched[0].len() < matched_max {
                    self.matched[0].insert(subject);
                }
            }
            End::NoMatch if !holds(&self.matched, subject) => {
                self.failed[1].remove(&subject);
                self.failed[0].insert(subject);
            }
            End::NoMatch | End::Undecided => {}
        }
    }

    /// Forgets subjects that are older than the window.
    fn turn(&mut self, window_s: u64, now: u64) {
        let half = (window_s / 2).max(1);
        let passed = now.saturating_sub(self.began) / half;
        if passed == 0 {
            return;
        }
        for sets in [&mut self.matched, &mut self.failed] {
            sets[1] = if passed == 1 { std::mem::take(&mut sets[0]) } else { HashSet::new() };
            sets[0] = HashSet::new();
        }
        self.began = now;
    }
}

impl Trial {
    /// The trial has not begun: if dropped now, it counts for nothing.
    pub(crate) fn idle(mut self) -> Trial {
        self.end = End::Undecided;
        self
    }

    /// Begins the trial: if dropped from now on without an end, it counts as a failure.
    pub(crate) fn begin(mut self) -> Trial {
        self.end = End::NoMatch;
        self
    }

    /// Says how it ended.
    pub fn end(mut self, end: End) {
        self.end = end;
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        self.of.seen().end(self.subject, self.pends, self.end, self.of.matched_max);
        self.of.ended.notify_waiters();
    }
}

fn holds(halves: &[HashSet<u64>; 2], subject: u64) -> bool {
    halves.iter().any(|half| half.contains(&subject))
}

fn count(halves: &[HashSet<u64>; 2]) -> usize {
    halves.iter().map(HashSet::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};

    const BOUNDS: Bounds = Bounds { most: 10, window_s: 3_600 };

    fn person(number: u32) -> Handle {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&number.to_le_bytes());
        Handle::new(bytes)
    }

    /// Admits a login now; `Poll::Pending` if it waits.
    fn admitted(key: &Arc<DistinctFailures>, number: u32, now: u64) -> Poll<Result<Option<Trial>, Refused>> {
        let person = person(number);
        pin!(key.admit(&person, BOUNDS, now)).poll(&mut Context::from_waker(Waker::noop()))
    }

    fn attempt(key: &Arc<DistinctFailures>, number: u32, end: End, now: u64) -> bool {
        match admitted(key, number, now) {
            Poll::Ready(Ok(trial)) => {
                trial.into_iter().for_each(|trial| trial.end(end));
                true
            }
            Poll::Ready(Err(Refused::DistinctFailures { .. })) => false,
            other => panic!("{}", other.is_pending()),
        }
    }

    #[test]
    fn known_subjects_go_on_while_new_ones_are_refused_and_a_match_makes_room() {
        let key = Arc::<DistinctFailures>::default();
        assert!(attempt(&key, 0, End::Match, 100));
        (1..=10).for_each(|person| assert!(attempt(&key, person, End::NoMatch, 100)));
        assert!(!attempt(&key, 11, End::Match, 100) && attempt(&key, 0, End::NoMatch, 100));
        assert!(attempt(&key, 5, End::Match, 100), "who failed may try again");
        assert!(attempt(&key, 11, End::Undecided, 100) && attempt(&key, 12, End::NoMatch, 100));
        assert!(!attempt(&key, 13, End::NoMatch, 100));
    }

    #[test]
    fn what_was_seen_is_forgotten_with_the_window() {
        let key = Arc::<DistinctFailures>::default();
        (0..10).for_each(|person| assert!(attempt(&key, person, End::NoMatch, 10_000)));
        assert!(!attempt(&key, 11, End::NoMatch, 11_799), "half of the window");
        assert!(!attempt(&key, 11, End::NoMatch, 11_800));
        assert!(attempt(&key, 11, End::NoMatch, 13_600), "all of it");
    }

    #[tokio::test]
    async fn who_waits_goes_on_when_another_matches() {
        let key = Arc::<DistinctFailures>::default();
        let mut trials: Vec<Trial> = Vec::new();
        for number in 0..10 {
            trials.extend(key.admit(&person(number), BOUNDS, 100).await.unwrap());
        }
        let waiting = tokio::spawn({
            let key = Arc::clone(&key);
            async move { key.admit(&person(11), BOUNDS, 100).await.map(|trial| trial.is_some()) }
        });
        trials.pop().unwrap().end(End::Match);
        assert_eq!(waiting.await.unwrap(), Ok(true));
    }
}
