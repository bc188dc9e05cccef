//! The model's report, if it passed its check.

use serde_json::{Map, Value, json};

use super::chains::{Both, CHAINS, Chain};
use super::measurements::Measurements;
use super::prediction::{Calibration, Checked, Curve, ERROR_MAX, Simulate};
use crate::Report;
use crate::chart::{Chart, Look, Series};
use crate::distribution::rounded;
use crate::paired::Interval;

const LABEL: &str = "output of a model, not a measurement";

/// The machine was too busy, or has too few processors, to be calibrated.
pub(super) fn unavailable(parameters: &Simulate, measured: &Measurements) -> Report {
    let why = "not calibrated: two threads never computed at the same time for long enough; run it on an idle machine with at least two processors";
    let result = json!({
        "label": LABEL, "calibration": null, "check": {"passed": false, "error_max": ERROR_MAX, "points": [], "why": why},
        "think_ns": parameters.think_ns, "workers": parameters.workers, "seed": parameters.seed,
        "instances": parameters.instances, "runs": measured.json(),
        "curves": null, "begins_to_bite": null,
    });
    Report { summary: format!("{why}\nNo prediction is shown.\n"), result, problem: None }
}

pub(super) fn report(
    parameters: &Simulate,
    calibration: &Calibration,
    measured: &Measurements,
    checks: &[Checked],
    curves: &[Curve],
) -> Report {
    let passed = checks.iter().all(Checked::passed);
    let result = json!({
        "label": LABEL,
        "calibration": calibration_json(calibration),
        "check": {
            "passed": passed, "error_max": ERROR_MAX,
            "points": checks.iter().map(Checked::json).collect::<Vec<_>>(),
            "why": if passed { "every rung was predicted" } else { REFUSAL },
        },
        "think_ns": parameters.think_ns, "workers": parameters.workers, "seed": parameters.seed,
        "instances": parameters.instances, "runs": measured.json(),
        "curves": if passed { curves_json(curves) } else { Value::Null },
        "begins_to_bite": if passed { bites_json(curves) } else { Value::Null },
    });
    let mut summary = checks_text(checks, passed);
    summary.push_str(&curves_text(curves));
    summary.push_str(&bites_text(curves));
    Report { summary, result, problem: None }
}

const REFUSAL: &str =
    "a rung was missed or could not be measured undisturbed: no curve for other machines is shown";

fn calibration_json(calibration: &Calibration) -> Value {
    let (p, a) = (calibration.primitives, calibration.alone);
    let chain = |((chain, both), predicted): ((&Chain, &Both), &f64)| {
        json!({
            "order": chain.order, "private_increments": chain.private, "or_more": chain.or_more,
            "own_ns": rounded(both.own), "shared_ns": rounded(both.shared), "predicted_ns": rounded(*predicted),
        })
    };
    let chains = CHAINS.iter().zip(&p.chains).zip(&calibration.chains).map(chain);
    json!({
        "increment_ns": rounded(p.increment), "lock_ns": rounded(p.lock), "poll_ns": rounded(p.poll),
        "clock_ns": rounded(p.clock),
        "message_ns": rounded(p.message), "transfer_ns": rounded(p.transfer()),
        "claim_own_ns": rounded(p.claim.own), "claim_shared_ns": rounded(p.claim.shared),
        "claim_more_ns": rounded(calibration.claim_more),
        "wake_call_ns": rounded(p.call), "wake_ns": rounded(p.wake),
        "request_of_transfer": rounded(calibration.request), "chains": chains.collect::<Vec<_>>(),
        "one_worker_ns": {
            "raw": rounded(a.raw), "locked_counters": rounded(a.locked_counters),
            "locked_histogram": rounded(a.locked_histogram), "locked_log": rounded(a.locked_log),
            "shared_counters": rounded(a.shared_counters), "shared_histogram": rounded(a.shared_histogram),
            "gated_log": rounded(a.gated_log), "per_worker": rounded(a.per_worker), "off": rounded(a.off),
        },
    })
}

impl Checked {
    fn json(&self) -> Value {
        json!({
            "workers": self.workers, "name": self.name, "predicted_ns": rounded(self.predicted),
            "measured_ns": self.measured.map(|measured| rounded(measured.mean)),
            "measured_interval_ns": self.measured.map(Interval::json),
            "error": self.error().map(rounded),
        })
    }
}

fn checks_text(checks: &[Checked], passed: bool) -> String {
    let mut text = "Self-check: nanoseconds per look-up and worker on this machine, predicted from primitives and single parts\n".to_owned();
    for check in checks {
        let measured = check
            .measured
            .map_or("disturbed".into(), |ns| format!("{:8.1} [{:.1}, {:.1}]", ns.mean, ns.low, ns.high));
        let error = check.error().map_or("-".into(), |error| format!("{:+.1} %", 100.0 * error));
        text.push_str(&format!(
            "  {:>3} workers  {:<22} predicted {:8.1}  measured {measured}  {error}\n",
            check.workers, check.name, check.predicted
        ));
    }
    let verdict = if passed { "passed" } else { "FAILED" };
    text.push_str(&format!("  {verdict}; the bar is {:.0} %\n", 100.0 * ERROR_MAX));
    if !passed {
        text.push_str(&format!("{REFUSAL}\n"));
    }
    text
}

fn curves_json(curves: &[Curve]) -> Value {
    let one = |curve: &Curve| {
        let points: Map<_, _> =
            curve.points.iter().map(|(workers, rate)| (workers.to_string(), json!(rate.round()))).collect();
        json!({
            "label": LABEL, "machine": curve.machine, "transfer_source": curve.source,
            "think_ns": curve.think_ns, "rung": curve.name, "lookups_per_s": points,
        })
    };
    curves.iter().map(one).collect()
}

