//! Whose rows a transaction sees.
//!
//! The policies in schema.sql show the role that serves the rows of one tenant, or those of all, as the setting `trefoil.tenant` says, and none without
//! it. A condition that is missing in a statement then reaches no other tenant. They do not hold the owner of the tables, and not a thief of the
//! password, who may set it too.

use trefoil_storage::store::Call;
use trefoil_types::TenantId;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// For the start, the registry, pruning and what else is not a tenant's.
    All,
    One(TenantId),
}

impl From<Call> for Scope {
    fn from(call: Call) -> Scope {
        call.tenant.map_or(Scope::All, Scope::One)
    }
}

impl Scope {
    /// The statement that sets it, until the next one or with `LOCAL` until the end of the transaction.
    pub(crate) fn set(self, local: &str) -> String {
        let value = match self {
            Scope::All => "all".to_owned(),
            Scope::One(tenant) => hex::encode(tenant.as_bytes()),
        };
        format!("SET {local} trefoil.tenant = '{value}'")
    }

    /// For the transaction that has begun.
    pub(crate) fn local(self) -> String {
        self.set("LOCAL")
    }
}

#[cfg(test)]
mod tests;
