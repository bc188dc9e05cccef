//! Detects rows that another program wrote: one keyed sum over every row of a file, which each transaction updates.
//!
//! Every row has a keyed digest, and the sum of a file adds them word by word. The file keeps an HMAC of the sum together
//! with a count of its transactions, never the sum itself. Opening the file computes the sum from its rows. So an edited
//! field, a row that was added, removed, or brought back from an older copy, and a changed schema are all found. A table's own
//! code does nothing for this: the writing connection has temporary triggers, which no file holds, that report every row.
//!
//! The sum counts each row, so two equal rows do not cancel, as they would in an exclusive or. It must be secret: an attacker who knew it at
//! many times could solve for old rows that cancel out. An older copy of the whole
//! file is valid by itself. Its count reveals it to a party that remembers a higher one ([`super::Database::state`]), such as the file beside it,
//! whose HMAC includes it.

#![expect(
    clippy::disallowed_methods,
    reason = "the sum of a file's rows changes with each transaction, never with a look-up"
)]

use super::error::{StoreError, fault};
use aws_lc_rs::hmac;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use trefoil_matching::VaultState;

/// The function that adds a row to the sum, or takes it away.
const ROW: &str = "trefoil_row";
/// Bytes of a digest and of the sum.
const DIGEST_BYTES: usize = 32;
/// The table with the file's count and HMAC, which is not part of the sum.
const TABLE: &str = "authentic";
const SCHEMA: &str = "CREATE TABLE authentic (
    id INTEGER PRIMARY KEY CHECK (id = 0), generation INTEGER NOT NULL, restored INTEGER NOT NULL, beside INTEGER NOT NULL, hmac BLOB NOT NULL
) STRICT;";

/// The key of a file's rows.
#[derive(Clone)]
pub struct RowKey(hmac::Key);

/// The sum of a file's rows, kept by the connection that writes.
pub(super) struct Rows {
    key: RowKey,
    sum: Arc<Sum>,
    counts: Counts,
}

/// What the HMAC has besides the sum.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) state: VaultState,
    /// The transactions of the file beside it, as of the last one of this file.
    pub(super) beside: u64,
}

/// Four words, each changed separately, and only by the writing thread.
#[derive(Default)]
struct Sum {
    words: [AtomicU64; 4],
}

impl RowKey {
    /// The key from a secret of a data directory.
    pub fn of(secret: &[u8; 32]) -> RowKey {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let key = hmac::sign(&secret, b"trefoil/rows/1");
        RowKey(hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()))
    }

    /// The keyed digest of a row: the table, then each column, with its type and length.
    fn digest<'a>(
        &self,
        table: &str,
        columns: impl Iterator<Item = rusqlite::Result<ValueRef<'a>>>,
    ) -> rusqlite::Result<Digest> {
        let mut context = hmac::Context::with_key(&self.0);
        update(&mut context, b't', table.as_bytes());
        for column in columns {
            match column? {
                ValueRef::Null => update(&mut context, b'0', &[]),
                ValueRef::Integer(integer) => update(&mut context, b'i', &integer.to_le_bytes()),
                ValueRef::Real(real) => update(&mut context, b'r', &real.to_le_bytes()),
                ValueRef::Text(text) => update(&mut context, b's', text),
                ValueRef::Blob(blob) => update(&mut context, b'b', blob),
            }
        }
        Ok(digest_of(&context.sign()))
    }

    /// The HMAC in the file.
    fn seal(&self, counts: Counts, sum: Digest) -> Digest {
        let mut context = hmac::Context::with_key(&self.0);
        for count in [counts.state.generation, counts.state.restored, counts.beside] {
            update(&mut context, b'g', &count.to_le_bytes());
        }
        update(&mut context, b'g', &sum);
        digest_of(&context.sign())
    }
}

type Digest = [u8; DIGEST_BYTES];

fn digest_of(tag: &hmac::Tag) -> Digest {
    tag.as_ref().try_into().expect("HMAC-SHA256 has 32 bytes")
}

fn update(context: &mut hmac::Context, kind: u8, bytes: &[u8]) {
    context.update(&[kind]);
    context.update(&(bytes.len() as u64).to_le_bytes());
    context.update(bytes);
}

