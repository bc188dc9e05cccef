//! Durations of requests by route, status and problem. Each thread has its own counters, because cores would contend for shared ones with
//! every request.

#![expect(
    clippy::disallowed_types,
    reason = "taken when a thread counts something for the first time, and by scrapes"
)]

use crate::problem::Code;
use crate::text::Text;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use thread_local::ThreadLocal;

/// Bounds of the buckets are powers of two, from 131 µs to 34 s.
const BOUNDS_LOG2: std::ops::RangeInclusive<u32> = 17..=35;
const BUCKETS: usize = (*BOUNDS_LOG2.end() - *BOUNDS_LOG2.start()) as usize + 2;

/// The labels of a series. Routes are patterns, so the number of series is bounded.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    status: u16,
    code: Option<Code>,
    method: &'static str,
    route: String,
}

/// A histogram that one thread writes and others read.
#[derive(Default)]
struct Cells {
    counts: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

type Own = RefCell<Vec<(Series, Arc<Cells>)>>;

/// See the module.
#[derive(Default)]
pub(crate) struct Requests {
    own: ThreadLocal<Own>,
    /// The counts of all threads. A thread takes the lock when it counts in a series for the first time, and a scrape takes it.
    all: Mutex<Vec<(Series, Arc<Cells>)>>,
}

/// Sums over threads.
#[derive(Clone, Default)]
pub(crate) struct Total {
    counts: [u64; BUCKETS],
    sum_ns: u64,
}

/// The counts of all threads, summed for display.
#[derive(Default)]
pub(crate) struct Sums {
    /// Durations by route, method and status.
    pub(crate) durations: BTreeMap<(String, &'static str, u16), Total>,
    /// Refusals and faults by code and route, logins of batches among them.
    pub(crate) problems: BTreeMap<(Code, String), u64>,
}

/// Bounds of the buckets, seconds.
pub(crate) fn bounds_s() -> impl Iterator<Item = f64> {
    BOUNDS_LOG2.map(|log2| (1u64 << log2) as f64 / 1e9)
}

impl Cells {
    fn add(&self, ns: u64) {
        let mut bounds = BOUNDS_LOG2;
        let bound = bounds.position(|log2| ns <= 1 << log2).unwrap_or(BUCKETS - 1);
        let bump = |cell: &AtomicU64, by: u64| cell.store(cell.load(Relaxed).wrapping_add(by), Relaxed);
        bump(&self.counts[bound], 1);
        bump(&self.sum_ns, ns);
    }
}

impl Requests {
    /// A response was made in `ns`. `route` is a pattern; unusual methods are counted as one.
    pub(crate) fn responded(&self, method: &str, route: &str, status: u16, code: Option<Code>, ns: u64) {
        let method = METHODS.into_iter().find(|known| *known == method).unwrap_or("other");
        let is_it = |series: &Series| {
            series.status == status && series.code == code && series.method == method && series.route == route
        };
        let mut own = self.own.get_or_default().borrow_mut();
        if let Some((_, cells)) = own.iter().find(|(series, _)| is_it(series)) {
            return cells.add(ns);
        }
        let series = Series { status, code, method, route: route.to_owned() };
        let cells = Arc::new(Cells::default());
        cells.add(ns);
        self.all.lock().unwrap_or_else(PoisonError::into_inner).push((series.clone(), Arc::clone(&cells)));
        own.push((series, cells));
    }

    /// A login in a request with others was refused. The request has one response.
    pub(crate) fn refused_entry(&self, route: &str, code: Code) {
        self.responded(ENTRY, route, code.status().as_u16(), Some(code), 0);
    }

    fn totals(&self) -> BTreeMap<Series, Total> {
        let mut totals = BTreeMap::<Series, Total>::new();
        for (series, cells) in &*self.all.lock().unwrap_or_else(PoisonError::into_inner) {
            let total = totals.entry(series.clone()).or_default();
            for (sum, count) in total.counts.iter_mut().zip(&cells.counts) {
                *sum += count.load(Relaxed);
            }
            total.sum_ns += cells.sum_ns.load(Relaxed);
        }
        totals
    }

    /// All counts, summed over threads.
    pub(crate) fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for (Series { status, code, method, route }, total) in self.totals() {
            if let Some(code) = code {
                *sums.problems.entry((code, route.clone())).or_default() += total.count();
            }
            if method != ENTRY {
                let sum = sums.durations.entry((route, method, status)).or_default();
                sum.counts.iter_mut().zip(total.counts).for_each(|(sum, count)| *sum += count);
                sum.sum_ns += total.sum_ns;
            }
        }
        sums
    }

