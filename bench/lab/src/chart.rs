//! Plain SVG: bars with their intervals, and curves.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::Failure;

/// Titles of a chart.
pub struct Chart {
    /// Above the drawing.
    pub title: String,
    /// Label of the horizontal axis.
    pub x: String,
    /// Label of the vertical axis.
    pub y: String,
}

/// One bar. Bounds that do not exist are not drawn.
pub struct Bar {
    /// Label at its left.
    pub name: String,
    /// Label at its end.
    pub text: String,
    /// Its length.
    pub value: f64,
    /// Where its interval begins.
    pub low: f64,
    /// Where its interval ends.
    pub high: f64,
}

/// One curve, in the order of its points.
pub struct Series {
    /// Beside the plot, if it has a name.
    pub name: String,
    /// Across and up.
    pub points: Vec<(f64, f64)>,
    /// How it is drawn.
    pub look: Look,
    /// The number of its colour.
    pub colour: usize,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A line through its points.
    Line,
    /// A dashed line.
    Dashes,
    /// The points alone.
    Dots,
}

/// Values over days, in their order.
pub struct Trace {
    /// In the legend.
    pub name: String,
    /// Drawn from left to right.
    pub points: Vec<Dated>,
}

/// A value of one day, with the range of the runs that it comes from.
pub struct Dated {
    /// The day as it is written.
    pub label: String,
    /// The day as a number.
    pub at: f64,
    /// Where its dot is.
    pub value: f64,
    /// The lowest run.
    pub low: f64,
    /// The highest run.
    pub high: f64,
}

const WIDTH: f64 = 860.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 50.0;
const BAR: f64 = 26.0;
const HEIGHT: f64 = 420.0;
/// Distinguishable for most people with a colour-vision deficiency (Okabe and Ito).
const COLOURS: [&str; 8] =
    ["#000000", "#d55e00", "#e69f00", "#cc79a7", "#0072b2", "#009e73", "#56b4e9", "#999999"];

impl Chart {
    /// Horizontal bars from zero, and a line at the whole where they are shares of one.
    pub fn bars(&self, bars: &[Bar], whole: Option<f64>) -> String {
        let height = TOP + BAR * bars.len() as f64 + 60.0;
        let ends = bars.iter().flat_map(|bar| [bar.value, bar.high]);
        let most = ends.chain(whole).filter(|x| x.is_finite()).fold(f64::MIN_POSITIVE, f64::max) * 1.05;
        let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT / 2.0) * value / most;
        let mut svg = self.begin(height);
        for (row, bar) in bars.iter().enumerate() {
            let y = TOP + BAR * row as f64;
            label(&mut svg, LEFT - 8.0, y + 15.0, "end", &bar.name);
            push(
                &mut svg,
                &format!(
                    "<rect x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#56b4e9\"/>",
                    y + 3.0,
                    (x(bar.value) - LEFT).max(0.0),
                    BAR - 8.0
                ),
            );
            if bar.low.is_finite() && bar.high.is_finite() {
                line(&mut svg, (x(bar.low), y + 12.0), (x(bar.high), y + 12.0), "#000000");
            }
            label(&mut svg, x(bar.value.max(bar.high.min(most))) + 6.0, y + 15.0, "start", &bar.text);
        }
        let bottom = TOP + BAR * bars.len() as f64;
        if let Some(whole) = whole {
            line(&mut svg, (x(whole), TOP), (x(whole), bottom), "#d55e00");
            label(&mut svg, x(whole), bottom + 18.0, "middle", "100 %");
        }
        label(&mut svg, LEFT, bottom + 40.0, "start", &self.x);
        svg + "</svg>\n"
    }

    /// Curves over logarithmic axes, named at their ends.
    pub fn curves(&self, series: &[Series]) -> String {
        let all = || series.iter().flat_map(|series| &series.points).filter(|(x, y)| *x > 0.0 && *y > 0.0);
        let range = |axis: fn(&(f64, f64)) -> f64| {
            let low = all().map(axis).fold(f64::INFINITY, f64::min).log10();
            let high = all().map(axis).fold(0.0, f64::max).log10();
            if low.is_finite() && high > low { (low, high) } else { (0.0, 1.0) }
        };
        let (xs, ys) = (range(|point| point.0), range(|point| point.1));
        let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * (value.log10() - xs.0) / (xs.1 - xs.0);
        let y = |value: f64| HEIGHT - 60.0 - (HEIGHT - 60.0 - TOP) * (value.log10() - ys.0) / (ys.1 - ys.0);
        let mut svg = self.begin(HEIGHT);
        let mut ticks: Vec<f64> = all().map(|point| point.0).collect();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        for tick in ticks {
            label(&mut svg, x(tick), HEIGHT - 40.0, "middle", &format!("{tick}"));
        }
        for decade in ys.0.ceil() as i32..=ys.1.floor() as i32 {
            let value = 10f64.powi(decade);
            line(&mut svg, (LEFT, y(value)), (WIDTH - RIGHT, y(value)), "#dddddd");
            label(&mut svg, LEFT - 8.0, y(value) + 4.0, "end", &format!("{value:.0}"));
        }
        let mut named = 0;
        for series in series {
            let colour = COLOURS[series.colour % COLOURS.len()];
            let shown: Vec<&(f64, f64)> =
                series.points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).collect();
            let places: Vec<(f64, f64)> = shown.iter().map(|point| (x(point.0), y(point.1))).collect();
            draw(&mut svg, &places, series.look, colour);
            // In an order of its own, because curves may end in one point.
            if !series.name.is_empty() {
                legend(&mut svg, named, colour, &series.name);
                named += 1;
            }
        }
        label(&mut svg, LEFT, HEIGHT - 16.0, "start", &self.x);
        label(&mut svg, 10.0, TOP - 8.0, "start", &self.y);
        svg + "</svg>\n"
    }

    /// Values over days, from zero, with their ranges.
    pub fn dates(&self, traces: &[Trace]) -> String {
        let all = || traces.iter().flat_map(|trace| &trace.points);
        let (first, last) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), point| {
            (first.min(point.at), last.max(point.at))
        });
        let most = all().map(|point| point.high.max(point.value)).fold(f64::MIN_POSITIVE, f64::max);
        let days = (last - first).max(1.0);
        let x = |at: f64| LEFT + (WIDTH - LEFT - RIGHT) * (at - first) / days;
        let y = |value: f64| HEIGHT - 60.0 - (HEIGHT - 60.0 - TOP) * value / most;
        let mut svg = self.begin(HEIGHT);
        line(&mut svg, (LEFT, y(0.0)), (WIDTH - RIGHT, y(0.0)), "#dddddd");
        let highest = if most >= 100.0 { format!("{most:.0}") } else { format!("{most:.3}") };
        for (value, text) in [(0.0, "0"), (most, highest.as_str())] {
            label(&mut svg, LEFT - 8.0, y(value) + 4.0, "end", text);
        }
        // Labels of days that would overlap are left out, except the last.
        let mut ticks: Vec<(f64, &str)> = all().map(|point| (x(point.at), point.label.as_str())).collect();
        ticks.sort_by(|a, b| b.0.total_cmp(&a.0));
        ticks.dedup_by(|left, kept| kept.0 - left.0 < 70.0);
        for (at, text) in ticks {
            label(&mut svg, at, HEIGHT - 40.0, "middle", text);
        }
        for (index, trace) in traces.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let place = |point: &Dated| format!("{:.1},{:.1}", x(point.at), y(point.value));
            let points: Vec<String> = trace.points.iter().map(place).collect();
            let points = points.join(" ");
            push(
                &mut svg,
                &format!(
                    "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{points}\"/>"
                ),
            );
            for point in &trace.points {
                let at = x(point.at);
                line(&mut svg, (at, y(point.low)), (at, y(point.high)), colour);
                push(
                    &mut svg,
                    &format!(
                        "<circle cx=\"{at:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>",
                        y(point.value)
                    ),
                );
            }
            legend(&mut svg, index, colour, &trace.name);
        }
        label(&mut svg, LEFT, HEIGHT - 16.0, "start", &self.x);
        label(&mut svg, 10.0, TOP - 8.0, "start", &self.y);
        svg + "</svg>\n"
    }

    fn begin(&self, height: f64) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        );
        label(&mut svg, 10.0, 22.0, "start", &self.title);
        svg
    }
}

