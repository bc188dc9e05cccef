//! The key-holder's vault: SQLite, in its own file, with masters and salts wrapped under a key of its own.

use crate::database::{Database, StoreError, Survives, fault};
use crate::wrap::WrapKey;
use rusqlite::{Connection, Row, params};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trefoil_matching::{
    AttemptPolicy, AttemptRecord, DecisionPolicy, Handle, Lane, SubjectRecord, TenantId, TenantRecord, Vault,
    VaultError,
};

/// See the module.
///
/// Unless told otherwise, attempts are written behind: a worker must not wait for an `fsync` per failed login, or a stream of failures
/// would stall every pinned worker. The budgets in force are those in memory; a crash forgets the failures of the
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
        let database = Database::open(path, include_str!("vault.sql"))?;
        Ok(SqliteVault { database, key, attempts: None, attempts_lost: Arc::default() })
    }

    /// Makes [`Vault::put_attempts`] wait until what it wrote survives this, so that no answer is given whose failure could
    /// be forgotten.
    #[must_use]
    pub fn with_attempts_surviving(self, what: Survives) -> SqliteVault {
        SqliteVault { attempts: Some(what), ..self }
    }

    fn secret(&self, name: &[u8], wrapped: &[u8]) -> Result<[u8; 32], VaultError> {
        let plain = self.key.open(name, wrapped).map_err(|cause| VaultError(cause.to_string()))?;
        plain.as_slice().try_into().map_err(|_| VaultError("a secret does not have 32 bytes".to_owned()))
    }
}

fn failed(cause: StoreError) -> VaultError {
    VaultError(cause.to_string())
}

fn master_name(tenant: &TenantId) -> Vec<u8> {
    [b"trefoil/vault-master/1".as_slice(), tenant].concat()
}

fn salt_name(tenant: &TenantId, handle: &Handle, generation: u32) -> Vec<u8> {
    [b"trefoil/vault-salt/1".as_slice(), tenant, handle, &generation.to_le_bytes()].concat()
}

