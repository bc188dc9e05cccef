//! A worker's handle on the engine: look-ups, removals, sweeps. Inserts are in [`super::insert`].

use super::Engine;
use super::eviction::WAYS;
use super::policy::Spot;
use super::set::{Failed, Patience};
use crate::placement::KeyWords;
use crate::value::{pack, unpack};
use crate::{Event, Hint, Inserted, Key, Observer, Operation, Recorder, Sampled, Sampling, Session, Value};
use std::sync::Arc;
use std::time::Instant;

/// A worker's handle on an [`Engine`].
pub struct EngineSession<V: Value, O: Observer> {
    pub(super) engine: Arc<Engine<V, O>>,
    pub(super) recorder: O::Worker,
    /// Look-ups so far, starting at the recorder's phase.
    look_ups: u64,
    /// Which look-ups are sampled.
    marked: Sampling,
    samples: Samples,
    /// A sampled miss that no insert has followed yet: the key's hash, and when it was looked up.
    missed: Option<(u64, Instant)>,
}

/// Look-ups that are reported to the policy together.
const COUNTED_TOGETHER: u64 = 64;

/// Keys whose lines are prefetched together: as many as a batch of the pipeline has.
const ANNOUNCED_TOGETHER: usize = 32;

/// Requests kept for the trials until the next insert replays them. A session that inserts nothing, because others obtain
/// the values it misses, leaves them to those sessions.
struct Samples {
    /// The hashes of their keys.
    requests: [u64; SAMPLES_MAX],
    len: usize,
}

/// As many as a small table's session can have between two marked look-ups, which leave them. Without inserts there
/// is nothing to learn, so dropped samples do no harm.
const SAMPLES_MAX: usize = COUNTED_TOGETHER as usize;
/// How many a session keeps before it leaves them to others.
const SAMPLES_LEFT: usize = SAMPLES_MAX / 2;

impl<V: Value, O: Observer> EngineSession<V, O> {
    pub(super) fn new(engine: Arc<Engine<V, O>>) -> Self {
        let recorder = engine.observer().worker();
        let samples = Samples { requests: [0; SAMPLES_MAX], len: 0 };
        let look_ups = recorder.phase();
        let marked = if O::Worker::SHOWN { recorder.sampling() } else { Sampling::LEAST };
        Self { engine, recorder, look_ups, marked, samples, missed: None }
    }

    /// A look-up that is counted and perhaps sampled. It is a function of its own, so that the others do not pay for it, and has a place of
    /// its own for its result: if it could write to that of the others, theirs would have to be in memory.
    #[cold]
    #[inline(never)]
    fn get_marked(&mut self, key: &Key, now: u64, found: &mut Option<V>) {
        if self.look_ups.is_multiple_of(COUNTED_TOGETHER) {
            let policy = &self.engine.policy;
            policy.count(COUNTED_TOGETHER as usize);
            if self.samples.len >= SAMPLES_LEFT && policy.has_room() {
                policy.leave(self.samples.take());
            }
        }
        let sampled = if O::Worker::SHOWN { self.recorder.begin_get(key) } else { Sampled::No };
        *found = self.look_up(key, now);
        if let Some(began) = sampled.began() {
            self.recorder.end_get(began);
            if found.is_none() {
                self.missed = Some((self.engine.hash(&pack(key)), began));
            }
        }
        if sampled != Sampled::No {
            self.recorder.saw(key, found.is_some());
        }
    }

    /// The value under `key` if it is usable. Reading writes nothing, and the wait for a writer is bounded:
    /// after so many disturbed attempts it is a miss. Each outcome ends here, without a detour through one place for
    /// all, and calls come before the words of the value, because moving them costs as much as finding them.
    #[inline(always)]
    fn look_up(&mut self, key: &Key, now: u64) -> Option<V> {
        let Self { engine, recorder, samples, .. } = self;
        let words: KeyWords = pack(key);
        let spot = engine.policy.spot(engine.hash(&words));
        if engine.policy.is_sampled(spot.hash) {
            samples.keep(spot.hash);
        }
        let seen = engine.show(spot.set).look(spot.tag, &words, now, |words| {
            recorder.record(Event::Hit);
            V::from_words(&words)
        });
        match seen {
            Ok(value) => Some(value),
            Err(Failed::Missed(event)) => {
                recorder.record(event);
                None
            }
            Err(Failed::Disturbed) => {
                let mut found = None;
                self.look_again(key, now, &mut found);
                found
            }
        }
    }

    /// A look-up whose first attempt was disturbed, in a function of its own: a loop keeps its reused values in memory from the start.
    #[cold]
    #[inline(never)]
    fn look_again(&mut self, key: &Key, now: u64, found: &mut Option<V>) {
        let key: KeyWords = pack(key);
        let spot = self.engine.policy.spot(self.engine.hash(&key));
        let shown = self.engine.show(spot.set);
        let mut patience = Patience::default();
        let event = loop {
            if !patience.waits() {
                break Event::ContendedGet;
            }
            match shown.look(spot.tag, &key, now, |words| V::from_words(&words)) {
                Ok(value) => {
                    *found = Some(value);
                    break Event::Hit;
                }
                Err(Failed::Missed(event)) => break event,
                Err(Failed::Disturbed) => {}
            }
        };
        self.recorder.record(event);
    }

