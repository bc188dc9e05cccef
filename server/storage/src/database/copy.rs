//! Consistent copies of databases in use: taken at one moment, page by page, and checked like at a start.
//!
//! A read transaction in WAL mode sees the file as it was when it began, however much is written meanwhile. SQLite's backup copies this state,
//! so the copy has the rows, the count and the HMAC of one commit, and its sum of rows is correct. (`VACUUM INTO` would copy
//! rows and not pages. The sum would be correct as well, but a later examination could not see the pages.)
//!
//! Two databases are pinned at one moment if the first committed nothing while the second was pinned. A kill at that moment would have left
//! the same pair, and a start accepts it.

#![expect(clippy::disallowed_methods, reason = "a backup lets others write between two steps")]

use super::connection::{BUSY_TIMEOUT, check_pages, check_version, make_private, open_reader, user_version};
use super::error::{StoreError, fault};
use super::rows::{RowKey, Rows};
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trefoil_matching::VaultState;

/// Pages copied between two reports: 16 MiB.
const PAGES_AT_ONCE: i32 = 1024;
/// Most tries to pin a pair. A commit waits for the disk, so a pair is pinned between two commits within a few tries.
const TRIES_MAX: usize = 1000;
/// Pause before the next try, so that the tries do not fall into one group of commits.
const PAUSE: Duration = Duration::from_millis(1);

/// A database as it was at one moment. Until this is dropped, the write-ahead log grows.
pub struct Pinned {
    path: PathBuf,
    connection: Connection,
    state: VaultState,
}

impl Pinned {
    /// Pins a file.
    ///
    /// # Errors
    /// When SQLite cannot read it.
    pub fn at(path: &Path) -> Result<Pinned, StoreError> {
        let connection = open_reader(path).map_err(fault)?;
        connection.execute_batch("BEGIN").map_err(fault)?;
        let state = state(&connection)?;
        Ok(Pinned { path: path.to_owned(), connection, state })
    }

    /// Pins two files at one moment: neither had a commit between.
    ///
    /// # Errors
    /// When SQLite cannot read one, or the first is never still.
    pub fn together(first: &Path, second: &Path) -> Result<[Pinned; 2], StoreError> {
        let beside = open_reader(first).map_err(fault)?;
        for _ in 0..TRIES_MAX {
            let pair = [Pinned::at(first)?, Pinned::at(second)?];
            if state(&beside)? == pair[0].state {
                return Ok(pair);
            }
            std::thread::sleep(PAUSE);
        }
        Err(StoreError::Fault(format!("{} is never still; repeat this", first.display())))
    }

    /// How many transactions it counts.
    pub fn state(&self) -> VaultState {
        self.state
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads from it.
    ///
    /// # Errors
    /// When SQLite cannot.
    pub fn read<T>(
        &self,
        operation: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        operation(&self.connection)
    }

    /// Copies it to a new file, which is then complete by itself. `progress` gets the pages copied and their total.
    ///
    /// # Errors
    /// When SQLite or the disk refuse.
    pub fn copy_to(&self, path: &Path, mut progress: impl FnMut(u64, u64)) -> Result<(), StoreError> {
        make_private(path).map_err(fault)?;
        let mut copy = Connection::open(path).map_err(fault)?;
        copy.busy_timeout(BUSY_TIMEOUT).map_err(fault)?;
        {
            let backup = Backup::new(&self.connection, &mut copy).map_err(fault)?;
            loop {
                let step = backup.step(PAGES_AT_ONCE).map_err(fault)?;
                let done = backup.progress();
                let (pages, left) = (done.pagecount.unsigned_abs(), done.remaining.unsigned_abs());
                progress(u64::from(pages - left), u64::from(pages));
                match step {
                    StepResult::Done => break,
                    StepResult::More => {}
                    _ => std::thread::sleep(PAUSE),
                }
            }
        }
        // Its one file has everything, and nothing is left beside it.
        copy.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())).map_err(fault)?;
        copy.close().map_err(|(_, cause)| fault(cause))
    }
}

fn state(connection: &Connection) -> Result<VaultState, StoreError> {
    let counts = "SELECT generation, restored FROM authentic";
    let read = connection
        .query_row(counts, [], |row| Ok(VaultState { generation: row.get(0)?, restored: row.get(1)? }));
    read.map_err(fault)
}

/// Checks a file like at a start: every page, and that no other program wrote a row.
///
/// # Errors
/// As when it is opened.
pub fn check_copy(path: &Path, version: i64, schema: &str, key: RowKey) -> Result<VaultState, StoreError> {
    let connection = open_reader(path).map_err(fault)?;
    check_pages(&connection)?;
    check_version(path, user_version(&connection)?, version)?;
    Rows::verify(&connection, key, schema).map(|rows| rows.counts().state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Database;
    use crate::supervisor::Supervisor;
    use crate::table::Rows as _;
    use std::sync::atomic::{AtomicBool, Ordering};

    const SCHEMA: &str = "CREATE TABLE numbers (number INTEGER PRIMARY KEY) STRICT";

    fn key() -> RowKey {
        RowKey::of(&[7; 32])
    }

    fn newest(pinned: &Pinned) -> u64 {
        let newest = "SELECT coalesce(max(number), 0) FROM numbers";
        pinned.read(|connection| connection.number(newest, &[])).unwrap().unwrap()
    }

    /// Ends the load, even if the test fails.
    struct Ends<'a>(&'a AtomicBool);

    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Claim V30.
    ///
    /// A number is written to the first file before it is to the second, as a salt is before its template.
    #[test]
    fn a_pair_is_pinned_at_one_moment_while_both_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["first.sqlite", "second.sqlite"].map(|name| folder.path().join(name));
        let open = |path: &PathBuf| Database::open(path, 1, SCHEMA, key(), &Supervisor::default()).unwrap();
        let databases = paths.each_ref().map(open);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 1_u64.. {
                    for database in &databases {
                        let insert = move |connection: &Connection| {
                            connection
                                .execute("INSERT INTO numbers VALUES (?)", [number])
                                .map(drop)
                                .map_err(fault)
                        };
                        database.write(insert).unwrap();
                    }
                    if done.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
            let _ends = Ends(&done);
            let mut last = 0;
            for round in 0..50 {
                let pair = Pinned::together(&paths[0], &paths[1]).unwrap();
                let numbers = pair.each_ref().map(newest);
                assert!((0..=1).contains(&(numbers[0] - numbers[1])), "{numbers:?}");
                // However long the copy takes.
                while databases[0].state().generation < pair[0].state().generation + 2 {
                    std::thread::yield_now();
                }
                assert_eq!(pair.each_ref().map(newest), numbers);
                let copy = folder.path().join(format!("copy-{round}"));
                pair[0].copy_to(&copy, |_, _| ()).unwrap();
                assert_eq!(check_copy(&copy, 1, SCHEMA, key()).unwrap(), pair[0].state());
                let beside = ["-wal", "-shm"].map(|end| folder.path().join(format!("copy-{round}{end}")));
                assert!(beside.iter().all(|path| !path.exists()), "the copy is one file");
                let edited = Connection::open(&copy).unwrap().execute("INSERT INTO numbers VALUES (0)", []);
                assert_eq!(edited, Ok(1));
                assert!(matches!(check_copy(&copy, 1, SCHEMA, key()), Err(StoreError::Altered(_))));
                assert!(numbers[0] >= last);
                last = numbers[0];
            }
        });
    }
}
