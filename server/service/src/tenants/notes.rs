//! Notes of the audit trail: the operator that made a change, and the statement that [`crate::log::audit`] seals.

use crate::refused::Refused;
use std::sync::Arc;
use trefoil_attest::{Actor, Change, SALT_BYTES, Suite, What};
use trefoil_storage::store::{Note, Once};
use trefoil_types::{ApiKeyId, OperatorId, TenantId};

/// An operator that changes something.
#[derive(Clone, Debug)]
pub struct By {
    /// The operator's identifier.
    pub operator: OperatorId,
    /// The operator's name.
    pub name: Arc<str>,
    /// The request, where it creates something and must not be made twice.
    pub once: Option<Once>,
}

/// The object that a request created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// A tenant.
    Tenant(TenantId),
    /// An API key.
    ApiKey(ApiKeyId),
    /// A token of an operator, by its number.
    OperatorToken(OperatorId, u32),
}

/// The result of a request for a creation.
pub enum Outcome<T> {
    /// A new object.
    New(T),
    /// The object that an earlier request with the same key created, and its note.
    Replayed(Created, Noted),
}

/// A note that is in the store and is not sealed yet.
#[derive(Clone, Debug)]
pub struct Noted {
    pub(crate) number: u64,
    pub(crate) statement: Vec<u8>,
}

/// Writes notes.
#[derive(Clone, Debug)]
pub struct Notes {
    issuer: Arc<str>,
}

impl Notes {
    /// Notes of the service with this name.
    pub fn new(issuer: &str) -> Notes {
        Notes { issuer: issuer.into() }
    }

    /// The statement that `what` was done for a tenant at `changed_at`.
    pub(crate) fn statement(
        &self,
        tenant: TenantId,
        changed_at: u64,
        what: What,
        by: Option<&By>,
    ) -> Result<Vec<u8>, Refused> {
        let mut salt = [0; SALT_BYTES];
        aws_lc_rs::rand::fill(&mut salt).map_err(Refused::fault)?;
        let by = by.map(|by| Actor { operator: by.operator, name: &by.name });
        let change = Change { suite: Suite::One, issuer: &self.issuer, tenant, changed_at, salt, what, by };
        change.encode().map_err(Refused::fault)
    }

    /// Notes a change in the transaction that `write` makes.
    pub(crate) fn with<E: Into<Refused>>(
        &self,
        (tenant, changed_at, what): (TenantId, u64, What),
        by: Option<&By>,
        write: impl FnOnce(Note) -> Result<u64, E>,
    ) -> Result<Noted, Refused> {
        let statement = self.statement(tenant, changed_at, what, by)?;
        let once = by.and_then(|by| by.once.clone());
        let number = write(Note { tenant, statement: statement.clone(), once }).map_err(Into::into)?;
        Ok(Noted { number, statement })
    }
}
