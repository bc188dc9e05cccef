//! The few parts of Markdown that the checks read: fenced blocks, code spans, table rows, links, blocks that are written.

/// How a number that comes from a record is marked on a page.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    /// Before the source.
    pub(crate) open: &'static str,
    /// Between the source and the value.
    pub(crate) open_end: &'static str,
    /// After the value.
    pub(crate) close: &'static str,
}

/// A mark that names the record.
pub(crate) const FULL: Mark = Mark { open: "<!-- number:", open_end: " -->", close: "<!-- /number -->" };
/// A short one, whose name stands in a list of records.
pub(crate) const SHORT: Mark = Mark { open: "<!--n:", open_end: "-->", close: "<!--/n-->" };

/// What ends a block that is written between marks.
const END: &str = "<!-- END generated -->";

/// A fenced block: its language, the line of its first content line, its lines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fence<'a> {
    pub(crate) language: &'a str,
    pub(crate) lines: Vec<(usize, &'a str)>,
}

/// All fenced blocks.
pub(crate) fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut fences = Vec::new();
    let mut open: Option<Fence<'_>> = None;
    for (number, line) in numbered(text) {
        match (line.trim_start().strip_prefix("```"), open.as_mut()) {
            (Some(_), Some(_)) => fences.extend(open.take()),
            (Some(language), None) => open = Some(Fence { language: language.trim(), lines: Vec::new() }),
            (None, Some(fence)) => fence.lines.push((number, line)),
            (None, None) => {}
        }
    }
    fences.extend(open);
    fences
}

/// Lines that are not inside a fenced block.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    numbered(text).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !fence && !inside
    })
}

/// Code spans (single backticks) outside fenced blocks.
pub(crate) fn spans(text: &str) -> Vec<(usize, &str)> {
    prose(text)
        .flat_map(|(number, line)| line.split('`').skip(1).step_by(2).map(move |span| (number, span)))
        .collect()
}

/// Link targets, `[text](target)`, outside fenced blocks.
pub(crate) fn links(text: &str) -> Vec<(usize, &str)> {
    let target = |(number, line)| -> Vec<(usize, &str)> {
        let line: &str = line;
        line.split("](").skip(1).filter_map(|rest| Some((number, rest.split_once(')')?.0))).collect()
    };
    prose(text).flat_map(target).collect()
}

/// Body rows of tables: the lines between bars that are neither heading nor rule.
pub(crate) fn table_rows(text: &str) -> Vec<(usize, &str)> {
    let rule = |line: &str| line.starts_with('|') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '));
    let lines: Vec<(usize, &str)> = prose(text).collect();
    let mut rows = Vec::new();
    let mut in_body = false;
    for &(number, line) in &lines {
        in_body = line.starts_with('|') && (in_body || rule(line));
        if in_body && !rule(line) {
            rows.push((number, line));
        }
    }
    rows
}

/// Puts a block between the marks of its name.
pub(crate) fn put(page: &mut String, name: &str, block: &str) -> Result<(), String> {
    let begin = format!("<!-- BEGIN generated: {name} -->\n");
    let at = page.find(&begin).ok_or_else(|| format!("no line {begin}"))? + begin.len();
    let end = at + page[at..].find(END).ok_or_else(|| format!("no end of {begin}"))?;
    page.replace_range(at..end, block);
    Ok(())
}

/// A page without the blocks, of which empty lines stay.
pub(crate) fn by_hand(page: &str) -> String {
    let mut parts = page.split("<!-- BEGIN generated");
    let first = parts.next().unwrap_or_default().to_owned();
    let emptied = |part: &str| {
        let (block, after) = part.split_once(END)?;
        Some("\n".repeat(block.matches('\n').count()) + after)
    };
    first + &parts.filter_map(emptied).collect::<String>()
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
see `a` and [b](c.md), `d`

```sh
cargo `x` [no](link)
```
| claim | evidence |
|---|:--|
| one | `e` |
after
";

    #[test]
    fn the_parts_are_found_and_fences_are_not_prose() {
        assert_eq!(spans(PAGE), [(1, "a"), (1, "d"), (8, "e")]);
        assert_eq!(links(PAGE), [(1, "c.md")]);
        assert_eq!(table_rows(PAGE), [(8, "| one | `e` |")]);
        assert_eq!(fences(PAGE), [Fence { language: "sh", lines: vec![(4, "cargo `x` [no](link)")] }]);
    }
}
