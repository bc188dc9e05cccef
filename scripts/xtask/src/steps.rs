//! A sequence of named steps with headings, times and a summary. A failed step does not stop the others, so that one run
//! shows everything that is wrong.

use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::libtest::Results;
use crate::tools::Found;
use crate::watched;

/// How many of the slowest tests the summary names.
const SLOWEST: usize = 20;

enum Outcome {
    Passed,
    Failed(String),
    /// Why: what is missing on this machine.
    NotRun(String),
}

struct Step {
    name: String,
    took: Duration,
    outcome: Outcome,
}

/// Runs steps and remembers how they ended.
pub(crate) struct Steps {
    begun: Instant,
    /// Whether a step whose program is missing fails.
    demand_all: bool,
    steps: Vec<Step>,
    tests: Results,
    /// How long a test command may be silent.
    patience: Duration,
}

/// A build of everything from an empty target directory is silent too, and takes 15 minutes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(25 * 60);

impl Steps {
    /// Steps that fail if their program is missing.
    pub(crate) fn new() -> Steps {
        Steps {
            begun: Instant::now(),
            demand_all: true,
            steps: Vec::new(),
            tests: Results::default(),
            patience: PATIENCE,
        }
    }

    /// Steps whose test commands may be silent for hours.
    pub(crate) fn patient() -> Steps {
        Steps { patience: Duration::from_secs(24 * 3600), ..Steps::new() }
    }

    /// Steps that are only named at the end if their program is missing, unless `demand_all`.
    pub(crate) fn tolerant(demand_all: bool) -> Steps {
        Steps { demand_all, ..Steps::new() }
    }

    /// Whether a step fails if its program is missing.
    pub(crate) fn demand_all(&self) -> bool {
        self.demand_all
    }

    /// Runs one step; its note, if any, is printed with the result. Returns whether it passed.
    pub(crate) fn step(&mut self, name: &str, body: impl FnOnce() -> Result<String, String>) -> bool {
        self.begin(name);
        let start = Instant::now();
        let result = body();
        let took = start.elapsed();
        let passed = result.is_ok();
        let (said, outcome) = match result {
            Ok(note) if note.is_empty() => ("ok".to_owned(), Outcome::Passed),
            Ok(note) => (format!("ok: {note}"), Outcome::Passed),
            Err(why) => (format!("FAILED: {why}"), Outcome::Failed(why)),
        };
        println!("---- {name} {said} ({:.1} s)", took.as_secs_f64());
        flush();
        self.steps.push(Step { name: name.to_owned(), took, outcome });
        passed
    }

    /// Runs one step that needs programs beside Rust and a C compiler.
    pub(crate) fn step_with<const N: usize>(
        &mut self,
        name: &str,
        needed: [Found; N],
        body: impl FnOnce() -> Result<String, String>,
    ) -> bool {
        let missing: Vec<String> = needed.iter().filter_map(|found| found.as_ref().err()).cloned().collect();
        if missing.is_empty() {
            let found: Vec<String> = needed.into_iter().flatten().collect();
            return self.step(name, || {
                let note = body()?;
                Ok(if note.is_empty() { found.join(", ") } else { note })
            });
        }
        let why = missing.join("; ");
        if self.demand_all {
            return self.step(name, || Err(why));
        }
        self.not_run(name, why);
        false
    }

    /// Names a step that could not run.
    pub(crate) fn not_run(&mut self, name: &str, why: impl Into<String>) {
        self.begin(name);
        let why = why.into();
        println!("---- {name} NOT RUN: {why}");
        flush();
        self.steps.push(Step { name: name.to_owned(), took: Duration::ZERO, outcome: Outcome::NotRun(why) });
    }

    /// Runs one command as a step. Returns whether it passed.
    pub(crate) fn command(&mut self, name: &str, mut command: Command) -> bool {
        self.step(name, || {
            println!("{}", shown(&command));
            flush();
            let status = command.status().map_err(|e| format!("{}: {e}", shown(&command)))?;
            if status.success() { Ok(String::new()) } else { Err(status.to_string()) }
        })
    }

