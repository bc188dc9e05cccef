//! Share of the requests of a recorded trace that a cache of a given size answers.

mod table;

use std::collections::HashSet;
use std::path::PathBuf;

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde_json::{Map, Value, json};
use trefoil_cache::Off;

use crate::Failure;
use crate::Report;
use crate::cache::zipf::Zipf;
use crate::distribution::Distribution;
use crate::peers::{Handle, Moka, Ours, Payload, Peer, QuickCache, key};
use crate::trace::Trace;
use crate::wiring;
pub use table::{Table, table};

/// What to replay, and into how many entries.
#[derive(Clone, Debug)]
pub struct HitRatio {
    /// The requests.
    pub requests: Requests,
    /// Entries that each cache may hold.
    pub capacity: usize,
    /// Runs of the caches whose hash is keyed at random; all are kept.
    pub repeats: usize,
}

/// Requests to replay.
#[derive(Clone, Debug)]
pub enum Requests {
    /// Recorded: a zstd file of little-endian u64 keys.
    Recorded(PathBuf),
    /// Two million, over a million keys whose popularity falls with exponent 0.99.
    Zipf,
    /// This many, in a loop over half as many keys again as the cache has entries.
    Loop(u64),
}

/// Default number of requests of a loop.
pub const LOOP: u64 = 1_000_000;

impl Requests {
    fn trace(&self, capacity: usize) -> Result<Trace, Failure> {
        let requests: Vec<u64> = match self {
            Requests::Recorded(path) => return Trace::read(path),
            Requests::Zipf => {
                let (zipf, mut rng) = (Zipf::new(1_000_000, 0.99), StdRng::seed_from_u64(1));
                (0..2_000_000).map(|_| zipf.sample(&mut rng) as u64).collect()
            }
            Requests::Loop(count) => (0..*count).map(|n| n % (capacity as u64 * 3 / 2)).collect(),
        };
        Ok(Trace::synthetic(requests))
    }

    fn name(&self) -> Value {
        match self {
            Requests::Recorded(path) => json!(path.file_name().map(|name| name.to_string_lossy())),
            Requests::Zipf => json!("zipf"),
            Requests::Loop(_) => json!("loop"),
        }
    }
}

/// Fewer entries are not a useful cache.
pub(crate) const CAPACITY_MIN: usize = 16;

/// Replays the trace through the engine and two peers. Every miss is followed by an insert.
///
/// # Errors
/// When the trace cannot be read. Wrong values are in the report, not here.
pub fn hit_ratio(parameters: &HitRatio) -> Result<Report, Failure> {
    let trace = parameters.requests.trace(parameters.capacity)?;
    let caches = replays(&trace.requests, parameters.capacity, parameters.repeats);
    Ok(report(parameters, &trace, &caches))
}

/// Every cache over the same requests; none for what this build does not contain.
fn replays(requests: &[u64], capacity: usize, repeats: usize) -> Vec<(&'static str, Option<Replays>)> {
    let mut caches = Vec::new();
    let again = |run: &dyn Fn() -> Option<Replay>| -> Option<Replays> {
        (0..repeats.max(1)).map(|_| run()).collect()
    };
    let engine = || wiring::engine::<Payload, Off>(capacity).map(|c| replay(&Ours::evicting(c), requests));
    caches.push(("engine", again(&engine)));
    caches.push(("moka", again(&|| Some(replay(&Moka::new(capacity), requests)))));
    caches.push(("quick_cache", again(&|| Some(replay(&QuickCache::new(capacity), requests)))));
    caches
}

/// The result of one replay.
#[derive(Clone, Copy, Debug)]
struct Replay {
    hits: u64,
    /// Hits that returned a value other than the stored one.
    wrong: u64,
    capacity: usize,
    held: usize,
}

type Replays = Vec<Replay>;

