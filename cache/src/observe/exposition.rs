//! The text that monitoring systems read.

use super::{Latency, Observer, Operation, PerWorker, Phase};
use crate::{Stats, Tenant};
use std::fmt::Write as _;
use std::time::Instant;

/// A form of the text. Both have every metric with its help; the keys of sessions are never in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposition {
    /// Prometheus text format 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0, which also has units and an end mark.
    OpenMetrics,
}

/// Histogram bounds: powers of two from 16 ns to 17 s, where buckets of the histogram begin.
const BOUNDS_LOG2: std::ops::RangeInclusive<u32> = 4..=34;

impl Exposition {
    /// The value of the header `Content-Type`.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// All that `observer` has counted by `now`, as metrics whose names begin with `prefix`.
    #[must_use]
    pub fn render<const EVERY: u64>(self, observer: &PerWorker<EVERY>, prefix: &str, now: Instant) -> String {
        let mut page = Page { form: self, prefix, text: String::with_capacity(16 << 10) };
        page.counts(observer);
        page.family("duration", "histogram", "seconds", "Sampled durations by operation");
        for operation in Operation::ALL {
            page.histogram(operation, &observer.durations(operation));
        }
        page.traffic(observer, now);
        if self == Self::OpenMetrics {
            page.text.push_str("# EOF\n");
        }
        page.text
    }
}

struct Page<'a> {
    form: Exposition,
    prefix: &'a str,
    text: String,
}

