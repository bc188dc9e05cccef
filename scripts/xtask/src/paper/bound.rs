//! The sources of the paper's numbers and claims.
//!
//! `whitepaper/numbers.json` is written from the records for each `n("FILE:POINTER:DECIMALS")` of the chapters, with the
//! rules of the other pages. A number that is typed by hand in a chapter, README.md or RESULTS.md must be a value of
//! `whitepaper/constants.json`, whose entries name a file of the repository and the text in it that has the value. Figures of others are in
//! `whitepaper/published.json`, with their addresses. A `claim("M1")` must be a row of CLAIMS.md.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::source::{self, Source};
use crate::repo::Repo;
use crate::{markdown, numbers};

const FOLDER: &str = "whitepaper/";
const NUMBERS: &str = "whitepaper/numbers.json";
const CONSTANTS: &str = "whitepaper/constants.json";
const PUBLISHED: &str = "whitepaper/published.json";
pub(crate) const CLAIMS: &str = "whitepaper/CLAIMS.md";

/// Drawing code, which has lengths and no figures of the paper.
const DRAWING: [&str; 2] = ["whitepaper/charts.typ", "whitepaper/layout.typ"];

/// Pages on which every number must come from a record or a constant.
const PAGES: [&str; 2] = ["README.md", "bench/RESULTS.md"];

/// A row of CLAIMS.md.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    id: String,
    text: String,
    evidence: Vec<String>,
}

/// Writes `numbers.json` if it changes.
pub(crate) fn write(repo: &Repo) -> Result<(), String> {
    let fresh = fresh(repo)?;
    if repo.read(NUMBERS).unwrap_or_default() != fresh {
        std::fs::write(repo.root().join(NUMBERS), fresh).map_err(|e| format!("{NUMBERS}: {e}"))?;
        println!("{NUMBERS}: written");
    }
    Ok(())
}

/// Fails if `numbers.json` is stale or a chapter or page has a number without a source.
pub(crate) fn check(repo: &Repo) -> Result<(), String> {
    let mut problems = Vec::new();
    if repo.read(NUMBERS)? != fresh(repo)? {
        problems.push(format!("stale numbers in {NUMBERS}: run `cargo xtask numbers`"));
    }
    let read = |file: &str| repo.read(file).ok();
    let constants = parse(&repo.read(CONSTANTS)?, CONSTANTS)?;
    problems.extend(unfounded(&constants, &read));
    problems.extend(unpublished(&parse(&repo.read(PUBLISHED)?, PUBLISHED)?));
    let known = values(&constants);
    for (path, source) in chapters(repo)? {
        problems.extend(unbacked(&path, &source.bare, &known));
    }
    for path in PAGES {
        problems.extend(unbacked(
            path,
            &source::bare_in_markdown(&markdown::by_hand(&repo.read(path)?)),
            &known,
        ));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

/// Marks in the chapters that CLAIMS.md has no row for: path, line, message.
pub(crate) fn misplaced_claims(repo: &Repo) -> Result<Vec<(String, usize, String)>, String> {
    let rows = claims(&repo.read(CLAIMS)?);
    let mut problems = Vec::new();
    for (path, source) in chapters(repo)? {
        let found = unplaced(&source, &rows).into_iter();
        problems.extend(found.map(|(line, message)| (path.clone(), line, message)));
    }
    Ok(problems)
}

fn unplaced(source: &Source, rows: &[Claim]) -> Vec<(usize, String)> {
    let known = |id: &str| rows.iter().any(|row| row.id == id);
    let stray = source.claims.iter().filter(|(_, id)| !known(id));
    stray.map(|(line, id)| (*line, format!("{CLAIMS} has no row {id}"))).collect()
}

fn chapters(repo: &Repo) -> Result<Vec<(String, Source)>, String> {
    let files = repo.files()?;
    files
        .into_iter()
        .filter(|path| {
            path.starts_with(FOLDER) && path.ends_with(".typ") && !DRAWING.contains(&path.as_str())
        })
        .map(|path| Ok((path.clone(), source::read(&repo.read(&path)?))))
        .collect()
}

fn fresh(repo: &Repo) -> Result<String, String> {
    let record = |file: &str| repo.read(&format!("{}/{file}", numbers::RECORDS));
    let rows = claims(&repo.read(CLAIMS)?);
    let (mut shown, mut marked) = (BTreeMap::new(), BTreeMap::new());
    for (path, source) in chapters(repo)? {
        for (line, name) in source.numbers {
            let value = numbers::value(&name, &record).map_err(|why| format!("{path}:{line}: {why}"))?;
            shown.insert(name, value);
        }
        for (_, id) in source.claims {
            // One without a row is found by `tidy`, by its line.
            if let Some(row) = rows.iter().find(|row| row.id == id) {
                marked.insert(id, json!({ "claim": row.text, "evidence": row.evidence }));
            }
        }
    }
    let files = repo.files()?;
    let records = record_names(&files);
    let text =
        serde_json::to_string_pretty(&json!({ "claims": marked, "numbers": shown, "records": records }));
    Ok(text.map_err(|e| e.to_string())? + "\n")
}

/// The existing records, for a table that has a row for each.
fn record_names(files: &[String]) -> Vec<&str> {
    let name = |path| -> Option<&str> {
        str::strip_prefix(path, numbers::RECORDS)?.strip_prefix('/')?.strip_suffix(".json")
    };
    let mut names: Vec<&str> = files.iter().filter_map(|path| name(path)).collect();
    names.sort_unstable();
    names
}

fn parse(text: &str, path: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|e| format!("{path}: {e}"))
}

fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry[field].as_str().unwrap_or_default()
}

