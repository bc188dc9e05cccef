//! Tables whose rows carry a keyed code, and the statements over them.
//!
//! A row is a list of numbers and bytes. Its last column, `mac`, is an HMAC-SHA256 over the table's name and every other column. So a row that
//! somebody else wrote, edited, or moved to another key is refused when it is read.
//!
//! A row that was removed, or replaced by an earlier one with the same key, still has a code that fits. In tables that a start loads as a whole
//! (tenants, policies, API keys, operators, roots) the row of `node` vouches for the sum over all rows, as a SQLite file does for all tables. In
//! the others it is not noticed: see LIMITS.md.
//!
//! Text is stored as bytes. PostgreSQL's text excludes the character U+0000, and sorts by the rules of a language.

use crate::link::Link;
use aws_lc_rs::hmac;
use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use trefoil_storage::store::StoreError;
use trefoil_types::{Handle, SessionId, TenantId};

/// The kind of a column. Either may be NULL.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Number,
    Bytes,
}

/// A table. Its first `key` columns are the primary key.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, Kind)],
    pub(crate) key: usize,
    /// Whether every row is loaded at a start, and counted in the sum.
    pub(crate) summed: bool,
}

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

/// A value of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Number(Option<i64>),
    Bytes(Option<Vec<u8>>),
}

impl Value {
    /// Numbers from 2^63 on become negative, and [`Fields::number`] turns them back.
    pub(crate) fn number(number: impl Into<u64>) -> Value {
        Value::Number(Some(number.into().cast_signed()))
    }

    /// A bound of a search. No stored number is above 2^63.
    pub(crate) fn bound(number: u64) -> Value {
        Value::Number(Some(i64::try_from(number).unwrap_or(i64::MAX)))
    }

    pub(crate) fn time(time: Option<u64>) -> Value {
        Value::Number(time.map(u64::cast_signed))
    }

    pub(crate) fn bytes(bytes: impl Into<Vec<u8>>) -> Value {
        Value::Bytes(Some(bytes.into()))
    }

    fn parameter(&self) -> &(dyn ToSql + Sync) {
        match self {
            Value::Number(number) => number,
            Value::Bytes(bytes) => bytes,
        }
    }
}

/// The values as parameters of a statement.
pub(crate) fn parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(Value::parameter).collect()
}

/// A record of a table.
pub(crate) trait Record: Sized {
    const TABLE: Table;
    /// Its columns.
    fn values(&self) -> Vec<Value>;
    /// The record of these columns.
    fn read(fields: &mut Fields) -> Result<Self, StoreError>;
}

/// The columns of a row, in order.
pub(crate) struct Fields {
    table: &'static str,
    values: std::vec::IntoIter<Value>,
}

impl Fields {
    pub(crate) fn strange(&self) -> StoreError {
        StoreError::Forged(format!(
            "a row of the table {} has a value that this program does not write",
            self.table
        ))
    }

    pub(crate) fn maybe_bytes(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        match self.values.next() {
            Some(Value::Bytes(bytes)) => Ok(bytes),
            _ => Err(self.strange()),
        }
    }

    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, StoreError> {
        self.maybe_bytes()?.ok_or_else(|| self.strange())
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        self.bytes()?.try_into().map_err(|_| self.strange())
    }

    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        String::from_utf8(self.bytes()?).map_err(|_| self.strange())
    }

    pub(crate) fn time(&mut self) -> Result<Option<u64>, StoreError> {
        match self.values.next() {
            Some(Value::Number(number)) => Ok(number.map(i64::cast_unsigned)),
            _ => Err(self.strange()),
        }
    }

    pub(crate) fn number<T: TryFrom<u64>>(&mut self) -> Result<T, StoreError> {
        let number = self.time()?.ok_or_else(|| self.strange())?;
        T::try_from(number).map_err(|_| self.strange())
    }
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
    pub(crate) fn sign(&self, table: &str, values: &[Value]) -> Vec<u8> {
        tag(&self.code, table, values).to_vec()
    }

    /// The digest of a row that is summed.
    fn digest<R: Record>(&self, record: &R) -> [u8; 32] {
        tag(&self.digest, R::TABLE.name, &record.values())
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
    fn open(&self, table: &Table, row: &Row) -> Result<Fields, StoreError> {
        let strange = |_| {
            StoreError::Forged(format!(
                "a column of the table {} has a type that this program does not make",
                table.name
            ))
        };
        let column = |(at, (_, kind)): (usize, &(&str, Kind))| match kind {
            Kind::Number => row.try_get(at).map(Value::Number),
            Kind::Bytes => row.try_get(at).map(Value::Bytes),
        };
        let values: Result<Vec<Value>, _> = table.columns.iter().enumerate().map(column).collect();
        let values = values.map_err(strange)?;
        let code: Option<Vec<u8>> = row.try_get(table.columns.len()).map_err(strange)?;
        let expected = self.sign(table.name, &values);
        let is_ours = code
            .is_some_and(|code| aws_lc_rs::constant_time::verify_slices_are_equal(&code, &expected).is_ok());
        match is_ours {
            true => Ok(Fields { table: table.name, values: values.into_iter() }),
            false => Err(StoreError::Forged(format!(
                "a row of the table {} is not one that this installation wrote",
                table.name
            ))),
        }
    }
}