impl Page<'_> {
    fn counts<const EVERY: u64>(&mut self, observer: &PerWorker<EVERY>) {
        self.family("operations", "counter", "", "Operations by tenant and outcome");
        for tenant in (0..=u16::MAX).take(observer.tenants()) {
            let Stats {
                hits,
                misses,
                stale,
                contended,
                insertions,
                replacements,
                rejections,
                evictions,
                expirations,
                removals,
            } = observer.tenant_stats(Tenant(tenant));
            for (outcome, count) in [
                ("hit", hits),
                ("absent", misses - stale - contended),
                ("stale", stale),
                ("contended", contended),
                ("insertion", insertions),
                ("replacement", replacements),
                ("rejection", rejections),
                ("eviction", evictions),
                ("expiration", expirations),
                ("removal", removals),
            ] {
                let labels = format!("tenant=\"{tenant}\",outcome=\"{outcome}\"");
                self.sample("operations_total", &labels, count as f64);
            }
        }
    }

    fn histogram(&mut self, operation: Operation, durations: &Latency) {
        let name = match operation {
            Operation::Get => "get",
            Operation::Put => "put",
            Operation::Admission => "admission",
            Operation::Miss => "miss",
        };
        let (mut buckets, mut below) = (durations.buckets().peekable(), 0);
        for log2 in BOUNDS_LOG2 {
            while let Some((_, count)) = buckets.next_if(|(upper, _)| *upper < 1 << log2) {
                below += count;
            }
            let labels = format!("operation=\"{name}\",le=\"{}\"", (1u64 << log2) as f64 / 1e9);
            self.sample("duration_seconds_bucket", &labels, below as f64);
        }
        let samples = durations.samples() as f64;
        self.sample("duration_seconds_bucket", &format!("operation=\"{name}\",le=\"+Inf\""), samples);
        let labels = format!("operation=\"{name}\"");
        self.sample("duration_seconds_count", &labels, samples);
        self.sample("duration_seconds_sum", &labels, durations.sum_ns() as f64 / 1e9);
    }

    fn traffic<const EVERY: u64>(&mut self, observer: &PerWorker<EVERY>, now: Instant) {
        let counts = observer.pattern_counts();
        self.family("patterns", "counter", "", "Windows of sampled traffic, and what was found in them");
        for (kind, count) in [
            ("window", counts.windows),
            ("hot_key", counts.hot_keys),
            ("shift", counts.shifts),
            ("scan", counts.scans),
        ] {
            self.sample("patterns_total", &format!("kind=\"{kind}\""), count as f64);
        }
        let patterns = observer.patterns();
        let scanning = patterns.iter().filter(|pattern| pattern.phase == Phase::Scan).count();
        self.family("sessions_in_scan", "gauge", "", "Sessions whose last window was a scan");
        self.sample("sessions_in_scan", "", scanning as f64);
        let hottest = patterns.iter().map(|pattern| pattern.hottest_share).fold(0.0, f64::max);
        self.family("hottest_key", "gauge", "ratio", "Largest share of one key in a session's last window");
        self.sample("hottest_key_ratio", "", hottest);
        if let Some(rate) = observer.operations_per_second(now) {
            self.family("throughput", "gauge", "", "Look-ups and inserts per second over the last seconds");
            self.sample("throughput", "", rate);
        }
    }

    /// Announces a metric. Prometheus names a counter with its suffix, OpenMetrics without.
    fn family(&mut self, name: &str, kind: &str, unit: &str, help: &str) {
        let separated = if unit.is_empty() { String::new() } else { format!("_{unit}") };
        let suffix = if kind == "counter" && self.form == Exposition::Prometheus { "_total" } else { "" };
        let name = format!("{}_{name}{separated}{suffix}", self.prefix);
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}.\n# TYPE {name} {kind}");
        if self.form == Exposition::OpenMetrics && !unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
    }

    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(self.text, "{}_{name}{labels} {value}", self.prefix);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Recorder};
    use std::time::Duration;

    fn page(form: Exposition) -> String {
        let observer = PerWorker::<64>::new(2);
        let began = Instant::now();
        observer.operations_per_second(began);
        let mut worker = observer.worker();
        worker.record(Event::Hit);
        worker.record_in(Tenant(1), Event::Stale);
        worker.end(Operation::Put, began.checked_sub(Duration::from_millis(3)).unwrap_or(began));
        form.render(&observer, "cache", began + Duration::from_secs(1))
    }

    /// Every sample belongs to the metric announced last, and histograms are cumulative.
    #[test]
    fn pages_are_well_formed() {
        for form in [Exposition::Prometheus, Exposition::OpenMetrics] {
            let page = page(form);
            let (mut family, mut rising) = (String::new(), 0.0);
            for line in page.lines() {
                if let Some(rest) = line.strip_prefix("# TYPE ") {
                    family = rest.split(' ').next().unwrap_or_default().to_owned();
                } else if !line.starts_with('#') {
                    assert!(line.starts_with(&family), "{line} after {family}");
                    let value: f64 = line.rsplit(' ').next().unwrap_or_default().parse().expect("number");
                    let first = line.contains("le=\"0.000000016\"");
                    assert!(!line.contains("_bucket") || first || value >= rising, "{line}");
                    rising = value;
                }
            }
            assert_eq!(page.ends_with("# EOF\n"), form == Exposition::OpenMetrics);
        }
    }

    #[test]
    fn forms_differ_where_they_must() {
        let (old, new) = (page(Exposition::Prometheus), page(Exposition::OpenMetrics));
        assert!(old.contains("# TYPE cache_operations_total counter\n"));
        assert!(new.contains("# TYPE cache_operations counter\n"));
        assert!(new.contains("# UNIT cache_duration_seconds seconds\n") && !old.contains("# UNIT"));
        for page in [old, new] {
            for line in [
                "cache_operations_total{tenant=\"0\",outcome=\"hit\"} 1\n",
                "cache_operations_total{tenant=\"1\",outcome=\"stale\"} 1\n",
                "cache_operations_total{tenant=\"1\",outcome=\"absent\"} 0\n",
                "cache_duration_seconds_bucket{operation=\"put\",le=\"0.001048576\"} 0\n",
                "cache_duration_seconds_bucket{operation=\"put\",le=\"+Inf\"} 1\n",
                "cache_duration_seconds_count{operation=\"put\"} 1\n",
                "cache_throughput 2\n",
            ] {
                assert!(page.contains(line), "{line}{page}");
            }
        }
        assert_ne!(Exposition::Prometheus.content_type(), Exposition::OpenMetrics.content_type());
    }
}
