//! The benchmarks themselves, in process and with parameters so small that their numbers mean nothing.

mod report;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use report::{POPULATION, assert_keys, number};
use serde_json::Value;
use trefoil_bench::cache::{CacheTimes, cache_times};
use trefoil_bench::exact::{Exact, Source, exact};
use trefoil_bench::fhe_peers::{FhePeers, fhe_peers};
use trefoil_bench::hit_ratio::{HitRatio, Requests, hit_ratio};
use trefoil_bench::match_stages::{MatchStages, match_stages};
use trefoil_bench::roles::{KeyStructure, ProbeMode};
use trefoil_bench::run::{Run, run};
use trefoil_bench::stages::{Stages, stages};
use trefoil_bench::sweep::{Sweep, sweep};
use trefoil_bench::wiring::CacheChoice;
use trefoil_bench::zkp::{Zkp, zkp};
use trefoil_dataset::Protocol;
use trefoil_matching::Tier;
use trefoil_pipeline::Cadence;
use trefoil_zkp::Circuit;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

fn caches() -> Vec<CacheChoice> {
    let built = |cache: &CacheChoice| match cache {
        CacheChoice::Engine => cfg!(feature = "cache-engine"),
        CacheChoice::Dashmap => cfg!(feature = "cache-dashmap"),
    };
    [CacheChoice::Engine, CacheChoice::Dashmap].into_iter().filter(built).collect()
}

#[test]
fn dlib_scores_equal_their_references() {
    for protocol in [Protocol::Enrol1, Protocol::Enrol3] {
        for tier in Tier::available() {
            let source = Source::Set { data: data(), name: "lfw_dlib128".to_owned() };
            let report = exact(&Exact {
                source,
                protocol,
                workers: 2,
                tier,
                mode: ProbeMode::Plain,
                keys: KeyStructure::PerSubject,
            })
            .expect("runs");
            assert_eq!(report.problem, None, "{protocol} {tier:?}");
            assert_eq!(report.result["equal"], true);
            assert_eq!(report.result["sha256"], report.result["expected"]);
            assert_keys(
                &report,
                "",
                &[
                    "set",
                    "protocol",
                    "quantiser",
                    "probes",
                    "templates",
                    "scores",
                    "sha256",
                    "expected",
                    "equal",
                    "plain_sha256",
                    "equal_to_plain",
                    "threshold",
                    "decisions_wrong",
                    "mode",
                    "keys",
                    "jobs",
                    "seconds",
                    "workers",
                    "tier",
                ],
            );
        }
    }
}

#[test]
fn stages_are_timed_and_their_outputs_verified() {
    for cache in caches() {
        let parameters =
            Stages { users: 64, iterations: 3, warmup: 1, seed: 7, cache, tier: Tier::detected() };
        let report = stages(parameters, Arc::clone(&POPULATION)).expect("runs");
        assert_eq!(report.problem, None);
        for figure in ["/stages_us", "/min_us", "/p90_us", "/runs_us"] {
            assert_keys(&report, figure, &["match", "keyholder", "proof_lookup", "digest", "seal", "total"]);
        }
        for runs in report.result["runs_us"].as_object().expect("object").values() {
            assert_eq!(runs.as_array().expect("list").len(), 3);
        }
        assert_eq!(number(&report, "/verified/matches"), number(&report, "/verified/expected_matches"));
        assert_eq!(number(&report, "/verified/matches") + number(&report, "/verified/denials"), 128.0);
        assert_eq!(number(&report, "/verified/attestations"), 4.0, "one of each seal");
        assert_eq!(report.result["template_store_bytes"], 64 * 49_152);
        assert!(!report.summary.is_empty());
    }
}

#[test]
fn dlib_scores_in_the_other_modes_equal_their_reference() {
    for mode in [ProbeMode::Plain, ProbeMode::Shared] {
        let source = Source::Set { data: data(), name: "lfw_dlib128".to_owned() };
        let report = exact(&Exact {
            source,
            protocol: Protocol::Enrol1,
            workers: 2,
            tier: Tier::detected(),
            mode,
            keys: KeyStructure::PerTenant,
        });
        let report = report.expect("runs");
        assert_eq!(report.problem, None, "{mode:?}");
        assert_eq!((&report.result["equal"], &report.result["equal_to_plain"]), (&true.into(), &true.into()));
    }
}

