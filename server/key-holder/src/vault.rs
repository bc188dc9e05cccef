//! The key-holder's vault: SQLite, in its own file, with masters and salts wrapped under a key of its own.

use crate::database::{Database, StoreError, Survives, fault};
use crate::wrap::WrapKey;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trefoil_matching::{
    AttemptPolicy, AttemptRecord, DecisionPolicy, EpochRecord, Handle, KeyStructure, Lane, SubjectRecord,
    TenantId, TenantRecord, Vault, VaultError,
};
use zeroize::Zeroizing;

/// See the module. Unless told otherwise, attempts are written behind: a worker must not wait for an `fsync` per failed
/// login, or a stream of failures would stall every pinned worker. The budgets in force are those in memory; a crash forgets the failures of the
/// last few commits, at most [`crate::database`]'s queue. Once such a write fails, no failure goes unrecorded:
/// [`Vault::put_attempts`] waits for its own write, and without it the key-holder decides nothing.
pub struct SqliteVault {
    database: Database,
    key: WrapKey,
    /// What a counted failure survives once its attempt is answered; nothing in particular if absent.
    attempts: Option<Survives>,
    attempts_lost: Arc<AtomicBool>,
}

impl SqliteVault {
    /// Opens or creates the file; `key` wraps the secrets in it.
    pub fn open(path: &Path, key: WrapKey) -> Result<SqliteVault, StoreError> {
        let database = Database::open(path, 2, include_str!("vault.sql"))?;
        Ok(SqliteVault { database, key, attempts: None, attempts_lost: Arc::default() })
    }

    /// Makes [`Vault::put_attempts`] wait until what it wrote survives this, so that no answer is given whose failure could
    /// be forgotten.
    #[must_use]
    pub fn with_attempts_surviving(self, what: Survives) -> SqliteVault {
        SqliteVault { attempts: Some(what), ..self }
    }

    /// The epochs of a tenant, oldest first.
    fn epochs(&self, tenant: &TenantId, keys: KeyStructure) -> Result<Vec<EpochRecord>, VaultError> {
        let rows: Vec<(u32, Vec<u8>, [u8; 32])> = self
            .database
            .read(|connection| {
                connection
                    .prepare(
                        "SELECT epoch, wrapped_master, seed FROM epochs WHERE tenant = ? ORDER BY epoch",
                    )?
                    .query_map([tenant], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                    .collect()
            })
            .map_err(failed)?;
        rows.into_iter()
            .map(|(epoch, wrapped, seed)| {
                let master = self.secret(&master_name(tenant, keys, epoch), &wrapped)?;
                Ok(EpochRecord { epoch, master, seed })
            })
            .collect()
    }

    /// The generation that `record` takes the place of: renewed from the same one, under the same keys.
    fn replaced_by(&self, tenant: &TenantId, record: &SubjectRecord) -> Result<Option<u32>, StoreError> {
        let SubjectRecord { handle, generation, epoch, renewed_from, .. } = record;
        let Some(from) = renewed_from else { return Ok(None) };
        let sql = "SELECT generation FROM subjects WHERE tenant = ? AND handle = ? AND generation <> ?
                   AND epoch = ? AND renewed_from = ?";
        let values = (tenant, handle, generation, epoch, from);
        self.database.read(|connection| connection.query_row(sql, values, |row| row.get(0)).optional())
    }

    fn secret(&self, name: &[u8], wrapped: &[u8]) -> Result<[u8; 32], VaultError> {
        let plain = self.key.open(name, wrapped).map_err(|cause| VaultError(cause.to_string()))?;
        plain.as_slice().try_into().map_err(|_| VaultError("a secret does not have 32 bytes".to_owned()))
    }
}

/// Handle, generation, lane, epoch, what it was renewed from, wrapped salt, attempts.
type SubjectRow = (Handle, u32, u8, u32, Option<u32>, Vec<u8>, AttemptRecord);

fn failed(cause: StoreError) -> VaultError {
    VaultError(cause.to_string())
}

/// Associated data of a master key: the tenant, its key structure, and the epoch.
fn master_name(tenant: &TenantId, keys: KeyStructure, epoch: u32) -> Vec<u8> {
    [b"trefoil/vault-master/2".as_slice(), tenant, &[keys.code()], &epoch.to_le_bytes()].concat()
}

const OPENING_KEY: &[u8] = b"trefoil/vault-opening-key/1";

fn salt_name(tenant: &TenantId, handle: &Handle, generation: u32, epoch: u32) -> Vec<u8> {
    let (generation, epoch) = (generation.to_le_bytes(), epoch.to_le_bytes());
    [b"trefoil/vault-salt/2".as_slice(), tenant, handle, &generation, &epoch].concat()
}

impl Vault for SqliteVault {
    fn tenants(&self) -> Result<Vec<TenantRecord>, VaultError> {
        let rows: Vec<(TenantId, u8, bool, DecisionPolicy)> = self
            .database
            .read(|connection| {
                let row = |row: &Row<'_>| {
                    Ok((row.get("tenant")?, row.get("keys")?, row.get("frozen")?, read_policy(row)?))
                };
                connection.prepare("SELECT * FROM tenants")?.query_map([], row)?.collect()
            })
            .map_err(failed)?;
        rows.into_iter()
            .map(|(tenant, keys, frozen, policy)| {
                let keys = KeyStructure::from_code(keys)
                    .ok_or_else(|| VaultError(format!("key structure {keys} does not exist")))?;
                Ok(TenantRecord { tenant, keys, epochs: self.epochs(&tenant, keys)?, policy, frozen })
            })
            .collect()
    }

