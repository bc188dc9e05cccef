//! What pages repeat of the program stands between marks, and is written by the test that compares it.

use crate::claims;
use crate::clients::execute;
use crate::repo::Repo;

/// The test, and the variable with which it writes.
const TEST: &str = "reference::the_generated_blocks_of_the_pages_say_what_the_program_says";
const WRITE: &str = "TREFOIL_TEST_PAGES";

/// Writes them, and the claims.
pub(crate) fn write(repo: &Repo) -> Result<(), String> {
    claims::write(repo)?;
    let arguments = ["test", "--locked", "--quiet", "--workspace", "--test=it", "--", TEST];
    execute(repo.cargo(&arguments).env(WRITE, "1"))
}
