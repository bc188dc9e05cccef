//! The output that README.md quotes must be what the program prints.
//!
//! A block in the language `text demo` quotes `trefoil demo`; one in `text verify` quotes the command that the demonstration
//! prints last. In a quoted line `...` stands for any text; alone on a line it stands for any lines.

use crate::clients::said;
use crate::markdown;
use crate::repo::Repo;

const PAGE: &str = "README.md";
const ANY: &str = "...";

/// Runs the demonstration and the verification that it names, and compares both with the page.
pub(crate) fn run(repo: &Repo) -> Result<(), String> {
    let page = repo.read(PAGE)?;
    let trefoil = repo.binary("trefoil")?;
    let mut demo = repo.command(&trefoil);
    let demo = said(demo.arg("demo"))?;
    compare(&page, "text demo", &demo)?;
    let arguments = demo.lines().find_map(|line| Some(line.split_once(" verify ")?.1));
    let arguments = arguments.ok_or("the demonstration prints no command that verifies")?;
    let mut verify = repo.command(&trefoil);
    let verified = said(verify.arg("verify").args(arguments.split_whitespace()))?;
    compare(&page, "text verify", &verified)
}

/// Checks that every line of the block was printed, in order, and that other output has a `...` in its place.
fn compare(page: &str, language: &str, printed: &str) -> Result<(), String> {
    let fences = markdown::fences(page);
    let fence = fences.iter().find(|fence| fence.language == language);
    let fence = fence.ok_or_else(|| format!("{PAGE} has no block in the language `{language}`"))?;
    let mut rest = printed.trim_matches('\n').lines();
    let mut any = false;
    for (number, quoted) in &fence.lines {
        if quoted.trim() == ANY {
            any = true;
            continue;
        }
        let found = if any {
            rest.any(|line| fits(quoted, line))
        } else {
            rest.next().is_some_and(|line| fits(quoted, line))
        };
        if !found {
            return Err(format!(
                "{PAGE}:{number}: `{language}` does not print this line here: {quoted}\n{printed}"
            ));
        }
        any = false;
    }
    match rest.next() {
        Some(line) if !any => Err(format!("{PAGE}: `{language}` prints more than the page shows: {line}")),
        _ => Ok(()),
    }
}

/// Whether a printed line has the quoted parts between `...`, in order.
fn fits(quoted: &str, line: &str) -> bool {
    let mut parts = quoted.split(ANY);
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUOTED: &str = "```text demo\n3 people\n\nsame  1\n...\nkept: ... --at ...\ndone\n```\n";

    #[test]
    fn the_quoted_lines_stand_in_order_and_gaps_are_marked() {
        let printed = "\n3 people\n\nsame  1\ntook  2 s\ntook  3 s\nkept: a --at 9\ndone\n";
        assert_eq!(compare(QUOTED, "text demo", printed), Ok(()));
        for (part, other) in [
            ("people", "persons"),
            ("same  1", "same  2"),
            ("--at", "--on"),
            ("done\n", ""),
            ("done", "done\nmore"),
        ] {
            assert!(compare(QUOTED, "text demo", &printed.replace(part, other)).is_err(), "{part}");
        }
        assert!(compare(QUOTED, "text demo", &printed.replace("same", "new\nsame")).is_err());
        assert!(compare(QUOTED, "text verify", printed).is_err());
    }

    #[test]
    fn a_gap_in_a_line_stands_for_any_text_and_nothing_else_does() {
        assert!(fits("a ... b ...", "a 1 b 2") && fits("... b", "a b") && fits("a", "a"));
        assert!(!fits("a ... b", "a 1 c") && !fits("a", "a b") && !fits("a ...", "b 1"));
        assert!(!fits("a ... a", "a a"), "one text is not two parts");
    }
}