    /// Replays the sampled requests, and those that others left; off the path of a look-up, because it takes some
    /// microseconds.
    pub(super) fn learn(&mut self) {
        let policy = &self.engine.policy;
        if self.samples.len > 0 || !policy.has_room() {
            policy.learn(self.samples.take());
        }
    }

    /// An insert for the key with `hash` is done: if it followed a sampled miss, the time since then is the cost of the miss.
    pub(super) fn settle_miss(&mut self, hash: u64) {
        if let Some((_, began)) = self.missed.take_if(|(missed, _)| *missed == hash) {
            self.recorder.end(Operation::Miss, began);
        }
    }
}

impl Samples {
    #[inline]
    fn keep(&mut self, hash: u64) {
        if let Some(slot) = self.requests.get_mut(self.len) {
            *slot = hash;
            self.len += 1;
        }
    }

    fn take(&mut self) -> impl Iterator<Item = u64> {
        let kept = std::mem::take(&mut self.len);
        self.requests[..kept].iter().copied()
    }
}

impl<V: Value, O: Observer> Session<V> for EngineSession<V, O> {
    #[inline(always)]
    fn get(&mut self, key: &Key, now: u64) -> Option<V> {
        self.look_ups = self.look_ups.wrapping_add(1);
        if self.marked.holds(self.look_ups) {
            let mut found = None;
            self.get_marked(key, now, &mut found);
            return found;
        }
        self.look_up(key, now)
    }

