//! Numbers in prose come from committed records.
//!
//! `<!-- number:FILE:POINTER -->value<!-- /number -->` shows the value at a JSON pointer of
//! `bench/records/FILE`; `FILE:POINTER:2` shows it with two decimals. The white paper has its own form (`paper/bound.rs`).
//!
//! The tables of RESULTS.md stand between marks of their own, and are written from `bench/tables.json`: a head, and rows in which `{FILE:POINTER}` is a
//! value. Words of a list replace `$1`, `$2` and so on of the table's `row`.
//!
//! `<!--n:NAME-->value<!--/n-->` is the same for a page that people read as plain text: `bench/numbers.json` has the source for each name.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

use crate::markdown::{self, FULL, Mark, SHORT};
use crate::paper::bound;
use crate::repo::Repo;

/// The sources of short marks by their names.
const NAMES: &str = "bench/numbers.json";
/// The tables of this page.
const TABLES: &str = "bench/tables.json";
const RESULTS: &str = "bench/RESULTS.md";
/// Where the records lie.
pub(crate) const RECORDS: &str = "bench/records";

/// Writes every number anew.
pub(crate) fn write(repo: &Repo) -> Result<(), String> {
    for (path, page, fresh) in pages(repo)? {
        if page != fresh {
            std::fs::write(repo.root().join(&path), fresh).map_err(|e| format!("{path}: {e}"))?;
            println!("{path}: numbers written");
        }
    }
    bound::write(repo)
}

/// Fails if a number on a page differs from its record, or a number in the paper has no source.
pub(crate) fn check(repo: &Repo) -> Result<(), String> {
    let stale: Vec<String> =
        pages(repo)?.into_iter().filter(|(_, page, fresh)| page != fresh).map(|(path, ..)| path).collect();
    if stale.is_empty() {
        bound::check(repo)
    } else {
        Err(format!("stale numbers in {}: run `cargo xtask numbers`", stale.join(", ")))
    }
}

/// Path, present text and text with fresh numbers of every page that may hold numbers.
fn pages(repo: &Repo) -> Result<Vec<(String, String, String)>, String> {
    let names: BTreeMap<String, String> =
        serde_json::from_str(&repo.read(NAMES)?).map_err(|why| format!("{NAMES}: {why}"))?;
    let record = |file: &str| repo.read(&format!("{RECORDS}/{file}"));
    let (mut pages, mut used) = (Vec::new(), BTreeSet::new());
    for path in repo.files()? {
        if path.ends_with(".md") {
            let page = repo.read(&path)?;
            let fresh = fill(&page, FULL, &mut |source| value(source, &record)).and_then(|page| {
                fill(&page, SHORT, &mut |name| {
                    used.insert(name.to_owned());
                    let source = names.get(name).ok_or_else(|| format!("{NAMES} has no {name}"))?;
                    value(source, &record)
                })
            });
            let mut fresh = fresh.map_err(|why| format!("{path}: {why}"))?;
            if path == RESULTS {
                for (name, table) in tables(&repo.read(TABLES)?, &|source| value(source, &record))? {
                    markdown::put(&mut fresh, &name, &table).map_err(|why| format!("{path}: {why}"))?;
                }
            }
            pages.push((path.clone(), page, fresh));
        }
    }
    match names.keys().find(|name| !used.contains(*name)) {
        Some(unused) => Err(format!("{NAMES}: no page has {unused}: remove it")),
        None => Ok(pages),
    }
}

/// The tables by their names.
fn tables(
    text: &str,
    value: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Vec<(String, String)>, String> {
    let all: BTreeMap<String, Value> =
        serde_json::from_str(text).map_err(|why| format!("{TABLES}: {why}"))?;
    let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    let table = |(name, table): (String, Value)| {
        let mut lines = text(&table["head"]) + "\n";
        for row in table["rows"].as_array().into_iter().flatten() {
            let put =
                |row: String, (at, word): (usize, &Value)| row.replace(&format!("${}", at + 1), &text(word));
            let row = match row.as_array() {
                Some(words) => words.iter().enumerate().fold(text(&table["row"]), put),
                None => text(row),
            };
            lines += &(row + "\n");
        }
        Ok((name, shown(&lines, value)?))
    };
    all.into_iter().map(table).collect()
}

/// A text with the value in place of each `{FILE:POINTER}`.
pub(crate) fn shown(text: &str, value: &dyn Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let mut parts = text.split('{');
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (source, after) = part.split_once('}').ok_or_else(|| format!("no end of {{{part}"))?;
        shown += &(value(source)? + after);
    }
    Ok(shown)
}

