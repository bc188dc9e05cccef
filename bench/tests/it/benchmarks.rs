//! `stages`, `run`, `scaling` and `zkp`.

use crate::right::right;

const STAGES: [&str; 6] = ["match", "keyholder", "proof_lookup", "digest", "seal", "total"];

fn caches() -> impl Iterator<Item = &'static str> {
    let built = [("engine", cfg!(feature = "cache-engine")), ("dashmap", cfg!(feature = "cache-dashmap"))];
    built.into_iter().filter(|(_, is_built)| *is_built).map(|(name, _)| name)
}

#[test]
fn stages_are_timed_and_their_outputs_verified() {
    for cache in caches() {
        let of =
            right(&format!("stages --users 64 --people 32 --iters 3 --warmup 1 --seed 7 --cache {cache}"));
        for figure in ["/stages_us", "/min_us", "/p90_us", "/runs_us"] {
            of.has_keys(figure, &STAGES);
        }
        for stage in STAGES {
            assert_eq!(of.list(&format!("/runs_us/{stage}")).len(), 3);
        }
        assert_eq!(of.number("/verified/matches"), of.number("/verified/expected_matches"));
        assert_eq!(of.number("/verified/matches") + of.number("/verified/denials"), 128.0);
        assert_eq!(of.number("/verified/attestations"), 4.0, "one of each seal");
        assert_eq!(*of.at("/template_store_bytes"), 64 * 49_152);
        assert!(of.at("/limits/possible/operations_per_ns").is_number());
    }
}

#[test]
fn runs_count_what_was_sealed_and_verify_it() {
    for cache in caches() {
        for cadence in ["group", "per-batch"] {
            let of = right(&format!(
                "run --workers 2 --seconds 0.1 --warmup 0.1 --repeats 2 --users 64 --people 32 --batches 5 --seed 7 --verify 8 \
                 --cadence {cadence} --cache {cache}"
            ));
            assert_eq!((of.list("/auth_per_s_runs").len(), of.list("/windows").len()), (2, 2));
            of.has_keys("/stages_us", &STAGES);
            assert!(of.number("/stages_us/seal") < of.number("/stages_us/total"));
            assert!(of.number("/auth_per_s") > 0.0);
            assert_eq!(of.number("/verified/wrong"), 0.0);
            assert_eq!(of.number("/verified/denials"), of.number("/verified/expected_denials"));
            assert!((1.0..=16.0).contains(&of.number("/verified/attestations")));
            if cadence == "per-batch" {
                assert_eq!(of.number("/windows/0/batches_per_seal"), 1.0);
                assert_eq!(of.number("/windows/0/lanes"), 32.0 * of.number("/windows/0/seals"));
            }
        }
    }
}

#[test]
fn the_canonical_workload_ends_sessions_misses_the_cache_and_explains_its_time() {
    for (cache, popularity) in caches().zip(["zipf", "uniform --no-long-window"]) {
        let words = format!(
            "run --canonical --short --workers 2 --seed 7 --verify 4 --cache {cache} --popularity {popularity}"
        );
        let of = right(&words);
        assert!(of.number("/cache_capacity") < of.number("/people"));
        // A wait is booked when it is over, which may be in the window after this one.
        assert!((0.0..=1.0).contains(&of.number("/explained")));
        let long = of.at("/long_window");
        assert_eq!(long.is_null(), popularity != "zipf");
        let windows = of.list("/windows").iter().chain(Some(long).filter(|long| !long.is_null()));
        let mut proofs = 0;
        for window in windows {
            let of = |name: &str| window["outcome"][name].as_u64().expect("a count");
            assert!(window["auth_per_s"].as_f64() > Some(0.0) && of("revived") > 0, "{window}");
            assert_eq!(window["outcome"]["verified"]["wrong"], 0);
            assert!(window["outcome"]["verified"]["attestations"].as_u64() > Some(0));
            proofs += of("proofs_verified");
        }
        assert!(proofs > 0, "sessions end and are proven again");
        assert!(!of.list("/warmup/auth_per_s_runs").is_empty());
    }
}

#[test]
fn a_window_lasts_until_something_was_sealed() {
    let of = right(
        "run --workers 1 --seconds 0.001 --warmup 0.001 --repeats 2 --cadence per-batch --users 32 --people 32 --batches 1 --verify 1",
    );
    assert!(of.number("/windows/0/seals") >= 1.0 && of.number("/windows/1/seals") >= 1.0);
}

#[test]
fn proofs_are_timed_and_verified() {
    let of = right("zkp --iters 2");
    let figures = [
        "prove_ms",
        "prove_cpu_ms",
        "verify_ms",
        "verify_cpu_ms",
        "decode_ms",
        "decode_cpu_ms",
        "proof_bytes",
    ];
    for figure in figures {
        assert!(of.number(&format!("/{figure}")) > 0.0, "{figure}");
        assert!(of.number(&format!("/{figure}_min")) > 0.0, "{figure}");
        assert_eq!(of.list(&format!("/{figure}_runs")).len(), 2);
    }
    let window = trefoil_zkp::proof_size_window(trefoil_zkp::Circuit::Cred2);
    assert!(window.contains(&(of.number("/proof_bytes") as usize)));
    of.has_keys("/security_bits", &trefoil_zkp::Bound::ALL.map(trefoil_zkp::Bound::name));
    assert!(of.number("/security_bits/proven_list_decoding_2026_2056") >= 120.0);
    assert!(of.number("/peak_rss_mb") > 1.0);
}

#[test]
fn every_number_of_workers_has_a_rate_over_each_cache_in_each_cadence() {
    let caches: Vec<_> = caches().collect();
    let words = "scaling --workers 1,3 --rounds 2 --seconds 0.3 --users 64 --people 32 --seed 7 --caches";
    let of = right(&format!("{words} {}", caches.join(",")));
    assert_eq!(of.list("/points").len(), 4 * caches.len());
    for point in of.list("/points") {
        assert!(point["auth_per_s"].as_f64() > Some(0.0), "{point}");
        assert_eq!(point["auth_per_s_runs"].as_array().map(Vec::len), Some(2), "{point}");
    }
}
