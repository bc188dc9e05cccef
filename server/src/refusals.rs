//! Chooses the refused requests that the log shows.

use std::sync::atomic::{AtomicU64, Ordering};

/// Logs one refusal a second of each status, because strangers can cause any number.
#[derive(Default)]
pub(crate) struct Refusals([AtomicU64; 2]);

impl Refusals {
    /// Whether the log has a line for a refusal with this status.
    #[expect(clippy::disallowed_methods, reason = "of refusals, once a second for each status")]
    pub(crate) fn takes(&self, status: u16, now_ns: u64) -> bool {
        let last = &self.0[usize::from(status == 403)];
        // The first second counts as a new one.
        let (second, before) = (now_ns / 1_000_000_000 + 1, last.load(Ordering::Relaxed));
        second != before
            && last.compare_exchange(before, second, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_refusal_a_second_of_each_status_is_taken() {
        let (refusals, second) = (Refusals::default(), 1_000_000_000);
        let taken = |status, times: &[u64]| times.iter().filter(|now| refusals.takes(status, **now)).count();
        assert_eq!(taken(401, &[0, 1, second - 1]), 1);
        assert_eq!(taken(403, &[5, 6]), 1);
        assert_eq!(taken(401, &[second, second + 1, 3 * second]), 2);
    }
}
