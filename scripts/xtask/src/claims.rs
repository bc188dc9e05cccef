//! The claims. A sentence stands above the test that shows it, `/// Claim M5: ...`, with the names of other evidence after `Also:`; above each
//! further test stands `/// Claim M5.` A number is written as `{FILE:POINTER}` of its record. The tables of CLAIMS.md are written from these.

use std::collections::BTreeMap;

use crate::paper::bound::CLAIMS as PAGE;
use crate::repo::Repo;
use crate::{markdown, numbers};

/// A claim: its sentence, and the test that has it; further tests and other evidence.
#[derive(Default)]
struct Claim {
    stated: Option<(String, String)>,
    more: Vec<String>,
}

/// By the letter and the number of their names.
type Claims = BTreeMap<(char, u16), Claim>;

/// The page with its tables as the sources have them.
pub(crate) fn fresh(repo: &Repo) -> Result<String, String> {
    let mut claims = Claims::new();
    for path in repo.files()?.iter().filter(|path| path.ends_with(".rs")) {
        read(path, &repo.read(path)?, &mut claims)?;
    }
    let record = |file: &str| repo.read(&format!("{}/{file}", numbers::RECORDS));
    written(repo.read(PAGE)?, &claims, &|source| numbers::value(source, &record))
}

/// Writes the page.
pub(crate) fn write(repo: &Repo) -> Result<(), String> {
    std::fs::write(repo.root().join(PAGE), fresh(repo)?).map_err(|why| format!("{PAGE}: {why}"))
}

/// Adds the claims of a file.
fn read(path: &str, text: &str, claims: &mut Claims) -> Result<(), String> {
    let (mut open, mut is_inside) = (Vec::<String>::new(), false);
    for line in text.lines().map(str::trim) {
        match line.strip_prefix("///").map(str::trim) {
            Some(doc) if doc.starts_with("Claim ") => {
                open.push(doc["Claim ".len()..].to_owned());
                is_inside = true;
            }
            Some("") => is_inside = false,
            Some(doc) if is_inside => {
                open.last_mut().into_iter().for_each(|claim| *claim += &format!(" {doc}"))
            }
            Some(_) => {}
            None => {
                is_inside = false;
                let Some((_, function)) = line.split_once("fn ") else { continue };
                let name = function.split(['(', '<']).next().unwrap_or_default();
                let test = format!("`{path}::{name}`");
                for claim in open.drain(..) {
                    add(&claim, &test, claims)
                        .ok_or_else(|| format!("{path}: {name}: {claim:?} is no claim, or stands twice"))?;
                }
            }
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("{path}: no function after the claims {open:?}")) }
}

/// `M5: A sentence. Also: evidence.` or `M5.`
fn add(claim: &str, test: &str, claims: &mut Claims) -> Option<()> {
    let (id, sentence) = claim.split_once(": ").or_else(|| Some((claim.strip_suffix('.')?, "")))?;
    let (letter, number) = id.split_at_checked(1)?;
    let entry = claims.entry((letter.chars().next()?, number.parse().ok()?)).or_default();
    if sentence.is_empty() {
        entry.more.push(test.to_owned());
        return Some(());
    }
    let (sentence, also) = sentence.split_once(" Also: ").unwrap_or((sentence, ""));
    entry.more.extend(also.strip_suffix('.').map(str::to_owned));
    entry.stated.replace((sentence.to_owned(), test.to_owned())).is_none().then_some(())
}

/// The page with the claims of each letter in the block of this name.
fn written(
    mut page: String,
    claims: &Claims,
    value: &dyn Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    let mut blocks = BTreeMap::<char, String>::new();
    for ((letter, number), Claim { stated, more }) in claims {
        let (sentence, test) =
            stated.as_ref().ok_or_else(|| format!("no test has the sentence of claim {letter}{number}"))?;
        let evidence = [&[test.clone()][..], more].concat().join(", ");
        let rows =
            blocks.entry(*letter).or_insert_with(|| "| id | claim | evidence |\n|---|---|---|\n".to_owned());
        *rows += &format!("| {letter}{number} | {sentence} | {evidence} |\n");
    }
    for (letter, rows) in blocks {
        markdown::put(&mut page, &letter.to_string(), &numbers::shown(&rows, value)?)?;
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Claims\n<!-- BEGIN generated: M -->\nold\n<!-- END generated -->\nby hand\n";

    fn of(text: &str) -> Result<String, String> {
        let mut claims = Claims::new();
        read("a/b.rs", text, &mut claims)?;
        written(PAGE.to_owned(), &claims, &|source| Ok(source.to_uppercase()))
    }

    #[test]
    fn sentences_and_tests_become_rows_in_the_order_of_their_numbers() {
        let text = "/// Claim M10: Ten {of 10}\n    /// holds.\n///\n/// More.\n#[test]\nfn ten() {}\n    /// Claim M2.\n    fn also<T>() {}\n/// Claim \
                    M2: Two holds. Also: `r.json#/x`.\n/// Claim M10.\nfn two() {}\n";
        let rows = "| M2 | Two holds. | `a/b.rs::two`, `a/b.rs::also`, `r.json#/x` |\n| M10 | Ten OF 10 holds. | `a/b.rs::ten`, `a/b.rs::two` |\n";
        let table = format!(
            "generated: M -->\n| id | claim | evidence |\n|---|---|---|\n{rows}<!-- END generated -->\nby hand"
        );
        assert!(of(text).unwrap().contains(&table), "{:?}", of(text));
    }

    #[test]
    fn a_claim_that_is_none_stands_twice_or_has_no_sentence_or_place_is_named() {
        for (text, why) in [
            ("/// Claim M1 so.\nfn a() {}", "is no claim"),
            ("/// Claim M1: So.\n/// Claim M1: So.\nfn a() {}", "stands twice"),
            ("/// Claim M1.\nfn a() {}", "no test has the sentence of claim M1"),
            ("/// Claim M1: So.\n", "no function after"),
            ("/// Claim X1: So.\nfn a() {}", "no line <!-- BEGIN generated: X"),
        ] {
            assert!(of(text).unwrap_err().contains(why), "{text}: {:?}", of(text));
        }
    }
}
