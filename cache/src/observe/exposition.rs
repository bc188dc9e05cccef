//! The Prometheus exposition text. It never contains a session's key.

use super::{Latency, Observer, Operation, PatternCounts, PerWorker, Phase};
use crate::Stats;
use std::fmt::Write as _;
use std::time::Instant;

/// Histogram bounds: powers of two from 16 ns to 17 s, where buckets of the histogram begin.
const BOUNDS_LOG2: std::ops::RangeInclusive<u32> = 4..=34;

/// One tenant's cache, as a scraper sees it.
pub struct Watched<'a> {
    /// The value of the label `tenant`: letters, digits and hyphens.
    pub tenant: String,
    /// The counts of its sessions, if they are counted.
    pub observer: Option<&'a PerWorker>,
    /// Entries held, expired ones included.
    pub entries: usize,
    /// Entries that it can hold.
    pub capacity: usize,
    /// Memory of its table, bytes, if known.
    pub bytes: Option<usize>,
}

/// The counts of these caches by `now`, in Prometheus text format 0.0.4, as metrics whose names begin with `prefix`: counts and
/// patterns by tenant, durations over all.
#[must_use]
pub fn exposition(caches: &[Watched<'_>], prefix: &str, now: Instant) -> String {
    let mut page = Page { prefix, text: String::with_capacity(16 << 10) };
    page.sizes(caches);
    page.counts(caches);
    page.family("duration_seconds", "histogram", "Sampled durations by operation");
    for operation in Operation::ALL {
        let mut durations = Latency::default();
        observers(caches).for_each(|observer| durations.merge(&observer.durations(operation)));
        page.histogram(operation, &durations);
    }
    page.traffic(caches, now);
    page.text
}

struct Page<'a> {
    prefix: &'a str,
    text: String,
}

