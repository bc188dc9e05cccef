//! The rate of a running loop on the terminal.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::Duration;

/// One line that is overwritten on a terminal.
pub(crate) struct Live {
    is_watched: bool,
    /// Lanes and time at the line before, nanoseconds.
    before: Option<(u64, u64)>,
}

impl Live {
    /// Time between two lines.
    pub(crate) const EVERY: Duration = Duration::from_secs(1);

    pub(crate) fn new() -> Self {
        Live { is_watched: stderr().is_terminal(), before: None }
    }

    /// Shows the rate since the last call, with `lanes` sealed by now.
    pub(crate) fn show(&mut self, name: &str, lanes: u64, now_ns: u64) {
        let since = self.before.replace((lanes, now_ns));
        if let (true, Some(before)) = (self.is_watched, since) {
            let line = line(name, before, (lanes, now_ns));
            // For display only: if it cannot be written, the run continues.
            write!(stderr(), "\r{line:<60}").unwrap_or_default();
        }
    }

    /// Leaves a line behind.
    pub(crate) fn line(&self, text: &str) {
        let begin = if self.is_watched { "\r" } else { "" };
        eprintln!("{begin}{text:<60}");
    }

    /// Clears the line.
    pub(crate) fn end(self) {
        if self.is_watched {
            write!(stderr(), "\r{:<60}\r", "").unwrap_or_default();
        }
    }
}

fn line(name: &str, before: (u64, u64), now: (u64, u64)) -> String {
    let seconds = now.1.saturating_sub(before.1) as f64 / 1e9;
    let rate = now.0.saturating_sub(before.0) as f64 / seconds.max(1e-9);
    format!("{name}: {rate:.0} authentications/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_rate_since_the_line_before() {
        let shown = line("warm-up", (1_000, 1_000_000_000), (4_000, 2_500_000_000));
        assert_eq!(shown, "warm-up: 2000 authentications/s");
    }
}
