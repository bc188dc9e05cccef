//! The commands that the pages show must exist: every subcommand and flag in an `sh` block is looked up in the
//! help text of the program.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::markdown;
use crate::repo::Repo;

/// A command line as the page shows it.
#[derive(Debug, PartialEq, Eq)]
enum Command<'a> {
    /// A binary of the workspace, its subcommands, its flags.
    Binary { name: &'static str, subcommands: Vec<&'a str>, flags: Vec<&'a str> },
    /// A task of this program.
    Task(Vec<&'a str>),
}

/// The commands that README.md always has: see it work, check it.
const FIRST: [&str; 2] = ["cargo run --release -- demo", "cargo xtask test"];

/// Checks every page against the binaries.
pub(crate) fn run(repo: &Repo) -> Result<(), String> {
    let mut helps: BTreeMap<(&str, Vec<String>), String> = BTreeMap::new();
    let mut problems = Vec::new();
    for path in repo.files()?.iter().filter(|path| path.ends_with(".md")) {
        let page = repo.read(path)?;
        let lines = shell_lines(&page);
        if path == "README.md" {
            let missing = FIRST.iter().filter(|first| !lines.iter().any(|(_, line)| line == *first));
            problems.extend(missing.map(|first| format!("README.md does not show `{first}`")));
        }
        for (number, line) in lines {
            match shown(line) {
                None => {}
                Some(Command::Task(words)) => {
                    let task = words.first().copied().unwrap_or_default();
                    if !crate::usage::USAGE.lines().any(|usage| usage.split_whitespace().next() == Some(task))
                    {
                        problems.push(format!("{path}:{number}: no task {task:?}"));
                    }
                }
                Some(Command::Binary { name, subcommands, flags }) => {
                    let key = (name, subcommands.iter().map(|word| (*word).to_owned()).collect());
                    let text = match helps.entry(key) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(place) => place.insert(help(repo, name, &subcommands)?),
                    };
                    let gone = flags.iter().filter(|flag| !has_flag(text, flag));
                    let command = subcommands.join(" ");
                    problems
                        .extend(gone.map(|flag| format!("{path}:{number}: {name} {command} has no {flag}")));
                }
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn help(repo: &Repo, name: &str, subcommands: &[&str]) -> Result<String, String> {
    let mut command = repo.command(repo.binary(name)?);
    command.args(subcommands).arg("--help");
    let output = command.output().map_err(|e| format!("{name}: {e}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{name} {} --help failed: does the subcommand exist?", subcommands.join(" ")))
    }
}

fn has_flag(help: &str, flag: &str) -> bool {
    help.split(|c: char| !(c.is_alphanumeric() || c == '-')).any(|word| word == flag)
}

/// Lines of the `sh` blocks, continued lines joined, comments dropped.
fn shell_lines(page: &str) -> Vec<(usize, &str)> {
    let fences = markdown::fences(page).into_iter().filter(|fence| fence.language == "sh");
    fences.flat_map(|fence| fence.lines).filter(|(_, line)| !line.trim_start().starts_with('#')).collect()
}

fn shown(line: &str) -> Option<Command<'_>> {
    let line = line.split(" #").next().unwrap_or(line);
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, rest) = match words.as_slice() {
        ["cargo", "xtask", rest @ ..] => return Some(Command::Task(rest.to_vec())),
        ["cargo", "run", rest @ ..] => {
            let own = rest.iter().position(|word| *word == "--").map_or(&[][..], |at| &rest[at + 1..]);
            let bench = rest.contains(&"trefoil-bench");
            (if bench { "trefoil-bench" } else { "trefoil" }, own)
        }
        ["trefoil", rest @ ..] | ["target/release/trefoil", rest @ ..] => ("trefoil", rest),
        ["trefoil-bench", rest @ ..] | ["target/release/trefoil-bench", rest @ ..] => ("trefoil-bench", rest),
        _ => return None,
    };
    // Subcommands come first and are plain words; a file name or a value is not one.
    let plain =
        |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
    let subcommands = rest.iter().take_while(plain).copied().collect();
    let flags =
        rest.iter().filter(|word| word.starts_with('-')).map(|word| word.split('=').next().unwrap_or(word));
    Some(Command::Binary { name, subcommands, flags: flags.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_apart() {
        assert_eq!(shown("cargo xtask test"), Some(Command::Task(vec!["test"])));
        assert_eq!(
            shown("cargo run --release -- demo --people=40  # small"),
            Some(Command::Binary { name: "trefoil", subcommands: vec!["demo"], flags: vec!["--people"] })
        );
        assert_eq!(
            shown("cargo run --release -p trefoil-bench -- run --seconds 1"),
            Some(Command::Binary {
                name: "trefoil-bench",
                subcommands: vec!["run"],
                flags: vec!["--seconds"]
            })
        );
        assert_eq!(
            shown("target/release/trefoil verify a.cbor --trust-root t.json"),
            Some(Command::Binary {
                name: "trefoil",
                subcommands: vec!["verify"],
                flags: vec!["--trust-root"]
            })
        );
        assert_eq!(shown("curl https://localhost:8443/v1/keys"), None);
    }

    #[test]
    fn only_shell_blocks_count_and_flags_match_whole_words() {
        let page = "```sh\n# cargo xtask no\ncargo xtask test\n```\n```text\ncargo xtask gone\n```\n";
        assert_eq!(shell_lines(page), [(3, "cargo xtask test")]);
        assert!(has_flag("  --trust-root <FILE>  [x]", "--trust-root"));
        assert!(!has_flag("  --trust-root-dir <DIR>", "--trust-root"));
    }
}
