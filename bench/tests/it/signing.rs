//! `sign`, in process and with parameters so small that its numbers mean nothing.

use trefoil_kernels::{Cpu, Tier};

use crate::right::{Right, right};

/// Names of a time and its companions.
const TIMES: [&str; 3] = ["", "_min", "_runs"];

/// The object at `pointer` must have the times and the others as keys and nothing else.
fn assert_keys(of: &Right, pointer: &str, times: &[&str], others: &[&str]) {
    let timed = times.iter().flat_map(|time| TIMES.map(|suffix| format!("{time}{suffix}")));
    let expected: Vec<String> = timed.chain(others.iter().map(|other| (*other).to_owned())).collect();
    of.has_keys(pointer, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn signing_is_timed_and_its_signatures_verified() {
    let report = right("sign --rounds 2 --seconds 0.03 --falcon-salts 100 --timing 20 --extent brief");
    let number = Right::number;
    let own =
        ["with_default_extent", "without_top_layers", "portable", "shani", "ratio_vs_slh_dsa_crate", "wrong"];
    let extents = ["extent", "default_extent", "extents"];
    assert_keys(
        &report,
        "/slhdsa",
        &["sign_us", "crate_us", "release_us", "verify_us"],
        &[&own[..], &extents].concat(),
    );
    assert_keys(&report, "/slhdsa/extents", &[], &["brief"]);
    assert_keys(&report, "/slhdsa/extents/brief", &[], &["precompute_ms", "memory_bytes"]);
    assert_keys(&report, "/slhdsa/with_default_extent", &["sign_us"], &["ratio_vs_slh_dsa_crate"]);
    assert_keys(&report, "/slhdsa/portable", &["sign_us"], &["ratio_vs_slh_dsa_crate"]);
    assert!(report.at("/slhdsa/shani").get("ratio_vs_slh_dsa_crate").is_some());
    assert!(number(&report, "/slhdsa/ratio_vs_slh_dsa_crate") > 0.0);
    assert_eq!(report.list("/slhdsa/sign_us_runs").len(), 2);
    for family in ["/mldsa", "/falcon"] {
        assert_keys(&report, family, &["release_us", "verify_us"], &[]);
    }
    assert_keys(&report, "/bundle", &["sign_us"], &[]);
    assert_keys(&report, "/attest", &["verify_us"], &["bytes"]);
    assert_keys(&report, "/group", &[], &["1", "4", "16", "64"]);
    assert_keys(&report, "/group/64", &["us_per_batch"], &[]);
    assert!(number(&report, "/group/64/us_per_batch") < number(&report, "/group/1/us_per_batch"));
    assert_keys(&report, "/falcon_salts", &[], &["signatures", "different", "us_per_signature"]);
    assert_eq!(number(&report, "/falcon_salts/different"), 100.0);
    let timed: Vec<&str> = ["slhdsa", "slhdsa_with_top_layers", "slhdsa_shani", "mldsa"]
        .into_iter()
        .filter(|name| *name != "slhdsa_shani" || Cpu::at_most(Tier::Avx2).has_sha())
        .collect();
    let about = ["signatures", "keys", "keys_with_top_layers", "extent", "t_probable"];
    assert_keys(&report, "/timing", &[], &[&timed[..], &about].concat());
    for name in timed {
        assert!(number(&report, &format!("/timing/{name}/t")).is_finite());
    }
    let fields = ["capacity_batches_per_s", "sealing_threads", "seconds", "rates", "refused"];
    for (sequence, threads) in [("/open_loop_one_thread", 1), ("/open_loop", 2)] {
        if report.0.pointer(sequence).is_none() && threads == 2 {
            assert_eq!(std::thread::available_parallelism().expect("a number").get(), 1);
            continue;
        }
        assert_keys(&report, sequence, &[], &fields);
        assert_eq!(*report.at(&format!("{sequence}/sealing_threads")), threads);
        assert_keys(&report, &format!("{sequence}/rates/0/added_us"), &[], &["p50", "p99", "max"]);
        let mut late = 0.0;
        for rate in 0..6 {
            let at = |figure: &str| number(&report, &format!("{sequence}/rates/{rate}/{figure}"));
            assert!(at("batches") >= 1.0 && at("seals") >= 1.0);
            // Every batch waits for its own seal at least.
            // A seal's mean time, from what it costs each batch.
            let seal = at("us_per_batch") * at("batches_per_seal");
            assert!(seal > 0.2 * at("signing_us/p50") && seal < 1.01 * at("signing_us/max"), "{seal}");
            late += at("added_from_due_us/p50") - at("added_us/p50");
            assert!(at("added_us/max") >= at("signing_us/max"));
        }
        assert!(late > 0.0, "no generator is on time to the nanosecond");
    }
}

#[test]
fn what_is_asked_for_alone_is_done_alone() {
    let report = right("sign --alone --rounds 1 --falcon-salts 10 --extent brief");
    assert_keys(&report, "", &[], &["tier", "falcon_salts"]);
}
