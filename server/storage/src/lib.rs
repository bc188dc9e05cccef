//! Storage: data directories, databases, encryption at rest, free disk space.
//!
//! The service, the key-holder and the issuer use it. [`data_dir`] is a directory that one process holds. [`database`] is SQLite with a
//! keyed sum over all rows and a mark that counts transactions. [`table`] describes the rows of a database once. [`wrap`] is encryption under a key, bound to a name. The feature
//! `store` adds the service's tables, which a key-holder does not link.
//!
//! ```
//! use trefoil_storage::Supervisor;
//! use trefoil_storage::data_dir::DataDir;
//! use trefoil_storage::database::{Database, RowKey, fault};
//! use trefoil_storage::table::Rows as _;
//!
//! # let folder = tempfile::tempdir()?;
//! let directory = DataDir::open(&folder.path().join("data"))?;
//! let secret = directory.secret::<32>("rows.key")?;
//! let schema = "CREATE TABLE numbers (number INTEGER NOT NULL) STRICT";
//! let file = directory.database("numbers.sqlite")?;
//! // Refused if another program wrote a row, or if acknowledged transactions are missing.
//! let database = Database::open(file, 1, schema, RowKey::of(&secret), &Supervisor::default())?;
//! // Returns once the row is on the disk.
//! database.write(|rows| rows.execute("INSERT INTO numbers VALUES (7)", []).map(drop).map_err(fault))?;
//! let kept: Option<u64> = database.read(|rows| rows.number("SELECT number FROM numbers", &[]))?;
//! assert_eq!(kept, Some(7));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

#![expect(
    clippy::missing_errors_doc,
    reason = "the variants of `StoreError` and `DataDirError` say when, for every function alike"
)]

pub mod data_dir;
pub mod database;
pub mod disk;
#[cfg(feature = "store")]
pub mod store;
pub mod stretch;
pub mod supervisor;
pub mod table;
pub mod wrap;

pub use supervisor::Supervisor;
