//! Tables whose rows carry a keyed code, and the statements over them.
//!
//! A row is a list of numbers and bytes. Its last column, `mac`, is an HMAC-SHA256 over the table's name and every other column. So a row that
//! somebody else wrote, edited, or moved to another key is refused when it is read.
//!
//! A row that was removed, or replaced by an earlier one with the same key, still has a code that fits. In tables that a start loads as a whole
//! (tenants, policies, API keys, operators, roots) the row of `node` vouches for the sum over all rows, as a SQLite file does for all tables. In
//! the others it is not noticed: see LIMITS.md.

use crate::link::Link;
use aws_lc_rs::hmac;
use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use trefoil_storage::store::fleet::{Change, Item};
use trefoil_storage::store::{PRUNED_BYTES_MAX, Seal, StoreError, StoreRows};
use trefoil_storage::table::{Kind, Named, Of, Record as _, Records as _, Rows as TableRows, Table, Value};
use trefoil_types::TenantId;

/// The sum of the secret digests of the rows of all summed tables, word by word. It follows each change of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum([u64; 4]);

impl Sum {
    fn add(self, digest: &[u8; 32]) -> Sum {
        self.with(digest, u64::wrapping_add)
    }

    fn subtract(self, digest: &[u8; 32]) -> Sum {
        self.with(digest, u64::wrapping_sub)
    }

    fn with(mut self, digest: &[u8; 32], change: impl Fn(u64, u64) -> u64) -> Sum {
        for (word, bytes) in self.0.iter_mut().zip(digest.as_chunks::<8>().0) {
            *word = change(*word, u64::from_le_bytes(*bytes));
        }
        self
    }

    /// As bytes, for a code.
    pub(crate) fn bytes(self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// How long changes are kept for other nodes, seconds.
const KEPT_S: u64 = 600;

/// The column behind those of a record.
pub(crate) const MAC: &str = "mac";

/// The values as parameters of a statement.
pub(crate) fn parameters<'a>(values: &'a [Value<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    let parameter = |value: &'a Value<'_>| -> &'a (dyn ToSql + Sync) {
        match value {
            Value::Number(number) => number,
            Value::Bytes(bytes) => bytes,
        }
    };
    values.iter().map(parameter).collect()
}

/// The key of the codes.
pub(crate) struct RowMac {
    code: hmac::Key,
    /// Of the digests that are summed. An administrator sees codes, and could solve for old rows whose codes have the same sum.
    digest: hmac::Key,
    /// Of what hides a sum, with a nonce.
    pad: hmac::Key,
}

impl RowMac {
    /// From a secret of the data directory.
    pub(crate) fn of(secret: &[u8; 32]) -> RowMac {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let key = |name: &[u8]| hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&secret, name).as_ref());
        let [code, digest, pad] =
            [&b"trefoil/postgres/code/1"[..], b"trefoil/postgres/digest/1", b"trefoil/postgres/sum/1"]
                .map(key);
        RowMac { code, digest, pad }
    }

    /// The code of a row.
    pub(crate) fn sign(&self, table: &str, values: &[Value<'_>]) -> [u8; 32] {
        tag(&self.code, table, values)
    }

    /// The digest of a row that is summed.
    fn digest(&self, table: &Table, row: &[Value<'_>]) -> [u8; 32] {
        tag(&self.digest, table.name, row)
    }

    /// A sum for the database, from which its administrator learns nothing about the digests of rows.
    pub(crate) fn hide(&self, sum: Sum) -> Result<Vec<u8>, StoreError> {
        let mut hidden = vec![0; 16];
        aws_lc_rs::rand::fill(&mut hidden).map_err(|cause| StoreError::Fault(cause.to_string()))?;
        let pad = hmac::sign(&self.pad, &hidden);
        hidden.extend(sum.bytes().iter().zip(pad.as_ref()).map(|(byte, pad)| byte ^ pad));
        Ok(hidden)
    }

    /// The sum that is hidden there.
    pub(crate) fn show(&self, hidden: &[u8]) -> Option<Sum> {
        let (nonce, hidden) = hidden.split_at_checked(16)?;
        let pad = hmac::sign(&self.pad, nonce);
        let bytes: Vec<u8> = hidden.iter().zip(pad.as_ref()).map(|(byte, pad)| byte ^ pad).collect();
        let words: &[[u8; 8]; 4] = bytes.as_chunks().0.try_into().ok()?;
        (hidden.len() == 32).then(|| Sum(words.map(u64::from_le_bytes)))
    }

    /// The columns of a row, whose last one is their code.
    fn open<'a>(&self, table: &Table, row: &'a Row) -> Result<Vec<Value<'a>>, StoreError> {
        let strange = |_| forged(table, "has a column of a type that this program does not make");
        let column = |(at, column): (usize, &Named)| match column.kind {
            Kind::Number => row.try_get(at).map(Value::Number),
            Kind::Bytes => row.try_get(at).map(Value::Bytes),
        };
        let values: Result<Vec<Value<'a>>, _> = table.columns.iter().enumerate().map(column).collect();
        let values = values.map_err(strange)?;
        let code: Option<&[u8]> = row.try_get(table.columns.len()).map_err(strange)?;
        let expected = self.sign(table.name, &values);
        let is_ours = code
            .is_some_and(|code| aws_lc_rs::constant_time::verify_slices_are_equal(code, &expected).is_ok());
        match is_ours {
            true => Ok(values),
            false => Err(forged(table, "is not one that this installation wrote")),
        }
    }
}