#[test]
fn every_mode_is_timed_and_its_scores_verified() {
    let modes = [
        (ProbeMode::Plain, KeyStructure::PerSubject, &["match", "match_prepacked"][..]),
        (ProbeMode::Plain, KeyStructure::PerTenant, &["match"]),
        (ProbeMode::Shared, KeyStructure::PerTenant, &["match", "keyholder_encrypt"]),
    ];
    for (mode, keys, steps) in modes {
        let parameters =
            MatchStages { mode, keys, users: 64, iterations: 3, warmup: 1, seed: 7, tier: Tier::detected() };
        let report = match_stages(parameters).expect("runs");
        assert_eq!(report.problem, None);
        assert_keys(&report, "/stages_us", &[steps, &["sequential_read", "sum", "keyholder"]].concat());
        assert_eq!(number(&report, "/scores"), 128.0);
        let bytes = if keys == KeyStructure::PerSubject { 32 * 49_152 } else { 64 * 49_152 };
        assert_eq!(report.result["bytes_per_batch"], bytes);
        assert!(number(&report, "/gb_per_s") > 0.0 && number(&report, "/share_of_sequential_read") > 0.0);
    }
    let mode = (ProbeMode::Shared, KeyStructure::PerSubject);
    let parameters = MatchStages {
        mode: mode.0,
        keys: mode.1,
        users: 32,
        iterations: 1,
        warmup: 0,
        seed: 1,
        tier: Tier::detected(),
    };
    assert!(match_stages(parameters).is_err(), "there is no product under keys per subject");
}

#[test]
fn another_library_computes_the_same_scores() {
    let parameters = FhePeers { iterations: 2, users: 32, seed: 1, tier: Tier::detected() };
    let report = fhe_peers(&parameters).expect("runs");
    assert_eq!(report.problem, None);
    assert_keys(&report, "/match_us", &["fhe.rs", "trefoil", "trefoil_prepacked"]);
    assert!(number(&report, "/times_faster") > 0.0 && number(&report, "/times_faster_prepacked") > 0.0);
}

#[test]
fn runs_count_what_was_sealed_and_verify_it() {
    for cache in caches() {
        for cadence in [Cadence::Group, Cadence::PerBatch] {
            let report = run(
                Run {
                    workers: 2,
                    seconds: 0.1,
                    warmup_s: 0.1,
                    repeats: 2,
                    cadence,
                    cache,
                    users: 64,
                    batches: 5,
                    seed: 7,
                    samples: 8,
                    tier: Tier::detected(),
                },
                Arc::clone(&POPULATION),
            )
            .expect("runs");
            assert_eq!(report.problem, None);
            assert_eq!(report.result["auth_per_s_runs"].as_array().expect("list").len(), 2);
            assert_eq!(report.result["windows"].as_array().expect("list").len(), 2);
            assert_keys(
                &report,
                "/windows/0",
                &[
                    "auth_per_s",
                    "seals_per_s",
                    "batches_per_seal",
                    "seconds",
                    "lanes",
                    "seals",
                    "stages_us",
                    "seal_us",
                ],
            );
            let stages = ["match", "keyholder", "proof_lookup", "digest", "seal", "total"];
            assert_keys(&report, "/stages_us", &stages);
            assert!(number(&report, "/stages_us/seal") < number(&report, "/stages_us/total"));
            assert!(number(&report, "/auth_per_s") > 0.0);
            assert_eq!(number(&report, "/verified/wrong"), 0.0);
            assert_eq!(number(&report, "/verified/denials"), number(&report, "/verified/expected_denials"));
            let attestations = number(&report, "/verified/attestations");
            assert!((1.0..=8.0).contains(&attestations));
            if cadence == Cadence::PerBatch {
                assert_eq!(number(&report, "/batches_per_seal"), 1.0);
                assert_eq!(number(&report, "/stages_us/seal"), number(&report, "/seal_us"));
                assert_eq!(number(&report, "/windows/0/lanes"), 32.0 * number(&report, "/windows/0/seals"));
            }
        }
    }
}

