//! Which writes of usage were stored.

use crate::of;
use crate::table::{Record as _, Rows, Value};
use std::time::{SystemTime, UNIX_EPOCH};
use trefoil_attest::SERVICE;
use trefoil_storage::store::{Idempotency, StoreError, UsageWrite};

/// Notes a write of usage in place of the one before of its process. Returns whether it is not stored yet: the answer to its commit may have been lost.
/// The note is among the idempotency keys, as one of the service, and goes with them.
pub(crate) fn note(rows: &Rows<'_>, write: UsageWrite) -> Result<bool, StoreError> {
    let UsageWrite { process, number } = write;
    let (key, body) = (format!("usage of {process:016x}"), number.to_string());
    let of_process = [of(&SERVICE), Value::bytes(key.as_str())];
    let before: Option<Idempotency> = rows.get(&of_process)?;
    if before.is_some_and(|before| before.body == body) {
        return Ok(false);
    }
    rows.delete::<Idempotency>(&Idempotency::TABLE.keyed(), &of_process)?;
    let created_at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    rows.insert(&Idempotency { tenant: SERVICE, key, request_digest: [0; 32], body, created_at })?;
    Ok(true)
}
