//! Hit ratios of all caches over many traces and sizes, and their means.

use std::collections::HashSet;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::{CAPACITY_MIN, LOOP, Replays, Requests, each, millionths, problems, ratio_of, replays};
use crate::Failure;
use crate::Report;

/// Which traces to replay.
#[derive(Clone, Debug)]
pub struct Table {
    /// Files, or folders with files: zstd files of little-endian u64 keys.
    pub traces: Vec<PathBuf>,
    /// Runs of the caches whose hash is keyed at random.
    pub repeats: usize,
}

/// A trace is replayed into caches of these fractions of its different keys: sizes that nobody picked.
const SHARES: [usize; 3] = [64, 16, 4];
/// Entries of the caches for synthetic requests.
const SYNTHETIC: [(Requests, usize); 4] = [
    (Requests::Zipf, 10_000),
    (Requests::Zipf, 100_000),
    (Requests::Loop(LOOP), 1_000),
    (Requests::Loop(LOOP), 10_000),
];

struct Row {
    trace: Value,
    sha256: [u8; 32],
    requests: usize,
    different: usize,
    capacity: usize,
    caches: Vec<(&'static str, Option<Replays>)>,
}

/// Replays every trace at three sizes, and the synthetic requests at two.
///
/// # Errors
/// When a trace cannot be read. Wrong values are in the report, not here.
pub fn table(parameters: &Table) -> Result<Report, Failure> {
    let mut rows = Vec::new();
    for path in files(&parameters.traces)? {
        let requests = Requests::Recorded(path);
        for share in SHARES {
            rows.push(row(
                &requests,
                &|different| (different / share).max(CAPACITY_MIN),
                parameters.repeats,
            )?);
        }
    }
    for (requests, capacity) in SYNTHETIC {
        rows.push(row(&requests, &|_| capacity, parameters.repeats)?);
    }
    Ok(report(parameters, &rows))
}

/// The files named, and those in the folders named, in the order of their names.
fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let refuse = |error: std::io::Error| Failure::usage(format!("{}: {error}", path.display()));
        let mut inside = Vec::new();
        for entry in std::fs::read_dir(path).map_err(refuse)? {
            inside.push(entry.map_err(refuse)?.path());
        }
        inside.retain(|file| file.extension().is_some_and(|extension| extension == "zst"));
        inside.sort();
        files.append(&mut inside);
    }
    Ok(files)
}

fn row(requests: &Requests, capacity: &dyn Fn(usize) -> usize, repeats: usize) -> Result<Row, Failure> {
    // A loop is made for a capacity, and has no other use for the number of its keys.
    let trace = requests.trace(capacity(0))?;
    let different = trace.requests.iter().collect::<HashSet<_>>().len();
    let capacity = capacity(different);
    eprintln!("hit-ratio: {} into {capacity} entries", requests.name());
    Ok(Row {
        trace: requests.name(),
        sha256: trace.sha256,
        requests: trace.requests.len(),
        different,
        capacity,
        caches: replays(&trace.requests, capacity, repeats),
    })
}

impl Row {
    fn ratio(&self, name: &str) -> Option<f64> {
        let (_, replays) = self.caches.iter().find(|(cache, _)| *cache == name)?;
        Some(ratio_of(replays.as_ref()?, self.requests))
    }

    /// How far the engine is below the best of the other caches that bound their memory; negative where it is above.
    fn shortfall(&self) -> Option<f64> {
        let best = PEERS.iter().filter_map(|name| self.ratio(name)).fold(0.0, f64::max);
        Some(best - self.ratio("engine")?)
    }

    fn json(&self) -> Value {
        json!({
            "trace": self.trace, "trace_sha256": hex::encode(self.sha256),
            "requests": self.requests, "different_keys": self.different, "capacity": self.capacity,
            "hit_ratio": each(&self.caches, &|replays| json!(millionths(ratio_of(replays, self.requests)))),
            "below_best": self.shortfall().map(millionths),
        })
    }
}

/// What the engine is compared with.
const PEERS: [&str; 2] = ["moka", "quick_cache"];

fn report(parameters: &Table, rows: &[Row]) -> Report {
    let names: Vec<&str> = rows.iter().flat_map(|row| &row.caches).map(|(name, _)| *name).collect();
    let names: Vec<&str> =
        names.iter().enumerate().filter(|(i, name)| !names[..*i].contains(name)).map(|(_, n)| *n).collect();
    let mean = |name: &&str| -> (String, Value) {
        let ratios: Vec<f64> = rows.iter().filter_map(|row| row.ratio(name)).collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        ((*name).to_owned(), json!(if ratios.is_empty() { None } else { Some(millionths(mean)) }))
    };
    let means: Map<_, _> = names.iter().map(mean).collect();
    let worst = rows.iter().filter_map(Row::shortfall).fold(f64::MIN, f64::max);
    let mut summary = format!("hit ratio, {} pairs of trace and size\n", rows.len());
    for row in rows {
        let cells: Vec<String> =
            names.iter().map(|name| format!("{name} {:.4}", row.ratio(name).unwrap_or(f64::NAN))).collect();
        let trace = row.trace.as_str().unwrap_or("?");
        summary.push_str(&format!("  {trace:<24} {:>7}  {}\n", row.capacity, cells.join("  ")));
    }
    summary.push_str(&format!("  mean {}\n", Value::from(means.clone())));
    let verified = problems(rows.iter().flat_map(|row| &row.caches));
    Report {
        summary,
        problem: verified.problem(),
        result: json!({
            "mean_hit_ratio": means, "most_below_best": millionths(worst), "pairs": rows.len(),
            "repeats": parameters.repeats, "table": rows.iter().map(Row::json).collect::<Vec<_>>(),
            "verified": verified.json(),
        }),
    }
}
