//! `hit-ratio` and `cache`.

use std::time::Duration;

use serde_json::Value;
use trefoil_bench::cache::{CacheTimes, cache_times};
use trefoil_bench::hit_ratio::{HitRatio, Requests, hit_ratio};
use trefoil_testing::volume;

use crate::report::{assert_keys, data, number};

#[test]
fn recorded_requests_are_replayed_through_every_cache() {
    let trace = data().join("traces/web12.u64.zst");
    let report = hit_ratio(&HitRatio { requests: Requests::Recorded(trace), capacity: 300, repeats: 2 })
        .expect("runs");
    assert_eq!(report.problem, None);
    let caches = ["engine", "moka", "quick_cache"];
    for figure in ["/hit_ratio", "/hit_ratio_runs", "/entries_max", "/entries_held"] {
        assert_keys(&report, figure, &caches);
    }
    for cache in caches {
        let ratio = &report.result["hit_ratio"][cache];
        if cache == "engine" && !cfg!(feature = "cache-engine") {
            assert!(ratio.is_null(), "not in this build");
            continue;
        }
        // The best that can be done, with the future known, is 0.668.
        assert!((0.3..=0.668_4).contains(&ratio.as_f64().expect("number")), "{cache}: {ratio}");
        assert!(report.result["entries_held"][cache].as_u64().expect("number") <= 300 + 20, "{cache}");
    }
    assert_eq!(report.result["hit_ratio_runs"]["moka"].as_array().expect("list").len(), 2);
    assert_eq!(number(&report, "/requests"), 95_607.0);
    assert_eq!(number(&report, "/different_keys"), 13_756.0);
    assert_eq!(number(&report, "/verified/wrong_values"), 0.0);
}

/// What least-recently-used policies fail at: a loop longer than the cache. The best keeps two thirds of it.
#[test]
fn a_loop_longer_than_the_cache_is_learnt() {
    let requests = Requests::Loop(volume(1_000_000, 250_000) as u64);
    let report = hit_ratio(&HitRatio { requests, capacity: 400, repeats: 1 }).expect("runs");
    assert_eq!(report.problem, None);
    if cfg!(feature = "cache-engine") {
        assert!((0.5..0.667).contains(&number(&report, "/hit_ratio/engine")));
        assert!(number(&report, "/entries_held/engine") <= 400.0);
    }
}

#[test]
fn caches_and_maps_are_timed_and_their_values_verified() {
    let report = cache_times(&CacheTimes {
        keys: 4_000,
        capacity: 1_000,
        threads: vec![1, 3],
        repeats: 2,
        duration: Duration::from_millis(1),
        seed: 7,
    })
    .expect("runs");
    assert_eq!(report.problem, None);
    assert_keys(&report, "/zipf", &["get_ns", "get_ns_runs", "get_million_per_s", "hit_ratio"]);
    for cache in ["dashmap", "moka", "quick_cache"] {
        if cache == "dashmap" && !cfg!(feature = "cache-dashmap") {
            continue;
        }
        assert!(number(&report, &format!("/zipf/get_ns/{cache}/t1")) > 0.0);
        let runs = report.result.pointer(&format!("/zipf/get_ns_runs/{cache}/t3"));
        assert_eq!(runs.and_then(Value::as_array).expect("list").len(), 2);
    }
    assert_eq!(report.result["zipf"]["get_ns"]["engine"].is_object(), cfg!(feature = "cache-engine"));
    assert!((0.3..1.0).contains(&number(&report, "/zipf/hit_ratio/moka")));
    assert_eq!(number(&report, "/verified/wrong_values"), 0.0);
}

#[test]
fn more_entries_than_keys_make_no_load() {
    let parameters = CacheTimes {
        keys: 10,
        capacity: 11,
        threads: vec![1],
        repeats: 1,
        duration: Duration::from_millis(1),
        seed: 7,
    };
    assert!(cache_times(&parameters).is_err());
}