/// A code: the table, then each column with its kind and length.
fn tag(key: &hmac::Key, table: &str, values: &[Value]) -> [u8; 32] {
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

/// A change of what other nodes have in memory.
pub(crate) struct Change {
    pub(crate) generation: u64,
    pub(crate) number: u64,
    pub(crate) tenant: TenantId,
    pub(crate) item: Item,
    /// Unix seconds.
    pub(crate) at: u64,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Subject(Handle),
    Session(SessionId),
    /// The tenant itself or one of its policies, API keys, roots and issuers' keys; of the service's own tenant the operators.
    Registry,
}

impl Rows<'_> {
    /// Records in the order of `tail`, which has the conditions.
    pub(crate) fn select<R: Record>(&self, tail: &str, values: &[Value]) -> Result<Vec<R>, StoreError> {
        let table = R::TABLE;
        let sql = format!("SELECT {} FROM {} {tail}", table.list(), table.name);
        let rows = self.link.rows(&sql, values)?;
        rows.iter().map(|row| R::read(&mut self.mac.open(&table, row)?)).collect()
    }

    /// The first record of [`Rows::select`].
    pub(crate) fn one<R: Record>(&self, tail: &str, values: &[Value]) -> Result<Option<R>, StoreError> {
        Ok(self.select(&format!("{tail} LIMIT 1"), values)?.into_iter().next())
    }

    /// The record with this key.
    pub(crate) fn get<R: Record>(&self, key: &[Value]) -> Result<Option<R>, StoreError> {
        self.one(&format!("WHERE {}", R::TABLE.keyed()), key)
    }

    /// Adds a record; `Conflict` if its key exists.
    pub(crate) fn insert<R: Record>(&self, record: &R) -> Result<(), StoreError> {
        if self.put_in(record, "DO NOTHING")? == 0 {
            return Err(StoreError::Conflict);
        }
        if R::TABLE.summed {
            self.sum.set(self.sum.get().add(&self.mac.digest(record)));
        }
        Ok(())
    }

    /// Adds a record of a table that is not summed, or replaces the one with its key.
    pub(crate) fn put<R: Record>(&self, record: &R) -> Result<(), StoreError> {
        self.put_where(record, "TRUE").map(drop)
    }

    /// The same, unless there is one with its key that does not meet `condition`. Returns whether it is there now.
    pub(crate) fn put_where<R: Record>(&self, record: &R, condition: &str) -> Result<bool, StoreError> {
        let table = R::TABLE;
        let changed = table.columns[table.key..].iter().map(|(name, _)| *name).chain(["mac"]);
        let changed: Vec<String> = changed.map(|name| format!("{name} = excluded.{name}")).collect();
        let key: Vec<&str> = table.columns[..table.key].iter().map(|(name, _)| *name).collect();
        let how = format!("({}) DO UPDATE SET {} WHERE {condition}", key.join(", "), changed.join(", "));
        Ok(self.put_in(record, &how)? == 1)
    }

    fn put_in<R: Record>(&self, record: &R, on_conflict: &str) -> Result<u64, StoreError> {
        let (table, values) = (R::TABLE, self.signed(record));
        let places: Vec<String> = (1..=values.len()).map(|number| format!("${number}")).collect();
        let sql = format!(
            "INSERT INTO {} ({}) VALUES ({}) ON CONFLICT {on_conflict}",
            table.name,
            table.list(),
            places.join(", ")
        );
        self.link.execute(&sql, &values)
    }

    /// Replaces the record with the same key, which exists.
    pub(crate) fn update<R: Record>(&self, record: &R) -> Result<(), StoreError> {
        if R::TABLE.summed {
            let key = &record.values()[..R::TABLE.key];
            for before in self.select::<R>(&format!("WHERE {}", R::TABLE.keyed()), key)? {
                self.sum
                    .set(self.sum.get().subtract(&self.mac.digest(&before)).add(&self.mac.digest(record)));
            }
        }
        self.update_from(record, R::TABLE.key)
    }

    /// The same, of one whose columns before `first` stay as they are. For a table that is not summed.
    pub(crate) fn update_only<R: Record>(&self, record: &R, first: &str) -> Result<(), StoreError> {
        let place = R::TABLE.columns.iter().position(|(name, _)| *name == first);
        self.update_from(record, place.expect("the table has this column"))
    }

    fn update_from<R: Record>(&self, record: &R, first: usize) -> Result<(), StoreError> {
        let (table, mut values) = (R::TABLE, self.signed(record));
        values.drain(table.key..first);
        let changed = table.columns[first..].iter().map(|(name, _)| *name).chain(["mac"]);
        let changed: Vec<String> =
            changed.zip(table.key + 1..).map(|(name, at)| format!("{name} = ${at}")).collect();
        let sql = format!("UPDATE {} SET {} WHERE {}", table.name, changed.join(", "), table.keyed());
        match self.link.execute(&sql, &values)? {
            1 => Ok(()),
            _ => Err(StoreError::Forged(format!(
                "a row of the table {} went between reading and writing it",
                table.name
            ))),
        }
    }

    /// Deletes the records that meet a condition. Returns how many there were.
    pub(crate) fn delete<R: Record>(&self, condition: &str, values: &[Value]) -> Result<u64, StoreError> {
        if R::TABLE.summed {
            for before in self.select::<R>(&format!("WHERE {condition}"), values)? {
                self.sum.set(self.sum.get().subtract(&self.mac.digest(&before)));
            }
        }
        self.link.execute(&format!("DELETE FROM {} WHERE {condition}", R::TABLE.name), values)
    }

    /// The sum of a table, with this one.
    pub(crate) fn sum_of<R: Record>(&self, sum: Sum) -> Result<Sum, StoreError> {
        let rows: Vec<R> = self.select("", &[])?;
        Ok(rows.iter().fold(sum, |sum, row| sum.add(&self.mac.digest(row))))
    }

    /// A number that a statement returns.
    pub(crate) fn number(&self, sql: &str, values: &[Value]) -> Result<Option<u64>, StoreError> {
        let rows = self.link.rows(sql, values)?;
        let Some(row) = rows.first() else { return Ok(None) };
        let number: Option<i64> = row.try_get(0).map_err(|cause| StoreError::Fault(cause.to_string()))?;
        Ok(number.map(i64::cast_unsigned))
    }

    /// Notes that the transaction changes what the registry has of a tenant, and tells the other nodes, each of which has a copy. Refused where the copy of
    /// this one is old.
    pub(crate) fn change_registry(&self, tenant: TenantId) -> Result<(), StoreError> {
        let Some(telling) = &self.telling else { return Ok(()) };
        if telling.is_behind {
            return Err(StoreError::Unreachable(
                "another node changed tenants, keys or operators in this moment, and this one has not read that yet".to_owned(),
            ));
        }
        telling.registry.set(true);
        self.tell(tenant, Item::Registry)
    }

    /// Whether the transaction changes the registry of a fleet.
    pub(crate) fn changes_registry(&self) -> bool {
        self.telling.as_ref().is_some_and(|telling| telling.registry.get())
    }

    /// Tells other nodes that what they have of this is old.
    pub(crate) fn tell(&self, tenant: TenantId, item: Item) -> Result<(), StoreError> {
        let Some(telling) = &self.telling else { return Ok(()) };
        let number = telling.told.replace(telling.told.get() + 1);
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.insert(&Change { generation: telling.generation, number, tenant, item, at })
    }

    /// The columns of a record and their code.
    pub(crate) fn signed<R: Record>(&self, record: &R) -> Vec<Value> {
        let mut values = record.values();
        let code = self.mac.sign(R::TABLE.name, &values);
        values.push(Value::bytes(code));
        values
    }
}

impl Table {
    /// The names of its columns.
    fn list(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).chain(["mac"]).collect();
        names.join(", ")
    }

    /// The condition that the key is that of the first parameters.
    pub(crate) fn keyed(&self) -> String {
        let names = self.columns[..self.key].iter().enumerate();
        let equal: Vec<String> = names.map(|(at, (name, _))| format!("{name} = ${}", at + 1)).collect();
        equal.join(" AND ")
    }
}
