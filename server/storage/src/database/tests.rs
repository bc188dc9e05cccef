use super::*;
use crate::database::log::LOG_MAX;
use crate::table::Rows as _;
use sha3::{Digest as _, Sha3_256};
use std::collections::BTreeSet;
use std::ops::Range;
use trefoil_testing::{Patterns, search};

fn key() -> RowKey {
    RowKey::of(&[7; 32])
}

#[test]
fn a_panicking_writer_is_named_and_waiting_writes_fail() {
    let folder = tempfile::tempdir().unwrap();
    let supervisor = Supervisor::default();
    let schema = "CREATE TABLE numbers (number INTEGER NOT NULL) STRICT";
    let path = folder.path().join("db.sqlite");
    let database = Database::open(&path, 1, schema, key(), &supervisor).unwrap();
    let insert = |connection: &Connection| {
        connection.execute("INSERT INTO numbers VALUES (1)", []).map(drop).map_err(fault)
    };
    database.write(insert).unwrap();
    let (begin, begun) = sync_channel(0);
    let (told, waits) = sync_channel(8);
    let held = move |_: &Connection| {
        begun.recv().unwrap();
        panic!("this test has the writer panic")
    };
    database.write_behind(held, |_| ()).unwrap();
    // These writes wait behind it, or with it.
    for _ in 0..4 {
        let told = told.clone();
        database.write_behind(insert, move |outcome| told.send(outcome).unwrap()).unwrap();
    }
    drop(told);
    begin.send(()).unwrap();
    assert_eq!(waits.iter().collect::<Vec<_>>(), [], "their answers are dropped, not kept");
    while supervisor.death().is_none() {
        std::thread::yield_now();
    }
    assert_eq!(supervisor.death().unwrap().thread, "store-writer");
    assert_eq!(database.write(insert), Err(StoreError::Fault("the writer has stopped".to_owned())));
    let kept = database.read(|connection| connection.number("SELECT count(*) FROM numbers", &[]));
    assert_eq!(kept, Ok(Some(1)), "what was acknowledged is there");
}

const PEOPLE: &str =
    "CREATE TABLE people (handle BLOB PRIMARY KEY, salt BLOB NOT NULL) STRICT, WITHOUT ROWID";

/// Handle and salt of a person.
fn person(number: u32) -> [Vec<u8>; 2] {
    let [handle, mut salt] = ["handle", "salt"].map(|of| Sha3_256::digest(format!("{of} {number}")).to_vec());
    // Rows of different lengths leave more behind.
    salt.resize(32 + 30 * usize::from(handle[0]), 0);
    [handle, salt]
}

fn insert(database: &Database, numbers: Range<u32>) {
    let all = move |connection: &Connection| {
        for number in numbers {
            connection.execute("INSERT INTO people VALUES (?1, ?2)", person(number)).map_err(fault)?;
        }
        Ok(())
    };
    database.write(all).unwrap();
}

fn delete(database: &Database, numbers: Range<u32>) {
    let all = move |connection: &Connection| {
        for number in numbers {
            let [handle, _] = person(number);
            connection.execute("DELETE FROM people WHERE handle = ?1", [handle]).map_err(fault)?;
        }
        Ok(())
    };
    database.shred(all).unwrap();
}

/// Which of these people's salts are in the file or its log.
fn in_files(path: &Path, numbers: Range<u32>) -> Vec<u32> {
    let mut patterns = Patterns::new();
    for number in numbers {
        let [_, salt] = person(number);
        patterns
            .entry(salt[..8].try_into().unwrap())
            .or_default()
            .push((salt[..32].to_vec(), number.to_string()));
    }
    let files = [path.to_owned(), log_of(path)].map(|file| std::fs::read(file).unwrap_or_default());
    let found: BTreeSet<String> = files.iter().flat_map(|file| search(file, &patterns)).collect();
    found.iter().map(|number| number.parse().unwrap()).collect()
}

/// Claim V53.
#[test]
fn of_deleted_rows_nothing_is_in_the_file_although_pages_were_divided_and_joined() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db.sqlite");
    let database = Database::open(&path, 1, PEOPLE, key(), &Supervisor::default()).unwrap();
    insert(&database, 0..1_000);
    assert_eq!(in_files(&path, 0..1_000).len(), 1_000);
    for round in 0..20 {
        let leaving = round * 50..(round + 1) * 50;
        delete(&database, leaving.clone());
        assert!(in_files(&path, leaving).is_empty());
    }
}

