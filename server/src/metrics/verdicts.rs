//! The verdict cache in Prometheus text. It never contains a session's key.

use crate::text::Text;
use std::sync::Arc;
use std::time::Instant;
use trefoil_cache::{Cache as _, Latency, Observer as _, Operation, PatternCounts, PerWorker, Phase, Stats};
use trefoil_service::tenants::tenant::Tenant;
use trefoil_service::tenants::wiring::observer;

/// Bounds of the histogram: powers of two from 16 ns to 17 s, where its buckets begin.
const BOUNDS_LOG2: std::ops::RangeInclusive<u32> = 4..=34;

/// One tenant's partition.
struct Watched {
    tenant: String,
    /// The counts of its sessions, if they are counted.
    observer: Option<PerWorker>,
    /// Entries held, expired ones included.
    entries: usize,
    capacity: usize,
    bytes: Option<usize>,
}

/// Sizes, counts, durations and patterns of all partitions, and never a key. Labels name tenants by their identifiers, of which only
/// the operator creates more.
pub(crate) fn verdicts(tenants: &[Arc<Tenant>]) -> String {
    let watched = tenants.iter().map(|tenant| {
        let cache = tenant.verdicts.cache();
        Watched {
            tenant: hex::encode(tenant.id),
            observer: observer(&cache).cloned(),
            entries: cache.len(),
            capacity: cache.capacity(),
            bytes: cache.table_bytes(),
        }
    });
    page(&watched.collect::<Vec<_>>(), Instant::now())
}

fn page(caches: &[Watched], now: Instant) -> String {
    let mut page = Page { text: Text::default(), caches };
    page.gauge("entries", "Verdicts in the cache, expired ones included", |cache| Some(cache.entries as f64));
    let help =
        "Verdicts that it can hold at present: a cache begins small and grows up to its tenant's quota";
    page.gauge("capacity", help, |cache| Some(cache.capacity as f64));
    page.gauge("bytes", "Memory of its table at present", |cache| cache.bytes.map(|bytes| bytes as f64));
    page.counters("operations_total", "outcome", "Operations of the verdict cache", |observer| {
        outcomes(&observer.stats())
    });
    page.durations();
    let help = "Windows of sampled traffic, and what was found in them";
    page.counters("patterns_total", "kind", help, |observer| {
        let PatternCounts { windows, hot_keys, shifts, scans } = observer.pattern_counts();
        [("window", windows), ("hot_key", hot_keys), ("shift", shifts), ("scan", scans)]
    });
    let help = "Threads' sessions with the cache whose last window was a scan";
    page.gauge("sessions_in_scan", help, |cache| {
        let patterns = cache.observer.as_ref()?.patterns();
        Some(patterns.iter().filter(|pattern| pattern.phase == Phase::Scan).count() as f64)
    });
    page.gauge("hottest_key_ratio", "Largest share of one key in a session's last window", |cache| {
        let patterns = cache.observer.as_ref()?.patterns();
        Some(patterns.iter().map(|pattern| pattern.hottest_share).fold(0.0, f64::max))
    });
    let help = "Look-ups and inserts per second over the last seconds";
    page.gauge("throughput", help, |cache| cache.observer.as_ref()?.operations_per_second(now));
    page.text.into_string()
}

struct Page<'a> {
    text: Text,
    caches: &'a [Watched],
}

impl Page<'_> {
    fn family(&mut self, name: &str, kind: &str, help: &str) -> String {
        let name = format!("trefoil_verdict_cache_{name}");
        self.text.family(&name, kind, help);
        name
    }

    /// A value of each tenant that has one.
    fn gauge(&mut self, name: &str, help: &str, value: impl Fn(&Watched) -> Option<f64>) {
        let name = self.family(name, "gauge", help);
        for cache in self.caches {
            if let Some(value) = value(cache) {
                self.text.sample(&name, &format!("{{tenant=\"{}\"}}", cache.tenant), value);
            }
        }
    }

    /// Counts of each tenant whose sessions are counted, told apart by another label.
    fn counters<const N: usize>(
        &mut self,
        name: &str,
        label: &str,
        help: &str,
        counts: impl Fn(&PerWorker) -> [(&'static str, u64); N],
    ) {
        let name = self.family(name, "counter", help);
        for Watched { tenant, observer, .. } in self.caches {
            for (what, count) in observer.as_ref().map(&counts).into_iter().flatten() {
                let labels = format!("{{tenant=\"{tenant}\",{label}=\"{what}\"}}");
                self.text.sample(&name, &labels, count as f64);
            }
        }
    }

    /// Over all tenants.
    fn durations(&mut self) {
        let family = self.family("duration_seconds", "histogram", "Sampled durations by operation");
        for operation in Operation::ALL {
            let name = match operation {
                Operation::Get => "get",
                Operation::Put => "put",
                Operation::Admission => "admission",
                Operation::Miss => "miss",
            };
            let total = Latency::default();
            let observers = self.caches.iter().filter_map(|cache| cache.observer.as_ref());
            observers.for_each(|observer| total.add(&observer.durations(operation)));
            let bounds = BOUNDS_LOG2.map(|log2| 1 << log2);
            self.text.histogram(&family, &format!("operation=\"{name}\""), &total, bounds);
        }
    }
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
    use std::time::Duration;
    use trefoil_cache::{Event, Recorder as _};

    /// Every sample belongs to the metric announced last, each metric is announced once, and histograms are cumulative.
    #[test]
    fn tenants_are_apart_and_durations_together_on_a_well_formed_page() {
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
        let watched = |tenant: &str, observer: &PerWorker, bytes| Watched {
            tenant: tenant.to_owned(),
            observer: Some(observer.clone()),
            entries: 3,
            capacity: 64,
            bytes,
        };
        let caches = [watched("a", &one, Some(4096)), watched("b", &other, None)];
        let page = page(&caches, began + Duration::from_secs(1));

        let (mut family, mut families, mut rising) = (String::new(), Vec::new(), 0.0);
        for line in page.lines() {
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
        for line in [
            "entries{tenant=\"a\"} 3",
            "capacity{tenant=\"b\"} 64",
            "bytes{tenant=\"a\"} 4096",
            "operations_total{tenant=\"a\",outcome=\"hit\"} 1",
            "operations_total{tenant=\"b\",outcome=\"hit\"} 0",
            "operations_total{tenant=\"b\",outcome=\"stale\"} 1",
            "operations_total{tenant=\"b\",outcome=\"admission_lost\"} 1",
            "duration_seconds_bucket{operation=\"put\",le=\"0.001048576\"} 0",
            "duration_seconds_bucket{operation=\"put\",le=\"+Inf\"} 1",
            "patterns_total{tenant=\"a\",kind=\"window\"} 1",
            "patterns_total{tenant=\"b\",kind=\"window\"} 0",
            "patterns_total{tenant=\"b\",kind=\"hot_key\"} 0",
            "sessions_in_scan{tenant=\"b\"} 0",
            "hottest_key_ratio{tenant=\"a\"} 1",
            "hottest_key_ratio{tenant=\"b\"} 0",
            "throughput{tenant=\"a\"} 1",
        ] {
            assert!(page.contains(&format!("trefoil_verdict_cache_{line}\n")), "{line}: {page}");
        }
        assert!(!page.contains("bytes{tenant=\"b\"}"), "{page}");
    }
}