impl Vault for SqliteVault {
    fn tenants(&self) -> Result<Vec<TenantRecord>, VaultError> {
        let sealed = |row: &Row<'_>| {
            let (tenant, basis_seed, frozen) =
                (row.get("tenant")?, row.get("basis_seed")?, row.get("frozen")?);
            let record =
                TenantRecord { tenant, master: [0; 32], basis_seed, policy: read_policy(row)?, frozen };
            Ok((record, row.get("wrapped_master")?))
        };
        let rows: Vec<(TenantRecord, Vec<u8>)> = self
            .database
            .read(|connection| connection.prepare("SELECT * FROM tenants")?.query_map([], sealed)?.collect())
            .map_err(failed)?;
        rows.into_iter()
            .map(|(record, wrapped)| {
                let master = self.secret(&master_name(&record.tenant), &wrapped)?;
                Ok(TenantRecord { master, ..record })
            })
            .collect()
    }

    fn subjects(&self, tenant: &TenantId) -> Result<Vec<SubjectRecord>, VaultError> {
        let rows: Vec<(Handle, u32, u8, Vec<u8>, AttemptRecord)> = self
            .database
            .read(|connection| {
                connection
                    .prepare("SELECT * FROM subjects WHERE tenant = ?")?
                    .query_map([tenant], |row| {
                        let attempts = read_attempts(row)?;
                        Ok((row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, attempts))
                    })?
                    .collect()
            })
            .map_err(failed)?;
        rows.into_iter()
            .map(|(handle, generation, lane, wrapped, attempts)| {
                let salt = self.secret(&salt_name(tenant, &handle, generation), &wrapped)?;
                let lane =
                    Lane::new(lane).ok_or_else(|| VaultError(format!("lane {lane} does not exist")))?;
                Ok(SubjectRecord { handle, generation, lane, salt, attempts })
            })
            .collect()
    }

    fn put_tenant(&self, record: &TenantRecord) -> Result<(), VaultError> {
        let TenantRecord { tenant, master, basis_seed, policy, frozen } = record;
        let wrapped = self.key.wrap(&master_name(tenant), master);
        let (tenant, basis_seed, frozen) = (*tenant, *basis_seed, *frozen);
        let DecisionPolicy { threshold, attempts } = *policy;
        let AttemptPolicy { consecutive, delay_s, per_day, per_generation } = attempts;
        self.database
            .write(move |connection| {
                connection
                    .execute(
                        "INSERT INTO tenants VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                         ON CONFLICT DO UPDATE SET wrapped_master = ?2, basis_seed = ?3, frozen = ?4, threshold = ?5,
                         consecutive = ?6, delay_s = ?7, per_day = ?8, per_generation = ?9",
                        params![
                            tenant,
                            wrapped,
                            basis_seed,
                            frozen,
                            threshold,
                            consecutive,
                            delay_s,
                            per_day,
                            per_generation
                        ],
                    )
                    .map(drop)
                    .map_err(fault)
            })
            .map_err(failed)
    }

    fn put_subject(&self, tenant: &TenantId, record: &SubjectRecord) -> Result<(), VaultError> {
        let SubjectRecord { handle, generation, lane, salt, attempts } = record;
        let wrapped = self.key.wrap(&salt_name(tenant, handle, *generation), salt);
        let (tenant, handle, generation, attempts) = (*tenant, *handle, *generation, *attempts);
        let lane = lane.index() as u8;
        let AttemptRecord { consecutive, retry_at, day, day_failures, generation_failures } = attempts;
        self.database
            .write(move |connection| {
                connection
                    .execute(
                        "INSERT INTO subjects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        params![
                            tenant,
                            handle,
                            generation,
                            lane,
                            wrapped,
                            consecutive,
                            retry_at,
                            day,
                            day_failures,
                            generation_failures
                        ],
                    )
                    .map(drop)
                    .map_err(fault)
            })
            .map_err(failed)
    }

    fn delete_subject(&self, tenant: &TenantId, handle: &Handle, generation: u32) -> Result<(), VaultError> {
        let name = (*tenant, *handle, generation);
        self.database
            .shred(move |connection| {
                connection
                    .execute("DELETE FROM subjects WHERE tenant = ? AND handle = ? AND generation = ?", name)
                    .map(drop)
                    .map_err(fault)
            })
            .map_err(failed)
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
mod tests {
    use super::*;

    #[test]
    fn a_vault_remembers_and_forgets() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vault.sqlite");
        let open = || SqliteVault::open(&path, WrapKey::new(&[9; 32])).unwrap();
        let policy = DecisionPolicy { threshold: -5, attempts: AttemptPolicy::default() };
        let tenant =
            TenantRecord { tenant: [1; 16], master: [2; 32], basis_seed: [3; 32], policy, frozen: false };
        let lane = Lane::new(17).unwrap();
        let attempts = AttemptRecord::default();
        let subject = SubjectRecord { handle: [4; 32], generation: 5, lane, salt: [6; 32], attempts };
        let vault = open();
        vault.put_tenant(&tenant).unwrap();
        vault.put_tenant(&TenantRecord { frozen: true, ..tenant.clone() }).unwrap();
        vault.put_subject(&[1; 16], &subject).unwrap();
        assert!(vault.put_subject(&[1; 16], &subject).is_err());
        let failed =
            AttemptRecord { consecutive: 1, retry_at: 2, day: 3, day_failures: 4, generation_failures: 5 };
        vault.put_attempts(&[1; 16], &[([4; 32], 5, failed), ([8; 32], 5, failed)]).unwrap();
        drop(vault);

        let vault = open();
        let [read] = vault.tenants().unwrap().try_into().ok().unwrap();
        assert!(read.frozen && read.master == [2; 32] && read.policy == policy);
        let [read] = vault.subjects(&[1; 16]).unwrap().try_into().ok().unwrap();
        assert!(read.salt == [6; 32] && read.lane == lane && read.attempts == failed);
        vault.delete_subject(&[1; 16], &[4; 32], 5).unwrap();
        vault.delete_subject(&[1; 16], &[4; 32], 5).unwrap();
        assert!(vault.subjects(&[1; 16]).unwrap().is_empty());
        drop(vault);
        let vault = SqliteVault::open(&path, WrapKey::new(&[8; 32])).unwrap();
        assert!(vault.tenants().is_err(), "another key opens nothing");
    }

    #[test]
    fn after_a_lost_write_attempts_wait_for_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let vault = SqliteVault::open(&folder.path().join("vault.db"), WrapKey::new(&[7; 32])).unwrap();
        let failed = AttemptRecord { consecutive: 1, ..AttemptRecord::default() };
        // Written behind: the answer comes before the write, whose failure is only seen later.
        vault
            .database
            .write(|c| c.execute_batch("ALTER TABLE subjects RENAME TO gone").map_err(fault))
            .unwrap();
        vault.put_attempts(&[1; 16], &[([4; 32], 1, failed)]).unwrap();
        vault.database.write(|_| Ok(())).unwrap();
        assert!(
            vault.put_attempts(&[1; 16], &[([4; 32], 1, failed)]).is_err(),
            "no more failures go unrecorded"
        );
        assert!(vault.put_attempts(&[1; 16], &[([4; 32], 1, failed)]).is_err());
        vault
            .database
            .write(|c| c.execute_batch("ALTER TABLE gone RENAME TO subjects").map_err(fault))
            .unwrap();
        vault.put_attempts(&[1; 16], &[([4; 32], 1, failed)]).unwrap();
        assert!(!vault.attempts_lost.load(Ordering::Acquire));
    }
}
