//! Opening a file with a key finds everything that another program wrote.

use super::*;
use crate::Supervisor;
use crate::database::{Database, Survives};
use crate::table::Rows as _;
use std::path::Path;

const SCHEMA: &str = "CREATE TABLE people (
    name TEXT PRIMARY KEY, age INTEGER NOT NULL, face BLOB NOT NULL, friend TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE notes (number INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE INDEX by_text ON notes (text);";

fn open(path: &Path) -> Result<Database, StoreError> {
    let supervisor = Supervisor::default();
    Database::open(path, 1, SCHEMA, RowKey::of(&[7; 32]), &supervisor)
}

fn write(database: &Database, sql: &'static str) -> Result<(), StoreError> {
    database.write(move |connection| connection.execute_batch(sql).map_err(fault))
}

/// An edit by a program that has the file and no key.
fn edit(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn filled(path: &Path) -> VaultState {
    let database = open(path).unwrap();
    write(&database, "INSERT INTO people VALUES ('ann', 40, x'01', NULL), ('bob', 50, x'02', 'ann')")
        .unwrap();
    write(&database, "INSERT INTO notes VALUES (1, 'one'), (2, 'two')").unwrap();
    database.state()
}

#[test]
fn a_file_that_only_this_program_wrote_to_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db.sqlite");
    let state = filled(&path);
    assert_eq!(state.generation, 2);
    let database = open(&path).unwrap();
    assert_eq!(database.state(), state);
    for sql in [
        "UPDATE people SET age = age + 1",
        "UPDATE people SET name = 'eve' WHERE name = 'bob'",
        "UPDATE notes SET number = 7, text = 'x' WHERE number = 1",
        "INSERT INTO people VALUES ('eve', 1, x'', NULL) ON CONFLICT DO UPDATE SET age = 99",
        "INSERT OR REPLACE INTO notes VALUES (2, 'again'), (3, 'new')",
        "INSERT INTO notes VALUES (2, 'ignored') ON CONFLICT DO NOTHING",
        "DELETE FROM people WHERE name = 'ann'",
        "DELETE FROM notes",
        "INSERT INTO notes VALUES (9, 'nine')",
    ] {
        write(&database, sql).unwrap_or_else(|cause| panic!("{sql}: {cause}"));
    }
    // A failed write undoes only itself, also in the sum; so does one that does not wait for the disk.
    let failed = database.write(|connection| {
        connection.execute_batch("DELETE FROM notes").map_err(fault)?;
        Err::<(), _>(StoreError::Conflict)
    });
    assert_eq!(failed, Err(StoreError::Conflict));
    let before = database.state();
    let insert = |connection: &Connection| {
        connection.execute("INSERT INTO notes VALUES (10, 'ten')", []).map(drop).map_err(fault)
    };
    database.write_surviving(Survives::Kill, insert).unwrap();
    assert_eq!(database.state(), before, "a power cut may take it");
    write(&database, "INSERT INTO notes VALUES (11, 'eleven')").unwrap();
    assert_eq!(database.state().generation, before.generation + 2);
    drop(database);
    let database = open(&path).unwrap();
    let notes = database.read(|connection| connection.number("SELECT sum(number) FROM notes", &[]));
    assert_eq!(notes, Ok(Some(30)));
}

/// Claim V25: No row of the vault or the store that another program wrote is used. Credential roots come from their signed statements.
#[test]
fn every_edit_of_a_row_or_of_the_tables_is_refused() {
    for sql in [
        "UPDATE people SET name = 'eve' WHERE name = 'ann'",
        "UPDATE people SET age = 41 WHERE name = 'ann'",
        "UPDATE people SET face = x'03' WHERE name = 'ann'",
        "UPDATE people SET friend = 'bob' WHERE name = 'ann'",
        "UPDATE people SET friend = NULL WHERE name = 'bob'",
        "UPDATE people SET face = CASE name WHEN 'ann' THEN x'02' ELSE x'01' END",
        "INSERT INTO people VALUES ('eve', 1, x'00', NULL)",
        "DELETE FROM people WHERE name = 'bob'",
        "DELETE FROM people",
        "UPDATE notes SET number = 3 WHERE number = 2",
        "UPDATE notes SET text = 'two ' WHERE number = 2",
        "UPDATE authentic SET generation = 9",
        "UPDATE authentic SET restored = 1",
        "UPDATE authentic SET hmac = zeroblob(32)",
        "DELETE FROM authentic",
        "DROP TABLE authentic",
        "CREATE TABLE more (number INTEGER)",
        "DROP INDEX by_text",
        "ALTER TABLE notes ADD COLUMN more INTEGER",
        "CREATE TRIGGER t AFTER UPDATE ON people BEGIN UPDATE people SET age = 1; END",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db.sqlite");
        filled(&path);
        edit(&path, sql);
        let refused = open(&path).err();
        assert!(matches!(refused, Some(StoreError::Altered(_))), "{sql}: {refused:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db.sqlite");
    filled(&path);
    let key = RowKey::of(&[8; 32]);
    let other = Database::open(&path, 1, SCHEMA, key, &Supervisor::default()).err();
    assert!(matches!(other, Some(StoreError::Altered(_))), "another key");
}

/// Two equal rows would cancel in an exclusive or. SQLite refuses two rows with one key, but an edit of the file can add them.
#[test]
fn two_equal_rows_that_somebody_adds_do_not_cancel() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db.sqlite");
    filled(&path);
    let connection = Connection::open(&path).unwrap();
    let schema = "SELECT sql FROM sqlite_schema WHERE name = 'notes'";
    let honest: String = connection.query_row(schema, [], |row| row.get(0)).unwrap();
    let version = |connection: &Connection| -> u32 {
        connection.query_row("PRAGMA schema_version", [], |row| row.get(0)).unwrap()
    };
    let relaxed = honest.replace("INTEGER PRIMARY KEY", "INTEGER");
    assert_ne!(honest, relaxed);
    for (made, more) in [(&relaxed, true), (&honest, false)] {
        connection.pragma_update(None, "writable_schema", "ON").unwrap();
        connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'notes'", [made]).unwrap();
        let next = version(&connection) + 1;
        connection.pragma_update(None, "schema_version", next).unwrap();
        connection.pragma_update(None, "writable_schema", "OFF").unwrap();
        let other = Connection::open(&path).unwrap();
        if more {
            // The former key is now a column, which is empty in the existing rows.
            other.execute_batch("UPDATE notes SET number = rowid").unwrap();
            other
                .execute_batch("INSERT INTO notes VALUES (9, 'x'); INSERT INTO notes VALUES (9, 'x')")
                .unwrap();
        }
    }
    drop(connection);
    let refused = open(&path).err();
    assert!(matches!(refused, Some(StoreError::Altered(_) | StoreError::Fault(_))), "{refused:?}");
    // Only the sum detects it, because it counts rows.
    let (sum, digest) = (Sum::default(), [7; DIGEST_BYTES]);
    let before = sum.bytes();
    sum.add(&digest);
    let once = sum.bytes();
    sum.add(&digest);
    assert!(sum.bytes() != before && sum.bytes() != once);
    sum.subtract(&digest);
    sum.subtract(&digest);
    assert_eq!(sum.bytes(), before);
}

#[test]
fn an_older_row_in_a_newer_file_is_refused_and_an_older_file_counts_less() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("db.sqlite"), folder.path().join("copy.sqlite"));
    let older = filled(&path);
    std::fs::copy(&path, &copy).unwrap();
    let database = open(&path).unwrap();
    write(&database, "UPDATE people SET age = 41 WHERE name = 'ann'").unwrap();
    write(&database, "DELETE FROM people WHERE name = 'bob'").unwrap();
    let newer = database.state();
    assert_eq!(newer.generation, older.generation + 2);
    drop(database);
    let attach =
        format!("ATTACH '{}' AS old; INSERT OR REPLACE INTO people SELECT * FROM old.people", copy.display());
    edit(&path, &attach);
    assert!(matches!(open(&path).err(), Some(StoreError::Altered(_))));
    // With the old HMAC row, all rows and the count are the old ones.
    edit(&path, &format!("{attach}; INSERT OR REPLACE INTO authentic SELECT * FROM old.authentic"));
    assert_eq!(open(&path).unwrap().state(), older);

    let database = open(&copy).unwrap();
    database.accept_older(newer).unwrap();
    let accepted = database.state();
    assert_eq!(
        (accepted.generation, accepted.restored),
        (newer.generation + 1, 1),
        "above what is remembered"
    );
    // A copy of a file that was accepted as an older one before.
    database.accept_older(VaultState { generation: 0, restored: 5 }).unwrap();
    assert_eq!(database.state(), VaultState { generation: accepted.generation + 1, restored: 6 });
    let accepted = database.state();
    drop(database);
    assert_eq!(open(&copy).unwrap().state(), accepted);
}

