//! The laboratory: the ladder, the overhead and the registry, with parameters so small that their numbers mean nothing.

use std::sync::Arc;
use std::time::Duration;

use trefoil_bench::Report;
use trefoil_bench::in_pipeline::PipelineLoad;
use trefoil_bench::ladder::{Contention, KeyHolderLoad, Ladder, ladder};
use trefoil_bench::overhead::overhead;
use trefoil_bench::registry::{RegistryTimes, registry};
use trefoil_matching::Tier;

use crate::report::{POPULATION, assert_keys, number};

#[test]
fn registries_are_read_by_all_threads_and_verified() {
    let report =
        registry(&RegistryTimes { threads: vec![1, 3], repeats: 2, duration: Duration::from_millis(3) })
            .expect("runs");
    assert_eq!(report.problem, None);
    for name in ["rwlock", "dashmap", "counted_guard", "counted_guard_own", "arc_swap_cached"] {
        for threads in ["t1", "t3"] {
            let cell = format!("/registries/{name}/{threads}");
            assert!(number(&report, &format!("{cell}/cpu_ns_per_read")) > 0.0, "{cell}");
            if name == "rwlock" {
                continue;
            }
            for ratio in ["of_rwlock", "of_rwlock_cpu"] {
                let [low, mean, high] =
                    ["low", "mean", "high"].map(|end| number(&report, &format!("{cell}/{ratio}/{end}")));
                assert!(0.0 < low && low <= mean && mean <= high, "{cell} {ratio}");
            }
            for kept in ["cpu_ns_per_read", "million_per_s"] {
                let runs = report.result.pointer(&format!("{cell}/{kept}_runs")).expect("runs");
                assert_eq!(runs.as_array().expect("list").len(), 4, "{cell} {kept}");
            }
        }
        let registry = &report.result["registries"][name];
        assert!(registry["a_read_writes"].is_string(), "{name}");
    }
    assert_eq!(number(&report, "/verified/wrong"), 0.0);
}

/// The whole pipeline, as short as it goes.
fn tiny_load() -> PipelineLoad {
    PipelineLoad {
        workers: 1,
        seconds: 0.01,
        warmup_s: 0.0,
        repeats: 2,
        users: 32,
        batches: 2,
        seed: 7,
        samples: 1,
        tier: Tier::detected(),
    }
}

/// Claim B5: The engine was compared with the raw map in the whole pipeline, in pairs and with an interval. Also:
/// `bench/records/overhead-2vcpu.json#/overhead_percent/low`.
#[test]
fn overhead_is_a_paired_comparison_with_an_interval() {
    let report = overhead(tiny_load(), Arc::clone(&POPULATION)).expect("runs");
    assert_eq!(report.problem, None);
    for figure in ["/overhead_percent", "/overhead_percent_workers"] {
        assert_keys(&report, figure, &["mean", "low", "high"]);
        let [low, mean, high] =
            ["low", "mean", "high"].map(|end| number(&report, &format!("{figure}/{end}")));
        assert!(low <= mean && mean <= high, "{figure}");
    }
    for runs in [
        "auth_per_s_runs",
        "raw_auth_per_s_runs",
        "cpu_us_per_auth_runs",
        "raw_cpu_us_per_auth_runs",
        "worker_cpu_us_per_auth_runs",
    ] {
        assert_eq!(report.result[runs].as_array().expect("runs").len(), 4, "{runs}");
    }
}

/// Claim O1: Look-ups alone keep 95 % of the raw map's rate under the shipped observer. Under each published state of the other design they
/// lose visibly more. Also: `bench/records/2026-11-24-epyc-2vcpu/ladder.json#/lookups/bars/per_worker_of_raw_holds`,
/// `bench/records/2026-11-24-epyc-2vcpu/ladder.json#/lookups/bars/historical_below_per_worker`.
/// Claim B12: Comparisons come from one run in turns or from alternating runs, each with its interval. Also:
/// `bench/records/overhead-2vcpu.json#/order`.
#[test]
fn every_rung_of_the_ladder_is_compared_with_the_raw_map() {
    let parameters = Ladder {
        workers: 3,
        duration: Duration::from_millis(1),
        repeats: 2,
        seed: 7,
        pipeline: Some((tiny_load(), Arc::clone(&POPULATION))),
        key_holder: Some(KeyHolderLoad {
            workers: vec![1, 2],
            batches: 2,
            duration: Duration::from_millis(1),
            repeats: 2,
            tier: Tier::detected(),
        }),
        contention: Some(Contention {
            contenders: vec![1, 2],
            duration: Duration::from_millis(1),
            repeats: 2,
        }),
    };
    let report = ladder(&parameters).expect("runs");
    // Every look-up hit, and every observer that counts has counted each of them.
    assert_eq!(report.problem, None);
    for request in ["lookups", "misses", "puts"] {
        every_rung_was_compared(&report, request);
    }
    for workers in ["w1", "w2"] {
        let mean = format!("/keyholder/workers/{workers}/of_locks/mean");
        assert!(number(&report, &mean) > 0.0, "{workers}");
    }
    for instrument in ["locked_counters", "shared_counters", "throughput_window", "per_worker"] {
        assert!(
            number(&report, &format!("/contenders/instruments/{instrument}/c2/ns")) > 0.0,
            "{instrument}"
        );
    }
    assert_keys(
        &report,
        "/lookups/bars",
        &["per_worker_of_raw_min", "per_worker_of_raw_holds", "historical_below_per_worker"],
    );
    let pipeline = report.result["pipeline"]["rungs"].as_object().expect("pipeline");
    assert_eq!(pipeline.len(), 7);
    for (name, rung) in pipeline {
        assert!(rung["of_raw"]["mean"].is_number() && rung["differs_from_raw"].is_boolean(), "{name}");
        assert_eq!(rung["auth_per_s_runs"].as_array().expect("runs").len(), 4, "{name}");
    }
}

fn every_rung_was_compared(report: &Report, request: &str) {
    let rungs = report.result[request]["rungs"].as_object().expect("rungs");
    for name in
        ["three_locks", "atomic_statistics", "lock_free_histograms", "sampled_detector", "per_worker", "off"]
    {
        let rung = &rungs[name];
        assert!(number(report, &format!("/{request}/rungs/{name}/of_raw/mean")) > 0.0, "{name}");
        assert_eq!(rung["million_per_s_runs"].as_array().expect("runs").len(), 4, "{name}");
        assert_eq!(rung["raw_million_per_s_runs"].as_array().expect("runs").len(), 4, "{name}");
        assert!(rung["change"].is_string(), "{name}");
        assert_eq!(rung["counted"].is_number(), name != "off", "{name}");
    }
    assert!(rungs.contains_key("engine") && rungs.contains_key("engine_off"));
}
