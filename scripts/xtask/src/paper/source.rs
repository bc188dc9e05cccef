//! The few parts of Typst that the checks read: calls of `n` and `claim`, and numbers that are written out. The last also of
//! Markdown.

use crate::markdown::{self, FULL, SHORT};

/// The calls and numbers of a chapter, with their lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Source {
    /// Arguments of `n`: values of records, in the form that pages use.
    pub(crate) numbers: Vec<(usize, String)>,
    /// Arguments of `claim`: rows of CLAIMS.md.
    pub(crate) claims: Vec<(usize, String)>,
    /// Numbers that are typed by hand, without a sign and without what follows them.
    pub(crate) bare: Vec<(usize, String)>,
}

/// A number after one of these words is part of a name.
const NAMED_BY_NUMBER: [&str; 3] = ["RFC", "FIPS", "ePrint"];

/// Lengths of the layout, not figures of the paper.
const LAYOUT_UNITS: [&str; 7] = ["pt", "em", "fr", "mm", "cm", "deg", "%"];

/// Reads one file. Comments, raw text and the arguments of the two calls hold no numbers of the paper.
pub(crate) fn read(text: &str) -> Source {
    let mut source = Source::default();
    let mut prose = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let called = !prose.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        let skipped = if rest.starts_with("//") && !prose.ends_with(':') {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            through(rest, 2, "*/")
        } else if first == '`' {
            let fence = rest.len() - rest.trim_start_matches('`').len();
            through(rest, fence, &"`".repeat(fence))
        } else if called && (rest.starts_with("n(\"") || rest.starts_with("claim(\"")) {
            let end = rest.find(')').map_or(rest.len(), |at| at + 1);
            let line = text[..text.len() - rest.len()].matches('\n').count() + 1;
            let into = if first == 'n' { &mut source.numbers } else { &mut source.claims };
            into.extend(rest[..end].split('"').skip(1).step_by(2).map(|name| (line, name.to_owned())));
            end
        } else {
            prose.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        // Text that is left out becomes a blank and its line ends, so that words stay apart and line numbers stay right.
        prose.push(' ');
        prose.extend(rest[..skipped].matches('\n'));
        rest = &rest[skipped..];
    }
    source.bare = prose.lines().enumerate().flat_map(|(index, line)| bare(index + 1, line)).collect();
    source
}

/// Numbers that a page of Markdown types by hand: outside of fences, code spans, marks of records and addresses.
pub(crate) fn bare_in_markdown(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in markdown::prose(page) {
        let mut prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
        let marks = [FULL, SHORT].map(|mark| (mark.open, mark.close));
        for (open, close) in marks.into_iter().chain([("](", ")")]) {
            while let Some(from) = prose.find(open) {
                let to = from + through(&prose[from..], open.len(), close);
                prose.replace_range(from..to, " ");
            }
        }
        found.extend(bare(number, &prose));
    }
    found
}

/// The length of a text that begins with `skip` bytes and ends with `end`.
fn through(text: &str, skip: usize, end: &str) -> usize {
    text[skip..].find(end).map_or(text.len(), |at| skip + at + end.len())
}

fn bare(number: usize, line: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut before = "";
    for word in line.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | ',' | '_' | '-' | '/' | '%')))
    {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '%');
        if word.is_empty() {
            continue;
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) && !NAMED_BY_NUMBER.contains(&before) {
            let end =
                word.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ','))).unwrap_or(word.len());
            let (digits, unit) = word.split_at(end);
            let digits = digits.trim_end_matches(['.', ',']);
            if digits.len() > 1 && !LAYOUT_UNITS.contains(&unit) || digits.len() == 1 && unit == "x" {
                found.push((number, digits.to_owned()));
            }
        }
        before = word;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare_of(text: &str) -> Vec<String> {
        read(text).bare.into_iter().map(|(_, number)| number).collect()
    }

    #[test]
    fn calls_are_found_with_their_lines() {
        let source = read("a #n(\"r.json:/a:1\") b\n#claim(\"M1\", \"S2\") column(\"x\") #fn-n(\"y\")");
        assert_eq!(source.numbers, [(1, "r.json:/a:1".to_owned())]);
        assert_eq!(source.claims, [(2, "M1".to_owned()), (2, "S2".to_owned())]);
        assert!(source.bare.is_empty());
    }

    #[test]
    fn numbers_that_are_typed_by_hand_are_found() {
        assert_eq!(bare_of("it does 210,115 a second, 16.4x faster, 943 µs."), ["210,115", "16.4", "943"]);
        assert_eq!(bare_of("#fig(label: \"96 workers\")\n$2^(-39.4)$, 2x"), ["96", "39.4", "2"]);
        assert_eq!(bare_of("128-bit 12ms 2025/2055"), ["128", "12", "2025"]);
        assert_eq!(bare_of("#link(\"https://a.b\") 79"), ["79"]);
    }

    #[test]
    fn names_layout_comments_and_raw_text_are_no_numbers() {
        let text = "SHA-256, ML-DSA-65, X25519, cred/2, RFC 9162, FIPS 204, ePrint 2025/2055, three of 3, #v(12pt) 80% 1fr // 77\n\
                    `a 99` ```x 98``` /* 97\n96 */ https://a.b/c";
        assert_eq!(bare_of(text), Vec::<String>::new());
    }

    #[test]
    fn numbers_of_a_page_are_found_outside_of_marks_code_and_addresses() {
        let page = "does 77 of <!-- number:r.json:/n -->1,234<!-- /number -->, <!--n:people-->352<!--/n-->, `98` in [99](a-96.md)\n```\n95\n```\n| 12 | 3 |\n";
        assert_eq!(
            bare_in_markdown(page),
            [(1, "77".to_owned()), (1, "99".to_owned()), (5, "12".to_owned())]
        );
    }

    #[test]
    fn what_is_left_out_keeps_its_lines() {
        assert_eq!(read("/* a\nb */ `c\n` 55").bare, [(3, "55".to_owned())]);
    }
}
