//! The committed sets against their recorded digests and accuracies.

use serde_json::Value;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use trefoil_dataset::{Accuracy, Photographs, Protocol, ScoreMatrix, Trials};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data")
}

fn set(name: &str) -> Photographs {
    let folder = data().join(name);
    Photographs::load(&folder.join("x.npy"), &folder.join("y.npy")).unwrap()
}

/// The quantiser by its definition: q = round half away from zero (s v / |v|).
fn plain_quantise(row: &[f32]) -> Result<Vec<i32>, Infallible> {
    let scale = if row.len() == 512 { 169.0 } else { 175.0 };
    let length = row.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
    Ok(row.iter().map(|v| (scale * (f64::from(*v) / length)).round() as i32).collect())
}

#[expect(clippy::ptr_arg, reason = "of quantised vectors")]
fn plain_dot(a: &Vec<i32>, b: &Vec<i32>) -> i32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn plain_scores(trials: &Trials) -> ScoreMatrix {
    trials.score(plain_quantise, plain_dot).unwrap()
}

#[test]
fn score_matrices_have_the_recorded_digests() {
    let reference = std::fs::read_to_string(data().join("reference.json")).unwrap();
    let reference: Value = serde_json::from_str(&reference).unwrap();
    let mut checked = 0;
    for name in ["lfw_facenet128", "lfw_dlib128", "lfw_arcface512"] {
        let set = set(name);
        for protocol in [Protocol::Enrol1, Protocol::Enrol3] {
            let recorded = &reference[format!("{name}/{protocol}")];
            let scores = plain_scores(&protocol.split(&set).unwrap());
            assert_eq!(recorded["shape"][0], scores.probes());
            assert_eq!(recorded["shape"][1], scores.templates());
            assert_eq!(recorded["sha256"], hex::encode(scores.sha256()), "{name} {protocol}");
            checked += 1;
        }
    }
    assert_eq!(checked, reference.as_object().unwrap().len());
}

/// Claim M2: Score matrices of the bundled sets have the published digests. Also: `bench/records/exact-lfw_facenet128-enrol1.json#/equal`,
/// `bench/records/exact-lfw_facenet128-enrol3.json#/equal`.
#[test]
fn facenet_digests_are_the_published_ones() {
    let set = set("lfw_facenet128");
    for (protocol, shape, digest) in [
        (Protocol::Enrol1, (2566, 352), "6639b13ceb7b64f26b79c5af0bfa23520d293453356aec4933366bd5f2d908c3"),
        (Protocol::Enrol3, (1862, 352), "eccbc1aa3356451450ade8bae895bed1497adb164a39360c1752d24363062685"),
    ] {
        let scores = plain_scores(&protocol.split(&set).unwrap());
        assert_eq!((scores.probes(), scores.templates()), shape);
        assert_eq!(hex::encode(scores.sha256()), digest);
    }
}

#[test]
fn the_matchers_quantiser_gives_the_same_scores() {
    use trefoil_bfv::Embedding;
    for name in ["lfw_facenet128", "lfw_arcface512"] {
        let trials = Protocol::Enrol1.split(&set(name)).unwrap();
        let scores = trials.score(Embedding::quantise, Embedding::dot).unwrap();
        assert!(scores == plain_scores(&trials));
    }
}

#[test]
fn facenet_accuracy_is_the_recorded_one() {
    let set = set("lfw_facenet128");
    for (protocol, eer, tars) in
        [(Protocol::Enrol1, 0.513, [99.69, 97.43, 76.97]), (Protocol::Enrol3, 0.246, [99.89, 99.41, 90.66])]
    {
        let trials = protocol.split(&set).unwrap();
        let accuracy = Accuracy::new(&trials, &plain_scores(&trials)).unwrap();
        assert_eq!(format!("{:.3}", 100.0 * accuracy.equal_error_rate()), format!("{eer:.3}"));
        for (fmr, tar) in [1e-2, 1e-3, 1e-4].into_iter().zip(tars) {
            let point = accuracy.at_fmr(fmr);
            assert!(point.fmr <= fmr && accuracy.at(point.threshold - 1).fmr > fmr);
            assert_eq!(format!("{:.2}", 100.0 * point.tar), format!("{tar:.2}"), "{protocol} {fmr}");
        }
    }
}

#[test]
fn thresholds_of_the_presets_are_the_recorded_ones() {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../server/API.md")).unwrap();
    for (model, dimension, recorded, refusals, rows) in [
        (
            "facenet-128",
            128,
            [11_781, 16_046, 21_362],
            ["0.31", "2.57", "23.03"],
            ["2 | 11,781 | 0.31", "3 | 16,046 | 2.57", "4 | 21,362 | 23.03"],
        ),
        (
            "arcface-512",
            512,
            [6_253, 8_496, 10_818],
            ["0.28", "0.42", "1.34"],
            ["2 | 6,253 | 0.28", "3 | 8,496 | 0.42", "4 | 10,818 | 1.34"],
        ),
    ] {
        let trials = Protocol::Enrol1.split(&set(&format!("lfw_{}", model.replace('-', "")))).unwrap();
        let accuracy = Accuracy::new(&trials, &plain_scores(&trials)).unwrap();
        let thresholds = [1e-2, 1e-3, 1e-4].map(|fmr| accuracy.at_fmr(fmr).threshold);
        assert_eq!(thresholds, recorded);
        let refused =
            thresholds.map(|threshold| format!("{:.2}", 100.0 * (1.0 - accuracy.at(threshold).tar)));
        assert_eq!(refused, refusals);
        for (class, (threshold, refused)) in (2..).zip(thresholds.iter().zip(&refused)) {
            let preset = trefoil_types::Threshold::FmrClass(class);
            assert_eq!(preset.score(model, dimension), Some((*threshold, class)), "that of a policy");
            let share = preset.refuses(model, dimension).unwrap();
            assert_eq!(format!("{:.2}", 100.0 * share), *refused, "that of a policy");
        }
        assert!(rows.iter().all(|row| page.contains(&format!("| {row} % |"))), "the page has these figures");
    }
}

#[test]
fn arcface_cut_to_128_numbers_is_refused_by_the_threshold_of_facenet() {
    let trials = Protocol::Enrol1.split(&set("lfw_arcface128")).unwrap();
    let accuracy = Accuracy::new(&trials, &plain_scores(&trials)).unwrap();
    let (threshold, _) = trefoil_types::Threshold::FmrClass(4).score("facenet-128", 128).unwrap();
    assert_eq!(format!("{:.1}", 395.0 * (1.0 - accuracy.at(threshold).tar)), "212.0");
}
