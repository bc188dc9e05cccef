//! What a node of a fleet does beside a service that is alone: it takes over what other nodes changed, and its turns in the log of seals.

use crate::keys::key_holder_watch::KeyHolderWatch;
use crate::log::log_store::{self, LogError};
use crate::log::seal_log::Standing;
use crate::login::past;
use crate::login::register::FAST_S;
use crate::service::Service;
use std::sync::Arc;
use trefoil_pipeline::{ChainHead, LogTurn, SharedLog};
use trefoil_storage::store::fleet::News;
use trefoil_storage::store::{AcceptedClock, Register, Store, StoreError};

impl Service {
    /// Begins to take over what other nodes change; nothing for a store of one process. Blocks.
    ///
    /// # Errors
    /// Those of the store.
    pub fn follow_fleet(self: &Arc<Self>) -> Result<(), StoreError> {
        let Some(fleet) = self.node.store.fleet() else { return Ok(()) };
        self.announce_keys();
        // The store must not keep the service that keeps the store.
        let service = Arc::downgrade(self);
        let apply = move |news: &News| match service.upgrade() {
            Some(service) => service.take_over(news),
            None => Err("the service has ended".to_owned()),
        };
        fleet.follow(Box::new(apply))
    }

    /// Tells the other nodes of a fleet which keys and trust root this one has.
    pub fn announce_keys(&self) {
        if let Some(fleet) = self.node.store.fleet() {
            fleet.announce(self.keys.told());
        }
    }

    fn take_over(&self, news: &News) -> Result<(), String> {
        for (tenant, handle) in &news.subjects {
            self.subjects.templates.remove(tenant, handle);
        }
        for (tenant, id) in &news.sessions {
            if let Ok(tenant) = self.tenants.tenant(tenant) {
                tenant.verdicts.remove(id);
            }
        }
        self.take_over_registry(news)?;
        if news.everything {
            for tenant in self.tenants.all() {
                self.subjects.templates.remove_tenant(&tenant.id);
                tenant.verdicts.withdraw(|_| false);
            }
        }
        Ok(())
    }

    /// Reads what changed, and no more: a change among many tenants costs each node the rows of one.
    fn take_over_registry(&self, news: &News) -> Result<(), String> {
        let is_all = news.registry || news.everything;
        let mut gone =
            if is_all { self.tenants.refresh(None, || self.node.store.registry())? } else { Vec::new() };
        for tenant in news.tenants.iter().filter(|_| !is_all) {
            gone.extend(self.tenants.refresh(Some(tenant), || self.node.store.registry_of(tenant))?);
        }
        gone.iter().for_each(|gone| self.subjects.templates.remove_tenant(gone));
        match is_all || news.operators {
            true => self.operators.refresh(|| self.node.store.operators()),
            false => Ok(()),
        }
    }
}

/// The log of a fleet: each node extends it in its turn, from where it ends in the store. The store takes one seal for each number, so the log cannot
/// fork, whatever becomes of a turn.
///
/// A seal is dated by the node's clock, but not after the database's: one node whose clock is far ahead must not date the whole log.
pub struct FleetLog {
    store: Arc<dyn Store>,
    watch: Arc<KeyHolderWatch>,
    register: Option<Arc<dyn Register>>,
    accepted: Vec<AcceptedClock>,
    seal_log: Arc<Standing>,
}

impl FleetLog {
    /// The log in this store, in which operators accepted these clocks; `None` if one process alone extends it.
    pub fn of(
        store: &Arc<dyn Store>,
        watch: &Arc<KeyHolderWatch>,
        register: Option<Arc<dyn Register>>,
        accepted: &[AcceptedClock],
        seal_log: &Arc<Standing>,
    ) -> Option<Arc<dyn SharedLog>> {
        store.fleet()?;
        let (store, watch) = (Arc::clone(store), Arc::clone(watch));
        let (accepted, seal_log) = (accepted.to_vec(), Arc::clone(seal_log));
        Some(Arc::new(FleetLog { store, watch, register, accepted, seal_log }))
    }

    fn take(&self) -> Result<(ChainHead, LogTurn), LogError> {
        let fleet = self.store.fleet().ok_or_else(|| StoreError::Fault("no fleet".to_owned()))?;
        let right = fleet.log_turn()?;
        // Each row has the code of this installation, and another node's keys may be in a newer trust root than this one's.
        let mut head = log_store::chain_head(self.store.as_ref(), |_| Ok(()))?;
        if let Some(newest) = head.next_number().checked_sub(1) {
            head.time = past::reached(self.accepted.last().copied(), newest, head.time);
            self.seal_log.reach(head.time);
        }
        if let Some((_, vaults)) = log_store::sealed_vaults(self.store.as_ref())? {
            self.watch.hear(&vaults);
        }
        let told = self.register.as_ref().and_then(|register| register.spend(&[]).ok());
        let until = told.map_or(u64::MAX, |told| told.now.saturating_add(FAST_S));
        Ok((head, LogTurn::new(right, until)))
    }
}

impl SharedLog for FleetLog {
    fn turn(&self) -> Option<(ChainHead, LogTurn)> {
        self.take()
            .inspect_err(
                |cause| tracing::error!(%cause, "the log cannot be extended; what was decided is refused"),
            )
            .ok()
    }
}