/// A code: the table, then each column with its kind and length.
fn tag(key: &hmac::Key, table: &str, values: &[Value<'_>]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(key);
    let mut update = |kind: u8, bytes: &[u8]| {
        context.update(&[kind]);
        context.update(&(bytes.len() as u64).to_le_bytes());
        context.update(bytes);
    };
    update(b't', table.as_bytes());
    for value in values {
        match value {
            Value::Number(None) | Value::Bytes(None) => update(b'0', &[]),
            Value::Number(Some(number)) => update(b'i', &number.to_le_bytes()),
            Value::Bytes(Some(bytes)) => update(b'b', bytes),
        }
    }
    context.sign().as_ref().try_into().expect("HMAC-SHA256 has 32 bytes")
}

fn forged(table: &Table, what: &str) -> StoreError {
    StoreError::Forged(format!("a row of the table {} {what}", table.name))
}

/// The statements, on one connection.
pub(crate) struct Rows<'a> {
    pub(crate) link: &'a Link,
    pub(crate) mac: &'a RowMac,
    /// Follows each change of a summed table. Readers do not use it.
    pub(crate) sum: Cell<Sum>,
    /// What the other nodes of a fleet are told of this transaction.
    pub(crate) telling: Option<Telling>,
}

/// What other nodes are told of a transaction.
#[derive(Default)]
pub(crate) struct Telling {
    /// The transaction's number.
    pub(crate) generation: u64,
    /// Whether this node has not heard of the last change of the registry.
    pub(crate) is_behind: bool,
    /// Whether the transaction changes the registry.
    pub(crate) registry: Cell<bool>,
    /// Changes that were told one by one.
    pub(crate) told: Cell<u64>,
}

