//! Rate of the last seconds: a window behind a lock that is tried and, if taken, skipped.

use std::time::{Duration, Instant};

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
    pub(super) fn count(&mut self, at: Instant) {
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
    pub(super) fn operations(&self) -> u64 {
        self.now + self.seconds.iter().sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_that_are_over_stay_in_the_window_for_a_minute() {
        let mut window = Window::default();
        let began = Instant::now();
        (0..90).for_each(|second| window.count(began + Duration::from_secs(second)));
        assert_eq!(window.operations(), SECONDS as u64 + 1);
    }
}
