//! Share of the requests of a trace that caches of given sizes answer. Every miss is followed by an insert.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde_json::{Map, Value, json};
use trefoil_cache::Off;

use crate::args::count;
use crate::cache::zipf::Zipf;
use crate::distribution::Distribution;
use crate::peers::{Moka, Ours, Payload, Peer, QuickCache, key};
use crate::trace::Trace;
use crate::{Failure, Report, wiring};

/// A trace is a zstd file of little-endian u64 keys, one per request. null stands for a cache that this build does not contain.
#[derive(Debug, Args)]
pub(crate) struct HitRatio {
    /// Recorded requests; none for the synthetic requests alone
    #[arg(long, value_name = "FILE", num_args = 1..)]
    traces: Vec<PathBuf>,
    /// Entries of each cache [default: a 64th, a 16th and a quarter of a trace's keys, and the synthetic requests at two sizes each]
    #[arg(long, value_name = "N", value_parser = count::<CAPACITY_MIN, CAPACITY_MAX>, requires = "traces")]
    capacity: Option<usize>,
    /// Requests of each synthetic load: a Zipf load over half as many keys, and a loop over half as many keys again as there are entries
    #[arg(long, value_name = "N", default_value_t = 2_000_000, value_parser = count::<1_000, 100_000_000>)]
    synthetic: usize,
    /// Runs of the caches, which place keys at random; all are kept
    #[arg(long, default_value_t = 3, value_parser = count::<1, 1_000>)]
    repeats: usize,
}

/// Fewer entries are not a useful cache.
const CAPACITY_MIN: usize = 16;
/// A hundred times the largest trace we compare on, and a few gibibytes.
const CAPACITY_MAX: usize = 1 << 24;
/// A trace is replayed into caches of these fractions of its different keys: sizes that nobody picked.
const SHARES: [usize; 3] = [64, 16, 4];
/// Synthetic loads and the entries of their caches.
const SYNTHETIC: [(&str, usize); 4] =
    [("zipf", 10_000), ("zipf", 100_000), ("loop", 1_000), ("loop", 10_000)];
/// What the engine is compared with, after it.
const CACHES: [&str; 3] = ["engine", "moka", "quick_cache"];