/// Claim V53.
#[test]
fn what_a_program_that_cleared_nothing_left_behind_is_gone_after_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db.sqlite");
    let connection = Connection::open(&path).unwrap();
    prepare(&connection).unwrap();
    connection.execute_batch(&format!("{PEOPLE}; PRAGMA user_version = 1")).unwrap();
    let execute = |sql: &str, number: u32, values: usize| {
        connection.execute(sql, rusqlite::params_from_iter(&person(number)[..values])).unwrap();
    };
    (0..1_000).for_each(|number| execute("INSERT INTO people VALUES (?1, ?2)", number, 2));
    // Until something is left behind, or this test shows nothing.
    let mut leaving = 0;
    while in_files(&path, 0..leaving).is_empty() {
        assert!(leaving < 1_000, "SQLite left nothing");
        (leaving..leaving + 10).for_each(|number| execute("DELETE FROM people WHERE handle = ?1", number, 1));
        connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        leaving += 10;
    }
    Rows::create(&connection, &key()).unwrap();
    drop(connection);
    let database = Database::open(&path, 1, PEOPLE, key(), &Supervisor::default()).unwrap();
    assert!(in_files(&path, 0..leaving).is_empty());
    drop(database);
}

/// Claim V53.
#[test]
fn a_log_that_a_reader_kept_is_emptied_once_the_reader_ends_although_nobody_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db.sqlite");
    let database = Database::open(&path, 1, PEOPLE, key(), &Supervisor::default()).unwrap();
    insert(&database, 7..8);
    let reader = open_reader(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM people").unwrap();
    delete(&database, 7..8);
    assert_eq!(in_files(&path, 7..8), [7_u32], "the reader sees the person, so the log has the row");
    drop(reader);
    while !in_files(&path, 7..8).is_empty() {
        std::thread::yield_now();
    }
}

#[test]
fn a_long_log_is_moved_into_the_file_without_a_deletion() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db.sqlite");
    let database = Database::open(&path, 1, PEOPLE, key(), &Supervisor::default()).unwrap();
    let before = std::fs::metadata(&path).unwrap().len();
    for number in 0..LOG_MAX {
        insert(&database, number..number + 1);
    }
    assert!(std::fs::metadata(&path).unwrap().len() > before);
    let log = std::fs::metadata(log_of(&path)).unwrap().len();
    (LOG_MAX..2 * LOG_MAX).for_each(|number| insert(&database, number..number + 1));
    let grown = std::fs::metadata(log_of(&path)).unwrap().len();
    assert!(grown < 2 * log, "it begins anew: {log} bytes, then {grown}");
}

/// Claim V53.
#[test]
fn of_a_write_that_was_undone_nothing_stays_on_a_free_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db.sqlite");
    let database = Database::open(&path, 1, PEOPLE, key(), &Supervisor::default()).unwrap();
    // Pages that are free.
    insert(&database, 0..400);
    delete(&database, 0..400);
    insert(&database, 1_000..1_060);
    let undone = |connection: &Connection| -> Result<(), StoreError> {
        for number in 2_000..2_040 {
            connection.execute("INSERT INTO people VALUES (?1, ?2)", person(number)).map_err(fault)?;
        }
        Err(StoreError::Busy)
    };
    assert_eq!(database.write(undone), Err(StoreError::Busy));
    delete(&database, 1_000..1_060);
    assert!(in_files(&path, 1_000..1_060).is_empty());
}

#[test]
fn while_a_reader_keeps_the_log_only_who_deletes_waits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db.sqlite");
    let database = Database::open(&path, 1, PEOPLE, key(), &Supervisor::default()).unwrap();
    insert(&database, 0..2);
    let reader = open_reader(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM people").unwrap();
    let took = |work: &dyn Fn()| {
        let begun = std::time::Instant::now();
        work();
        begun.elapsed()
    };
    let deletion = took(&|| delete(&database, 0..1));
    let writes = took(&|| (2..6).for_each(|number| insert(&database, number..number + 1)));
    assert!(
        writes < deletion,
        "four writes took {writes:?}, and a deletion that waited for the reader {deletion:?}"
    );
}