/// A table of the sum, and its columns.
struct Table {
    name: String,
    columns: Vec<String>,
}

impl Sum {
    /// Adds a row to the sum.
    fn add(&self, digest: &Digest) {
        for (word, bytes) in self.words.iter().zip(digest.as_chunks::<8>().0) {
            word.fetch_add(u64::from_le_bytes(*bytes), Relaxed);
        }
    }

    /// Removes a row from the sum.
    fn subtract(&self, digest: &Digest) {
        for (word, bytes) in self.words.iter().zip(digest.as_chunks::<8>().0) {
            word.fetch_sub(u64::from_le_bytes(*bytes), Relaxed);
        }
    }

    fn bytes(&self) -> Digest {
        let mut bytes = [0; DIGEST_BYTES];
        for (word, bytes) in self.words.iter().zip(bytes.as_chunks_mut::<8>().0) {
            *bytes = word.load(Relaxed).to_le_bytes();
        }
        bytes
    }

    fn set(&self, digest: &Digest) {
        for (word, bytes) in self.words.iter().zip(digest.as_chunks::<8>().0) {
            word.store(u64::from_le_bytes(*bytes), Relaxed);
        }
    }
}

impl Rows {
    /// Makes the table of a new file, inside the transaction that makes the others.
    pub(super) fn create(connection: &Connection, key: &RowKey) -> Result<(), StoreError> {
        connection.execute_batch(SCHEMA).map_err(fault)?;
        let hmac = key.seal(Counts::default(), sum(connection, key).map_err(fault)?.bytes());
        connection.execute("INSERT INTO authentic VALUES (0, 0, 0, 0, ?)", [hmac]).map(drop).map_err(fault)
    }

