//! Words for what a file, a field or an argument holds: its kind and its length, and never the content, because that may be a secret.
//!
//! Libraries quote in their errors what they parse. Such an error goes into a message, a log or an answer through this crate only.

pub mod pem;

use std::fmt::Display;

/// Longest word that [`shown`] repeats: shorter than any key or token.
const SHOWN_MAX: usize = 16;

/// The text in a file of UTF-8, without the byte order mark that some editors put before it.
///
/// # Errors
/// What the file is instead.
pub fn text(file: &[u8]) -> Result<&str, String> {
    let is_utf16 = matches!(file, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
    let cure = if is_utf16 { "; save it in UTF-8" } else { "" };
    let text = std::str::from_utf8(unmarked(file)).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| format!("expected text, found {}{cure}", described(file)))
}

/// The file without a byte order mark of UTF-8.
pub fn unmarked(file: &[u8]) -> &[u8] {
    file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file)
}

/// What a file is, such as "a PEM file of 1,704 bytes without line breaks".
pub fn described(file: &[u8]) -> String {
    let content = unmarked(file).trim_ascii();
    let is_hexadecimal = |byte: &u8| byte.is_ascii_hexdigit() || byte.is_ascii_whitespace();
    let kind = match content {
        [] => return "an empty file".to_owned(),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "a text in UTF-16",
        // SEQUENCE { INTEGER 3, as every PKCS#12 file begins.
        [0x30, 0x82, _, _, 2, 1, 3, ..] => "a PKCS#12 file",
        [0x30, 0x81..=0x83, ..] => "a DER file",
        [0x30, length, ..] if file.len() == usize::from(*length) + 2 => "a DER file",
        _ if content.windows(11).any(|part| part == b"-----BEGIN ") => "a PEM file",
        _ if std::str::from_utf8(content).is_err() || content.contains(&0) => "a binary file",
        [b'{' | b'[', ..] => "a JSON file",
        _ if content.iter().all(is_hexadecimal) => "a hexadecimal text",
        _ => "a text",
    };
    let mut length = file.len().to_string();
    for at in (1..length.len()).rev() {
        if (length.len() - at) % 4 == 3 {
            length.insert(at, ',');
        }
    }
    let is_one_line = kind == "a PEM file" && !content.contains(&b'\n');
    format!("{kind} of {length} bytes{}", if is_one_line { " without line breaks" } else { "" })
}

/// A word that somebody mistyped, such as a name, a number or an address. A longer one, or one with other characters, may be a secret.
pub fn shown(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/[]".contains(&byte);
    match word.len() <= SHOWN_MAX && word.bytes().all(is_plain) {
        true => format!("`{word}`"),
        false => format!("a text of {} characters", word.chars().count()),
    }
}

/// An error of serde, for JSON or TOML, without the value that it quotes, whatever stands before it.
pub fn parse_error(error: impl Display) -> String {
    let text = error.to_string();
    // `invalid type: string "...", expected a map at line 1 column 9`
    let expected = text.rsplit_once(", expected ").map_or("another one", |(_, expected)| expected);
    for what in ["invalid type: ", "invalid value: "] {
        if let Some((before, value)) = text.split_once(what) {
            let kind = value.split(['`', '"', ',']).next().unwrap_or_default().trim_end();
            return format!("{before}{what}{kind}, expected {expected}");
        }
    }
    if let Some((before, _)) = text.split_once("unknown variant `") {
        return format!("{before}unknown value, expected {expected}");
    }
    if let Some((before, name)) = text.split_once("unknown field `") {
        let name = name.split('`').next().unwrap_or_default();
        return format!("{before}unknown field {}, expected {expected}", shown(name));
    }
    text
}

#[cfg(test)]
mod tests;
