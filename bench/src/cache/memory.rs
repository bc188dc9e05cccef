//! Memory that a cache takes per entry.

use std::fs;

use serde_json::{Map, Value, json};
use trefoil_cache::Off;

use crate::peers::{Moka, Ours, Payload, QuickCache, key};
use crate::wiring;
use trefoil_lab::timing::Timed;

/// Growth of the process in bytes per entry when each cache is made for `capacity` entries and filled. All are kept until
/// the last is measured, so that none reuses memory that another has freed. Null where the system does not say how large the
/// process is, or a cache is not in this build.
pub(super) fn bytes_per_entry(capacity: usize) -> Value {
    type Made = Option<Box<dyn Timed>>;
    let engine = || -> Made {
        wiring::engine::<Payload, Off>(capacity).map(|c| Box::new(Ours::evicting(c)) as Box<dyn Timed>)
    };
    let dashmap = || -> Made {
        wiring::dashmap::<Payload, Off>(capacity).map(|c| Box::new(Ours::map(c)) as Box<dyn Timed>)
    };
    let makers: [(&str, &dyn Fn() -> Made); 4] = [
        ("engine", &engine),
        ("quick_cache", &|| Some(Box::new(QuickCache::new(capacity)))),
        ("moka", &|| Some(Box::new(Moka::new(capacity)))),
        ("dashmap", &dashmap),
    ];
    let keys: Vec<_> = (0..capacity as u64).map(key).collect();
    let mut kept = Vec::new();
    let mut measured = Map::new();
    for (name, make) in makers {
        let before = resident_bytes();
        let made = make();
        let bytes = made.as_ref().and_then(|cache| {
            cache.fill(&keys);
            let grown = resident_bytes()?.saturating_sub(before?);
            Some(json!((grown as f64 / capacity as f64).round()))
        });
        measured.insert(name.to_owned(), bytes.unwrap_or(Value::Null));
        kept.push(made);
    }
    measured.into()
}

/// Memory of this process that is in use, if the system reports it.
fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(1024 * line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?)
}
