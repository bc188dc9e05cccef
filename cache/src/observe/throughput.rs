//! Operations per second over the last seconds, from totals that a reader takes now and then.
//!
//! The operation path is not involved: readers difference the monotone totals. Two concurrent readers would get
//! the same result, so the second does not wait for the first and gets no answer.

use std::collections::VecDeque;
#[expect(clippy::disallowed_types, reason = "between readers, and only tried")]
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Totals older than this are forgotten, unless they are the last ones before.
const SPAN: Duration = Duration::from_secs(10);
/// Closer readings replace each other, so that memory is bounded whatever the rate of readers.
const SPACING: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(super) struct Throughput {
    #[expect(clippy::disallowed_types, reason = "see the import")]
    readings: Mutex<VecDeque<(Instant, u64)>>,
}

impl Throughput {
    /// Records that `operations` were done by `now` in total; the rate since the oldest reading of the span, if there is
    /// one and no other reader is active.
    pub(super) fn per_second(&self, now: Instant, operations: u64) -> Option<f64> {
        let mut readings = self.readings.try_lock().ok()?;
        while readings.len() > 1 && readings.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= SPAN) {
            readings.pop_front();
        }
        let (began, before) = *readings.front().unwrap_or(&(now, operations));
        if readings.back().is_none_or(|(at, _)| now.duration_since(*at) >= SPACING) {
            readings.push_back((now, operations));
        }
        let seconds = now.duration_since(began).as_secs_f64();
        (seconds > 0.0).then(|| operations.saturating_sub(before) as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let throughput = Throughput::default();
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        assert_eq!(throughput.per_second(at(0), 1000), None);
        assert_eq!(throughput.per_second(at(500), 1500), Some(1000.0));
        assert_eq!(throughput.per_second(at(1000), 2000), Some(1000.0));
        // Twice as fast from then on: after more than a span only that is left.
        let mut last = None;
        for ms in (1000..30_000).step_by(500) {
            last = throughput.per_second(at(ms), 2000 + 2 * (ms - 1000));
        }
        assert_eq!(last, Some(2000.0));
        assert!(throughput.readings.lock().unwrap().len() <= 22);
        for ms in 30_000..30_200 {
            throughput.per_second(at(ms), 1 << 20);
        }
        assert!(throughput.readings.lock().unwrap().len() <= 24);
    }

    #[test]
    fn a_second_reader_does_not_wait() {
        let throughput = Throughput::default();
        let held = throughput.readings.lock().unwrap();
        assert_eq!(throughput.per_second(Instant::now(), 1), None);
        drop(held);
    }
}
