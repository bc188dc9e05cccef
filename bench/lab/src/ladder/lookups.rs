//! The ladder with the cheapest pipeline: threads that get, miss or put and do nothing else.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_cache::{Cache, Key, Observer, Off, PerWorker, Stats};

use super::{LADDER, OverObserver, Rung};
use crate::Failure;
use crate::paired::{Rounds, Side, order};
use crate::peers::{Ours, Payload, Peer, RawDashMap, key};
use crate::timing::{Load, Tally, time};
use crate::wiring;

/// The operation of every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Looks up a key that is held.
    Get,
    /// Looks up one that is not.
    Miss,
    /// Stores a key that is held once more, which admits it.
    Put,
}

impl Asked {
    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Asked::Get => "get",
            Asked::Miss => "miss",
            Asked::Put => "put",
        }
    }

    /// How many of these requests an observer has counted.
    pub fn counted(self, stats: Stats) -> u64 {
        match self {
            Asked::Get => stats.hits,
            Asked::Miss => stats.misses,
            Asked::Put => stats.insertions + stats.replacements + stats.rejections,
        }
    }

    /// Requests of a run that did not do what they should.
    fn failed(self, run: &Tally) -> u64 {
        match self {
            Asked::Get => run.wrong + (run.requests - run.hits),
            Asked::Miss | Asked::Put => run.wrong + run.hits,
        }
    }
}

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Lookups {
    /// The operation of each request.
    pub asked: Asked,
    /// Threads.
    pub workers: usize,
    /// Length of one run.
    pub duration: Duration,
    /// Rounds of raw, rung, rung, raw.
    pub repeats: usize,
    /// Fixes the requests.
    pub seed: u64,
}

/// Keys, all of them held: with keys and values half a megabyte, which stays in a core's own cache. A look-up is as cheap
/// as it can be, so an observer's share is as large as it can be.
const KEYS: usize = 4_096;
/// Requests per stream.
const STREAM: usize = 1 << 16;
/// Streams; more threads share them from different places.
const STREAMS: usize = 4;
/// Requests between the starts of two runs.
const STRIDE: usize = 1_009;

/// The rounds of one subject: raw, subject, subject, raw.
pub struct Measured {
    /// What was measured: the map under the observer of a rung, or the engine.
    pub name: &'static str,
    /// The rung, if it is one.
    pub rung: Option<Rung>,
    /// The operation of each request.
    pub asked: Asked,
    /// The raw map and the subject.
    pub rounds: Rounds<Tally>,
    /// Requests that the observer counted; none where it counts nothing.
    pub counted: Option<u64>,
    /// Keys that are no longer held afterwards, or with another key's value.
    pub lost: usize,
}

impl Measured {
    /// The problem, if there is one: a request with another result, a lost key, or an observer that miscounted
    /// the events.
    pub fn problem(&self) -> Option<String> {
        let (name, asked) = (self.name, self.asked.name());
        let failed: u64 = self.rounds.0.iter().flatten().map(|run| self.asked.failed(run)).sum();
        if failed > 0 {
            return Some(format!("{name}, {asked}: {failed} requests found another value than they should"));
        }
        if self.lost > 0 {
            return Some(format!("{name}, {asked}: {} keys are not held afterwards", self.lost));
        }
        let done: u64 = self.rounds.runs(Side::B).map(|run| run.requests).sum();
        match self.counted {
            Some(counted) if counted != done => {
                Some(format!("{name}, {asked}: the observer counted {counted} of {done} requests"))
            }
            _ => None,
        }
    }
}

/// A subject that can be timed and says what its observer has counted.
struct Candidate {
    name: &'static str,
    rung: Option<Rung>,
    timed: Box<dyn Peer>,
    /// None if its observer counts nothing.
    stats: Option<Box<dyn Fn() -> Stats>>,
}

struct OverMap;

impl OverObserver for OverMap {
    type Output = Option<(Box<dyn Peer>, Box<dyn Fn() -> Stats>)>;

