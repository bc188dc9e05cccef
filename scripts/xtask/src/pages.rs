//! What pages repeat of the program stands between marks, and is written by the test that compares it.

use crate::claims;
use crate::clients::execute;
use crate::repo::Repo;

const END: &str = "<!-- END generated -->";

/// Puts a block between the marks of its name.
pub(crate) fn put(page: &mut String, name: &str, block: &str) -> Result<(), String> {
    let begin = format!("<!-- BEGIN generated: {name} -->\n");
    let at = page.find(&begin).ok_or_else(|| format!("no line {begin}"))? + begin.len();
    let end = at + page[at..].find(END).ok_or_else(|| format!("no end of {begin}"))?;
    page.replace_range(at..end, block);
    Ok(())
}

/// A page without the blocks.
pub(crate) fn by_hand(page: &str) -> String {
    let mut parts = page.split("<!-- BEGIN generated");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.filter_map(|part| Some(part.split_once(END)?.1)).collect::<String>()
}

/// The test, and the variable with which it writes.
const TEST: &str = "reference::the_generated_blocks_of_the_pages_say_what_the_program_says";
const WRITE: &str = "TREFOIL_TEST_PAGES";

/// Writes them, and the claims.
pub(crate) fn write(repo: &Repo) -> Result<(), String> {
    claims::write(repo)?;
    let arguments = ["test", "--locked", "--quiet", "--workspace", "--test=it", "--", TEST];
    execute(repo.cargo(&arguments).env(WRITE, "1"))
}