    fn subjects(&self, tenant: &TenantId) -> Result<Vec<SubjectRecord>, VaultError> {
        let rows: Vec<SubjectRow> = self
            .database
            .read(|connection| {
                connection
                    .prepare("SELECT * FROM subjects WHERE tenant = ?")?
                    .query_map([tenant], |row| {
                        let (epoch, renewed_from, attempts) = (row.get(4)?, row.get(5)?, read_attempts(row)?);
                        Ok((
                            row.get(1)?,
                            row.get(2)?,
                            row.get(3)?,
                            epoch,
                            renewed_from,
                            row.get(6)?,
                            attempts,
                        ))
                    })?
                    .collect()
            })
            .map_err(failed)?;
        rows.into_iter()
            .map(|(handle, generation, lane, epoch, renewed_from, wrapped, attempts)| {
                let salt = self.secret(&salt_name(tenant, &handle, generation, epoch), &wrapped)?;
                let lane =
                    Lane::new(lane).ok_or_else(|| VaultError(format!("lane {lane} does not exist")))?;
                Ok(SubjectRecord { handle, generation, lane, epoch, renewed_from, salt, attempts })
            })
            .collect()
    }

    fn put_tenant(&self, record: &TenantRecord) -> Result<(), VaultError> {
        let TenantRecord { tenant, keys, epochs, policy, frozen } = record;
        let wrapped = |EpochRecord { epoch, master, seed }: &EpochRecord| {
            (*epoch, self.key.wrap(&master_name(tenant, *keys, *epoch), master), *seed)
        };
        let epochs: Vec<(u32, Vec<u8>, [u8; 32])> = epochs.iter().map(wrapped).collect();
        let (tenant, keys, frozen) = (*tenant, keys.code(), *frozen);
        let DecisionPolicy { threshold, attempts } = *policy;
        let AttemptPolicy { consecutive, delay_s, per_day, per_generation } = attempts;
        self.database
            .write(move |connection| {
                let sql = "INSERT INTO tenants VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                         ON CONFLICT DO UPDATE SET frozen = ?3, threshold = ?4,
                         consecutive = ?5, delay_s = ?6, per_day = ?7, per_generation = ?8";
                let values =
                    params![tenant, keys, frozen, threshold, consecutive, delay_s, per_day, per_generation];
                connection.execute(sql, values).map_err(fault)?;
                for (epoch, wrapped, seed) in epochs {
                    let sql = "INSERT INTO epochs VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
                    connection.execute(sql, params![tenant, epoch, wrapped, seed]).map_err(fault)?;
                }
                Ok(())
            })
            .map_err(failed)
    }

    fn erase_epoch(&self, tenant: &TenantId, epoch: u32) -> Result<(), VaultError> {
        let name = (*tenant, epoch);
        self.database
            .shred(move |connection| {
                for table in ["subjects", "epochs"] {
                    let sql = format!("DELETE FROM {table} WHERE tenant = ? AND epoch = ?");
                    connection.execute(&sql, name).map_err(fault)?;
                }
                Ok(())
            })
            .map_err(failed)
    }

    fn opening_key(&self) -> Result<Option<Zeroizing<Vec<u8>>>, VaultError> {
        let wrapped: Option<Vec<u8>> = self
            .database
            .read(|connection| {
                connection.query_row("SELECT wrapped FROM opening_key", [], |row| row.get(0)).optional()
            })
            .map_err(failed)?;
        let open = |wrapped: Vec<u8>| self.key.open(OPENING_KEY, &wrapped);
        wrapped.map(open).transpose().map_err(|cause| VaultError(cause.to_string()))
    }