/// Writes a chart.
///
/// # Errors
/// When the file cannot be written.
pub fn write(file: &Path, svg: &str) -> Result<(), Failure> {
    fs::write(file, svg).map_err(Failure::in_step(format_args!("writing {}", file.display())))
}

fn push(svg: &mut String, element: &str) {
    svg.push_str(element);
    svg.push('\n');
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    let (x1, y1) = from;
    let (x2, y2) = to;
    push(
        svg,
        &format!("<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>"),
    );
}

/// A curve through these places.
fn draw(svg: &mut String, places: &[(f64, f64)], look: Look, colour: &str) {
    let dashes = match look {
        Look::Dots => {
            for (x, y) in places {
                push(svg, &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>"));
            }
            return;
        }
        Look::Dashes => " stroke-dasharray=\"6 4\"",
        Look::Line => "",
    };
    let points: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    push(
        svg,
        &format!(
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes} points=\"{}\"/>",
            points.join(" ")
        ),
    );
}

/// The name of the curve with this number, beside the plot.
fn legend(svg: &mut String, index: usize, colour: &str, name: &str) {
    let at = TOP + 16.0 * index as f64;
    line(svg, (WIDTH - RIGHT + 10.0, at), (WIDTH - RIGHT + 30.0, at), colour);
    label(svg, WIDTH - RIGHT + 36.0, at + 4.0, "start", name);
}

fn label(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // A string grows; it does not fail.
    writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{escaped}</text>")
        .unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        Chart { title: "a < b & c".into(), x: "x".into(), y: "y".into() }
    }

    #[test]
    fn bars_have_their_length_and_text_is_escaped() {
        let bar = |value: f64, high: f64| {
            let text = format!("{:.1} %", 100.0 * value);
            Bar { name: "n".into(), text, value, low: value, high }
        };
        let svg = chart().bars(&[bar(0.5, 0.6), bar(1.0, f64::INFINITY)], Some(1.0));
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("a &lt; b &amp; c"));
        assert_eq!(svg.matches("<rect").count(), 3, "the ground and two bars");
        assert_eq!(svg.matches("#000000").count(), 1, "an interval without an end is not drawn");
        assert!(
            svg.contains("50.0 %") && svg.contains("100.0 %") && !svg.contains("inf") && !svg.contains("NaN")
        );
    }

    #[test]
    fn curves_without_extent_are_still_a_picture() {
        let series = |points| Series { name: "s".into(), points, look: Look::Line, colour: 0 };
        for points in [vec![], vec![(1.0, 5.0)], vec![(1.0, 0.0), (2.0, 10.0)]] {
            let svg = chart().curves(&[series(points)]);
            assert!(svg.contains("<polyline") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
