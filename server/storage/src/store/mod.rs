//! The gateway's store: tenants, API keys, operators, the audit trail, templates, credential roots, proof sessions, seals, idempotency keys.
//!
//! A [`Store`] moves opaque bytes: templates and sessions arrive already wrapped (see [`wrap`]), so no
//! implementation sees one in the clear. Calls block; async code makes them on the blocking pool. A write returns once
//! it is durable. What it does is written once, over the rows of [`Tables`]: those of [`Sqlite`] are in a file, and
//! `trefoil-postgres` has others. The key-holder's secrets are in another database behind another type, because they belong to another
//! role.

pub mod fleet;
mod log;
mod operators;
mod policy;
mod records;
mod register;
mod rows;
mod seal_reader;
mod sessions;
mod sqlite;
mod subjects;
#[cfg(any(test, feature = "suite"))]
pub mod suite;
mod tables;
mod tenants;
mod usage;
pub mod wrap;

pub use crate::database::StoreError;
pub use fleet::Fleet;
pub use log::{Log, Seal};
pub use operators::Operators;
pub use policy::{read_policy, write_policy};
pub use records::{
    AcceptedClock, ApiKey, AuditEntry, Idempotency, IssuerKey, Note, Once, Operator, OperatorToken,
    PRUNED_BYTES_MAX, PolicyVersion, Present, Registry, Revocation, Root, Session, Subject, Template, Tenant,
    takes,
};
pub use register::{Register, Registered, Spending, Spent};
pub use rows::{Call, Read, StoreRows, Tables, Write};
pub use seal_reader::SealReader;
pub use sessions::Sessions;
pub use sqlite::{Sqlite, VERSION};
pub use subjects::Subjects;
pub use tables::{INDEXES, TABLES};
pub use tenants::Tenants;
pub use trefoil_types::{ApiKeyId, Handle, OperatorId, SessionId, TenantId};
pub use usage::{Usage, UsageCounts, UsageWrite};

/// The gateway's durable state, over any [`Tables`].
///
/// A method with a [`Note`] makes the change and adds the note to the audit trail, both or neither, and returns the entry's number; `Conflict` if
/// the note's request was made before.
pub trait Store: Tenants + Operators + Subjects + Sessions + Log {}

impl<T: Tenants + Operators + Subjects + Sessions + Log> Store for T {}
