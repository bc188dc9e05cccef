//! Columns of text, each as wide as its widest entry.

use serde::Serialize;

/// A table with a head. The last column is not padded. Control characters in names are escaped.
pub(super) fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let head = head.map(str::to_owned);
    let rows = rows.map(|row| row.map(|cell| cell.escape_debug().to_string().replace("\\'", "'")));
    let rows: Vec<[String; N]> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}  "));
        cells.collect::<String>().trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// An answer as JSON, or for people.
pub(super) fn show(
    json: bool,
    answer: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Result<String, String> {
    match json {
        true => Ok(serde_json::to_string_pretty(answer).map_err(|cause| cause.to_string())? + "\n"),
        false => Ok(text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_entry() {
        let rows = [["ä".to_owned(), "it's".to_owned()], ["four".to_owned(), "\u{1b}[2J".to_owned()]];
        let expected = "A     NAME\nä     it's\nfour  \\u{1b}[2J\n";
        assert_eq!(table(["A", "NAME"], rows.into_iter()), expected);
    }
}
