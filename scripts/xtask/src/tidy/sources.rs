//! Rules over the text of single files.

use super::Finding;

/// A file longer than this gets a warning; one longer than `LINES_MAX` must be split.
const LINES_LONG: usize = 400;
const LINES_MAX: usize = 800;

/// README.md is short: what Trefoil is, the command, its output, how to verify it, its speed and its limits.
const README_LINES_MAX: usize = 130;
const README_BYTES_MAX: usize = 8 * 1024;

const TEXT: [&str; 16] = [
    "rs", "toml", "md", "sh", "json", "yml", "yaml", "txt", "html", "css", "js", "ts", "py", "lock", "typ",
    "bib",
];

/// Whether the rules read this file: by its ending, plus the scripts and licences that have none.
pub(super) fn is_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => TEXT.contains(&ending),
        _ => name == "run" || name.starts_with("LICENSE") || name.starts_with('.'),
    }
}

/// All single-file rules.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = control_characters(path, text);
    findings.extend(machine_paths(path, text));
    if path.ends_with(".md") {
        findings.extend(comment_blocks(path, text));
    }
    if path == "README.md" {
        findings.extend(front_door(path, text));
    }
    if path.ends_with(".rs") {
        findings.extend(unfinished(path, text));
        findings.extend(clocks(path, text));
        findings.extend(length(path, text));
    }
    findings
}

/// Terminal escapes and bidirectional overrides can make a file read differently from what it says.
fn control_characters(path: &str, text: &str) -> Vec<Finding> {
    let hidden = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
    };
    lines(text)
        .filter_map(|(number, line)| line.chars().find(|&c| hidden(c)).map(|c| (number, c)))
        .map(|(number, c)| Finding::error(path, number, format!("hidden character U+{:04X}", u32::from(c))))
        .collect()
}

/// A line of Markdown that begins with a comment is a block of HTML: the rest of the line, if any, is not shown as part of its paragraph.
fn comment_blocks(path: &str, text: &str) -> Vec<Finding> {
    lines(text)
        .filter(|(_, line)| {
            line.trim_start().starts_with("<!--") && line.find("-->") != line.len().checked_sub(3)
        })
        .map(|(number, _)| {
            Finding::error(path, number, "begins with a comment: wrap the paragraph elsewhere")
        })
        .collect()
}

fn front_door(path: &str, text: &str) -> Vec<Finding> {
    let (count, bytes) = (text.lines().count(), text.len());
    let over = count > README_LINES_MAX || bytes > README_BYTES_MAX;
    let message = format!(
        "{count} lines and {bytes} bytes, the limits are {README_LINES_MAX} and {README_BYTES_MAX}: move text to a page of its own"
    );
    over.then(|| Finding::error(path, 0, message)).into_iter().collect()
}

/// Nothing may depend on one machine's folders or on a folder outside the repository.
fn machine_paths(path: &str, text: &str) -> Vec<Finding> {
    // Written in halves so that this file obeys its own rule.
    let absolute =
        [["/ho", "me/"], ["/ro", "ot/"], ["/wo", "rk/"], ["/Us", "ers/"]].map(|halves| halves.concat());
    let outside = ["..", "/shared"].concat();
    let mut findings = Vec::new();
    for (number, line) in lines(text) {
        let found = absolute.iter().find(|needle| starts_a_path(line, needle));
        if let Some(needle) = found.or_else(|| line.contains(&outside).then_some(&outside)) {
            findings.push(Finding::error(path, number, format!("path of one machine: {needle}")));
        }
    }
    findings
}

/// Whether `needle` occurs where a path can start, not in the middle of one (as in a URL).
fn starts_a_path(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '}' | ')' | '~' | '*'))
    })
}

/// Clippy refuses the macros, and a run of tests those that are ignored.
fn unfinished(path: &str, text: &str) -> Vec<Finding> {
    // In halves, like the paths above.
    let marks = [["TO", "DO"], ["FIX", "ME"]].map(|halves| halves.concat());
    words(text)
        .filter(|(_, word)| marks.iter().any(|mark| mark == word))
        .map(|(number, word)| {
            Finding::error(path, number, format!("{word}: finish it or describe the limit"))
        })
        .collect()
}

/// Libraries take the time as an argument, so that tests can choose it. The pipeline may not read clocks for measurements either.
fn clocks(path: &str, text: &str) -> Vec<Finding> {
    let banned: &[&str] = if path.starts_with("pipeline/src/") {
        &["SystemTime", "Instant", "UNIX_EPOCH"]
    } else if path.contains("/src/") && (path.starts_with("crypto/") || path.starts_with("cache/")) {
        &["SystemTime", "UNIX_EPOCH"]
    } else {
        &[]
    };
    lines(text)
        .flat_map(|(number, line)| {
            words(line.split("//").next().unwrap_or_default()).map(move |(_, word)| (number, word))
        })
        .filter(|(_, word)| banned.contains(word))
        .map(|(number, word)| Finding::error(path, number, format!("{word}: take the time as an argument")))
        .collect()
}