/// Claim V42.
#[test]
fn files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db.sqlite");
    let database = open(&path).unwrap();
    write(&database, "INSERT INTO notes VALUES (1, 'one')").unwrap();
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(files.len(), 3, "the database, its log, and the index of the log: {files:?}");
    for file in files {
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", file.file_name());
    }
}

/// Claim V25.
///
/// No write can come between the check and the load after it: until the first write both see the same transaction.
#[test]
fn what_is_loaded_after_the_check_is_what_was_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db.sqlite");
    filled(&path);
    let database = open(&path).unwrap();
    let age = || {
        let ann = "SELECT age FROM people WHERE name = 'ann'";
        database.read(|connection| connection.number(ann, &[])).unwrap().unwrap()
    };
    edit(&path, "UPDATE people SET age = 41 WHERE name = 'ann'");
    assert_eq!((age(), age()), (40, 40));
    // The first write finds that another program wrote.
    let refused = write(&database, "UPDATE notes SET text = 'three'");
    assert!(matches!(refused, Err(StoreError::Altered(_))), "{refused:?}");
}

/// Claim V25.
#[test]
fn somebody_elses_write_under_a_running_program_ends_it_at_the_next_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db.sqlite");
    filled(&path);
    let supervisor = Supervisor::default();
    let key = RowKey::of(&[7; 32]);
    let database = Database::open(&path, 1, SCHEMA, key, &supervisor).unwrap();
    write(&database, "UPDATE notes SET text = 'three' WHERE number = 1").unwrap();
    let text = || {
        let one = "SELECT text FROM notes WHERE number = 1";
        let read = |connection: &Connection| {
            connection.query_row(one, [], |row| row.get::<_, String>(0)).map_err(fault)
        };
        database.read(read).unwrap()
    };
    assert_eq!(text(), "three", "what this program wrote is read, and no transaction of before it");
    assert!(supervisor.death().is_none());
    edit(&path, "UPDATE people SET age = 41 WHERE name = 'ann'");
    let refused = write(&database, "UPDATE notes SET text = 'four' WHERE number = 1");
    assert!(matches!(refused, Err(StoreError::Altered(_))), "{refused:?}");
    let death = supervisor.death().expect("the process is told to end").to_string();
    assert!(death.contains("db.sqlite") && death.contains("another program"), "{death}");
    assert_eq!(text(), "three");
    drop(database);
    assert!(matches!(open(&path).err(), Some(StoreError::Altered(_))), "and it does not start again");
}