    /// The Prometheus text form.
    pub(crate) fn render(&self, text: &mut Text) {
        let Sums { durations, problems } = self.sums();
        let help = "Time from a request's head to its answer; its count is the requests";
        text.family(DURATION, "histogram", help);
        for ((route, method, status), total) in durations {
            total.render(text, &format!("method=\"{method}\",route=\"{route}\",status=\"{status}\""));
        }
        text.family(
            "trefoil_http_problems_total",
            "counter",
            "Refusals and faults by code, the stable name in the problem document, and route; refused logins of batches count here and have no duration",
        );
        for ((code, route), count) in problems {
            let labels = format!("{{code=\"{}\",route=\"{route}\"}}", code.name());
            text.sample("trefoil_http_problems_total", &labels, count as f64);
        }
    }
}

const METHODS: [&str; 6] = ["GET", "POST", "PUT", "DELETE", "HEAD", ENTRY];
/// In place of an HTTP method: a problem of a login that is no request of its own.
const ENTRY: &str = "(entry)";
const DURATION: &str = "trefoil_http_request_duration_seconds";

impl Total {
    /// How many.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their sum.
    pub(crate) fn seconds(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    /// How many are below each of [`bounds_s`].
    pub(crate) fn below(&self) -> impl Iterator<Item = u64> {
        let below = |below: &mut u64, count: u64| {
            *below += count;
            Some(*below)
        };
        self.counts.into_iter().take(BUCKETS - 1).scan(0, below)
    }

    fn render(&self, text: &mut Text, labels: &str) {
        for (bound, below) in bounds_s().zip(self.below()) {
            text.sample(&format!("{DURATION}_bucket"), &format!("{{{labels},le=\"{bound}\"}}"), below as f64);
        }
        let count = self.count() as f64;
        text.sample(&format!("{DURATION}_bucket"), &format!("{{{labels},le=\"+Inf\"}}"), count);
        text.sample(&format!("{DURATION}_sum"), &format!("{{{labels}}}"), self.seconds());
        text.sample(&format!("{DURATION}_count"), &format!("{{{labels}}}"), count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCHES: &str = "/v1/authentications/batch";

    #[test]
    fn threads_count_apart_and_are_summed_by_route_and_by_code() {
        let requests = Requests::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        requests.responded("POST", "/v1/authentications", 200, None, 1 << 20);
                        let refused = [Code::Overloaded, Code::Draining].map(Some);
                        for code in refused {
                            requests.responded("POST", "/v1/authentications", 503, code, 1 << 36);
                        }
                        requests.responded("POST", "/v1/proof-sessions", 503, Some(Code::Overloaded), 1);
                        requests.responded("BREW", "-", 404, Some(Code::RouteUnknown), 1);
                        requests.refused_entry(BATCHES, Code::Overloaded);
                        requests.refused_entry(BATCHES, Code::NonceReplayed);
                    }
                });
            }
        });
        let mut text = Text::default();
        requests.render(&mut text);
        let text = text.into_string();
        let labels = "method=\"POST\",route=\"/v1/authentications\"";
        for line in [
            format!("{DURATION}_bucket{{{labels},status=\"200\",le=\"0.000524288\"}} 0\n"),
            format!("{DURATION}_bucket{{{labels},status=\"200\",le=\"0.001048576\"}} 400\n"),
            format!("{DURATION}_bucket{{{labels},status=\"200\",le=\"+Inf\"}} 400\n"),
            format!("{DURATION}_sum{{{labels},status=\"200\"}} 0.4194304\n"),
            format!("{DURATION}_bucket{{{labels},status=\"503\",le=\"34.359738368\"}} 0\n"),
            format!("{DURATION}_count{{{labels},status=\"503\"}} 800\n"),
            format!("{DURATION}_count{{method=\"other\",route=\"-\",status=\"404\"}} 400\n"),
            "trefoil_http_problems_total{code=\"overloaded\",route=\"/v1/authentications\"} 400\n".to_owned(),
            "trefoil_http_problems_total{code=\"overloaded\",route=\"/v1/proof-sessions\"} 400\n".to_owned(),
            "trefoil_http_problems_total{code=\"route-unknown\",route=\"-\"} 400\n".to_owned(),
            format!("trefoil_http_problems_total{{code=\"overloaded\",route=\"{BATCHES}\"}} 400\n"),
            format!("trefoil_http_problems_total{{code=\"nonce-replayed\",route=\"{BATCHES}\"}} 400\n"),
        ] {
            assert!(text.contains(&line), "{line}{text}");
        }
        assert!(!text.contains(ENTRY), "an entry is no request: {text}");
        // One entry for each thread and series, however often it counted.
        assert!(requests.all.lock().unwrap().len() <= 4 * 7);
    }
}
