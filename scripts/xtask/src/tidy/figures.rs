//! A figure of three digits stands by hand in one page: another page links to it, or has it in text that is written.

use std::collections::BTreeMap;

use super::Finding;
use crate::markdown;
use crate::paper::source;
use crate::repo::Repo;

/// Not figures that change: statuses of HTTP, sizes and the scale of vectors.
const FIXED: [&str; 8] = ["175", "192", "401", "403", "404", "429", "503", "768"];

/// The places of each figure: a page and the first line there.
type Places = BTreeMap<String, BTreeMap<String, usize>>;

/// Checks all Markdown of the repository.
pub(super) fn check(repo: &Repo, files: &[String]) -> Result<Vec<Finding>, String> {
    let mut places = Places::new();
    for path in files.iter().filter(|path| path.ends_with(".md")) {
        add(path, &repo.read(path)?, &mut places);
    }
    Ok(repeated(&places))
}

fn add(path: &str, page: &str, places: &mut Places) {
    for (line, figure) in source::bare_in_markdown(&markdown::by_hand(page)) {
        if is_figure(&figure) {
            places.entry(figure).or_default().entry(path.to_owned()).or_insert(line);
        }
    }
}

fn repeated(places: &Places) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (figure, pages) in places {
        let mut pages = pages.iter();
        let Some((first, at)) = pages.next() else { continue };
        findings.extend(pages.map(|(path, line)| {
            Finding::error(
                path,
                *line,
                format!("{figure} stands by hand in {first}:{at} too: link to it, or round it"),
            )
        }));
    }
    findings
}

/// Three digits that say something: round numbers, powers of two, years and versions stand in many pages and mean other things.
fn is_figure(text: &str) -> bool {
    let digits = text.replace([',', '.'], "");
    let whole: Option<u32> = text.replace(',', "").parse().ok();
    let is_year = text.len() == 4 && whole.is_some_and(|year| (1900..2100).contains(&year));
    let is_version = text.matches('.').count() > 1;
    digits.trim_matches('0').len() > 2
        && !(is_year || is_version || whole.is_some_and(u32::is_power_of_two) || FIXED.contains(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pages: [&str; 2]) -> Vec<String> {
        let mut places = Places::new();
        for (path, page) in ["a.md", "b.md"].into_iter().zip(pages) {
            add(path, page, &mut places);
        }
        repeated(&places).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_figure_by_hand_in_two_pages_is_found_where_the_second_has_it() {
        let said = found([
            "at most 585.6 bits",
            "one\n<!-- BEGIN generated: x -->\n1\n<!-- END generated -->\n585.6 bits, 585.6",
        ]);
        assert_eq!(said, ["error: b.md:5: 585.6 stands by hand in a.md:1 too: link to it, or round it"]);
        assert_eq!(found(["21,063 bytes", "| 21,063 |"]).len(), 1);
    }

    #[test]
    fn one_page_written_text_and_what_is_no_figure_may_repeat() {
        for page in [
            "<!-- BEGIN generated: x -->\n585.6\n<!-- END generated -->",
            "<!-- number:a:/b -->585.6<!-- /number --> and <!--n:x-->21,063<!--/n-->",
            "`585.6` [x](y#585.6)\n```\n585.6\n```",
            "23 %, 1,200 of 4,096 in 2026, status 503, RFC 9162, 1.4.17",
        ] {
            assert_eq!(found([page, page]), Vec::<String>::new(), "{page}");
        }
        assert_eq!(found(["585.6, 585.6", "none"]), Vec::<String>::new());
    }
}
