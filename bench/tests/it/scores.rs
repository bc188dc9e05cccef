//! `exact`, the arithmetic of `stages`, `peers`.

use std::process::Command;

use trefoil_kernels::Tier;

use crate::right::right;

/// Claim M2.
#[test]
fn dlib_scores_equal_their_references_on_every_tier() {
    for protocol in ["enrol1", "enrol3"] {
        let of = right(&format!("exact --set lfw_dlib128 --protocol {protocol} --workers 2"));
        assert_eq!((of.at("/equal"), of.at("/sha256")), (&true.into(), of.at("/expected")));
        assert_eq!(of.number("/decisions_wrong"), 0.0);
    }
    for tier in Tier::available().filter(|tier| *tier < Tier::detected()) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trefoil-bench"));
        let output =
            command.env("TREFOIL_TIER", tier.name()).args(["exact", "--set", "lfw_dlib128"]).output();
        let output = output.expect("trefoil-bench starts");
        assert!(output.status.success(), "{tier:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn dlib_scores_of_shared_probes_and_of_three_key_holders_equal_their_reference() {
    for how in ["--mode shared", "--quorum"] {
        let of = right(&format!("exact --set lfw_dlib128 {how} --workers 2"));
        assert_eq!((of.at("/equal"), of.at("/equal_to_plain")), (&true.into(), &true.into()), "{how}");
    }
}

#[test]
fn the_arithmetic_is_timed_and_its_scores_verified() {
    let of = right("stages --users 64 --people 32 --iters 3 --warmup 1 --seed 7");
    let lower: Vec<Tier> = Tier::available().filter(|tier| *tier < Tier::detected()).collect();
    let names: Vec<&str> = lower
        .iter()
        .flat_map(|tier| match tier {
            Tier::Portable | Tier::Neon => ["match_portable", "keyholder_portable"],
            Tier::Avx2 => ["match_avx2", "keyholder_avx2"],
            Tier::Avx512 => unreachable!("there is no higher one"),
        })
        .collect();
    let all = ["sequential_read", "sum", "match", "match_prepacked", "keyholder"];
    let wide = ["match_256", "keyholder_256", "match_512", "keyholder_512"];
    of.has_keys("/arithmetic/stages_us", &[&all[..], &wide, &names].concat());
    assert_eq!(of.number("/arithmetic/scores"), 128.0 * (3 + lower.len()) as f64);
    assert_eq!(of.number("/arithmetic/batches_wrong"), 0.0);
    assert_eq!(*of.at("/bytes_per_batch"), 32 * 49_152);
    assert!(of.number("/gb_per_s") > 0.0 && of.number("/share_of_sequential_read") > 0.0);
}

#[test]
fn another_library_computes_the_same_scores() {
    let of = right("peers --iters 2 --users 32");
    of.has_keys("/match_us", &["fhe.rs", "trefoil", "trefoil_prepacked"]);
    assert!(of.number("/times_faster") > 0.0 && of.number("/times_faster_prepacked") > 0.0);
}
