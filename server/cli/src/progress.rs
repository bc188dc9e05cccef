//! Progress on standard error: a bar on a terminal, one line per stage elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// Announces stages.
#[derive(Clone, Copy)]
pub(super) struct Progress {
    terminal: bool,
}

/// A running stage. Clones share its count.
#[derive(Clone)]
pub(super) struct Stage {
    bar: ProgressBar,
    name: &'static str,
    started: Instant,
    terminal: bool,
}

impl Progress {
    /// For the standard error of this process.
    pub(super) fn new() -> Progress {
        Progress { terminal: std::io::stderr().is_terminal() }
    }

    /// Starts a stage of `steps` steps.
    pub(super) fn stage(self, name: &'static str, steps: usize) -> Stage {
        let target = if self.terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target);
        if let Ok(style) = ProgressStyle::with_template("{prefix:24} {wide_bar} {pos:>5}/{len} {eta:>4}") {
            bar.set_style(style);
        }
        bar.set_prefix(name);
        Stage { bar, name, started: Instant::now(), terminal: self.terminal }
    }
}

impl Stage {
    /// One more step is done.
    pub(super) fn step(&self) {
        self.bar.inc(1);
    }

    /// The time since its start.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Ends the stage with a line about its result. Returns its duration.
    pub(super) fn finish(self, done: &str) -> Duration {
        let took = self.started.elapsed();
        if self.terminal {
            self.bar.finish_and_clear();
        }
        eprintln!("{:24} {done} ({:.1} s)", self.name, took.as_secs_f64());
        took
    }
}
