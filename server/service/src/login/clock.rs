//! The wall clock and the monotonic clock of the process, and whether the first can be right.

#![expect(clippy::disallowed_types, reason = "once a second, off the path of a login")]

use crate::log::seal_log::Standing;
use crate::time;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trefoil_pipeline::Clock;

/// The wall clock may move so far against the monotonic one between two looks, and by the time between them, seconds: NTP slews by less.
const STEP_S: u64 = 2;
/// So many logins that are refused for their time dispute the clock as much as one that is let in confirms it.
const CONFIRMS: u64 = 20;
/// How long a step is told, seconds.
const TOLD_S: u64 = 3_600;

/// The machine's clocks.
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock(Instant::now())
    }
}

impl Clock for SystemClock {
    fn unix_s(&self) -> u64 {
        // A clock before 1970 is wrong. Zero makes every request stale, so nothing is accepted.
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }

    fn monotonic_ns(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a worker waits so that its answer takes as long as others do"
    )]
    fn wait_until(&self, monotonic_ns: u64) {
        std::thread::sleep(Duration::from_nanos(monotonic_ns.saturating_sub(self.monotonic_ns())));
    }
}

/// The clock of the pipeline, whose seals are dated no earlier than what the log has reached.
pub struct PipelineClock {
    /// The clock itself.
    pub clock: Arc<dyn Clock>,
    /// What the log has reached.
    pub seal_log: Arc<Standing>,
}

impl Clock for PipelineClock {
    fn unix_s(&self) -> u64 {
        self.clock.unix_s()
    }

    fn sealed_from(&self) -> u64 {
        self.seal_log.reached()
    }

    fn monotonic_ns(&self) -> u64 {
        self.clock.monotonic_ns()
    }

    fn wait_until(&self, monotonic_ns: u64) {
        self.clock.wait_until(monotonic_ns);
    }
}

/// Looks at the clock once a second.
#[derive(Default)]
pub struct ClockWatch(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    /// Wall clock and monotonic clock at the last look, seconds.
    last: Option<(u64, u64)>,
    step: Option<(Step, u64)>,
    /// How far the database's clock was ahead of this one at the last two looks.
    register_ahead: [i64; 2],
    is_behind: bool,
    /// Logins let in and refused for their time, at the last look.
    by_time: [u64; 2],
    /// How many more were refused than [`CONFIRMS`] times those let in, since it was 0.
    disputed: u64,
}

/// A step of the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// By so many seconds, negative if it was set back.
    pub by_s: i64,
    /// What it said afterwards, Unix seconds.
    pub to: u64,
}

impl ClockWatch {
    /// `register` is the time by the register of a fleet, and `behind` what the log has reached if the clock is behind it.
    pub(crate) fn look(&self, unix_s: u64, monotonic_s: u64, register: Option<u64>, behind: Option<u64>) {
        let mut seen = self.seen();
        if let Some((unix, monotonic)) = seen.last.replace((unix_s, monotonic_s)) {
            let passed_s = monotonic_s - monotonic;
            let by_s = unix_s.wrapping_sub(unix + passed_s).cast_signed();
            if by_s.unsigned_abs() > STEP_S + passed_s {
                tracing::warn!(by_s, to = time::format(unix_s), "the clock was set");
                seen.step = Some((Step { by_s, to: unix_s }, monotonic_s));
            }
        }
        if let Some(register) = register {
            seen.register_ahead = [seen.register_ahead[1], register.wrapping_sub(unix_s).cast_signed()];
        }
        if let Some(reached) = behind.filter(|_| !seen.is_behind) {
            let (clock, reached) = (time::format(unix_s), time::format(reached));
            tracing::error!(
                clock,
                reached,
                "the clock is behind the log of seals; logins are refused until it is set"
            );
        }
        seen.is_behind = behind.is_some();
    }

    /// Takes the logins so far, let in and refused for their time.
    pub(crate) fn weigh(&self, by_time: [u64; 2]) {
        let mut seen = self.seen();
        let before = std::mem::replace(&mut seen.by_time, by_time);
        let [let_in, refused] = [0, 1].map(|which| by_time[which] - before[which]);
        let disputed = seen.disputed.saturating_add(refused).min(10 * CONFIRMS);
        seen.disputed = disputed.saturating_sub(CONFIRMS.saturating_mul(let_in));
    }

    /// How many logins dispute the clock, beyond what others confirm.
    pub fn disputed(&self) -> u64 {
        self.seen().disputed
    }

    /// The last step, for an hour.
    pub fn step(&self, monotonic_s: u64) -> Option<Step> {
        let told = |(_, at): &(Step, u64)| monotonic_s.saturating_sub(*at) < TOLD_S;
        self.seen().step.filter(told).map(|(step, _)| step)
    }

    /// How far the database's clock has been ahead of this one for two looks, seconds: negative if it was behind.
    pub fn register_ahead(&self) -> i64 {
        match self.seen().register_ahead {
            [one, two] if one > 0 && two > 0 => one.min(two),
            [one, two] if one < 0 && two < 0 => one.max(two),
            _ => 0,
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Claim V160.
    #[test]
    fn a_caller_with_a_wrong_clock_disputes_this_one_only_where_others_confirm_little() {
        let watch = ClockWatch::default();
        let mut all = [0, 0];
        for (let_in, refused, disputed) in [
            (0, 19, 19),
            (1, 0, 0),
            // As many as were let in, and twenty times as many.
            (50, 50, 0),
            (1, 20, 0),
            (0, 60, 60),
            (1, 0, 40),
            (0, 1_000, 200),
            (9, 0, 20),
            (9, 0, 0),
        ] {
            all = [all[0] + let_in, all[1] + refused];
            watch.weigh(all);
            assert_eq!(watch.disputed(), disputed, "{let_in} let in, {refused} refused");
        }
    }

    #[test]
    fn a_step_is_told_for_an_hour_and_slewing_never_is() {
        let watch = ClockWatch::default();
        for (unix, monotonic, step) in [
            (1_000, 10, None),
            (1_001, 11, None),
            // A machine that was busy, and a second that NTP took.
            (1_030, 40, None),
            (1_032, 41, None),
            (1_332, 41 + 1, Some((299, 1_332))),
            (1_333, 43, Some((299, 1_332))),
            (1_034, 44, Some((-300, 1_034))),
            (1_034 + 3_599, 44 + 3_599, Some((-300, 1_034))),
            (1_034 + 3_600, 44 + 3_600, None),
        ] {
            watch.look(unix, monotonic, None, None);
            assert_eq!(watch.step(monotonic), step.map(|(by_s, to)| Step { by_s, to }), "{unix} {monotonic}");
        }
    }

    #[test]
    fn another_clock_counts_at_the_second_look() {
        let watch = ClockWatch::default();
        for (register, ahead) in [(130, 0), (120, 20), (100, 0), (70, 0), (95, -5), (101, 0)] {
            watch.look(100, 1, Some(register), None);
            assert_eq!(watch.register_ahead(), ahead, "{register}");
        }
        watch.look(100, 1, None, None);
        assert_eq!(watch.register_ahead(), 0);
    }
}
