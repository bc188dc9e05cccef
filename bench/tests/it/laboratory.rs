//! The laboratory: the ladder, the overhead, the registry and the model, with parameters so small that their numbers mean
//! nothing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use trefoil_bench::Report;
use trefoil_bench::in_pipeline::PipelineLoad;
use trefoil_bench::ladder::{Contention, KeyHolderLoad, Ladder, LockFamily, ladder};
use trefoil_bench::overhead::overhead;
use trefoil_bench::registry::{RegistryTimes, registry};
use trefoil_bench::simulate::{Simulate, simulate};
use trefoil_matching::Tier;

use crate::report::{POPULATION, assert_keys, number};

#[test]
fn registries_are_read_by_all_threads_and_verified() {
    let report =
        registry(&RegistryTimes { threads: vec![1, 3], repeats: 2, duration: Duration::from_millis(3) })
            .expect("runs");
    assert_eq!(report.problem, None);
    for name in
        ["rwlock", "dashmap", "counted_guard", "counted_guard_own", "papaya", "arc_swap", "arc_swap_cached"]
    {
        for threads in ["t1", "t3"] {
            let cell = format!("/registries/{name}/{threads}");
            assert!(number(&report, &format!("{cell}/cpu_ns_per_read")) > 0.0, "{cell}");
            for writer in ["with_writer", "without_writer"] {
                let of = |figure: &str| number(&report, &format!("{cell}/{writer}/{figure}"));
                assert!(of("p50_ns") <= of("p99_ns") && of("cpu_ns_per_read") > 0.0, "{cell} {writer}");
                assert!(of("voluntary_switches_per_s") >= 0.0 && of("involuntary_switches_per_s") >= 0.0);
            }
            if name == "rwlock" {
                continue;
            }
            for ratio in ["of_rwlock", "of_rwlock_cpu"] {
                let [low, mean, high] =
                    ["low", "mean", "high"].map(|end| number(&report, &format!("{cell}/{ratio}/{end}")));
                assert!(0.0 < low && low <= mean && mean <= high, "{cell} {ratio}");
            }
            for kept in ["cpu_ns_per_read", "million_per_s", "rwlock_cpu_ns_per_read", "rwlock_million_per_s"]
            {
                let runs = report.result.pointer(&format!("{cell}/{kept}_runs")).expect("runs");
                assert_eq!(runs.as_array().expect("list").len(), 4, "{cell} {kept}");
            }
        }
        let registry = &report.result["registries"][name];
        assert!(registry["change"].is_string() && registry["why"].is_string(), "{name}");
    }
    assert!(number(&report, "/verified/writes") >= 1.0);
    assert_eq!(number(&report, "/verified/wrong"), 0.0);
}

#[test]
fn a_model_that_fails_its_check_says_nothing_of_other_machines() {
    let parameters = Simulate {
        workers: vec![1, 96],
        think_ns: 10_000.0,
        instances: 2,
        tries: 3,
        duration: Duration::from_millis(1),
        seed: 7,
        svg: None,
    };
    let report = simulate(&parameters).expect("runs");
    assert_eq!(report.problem, None);
    let keys = [
        "label",
        "calibration",
        "check",
        "think_ns",
        "workers",
        "seed",
        "instances",
        "runs",
        "curves",
        "begins_to_bite",
    ];
    assert_keys(&report, "", &keys);
    assert_keys(&report, "/check", &["passed", "error_max", "points", "why"]);
    assert!(report.result["label"].as_str().expect("text").contains("model"));
    // Whether it passes depends on how busy the machine is; what follows does not.
    let passed = report.result["check"]["passed"].as_bool().expect("verdict");
    assert_eq!(report.result["curves"].is_array(), passed);
    assert_eq!(report.result["begins_to_bite"].is_array(), passed);
    let points = report.result["check"]["points"].as_array().expect("points");
    assert!(points.is_empty() || points.len() == 14);
    let within = |point: &Value| point["error"].as_f64().is_some_and(|error| error.abs() <= 0.15);
    assert_eq!(passed, !points.is_empty() && points.iter().all(within));
    // Every value is kept, that of a disturbed place as null.
    for kept in ["parts_one_worker_ns", "ladder_one_worker_ns", "ladder_all_workers_ns"] {
        let subjects = report.result["runs"][kept].as_object().expect("subjects");
        assert_eq!(subjects.len(), if kept == "parts_one_worker_ns" { 8 } else { 7 }, "{kept}");
        assert!(subjects.values().all(|values| values.as_array().is_some_and(|v| v.len() == 2)), "{kept}");
    }
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

#[test]
fn overhead_is_a_paired_comparison_with_an_interval() {
    let report = overhead(tiny_load(), Arc::clone(&POPULATION)).expect("runs");
    assert_eq!(report.problem, None);
    for figure in [
        "/overhead_percent",
        "/overhead_percent_cpu",
        "/overhead_percent_workers",
        "/overhead_percent_lookups",
    ] {
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
    assert!(report.result["mean_within_bar"].is_boolean());
}

#[test]
fn every_rung_of_the_ladder_is_compared_with_the_raw_map() {
    let drawing = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ladder.svg");
    let parameters = Ladder {
        workers: 3,
        duration: Duration::from_millis(1),
        repeats: 2,
        parts: true,
        locks: LockFamily::ParkingLot,
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
            locks: LockFamily::ParkingLot,
        }),
        svg: Some(drawing.clone()),
    };
    let report = ladder(&parameters).expect("runs");
    // Every look-up hit, and every observer that counts has counted each of them.
    assert_eq!(report.problem, None);
    for request in ["lookups", "misses", "puts"] {
        every_rung_was_compared(&report, request);
    }
    assert_eq!(report.result["locks"], "parking_lot");
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
    assert!(report.result["pipeline"]["why"].is_string());
    assert_keys(
        &report,
        "/pipeline/begins_to_bite",
        &["label", "published_workers", "published_raw_auth_per_s", "own_us_per_authentication", "rungs"],
    );
    assert!(std::fs::read_to_string(drawing).expect("drawing").contains("three_locks"));
}

fn every_rung_was_compared(report: &Report, request: &str) {
    let rungs = report.result[request]["rungs"].as_object().expect("rungs");
    for name in [
        "three_locks",
        "atomic_statistics",
        "lock_free_histograms",
        "sampled_detector",
        "per_worker",
        "off",
        "locked_counters",
        "locked_histogram",
        "locked_log",
        "shared_counters",
        "shared_histogram",
        "gated_log",
        "throughput_window",
    ] {
        let rung = &rungs[name];
        assert!(number(report, &format!("/{request}/rungs/{name}/of_raw/mean")) > 0.0, "{name}");
        assert_eq!(rung["million_per_s_runs"].as_array().expect("runs").len(), 4, "{name}");
        assert_eq!(rung["raw_million_per_s_runs"].as_array().expect("runs").len(), 4, "{name}");
        assert!(rung["change"].is_string() && rung["why"].is_string(), "{name}");
        let silent =
            ["off", "locked_histogram", "locked_log", "shared_histogram", "gated_log", "throughput_window"];
        assert_eq!(rung["counted"].is_number(), !silent.contains(&name), "{name}");
    }
    assert!(rungs.contains_key("engine") && rungs.contains_key("engine_off"));
}