fn length(path: &str, text: &str) -> Vec<Finding> {
    match text.lines().count() {
        count if count > LINES_MAX => {
            vec![Finding::error(path, 0, format!("{count} lines, the limit is {LINES_MAX}: split it"))]
        }
        count if count > LINES_LONG => {
            vec![Finding::warning(path, 0, format!("{count} lines, more than {LINES_LONG}"))]
        }
        _ => Vec::new(),
    }
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split('\n').enumerate().map(|(index, line)| (index + 1, line))
}

fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    lines(text).flat_map(|(number, line)| {
        line.split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|w| !w.is_empty())
            .map(move |w| (number, w))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(path, text).into_iter().map(|finding| finding.to_string()).collect()
    }

    fn only_message(path: &str, text: &str) -> String {
        let mut all = messages(path, text);
        assert_eq!(all.len(), 1, "{path}: {all:?}");
        all.remove(0)
    }

    #[test]
    fn unfinished_work_is_found() {
        assert!(only_message("a.rs", &["/// FIX", "ME later\nfn f() {}"].concat()).contains("finish it"));
    }

    /// Claim I3: Libraries read no wall clock; `pipeline` reads none.
    #[test]
    fn clocks_are_found_where_time_is_an_argument() {
        assert!(only_message("pipeline/src/pool.rs", "let t = Instant::now();").contains("Instant"));
        assert!(only_message("crypto/zkp/src/a.rs", "SystemTime::now()").contains("SystemTime"));
        assert!(messages("pipeline/tests/a.rs", "let t = Instant::now();").is_empty());
        assert!(messages("pipeline/src/a.rs", "use std::time::Duration; // no Instant").is_empty());
        assert!(messages("server/src/a.rs", "SystemTime::now()").is_empty());
    }

    #[test]
    fn paths_of_one_machine_are_found_in_any_text() {
        for halves in
            [["see /ho", "me/me/x"], ["\"/wo", "rk/data\""], ["..", "/shared/data"], ["a /ro", "ot/.cargo"]]
        {
            assert!(only_message("README.md", &halves.concat()).contains("one machine"));
        }
        assert!(messages("README.md", "https://example.org/work/x ~/home/ src/root/mod.rs").is_empty());
    }

    #[test]
    fn hidden_characters_are_found() {
        assert!(only_message("a.md", "a\u{1b}[31m").contains("U+001B"));
        assert!(only_message("a.rs", "// a\u{202E}b").contains("U+202E"));
        assert!(messages("a.md", "a\tü→\n").is_empty());
    }

    #[test]
    fn lines_that_begin_with_a_comment_are_found_in_pages() {
        assert!(
            only_message("a/b.md", "of\n<!-- number:x -->7<!-- /number --> people\n").contains("a/b.md:2")
        );
        assert!(messages("a/b.md", "of <!-- number:x -->7<!-- /number --> people\n").is_empty());
        assert!(messages("a/b.html", "<!-- a page -->\n").is_empty());
    }

    #[test]
    fn a_readme_that_is_no_front_door_any_more_is_found() {
        assert!(messages("README.md", &"x\n".repeat(README_LINES_MAX)).is_empty());
        assert!(only_message("README.md", &"x\n".repeat(README_LINES_MAX + 1)).contains("131 lines"));
        assert!(only_message("README.md", &"x".repeat(README_BYTES_MAX + 1)).contains("8193 bytes"));
        assert!(messages("a/README.md", &"x\n".repeat(README_LINES_MAX + 1)).is_empty());
    }

    #[test]
    fn long_files_warn_and_longer_ones_fail() {
        assert!(messages("a.rs", &"x\n".repeat(LINES_LONG)).is_empty());
        assert!(only_message("a.rs", &"x\n".repeat(LINES_LONG + 1)).starts_with("warning"));
        assert!(only_message("a.rs", &"x\n".repeat(LINES_MAX + 1)).starts_with("error"));
    }

    #[test]
    fn binary_files_are_not_text() {
        for (path, text) in [("a.rs", true), (".ci/run", true), (".gitignore", true), ("LICENSE-MIT", true)] {
            assert_eq!(is_text(path), text, "{path}");
        }
        assert!(!is_text("bench/data/x.npy") && !is_text("a/b"));
    }
}
