//! `exact`, the arithmetic of `stages`, `peers`.

use trefoil_bench::exact::{Exact, Source, exact};
use trefoil_bench::fhe_peers::{FhePeers, fhe_peers};
use trefoil_bench::match_stages::{MatchStages, match_stages};
use trefoil_bench::roles::ProbeMode;
use trefoil_dataset::Protocol;
use trefoil_matching::Tier;

use crate::report::{assert_keys, data, number};

/// Claim M2.
#[test]
fn dlib_scores_equal_their_references() {
    for protocol in [Protocol::Enrol1, Protocol::Enrol3] {
        for tier in Tier::available() {
            let source = Source::Set { data: data(), name: "lfw_dlib128".to_owned() };
            let report =
                exact(&Exact { source, protocol, workers: 2, tier, mode: ProbeMode::Plain }).expect("runs");
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
fn dlib_scores_of_shared_probes_equal_their_reference() {
    let source = Source::Set { data: data(), name: "lfw_dlib128".to_owned() };
    let (protocol, tier) = (Protocol::Enrol1, Tier::detected());
    let report = exact(&Exact { source, protocol, workers: 2, tier, mode: ProbeMode::Shared }).expect("runs");
    assert_eq!(report.problem, None);
    assert_eq!((&report.result["equal"], &report.result["equal_to_plain"]), (&true.into(), &true.into()));
}

#[test]
fn the_arithmetic_is_timed_and_its_scores_verified() {
    let parameters = MatchStages { users: 64, iterations: 3, warmup: 1, seed: 7, tier: Tier::detected() };
    let report = match_stages(parameters).expect("runs");
    assert_eq!(report.problem, None);
    let lower = Tier::available().filter(|tier| *tier < Tier::detected());
    let lower: Vec<&str> = lower
        .flat_map(|tier| match tier {
            Tier::Portable => ["match_portable", "keyholder_portable"],
            Tier::Avx2 => ["match_avx2", "keyholder_avx2"],
            Tier::Avx512 => unreachable!("there is no higher one"),
        })
        .collect();
    let all = ["sequential_read", "sum", "match", "match_prepacked", "keyholder"];
    assert_keys(&report, "/stages_us", &[&all, &lower[..]].concat());
    let tiers = 1 + lower.len() / 2;
    assert_eq!(number(&report, "/scores"), 128.0 * tiers as f64);
    assert_eq!(report.result["bytes_per_batch"], 32 * 49_152);
    assert!(number(&report, "/gb_per_s") > 0.0 && number(&report, "/share_of_sequential_read") > 0.0);
}

#[test]
fn another_library_computes_the_same_scores() {
    let parameters = FhePeers { iterations: 2, users: 32, seed: 1, tier: Tier::detected() };
    let report = fhe_peers(&parameters).expect("runs");
    assert_eq!(report.problem, None);
    assert_keys(&report, "/match_us", &["fhe.rs", "trefoil", "trefoil_prepacked"]);
    assert!(number(&report, "/times_faster") > 0.0 && number(&report, "/times_faster_prepacked") > 0.0);
}