/// A page with the value of each mark of this form.
fn fill(
    page: &str,
    Mark { open, open_end, close }: Mark,
    value: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once(open) {
        let (source, after) = after.split_once(open_end).ok_or("a number mark does not end")?;
        let (_, after) = after.split_once(close).ok_or_else(|| format!("number:{source} is not closed"))?;
        let value = value(source)?;
        filled.push_str(&format!("{before}{open}{source}{open_end}{value}{close}"));
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The value that `FILE:POINTER` or `FILE:POINTER:DECIMALS` names, as pages show it.
pub(crate) fn value(source: &str, record: &dyn Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let mut parts = source.split(':');
    let (Some(file), Some(pointer), decimals, None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(format!("number:{source} is not FILE:POINTER or FILE:POINTER:DECIMALS"));
    };
    let record: Value = serde_json::from_str(&record(file)?).map_err(|e| format!("{file}: {e}"))?;
    let value = record.pointer(pointer).ok_or_else(|| format!("{file} has no {pointer}"))?;
    match (value, decimals) {
        (Value::String(text), None) => Ok(text.clone()),
        (Value::Number(number), None) if number.is_u64() || number.is_i64() => {
            Ok(grouped(&number.to_string()))
        }
        (Value::Number(number), Some(decimals)) => {
            let decimals: usize = decimals.parse().map_err(|_| format!("number:{source}: bad decimals"))?;
            let number = number.as_f64().ok_or_else(|| format!("number:{source} is out of range"))?;
            Ok(grouped(&format!("{number:.decimals$}")))
        }
        (Value::Number(_), None) => Err(format!("number:{source} is not whole: say how many decimals")),
        _ => Err(format!("number:{source} is neither a number nor a text")),
    }
}

/// Commas between thousands of the whole part.
fn grouped(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    let (whole, fraction) = digits.find('.').map_or((digits, ""), |dot| digits.split_at(dot));
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(file: &str) -> Result<String, String> {
        match file {
            "r.json" => Ok("{\"n\": 1234567, \"f\": 4321.987, \"s\": \"AVX2\", \"l\": [7]}".to_owned()),
            _ => Err(format!("{file}: no such record")),
        }
    }

    fn filled(source: &str) -> Result<String, String> {
        let mut values = [FULL, SHORT].map(|mark| {
            let Mark { open, open_end, close } = mark;
            let page = format!("a {open}{source}{open_end}old{close} z");
            let page = fill(&page, mark, &mut |source| value(source, &record))?;
            let value = page.strip_prefix(&format!("a {open}{source}{open_end}")).expect("the mark stays");
            Ok(value.strip_suffix(&format!("{close} z")).expect("the text around stays").to_owned())
        });
        assert_eq!(values[0], values[1], "both forms of marks");
        std::mem::replace(&mut values[0], Ok(String::new()))
    }

    #[test]
    fn values_come_from_the_record() {
        assert_eq!(filled("r.json:/n").as_deref(), Ok("1,234,567"));
        assert_eq!(filled("r.json:/f:1").as_deref(), Ok("4,322.0"));
        assert_eq!(filled("r.json:/s").as_deref(), Ok("AVX2"));
        assert_eq!(filled("r.json:/l/0").as_deref(), Ok("7"));
    }

    /// Claim V46: Numbers in prose equal their records. A number in the white paper without a record or a source is refused, and so is a
    /// claim mark without a row.
    #[test]
    fn a_number_without_a_record_is_refused() {
        for source in ["r.json:/gone", "none.json:/n", "r.json:/f", "r.json", "r.json:/n:x", "r.json:/l"] {
            assert!(filled(source).is_err(), "{source}");
        }
        let open = "<!-- number:r.json:/n -->7";
        assert!(fill(open, FULL, &mut |source| value(source, &record)).is_err());
        assert!(fill("<!--n:people-->7", SHORT, &mut |_| Ok("8".to_owned())).is_err());
    }

    #[test]
    fn tables_have_the_values_of_their_rows() {
        let of = |last: &str| {
            let text = format!(
                r#"{{"t": {{"head": "| a |", "row": "| $1 | {{$2.json:/n}} |", "rows": [["x", "r"], "{last}"]}}}}"#
            );
            tables(&text, &|source| value(source, &record))
        };
        let shown = "| a |\n| x | 1,234,567 |\n| AVX2 |\n".to_owned();
        assert_eq!(of("| {r.json:/s} |"), Ok(vec![("t".to_owned(), shown)]));
        assert!(of("| {r.json:/gone} |").is_err() && of("| {r.json:/s |").is_err());
    }

    #[test]
    fn filling_twice_changes_nothing() {
        let mut of = |source: &str| value(source, &record);
        let once = fill("<!-- number:r.json:/n --><!-- /number -->", FULL, &mut of).expect("fills");
        assert_eq!(fill(&once, FULL, &mut of), Ok(once.clone()));
    }
}
