//! A worker's sessions with the partitions of the verdict cache: one for each tenant whose batches it runs.

use std::collections::HashMap;
use std::sync::Arc;

use trefoil_cache::Cache;

use crate::TenantId;
use crate::tenant::Served;
use crate::verdict::Verdict;

/// Most sessions of one worker, some 30 KiB each. A worker with batches of more tenants reopens sessions.
const SESSIONS_MAX: usize = 256;

/// See the module.
pub(crate) struct Sessions<C: Cache<Verdict>> {
    open: HashMap<TenantId, (Arc<C>, C::Session)>,
}

impl<C: Cache<Verdict>> Default for Sessions<C> {
    fn default() -> Self {
        Sessions { open: HashMap::new() }
    }
}

impl<C: Cache<Verdict>> Sessions<C> {
    /// The session with a tenant's partition.
    pub(crate) fn with(&mut self, served: &Served<C>) -> &mut C::Session {
        let Served { tenant, verdicts } = served;
        let is_open = self.open.get(&tenant.id).is_some_and(|(of, _)| Arc::ptr_eq(of, verdicts));
        if !is_open && self.open.len() >= SESSIONS_MAX {
            self.open.clear();
        }
        let opened = || (Arc::clone(verdicts), verdicts.session());
        let entry = self.open.entry(tenant.id).or_insert_with(opened);
        if !is_open && !Arc::ptr_eq(&entry.0, verdicts) {
            *entry = opened();
        }
        &mut entry.1
    }
}
