//! The edits of somebody who has one of our SQLite files but no key: one field of one row at a time, in every table.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::path::Path;

/// Edits of each table, at least: every column has one.
pub const EDITS: usize = 20;

/// Changes [`EDITS`] fields of each table of the file, one at a time, each in the original file. `refused` gets a description of the
/// change and opens the file. Rows, columns and values are drawn from a fixed seed. At the end the file is the original again.
///
/// # Panics
/// If a table is empty, or the file cannot be read or written.
pub fn edit_fields(path: &Path, mut refused: impl FnMut(&str)) {
    let good = std::fs::read(path).expect("the file is there");
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15);
    let restore = || {
        std::fs::write(path, &good).expect("the file can be written");
        for beside in ["-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(beside);
            let _ = std::fs::remove_file(name);
        }
    };
    let tables = tables(&open(path));
    for table in tables {
        for number in 0.. {
            restore();
            let Some(edit) = edit_one(&open(path), &table, number, &mut rng) else { break };
            refused(&edit);
        }
    }
    restore();
}

fn open(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("SQLite opens the file");
    connection
        .execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
        .expect("both exist");
    connection
}

pub(crate) fn tables(connection: &Connection) -> Vec<String> {
    let named =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let mut statement = connection.prepare(named).expect("a schema");
    let names = statement.query_map([], |row| row.get(0)).expect("a schema");
    names.collect::<Result<_, _>>().expect("names are text")
}

/// Changes one field to a value that the table accepts, and returns which: every column in turn, then random columns.
fn edit_one(connection: &Connection, table: &str, number: usize, rng: &mut Rng) -> Option<String> {
    let select = format!("SELECT * FROM \"{table}\"");
    let mut statement = connection.prepare(&select).expect("a table");
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    if number >= EDITS.max(columns.len()) {
        return None;
    }
    let row = |row: &rusqlite::Row<'_>| (0..columns.len()).map(|at| row.get::<_, Value>(at)).collect();
    let rows: Vec<Vec<Value>> =
        statement.query_map([], row).expect("rows").collect::<Result<_, _>>().expect("values");
    assert!(!rows.is_empty(), "{table} is empty: fill it, or nothing of it is tested");
    let is_row: Vec<String> = columns.iter().map(|column| format!("\"{column}\" IS ?")).collect();
    // Until a value violates no key: another row may have it.
    for _ in 0..1_000 {
        let row = &rows[rng.below(rows.len())];
        let at = if number < columns.len() { number } else { rng.below(columns.len()) };
        let new = other_value(&row[at], rng);
        let (column, edit) = (&columns[at], is_row.join(" AND "));
        let update = format!("UPDATE \"{table}\" SET \"{column}\" = ? WHERE {edit}");
        let values = std::iter::once(&new).chain(row);
        if connection.execute(&update, params_from_iter(values)) == Ok(1) {
            return Some(format!("{table}.{column}: {new:?} instead of {:?}", row[at]));
        }
    }
    panic!("no field of {table} takes another value");
}

/// A different value: changed a little, drawn at random, zero or empty.
fn other_value(old: &Value, rng: &mut Rng) -> Value {
    let new = match (old, rng.below(3)) {
        (Value::Null, 0) => Value::Integer(1),
        (Value::Null, 1) => Value::Blob(vec![1]),
        (Value::Null, _) => Value::Text("x".to_owned()),
        (Value::Integer(_), 0) => Value::Integer(0),
        (Value::Integer(old), 1) => Value::Integer(old ^ (1 << rng.below(31))),
        (Value::Integer(_), _) => Value::Integer(rng.next() as i64 >> 33),
        (Value::Real(old), _) => Value::Real(old + 1.0),
        (Value::Text(old), 0) => Value::Text(format!("{old} ")),
        (Value::Text(_), 1) => Value::Text(String::new()),
        (Value::Text(old), _) => Value::Text(old.chars().rev().collect()),
        (Value::Blob(old), 0) => Value::Blob(vec![0; old.len()]),
        (Value::Blob(old), 1) => Value::Blob(old[..old.len().saturating_sub(1)].to_vec()),
        (Value::Blob(old), _) => {
            let mut new = old.clone();
            match new.is_empty() {
                true => new.push(0),
                false => {
                    let at = rng.below(new.len());
                    new[at] ^= 1 << rng.below(8);
                }
            }
            Value::Blob(new)
        }
    };
    if new == *old { other_value(old, rng) } else { new }
}

/// SplitMix64 (Steele, Lea, Flood 2014): this crate has no generator of its own to depend on.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
