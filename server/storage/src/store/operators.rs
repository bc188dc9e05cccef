//! Operators, and the trail of what they changed.

use super::StoreError;
use super::records::{AuditEntry, Note, Once, Operator, OperatorToken};
use super::rows::{Call, Calls, StoreRows, Tables};
use crate::record;
use crate::table::{Column as _, Record as _, Records as _, Value, key};
use trefoil_types::{OperatorId, TenantId};

/// The request that made what an entry of the audit trail says.
pub(super) struct Create {
    operator: OperatorId,
    key: String,
    request_digest: [u8; 32],
    entry: u64,
    created_at: u64,
}
record!("creates", 2, Rows, Create { operator, key, request_digest, entry, created_at });

/// What a store keeps of operators. See [`super::Store`].
pub trait Operators: Tables {
    /// Adds an operator, with a token if one is given, or replaces the time of its revocation.
    fn put_operator(
        &self,
        operator: Operator,
        token: Option<OperatorToken>,
        note: Note,
    ) -> Result<u64, StoreError> {
        self.noted(Call::ALL, note, move |rows| {
            match rows.get::<Operator>(&key([&operator.id]))? {
                Some(found) => rows.update(&Operator { revoked_at: operator.revoked_at, ..found })?,
                None => rows.insert(&operator)?,
            }
            token.map_or(Ok(()), |token| put_token(rows, &token))
        })
    }

    /// Adds a token of an operator, or replaces the time of its revocation.
    fn put_operator_token(&self, token: OperatorToken, note: Note) -> Result<u64, StoreError> {
        self.noted(Call::ALL, note, move |rows| put_token(rows, &token))
    }

    /// Adds an entry to the audit trail, without another change.
    fn note(&self, note: Note) -> Result<u64, StoreError> {
        self.change(Call::ALL, move |rows| add_note(rows, note))
    }

    /// The digest of the request that an operator made with a key, and its entry in the audit trail.
    fn created(
        &self,
        operator: &OperatorId,
        name: &str,
    ) -> Result<Option<([u8; 32], AuditEntry)>, StoreError> {
        let (operator, name) = (*operator, name.to_owned());
        self.look(Call::ALL, move |rows| {
            let Some(made) = rows.get::<Create>(&key([&operator, &name]))? else { return Ok(None) };
            let entry: Option<AuditEntry> = rows.get(&key([&made.entry]))?;
            Ok(entry.map(|entry| (made.request_digest, entry)))
        })
    }

    /// Adds its receipt to an entry.
    fn seal_note(&self, number: u64, receipt: Vec<u8>) -> Result<(), StoreError> {
        self.change(Call::ALL, move |rows| match rows.get::<AuditEntry>(&[Value::bound(number)])? {
            Some(entry) if entry.receipt.is_none() => {
                let table = AuditEntry::TABLE;
                let sealed = AuditEntry { receipt: Some(receipt), ..entry };
                // The role that serves may change no other column.
                rows.update_row(&table, &sealed.values(), table.columns.len() - 1)
            }
            _ => Ok(()),
        })
    }

    /// Entries of the audit trail in order, starting at a number, of one tenant or of all, at most `count`.
    fn audit(
        &self,
        from: u64,
        tenant: Option<&TenantId>,
        count: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let tenant = tenant.copied();
        self.look(Call { tenant, ..Call::ALL }, move |rows| {
            let (from, count) = (Value::bound(from), Value::limit(count));
            match &tenant {
                None => rows.select("WHERE number >= $1 ORDER BY number LIMIT $2", &[from, count]),
                Some(tenant) => rows.select(
                    "WHERE tenant = $1 AND number >= $2 ORDER BY number LIMIT $3",
                    &[tenant.value(), from, count],
                ),
            }
        })
    }

    /// Entries without a receipt, oldest first, at most `count`.
    fn unsealed_notes(&self, count: usize) -> Result<Vec<AuditEntry>, StoreError> {
        self.look(Call::ALL, move |rows| {
            rows.select("WHERE receipt IS NULL ORDER BY number LIMIT $1", &[Value::limit(count)])
        })
    }
}

impl<T: Tables + ?Sized> Operators for T {}

fn put_token(rows: &dyn StoreRows, token: &OperatorToken) -> Result<(), StoreError> {
    match rows.get::<OperatorToken>(&key([&token.operator, &token.number]))? {
        Some(found) => rows.update(&OperatorToken { revoked_at: token.revoked_at, ..found }),
        None => rows.insert(token),
    }
}

/// Adds an entry to the audit trail and returns its number. One process writes, so the next number is free.
pub(super) fn add_note(rows: &dyn StoreRows, note: Note) -> Result<u64, StoreError> {
    let number = rows.number("SELECT max(number) FROM audit", &[])?.unwrap_or(0) + 1;
    let Note { tenant, statement, once } = note;
    rows.insert(&AuditEntry { number, tenant, statement, receipt: None })?;
    if let Some(Once { operator, key, request_digest, at }) = once {
        rows.insert(&Create { operator, key, request_digest, entry: number, created_at: at })?;
    }
    Ok(number)
}
