//! The report as one HTML file, with its curves and histograms as SVG. It needs no network and runs no script.

use super::report::name;
use std::fmt::Write as _;
use trefoil_dataset::Accuracy;
use trefoil_dataset::calibration::Experiment;

/// The plane of a drawing, in units of SVG.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 300.0;
/// Room for the numbers of the axes.
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 44.0;
/// Thresholds of a curve.
const POINTS: usize = 400;
/// Bars of a histogram.
const BARS: usize = 80;
/// Smallest rates that are drawn, as powers of ten: of strangers accepted and of right people refused.
const DECADES: (f64, f64) = (5.0, 3.0);
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}\
    pre{font:13px/1.45 ui-monospace,monospace;background:#f4f4f2;padding:1rem;overflow-x:auto}svg{width:100%;height:auto}\
    svg text{font:12px system-ui,sans-serif;fill:#333}.grid{stroke:#ddd}.own{fill:#1b6ca8}.strangers{fill:#b8500c}\
    .class{stroke:#333;stroke-dasharray:4 3}.curve{fill:none;stroke-width:2}.one{stroke:#1b6ca8}.three{stroke:#1a7f4b}.vectors{stroke-dasharray:5 4}";

/// The page; `report` is the text of the terminal.
pub(super) fn page(experiments: &[Experiment], report: &str) -> String {
    let report = report.replace('&', "&amp;").replace('<', "&lt;");
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Calibration</title><style>{STYLE}</style></head><body>\n<h1>Calibration of a model</h1>\n<pre>{report}</pre>\n\
         <h2>Each threshold: strangers accepted, right people refused</h2>\n{}\
         <p>Lower is better. Solid: quantised, as the service compares. Dashed: the vectors of the model. Blue: one photograph at enrolment. \
         Green: three. Circles: the classes 2, 3 and 4, from right to left.</p>\n",
        curves(experiments)
    );
    for experiment in experiments {
        let _ = write!(
            page,
            "<h2>Scores with {}</h2>\n{}{}<p>Each dashed line is the score of a class. Blue left of it is refused, orange right of it \
             accepted.</p>\n",
            name(experiment.protocol),
            histogram(experiment, "own", "the right person", |accuracy, threshold| accuracy
                .at(threshold)
                .tar),
            histogram(experiment, "strangers", "strangers", |accuracy, threshold| accuracy.at(threshold).fmr)
        );
    }
    page + "</body></html>\n"
}

/// A drawing with a title for those who do not see it.
fn svg(title: &str, height: f64, inside: &str) -> String {
    let (width, height) = (LEFT + WIDTH + 24.0, height + BOTTOM + 14.0);
    format!("<svg viewBox=\"0 -14 {width} {height}\" role=\"img\"><title>{title}</title>\n{inside}</svg>\n")
}

fn label(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>\n")
}

fn line(class: &str, [x, y, to_x, to_y]: [f64; 4]) -> String {
    format!("<line class=\"{class}\" x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{to_x:.1}\" y2=\"{to_y:.1}\"/>\n")
}

/// Detection error trade-off: both rates of each threshold, on logarithmic axes.
fn curves(experiments: &[Experiment]) -> String {
    let (right, down) = (WIDTH / DECADES.0, HEIGHT / DECADES.1);
    let place = |fmr: f64, fnmr: f64| {
        let (x, y) = (fmr.log10().max(-DECADES.0), fnmr.log10().max(-DECADES.1));
        (LEFT + WIDTH + right * x, -down * y)
    };
    let mut inside = String::new();
    for decade in 0..=DECADES.0 as i32 {
        let (x, _) = place(10_f64.powi(-decade), 1.0);
        inside += &line("grid", [x, 0.0, x, HEIGHT]);
        inside += &label(x, HEIGHT + 16.0, "middle", &format!("1 in {}", 10_u32.pow(decade as u32)));
    }
    for decade in 0..=DECADES.1 as i32 {
        let (_, y) = place(1.0, 10_f64.powi(-decade));
        inside += &line("grid", [LEFT, y, LEFT + WIDTH, y]);
        inside += &label(LEFT - 6.0, y + 4.0, "end", &format!("{} %", 100.0 / 10_f64.powi(decade)));
    }
    inside += &label(LEFT + WIDTH / 2.0, HEIGHT + 36.0, "middle", "strangers accepted");
    inside += &label(LEFT, -4.0, "start", "right people refused");
    for experiment in experiments {
        let color = if experiment.protocol.photos() == 1 { "one" } else { "three" };
        for (figures, kind) in [(&experiment.vectors, "vectors"), (&experiment.quantised, "quantised")] {
            let (low, high) = figures.accuracy.range();
            let points = (0..=POINTS).map(|n| {
                let point = figures.accuracy.at(between(low, high, n, POINTS));
                let (x, y) = place(point.fmr, 1.0 - point.tar);
                format!("{x:.1},{y:.1} ")
            });
            let points: String = points.collect();
            let _ = writeln!(inside, "<polyline class=\"curve {color} {kind}\" points=\"{points}\"/>");
        }
        for class in &experiment.quantised.classes {
            let (x, y) = place(class.accepted[0], class.refused[0]);
            let _ = writeln!(inside, "<circle class=\"curve {color}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>");
        }
    }
    svg("Share of right people refused against share of strangers accepted", HEIGHT, &inside)
}

/// How the scores of one kind of comparisons are distributed; `accepted` is the share of them from a threshold on.
fn histogram(experiment: &Experiment, kind: &str, who: &str, accepted: fn(&Accuracy, i32) -> f64) -> String {
    let accuracy = &experiment.quantised.accuracy;
    let (low, high) = accuracy.range();
    let from = |bar: usize| accepted(accuracy, between(low, high.saturating_add(1), bar, BARS));
    let shares: Vec<f64> = (0..BARS).map(|bar| from(bar) - from(bar + 1)).collect();
    let most = shares.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let (height, bar_width) = (HEIGHT / 2.0, WIDTH / BARS as f64);
    let mut inside = String::new();
    for (bar, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        // A bar of a single comparison must still be seen.
        let tall = (height * share / most).max(1.0);
        let (x, y) = (LEFT + bar as f64 * bar_width, height - tall);
        let _ = writeln!(
            inside,
            "<rect class=\"{kind}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{tall:.1}\"/>",
            bar_width - 1.0
        );
    }
    let x = |score: i32| LEFT + WIDTH * f64::from(score - low) / f64::from((high - low).max(1));
    for class in &experiment.quantised.classes {
        let at = x(class.threshold.min(high));
        inside += &line("class", [at, 0.0, at, height]);
        inside += &label(at, -2.0, "middle", &class.class.to_string());
    }
    for score in [0, 1, 2, 3, 4].map(|n| between(low, high, n, 4)) {
        inside += &label(x(score), height + 16.0, "middle", &score.to_string());
    }
    inside += &label(LEFT + WIDTH / 2.0, height + 36.0, "middle", &format!("scores with {who}"));
    svg(&format!("Histogram of the scores with {who}"), height, &inside)
}

/// The `n`th of `count` equal steps from `low` to `high`.
fn between(low: i32, high: i32, n: usize, count: usize) -> i32 {
    let (low, high) = (i64::from(low), i64::from(high));
    (low + (high - low) * n as i64 / count as i64) as i32
}
