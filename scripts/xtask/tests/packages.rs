//! `cargo xtask packages` with invented tools: both packages from one command, and what it says of the one that it cannot make.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const NODE: &str = "echo v22.1.0";
/// The package of `npm pack --silent --pack-destination FOLDER`.
const NPM: &str = "case $1 in pack) touch $4/client.tgz;; *) echo 10.9.0;; esac";
/// An environment, and in it the wheel of `python -m pip --quiet --disable-pip-version-check wheel --no-deps --wheel-dir FOLDER ...`.
const PYTHON: &str = "case $2 in venv) mkdir -p $4/bin && cp \"$0\" $4/bin/python;; pip) touch $8/client.whl;; *) echo Python 3.12.1;; esac";
/// A program that is not installed.
const MISSING: &str = "exit 127";

/// A folder with programs that hide those of this machine, and with a target directory.
struct Machine(PathBuf);

impl Machine {
    fn new(programs: [(&str, &str); 3]) -> Machine {
        let machine = Machine(std::env::temp_dir().join(format!("trefoil-packages-{}", std::process::id())));
        for (name, text) in programs {
            let path = machine.0.join(name);
            fs::create_dir_all(&machine.0).expect("made");
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
        }
        machine
    }

    fn packages(&self) -> (Output, String, Vec<String>) {
        let path = format!("{}:{}", self.0.display(), std::env::var("PATH").expect("a path"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_trefoil-xtask"));
        command.arg("packages").env("PATH", path).env("CARGO_TARGET_DIR", self.0.join("target"));
        let output = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output, said, names(&self.0.join("target/packages")))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // What is left is in the folder for such things.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("made").map(|entry| entry.expect("read").file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn one_command_makes_both_packages_and_names_the_tools_of_one_that_it_cannot_make() {
    let with = |python, npm| Machine::new([("node", NODE), ("npm", npm), ("python3", python)]).packages();
    let (output, said, made) = with(PYTHON, NPM);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(made, ["client.tgz", "client.whl"]);
    assert!(made.iter().all(|name| said.contains(&format!("target/packages/{name}"))), "{said}");

    let (output, said, made) = with(MISSING, NPM);
    assert_eq!((output.status.code(), made), (Some(1), vec!["client.tgz".to_owned()]));
    let line = said.lines().rfind(|line| line.contains("wheel for Python")).expect("a summary");
    assert!(line.contains("FAILED") && line.contains("no python3: install Python with venv"), "{line}");

    let (output, said, made) = with(PYTHON, MISSING);
    assert_eq!((output.status.code(), made), (Some(1), vec!["client.whl".to_owned()]));
    let line = said.lines().rfind(|line| line.contains("package for npm")).expect("a summary");
    assert!(line.contains("FAILED") && line.contains("no npm: install npm, which comes with Node"), "{line}");
}
