//! What a row is: a record as numbers and bytes, the same in every database.
//!
//! [`record!`](crate::record) describes a record once, by the fields that are its columns. The statements that make the table, and those that read and
//! write a row, follow from that; [`Rows`] is what a database does for it, and a connection to SQLite is one. Text is stored as bytes: PostgreSQL's text excludes the character U+0000, and sorts by the rules of a language.

mod rows;
mod sqlite;

pub use rows::{Records, Rows, Valued, key};
pub use sqlite::schema;

use trefoil_matching::Model;
use trefoil_types::{ApiKeyId, Handle, OperatorId, SessionId, TenantId};

/// The kind of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Below 2^63; times are Unix seconds.
    Number,
    /// Bytes, or text in UTF-8.
    Bytes,
}

/// A value of a column. `None` is NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// See [`Kind::Number`]. Numbers from 2^63 on are negative.
    Number(Option<i64>),
    /// See [`Kind::Bytes`].
    Bytes(Option<&'a [u8]>),
}

impl Value<'_> {
    /// A bound of a search. No stored number is above 2^63.
    pub fn bound(number: u64) -> Value<'static> {
        Value::Number(Some(i64::try_from(number).unwrap_or(i64::MAX)))
    }

    /// The bound of a count of rows.
    pub fn limit(count: usize) -> Value<'static> {
        Value::bound(count as u64)
    }
}

/// A type of a field that is a column.
pub trait Column: Sized {
    /// Its kind.
    const KIND: Kind;
    /// Whether it may be NULL.
    const IS_OPTIONAL: bool = false;
    /// The value of a field.
    fn value(&self) -> Value<'_>;
    /// The field with this value; `None` if this program does not write it.
    fn of(value: Value<'_>) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ty),+) => {$(
        impl Column for $number {
            const KIND: Kind = Kind::Number;

            fn value(&self) -> Value<'_> {
                Value::Number(Some(u64::from(*self).cast_signed()))
            }

            fn of(value: Value<'_>) -> Option<$number> {
                let Value::Number(Some(number)) = value else { return None };
                number.cast_unsigned().try_into().ok()
            }
        }
    )+};
}
numbers!(u8, u32, u64);

impl Column for i32 {
    const KIND: Kind = Kind::Number;

    fn value(&self) -> Value<'_> {
        Value::Number(Some(i64::from(*self)))
    }

    fn of(value: Value<'_>) -> Option<i32> {
        let Value::Number(Some(number)) = value else { return None };
        number.try_into().ok()
    }
}

macro_rules! names {
    ($($name:ty),+) => {$(
        impl Column for $name {
            const KIND: Kind = Kind::Bytes;

            fn value(&self) -> Value<'_> {
                Value::Bytes(Some(self.as_bytes()))
            }

            fn of(value: Value<'_>) -> Option<$name> {
                Column::of(value).map(<$name>::new)
            }
        }
    )+};
}
names!(ApiKeyId, Handle, OperatorId, SessionId, TenantId);

impl Column for Model {
    const KIND: Kind = Kind::Bytes;

    fn value(&self) -> Value<'_> {
        Value::Bytes(Some(self.as_bytes()))
    }

    fn of(value: Value<'_>) -> Option<Model> {
        Column::of(value).and_then(Model::from_bytes)
    }
}

impl<const N: usize> Column for [u8; N] {
    const KIND: Kind = Kind::Bytes;

    fn value(&self) -> Value<'_> {
        Value::Bytes(Some(self))
    }

    fn of(value: Value<'_>) -> Option<[u8; N]> {
        let Value::Bytes(Some(bytes)) = value else { return None };
        bytes.try_into().ok()
    }
}

impl Column for Vec<u8> {
    const KIND: Kind = Kind::Bytes;

    fn value(&self) -> Value<'_> {
        Value::Bytes(Some(self))
    }

    fn of(value: Value<'_>) -> Option<Vec<u8>> {
        let Value::Bytes(Some(bytes)) = value else { return None };
        Some(bytes.to_vec())
    }
}

impl Column for String {
    const KIND: Kind = Kind::Bytes;

    fn value(&self) -> Value<'_> {
        Value::Bytes(Some(self.as_bytes()))
    }

    fn of(value: Value<'_>) -> Option<String> {
        Column::of(value).and_then(|bytes| String::from_utf8(bytes).ok())
    }
}

impl<C: Column> Column for Option<C> {
    const KIND: Kind = C::KIND;
    const IS_OPTIONAL: bool = true;

    fn value(&self) -> Value<'_> {
        match (self, C::KIND) {
            (Some(field), _) => field.value(),
            (None, Kind::Number) => Value::Number(None),
            (None, Kind::Bytes) => Value::Bytes(None),
        }
    }

    fn of(value: Value<'_>) -> Option<Option<C>> {
        match (value, C::KIND) {
            (Value::Number(None), Kind::Number) | (Value::Bytes(None), Kind::Bytes) => Some(None),
            _ => C::of(value).map(Some),
        }
    }
}

/// The parameters of a statement: one more than the columns of the widest table.
pub const PLACES: [&str; 17] = [
    "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$16",
    "$17",
];

/// What a table is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A start loads it as a whole.
    Registry,
    /// Rows that are looked up.
    Rows,
    /// The same, and a row may fill a page of the file and more.
    LargeRows,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Whether it may be NULL.
    pub is_optional: bool,
}

impl Named {
    /// The column of a field. The function shows its type.
    pub const fn new<R, C: Column>(name: &'static str, _: fn(&R) -> &C) -> Named {
        Named { name, kind: C::KIND, is_optional: C::IS_OPTIONAL }
    }
}

