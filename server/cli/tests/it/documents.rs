//! Completions and manual pages, as the program makes them.

use crate::cli::{code, trefoil};
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// The commands that `--help` lists.
fn commands() -> BTreeSet<String> {
    let help = String::from_utf8(trefoil(&["--help"]).stdout).unwrap();
    let listed = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
    listed
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(name)
        .collect()
}

#[test]
fn each_shell_is_told_of_every_command_and_bash_takes_its_script() {
    let commands = commands();
    assert!(commands.contains("serve") && commands.contains("man"), "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let made = trefoil(&["completions", shell]);
        let script = String::from_utf8(made.stdout.clone()).unwrap();
        assert_eq!(code(&made), 0);
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell}: {command}");
        }
        if shell == "bash" {
            let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
            std::io::Write::write_all(&mut bash.stdin.take().unwrap(), script.as_bytes()).unwrap();
            assert!(bash.wait().unwrap().success());
        }
    }
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().to_str().unwrap();
    assert_eq!(code(&trefoil(&["man", "--directory", directory])), 0);
    for command in commands().iter().filter(|name| *name != "help") {
        let page = std::fs::read_to_string(folder.path().join(format!("trefoil-{command}.1"))).unwrap();
        assert!(page.contains(".TH") && page.contains("DESCRIPTION"), "{command}");
    }
    let missing = trefoil(&["man", "--directory", folder.path().join("none").to_str().unwrap()]);
    let told = String::from_utf8(missing.stderr.clone()).unwrap();
    assert!(code(&missing) == 1 && told.contains("none") && told.contains("name a folder"), "{told}");
}