impl Rows<'_> {
    /// Runs a statement over a row with its code.
    fn execute_signed(
        &self,
        sql: &str,
        table: &Table,
        row: &[Value<'_>],
        kept: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        let code = self.mac.sign(table.name, row);
        self.link.execute(sql, &[kept, &[Value::Bytes(Some(&code))]].concat())
    }

    /// Takes the rows that meet a condition out of the sum.
    fn subtract(&self, table: &Table, condition: &str, values: &[Value<'_>]) -> Result<(), StoreError> {
        if table.of != Of::Registry {
            return Ok(());
        }
        self.query(table, &format!("WHERE {condition}"), values, &mut |before| {
            self.sum.set(self.sum.get().subtract(&self.mac.digest(table, before)));
            Ok(())
        })
    }

    /// Adds a row to the sum.
    fn add(&self, table: &Table, row: &[Value<'_>]) {
        if table.of == Of::Registry {
            self.sum.set(self.sum.get().add(&self.mac.digest(table, row)));
        }
    }

    /// Adds the rows of a table to the sum.
    pub(crate) fn add_all(&self, table: &Table) -> Result<(), StoreError> {
        self.query(table, "", &[], &mut |row| {
            self.add(table, row);
            Ok(())
        })
    }

    /// Whether the transaction changes the registry of a fleet.
    pub(crate) fn changes_registry(&self) -> bool {
        self.telling.as_ref().is_some_and(|telling| telling.registry.get())
    }
}

impl TableRows for Rows<'_> {
    fn query(
        &self,
        table: &Table,
        tail: &str,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&[Value<'_>]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let found = self.link.rows(&table.select(Some(MAC), tail), values)?;
        found.iter().try_for_each(|row| each(&self.mac.open(table, row)?))
    }

    fn foreign(&self, table: &Table, what: &str) -> StoreError {
        forged(table, what)
    }

    fn number(&self, sql: &str, values: &[Value<'_>]) -> Result<Option<u64>, StoreError> {
        let rows = self.link.rows(sql, values)?;
        let Some(row) = rows.first() else { return Ok(None) };
        let number: Option<i64> = row.try_get(0).map_err(|cause| StoreError::Fault(cause.to_string()))?;
        Ok(number.map(i64::cast_unsigned))
    }

    fn put_row(&self, table: &Table, row: &[Value<'_>], replace: Option<&str>) -> Result<bool, StoreError> {
        let how = replace.map(|condition| table.replacing(Some(MAC), condition));
        let sql = table.insert(Some(MAC), how.as_deref().unwrap_or("DO NOTHING"));
        let is_there = self.execute_signed(&sql, table, row, row)? == 1;
        if is_there {
            self.add(table, row);
        }
        Ok(is_there)
    }

    fn update_row(&self, table: &Table, row: &[Value<'_>], first: usize) -> Result<(), StoreError> {
        let key = &row[..table.key];
        self.subtract(table, &table.keyed(), key)?;
        self.add(table, row);
        let kept = [key, &row[first..]].concat();
        match self.execute_signed(&table.update(Some(MAC), first), table, row, &kept)? {
            1 => Ok(()),
            _ => Err(forged(table, "went between reading and writing it")),
        }
    }

    fn delete_rows(&self, table: &Table, condition: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.subtract(table, condition, values)?;
        self.link.execute(&format!("DELETE FROM {} WHERE {condition}", table.name), values)
    }
}

impl StoreRows for Rows<'_> {
    /// Through the function that sees to it that it is that header.
    fn prune(&self, header: &Seal) -> Result<(), StoreError> {
        let row = header.values();
        let code = self.mac.sign(Seal::TABLE.name, &row);
        let signed = [row.as_slice(), &[Value::Bytes(Some(&code))]].concat();
        let pruned = self.number("SELECT prune_seal($1, $2, $3)", &signed)?;
        let left = || self.get::<Seal>(&row[..1]);
        match pruned {
            Some(0) if left()?.is_some_and(|seal| seal.bytes.len() > PRUNED_BYTES_MAX) => {
                Err(StoreError::Fault(format!(
                    "the database does not find this header in seal {}, and keeps the seal",
                    header.number
                )))
            }
            _ => Ok(()),
        }
    }

    fn clean(&self, now: u64) -> Result<u64, StoreError> {
        let clock = self.number("SELECT extract(epoch FROM now())::bigint", &[])?.unwrap_or(0);
        let ahead = now.saturating_sub(clock);
        let old = now.saturating_sub(KEPT_S).saturating_sub(ahead);
        self.delete::<Change>("at < $1", &[Value::bound(old)])?;
        Ok(ahead)
    }

    fn change_registry(&self, tenant: TenantId) -> Result<(), StoreError> {
        let Some(telling) = &self.telling else { return Ok(()) };
        if telling.is_behind {
            return Err(StoreError::Unreachable(
                "another node changed tenants, keys or operators in this moment, and this one has not read that yet".to_owned(),
            ));
        }
        telling.registry.set(true);
        self.tell(tenant, Item::Registry)
    }

    fn tell(&self, tenant: TenantId, item: Item) -> Result<(), StoreError> {
        let Some(telling) = &self.telling else { return Ok(()) };
        let number = telling.told.replace(telling.told.get() + 1);
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.insert(&Change::new(telling.generation, number, tenant, item, at))
    }
}