    /// Runs a test command as a step: counts and times its tests, refuses an empty run and ignored tests.
    /// A command that prints nothing for too long is ended.
    pub(crate) fn tests(&mut self, name: &str, command: Command) {
        let (mut results, patience) = (Results::default(), self.patience);
        self.step(name, || {
            println!("{}", shown(&command));
            flush();
            let status = watched::run(command, patience, |line| {
                results.add_line(line);
                println!("{line}");
            })?;
            results.judge(status)
        });
        self.tests.add(results);
    }

    /// The tests so far and their seconds, the slowest first.
    pub(crate) fn slowest(&self, most: usize) -> Vec<(f64, String)> {
        self.tests.slowest(most)
    }

    /// Prints the slowest tests, why steps failed, the table of steps and the counts; the last line counts the steps.
    pub(crate) fn finish(self) -> Result<(), String> {
        let slowest = self.slowest(SLOWEST);
        if !slowest.is_empty() {
            println!("\n==== slowest tests");
            slowest.iter().for_each(|(seconds, test)| println!("{seconds:>8.1} s  {test}"));
        }
        for Step { name, outcome, .. } in &self.steps {
            if let Outcome::Failed(why) = outcome {
                println!("\n==== failed: {name}\n{}", why.trim_end());
            }
        }
        println!("\n==== summary");
        let (mut passed, mut failed, mut not_run) = (0, 0, 0);
        for Step { name, took, outcome } in &self.steps {
            let (mark, why) = match outcome {
                Outcome::Passed => ("ok", ""),
                Outcome::Failed(why) => ("FAILED", why.lines().next().unwrap_or_default()),
                Outcome::NotRun(why) => ("NOT RUN", why.as_str()),
            };
            match outcome {
                Outcome::Passed => passed += 1,
                Outcome::Failed(_) => failed += 1,
                Outcome::NotRun(_) => not_run += 1,
            }
            println!("{mark:<7} {:>7.1} s  {name}  {why}", took.as_secs_f64());
        }
        println!(
            "tests: {}; {:.0} s in all; steps:",
            self.tests.counts(),
            self.begun.elapsed().as_secs_f64()
        );
        println!("{passed} passed, {failed} failed, {not_run} not run");
        flush();
        if failed == 0 { Ok(()) } else { Err(String::new()) }
    }

    fn begin(&self, name: &str) {
        println!("\n==== {name} (after {:.0} s)", self.begun.elapsed().as_secs_f64());
        flush();
    }
}

pub(crate) fn shown(command: &Command) -> String {
    let program =
        std::path::Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
    format!("$ {program} {}", arguments.join(" "))
}

// Keeps our lines in order with those of child processes when standard output is a pipe.
pub(crate) fn flush() {
    // A reader that closed the pipe is no reason to stop checking.
    std::io::stdout().flush().unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_fails_the_run_but_not_the_next_step() {
        let mut steps = Steps::new();
        let mut second_ran = false;
        steps.step("first", || Err("broken".to_owned()));
        steps.step("second", || {
            second_ran = true;
            Ok(String::new())
        });
        assert!(second_ran);
        assert!(steps.finish().is_err());
    }

    #[test]
    fn a_step_without_its_program_does_not_run_and_fails_where_all_are_demanded() {
        let missing = || Err("no such program".to_owned());
        for (demand_all, passes) in [(false, true), (true, false)] {
            let mut steps = Steps::tolerant(demand_all);
            assert!(!steps.step_with("needy", [Ok("1.0".to_owned()), missing()], || unreachable!("not run")));
            assert!(steps.step_with("served", [Ok("1.0".to_owned())], || Ok(String::new())));
            assert_eq!(steps.finish().is_ok(), passes);
        }
    }
}