#[test]
fn a_sweep_verifies_each_sessions_proof_once_per_so_many_requests() {
    for cache in caches() {
        let run = Run {
            workers: 1,
            seconds: 0.1,
            warmup_s: 0.0,
            repeats: 1,
            cadence: Cadence::Group,
            cache,
            users: 64,
            batches: 5,
            seed: 7,
            samples: 4,
            tier: Tier::detected(),
        };
        let parameters = Sweep { run, requests_per_proof: vec![1, 8] };
        let report = sweep(parameters, Arc::clone(&POPULATION)).expect("runs");
        assert_eq!(report.problem, None);
        assert_eq!(report.result["points"].as_array().expect("list").len(), 3);
        let keys = [
            "requests_per_proof",
            "auth_per_s",
            "auth_per_s_runs",
            "proof_us",
            "proof_share",
            "proofs_verified",
            "requests",
            "verified",
        ];
        for (at, expected) in [(0, Some(1)), (1, Some(8)), (2, None)] {
            let point = format!("/points/{at}");
            assert_keys(&report, &point, &keys);
            assert_eq!(report.result["points"][at]["requests_per_proof"], serde_json::json!(expected));
            let (requests, proofs) = (
                number(&report, &format!("{point}/requests")),
                number(&report, &format!("{point}/proofs_verified")),
            );
            assert!(requests > 0.0 && number(&report, &format!("{point}/auth_per_s")) > 0.0);
            assert_eq!(number(&report, &format!("{point}/verified/wrong")), 0.0);
            let share = number(&report, &format!("{point}/proof_share"));
            assert!((0.0..1.0).contains(&share), "{share}");
            match expected {
                Some(1) => assert_eq!(proofs, requests, "one each"),
                // 32 people, each at another point of the cycle of 8.
                Some(every) => assert!((proofs - requests / f64::from(every)).abs() <= 32.0, "{proofs}"),
                None => assert_eq!(proofs, 0.0),
            }
        }
    }
}

#[test]
fn a_window_lasts_until_something_was_sealed() {
    let parameters = Run {
        workers: 1,
        seconds: 0.000_1,
        warmup_s: 0.0,
        repeats: 2,
        cadence: Cadence::PerBatch,
        cache: CacheChoice::DEFAULT,
        users: 32,
        batches: 1,
        seed: 7,
        samples: 1,
        tier: Tier::detected(),
    };
    let report = run(parameters, Arc::clone(&POPULATION)).expect("runs");
    assert_eq!(report.problem, None);
    assert!(number(&report, "/windows/0/seals") >= 1.0 && number(&report, "/windows/1/seals") >= 1.0);
}

#[test]
fn recorded_requests_are_replayed_through_every_cache() {
    let trace = data().join("traces/web12.u64.zst");
    let report = hit_ratio(&HitRatio { requests: Requests::Recorded(trace), capacity: 300, repeats: 2 })
        .expect("runs");
    assert_eq!(report.problem, None);
    let caches = ["engine", "moka", "quick_cache", "s3_fifo", "lru"];
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
    // Least recently used leaves nothing to choice: 46,860 hits.
    assert_eq!(number(&report, "/hit_ratio/lru"), 0.490_131);
    assert_eq!(number(&report, "/entries_held/lru"), 300.0);
    assert_eq!(report.result["hit_ratio_runs"]["moka"].as_array().expect("list").len(), 2);
    assert_eq!(number(&report, "/requests"), 95_607.0);
    assert_eq!(number(&report, "/different_keys"), 13_756.0);
    assert_eq!(number(&report, "/verified/wrong_values"), 0.0);
}