    #[inline]
    fn announce<'k>(&mut self, keys: impl Iterator<Item = &'k Key>) {
        // In a scan hardly any of the keys is held, so the prefetched entries would be those of other keys.
        if self.recorder.hint() == Hint::Scan {
            return;
        }
        let mut spots = [(0, 0); ANNOUNCED_TOGETHER];
        let mut keys = keys.peekable();
        while keys.peek().is_some() {
            let (mut known, mut seen) = (0, 0);
            for (spot, key) in spots.iter_mut().zip(&mut keys) {
                let Spot { set, tag, .. } = self.engine.policy.spot(self.engine.hash(&pack(key)));
                *spot = (set, tag);
                seen ^= self.engine.sets[set].tag(0);
                known += 1;
            }
            // Neither loop waits for a line that it has requested: the first touches all sets, the second their entries.
            let entries = spots[..known].iter().map(|&(set, tag)| self.engine.show(set).touch(tag));
            std::hint::black_box(entries.fold(u64::from(seen), |sum, word| sum ^ word));
        }
    }

    fn insert(&mut self, key: Key, value: V, expires_at: u64, now: u64) -> Inserted {
        self.put(key, value, expires_at, now)
    }

    fn filled(&mut self, missed_at: Instant) {
        self.recorder.end(Operation::Miss, missed_at);
    }

    fn remove(&mut self, key: &Key) -> bool {
        let key: KeyWords = pack(key);
        let spot = self.engine.policy.spot(self.engine.hash(&key));
        let mut set = self.engine.place(spot.set).write();
        let Some(way) = set.find(spot.tag, &key) else { return false };
        set.remove(way);
        drop(set);
        self.recorder.record(Event::Removal);
        true
    }

    fn retain(&mut self, keep: &dyn Fn(&V) -> bool) -> usize {
        let engine = self.engine.clone();
        let mut removed = 0;
        for set in 0..engine.sets.len() {
            for way in 0..WAYS {
                let Some((key, held)) = engine.show(set).copy(way) else { continue };
                if !keep(&V::from_words(&held.words)) {
                    removed += usize::from(self.remove(&unpack(&key)));
                }
            }
        }
        removed
    }

    fn sweep(&mut self, now: u64) -> usize {
        let mut removed = 0;
        for set in 0..self.engine.sets.len() {
            let place = self.engine.place(set);
            // Sets without a candidate are not disturbed. One entry at a time, so that readers are not kept out for long.
            while place.may_have_expired(now) && place.write().remove_expired(now) {
                self.recorder.record(Event::Expiration);
                removed += 1;
            }
        }
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::super::sketch::MAX_COUNT;
    use super::*;
    use crate::{Cache as _, PerWorker};
    use std::sync::atomic::AtomicU64;

    #[cfg(not(miri))]
    /// The tactic that a table of 600 entries follows after many rounds of a loop over 900 keys, if one session looks up
    /// and another stores the values it misses.
    fn tactic_after_a_loop(engine: &Arc<Engine<u64, PerWorker>>) -> super::super::eviction::Tactic {
        let (mut reader, mut writer) = (engine.session(), engine.session());
        for n in 0..100_000u64 {
            let key: Key = unpack(&[n % 900, 1, 2, 3]);
            if reader.get(&key, 0).is_none() {
                writer.insert(key, n, 10, 0);
            }
        }
        engine.policy.tactic()
    }

    const KEY: Key = [7; 32];

    fn engine_with_one_entry() -> (Arc<Engine<u64, PerWorker>>, Spot) {
        let engine = Arc::new(Engine::<u64, PerWorker>::new(crate::EngineConfig { capacity: 600 }));
        engine.session().insert(KEY, 5, 10, 0);
        let spot = engine.policy.spot(engine.hash(&pack(&KEY)));
        (engine, spot)
    }

    /// All that a look-up could write in the set of [`KEY`].
    fn shared_state(engine: &Engine<u64, PerWorker>, spot: &Spot) -> ([u64; 4], [u64; 2], [u32; 2]) {
        use std::sync::atomic::Ordering::Relaxed;
        let set = &engine.sets[spot.set];
        let read = |word: &AtomicU64| word.load(Relaxed);
        let bits = [set.recent.load(Relaxed), set.settled.load(Relaxed)];
        (set.tags.each_ref().map(read), set.heat.each_ref().map(read), bits)
    }

    /// Claim O11: A hit changes nothing in its set once the entry has the highest frequency, and before that only the frequency and its
    /// marks.
    #[test]
    fn hits_change_their_set_until_the_frequency_is_the_highest_and_never_after() {
        let (engine, spot) = engine_with_one_entry();
        let mut reader = engine.session();
        let mut states = vec![shared_state(&engine, &spot)];
        for _ in 0..40 {
            assert_eq!(reader.get(&KEY, 0), Some(5));
            states.push(shared_state(&engine, &spot));
        }
        let changes = states.windows(2).take_while(|pair| pair[0] != pair[1]).count();
        assert!((1..=usize::from(MAX_COUNT)).contains(&changes), "{changes} hits changed the set");
        assert!(states[changes..].iter().all(|state| *state == states[changes]), "a later hit wrote");
        let version = engine.sets[spot.set].version.at_rest().unwrap();
        reader.get(&KEY, 0);
        assert!(engine.sets[spot.set].version.is_still(version), "a hit entered the set");
    }

    #[test]
    fn a_look_up_gives_up_where_a_writer_stays() {
        let (engine, spot) = engine_with_one_entry();
        let writer = engine.place(spot.set).write();
        assert_eq!(engine.session().get(&KEY, 0), None);
        drop(writer);
        assert_eq!((engine.stats().contended, engine.stats().misses), (1, 1));
        assert_eq!(engine.session().get(&KEY, 0), Some(5));
    }

    // Both threads share one core, so the writer cannot leave unless the look-up lets it run.
    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn a_look_up_lets_a_preempted_writer_finish() {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
        let share_a_core = || {
            let allowed = sched_getaffinity(None).unwrap();
            let first = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).unwrap();
            let mut one = CpuSet::new();
            one.set(first);
            sched_setaffinity(None, &one).unwrap();
        };
        const ROUNDS: u32 = 100;
        let mut found_in = 0;
        for _ in 0..ROUNDS {
            let (engine, spot) = engine_with_one_entry();
            let (is_inside, is_asked) = (AtomicBool::new(false), AtomicBool::new(false));
            let wait_for = |flag: &AtomicBool| {
                while !flag.load(SeqCst) {
                    std::thread::yield_now();
                }
            };
            let found = std::thread::scope(|scope| {
                scope.spawn(|| {
                    share_a_core();
                    let writer = engine.place(spot.set).write();
                    is_inside.store(true, SeqCst);
                    wait_for(&is_asked);
                    drop(writer);
                });
                let reader = scope.spawn(|| {
                    share_a_core();
                    wait_for(&is_inside);
                    is_asked.store(true, SeqCst);
                    engine.session().get(&KEY, 0)
                });
                reader.join().unwrap()
            });
            found_in += u32::from(found == Some(5));
        }
        assert!(found_in > ROUNDS / 2, "in {found_in} of {ROUNDS} rounds the look-up let the writer run");
    }

    // Learning takes 100,000 requests: hours under an interpreter.
    #[cfg(not(miri))]
    #[test]
    fn a_session_that_only_looks_up_teaches_the_policy() {
        let engine = Arc::new(Engine::<u64, PerWorker>::new(crate::EngineConfig { capacity: 600 }));
        let first = engine.policy.tactic();
        let tactic = tactic_after_a_loop(&engine);
        assert!(!tactic.spares_recent && tactic.window <= 26, "{first:?} -> {tactic:?}");
    }

    #[test]
    fn where_nobody_inserts_samples_are_left_once() {
        let engine = Arc::new(Engine::<u64, PerWorker>::new(crate::EngineConfig { capacity: 32 }));
        let mut reader = engine.session();
        // Twice what is counted together, from any phase on, and once more to fill up again.
        for _ in 0..4 * COUNTED_TOGETHER {
            reader.get(&[1; 32], 0);
        }
        assert!(!engine.policy.has_room());
        assert_eq!(reader.samples.len, SAMPLES_MAX);
        engine.session().insert([2; 32], 2, 10, 0);
        assert!(engine.policy.has_room());
    }
}
