use super::*;

/// A record of `run` with a window for each of `scatter`, which moves every part of the time: match 60 us for a batch of
/// 32, the rest of the steps 36, and sealing as told.
pub(crate) fn run_record(sealing_us: f64, scatter: &[f64]) -> Value {
    let us = |scatter: &f64| [60.0, 36.0, sealing_us].map(|us| us * (1.0 + scatter));
    record_of(&scatter.iter().map(us).collect::<Vec<_>>())
}

/// One with these times of match, digest and sealing in its windows.
fn record_of(windows: &[[f64; 3]]) -> Value {
    let window = |us: &[f64; 3]| {
        json!({
            "auth_per_s": 2.0 * 32e6 / us.iter().sum::<f64>(), "lanes_per_batch": 32.0, "lanes": 3_200, "seals": 100,
            "seal_us": us[2],
            "worker_time": {
                "us_per_batch": {"match": us[0], "digest": us[1], "sealing": us[2]}, "off_core": 0.01,
            },
        })
    };
    json!({"benchmark": "run", "workers": 2, "windows": windows.iter().map(window).collect::<Vec<_>>()})
}

pub(crate) const SCATTER: [f64; 5] = [-0.01, 0.01, 0.0, 0.005, -0.005];

fn attributed(a: &Value, b: &Value) -> Attribution {
    let of = |record: &Value| Attributable::of(record).expect("parts");
    Attribution::of_records(&of(a), &of(b), Bar::default()).expect("one command")
}

fn findings(attribution: &Attribution) -> Vec<(&str, Finding)> {
    attribution.parts.iter().map(|row| (row.name.as_str(), row.finding)).collect()
}

#[test]
fn the_slowed_step_is_found_and_the_parts_add_up_to_the_whole() {
    let of = attributed(&run_record(100.0, &SCATTER), &run_record(150.0, &SCATTER));
    let expected = [
        ("digest", Finding::InsideVariance),
        ("match", Finding::InsideVariance),
        ("sealing", Finding::Slower),
        ("rest", Finding::InsideVariance),
    ];
    assert_eq!(findings(&of), expected);
    assert_eq!(of.total.finding, Finding::Slower);
    let parts: f64 = of.parts.iter().map(|row| row.difference.mean).sum();
    assert!((parts - of.total.difference.mean).abs() < 1e-9 && (parts - 50.0 / 32.0).abs() < 1e-9);
    let faster = attributed(&run_record(150.0, &SCATTER), &run_record(100.0, &SCATTER));
    assert_eq!(faster.total.finding, Finding::Faster);
    assert!(of.table().contains("slower") && of.table().contains("inside variance"), "{}", of.table());
}

#[test]
fn what_is_less_than_the_least_is_small_and_what_scatters_is_inside_variance() {
    let small = attributed(&run_record(100.0, &SCATTER), &run_record(103.0, &SCATTER));
    let sealing = small.parts.iter().find(|row| row.name == "sealing").expect("sealing");
    assert_eq!(sealing.finding, Finding::Small);
    let wide = SCATTER.map(|scatter| 40.0 * scatter);
    let hidden = attributed(&run_record(100.0, &wide), &run_record(130.0, &wide));
    assert!(findings(&hidden).iter().all(|(_, finding)| *finding == Finding::InsideVariance));
}

#[test]
fn one_build_twice_shows_a_difference_no_more_often_than_the_level_says() {
    // Pseudo-random scatter, the same in every run of the test.
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31) - 0.5
    };
    let mut scattered = |us: f64| us * (1.0 + 0.1 * (next() + next() + next()));
    let mut record = || {
        let windows: Vec<_> = (0..5).map(|_| [60.0, 36.0, 100.0].map(&mut scattered)).collect();
        Attributable::of(&record_of(&windows)).expect("parts")
    };
    let bar = Bar { level: 0.95, least: 0.0 };
    let found = (0..400).filter(|_| {
        let of = Attribution::of_records(&record(), &record(), bar).expect("one command");
        of.parts.iter().chain([&of.total]).any(|row| row.finding != Finding::InsideVariance)
    });
    assert!(found.count() <= 20, "20 of 400 are 5 %");
}

#[test]
fn rounds_cancel_a_drift_that_would_hide_the_step() {
    let round = |at: usize| {
        let drift = |place: usize| [0.05 * (4 * at + place) as f64; 2];
        [(0, 100.0), (1, 150.0), (2, 150.0), (3, 100.0)]
            .map(|(place, sealing)| Attributable::of(&run_record(sealing, &drift(place))).expect("parts"))
    };
    let rounds: Vec<_> = (0..5).map(round).collect();
    let of = Attribution::of_rounds(&rounds, Bar::default()).expect("one command");
    assert_eq!(findings(&of)[2], ("sealing", Finding::Slower));
    assert_eq!(findings(&of)[0], ("digest", Finding::InsideVariance));
}

#[test]
fn iterations_of_stages_count_in_groups() {
    let runs: Vec<f64> = (0..40).map(|at| 64.0 + f64::from(at % 2)).collect();
    let record = json!({"lanes": 32, "runs_us": {"match": runs, "total": runs}});
    let of = Attributable::of(&record).expect("parts");
    assert_eq!((of.total.len(), of.parts[0].1[9]), (10, 64.5 / 32.0));
}

#[test]
fn records_without_parts_are_refused_with_the_reason() {
    let why = |record: Value| Attributable::of(&record).err().expect("refused").to_string();
    assert!(why(json!({"benchmark": "peers"})).contains("a record of run or stages"));
    assert!(why(json!({"windows": [{"auth_per_s": 1}], "workers": 1})).contains("run or stages"));
    assert!(why(json!({"error": "3 lanes refused"})).contains("3 lanes refused"));
}
