//! Which client created which tenant. Only that client may enrol, shred and decide for it.

use crate::database::{Database, StoreError, conflict_or_fault};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{PoisonError, RwLock};
use trefoil_matching::TenantId;

/// The list, in memory and on disk.
pub(crate) struct Owners {
    database: Database,
    owners: RwLock<HashMap<TenantId, String>>,
}

impl Owners {
    pub(crate) fn open(path: &Path) -> Result<Owners, StoreError> {
        let database = Database::open(path, 1, include_str!("owners.sql"))?;
        let owners = database.read(|connection| {
            let mut all = connection.prepare("SELECT tenant, client FROM owners")?;
            all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })?;
        Ok(Owners { database, owners: RwLock::new(owners) })
    }

    /// Records the owner of a new tenant, durably; `Conflict` if it has one.
    pub(crate) fn claim(&self, tenant: TenantId, client: &str) -> Result<(), StoreError> {
        let name = client.to_owned();
        self.database.write(move |connection| {
            let values = rusqlite::params![tenant, name];
            connection
                .execute("INSERT INTO owners VALUES (?, ?)", values)
                .map(drop)
                .map_err(conflict_or_fault)
        })?;
        let mut owners = self.owners.write().unwrap_or_else(PoisonError::into_inner);
        owners.insert(tenant, client.to_owned());
        Ok(())
    }

    /// Whether `client` owns the tenant.
    pub(crate) fn owns(&self, tenant: &TenantId, client: &str) -> bool {
        let owners = self.owners.read().unwrap_or_else(PoisonError::into_inner);
        owners.get(tenant).is_some_and(|owner| owner == client)
    }
}
