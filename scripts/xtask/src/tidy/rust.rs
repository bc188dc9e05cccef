//! Splits Rust source into code, comments and literals, so that a rule can look at one of them.
//!
//! A lexer for this purpose only: it knows strings (plain, raw, byte, C), character literals against
//! lifetimes, and nested block comments. It does not check that the source is valid.

/// The three views of one file. Each has the lines of the file; text of the other views is blank.
pub(crate) struct Views {
    pub(crate) code: String,
    pub(crate) comments: String,
    pub(crate) literals: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Views {
    pub(crate) fn of(source: &str) -> Views {
        let characters: Vec<char> = source.chars().collect();
        let mut views = Views { code: String::new(), comments: String::new(), literals: String::new() };
        let mut at = 0;
        while at < characters.len() {
            let (kind, end) = token(&characters, at);
            for &character in &characters[at..end] {
                views.push(kind, character);
            }
            at = end;
        }
        views
    }

    fn push(&mut self, kind: Kind, character: char) {
        let blank = if character == '\n' { '\n' } else { ' ' };
        self.code.push(if kind == Kind::Code { character } else { blank });
        self.comments.push(if kind == Kind::Comment { character } else { blank });
        self.literals.push(if kind == Kind::Literal { character } else { blank });
    }
}

/// The kind and the end of the token that starts at `at`; always moves on.
fn token(text: &[char], at: usize) -> (Kind, usize) {
    let next = text.get(at + 1).copied();
    match text[at] {
        '/' if next == Some('/') => (Kind::Comment, find(text, at, |c| c == '\n')),
        '/' if next == Some('*') => (Kind::Comment, block_comment_end(text, at)),
        '"' => (Kind::Literal, string_end(text, at + 1)),
        '\'' => character_or_lifetime(text, at),
        first if first.is_alphanumeric() || first == '_' => word(text, at),
        _ => (Kind::Code, at + 1),
    }
}

/// A word, or a literal with a prefix (`b"`, `br#"`, `r"`, `c"`, `b'`).
fn word(text: &[char], at: usize) -> (Kind, usize) {
    let end = find(text, at, |c| !(c.is_alphanumeric() || c == '_'));
    let prefix: String = text[at..end].iter().collect();
    match (prefix.as_str(), text.get(end).copied()) {
        ("b" | "c", Some('"')) => (Kind::Literal, string_end(text, end + 1)),
        ("b", Some('\'')) => (Kind::Literal, character_end(text, end + 1)),
        ("r" | "br" | "cr", Some('"' | '#')) => match raw_string_end(text, end) {
            Some(end) => (Kind::Literal, end),
            None => (Kind::Code, end), // r#identifier
        },
        _ => (Kind::Code, end),
    }
}

fn find(text: &[char], from: usize, stop: impl Fn(char) -> bool) -> usize {
    text[from..].iter().position(|&c| stop(c)).map_or(text.len(), |offset| from + offset)
}

fn block_comment_end(text: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut i = at;
    while i < text.len() {
        match (text[i], text.get(i + 1)) {
            ('/', Some('*')) => (depth, i) = (depth + 1, i + 2),
            ('*', Some('/')) => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    text.len()
}

/// End of a string whose opening quote ends before `from`.
fn string_end(text: &[char], from: usize) -> usize {
    let mut i = from;
    while i < text.len() {
        match text[i] {
            '\\' => i += 2,
            '"' => return i + 1,
            _ => i += 1,
        }
    }
    text.len()
}

/// End of a raw string whose hashes start at `from`; none if this is a raw identifier.
fn raw_string_end(text: &[char], from: usize) -> Option<usize> {
    let open = find(text, from, |c| c != '#');
    if text.get(open) != Some(&'"') {
        return None;
    }
    let hashes = open - from;
    let mut i = open + 1;
    while i < text.len() {
        let closes =
            text[i] == '"' && text[i + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes;
        if closes {
            return Some(i + 1 + hashes);
        }
        i += 1;
    }
    Some(text.len())
}

fn character_or_lifetime(text: &[char], at: usize) -> (Kind, usize) {
    let escaped = text.get(at + 1) == Some(&'\\');
    if escaped || text.get(at + 2) == Some(&'\'') {
        (Kind::Literal, character_end(text, at + 1))
    } else {
        (Kind::Code, at + 1)
    }
}

/// End of a character literal whose opening quote ends before `from`.
fn character_end(text: &[char], from: usize) -> usize {
    let mut i = if text.get(from) == Some(&'\\') { from + 2 } else { from + 1 };
    while i < text.len() && text[i] != '\'' && text[i] != '\n' {
        i += 1;
    }
    (i + 1).min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(view: &str) -> Vec<&str> {
        view.split_whitespace().collect()
    }

    #[test]
    fn strings_and_comments_are_not_code() {
        let views =
            Views::of("let a = \"unsafe \\\" x\"; // unsafe y\n/* unsafe /* nested */ z */ let b = 1;");
        assert_eq!(words(&views.code), ["let", "a", "=", ";", "let", "b", "=", "1;"]);
        assert!(views.comments.contains("unsafe y") && views.comments.contains('z'));
        assert!(views.literals.contains("unsafe"));
    }

    #[test]
    fn raw_strings_end_at_their_own_hashes() {
        let views = Views::of("f(r#\"unsafe \"quoted\" \"#, br\"\\\", r#type, b'\"', c\"x\") + g");
        assert_eq!(words(&views.code), ["f(", ",", ",", "r#type,", ",", ")", "+", "g"]);
    }

    #[test]
    fn lifetimes_are_code_and_characters_are_not() {
        let views = Views::of("fn f<'a>(x: &'a str) { g('\"', '\\'', '\\u{1F600}', 'u') }");
        assert_eq!(words(&views.code), ["fn", "f<'a>(x:", "&'a", "str)", "{", "g(", ",", ",", ",", ")", "}"]);
    }

    #[test]
    fn lines_are_kept_and_broken_source_ends() {
        for source in ["\"open\nstring", "/* open\n", "r#\"open\n", "'", "b'", "\"\\", "a\nb"] {
            let views = Views::of(source);
            let lines = source.matches('\n').count();
            assert_eq!(views.code.matches('\n').count(), lines, "{source:?}");
            assert_eq!(views.comments.matches('\n').count(), lines, "{source:?}");
        }
    }
}