/// A table. Its first `key` columns are the primary key.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Named],
    /// Their names, with commas between.
    pub list: &'static str,
    /// See [`Table`].
    pub key: usize,
    /// What it is for.
    pub of: Of,
}

/// How a database makes tables: the types of numbers and bytes, a column behind all others, and what follows the columns.
pub struct Dialect {
    /// The types.
    pub types: [&'static str; 2],
    /// The last column, if each row has one more than the record.
    pub more: Option<&'static str>,
    /// What follows the columns.
    pub end: fn(&Table) -> &'static str,
}

impl Table {
    /// Statements that make tables.
    pub fn made(tables: &[Table], dialect: &Dialect) -> String {
        tables.iter().map(|table| table.make(dialect)).collect()
    }

    fn make(&self, dialect: &Dialect) -> String {
        let column = |Named { name, kind, is_optional }: &Named| {
            let [number, bytes] = dialect.types;
            let kind = if *kind == Kind::Number { number } else { bytes };
            format!("{name} {kind}{}, ", if *is_optional { "" } else { " NOT NULL" })
        };
        let columns: String = self.columns.iter().map(column).collect();
        let more =
            dialect.more.map_or(String::new(), |more| format!("{more} {} NOT NULL, ", dialect.types[1]));
        let key: Vec<&str> = self.names(None).take(self.key).collect();
        let (name, end) = (self.name, (dialect.end)(self));
        format!("CREATE TABLE {name} ({columns}{more}PRIMARY KEY ({})){end};\n", key.join(", "))
    }

    /// The names of its columns, and of one that a database adds.
    fn names(&self, more: Option<&'static str>) -> impl Iterator<Item = &'static str> {
        self.columns.iter().map(|column| column.name).chain(more)
    }

    /// The statement that reads rows in the order of `tail`, which has the conditions.
    pub fn select(&self, more: Option<&'static str>, tail: &str) -> String {
        let (comma, more) = more.map_or(("", ""), |more| (", ", more));
        ["SELECT ", self.list, comma, more, " FROM ", self.name, " ", tail].concat()
    }

    /// The statement that adds a row.
    pub fn insert(&self, more: Option<&'static str>, on_conflict: &str) -> String {
        let places = PLACES[..self.columns.len() + usize::from(more.is_some())].join(", ");
        let (comma, more) = more.map_or(("", ""), |more| (", ", more));
        let (name, list) = (self.name, self.list);
        format!("INSERT INTO {name} ({list}{comma}{more}) VALUES ({places}) ON CONFLICT {on_conflict}")
    }

    /// What [`Table::insert`] does with the row that has the key: it is replaced if it meets `condition`.
    pub fn replacing(&self, more: Option<&'static str>, condition: &str) -> String {
        let names: Vec<&str> = self.names(more).collect();
        let (key, changed) = names.split_at(self.key);
        let changed: Vec<String> = changed.iter().map(|name| format!("{name} = excluded.{name}")).collect();
        format!("({}) DO UPDATE SET {} WHERE {condition}", key.join(", "), changed.join(", "))
    }

    /// The statement that changes the columns from `first` on of the row with a key, whose values come first.
    pub fn update(&self, more: Option<&'static str>, first: usize) -> String {
        let changed = self.names(more).skip(first).zip(self.key + 1..);
        let changed: Vec<String> = changed.map(|(name, at)| format!("{name} = ${at}")).collect();
        format!("UPDATE {} SET {} WHERE {}", self.name, changed.join(", "), self.keyed())
    }

    /// The condition that the key is that of the first parameters.
    pub fn keyed(&self) -> String {
        let mut keyed = String::with_capacity(64);
        for (column, place) in self.columns[..self.key].iter().zip(PLACES) {
            let and = if keyed.is_empty() { "" } else { " AND " };
            keyed.extend([and, column.name, " = ", place]);
        }
        keyed
    }
}

/// A record of a table.
pub trait Record: Sized {
    /// The table.
    const TABLE: Table;
    /// Its columns.
    fn values(&self) -> Vec<Value<'_>>;
    /// The record of these columns; `None` if this program does not write them.
    fn read(row: &[Value<'_>]) -> Option<Self>;
}

/// Describes a record: its table, how many of its columns are the key, what the table is for ([`Of`]), and the fields that are its columns, in order.
/// Where a column has another name than its field, or the field is a record itself, the columns follow.
#[macro_export]
macro_rules! record {
    (@list $first:ident $(, $column:ident)*) => {
        concat!(stringify!($first) $(, ", ", stringify!($column))*)
    };
    ($table:literal, $key:literal, $of:ident, $name:ident { $($column:ident),+ $(,)? }) => {
        $crate::record!($table, $key, $of, $name { $($column),+ } => $($column),+);
    };
    ($table:literal, $key:literal, $of:ident, $name:ident $shape:tt => $($column:ident),+ $(,)?) => {
        impl $crate::table::Record for $name {
            #[expect(unused_variables, reason = "each function shows one column")]
            const TABLE: $crate::table::Table = $crate::table::Table {
                name: $table,
                columns: &[$($crate::table::Named::new(
                    stringify!($column),
                    |$name $shape: &$name| $column,
                )),+],
                list: $crate::record!(@list $($column),+),
                key: $key,
                of: $crate::table::Of::$of,
            };

            fn values(&self) -> Vec<$crate::table::Value<'_>> {
                let $name $shape = self;
                vec![$($crate::table::Column::value($column)),+]
            }

            fn read(row: &[$crate::table::Value<'_>]) -> Option<Self> {
                let [$($column),+] = row else { return None };
                $(let $column = $crate::table::Column::of(*$column)?;)+
                Some($name $shape)
            }
        }
    };
}