impl Page<'_> {
    fn sizes(&mut self, caches: &[Watched<'_>]) {
        self.family("entries", "gauge", "Verdicts in the cache, expired ones included");
        self.by_tenant("entries", caches, |cache| Some(cache.entries as f64));
        self.family(
            "capacity",
            "gauge",
            "Verdicts that it can hold at present: a cache begins small and grows up to its tenant's quota",
        );
        self.by_tenant("capacity", caches, |cache| Some(cache.capacity as f64));
        self.family("bytes", "gauge", "Memory of its table at present");
        self.by_tenant("bytes", caches, |cache| cache.bytes.map(|bytes| bytes as f64));
    }

    fn counts(&mut self, caches: &[Watched<'_>]) {
        self.family("operations_total", "counter", "Operations of the verdict cache");
        for Watched { tenant, observer, .. } in caches {
            let Some(observer) = observer else { continue };
            for (outcome, count) in outcomes(&observer.stats()) {
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

    fn traffic(&mut self, caches: &[Watched<'_>], now: Instant) {
        self.family("patterns_total", "counter", "Windows of sampled traffic, and what was found in them");
        for Watched { tenant, observer, .. } in caches {
            let Some(observer) = observer else { continue };
            let PatternCounts { windows, hot_keys, shifts, scans } = observer.pattern_counts();
            for (kind, count) in
                [("window", windows), ("hot_key", hot_keys), ("shift", shifts), ("scan", scans)]
            {
                let labels = format!("tenant=\"{tenant}\",kind=\"{kind}\"");
                self.sample("patterns_total", &labels, count as f64);
            }
        }
        self.family(
            "sessions_in_scan",
            "gauge",
            "Threads' sessions with the cache whose last window was a scan",
        );
        self.by_tenant("sessions_in_scan", caches, |cache| {
            let patterns = cache.observer?.patterns();
            Some(patterns.iter().filter(|pattern| pattern.phase == Phase::Scan).count() as f64)
        });
        self.family("hottest_key_ratio", "gauge", "Largest share of one key in a session's last window");
        self.by_tenant("hottest_key_ratio", caches, |cache| {
            let patterns = cache.observer?.patterns();
            Some(patterns.iter().map(|pattern| pattern.hottest_share).fold(0.0, f64::max))
        });
        self.family("throughput", "gauge", "Look-ups and inserts per second over the last seconds");
        self.by_tenant("throughput", caches, |cache| cache.observer?.operations_per_second(now));
    }

    /// A value of each tenant that has one.
    fn by_tenant(&mut self, name: &str, caches: &[Watched<'_>], value: impl Fn(&Watched<'_>) -> Option<f64>) {
        for cache in caches {
            if let Some(value) = value(cache) {
                self.sample(name, &format!("tenant=\"{}\"", cache.tenant), value);
            }
        }
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let name = format!("{}_{name}", self.prefix);
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}.\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(self.text, "{}_{name}{labels} {value}", self.prefix);
    }
}

fn observers<'a>(caches: &[Watched<'a>]) -> impl Iterator<Item = &'a PerWorker> {
    caches.iter().filter_map(|cache| cache.observer)
}

fn outcomes(stats: &Stats) -> [(&'static str, u64); 13] {
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
        admissions_won,
        admissions_lost,
        migrations,
    } = *stats;
    [
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
        ("admission_won", admissions_won),
        ("admission_lost", admissions_lost),
        ("migration", migrations),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Recorder};
    use std::time::Duration;

    fn page() -> String {
        let (one, other) = (PerWorker::default(), PerWorker::default());
        let began = Instant::now();
        one.operations_per_second(began);
        let mut hot = one.worker();
        hot.record(Event::Hit);
        (0..256).for_each(|_| hot.saw(&[7; 32], true));
        let mut worker = other.worker();
        worker.record(Event::Stale);
        worker.record(Event::AdmissionLost);
        worker.end(Operation::Put, began.checked_sub(Duration::from_millis(3)).unwrap_or(began));
        let watched = |tenant: &str, observer, bytes| Watched {
            tenant: tenant.to_owned(),
            observer: Some(observer),
            entries: 3,
            capacity: 64,
            bytes,
        };
        let caches = [watched("a", &one, Some(4096)), watched("b", &other, None)];
        exposition(&caches, "cache", began + Duration::from_secs(1))
    }

    /// Every sample belongs to the metric announced last, each metric is announced once, and histograms are cumulative.
    #[test]
    fn pages_are_well_formed() {
        let (mut family, mut families, mut rising) = (String::new(), Vec::new(), 0.0);
        for line in page().lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                family = rest.split(' ').next().unwrap_or_default().to_owned();
                assert!(!families.contains(&family), "{family} is announced twice");
                families.push(family.clone());
            } else if !line.starts_with('#') {
                assert!(line.starts_with(&family), "{line} after {family}");
                let value: f64 = line.rsplit(' ').next().unwrap_or_default().parse().expect("number");
                let first = line.contains("le=\"0.000000016\"");
                assert!(!line.contains("_bucket") || first || value >= rising, "{line}");
                rising = value;
            }
        }
    }

    #[test]
    fn tenants_are_apart_and_durations_together() {
        let page = page();
        for line in [
            "cache_entries{tenant=\"a\"} 3\n",
            "cache_capacity{tenant=\"b\"} 64\n",
            "cache_bytes{tenant=\"a\"} 4096\n",
            "cache_operations_total{tenant=\"a\",outcome=\"hit\"} 1\n",
            "cache_operations_total{tenant=\"b\",outcome=\"hit\"} 0\n",
            "cache_operations_total{tenant=\"b\",outcome=\"stale\"} 1\n",
            "cache_operations_total{tenant=\"b\",outcome=\"admission_lost\"} 1\n",
            "cache_duration_seconds_bucket{operation=\"put\",le=\"0.001048576\"} 0\n",
            "cache_duration_seconds_bucket{operation=\"put\",le=\"+Inf\"} 1\n",
            "cache_patterns_total{tenant=\"a\",kind=\"window\"} 1\n",
            "cache_patterns_total{tenant=\"b\",kind=\"window\"} 0\n",
            "cache_patterns_total{tenant=\"b\",kind=\"hot_key\"} 0\n",
            "cache_sessions_in_scan{tenant=\"b\"} 0\n",
            "cache_hottest_key_ratio{tenant=\"a\"} 1\n",
            "cache_hottest_key_ratio{tenant=\"b\"} 0\n",
            "cache_throughput{tenant=\"a\"} 1\n",
        ] {
            assert!(page.contains(line), "{line}{page}");
        }
        assert!(!page.contains("cache_bytes{tenant=\"b\"}"), "{page}");
    }
}