    fn over<O: Observer>(self) -> Self::Output {
        let map = wiring::dashmap::<Payload, O>(2 * KEYS)?;
        let shown = Arc::clone(&map);
        Some((Box::new(Ours::map(map)), Box::new(move || shown.stats())))
    }
}

impl Lookups {
    /// Measures every rung on the map, then the engine with and without its observer where this build has it.
    ///
    /// # Errors
    /// When this build has no DashMap.
    pub fn climb(self) -> Result<Vec<Measured>, Failure> {
        let candidates = candidates()?;
        let raw: Box<dyn Peer> = Box::new(RawDashMap::empty());
        let mut keys: Vec<Key> = (0..KEYS as u64).map(key).collect();
        raw.fill(&keys);
        candidates.iter().for_each(|candidate| candidate.timed.fill(&keys));
        // The engine may have evicted one while it was filled; a key that not all hold is never requested.
        keys.retain(|key| candidates.iter().all(|candidate| candidate.timed.holds(key)));
        let absent: Vec<Key> = (0..KEYS as u64).map(|n| key(KEYS as u64 + n)).collect();
        let streams = streams(if self.asked == Asked::Miss { &absent } else { &keys }, self.seed);
        // Counts from filling and checking are not part of the measurement.
        let count = |candidate: &Candidate| Some(self.asked.counted(candidate.stats.as_ref()?()));
        let before: Vec<Option<u64>> = candidates.iter().map(count).collect();
        let mut rounds: Vec<Rounds<Tally>> = candidates.iter().map(|_| Rounds::default()).collect();
        for round in 0..self.repeats {
            eprintln!("{}: round {} of {}", self.asked.name(), round + 1, self.repeats);
            for index in order(round, candidates.len()) {
                let of = |side| if side == Side::A { raw.as_ref() } else { candidates[index].timed.as_ref() };
                rounds[index].0.push(Rounds::once(|side| time(of(side), self.load(&streams, round))));
            }
        }
        let measured = candidates.into_iter().zip(before).zip(rounds).map(|((candidate, before), rounds)| {
            let counted = count(&candidate).zip(before).map(|(after, before)| after - before);
            let lost = keys.iter().filter(|key| !candidate.timed.holds(key)).count();
            let Candidate { name, rung, .. } = candidate;
            Measured { name, rung, asked: self.asked, rounds, counted, lost }
        });
        Ok(measured.collect())
    }

    fn load<'a>(&self, streams: &'a [Vec<Key>], round: usize) -> Load<'a> {
        Load {
            put: self.asked == Asked::Put,
            streams,
            offset: round * STRIDE,
            threads: self.workers,
            duration: self.duration,
        }
    }
}

/// The map under every rung, then the engine where this build has it.
fn candidates() -> Result<Vec<Candidate>, Failure> {
    let absent = || Failure::usage("the ladder stands on DashMap: build with --features cache-dashmap");
    let mut candidates = Vec::new();
    for rung in LADDER {
        let (timed, stats) = rung.over(OverMap).ok_or_else(absent)?;
        let stats = rung.counts().then_some(stats);
        candidates.push(Candidate { name: rung.name(), rung: Some(rung), timed, stats });
    }
    if let Some(engine) = wiring::engine::<Payload, PerWorker>(2 * KEYS) {
        let shown = Arc::clone(&engine);
        let timed = Box::new(Ours::evicting(engine));
        candidates.push(Candidate {
            name: "engine",
            rung: None,
            timed,
            stats: Some(Box::new(move || shown.stats())),
        });
    }
    if let Some(engine) = wiring::engine::<Payload, Off>(2 * KEYS) {
        let timed = Box::new(Ours::evicting(engine));
        candidates.push(Candidate { name: "engine_off", rung: None, timed, stats: None });
    }
    Ok(candidates)
}

fn streams(keys: &[Key], seed: u64) -> Vec<Vec<Key>> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut stream = || (0..STREAM).map(|_| keys[rng.random_range(0..keys.len())]).collect();
    (0..STREAMS).map(|_| stream()).collect()
}
