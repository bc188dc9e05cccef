//! `hit-ratio` and `cache`.

use trefoil_testing::volume;

use crate::right::{data, right};

const CACHES: [&str; 3] = ["engine", "moka", "quick_cache"];

#[test]
fn recorded_requests_are_replayed_through_every_cache() {
    let trace = data().join("traces/web12.u64.zst");
    let of = right(&format!("hit-ratio --traces {} --capacity 300 --repeats 2", trace.display()));
    assert_eq!(of.list("/table").len(), 1);
    for cache in CACHES {
        let ratio = of.at(&format!("/table/0/hit_ratio/{cache}"));
        if cache == "engine" && !cfg!(feature = "cache-engine") {
            assert!(ratio.is_null(), "not in this build");
            continue;
        }
        // The best that can be done, with the future known, is 0.668.
        assert!((0.3..=0.668_4).contains(&ratio.as_f64().expect("number")), "{cache}: {ratio}");
        assert!(of.number(&format!("/table/0/entries_held/{cache}")) <= 320.0, "{cache}");
        assert_eq!(of.list(&format!("/table/0/hit_ratio_runs/{cache}")).len(), 2);
    }
    assert_eq!(of.number("/table/0/requests"), 95_607.0);
    assert_eq!(of.number("/table/0/different_keys"), 13_756.0);
    assert_eq!(of.number("/verified/wrong_values"), 0.0);
}

/// What least-recently-used policies fail at: a loop longer than the cache. The best keeps two thirds of it.
#[test]
fn a_loop_longer_than_the_cache_is_learnt() {
    let of = right(&format!("hit-ratio --repeats 1 --synthetic {}", volume(1_000_000, 100_000)));
    assert_eq!(of.list("/table").len(), 4);
    assert_eq!(*of.at("/table/2/trace"), "loop");
    if cfg!(feature = "cache-engine") {
        assert!((0.4..0.667).contains(&of.number("/table/2/hit_ratio/engine")));
        assert!(of.number("/table/2/entries_held/engine") <= 1_000.0);
    }
}

#[test]
fn caches_and_maps_are_timed_and_their_values_verified() {
    let of = right("cache --keys 4000 --capacity 1000 --threads 1,3 --repeats 2 --millis 1 --seed 7");
    of.has_keys("/zipf", &["get_ns", "get_ns_runs", "get_million_per_s", "hit_ratio"]);
    for cache in ["dashmap", "moka", "quick_cache"] {
        if cache == "dashmap" && !cfg!(feature = "cache-dashmap") {
            continue;
        }
        assert!(of.number(&format!("/zipf/get_ns/{cache}/t1")) > 0.0);
        assert_eq!(of.list(&format!("/zipf/get_ns_runs/{cache}/t3")).len(), 2);
    }
    assert_eq!(of.at("/zipf/get_ns").get("engine").is_some(), cfg!(feature = "cache-engine"));
    assert!((0.3..1.0).contains(&of.number("/zipf/hit_ratio/moka")));
    assert_eq!(of.number("/verified/wrong_values"), 0.0);
}

#[test]
fn more_entries_than_keys_make_no_load() {
    assert!(
        trefoil_bench::cli::report("cache --keys 10 --capacity 11 --threads 1 --repeats 1 --millis 1")
            .is_err()
    );
}
