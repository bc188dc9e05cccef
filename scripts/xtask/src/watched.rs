//! A command whose output is read line by line, and which is ended when it prints nothing for too long. So a test that hangs fails with
//! its name and does not use up the machine's time.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::steps::shown;

/// Runs `command` and gives each line of its standard output to `each`.
///
/// # Errors
/// If it cannot be run, or prints nothing for as long as `patience`. Then every process that it started is killed, and the error names
/// the tests that test programs had reported as slow.
pub(crate) fn run(
    mut command: Command,
    patience: Duration,
    mut each: impl FnMut(&str),
) -> Result<ExitStatus, String> {
    let name = shown(&command);
    // A process group of its own, so that test programs end with cargo.
    let mut child =
        command.stdout(Stdio::piped()).process_group(0).spawn().map_err(|why| format!("{name}: {why}"))?;
    let stdout = child.stdout.take().ok_or("no standard output")?;
    let (said, heard) = mpsc::channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(stdout).split(b'\n').map_while(Result::ok);
        // The other end is gone when the command is ended.
        lines.map(|line| String::from_utf8_lossy(&line).into_owned()).try_for_each(|line| said.send(line))
    });
    let mut running = Running::default();
    loop {
        match heard.recv_timeout(patience) {
            Ok(line) => {
                running.add_line(&line);
                each(&line);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let group = format!("-{}", child.id());
                let killed = Command::new("kill").args(["-KILL", "--", &group]).status();
                let ended = killed.and_then(|_| child.wait()).map_err(|why| format!("{name}: {why}"))?;
                let minutes = patience.as_secs_f64() / 60.0;
                return Err(format!("silent for {minutes:.0} minutes ({ended}); still running: {running}"));
            }
        }
    }
    child.wait().map_err(|why| format!("{name}: {why}"))
}

/// Tests that were reported as slow and have not ended.
#[derive(Default)]
struct Running(BTreeSet<String>);

impl Running {
    /// Reads `test a::b has been running for over 60 seconds` and `test a::b ... ok`.
    fn add_line(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("test ") else { return };
        if let Some((test, _)) = rest.split_once(" has been running for over") {
            self.0.insert(test.to_owned());
        } else if let Some((test, _)) = rest.split_once(" ... ") {
            self.0.remove(test);
        }
    }
}

impl std::fmt::Display for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.is_empty() {
            true => f.write_str("no test that took a minute"),
            false => f.write_str(&self.0.iter().map(String::as_str).collect::<Vec<_>>().join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, patience: Duration) -> (Vec<String>, Result<ExitStatus, String>) {
        let (mut lines, mut command) = (Vec::new(), Command::new("sh"));
        command.args(["-c", script]);
        let ended = run(command, patience, |line| lines.push(line.to_owned()));
        (lines, ended)
    }

    #[test]
    fn lines_and_status_are_those_of_the_command() {
        let (lines, ended) = shell("echo one; echo two; exit 3", Duration::from_secs(60));
        assert_eq!(lines, ["one", "two"]);
        assert_eq!(ended.expect("it ended").code(), Some(3));
    }

    #[test]
    fn what_hangs_is_ended_with_all_that_it_started_and_named() {
        let slow = "has been running for over 60 seconds";
        let script = format!(
            "echo 'test quick {slow}'; echo 'test quick ... ok <61.000s>'; echo 'test a::b {slow}'; sleep 600 & wait"
        );
        // The pipe ends with the last process that holds it, so reading it to its end shows that `sleep` is gone too.
        let (lines, ended) = shell(&script, Duration::from_millis(500));
        assert_eq!(lines.len(), 3);
        let why = ended.expect_err("it hung");
        assert!(why.contains("still running: a::b") && !why.contains("quick"), "{why}");
    }
}