/// Constants whose file does not have the text that they name, or whose text does not have the value.
fn unfounded(constants: &Map<String, Value>, read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let problem = |(value, entry): (&String, &Value)| {
        let (file, says) = (text(entry, "file"), text(entry, "says"));
        let message = match read(file) {
            None => format!("{file:?} does not exist"),
            Some(_) if !numbers_of(says).any(|number| number == plain(value)) => {
                format!("{says:?} does not contain the value")
            }
            Some(page) if !page.contains(says) => format!("{file} does not say {says:?}"),
            Some(_) => return None,
        };
        Some(format!("{CONSTANTS}: {value}: {message}"))
    };
    constants.iter().filter_map(problem).collect()
}

/// A number without the marks that group its digits.
fn plain(number: &str) -> String {
    number.replace([',', '_'], "")
}

/// The numbers in a text, plain.
fn numbers_of(text: &str) -> impl Iterator<Item = String> {
    let digits = |c: char| c.is_ascii_digit() || matches!(c, ',' | '_' | '.');
    text.split(move |c| !digits(c)).map(|word| plain(word.trim_matches(['.', ',', '_'])))
}

/// Published figures without a number or an address.
fn unpublished(figures: &Map<String, Value>) -> Vec<String> {
    figures
        .iter()
        .filter(|(_, entry)| !entry["value"].is_number() || !text(entry, "url").starts_with("https://"))
        .map(|(name, _)| {
            format!("{PUBLISHED}: {name} needs a number `value` and the `url` that it was read at")
        })
        .collect()
}

fn values(constants: &Map<String, Value>) -> BTreeSet<String> {
    constants.keys().map(|value| plain(value)).collect()
}

fn unbacked(path: &str, bare: &[(usize, String)], known: &BTreeSet<String>) -> Vec<String> {
    let stray = bare.iter().filter(|(_, number)| !known.contains(&plain(number)));
    stray
        .map(|(line, number)| {
            format!("{path}:{line}: {number} has no source: take it from a record, or add it to {CONSTANTS}")
        })
        .collect()
}

fn claims(page: &str) -> Vec<Claim> {
    markdown::table_rows(page)
        .into_iter()
        .map(|(_, row)| {
            let mut cells = row.split('|').skip(1).map(str::trim);
            let (id, text) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
            let evidence = row.split('`').skip(1).step_by(2).filter(|span| {
                (span.contains(".rs::") || span.contains(".json#")) && !text.contains(&format!("`{span}`"))
            });
            Claim {
                id: id.to_owned(),
                text: text.to_owned(),
                evidence: evidence.map(str::to_owned).collect(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constants(text: &str) -> Map<String, Value> {
        parse(text, "test").expect("parses")
    }

    #[test]
    fn records_are_named_as_the_paper_asks_for_them() {
        let files = ["bench/records/b/run.json", "bench/records/a.json", "bench/records/a.svg", "README.md"];
        assert_eq!(record_names(&files.map(str::to_owned)), ["a", "b/run"]);
    }

    /// Claim V46.
    #[test]
    fn a_number_without_a_source_is_found() {
        let known = values(&constants(r#"{"65,537": {}, "32": {}}"#));
        let source = source::read("32 people modulo 65537 and 65,537, 210,115 a second");
        let found = unbacked("whitepaper/x.typ", &source.bare, &known);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("whitepaper/x.typ:1: 210,115 has no source"), "{found:?}");
    }

    #[test]
    fn a_constant_that_its_file_does_not_say_is_found() {
        let read = |file: &str| (file == "a.rs").then(|| "const T: u64 = 65_537;".to_owned());
        let found = |entry: &str| unfounded(&constants(entry), &read);
        assert!(found(r#"{"65,537": {"file": "a.rs", "says": "const T: u64 = 65_537;"}}"#).is_empty());
        for (entry, why) in [
            (
                r#"{"65,537": {"file": "a.rs", "says": "const T: u64 = 65_539;"}}"#,
                "does not contain the value",
            ),
            (r#"{"65,539": {"file": "a.rs", "says": "const T: u64 = 65_539;"}}"#, "does not say"),
            (
                r#"{"5,537": {"file": "a.rs", "says": "const T: u64 = 65_537;"}}"#,
                "does not contain the value",
            ),
            (r#"{"65,537": {"file": "gone.rs", "says": "65_537"}}"#, "does not exist"),
            (r#"{"65,537": {}}"#, "does not exist"),
        ] {
            let found = found(entry);
            assert!(found.len() == 1 && found[0].contains(why), "{entry}: {found:?}");
        }
    }

    #[test]
    fn a_published_figure_without_an_address_is_found() {
        let found = |entry: &str| unpublished(&constants(entry)).len();
        assert_eq!(found(r#"{"raw": {"value": 1708400, "url": "https://e.org"}}"#), 0);
        assert_eq!(found(r#"{"raw": {"value": 1708400}}"#), 1);
        assert_eq!(found(r#"{"raw": {"value": "1708400", "url": "https://e.org"}}"#), 1);
    }

    /// Claim V46.
    #[test]
    fn a_mark_without_a_row_is_found() {
        let rows = claims("| id | claim | evidence |\n|---|---|---|\n| M1 | so | `a/b.rs::holds` |\n");
        let source = source::read("holds #claim(\"M1\")\nholds not #claim(\"M2\")");
        assert_eq!(unplaced(&source, &rows), [(2, format!("{CLAIMS} has no row M2"))]);
    }

    #[test]
    fn rows_have_an_id_and_their_evidence() {
        let page = "| id | claim | evidence |\n|---|---|---|\n| M1 | all of `cmd` | `a/b.rs::holds`, `r.json#/x` |\n";
        let rows = claims(page);
        assert_eq!(rows[0].evidence, ["a/b.rs::holds", "r.json#/x"]);
        assert_eq!(rows[0].text, "all of `cmd`");
    }
}