    fn put_opening_key(&self, key: &[u8]) -> Result<(), VaultError> {
        let wrapped = self.key.wrap(OPENING_KEY, key);
        self.database
            .write(move |connection| {
                let sql = "INSERT INTO opening_key VALUES (0, ?)";
                connection.execute(sql, [wrapped]).map(drop).map_err(fault)
            })
            .map_err(failed)
    }

    fn put_subject(&self, tenant: &TenantId, record: &SubjectRecord) -> Result<(), VaultError> {
        // No other write for the tenant comes between this and the next.
        let replaced = self.replaced_by(tenant, record).map_err(failed)?;
        let SubjectRecord { handle, generation, lane, epoch, renewed_from, salt, attempts } = record;
        let wrapped = self.key.wrap(&salt_name(tenant, handle, *generation, *epoch), salt);
        let (tenant, handle, generation, epoch) = (*tenant, *handle, *generation, *epoch);
        let (lane, renewed_from) = (lane.index() as u8, *renewed_from);
        let AttemptRecord { consecutive, retry_at, day, day_failures, generation_failures } = *attempts;
        let insert = move |connection: &Connection| {
            if let Some(replaced) = replaced {
                delete(connection, (tenant, handle, replaced))?;
            }
            let values = params![
                tenant,
                handle,
                generation,
                lane,
                epoch,
                renewed_from,
                wrapped,
                consecutive,
                retry_at,
                day,
                day_failures,
                generation_failures
            ];
            let sql = "INSERT INTO subjects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
            connection.execute(sql, values).map(drop).map_err(fault)
        };
        match replaced {
            Some(_) => self.database.shred(insert),
            None => self.database.write(insert),
        }
        .map_err(failed)
    }

    fn delete_subject(&self, tenant: &TenantId, handle: &Handle, generation: u32) -> Result<(), VaultError> {
        let name = (*tenant, *handle, generation);
        self.database.shred(move |connection| delete(connection, name)).map_err(failed)
    }

    fn put_attempts(
        &self,
        tenant: &TenantId,
        records: &[(Handle, u32, AttemptRecord)],
    ) -> Result<(), VaultError> {
        let (tenant, records) = (*tenant, records.to_vec());
        let write = move |connection: &Connection| update_attempts(connection, &tenant, &records);
        if let Some(survives) = self.attempts {
            return self.database.write_surviving(survives, write).map_err(failed);
        }
        if self.attempts_lost.load(Ordering::Acquire) {
            // The last write failed: wait for this one, and decide nothing until one succeeds.
            self.database.write(write).map_err(failed)?;
            self.attempts_lost.store(false, Ordering::Release);
            return Ok(());
        }
        let lost = Arc::clone(&self.attempts_lost);
        let done = move |outcome: Result<(), StoreError>| {
            if outcome.is_err() {
                lost.store(true, Ordering::Release);
            }
        };
        self.database.write_behind(write, done).map_err(failed)
    }
}

fn delete(connection: &Connection, name: (TenantId, Handle, u32)) -> Result<(), StoreError> {
    let sql = "DELETE FROM subjects WHERE tenant = ? AND handle = ? AND generation = ?";
    connection.execute(sql, name).map(drop).map_err(fault)
}

fn update_attempts(
    connection: &Connection,
    tenant: &TenantId,
    records: &[(Handle, u32, AttemptRecord)],
) -> Result<(), StoreError> {
    let mut update = connection
        .prepare_cached(
            "UPDATE subjects SET consecutive = ?4, retry_at = ?5, day = ?6, day_failures = ?7,
             generation_failures = ?8 WHERE tenant = ?1 AND handle = ?2 AND generation = ?3",
        )
        .map_err(fault)?;
    for (handle, generation, attempts) in records {
        let AttemptRecord { consecutive, retry_at, day, day_failures, generation_failures } = attempts;
        update
            .execute(params![
                tenant,
                handle,
                generation,
                consecutive,
                retry_at,
                day,
                day_failures,
                generation_failures
            ])
            .map_err(fault)?;
    }
    Ok(())
}

fn read_policy(row: &Row<'_>) -> rusqlite::Result<DecisionPolicy> {
    Ok(DecisionPolicy {
        threshold: row.get("threshold")?,
        attempts: AttemptPolicy {
            consecutive: row.get("consecutive")?,
            delay_s: row.get("delay_s")?,
            per_day: row.get("per_day")?,
            per_generation: row.get("per_generation")?,
        },
    })
}

fn read_attempts(row: &Row<'_>) -> rusqlite::Result<AttemptRecord> {
    Ok(AttemptRecord {
        consecutive: row.get("consecutive")?,
        retry_at: row.get("retry_at")?,
        day: row.get("day")?,
        day_failures: row.get("day_failures")?,
        generation_failures: row.get("generation_failures")?,
    })
}

#[cfg(test)]
mod tests;