fn replay(peer: &impl Peer, requests: &[u64]) -> Replay {
    let (mut hits, mut wrong) = (0, 0);
    let mut handle = peer.handle();
    for (index, &request) in requests.iter().enumerate() {
        let key = key(request);
        match handle.get(&key) {
            Some(value) => {
                hits += 1;
                wrong += u64::from(value != Payload::of(&key));
            }
            None => handle.insert(key, Payload::of(&key)),
        }
        // A cache that postpones its decisions makes them now and then, as its housekeeping would in service.
        if index % SETTLE_EVERY == 0 {
            peer.settle();
        }
    }
    let held = peer.held();
    Replay { hits, wrong, capacity: peer.capacity().unwrap_or(usize::MAX), held }
}

/// Requests between two rounds of housekeeping: the length of Moka's own batches.
const SETTLE_EVERY: usize = 64;

/// `figure` of each cache; null for what this build does not contain.
fn each(caches: &[(&str, Option<Replays>)], figure: &dyn Fn(&Replays) -> Value) -> Value {
    let one = |(name, replays): &(&str, Option<Replays>)| {
        ((*name).to_owned(), replays.as_ref().map_or(Value::Null, figure))
    };
    caches.iter().map(one).collect::<Map<_, _>>().into()
}

/// The median of the runs.
fn ratio_of(replays: &Replays, requests: usize) -> f64 {
    Distribution::new(replays.iter().map(|replay| replay.hits as f64 / requests as f64).collect()).median()
}

/// The correctness of the caches over all replays.
struct Verified {
    hits: u64,
    wrong: u64,
    overfull: usize,
}

fn problems<'a>(caches: impl Iterator<Item = &'a (&'static str, Option<Replays>)>) -> Verified {
    let mut verified = Verified { hits: 0, wrong: 0, overfull: 0 };
    for replay in caches.filter_map(|(_, replays)| replays.as_ref()).flatten() {
        verified.hits += replay.hits;
        verified.wrong += replay.wrong;
        verified.overfull += usize::from(replay.held > replay.capacity);
    }
    verified
}

impl Verified {
    fn json(&self) -> Value {
        json!({ "hits": self.hits, "wrong_values": self.wrong, "overfull": self.overfull })
    }

    fn problem(&self) -> Option<String> {
        let Verified { wrong, overfull, .. } = self;
        (*wrong > 0 || *overfull > 0).then(|| {
            format!("{wrong} hits with a wrong value, {overfull} replays with more entries than allowed")
        })
    }
}

fn report(parameters: &HitRatio, trace: &Trace, caches: &[(&'static str, Option<Replays>)]) -> Report {
    let requests = trace.requests.len();
    let ratio = |replay: &Replay| millionths(replay.hits as f64 / requests as f64);
    let median = |replays: &Replays| ratio_of(replays, requests);
    let each = |figure: &dyn Fn(&Replays) -> Value| each(caches, figure);
    let verified = problems(caches.iter());
    let result = json!({
        "hit_ratio": each(&|replays| json!(millionths(median(replays)))),
        "hit_ratio_runs": each(&|replays| json!(replays.iter().map(ratio).collect::<Vec<_>>())),
        "entries_max": each(&|replays| json!(replays[0].capacity)),
        "entries_held": each(&|replays| json!(replays.iter().map(|r| r.held).max())),
        "trace": parameters.requests.name(),
        "trace_sha256": hex::encode(trace.sha256),
        "requests": requests,
        "different_keys": trace.requests.iter().collect::<HashSet<_>>().len(),
        "capacity": parameters.capacity,
        "repeats": parameters.repeats,
        "verified": verified.json(),
    });
    let mut summary = format!("hit ratio, {requests} requests, {} entries\n", parameters.capacity);
    for (name, replays) in caches {
        let text = replays.as_ref().map_or("not in this build".to_owned(), |r| format!("{:.4}", median(r)));
        summary.push_str(&format!("  {name:<12} {text}\n"));
    }
    Report { summary, result, problem: verified.problem() }
}

/// A ratio to six decimals.
fn millionths(ratio: f64) -> f64 {
    (ratio * 1e6).round() / 1e6
}
