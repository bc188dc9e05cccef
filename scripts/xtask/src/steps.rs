//! A sequence of named steps with headings, timing and a summary. A failed step does not stop the others,
//! so that one run shows everything that is wrong.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Test counts as libtest prints them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
}

impl Counts {
    /// Adds a `test result: ok. 3 passed; 0 failed; 0 ignored; ...` line; other lines count nothing.
    pub(crate) fn add_line(&mut self, line: &str) {
        let Some((_, results)) =
            line.trim_start().strip_prefix("test result: ").and_then(|r| r.split_once(". "))
        else {
            return;
        };
        for part in results.split(';') {
            let mut words = part.split_whitespace();
            let (Some(Ok(count)), Some(kind)) = (words.next().map(str::parse::<u64>), words.next()) else {
                continue;
            };
            match kind {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.ignored += count,
                _ => {}
            }
        }
    }
}

struct Outcome {
    name: String,
    took: Duration,
    failure: Option<String>,
}

/// Runs steps and remembers how they ended.
#[derive(Default)]
pub(crate) struct Steps {
    outcomes: Vec<Outcome>,
    tests: Counts,
}

impl Steps {
    /// Runs one step; its note, if any, is printed with the result. Returns whether it passed.
    pub(crate) fn step(&mut self, name: &str, body: impl FnOnce() -> Result<String, String>) -> bool {
        println!("\n==== {name}");
        flush();
        let start = Instant::now();
        let result = body();
        let took = start.elapsed();
        match &result {
            Ok(note) if note.is_empty() => println!("---- ok: {name} ({:.1} s)", took.as_secs_f64()),
            Ok(note) => println!("---- ok: {name}: {note} ({:.1} s)", took.as_secs_f64()),
            Err(why) => println!("---- FAILED: {name}: {why} ({:.1} s)", took.as_secs_f64()),
        }
        flush();
        let passed = result.is_ok();
        self.outcomes.push(Outcome { name: name.to_owned(), took, failure: result.err() });
        passed
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

    /// Runs a test command as a step: counts its tests, refuses an empty run and ignored tests.
    pub(crate) fn tests(&mut self, name: &str, mut command: Command) {
        let mut counts = Counts::default();
        self.step(name, || {
            println!("{}", shown(&command));
            flush();
            let mut child =
                command.stdout(Stdio::piped()).spawn().map_err(|e| format!("{}: {e}", shown(&command)))?;
            let stdout = child.stdout.take().ok_or("no standard output")?;
            for line in BufReader::new(stdout).split(b'\n') {
                let line = line.map_err(|e| format!("reading test output: {e}"))?;
                let line = String::from_utf8_lossy(&line);
                counts.add_line(&line);
                println!("{line}");
            }
            let status = child.wait().map_err(|e| format!("{}: {e}", shown(&command)))?;
            let Counts { passed, failed, ignored } = counts;
            let note = format!("{passed} passed, {failed} failed, {ignored} ignored");
            match (status.success(), passed, ignored) {
                (false, ..) => Err(format!("{status}: {note}")),
                (true, 0, _) => Err("the command ran no tests".to_owned()),
                (true, _, 0) => Ok(note),
                (true, ..) => Err(format!("ignored tests are not allowed: {note}")),
            }
        });
        self.tests.passed += counts.passed;
        self.tests.failed += counts.failed;
        self.tests.ignored += counts.ignored;
    }

    /// Prints the table and the two count lines; the last line counts the steps.
    pub(crate) fn finish(self) -> Result<(), String> {
        println!("\n==== summary");
        for outcome in &self.outcomes {
            let mark = if outcome.failure.is_some() { "FAILED" } else { "ok" };
            let why = outcome.failure.as_deref().and_then(|f| f.lines().next()).unwrap_or_default();
            println!("{mark:<7} {:>7.1} s  {}  {why}", outcome.took.as_secs_f64(), outcome.name);
        }
        let failed = self.outcomes.iter().filter(|outcome| outcome.failure.is_some()).count();
        let total: f64 = self.outcomes.iter().map(|outcome| outcome.took.as_secs_f64()).sum();
        let Counts { passed, failed: tests_failed, ignored } = self.tests;
        println!(
            "tests: {passed} passed, {tests_failed} failed, {ignored} ignored; {total:.0} s in all; steps:"
        );
        println!("{} passed, {failed} failed", self.outcomes.len() - failed);
        flush();
        if failed == 0 { Ok(()) } else { Err(String::new()) }
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
    fn libtest_summaries_add_up() {
        let mut counts = Counts::default();
        counts.add_line("test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out");
        counts.add_line("test result: FAILED. 1 passed; 2 failed; 4 ignored; 0 measured; 0 filtered out");
        counts.add_line("running 5 tests");
        counts.add_line("test a::b ... ok");
        assert_eq!(counts, Counts { passed: 13, failed: 2, ignored: 4 });
    }

    #[test]
    fn a_failed_step_fails_the_run_but_not_the_next_step() {
        let mut steps = Steps::default();
        let mut second_ran = false;
        steps.step("first", || Err("broken".to_owned()));
        steps.step("second", || {
            second_ran = true;
            Ok(String::new())
        });
        assert!(second_ran);
        assert!(steps.finish().is_err());
    }
}
