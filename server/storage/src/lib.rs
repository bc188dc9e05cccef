//! What Trefoil keeps: data directories, databases with migrations, encryption at rest, room on the disk.
//!
//! The service, the key-holder and the issuer stand on it. [`data_dir`] is a directory that one process holds; [`database`] is SQLite with a
//! code over every row and a mark of how far it came; [`wrap`] is encryption under a key with a name bound to it. With the feature
//! `store` it has the service's tables too, which a key-holder does not link.

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
pub mod wrap;

pub use supervisor::Supervisor;
