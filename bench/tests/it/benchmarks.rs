//! The benchmarks themselves, in process and with parameters so small that their numbers mean nothing.

use std::sync::Arc;

use trefoil_bench::canonical::{Canonical, Scale, canonical};
use trefoil_bench::faces::FaceSource;
use trefoil_bench::run::{Run, run};
use trefoil_bench::scaling::{Scaling, scaling};
use trefoil_bench::stages::{Stages, stages};
use trefoil_bench::wiring::CacheChoice;
use trefoil_bench::workload::Popularity;
use trefoil_bench::zkp::{Zkp, zkp};
use trefoil_matching::Tier;
use trefoil_pipeline::Cadence;
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
        let report = canonical(parameters, Arc::clone(&POPULATION)).expect("runs");
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
    let report = run(parameters, Arc::clone(&POPULATION)).expect("runs");
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
fn every_number_of_workers_has_a_rate_over_each_cache_in_each_cadence() {
    let parameters = Scaling {
        workers: vec![1, 3],
        caches: caches(),
        rounds: 2,
        seconds: 0.3,
        price_per_hour: Some(0.1),
        users: 64,
        batches: 8,
        seed: 7,
        tier: Tier::detected(),
    };
    let report = scaling(&parameters, &POPULATION).expect("runs");
    assert_eq!(report.problem, None);
    let points = report.result["points"].as_array().expect("points");
    assert_eq!(points.len(), 4 * caches().len());
    for point in points {
        let of = |key: &str| point[key].as_f64().unwrap_or_else(|| panic!("{key}: {point}"));
        assert!(of("auth_per_s") > 0.0 && of("price_per_million") > 0.0);
        assert_eq!(point["auth_per_s_runs"].as_array().map(Vec::len), Some(2), "{point}");
    }
    assert!(report.summary.contains("for a million"));
}
