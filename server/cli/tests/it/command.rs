//! A command of the program, and what it says.

use std::process::{Command, Output};

pub(crate) fn trefoil(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trefoil"))
        .args(arguments)
        .env_remove("TREFOIL_LOG_FILTER")
        .output()
        .unwrap()
}

/// The words of a line of arguments.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// What a command has printed, and how it ended.
pub(crate) trait Ran {
    fn out(&self) -> String;
    fn err(&self) -> String;
    /// Both.
    fn text(&self) -> String {
        self.out() + &self.err()
    }
    /// Asserts its code, and that it printed this. Returns all that it printed.
    fn ends(&self, code: i32, said: &str) -> String;
    /// Asserts that it succeeded. Returns its standard output.
    fn done(&self) -> String;
}

impl Ran for Output {
    fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    #[track_caller]
    fn ends(&self, code: i32, said: &str) -> String {
        let text = self.text();
        assert!(self.status.code() == Some(code) && text.contains(said), "{}: {text}", self.status);
        text
    }

    #[track_caller]
    fn done(&self) -> String {
        assert!(self.status.success(), "{}", self.text());
        self.out()
    }
}