/// What least-recently-used policies fail at: a loop longer than the cache. The best keeps two thirds of it.
#[test]
fn a_loop_longer_than_the_cache_is_learnt() {
    let report = hit_ratio(&HitRatio { requests: Requests::Loop, capacity: 400, repeats: 1 }).expect("runs");
    assert_eq!(report.problem, None);
    assert_eq!(number(&report, "/hit_ratio/lru"), 0.0);
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
        resident: vec![100, 200],
        threads: vec![1, 3],
        repeats: 2,
        duration: Duration::from_millis(1),
        seed: 7,
    })
    .expect("runs");
    assert_eq!(report.problem, None);
    let subjects = ["engine", "engine_off", "dashmap", "papaya", "moka", "quick_cache"];
    assert_keys(
        &report,
        "/zipf",
        &[
            "get_ns",
            "get_ns_runs",
            "get_million_per_s",
            "get_or_insert_ns",
            "get_or_insert_ns_runs",
            "get_or_insert_million_per_s",
            "instrumentation_ns",
            "hit_ratio",
        ],
    );
    assert_keys(&report, "/all_hit", &["100", "200"]);
    for load in ["/zipf", "/all_hit/100", "/all_hit/200"] {
        assert_keys(&report, &format!("{load}/get_ns"), &subjects);
        for subject in ["papaya", "moka", "quick_cache"] {
            assert!(number(&report, &format!("{load}/get_ns/{subject}/t1")) > 0.0);
            let runs = report.result.pointer(&format!("{load}/get_ns_runs/{subject}/t3"));
            assert_eq!(runs.and_then(Value::as_array).expect("list").len(), 2);
        }
        assert_keys(&report, &format!("{load}/instrumentation_ns/get"), &["t1", "t3"]);
        let cost = &report.result.pointer(&format!("{load}/instrumentation_ns/get/t1")).expect("cost");
        assert_eq!(cost.is_number(), cfg!(feature = "cache-engine"));
    }
    assert_keys(&report, "/bytes_per_entry", &["engine", "quick_cache", "moka", "dashmap", "papaya"]);
    assert_eq!(report.result["sketch_add_ns"].is_number(), cfg!(feature = "cache-engine"));
    // A map that does not evict has no get-or-insert.
    assert!(report.result["zipf"]["get_or_insert_ns"]["papaya"]["t1"].is_null());
    assert!((0.3..1.0).contains(&number(&report, "/zipf/hit_ratio/moka")));
    assert_eq!(number(&report, "/verified/wrong_values"), 0.0);
    assert_eq!(number(&report, "/verified/missed_where_all_is_held"), 0.0);
}

#[test]
fn more_entries_than_keys_make_no_load() {
    let parameters = CacheTimes {
        keys: 10,
        capacity: 11,
        resident: vec![],
        threads: vec![1],
        repeats: 1,
        duration: Duration::from_millis(1),
        seed: 7,
    };
    assert!(cache_times(&parameters).is_err());
}

#[test]
fn proofs_are_timed_and_verified() {
    let report = zkp(Zkp { circuit: Circuit::Cred1, iterations: 2 }).expect("runs");
    assert_eq!(report.problem, None);
    for figure in [
        "prove_ms",
        "prove_cpu_ms",
        "verify_ms",
        "verify_cpu_ms",
        "decode_ms",
        "decode_cpu_ms",
        "proof_bytes",
    ] {
        assert!(number(&report, &format!("/{figure}")) > 0.0, "{figure}");
        assert!(number(&report, &format!("/{figure}_min")) > 0.0, "{figure}");
        assert_eq!(report.result[format!("{figure}_runs")].as_array().expect("list").len(), 2);
    }
    assert!(
        trefoil_zkp::proof_size_window(Circuit::Cred1).contains(&(number(&report, "/proof_bytes") as usize))
    );
    assert_keys(
        &report,
        "/security_bits",
        &["proven_list_decoding", "proven_unique_decoding", "conjectured"],
    );
    assert!(number(&report, "/security_bits/proven_list_decoding") >= 120.0);
    assert!(report.result["verify_includes_decoding"] == true);
    assert!(number(&report, "/peak_rss_mb") > 1.0);
}
