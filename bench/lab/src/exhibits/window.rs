//! Rate of the last seconds: a window behind a lock that is tried and, if taken, skipped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use super::Part;
use super::locks::Locked;

/// Seconds that the window covers.
const SECONDS: usize = 60;

/// Operations of each of the last seconds. The current one is first, in the line of the lock.
#[derive(Debug)]
pub(super) struct Window {
    since: Option<Instant>,
    now: u64,
    at: usize,
    seconds: [u64; SECONDS],
}

impl Default for Window {
    fn default() -> Self {
        Window { since: None, now: 0, at: 0, seconds: [0; SECONDS] }
    }
}

impl Window {
    #[inline(always)]
    fn count(&mut self, at: Instant) {
        let since = *self.since.get_or_insert(at);
        if at.saturating_duration_since(since) >= Duration::from_secs(1) {
            self.turn(at);
        }
        self.now += 1;
    }

    /// Starts the next second.
    #[cold]
    fn turn(&mut self, at: Instant) {
        self.seconds[self.at] = self.now;
        self.at = (self.at + 1) % SECONDS;
        (self.since, self.now) = (Some(at), 0);
    }

    #[cfg(test)]
    fn operations(&self) -> u64 {
        self.now + self.seconds.iter().sum::<u64>()
    }
}

/// `throughput_window.try_write()` after every timed operation. It never waits, and so was not among the contended locks;
/// its word is still a line that every worker writes. The published code keeps it after the second fix.
#[derive(Default)]
pub struct TriedWindow(Arc<CachePadded<Locked<Window>>>);

impl Part for TriedWindow {
    type Worker = Self;

    fn worker(&self) -> Self {
        TriedWindow(Arc::clone(&self.0))
    }
}

impl TriedWindow {
    /// Operations in the window.
    #[cfg(test)]
    pub(super) fn operations(&self) -> u64 {
        self.0.read(Window::operations)
    }
}

impl TriedWindow {
    /// Records an operation that ended `at` this moment.
    #[inline(always)]
    pub fn passed(&mut self, at: Instant) {
        self.0.try_write(|window| window.count(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_is_taken_is_skipped() {
        let watches = TriedWindow::default();
        let (mut first, mut second) = (watches.worker(), watches.worker());
        let now = Instant::now();
        first.passed(now);
        watches.0.write(|window| {
            second.passed(now);
            assert_eq!(window.operations(), 1);
        });
        second.passed(now);
        assert_eq!(watches.operations(), 2);
    }

    #[test]
    fn seconds_that_are_over_stay_in_the_window_for_a_minute() {
        let mut window = Window::default();
        let began = Instant::now();
        (0..90).for_each(|second| window.count(began + Duration::from_secs(second)));
        assert_eq!(window.operations(), SECONDS as u64 + 1);
    }
}
