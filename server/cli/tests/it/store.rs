//! Where services of tests keep their store: in a file, or with `TREFOIL_TEST_STORE=postgres` or `fleet` in a PostgreSQL database.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};
use trefoil_testing::postgres::Server;

/// Has services keep their store in PostgreSQL, if it is `postgres`, or be a fleet, if it is `fleet`.
const VARIABLE: &str = "TREFOIL_TEST_STORE";
/// The address that a test gives to a process of its own.
pub(crate) const GIVEN: &str = "TREFOIL_TEST_STORE_URL";

/// Whether a service is three nodes.
pub(crate) fn is_fleet() -> bool {
    std::env::var(VARIABLE).as_deref() == Ok("fleet")
}

/// The database of a data directory, the same at each call; `None` if its store is to be a file.
pub(crate) fn database(data: &Path) -> Option<String> {
    static MADE: LazyLock<Mutex<HashMap<PathBuf, String>>> = LazyLock::new(Mutex::default);
    if let Ok(given) = std::env::var(GIVEN) {
        return Some(given);
    }
    if !is_fleet() && std::env::var(VARIABLE).as_deref() != Ok("postgres") {
        return None;
    }
    let server = Server::shared()?;
    Some(MADE.lock().unwrap().entry(data.to_owned()).or_insert_with(|| server.database()).clone())
}
