//! The rules of the source tree that the compiler does not enforce.

mod cycles;
mod dependencies;
mod evidence;
mod figures;
mod manifests;
pub(crate) mod shared;
mod sources;

use std::fmt;

use crate::claims;
use crate::paper::bound;
use crate::repo::Repo;

/// One breach of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    /// Counted from one; zero means the whole file.
    line: usize,
    message: String,
    severity: Severity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Severity {
    Error,
    Warning,
}

impl Finding {
    fn error(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, message: message.into(), severity: Severity::Error }
    }

    fn warning(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Warning, ..Finding::error(path, line, message) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}:{}: {}", self.path, self.line, self.message)
    }
}

/// Applies every rule to the tree and prints the findings; warnings do not fail.
pub(crate) fn run(repo: &Repo) -> Result<(), String> {
    let files = repo.files()?;
    let mut findings = Vec::new();
    for path in files.iter().filter(|path| sources::is_text(path)) {
        let text = repo.read(path)?;
        findings.extend(sources::check(path, &text));
    }
    findings.extend(manifests::check(repo, &files)?);
    findings.extend(shared::check(repo, &files)?);
    let metadata = repo.metadata()?;
    findings.extend(dependencies::check(&metadata)?);
    findings.extend(cycles::check(repo, &metadata)?);
    findings.extend(evidence::check(repo)?);
    findings.extend(figures::check(repo, &files)?);
    match claims::fresh(repo) {
        Ok(fresh) if fresh == repo.read(bound::CLAIMS)? => {}
        stale => {
            let why =
                stale.err().unwrap_or_else(|| "not as the tests have it: run `cargo xtask pages`".to_owned());
            findings.push(Finding::error(bound::CLAIMS, 0, why));
        }
    }
    let claims = bound::misplaced_claims(repo)?;
    findings.extend(claims.into_iter().map(|(path, line, message)| Finding::error(&path, line, message)));
    for finding in &findings {
        println!("{finding}");
    }
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    println!("tidy: {} files, {errors} errors, {} warnings", files.len(), findings.len() - errors);
    if errors == 0 { Ok(()) } else { Err(format!("tidy: {errors} errors")) }
}
