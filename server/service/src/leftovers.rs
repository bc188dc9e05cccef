//! Generations of replaced and revoked templates, kept until the key-holder has forgotten them.
//!
//! The store notes each with the change itself: a revoked one ([`trefoil_storage::store::Store::revoke_subject`]); of a replacement
//! ([`trefoil_storage::store::Store::replace_template`]) the new generation until it is stored, the old one from then on. A change forgets its own at
//! its end. A generation remains if the process was killed or the key-holder was away. It is forgotten at the next start, or within a minute after
//! the key-holder is back.

#![expect(clippy::disallowed_types, reason = "for replacements and revocations that broke off")]

use crate::refused::Refused;
use crate::service::Service;
use std::sync::{Mutex, PoisonError};
use trefoil_matching::TemplateName;
use trefoil_storage::store::{Store, StoreError};

/// Generations that no running change will forget.
pub struct Leftovers(Mutex<Vec<TemplateName>>);

impl Leftovers {
    /// Loads those that the process before left.
    pub fn of(store: &dyn Store) -> Result<Leftovers, StoreError> {
        Ok(Leftovers(Mutex::new(store.leftovers()?)))
    }

    fn add(&self, name: TemplateName) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(name);
    }

    fn take(&self) -> Vec<TemplateName> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Service {
    /// Makes the key-holder forget the generation of a replaced or revoked template, also on a full disk, or does so later if that is not possible
    /// now.
    pub(crate) fn forget(&self, name: TemplateName) -> Result<(), Refused> {
        let forgotten = self.check_vaults().and_then(|()| {
            self.shred(name)?;
            let forget = || self.store.forget_leftover(&name);
            Ok(self.disk.with_reserve(forget, StoreError::is_fault)?)
        });
        forgotten.inspect_err(|_| self.leftovers.add(name))
    }

    /// Retries the generations that could not be forgotten.
    pub fn forget_leftovers(&self) {
        for name in self.leftovers.take() {
            if let Err(cause) = self.forget(name) {
                tracing::warn!(%cause, "the key of a template that was replaced or revoked is not destroyed yet; it is tried again");
            }
        }
    }
}
