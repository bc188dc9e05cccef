//! Generations of templates that were replaced, revoked or never stored, kept until the key-holder has forgotten them.
//!
//! The store notes each with the change itself: a revoked one ([`trefoil_storage::store::Subjects::revoke_subject`]); of an enrolment and of a replacement
//! ([`trefoil_storage::store::Subjects::replace_template`]) the new generation until it is stored, and a replaced one from then on. A change forgets its own at
//! its end. One whose commit had no answer keeps its note, unless it was stored after all. A generation remains if the process was killed or the key-holder was away. It is forgotten at the next start, or within a minute after
//! the key-holder is back.

#![expect(clippy::disallowed_types, reason = "for replacements and revocations that broke off")]

use crate::refused::Refused;
use crate::subjects::Subjects;
use std::sync::{Mutex, PoisonError};
use trefoil_matching::TemplateName;
use trefoil_storage::store::{Store, StoreError};

/// Generations that no running change will forget.
#[derive(Default)]
pub struct Leftovers {
    own: Mutex<Vec<TemplateName>>,
    /// Those that were in the store of a fleet a minute ago.
    of_fleet: Mutex<Vec<TemplateName>>,
}

impl Leftovers {
    /// Loads those that the process before left.
    pub fn of(store: &dyn Store) -> Result<Leftovers, StoreError> {
        let own = if store.fleet().is_some() { Vec::new() } else { store.leftovers()? };
        Ok(Leftovers { own: Mutex::new(own), ..Leftovers::default() })
    }

    /// Those that were in the store of a fleet a minute ago and still are. A change that runs on another node ends sooner, or is given up.
    fn of_nodes_that_are_gone(&self, store: &dyn Store) -> Result<Vec<TemplateName>, StoreError> {
        let now = store.leftovers()?;
        let mut before = self.of_fleet.lock().unwrap_or_else(PoisonError::into_inner);
        let stay = now.iter().filter(|name| before.contains(name)).copied().collect();
        *before = now;
        Ok(stay)
    }

    fn add(&self, name: TemplateName) {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).push(name);
    }

    fn take(&self) -> Vec<TemplateName> {
        std::mem::take(&mut self.own.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Subjects {
    /// Makes the key-holder forget the generation of a replaced or revoked template, also on a full disk, or does so later if that is not possible
    /// now.
    pub(crate) fn forget(&self, name: TemplateName) -> Result<(), Refused> {
        let forgotten = self.node.check_vaults().and_then(|()| {
            self.shred(name)?;
            let forget = || self.node.store.forget_leftover(&name);
            Ok(self.node.disk.with_reserve(forget, StoreError::is_fault)?)
        });
        forgotten.inspect_err(|_| self.leftovers.add(name))
    }

    /// Retries the generations that could not be forgotten. Call it once a minute.
    pub fn forget_leftovers(&self) {
        let mut names = self.leftovers.take();
        if self.node.store.fleet().is_some() && self.node.keeps_house() {
            match self.leftovers.of_nodes_that_are_gone(self.node.store.as_ref()) {
                Ok(more) => {
                    names.extend(more.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>())
                }
                Err(cause) => tracing::warn!(%cause, "what nodes that are gone left is not known"),
            }
        }
        for name in names {
            if let Err(cause) = self.forget(name) {
                tracing::warn!(%cause, "the key of a template that was replaced or revoked is not destroyed yet; it is tried again");
            }
        }
    }
}
