//! The record of measured and predicted rates, its summary and its drawing.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use trefoil_pipeline::Cadence;
use trefoil_pipeline::affinity::{Pin, Placement};

use super::measuring::{Measuring, rate_name};
use super::plan::{CADENCES, Scaling};
use crate::Report;
use crate::chart::{Chart, Look, Series};
use crate::distribution::{Distribution, rounded};
use crate::run::cadence_name;
use crate::warnings::warnings;
use crate::wiring::CacheChoice;

/// The most that a prediction may miss a measured rate.
const ERROR_MAX: f64 = 0.15;

const LABEL: &str = "output of a model, not a measurement";

/// A measured number of workers.
struct Point {
    cadence: Cadence,
    cache: CacheChoice,
    workers: usize,
    oversubscribed: bool,
    rate: Distribution,
    predicted: f64,
}

impl Point {
    fn error(&self) -> f64 {
        self.predicted / self.rate.median() - 1.0
    }

    fn missed(&self) -> bool {
        self.error().is_nan() || self.error().abs() > ERROR_MAX
    }

    fn name(&self) -> String {
        format!("{} {} {}", cadence_name(self.cadence), self.cache.name(), self.workers)
    }

    fn json(&self, price_per_hour: Option<f64>) -> Value {
        let rate = self.rate.median();
        json!({
            "cadence": cadence_name(self.cadence), "cache": self.cache.name(), "workers": self.workers,
            "oversubscribed": self.oversubscribed, "auth_per_s": rounded(rate), "auth_per_s_runs": self.rate.runs_json(),
            "model_auth_per_s": rounded(self.predicted), "error": rounded(self.error()), "missed": self.missed(),
            "price_per_million": price_per_hour.map(|price| precise(price_per_million(price, rate))),
        })
    }
}

fn price_per_million(price_per_hour: f64, auth_per_s: f64) -> f64 {
    price_per_hour / 3_600.0 / auth_per_s * 1e6
}

