//! Everything that the documents refer to must exist: tests, records, files.
//!
//! In a code span, `path.rs::name` is a test, `path.json#/pointer` is a value of a record, and a path that
//! starts with a folder of the repository is a file or folder.

use serde_json::Value;

use super::Finding;
use crate::markdown;
use crate::repo::Repo;

const FOLDERS: [&str; 9] =
    ["bench/", "cache/", "crypto/", "pipeline/", "scripts/", "server/", "whitepaper/", ".ci/", ".cargo/"];

/// Checks all Markdown of the repository.
pub(super) fn check(repo: &Repo) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for path in repo.files()?.iter().filter(|path| path.ends_with(".md")) {
        let page = repo.read(path)?;
        let read = |file: &str| repo.read(file).ok();
        let exists = |file: &str| repo.root().join(file).exists();
        findings.extend(pointers(path, &page, &read, &exists));
    }
    Ok(findings)
}

fn pointers(
    path: &str,
    page: &str,
    read: &dyn Fn(&str) -> Option<String>,
    exists: &dyn Fn(&str) -> bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, span) in markdown::spans(page) {
        let problem = match evidence(span) {
            Some(Evidence::Test { file, name }) => match read(file) {
                None => Some(format!("{file} does not exist")),
                Some(source) => (!has_function(&source, name)).then(|| format!("{file} has no fn {name}")),
            },
            Some(Evidence::Record { file, pointer }) => {
                match read(file).map(|r| serde_json::from_str::<Value>(&r)) {
                    None => Some(format!("{file} does not exist")),
                    Some(Err(e)) => Some(format!("{file}: {e}")),
                    Some(Ok(record)) => match record.pointer(pointer) {
                        None => Some(format!("{file} has no {pointer}")),
                        Some(Value::Bool(false)) => Some(format!("{file} says that {pointer} is false")),
                        Some(_) => None,
                    },
                }
            }
            None if FOLDERS.iter().any(|folder| span.starts_with(folder)) && is_plain_path(span) => {
                (!exists(span)).then(|| format!("{span} does not exist"))
            }
            None => None,
        };
        findings.extend(problem.map(|message| Finding::error(path, line, message)));
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    for (line, target) in markdown::links(page) {
        let file = target.split('#').next().unwrap_or_default();
        let elsewhere = file.is_empty() || file.contains("://") || file.starts_with("mailto:");
        let joined = if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };
        if !elsewhere && !exists(&joined) {
            findings.push(Finding::error(path, line, format!("dead link: {target}")));
        }
    }
    findings
}

enum Evidence<'a> {
    Test { file: &'a str, name: &'a str },
    Record { file: &'a str, pointer: &'a str },
}

fn evidence(span: &str) -> Option<Evidence<'_>> {
    if let Some((file, name)) = span.split_once(".rs::") {
        let name = name.rsplit("::").next().unwrap_or(name);
        return Some(Evidence::Test { file: &span[..file.len() + ".rs".len()], name });
    }
    let (file, pointer) = span.split_once(".json#")?;
    Some(Evidence::Record { file: &span[..file.len() + ".json".len()], pointer })
}

fn has_function(source: &str, name: &str) -> bool {
    ['(', '<'].iter().any(|after| source.contains(&format!("fn {name}{after}")))
}

/// A path and not a pattern, a placeholder or a command.
fn is_plain_path(span: &str) -> bool {
    !span.contains("NAME") && span.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(page: &str) -> Vec<String> {
        let read = |file: &str| match file {
            "a/b.rs" => Some("fn holds() {} fn generic<C>(c: C) {}".to_owned()),
            "bench/r.json" => Some("{\"a\": {\"b\": 1}, \"equal\": false}".to_owned()),
            _ => None,
        };
        let exists = |file: &str| ["a/b.rs", "bench/r.json", "README.md"].contains(&file);
        let findings = pointers("README.md", page, &read, &exists);
        findings.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn what_exists_passes() {
        let page = "`a/b.rs::holds` `a/b.rs::tests::generic` `bench/NAME.json` `bench/r.json#/a/b` [x](a/b.rs#l1) [y](https://e.org) `crypto/*/x`";
        assert!(messages(page).is_empty());
    }

    #[test]
    fn missing_tests_records_files_and_links_are_found() {
        assert_eq!(messages("`a/b.rs::gone`"), ["a/b.rs has no fn gone"]);
        assert_eq!(messages("`a/c.rs::holds`"), ["a/c.rs does not exist"]);
        assert_eq!(messages("`bench/r.json#/a/c`"), ["bench/r.json has no /a/c"]);
        assert_eq!(messages("`bench/r.json#/equal`"), ["bench/r.json says that /equal is false"]);
        assert_eq!(messages("`bench/s.json#/a`"), ["bench/s.json does not exist"]);
        assert_eq!(messages("`crypto/none.rs`"), ["crypto/none.rs does not exist"]);
        assert_eq!(messages("[x](gone.md)"), ["dead link: gone.md"]);
    }
}