fn curves_text(curves: &[Curve]) -> String {
    let mut text = String::new();
    let mut heading = None;
    for curve in curves {
        if heading != Some((curve.machine, curve.think_ns)) {
            heading = Some((curve.machine, curve.think_ns));
            let workers: Vec<String> =
                curve.points.iter().map(|(workers, _)| format!("{workers:>10}")).collect();
            text.push_str(&format!(
                "MODEL, {}, {} ns of other work per look-up; look-ups/s by workers\n  {:<22}{}\n",
                curve.machine,
                curve.think_ns,
                "",
                workers.concat()
            ));
        }
        let rates: Vec<String> = curve.points.iter().map(|(_, rate)| format!("{rate:>10.0}")).collect();
        text.push_str(&format!("  {:<22}{}\n", curve.name, rates.concat()));
    }
    text
}

/// A loss of a tenth of the raw map's rate is noticeable.
const NOTICED: f64 = 0.9;

/// The fewest workers, of those simulated, with which `curve` falls below nine tenths of the raw map.
fn bite(curve: &Curve, curves: &[Curve]) -> Option<usize> {
    let raw = curves
        .iter()
        .find(|raw| (raw.machine, raw.think_ns, raw.name) == (curve.machine, curve.think_ns, "raw"))?;
    let pairs = curve.points.iter().zip(&raw.points);
    pairs.filter(|((_, own), (_, raw))| *own < NOTICED * raw).map(|((workers, _), _)| *workers).next()
}

fn bites_json(curves: &[Curve]) -> Value {
    let one = |curve: &Curve| {
        json!({
            "label": LABEL, "machine": curve.machine, "think_ns": curve.think_ns, "rung": curve.name,
            "of_raw_below": NOTICED, "workers": bite(curve, curves),
        })
    };
    curves.iter().filter(|curve| curve.name != "raw").map(one).collect()
}

fn bites_text(curves: &[Curve]) -> String {
    let mut text = String::new();
    for first in each_machine(curves) {
        let of = |curve: &&Curve| (curve.machine, curve.think_ns) == (first.machine, first.think_ns);
        let bites: Vec<String> = curves
            .iter()
            .filter(|curve| of(curve) && curve.name != "raw")
            .map(|curve| {
                let workers = bite(curve, curves).map_or("never".into(), |workers| workers.to_string());
                format!("{} {workers}", curve.name)
            })
            .collect();
        text.push_str(&format!(
            "MODEL, {}, {} ns of other work: workers from which a tenth of the raw map's rate is lost: {}\n",
            first.machine,
            first.think_ns,
            bites.join(", ")
        ));
    }
    text
}

/// The first curve of each machine and load.
fn each_machine(curves: &[Curve]) -> Vec<&Curve> {
    let mut shown: Vec<&Curve> = curves.iter().collect();
    shown.dedup_by_key(|curve| (curve.machine, curve.think_ns));
    shown
}

/// One drawing for each machine, without other work and in a pipeline, with the name of its file.
pub(super) fn drawings(curves: &[Curve]) -> Vec<(String, String)> {
    each_machine(curves).into_iter().map(|first| drawing(first, curves)).collect()
}

fn drawing(first: &Curve, curves: &[Curve]) -> (String, String) {
    let (machine, think_ns) = (first.machine, first.think_ns);
    let shown = curves.iter().filter(|curve| (curve.machine, curve.think_ns) == (machine, think_ns));
    let series = shown.enumerate().map(|(colour, curve)| Series {
        name: curve.name.to_owned(),
        points: curve.points.iter().map(|&(workers, rate)| (workers as f64, rate)).collect(),
        look: Look::Line,
        colour,
    });
    let kind = if think_ns > 0.0 { "pipeline" } else { "lookups" };
    let chart = Chart {
        title: format!("MODEL OUTPUT, not a measurement: {machine}, {think_ns} ns of other work"),
        x: "workers".into(),
        y: "look-ups per second".into(),
    };
    (format!("simulate-{machine}-{kind}.svg"), chart.curves(&series.collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(name: &'static str, rates: [f64; 3]) -> Curve {
        let points = [1, 2, 4].into_iter().zip(rates).collect();
        Curve { machine: "m", source: "s", think_ns: 0.0, name, points }
    }

    #[test]
    fn it_bites_where_a_tenth_is_lost() {
        let curves =
            [curve("raw", [1.0, 2.0, 4.0]), curve("a", [0.95, 1.9, 2.0]), curve("b", [1.0, 2.0, 3.7])];
        assert_eq!((bite(&curves[1], &curves), bite(&curves[2], &curves)), (Some(4), None));
        assert!(bites_text(&curves).ends_with("lost: a 4, b never\n"), "{}", bites_text(&curves));
        assert_eq!(bites_json(&curves).as_array().map(Vec::len), Some(2));
        let [(name, svg)] = &drawings(&curves)[..] else { panic!("one machine, one drawing") };
        assert_eq!(name, "simulate-m-lookups.svg");
        assert!(svg.contains("MODEL OUTPUT") && svg.matches("<polyline").count() == 3);
        assert!(drawings(&[]).is_empty());
    }

    #[test]
    fn a_machine_that_is_too_busy_gets_no_curve() {
        let parameters = Simulate {
            workers: vec![1],
            think_ns: 0.0,
            instances: 1,
            tries: 1,
            duration: std::time::Duration::from_millis(1),
            seed: 1,
            svg: None,
        };
        let report = unavailable(&parameters, &Measurements::default());
        assert!(report.result["curves"].is_null() && report.result["check"]["passed"] == false);
        assert!(report.summary.contains("No prediction"));
    }
}
