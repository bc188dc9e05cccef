//! The gateway's store: tenants, API keys, operators, the audit trail, templates, credential roots, proof sessions, seals, idempotency keys.
//!
//! A [`Store`] moves opaque bytes: templates and sessions arrive already wrapped (see [`wrap`]), so no
//! implementation sees one in the clear. Calls block; async code makes them on the blocking pool. A write returns once
//! it is durable. [`Sqlite`] keeps them in a file; `trefoil-postgres` has
//! another implementation. The key-holder's secrets are in another database behind another type, because they belong to another
//! role.

pub mod fleet;
mod operations;
mod records;
mod register;
mod seal_reader;
mod sqlite;
#[cfg(any(test, feature = "suite"))]
pub mod suite;
pub mod wrap;

pub use crate::database::StoreError;
pub use fleet::Fleet;
pub use operations::Store;
pub use records::{
    AcceptedClock, ApiKey, AuditEntry, Idempotency, IssuerKey, Note, Once, Operator, OperatorToken,
    PRUNED_BYTES_MAX, PolicyVersion, Present, Registry, Revocation, Root, Session, Subject, Template, Tenant,
    Usage, UsageCounts, UsageWrite, takes,
};
pub use register::{Register, Registered, Spending, Spent};
pub use seal_reader::SealReader;
pub use sqlite::{LAST_ACCEPTED_CLOCK, Sqlite, VERSION, accepted_clock};
pub use trefoil_types::{ApiKeyId, Handle, OperatorId, SessionId, TenantId};
