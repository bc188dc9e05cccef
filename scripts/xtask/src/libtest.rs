//! Reads the output of test programs: counts, and the time of each test.

use std::process::ExitStatus;

/// The arguments that make a test program print times. On a stable compiler they work only in a program of [`crate::started`].
pub(crate) const WITH_TIMES: [&str; 3] = ["--", "-Zunstable-options", "--report-time"];

/// Results of one test command or of many.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Results {
    passed: u64,
    failed: u64,
    ignored: u64,
    /// Seconds and name of each test whose time was printed.
    times: Vec<(f64, String)>,
    /// The names of the tests that failed.
    failures: Vec<String>,
}

impl Results {
    /// Reads `test result: ok. 3 passed; 0 failed; 0 ignored; ...` and `test a::b ... ok <0.123s>`; other lines say nothing.
    pub(crate) fn add_line(&mut self, line: &str) {
        let Some(rest) = line.trim_start().strip_prefix("test ") else { return };
        match rest.strip_prefix("result: ").and_then(|results| results.split_once(". ")) {
            Some((_, results)) => self.add_counts(results),
            None => {
                self.times.extend(time(rest));
                self.failures.extend(failure(rest));
            }
        }
    }

    fn add_counts(&mut self, results: &str) {
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

    /// Adds the results of another command.
    pub(crate) fn add(&mut self, other: Results) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.times.extend(other.times);
        self.failures.extend(other.failures);
    }

    /// The counts in words.
    pub(crate) fn counts(&self) -> String {
        format!("{} passed, {} failed, {} ignored", self.passed, self.failed, self.ignored)
    }

    /// The slowest tests, the slowest first.
    pub(crate) fn slowest(&self, most: usize) -> Vec<(f64, String)> {
        let mut times = self.times.clone();
        times.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        times.truncate(most);
        times
    }

    /// Whether a command that ended in this way passed.
    pub(crate) fn judge(&self, status: ExitStatus) -> Result<String, String> {
        let counts = self.counts();
        match (status.success(), self.passed, self.ignored) {
            (false, ..) => Err(format!("{status}: {counts}\n{}", self.failures.join("\n"))),
            (true, 0, _) => Err("the command ran no tests".to_owned()),
            (true, _, 0) => Ok(counts),
            (true, ..) => Err(format!("ignored tests are not allowed: {counts}")),
        }
    }
}

/// The name in `a::b ... FAILED`, with a time after it or without.
fn failure(rest: &str) -> Option<String> {
    let (name, outcome) = rest.split_once(" ... ")?;
    outcome.starts_with("FAILED").then(|| name.to_owned())
}

/// The time and name in `a::b ... ok <0.123s>`.
fn time(rest: &str) -> Option<(f64, String)> {
    let (name, outcome) = rest.split_once(" ... ")?;
    let seconds = outcome.rsplit_once('<')?.1.strip_suffix("s>")?;
    Some((seconds.parse().ok()?, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_and_times_are_sorted() {
        let mut results = Results::default();
        for line in [
            "running 5 tests",
            "test a::b ... ok <0.123s>",
            "test a::long ... FAILED <61.500s>",
            "test untimed ... ok",
            "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 1.00s",
            "test result: FAILED. 1 passed; 2 failed; 4 ignored; 0 measured; 0 filtered out",
        ] {
            results.add_line(line);
        }
        assert_eq!(results.counts(), "13 passed, 2 failed, 4 ignored");
        let slowest = [(61.5, "a::long".to_owned()), (0.123, "a::b".to_owned())];
        assert_eq!(results.slowest(5), slowest);
        assert_eq!(results.slowest(1), slowest[..1]);
        assert_eq!(results.failures, ["a::long"]);
    }

    #[test]
    fn an_empty_run_and_ignored_tests_do_not_pass() {
        let judged = |line: &str| {
            let mut results = Results::default();
            results.add_line(line);
            results.judge(ExitStatus::default())
        };
        assert!(judged("test result: ok. 3 passed; 0 failed; 0 ignored").is_ok());
        assert!(judged("test result: ok. 0 passed; 0 failed; 0 ignored").is_err());
        assert!(judged("test result: ok. 3 passed; 0 failed; 1 ignored").is_err());
    }
}
