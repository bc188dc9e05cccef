//! Damage to a file of a data directory, and what its databases hold.

use crate::fields::{Rng, tables};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Copies a directory with its permissions, in place of what is there.
///
/// # Panics
/// If it cannot be copied.
pub fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.is_ok_and(|status| status.success()), "{} cannot be copied", from.display());
}

/// Every row of a database, by a connection of its own, which makes files beside it.
///
/// # Panics
/// If it cannot be read.
pub fn rows(database: &Path) -> Vec<Vec<Value>> {
    let opened = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let connection = opened.expect("SQLite opens the file");
    let of = |table: String| -> Vec<Vec<Value>> {
        let select = format!("SELECT * FROM \"{table}\" ORDER BY 1, 2");
        let mut statement = connection.prepare(&select).expect("a table");
        let columns = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..columns).map(|at| row.get(at)).collect();
        statement.query_map([], row).expect("rows").collect::<Result<_, _>>().expect("values")
    };
    tables(&connection).into_iter().flat_map(of).collect()
}

/// Damages a file in one of eight ways, by `round`, and says in which. `older` and `other` are directories with an earlier copy of the file and
/// with that of another installation.
///
/// # Panics
/// If the file cannot be written.
pub fn damage(path: &Path, round: usize, older: &Path, other: &Path) -> &'static str {
    let mut rng = Rng(round as u64);
    let name = path.file_name().expect("a file");
    let mut bytes = fs::read(path).unwrap_or_default();
    let length = bytes.len();
    let said = match round % 8 {
        0 if length > 0 => {
            bytes[rng.below(length)] ^= 1 << rng.below(8);
            "one bit"
        }
        1 if length > 0 => {
            for _ in 0..200.min(length) {
                bytes[rng.below(length)] = rng.next() as u8;
            }
            "bytes"
        }
        2 if length > 0 => {
            let page = rng.below(length.div_ceil(4096)) * 4096;
            bytes[page..length.min(page + 4096)].fill(rng.next() as u8);
            "a page"
        }
        3 if length > 0 => {
            bytes.truncate(rng.below(length));
            "cut"
        }
        4 => {
            fs::remove_file(path).expect("the file is there");
            return "missing";
        }
        5 => {
            bytes.clear();
            "empty"
        }
        6 => {
            bytes = fs::read(older.join(name)).unwrap_or_default();
            "older"
        }
        _ => {
            bytes = fs::read(other.join(name)).unwrap_or_default();
            "of another installation"
        }
    };
    fs::write(path, bytes).expect("the file can be written");
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("the file is ours");
    said
}
