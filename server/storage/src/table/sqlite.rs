//! The rows on a connection to SQLite.

use super::{Dialect, Kind, Of, PLACES, Rows, Table, Value};
use crate::database::{StoreError, fault};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, Row, ToSql};

/// The statements that make tables.
pub fn schema(tables: &[Table]) -> String {
    let end = |table: &Table| match (table.of, &table.columns[..table.key]) {
        // A number alone is the number of the row. Large rows fit a tree by numbers better.
        (_, [column]) if column.kind == Kind::Number => " STRICT",
        (Of::LargeRows, _) => " STRICT",
        _ => " STRICT, WITHOUT ROWID",
    };
    Table::made(tables, &Dialect { types: ["INTEGER", "BLOB"], more: None, end })
}

impl Rows for Connection {
    fn query(
        &self,
        table: &Table,
        tail: &str,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&[Value<'_>]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = statement(self, &table.select(None, tail), values).map_err(fault)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(fault)? {
            each(&columns(table, row).map_err(fault)?)?;
        }
        Ok(())
    }

    fn foreign(&self, table: &Table, what: &str) -> StoreError {
        StoreError::Damaged(format!("a row of the table {} {what}", table.name))
    }

    fn number(&self, sql: &str, values: &[Value<'_>]) -> Result<Option<u64>, StoreError> {
        let mut statement = statement(self, sql, values).map_err(fault)?;
        let mut rows = statement.raw_query();
        let Some(row) = rows.next().map_err(fault)? else { return Ok(None) };
        let number: Option<i64> = row.get(0).map_err(fault)?;
        Ok(number.map(i64::cast_unsigned))
    }

    fn put_row(&self, table: &Table, row: &[Value<'_>], replace: Option<&str>) -> Result<bool, StoreError> {
        let how = replace.map(|condition| table.replacing(None, condition));
        let sql = table.insert(None, how.as_deref().unwrap_or("DO NOTHING"));
        Ok(execute(self, &sql, row)? == 1)
    }

    fn update_row(&self, table: &Table, row: &[Value<'_>], first: usize) -> Result<(), StoreError> {
        let values = [&row[..table.key], &row[first..]].concat();
        execute(self, &table.update(None, first), &values).map(drop)
    }

    fn delete_rows(&self, table: &Table, condition: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        execute(self, &format!("DELETE FROM {} WHERE {condition}", table.name), values)
    }
}

fn statement<'a>(
    connection: &'a Connection,
    sql: &str,
    values: &[Value<'_>],
) -> rusqlite::Result<CachedStatement<'a>> {
    let mut statement = connection.prepare_cached(sql)?;
    // By name, because SQLite counts parameters of this form as they come.
    for (place, value) in PLACES.iter().zip(values) {
        statement.raw_bind_parameter(*place, value)?;
    }
    Ok(statement)
}

fn execute(connection: &Connection, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
    let changed = statement(connection, sql, values).and_then(|mut statement| statement.raw_execute());
    changed.map(|changed| changed as u64).map_err(fault)
}

/// The columns of a row.
fn columns<'a>(table: &Table, row: &'a Row<'_>) -> rusqlite::Result<Vec<Value<'a>>> {
    let column = |at: usize| {
        let value = row.get_ref(at)?;
        Ok(match (value, table.columns[at].kind) {
            (ValueRef::Null, Kind::Number) => Value::Number(None),
            (ValueRef::Null, Kind::Bytes) => Value::Bytes(None),
            (ValueRef::Integer(number), _) => Value::Number(Some(number)),
            (ValueRef::Blob(bytes), _) => Value::Bytes(Some(bytes)),
            _ => {
                let name = table.columns[at].name.to_owned();
                return Err(rusqlite::Error::InvalidColumnType(at, name, value.data_type()));
            }
        })
    };
    (0..table.columns.len()).map(column).collect()
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Number(None) | Value::Bytes(None) => ValueRef::Null,
            Value::Number(Some(number)) => ValueRef::Integer(*number),
            Value::Bytes(Some(bytes)) => ValueRef::Blob(bytes),
        }))
    }
}
