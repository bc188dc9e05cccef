//! Where services of tests keep their store: in a file, or with `TREFOIL_TEST_STORE=postgres` or `fleet` in a PostgreSQL database.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex};
use trefoil_testing::postgres::{Server, programs};

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

/// Gives a database a clock that stands, for sessions that begin after that: the function is found before that of PostgreSQL. It needs a time.
pub(crate) fn make_clock(url: &str) {
    let database = url.split(['/', '?']).nth(3).unwrap();
    sql(
        url,
        &format!(
            "CREATE SCHEMA IF NOT EXISTS standing;
             CREATE TABLE IF NOT EXISTS standing.clock (id integer PRIMARY KEY, unix_s bigint NOT NULL);
             CREATE OR REPLACE FUNCTION standing.clock_timestamp() RETURNS timestamptz LANGUAGE sql
                 AS 'SELECT to_timestamp(unix_s) FROM standing.clock';
             ALTER DATABASE {database} SET search_path = public, standing, pg_catalog"
        ),
    );
}

/// Sets the clock of [`make_clock`].
pub(crate) fn set_clock(url: &str, unix_s: u64) {
    let set = "ON CONFLICT (id) DO UPDATE SET unix_s = EXCLUDED.unix_s";
    sql(url, &format!("INSERT INTO standing.clock VALUES (0, {unix_s}) {set}"));
}

/// Does to a fleet's register what a node does every ten seconds, with the clock at `unix_s`.
pub(crate) fn sweep_register(url: &str, unix_s: u64) {
    sql(url, &format!("UPDATE register SET swept = {unix_s} - {}", trefoil_service::login::register::KEEP_S));
}

/// Runs statements in the database at this address, of the server of any process.
fn sql(url: &str, statements: &str) {
    let mut psql = Command::new(programs().unwrap().join("psql"));
    let done =
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", statements]).output().unwrap();
    assert!(done.status.success(), "{statements}: {}", String::from_utf8_lossy(&done.stderr));
}
