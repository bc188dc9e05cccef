//! Idempotency keys of requests that are running: while one runs, a second request with the same key is told to retry.

#![expect(clippy::disallowed_types, reason = "for enrolments, off the path of a login")]

use crate::refused::Refused;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use trefoil_types::TenantId;

type Key = (TenantId, String);

/// See the module.
#[derive(Default)]
pub struct InFlight(Arc<Mutex<HashSet<Key>>>);

/// Holds a key until dropped.
pub(crate) struct Running {
    keys: Arc<Mutex<HashSet<Key>>>,
    key: Key,
}

impl InFlight {
    /// Claims a key, or refuses because a request with it is running.
    pub(crate) fn claim(&self, tenant: TenantId, key: &str) -> Result<Running, Refused> {
        let key = (tenant, key.to_owned());
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !running.insert(key.clone()) {
            return Err(Refused::IdempotencyInFlight);
        }
        Ok(Running { keys: Arc::clone(&self.0), key })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}