/// Replays every trace, and if no capacity is given the synthetic requests.
///
/// # Errors
/// When a trace cannot be read. Wrong values are in the report, not here.
pub(crate) fn hit_ratio(args: &HitRatio) -> Result<Report, Failure> {
    let mut rows = Vec::new();
    for path in &args.traces {
        let trace = Trace::read(path)?;
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let different = trace.requests.iter().collect::<HashSet<_>>().len();
        let shares = SHARES.map(|share| (different / share).max(CAPACITY_MIN));
        for capacity in args.capacity.map_or(shares.to_vec(), |one| vec![one]) {
            rows.push(Row::replayed(&name, &trace, different, capacity, args.repeats));
        }
    }
    for (name, capacity) in SYNTHETIC.into_iter().filter(|_| args.capacity.is_none()) {
        let count = args.synthetic as u64;
        let requests = match name {
            "zipf" => {
                let (zipf, mut rng) = (Zipf::new(args.synthetic / 2, 0.99), StdRng::seed_from_u64(1));
                (0..count).map(|_| zipf.sample(&mut rng) as u64).collect()
            }
            _ => (0..count).map(|n| n % (capacity as u64 * 3 / 2)).collect(),
        };
        let trace = Trace::synthetic(requests);
        let different = trace.requests.iter().collect::<HashSet<_>>().len();
        rows.push(Row::replayed(name, &trace, different, capacity, args.repeats));
    }
    Ok(report(args.repeats, &rows))
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

fn replay(peer: &dyn Peer, requests: &[u64]) -> Replay {
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

/// A trace in caches of one size: all replays of each of [`CACHES`], none of what this build does not contain.
struct Row {
    trace: String,
    sha256: [u8; 32],
    requests: usize,
    different: usize,
    capacity: usize,
    caches: [Vec<Replay>; CACHES.len()],
}

impl Row {
    fn replayed(name: &str, trace: &Trace, different: usize, capacity: usize, repeats: usize) -> Row {
        eprintln!("hit-ratio: {name} into {capacity} entries");
        let Trace { requests, sha256 } = trace;
        let again = |run: &dyn Fn() -> Option<Replay>| (0..repeats).filter_map(|_| run()).collect();
        let caches = [
            again(&|| Some(replay(&Ours::evicting(wiring::engine::<Payload, Off>(capacity)?), requests))),
            again(&|| Some(replay(&Moka::new(capacity), requests))),
            again(&|| Some(replay(&QuickCache::new(capacity), requests))),
        ];
        Row { trace: name.to_owned(), sha256: *sha256, requests: requests.len(), different, capacity, caches }
    }

    fn runs(&self, cache: usize) -> Distribution {
        let ratio = |replay: &Replay| replay.hits as f64 / self.requests as f64;
        Distribution::new(self.caches[cache].iter().map(ratio).collect())
    }

    /// The median of the runs.
    fn ratio(&self, cache: usize) -> Option<f64> {
        Some(self.runs(cache).median()).filter(|ratio| !ratio.is_nan())
    }

    /// How far the engine is below the best of the other caches; negative where it is above.
    fn shortfall(&self) -> Option<f64> {
        let best = (1..CACHES.len()).filter_map(|peer| self.ratio(peer)).fold(0.0, f64::max);
        Some(best - self.ratio(0)?)
    }

    fn json(&self) -> Value {
        let runs = |cache| self.runs(cache).runs().iter().copied().map(millionths).collect::<Vec<_>>();
        json!({
            "trace": self.trace, "trace_sha256": hex::encode(self.sha256), "requests": self.requests,
            "different_keys": self.different, "capacity": self.capacity,
            "hit_ratio": each(|cache| json!(self.ratio(cache).map(millionths))), "hit_ratio_runs": each(|cache| json!(runs(cache))),
            "entries_held": each(|cache| json!(self.caches[cache].iter().map(|replay| replay.held).max())),
            "below_best": self.shortfall().map(millionths),
        })
    }
}

/// A figure of each cache.
fn each(figure: impl Fn(usize) -> Value) -> Value {
    CACHES.iter().enumerate().map(|(at, name)| ((*name).to_owned(), figure(at))).collect::<Map<_, _>>().into()
}

fn report(repeats: usize, rows: &[Row]) -> Report {
    let mean = |cache| {
        let ratios: Vec<f64> = rows.iter().filter_map(|row| row.ratio(cache)).collect();
        (!ratios.is_empty()).then(|| millionths(ratios.iter().sum::<f64>() / ratios.len() as f64))
    };
    let means = each(|cache| json!(mean(cache)));
    let worst = rows.iter().filter_map(Row::shortfall).fold(f64::MIN, f64::max);
    let mut summary = format!("hit ratio, {} pairs of trace and size\n", rows.len());
    for row in rows {
        summary += &format!("  {:<24} {:>7}", row.trace, row.capacity);
        for (at, name) in CACHES.iter().enumerate() {
            summary += &format!("  {name} {:.4}", row.ratio(at).unwrap_or(f64::NAN));
        }
        summary.push('\n');
    }
    summary += &format!("  mean {means}\n");
    let replays = || rows.iter().flat_map(|row| row.caches.iter().flatten());
    let (hits, wrong) = (replays().map(|r| r.hits).sum::<u64>(), replays().map(|r| r.wrong).sum::<u64>());
    let overfull = replays().filter(|replay| replay.held > replay.capacity).count();
    let problem = (wrong > 0 || overfull > 0).then(|| {
        format!("{wrong} hits with a wrong value, {overfull} replays with more entries than allowed")
    });
    let result = json!({
        "mean_hit_ratio": means, "most_below_best": millionths(worst), "pairs": rows.len(), "repeats": repeats,
        "table": rows.iter().map(Row::json).collect::<Vec<_>>(),
        "verified": { "hits": hits, "wrong_values": wrong, "overfull": overfull },
    });
    Report { summary, result, problem }
}

/// A ratio to six decimals.
fn millionths(ratio: f64) -> f64 {
    (ratio * 1e6).round() / 1e6
}