/// To six decimals: a million authentications cost little.
fn precise(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

pub(super) fn report(measuring: &Measuring<'_>) -> Report {
    let Measuring { parameters, cores, samples, problem, .. } = measuring;
    let Scaling { workers, caches, price_per_hour, .. } = *parameters;
    let point = |cadence: Cadence, cache: CacheChoice, workers: usize| Point {
        cadence,
        cache,
        workers,
        oversubscribed: workers > *cores,
        rate: samples.runs(&rate_name(cadence, cache, workers)),
        predicted: measuring.predicted(cadence, cache, workers),
    };
    let mut points = Vec::new();
    for cadence in CADENCES {
        for &cache in caches {
            points.extend(workers.iter().map(|&workers| point(cadence, cache, workers)));
        }
    }
    let missed: Vec<String> = points.iter().filter(|point| point.missed()).map(Point::name).collect();
    let worst = points.iter().max_by(|a, b| a.error().abs().total_cmp(&b.error().abs()));
    let mut result = context(measuring);
    result.extend([
        ("points".to_owned(), points.iter().map(|point| point.json(*price_per_hour)).collect()),
        (
            "check".to_owned(),
            json!({
                "error_max": ERROR_MAX, "passed": missed.is_empty(), "missed": missed, "points": points.len(),
                "worst": worst.map(Point::name), "worst_error": worst.map(|point| rounded(point.error())),
            }),
        ),
        ("model".to_owned(), model_json(measuring)),
    ]);
    let result = Value::Object(result);
    let summary = summary(measuring, &points, &result);
    Report { summary, result, problem: problem.clone() }
}

/// What was run, what it cost, and every measured value.
fn context(measuring: &Measuring<'_>) -> Map<String, Value> {
    let Measuring { parameters, cores, samples, common, .. } = measuring;
    let Scaling { workers, caches, rounds, seconds, price_per_hour, users, batches, seed, tier, .. } =
        *parameters;
    let costs: Map<_, _> =
        caches.iter().map(|cache| (cache.name().to_owned(), measuring.costs_over(*cache).json())).collect();
    let runs: Map<_, _> =
        samples.0.keys().map(|name| (name.clone(), samples.runs(name).runs_json())).collect();
    let placement = Placement::new(workers.iter().copied().max(), Pin::Auto);
    let context = json!({
        "workers": workers, "physical_cores": cores, "warnings": warnings(&placement), "rounds": rounds,
        "seconds": seconds, "users": users, "people": common.population().people.len(),
        "prepared_batches": batches, "popularity": "zipf", "faces": "bundled", "seed": seed, "tier": tier.name(),
        "price_per_hour": price_per_hour, "costs": costs, "runs": runs,
    });
    context.as_object().cloned().unwrap_or_default()
}

/// Machines with a core for each worker.
fn model_json(measuring: &Measuring<'_>) -> Value {
    let Scaling { drawn, caches, memory_gb_per_s, .. } = measuring.parameters;
    let point = |cadence: Cadence, cache: CacheChoice, workers: usize| json!({ "workers": workers, "auth_per_s": rounded(measuring.drawn(cadence, cache, workers)) });
    let mut curves = Vec::new();
    for cadence in CADENCES {
        for &cache in caches {
            let points: Vec<Value> = drawn.iter().map(|&workers| point(cadence, cache, workers)).collect();
            curves.push(json!({
                "label": LABEL, "cadence": cadence_name(cadence), "cache": cache.name(), "points": points,
            }));
        }
    }
    json!({
        "label": LABEL, "curves": curves, "memory_gb_per_s": memory_gb_per_s,
        "machine": "for each worker a core like one of these, the stated memory bandwidth, and a dispatcher with a core of its own",
    })
}

fn summary(measuring: &Measuring<'_>, points: &[Point], result: &Value) -> String {
    let mut text = format!(
        "authentications/s on {} cores, measured and predicted from the costs of the steps (*: workers share cores)\n",
        measuring.cores
    );
    for point in points {
        let _ = writeln!(
            text,
            "  {:<10} {:<8} {:>4}{} {:>10.0}  model {:>10.0}  {:+6.1} %{}",
            cadence_name(point.cadence),
            point.cache.name(),
            point.workers,
            if point.oversubscribed { "*" } else { " " },
            point.rate.median(),
            point.predicted,
            100.0 * point.error(),
            if point.missed() { "  MISSED" } else { "" },
        );
    }
    let missed = points.iter().filter(|point| point.missed()).count();
    let _ =
        writeln!(text, "{missed} of {} points missed by more than {:.0} %", points.len(), 100.0 * ERROR_MAX);
    for curve in list(&result["model"]["curves"]) {
        let rate = |point: &Value| format!("{} {:.0}", point["workers"], number(point, "auth_per_s"));
        let rates: Vec<String> = list(&curve["points"]).iter().map(rate).collect();
        let _ = writeln!(text, "MODEL, a core for each worker, {}: {}", curve_name(&curve), rates.join(", "));
    }
    if let Some(price) = measuring.parameters.price_per_hour {
        for cadence in CADENCES {
            let own = points.iter().filter(|point| point.cadence == cadence);
            let best = own.max_by(|a, b| a.rate.median().total_cmp(&b.rate.median()));
            if let Some(point) = best {
                let each = price_per_million(price, point.rate.median());
                let _ = writeln!(
                    text,
                    "a million authentications at {price} an hour, {}: {each:.6}",
                    point.name()
                );
            }
        }
    }
    text
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or(f64::NAN)
}

fn curve_name(curve: &Value) -> String {
    let of = |key: &str| curve[key].as_str().unwrap_or_default().to_owned();
    format!("{}, {}", of("cadence"), of("cache"))
}

/// Of a record: dots are measured, lines are the model's, here and on machines that are not here.
pub(crate) fn drawing(record: &Value) -> String {
    let place = |point: &Value, key: &str| (number(point, "workers"), number(point, key));
    let points = list(&record["points"]);
    let mut series = Vec::new();
    for (colour, curve) in list(&record["model"]["curves"]).iter().enumerate() {
        let same = |point: &&Value| point["cadence"] == curve["cadence"] && point["cache"] == curve["cache"];
        let here = |key: &str| points.iter().filter(same).map(|point| place(point, key)).collect();
        let elsewhere = list(&curve["points"]).iter().map(|point| place(point, "auth_per_s")).collect();
        let unnamed = |points, look| Series { name: String::new(), points, look, colour };
        series.push(Series { name: curve_name(curve), points: here("auth_per_s"), look: Look::Dots, colour });
        series.push(unnamed(here("model_auth_per_s"), Look::Line));
        series.push(unnamed(elsewhere, Look::Dashes));
    }
    let cores = &record["physical_cores"];
    let chart = Chart {
        title: format!(
            "Dots: measured on {cores} cores. Lines: the model of these. Dashes: MODEL, a core for each worker"
        ),
        x: format!("workers (of the dots beyond {cores}, several share a core)"),
        y: "authentications a second".into(),
    };
    chart.curves(&series)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(rates: &[f64], predicted: f64) -> Point {
        Point {
            cadence: Cadence::Group,
            cache: CacheChoice::DEFAULT,
            workers: 96,
            oversubscribed: true,
            rate: Distribution::new(rates.to_vec()),
            predicted,
        }
    }

    #[test]
    fn a_point_is_missed_beyond_the_bar_and_where_it_has_no_rate() {
        let near = point(&[90.0, 100.0, 120.0], 114.0);
        let json = near.json(Some(3.6));
        assert!(!near.missed() && json["error"] == 0.14 && json["oversubscribed"] == true, "{json}");
        // A thousandth a second buys 100 of them.
        assert_eq!(json["price_per_million"], 10.0);
        assert!(
            point(&[100.0], 116.0).missed() && point(&[100.0], 84.0).missed() && point(&[], 1.0).missed()
        );
        assert!(point(&[100.0], 100.0).json(None)["price_per_million"].is_null());
    }

    #[test]
    fn a_drawing_says_what_is_measured_and_what_is_a_model() {
        let point = |workers: u32, rate: f64| json!({"cadence": "group", "cache": "engine", "workers": workers, "auth_per_s": rate, "model_auth_per_s": 1.1 * rate});
        let record = json!({
            "physical_cores": 2, "points": [point(1, 10.0), point(2, 20.0)],
            "model": {"curves": [{"cadence": "group", "cache": "engine", "points": [point(96, 900.0), point(192, 950.0)]}]},
        });
        let svg = drawing(&record);
        assert_eq!((svg.matches("<circle").count(), svg.matches("<polyline").count()), (2, 2), "{svg}");
        assert!(svg.contains("MODEL") && svg.contains("stroke-dasharray") && svg.contains("group, engine"));
        assert!(drawing(&json!({})).contains("<svg"));
    }
}