    /// Checks every row of the file. `schema` has the statements that made the tables.
    pub(super) fn verify(connection: &Connection, key: RowKey, schema: &str) -> Result<Rows, StoreError> {
        let altered = |what: &str| Err(StoreError::Altered(what.to_owned()));
        if objects(connection).map_err(fault)? != objects(&fresh(schema).map_err(fault)?).map_err(fault)? {
            return altered("its tables are not those that this program makes");
        }
        let kept = connection
            .query_row("SELECT generation, restored, beside, hmac FROM authentic", [], |row| {
                let state = VaultState { generation: row.get(0)?, restored: row.get(1)? };
                Ok((Counts { state, beside: row.get(2)? }, row.get::<_, Digest>(3)?))
            })
            .optional();
        let Some((counts, hmac)) = kept.map_err(fault)? else {
            return altered("the row that vouches for all others is missing");
        };
        let sum = sum(connection, &key).map_err(fault)?;
        if !same(&key.seal(counts, sum.bytes()), &hmac) {
            return altered("a row was edited, added, removed or brought back, or it belongs to another key");
        }
        Ok(Rows { key, sum: Arc::new(sum), counts })
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// The sum now, for [`Rows::go_back`] if the next write is undone.
    pub(super) fn mark(&self) -> Digest {
        self.sum.bytes()
    }

    pub(super) fn go_back(&self, mark: &Digest) {
        self.sum.set(mark);
    }

    /// The transaction is not committed.
    pub(super) fn undo(&mut self, mark: &Digest, counts: Counts) {
        self.sum.set(mark);
        self.counts = counts;
    }

    /// Ends a transaction that changed rows since `mark`: counts it, and writes the HMAC.
    pub(super) fn seal(
        &mut self,
        connection: &Connection,
        mark: &Digest,
        beside: u64,
    ) -> Result<(), StoreError> {
        if self.sum.bytes() == *mark { Ok(()) } else { self.note(connection, beside) }
    }

    /// Ends a transaction that notes the count of the file beside this one, also without a changed row.
    pub(super) fn note(&mut self, connection: &Connection, beside: u64) -> Result<(), StoreError> {
        let VaultState { generation, restored } = self.counts.state;
        let state = VaultState { generation: generation + 1, restored };
        self.put(connection, Counts { state, beside })
    }

    /// Notes that this file is older than the remembered state, and continues with both counts above the remembered ones.
    pub(super) fn accept_older(
        &mut self,
        connection: &Connection,
        remembered: VaultState,
        beside: u64,
    ) -> Result<(), StoreError> {
        let VaultState { generation, restored } = self.counts.state;
        let generation = generation.max(remembered.generation) + 1;
        let restored = restored.max(remembered.restored) + 1;
        self.put(connection, Counts { state: VaultState { generation, restored }, beside })
    }

    fn put(&mut self, connection: &Connection, counts: Counts) -> Result<(), StoreError> {
        let Counts { state: VaultState { generation, restored }, beside } = counts;
        let values = (generation, restored, beside, self.key.seal(counts, self.sum.bytes()));
        let update = "UPDATE authentic SET generation = ?, restored = ?, beside = ?, hmac = ?";
        connection.prepare_cached(update).and_then(|mut update| update.execute(values)).map_err(fault)?;
        self.counts = counts;
        Ok(())
    }

    /// Makes the sum follow every row that `connection` writes.
    pub(super) fn follow(&self, connection: &Connection) -> rusqlite::Result<()> {
        let (sum, key) = (Arc::clone(&self.sum), AssertUnwindSafe(self.key.clone()));
        connection.create_scalar_function(ROW, -1, FunctionFlags::SQLITE_UTF8, move |row| {
            let key = &key;
            let (is_new, name) = (row.get::<bool>(0)?, row.get_raw(1).as_str()?);
            let digest = key.digest(name, (2..row.len()).map(|index| Ok(row.get_raw(index))))?;
            if is_new {
                sum.add(&digest)
            } else {
                sum.subtract(&digest)
            }
            Ok(rusqlite::types::Null)
        })?;
        // Without this, a row that another one replaces is not reported.
        connection.pragma_update(None, "recursive_triggers", "ON")?;
        for Table { name, columns } in tables(connection)? {
            let report = |of: &str| {
                let columns: Vec<String> =
                    columns.iter().map(|column| format!("{of}.\"{column}\"")).collect();
                format!("SELECT {ROW}({}, '{name}', {});", u8::from(of == "NEW"), columns.join(", "))
            };
            for (event, reports) in [
                ("INSERT", report("NEW")),
                ("DELETE", report("OLD")),
                ("UPDATE", report("OLD") + &report("NEW")),
            ] {
                connection.execute_batch(&format!(
                    "CREATE TEMP TRIGGER \"{name}_{event}\" AFTER {event} ON main.\"{name}\" BEGIN {reports} END"
                ))?;
            }
        }
        Ok(())
    }
}

/// Compares in constant time.
fn same(one: &Digest, other: &Digest) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(one, other).is_ok()
}

/// The sum of every row in a file.
fn sum(connection: &Connection, key: &RowKey) -> rusqlite::Result<Sum> {
    let sum = Sum::default();
    for Table { name, columns } in tables(connection)? {
        let columns: Vec<String> = columns.iter().map(|column| format!("\"{column}\"")).collect();
        let mut statement =
            connection.prepare(&format!("SELECT {} FROM \"{name}\" NOT INDEXED", columns.join(", ")))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            sum.add(&key.digest(&name, (0..columns.len()).map(|index| row.get_ref(index)))?);
        }
    }
    Ok(sum)
}

fn tables(connection: &Connection) -> rusqlite::Result<Vec<Table>> {
    let mut statement = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    let names: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let summed = names.into_iter().filter(|name| name != TABLE && !name.starts_with("sqlite_"));
    summed
        .map(|name| {
            let statement = connection.prepare(&format!("SELECT * FROM \"{name}\""))?;
            let columns = statement.column_names().map(str::to_owned).collect();
            Ok(Table { name, columns })
        })
        .collect()
}

/// Every table, index and trigger with the text that made it.
fn objects(connection: &Connection) -> rusqlite::Result<Vec<(String, Option<String>)>> {
    let mut statement = connection.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name")?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn fresh(schema: &str) -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(schema)?;
    connection.execute_batch(SCHEMA)?;
    Ok(connection)
}

#[cfg(test)]
mod tests;
