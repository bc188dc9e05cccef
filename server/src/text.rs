//! Prometheus text.

use std::fmt::Write as _;
use trefoil_cache::Histogram;
use trefoil_service::counters::Durations;

/// Bounds of the buckets of durations: four in each octave from a microsecond to four seconds.
pub(crate) fn bounds_ns() -> impl Iterator<Item = u64> {
    (10..32).flat_map(|log2| (4..8).map(move |quarter| quarter << (log2 - 2)))
}

/// A Prometheus text under construction.
#[derive(Default)]
pub(crate) struct Text(String);

impl Text {
    /// The text.
    pub(crate) fn into_string(self) -> String {
        self.0
    }

    /// Help and type of a family.
    pub(crate) fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// One value.
    pub(crate) fn sample(&mut self, name: &str, labels: &str, value: f64) {
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    /// Median, 99th percentile, sum and number of durations, in seconds; `label` is a label of all of them, or empty. A
    /// quantile is the middle of its bucket.
    pub(crate) fn summary(&mut self, name: &str, label: &str, durations: &Durations) {
        let (comma, labels) =
            if label.is_empty() { ("", String::new()) } else { (",", format!("{{{label}}}")) };
        for q in [0.5, 0.99] {
            let seconds = durations.quantile_ns(q).map_or(f64::NAN, |bucket| {
                (*bucket.start() as f64 + (bucket.end() - bucket.start()) as f64 / 2.0) / 1e9
            });
            self.sample(name, &format!("{{{label}{comma}quantile=\"{q}\"}}"), seconds);
        }
        self.sample(&format!("{name}_sum"), &labels, durations.sum_ns() as f64 / 1e9);
        self.sample(&format!("{name}_count"), &labels, durations.samples() as f64);
    }

    /// A histogram of durations with these bounds, in seconds.
    pub(crate) fn histogram<const STEPS: usize>(
        &mut self,
        name: &str,
        label: &str,
        durations: &Histogram<STEPS>,
        bounds_ns: impl Iterator<Item = u64>,
    ) {
        for bound in bounds_ns {
            let labels = format!("{{{label},le=\"{}\"}}", bound as f64 / 1e9);
            self.sample(&format!("{name}_bucket"), &labels, durations.below(bound) as f64);
        }
        let samples = durations.samples() as f64;
        self.sample(&format!("{name}_bucket"), &format!("{{{label},le=\"+Inf\"}}"), samples);
        self.sample(&format!("{name}_sum"), &format!("{{{label}}}"), durations.sum_ns() as f64 / 1e9);
        self.sample(&format!("{name}_count"), &format!("{{{label}}}"), samples);
    }

    /// A family of one value, or of none.
    pub(crate) fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Into<Option<f64>>) {
        self.family(name, kind, help);
        if let Some(value) = value.into() {
            self.sample(name, "", value);
        }
    }
}
