//! The benchmarks themselves, in process and with parameters so small that their numbers mean nothing.

use std::sync::Arc;
use std::time::Duration;

use trefoil_bench::canonical::{Canonical, Scale, canonical};
use trefoil_bench::day::{Day, day};
use trefoil_bench::faces::FaceSource;
use trefoil_bench::run::{More, Run, run};
use trefoil_bench::scaling::{Scaling, scaling};
use trefoil_bench::stages::{Stages, stages};
use trefoil_bench::sweep::{Sweep, sweep};
use trefoil_bench::wiring::CacheChoice;
use trefoil_bench::workload::Popularity;
use trefoil_bench::zkp::{Zkp, zkp};
use trefoil_matching::Tier;
use trefoil_pipeline::Cadence;
use trefoil_testing::volume;
use trefoil_zkp::Circuit;

use crate::report::{POPULATION, assert_keys, number};

fn caches() -> Vec<CacheChoice> {
    let built = |cache: &CacheChoice| match cache {
        CacheChoice::Engine => cfg!(feature = "cache-engine"),
        CacheChoice::Dashmap => cfg!(feature = "cache-dashmap"),
    };
    [CacheChoice::Engine, CacheChoice::Dashmap].into_iter().filter(built).collect()
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

/// One window of a tenth of a second.
fn short(cache: CacheChoice) -> Run {
    Run {
        workers: 1,
        seconds: 0.1,
        warmup_s: 0.0,
        repeats: 1,
        cadence: Cadence::Group,
        cache,
        users: 64,
        faces: FaceSource::Synthetic,
        popularity: Popularity::Uniform,
        batches: 5,
        seed: 7,
        samples: 4,
        slow_seals: Duration::ZERO,
        tier: Tier::detected(),
    }
}

#[test]
fn runs_count_what_was_sealed_and_verify_it() {
    for cache in caches() {
        for cadence in [Cadence::Group, Cadence::PerBatch] {
            let report = run(
                Run { workers: 2, warmup_s: 0.1, repeats: 2, cadence, samples: 8, ..short(cache) },
                Arc::clone(&POPULATION),
                More { open: vec![0.4], ..More::default() },
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
                    "lanes_per_batch",
                    "worker_time",
                    "system",
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
            let latency = |name: &str| number(&report, &format!("/open/0/latency_us/{name}"));
            assert!(latency("p50") > number(&report, "/stages_us/match"), "a batch is decided, then sealed");
            assert!(latency("p50") <= latency("p99") && latency("p99") <= latency("max"));
            assert_eq!(number(&report, "/open/0/verified/wrong"), 0.0);
            assert!(number(&report, "/open/0/batches") > 0.0);
            if cadence == Cadence::PerBatch {
                assert_eq!(number(&report, "/batches_per_seal"), 1.0);
                assert_eq!(number(&report, "/stages_us/seal"), number(&report, "/seal_us"));
                assert_eq!(number(&report, "/windows/0/lanes"), 32.0 * number(&report, "/windows/0/seals"));
            }
        }
    }
}

#[test]
fn the_canonical_workload_ends_sessions_misses_the_cache_and_explains_its_time() {
    for (cache, (popularity, long_window_s)) in
        caches().into_iter().zip([(Popularity::Zipf, Some(1.0)), (Popularity::Uniform, None)])
    {
        let parameters = Canonical {
            workers: 2,
            cadence: Cadence::Group,
            cache,
            popularity,
            // Long beside what a worker waits for one seal, which is booked when it is over.
            scale: Scale { people: 32, users: 64, window_s: 1.0, long_window_s, ..Scale::SHORT },
            seed: 7,
            samples: 4,
            tier: Tier::detected(),
        };
        let report = canonical(parameters, Arc::clone(&POPULATION), None).expect("runs");
        assert_eq!(report.problem, None);
        assert!(number(&report, "/cache_capacity") < number(&report, "/sessions"));
        assert!(number(&report, "/explained") > 0.9, "{}", report.summary);
        let long = &report.result["long_window"];
        assert_eq!(long.is_null(), long_window_s.is_none());
        let long = Some(long).filter(|long| !long.is_null());
        let windows = report.result["windows"].as_array().expect("list").iter().chain(long);
        let mut proofs = 0;
        for window in windows {
            let of = |name: &str| window["outcome"][name].as_u64().expect("a count");
            assert!(window["auth_per_s"].as_f64() > Some(0.0) && of("revived") > 0, "{window}");
            assert_eq!(window["outcome"]["verified"]["wrong"], 0);
            assert!(window["outcome"]["verified"]["attestations"].as_u64() > Some(0));
            proofs += of("proofs_verified");
        }
        assert!(proofs > 0, "sessions end and are proven again");
        assert!(!report.result["warmup"]["auth_per_s_runs"].as_array().expect("list").is_empty());
    }
}

#[test]
fn a_sweep_verifies_each_sessions_proof_once_per_so_many_requests() {
    for cache in caches() {
        let parameters = Sweep { run: short(cache), requests_per_proof: vec![1, 8] };
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
            "contended_gets",
            "given_up",
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
        seconds: 0.000_1,
        repeats: 2,
        cadence: Cadence::PerBatch,
        users: 32,
        batches: 1,
        samples: 1,
        ..short(CacheChoice::DEFAULT)
    };
    let report = run(parameters, Arc::clone(&POPULATION), More::default()).expect("runs");
    assert_eq!(report.problem, None);
    assert!(number(&report, "/windows/0/seals") >= 1.0 && number(&report, "/windows/1/seals") >= 1.0);
}

#[test]
fn proofs_are_timed_and_verified() {
    let report = zkp(Zkp { circuit: Circuit::Cred2, iterations: 2 }).expect("runs");
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
        trefoil_zkp::proof_size_window(Circuit::Cred2).contains(&(number(&report, "/proof_bytes") as usize))
    );
    assert_keys(&report, "/security_bits", &trefoil_zkp::Bound::ALL.map(trefoil_zkp::Bound::name));
    assert!(number(&report, "/security_bits/proven_list_decoding_2026_2056") >= 120.0);
    assert!(report.result["verify_includes_decoding"] == true);
    assert!(number(&report, "/peak_rss_mb") > 1.0);
}

#[test]
fn a_day_is_pruned_audited_and_proven() {
    let folder = tempfile::tempdir().expect("a folder");
    let seconds = volume(1200, 120) as u64;
    let parameters = Day {
        seconds,
        logins_per_s: 20,
        checked: 50,
        folder: folder.path().to_owned(),
        seed: 5,
        full_s: Some(30),
    };
    let report = day(&parameters).expect("runs");
    assert_eq!(report.problem, None);
    assert_eq!(number(&report, "/audited"), number(&report, "/seals"));
    assert_eq!(number(&report, "/verified_offline"), 50.0);
    assert!(number(&report, "/pruned") > number(&report, "/seals") / 2.0);
    assert!(number(&report, "/wait_ms/max") <= number(&report, "/seal_floor_ms"));
    // At 20 a second one login in three comes within 20 ms of a seal, and then waits for one in five to come with it.
    assert!(number(&report, "/logins_per_seal") > 1.02);
}

#[test]
fn rates_by_workers_stand_beside_a_model_that_knows_the_steps_alone() {
    let parameters = Scaling {
        workers: vec![1, 3],
        caches: caches(),
        rounds: 2,
        seconds: 0.3,
        cost_seconds: 0.01,
        drawn: vec![1, 96],
        memory_gb_per_s: 400.0,
        price_per_hour: Some(0.1),
        users: 64,
        batches: 8,
        memory_bytes: 1 << 20,
        seed: 7,
        tier: Tier::detected(),
    };
    let report = scaling(&parameters, &POPULATION).expect("runs");
    assert_eq!(report.problem, None);
    let points = report.result["points"].as_array().expect("points");
    assert_eq!(points.len(), 4 * caches().len());
    for point in points {
        let of = |key: &str| point[key].as_f64().unwrap_or_else(|| panic!("{key}: {point}"));
        assert!(of("auth_per_s") > 0.0 && of("model_auth_per_s") > 0.0 && of("price_per_million") > 0.0);
        assert_eq!(point["auth_per_s_runs"].as_array().map(Vec::len), Some(2), "{point}");
        assert_eq!(point["missed"] == true, of("error").abs() > 0.15, "{point}");
    }
    let missed = report.result["check"]["missed"].as_array().expect("missed");
    assert_eq!(missed.len(), points.iter().filter(|point| point["missed"] == true).count());
    assert_eq!(report.result["check"]["passed"], missed.is_empty());
    for curve in report.result["model"]["curves"].as_array().expect("curves") {
        assert!(curve["label"].as_str().is_some_and(|label| label.contains("model")));
        assert_eq!(curve["points"][1]["workers"], 96);
        assert!(curve["points"][1]["auth_per_s"].as_f64() > curve["points"][0]["auth_per_s"].as_f64());
    }
    // Every cost is measured, positive and kept.
    let runs = report.result["runs"].as_object().expect("runs");
    for name in ["memory/all", "dispatch", "seal/512", "release/512", "own_seal/all", "seal/1"] {
        let values = runs[name].as_array().expect(name);
        assert!(
            values.len() == 2 && values.iter().all(|value| value.as_f64() > Some(0.0)),
            "{name}: {values:?}"
        );
    }
    assert!(report.summary.contains("MODEL") && report.summary.contains("a million authentications at 0.1"));
}
