//! Generations that a replacement of a template leaves behind, until the key-holder has forgotten them.
//!
//! The store notes each with the replacement itself ([`trefoil_storage::store::Store::replace_template`]): the new generation until it is
//! stored, the old one from then on. A replacement forgets its own at its end. What is left is of a process that was killed, or of a moment
//! in which the key-holder was away, and is forgotten at the start or within a minute after it is back.

#![expect(clippy::disallowed_types, reason = "for replacements that broke off")]

use crate::refused::Refused;
use crate::service::Service;
use std::sync::{Mutex, PoisonError};
use trefoil_matching::TemplateName;
use trefoil_storage::store::{Store, StoreError};

/// Those that nobody is working on.
pub struct Leftovers(Mutex<Vec<TemplateName>>);

impl Leftovers {
    /// Those of the process before.
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
    /// Has the key-holder forget a generation that a replacement left behind; later, if it cannot now.
    pub(crate) fn forget(&self, name: TemplateName) -> Result<(), Refused> {
        let forgotten = self.check_vaults().and_then(|()| {
            self.key_holder.shred(name)?;
            Ok(self.store.forget_leftover(&name)?)
        });
        forgotten.inspect_err(|_| self.leftovers.add(name))
    }

    /// Tries again to forget what could not be forgotten.
    pub fn forget_leftovers(&self) {
        for name in self.leftovers.take() {
            if let Err(cause) = self.forget(name) {
                tracing::warn!(%cause, "the key of a template that was replaced is not destroyed yet; it is tried again");
            }
        }
    }
}
