//! The key-holder's vault: SQLite, in its own file, with masters and salts wrapped under a key of its own.

use arc_swap::ArcSwap;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trefoil_matching::{
    AttemptPolicy, AttemptRecord, DecisionPolicy, EpochRecord, Handle, KeyStructure, Lane, StoreAge,
    SubjectRecord, TenantId, TenantRecord, Vault, VaultError, VaultState,
};
use trefoil_storage::data_dir::DatabaseFile;
use trefoil_storage::database::{
    Count, Database, RowKey, StoreError, Survives, check_copy, conflict_or_fault, fault,
};
use trefoil_storage::supervisor::Supervisor;
use trefoil_storage::wrap::WrapKey;
use zeroize::Zeroizing;

/// The vault in the data directory of the role that holds the keys.
pub const VAULT_FILE: &str = "vault.sqlite";
/// Version of the schema.
pub const VERSION: i64 = 1;
const SCHEMA: &str = include_str!("vault.sql");

/// See the module. By default attempts are written behind, because a worker that waited for an `fsync` for each failed
/// login would stall in a stream of failures. The budgets in force are those in memory. A crash forgets the failures of the
/// last few commits, at most [`trefoil_storage::database`]'s queue. After such a write fails, no failure goes unrecorded:
/// [`Vault::put_attempts`] waits for its own write, and without it the key-holder decides nothing.
pub struct SqliteVault {
    database: Database,
    key: WrapKey,
    /// The fault that a counted failure survives once its attempt is answered; none if absent.
    attempts: Option<Survives>,
    attempts_lost: Arc<AtomicBool>,
    /// The client that created each tenant. Every batch reads it, without a lock.
    owners: ArcSwap<HashMap<TenantId, String>>,
}

impl SqliteVault {
    /// Opens or creates the file. `secret` wraps the secrets in it, and authenticates every row.
    ///
    /// # Errors
    /// [`StoreError::Altered`] when another program wrote to the file.
    pub fn open(path: &Path, secret: &[u8; 32]) -> Result<SqliteVault, StoreError> {
        SqliteVault::open_under(&Supervisor::default(), path, secret)
    }

    /// As [`SqliteVault::open`], for a process that ends when the writing thread panics.
    ///
    /// # Errors
    /// As [`SqliteVault::open`].
    pub fn open_under(
        supervisor: &Supervisor,
        file: impl Into<DatabaseFile>,
        secret: &[u8; 32],
    ) -> Result<SqliteVault, StoreError> {
        let database = Database::open(file, VERSION, SCHEMA, RowKey::of(secret), supervisor)?;
        let owners = database.read(|connection| {
            let mut all = connection.prepare("SELECT tenant, client FROM owners")?;
            all.query_map([], |row| Ok((TenantId::new(row.get(0)?), row.get(1)?)))?.collect()
        })?;
        let (key, owners) = (WrapKey::new(secret), ArcSwap::from_pointee(owners));
        Ok(SqliteVault { database, key, attempts: None, attempts_lost: Arc::default(), owners })
    }

    /// Checks a copy that no process has open; `secret` authenticates its rows.
    ///
    /// # Errors
    /// As [`SqliteVault::open`].
    pub fn check_copy(path: &Path, secret: &[u8; 32]) -> Result<VaultState, StoreError> {
        check_copy(path, VERSION, SCHEMA, RowKey::of(secret))
    }

    /// Durably records the owner of a tenant before it is created; `Conflict` if another client has it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn claim(&self, tenant: TenantId, client: &str) -> Result<(), StoreError> {
        if self.owns(&tenant, client) {
            return Ok(());
        }
        let name = client.to_owned();
        self.database.write(move |connection| {
            let insert = "INSERT INTO owners VALUES (?, ?)";
            connection.execute(insert, params![tenant.as_bytes(), name]).map(drop).map_err(conflict_or_fault)
        })?;
        self.owners.rcu(|owners| {
            let mut owners = HashMap::clone(owners);
            owners.insert(tenant, client.to_owned());
            owners
        });
        Ok(())
    }

    /// Whether `client` owns the tenant.
    pub fn owns(&self, tenant: &TenantId, client: &str) -> bool {
        self.owners.load().get(tenant).is_some_and(|owner| owner == client)
    }

    /// Notes how new a client's store is. Returns the newest that the client showed before.
    ///
    /// # Errors
    /// The file failed.
    pub fn note_store(&self, client: &str, age: StoreAge) -> Result<StoreAge, VaultError> {
        let newest = "SELECT restored, count FROM stores WHERE client = ?";
        let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let seen = self.database.read(|connection| connection.query_row(newest, [client], row).optional());
        let seen = seen.map_err(failed)?.unwrap_or_default();
        if age > seen {
            let note =
                "INSERT INTO stores VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET restored = ?2, count = ?3
                        WHERE (restored, count) < (?2, ?3)";
            let values = (client.to_owned(), age.0, age.1);
            let write =
                move |connection: &Connection| connection.execute(note, values).map(drop).map_err(fault);
            self.database.write(write).map_err(failed)?;
        }
        Ok(seen)
    }

    /// Transactions that were acknowledged before it was opened, by its mark. A vault that has fewer is an older copy.
    pub fn reached(&self) -> u64 {
        self.database.reached()
    }

    /// Notes the count of the store or job log beside it from now on. Returns the count that it had when the vault was written last.
    pub fn follow(&self, beside: Count) -> u64 {
        self.database.follow(beside);
        self.database.seen()
    }

    /// How many transactions are durable, for the file beside it.
    pub fn count(&self) -> Count {
        self.database.count()
    }

    /// See [`Database::note_beside`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn note_beside(&self) -> Result<(), StoreError> {
        self.database.note_beside()
    }

    /// See [`Database::checkpoint`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        self.database.checkpoint()
    }

    /// Accepts this vault although the job log or a seal shows a later state. Both counts continue above that state.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn accept_older(&self, remembered: VaultState) -> Result<(), StoreError> {
        self.database.accept_older(remembered)
    }

    /// Makes [`Vault::put_attempts`] wait until its write survives this fault, so that no answer is given whose failure could
    /// be forgotten.
    #[must_use]
    pub fn with_attempts_surviving(self, what: Survives) -> SqliteVault {
        SqliteVault { attempts: Some(what), ..self }
    }

    /// The epochs of a tenant, oldest first.
    fn epochs(&self, tenant: &TenantId, keys: KeyStructure) -> Result<Vec<EpochRecord>, VaultError> {
        let of =
            "SELECT epoch, wrapped_master, seed, wrapped_tags FROM epochs WHERE tenant = ? ORDER BY epoch";
        let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
        let rows: Vec<EpochRow> = self
            .database
            .read(|connection| connection.prepare(of)?.query_map([tenant.as_bytes()], row)?.collect())
            .map_err(failed)?;
        rows.into_iter()
            .map(|(epoch, master, seed, tags)| {
                let master = self.secret(&master_name(tenant, keys, epoch), &master)?;
                let tags = self.secrets(&tags_name(tenant, epoch), &tags)?;
                Ok(EpochRecord { epoch, master, seed, tags })
            })
            .collect()
    }

    /// The generation that `record` replaces: renewed from the same one, under the same keys.
    fn replaced_by(&self, tenant: &TenantId, record: &SubjectRecord) -> Result<Option<u32>, StoreError> {
        let SubjectRecord { handle, generation, epoch, renewed_from, .. } = record;
        let Some(from) = renewed_from else { return Ok(None) };
        let sql = "SELECT generation FROM subjects WHERE tenant = ? AND handle = ? AND generation <> ?
                   AND epoch = ? AND renewed_from = ?";
        let values = (tenant.as_bytes(), handle.as_bytes(), generation, epoch, from);
        self.database.read(|connection| connection.query_row(sql, values, |row| row.get(0)).optional())
    }

    fn secret(&self, name: &[u8], wrapped: &[u8]) -> Result<[u8; 32], VaultError> {
        self.secrets(name, wrapped).map(|[secret]| secret)
    }

    fn secrets<const COUNT: usize>(
        &self,
        name: &[u8],
        wrapped: &[u8],
    ) -> Result<[[u8; 32]; COUNT], VaultError> {
        let plain = self.key.open(name, wrapped).map_err(|cause| VaultError(cause.to_string()))?;
        let (secrets, rest) = plain.as_chunks();
        let secrets = secrets.try_into().ok().filter(|_| rest.is_empty());
        secrets.ok_or_else(|| VaultError(format!("a secret does not have {} bytes", COUNT * 32)))
    }
}

/// A row: epoch, wrapped master, seed, wrapped secret of the tag keys.
type EpochRow = (u32, Vec<u8>, [u8; 32], Vec<u8>);

/// A row: handle, generation, lane, epoch, the generation that it was renewed from, wrapped salt, attempts.
type SubjectRow = (Handle, u32, u8, u32, Option<u32>, Vec<u8>, AttemptRecord);

fn failed(cause: StoreError) -> VaultError {
    VaultError(cause.to_string())
}

/// Associated data of a master key: the tenant, its key structure, and the epoch.
fn master_name(tenant: &TenantId, keys: KeyStructure, epoch: u32) -> Vec<u8> {
    [b"trefoil/vault-master/2".as_slice(), tenant.as_bytes(), &[keys.code()], &epoch.to_le_bytes()].concat()
}

/// Associated data of the secret from which tag keys are derived.
fn tags_name(tenant: &TenantId, epoch: u32) -> Vec<u8> {
    [b"trefoil/vault-tags/1".as_slice(), tenant.as_bytes(), &epoch.to_le_bytes()].concat()
}

const OPENING_KEY: &[u8] = b"trefoil/vault-opening-key/1";

fn salt_name(tenant: &TenantId, handle: &Handle, generation: u32, epoch: u32) -> Vec<u8> {
    let (generation, epoch) = (generation.to_le_bytes(), epoch.to_le_bytes());
    [b"trefoil/vault-salt/2".as_slice(), tenant.as_bytes(), handle.as_bytes(), &generation, &epoch].concat()
}

impl Vault for SqliteVault {
    fn tenants(&self) -> Result<Vec<TenantRecord>, VaultError> {
        let rows: Vec<(TenantId, u8, DecisionPolicy, u32, u32)> = self
            .database
            .read(|connection| {
                let row = |row: &Row<'_>| {
                    let (malformed, forgiven) = (row.get("malformed")?, row.get("forgiven")?);
                    Ok((
                        TenantId::new(row.get("tenant")?),
                        row.get("keys")?,
                        read_policy(row)?,
                        malformed,
                        forgiven,
                    ))
                };
                connection.prepare("SELECT * FROM tenants")?.query_map([], row)?.collect()
            })
            .map_err(failed)?;
        rows.into_iter()
            .map(|(tenant, keys, policy, malformed, forgiven)| {
                let keys = KeyStructure::from_code(keys)
                    .ok_or_else(|| VaultError(format!("key structure {keys} does not exist")))?;
                let epochs = self.epochs(&tenant, keys)?;
                Ok(TenantRecord { tenant, keys, epochs, policy, malformed, forgiven })
            })
            .collect()
    }

    fn subjects(&self, tenant: &TenantId) -> Result<Vec<SubjectRecord>, VaultError> {
        let rows: Vec<SubjectRow> = self
            .database
            .read(|connection| {
                connection
                    .prepare("SELECT * FROM subjects WHERE tenant = ?")?
                    .query_map([tenant.as_bytes()], |row| {
                        let (epoch, renewed_from, attempts) = (row.get(4)?, row.get(5)?, read_attempts(row)?);
                        Ok((
                            Handle::new(row.get(1)?),
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
        let TenantRecord { tenant, keys, epochs, policy, malformed, forgiven } = record;
        let wrapped = |EpochRecord { epoch, master, seed, tags }: &EpochRecord| {
            let master = self.key.wrap(&master_name(tenant, *keys, *epoch), master);
            (*epoch, master, *seed, self.key.wrap(&tags_name(tenant, *epoch), tags.as_flattened()))
        };
        let epochs: Vec<EpochRow> = epochs.iter().map(wrapped).collect();
        let (tenant, keys, malformed, forgiven) = (*tenant, keys.code(), *malformed, *forgiven);
        let DecisionPolicy { threshold, attempts } = *policy;
        let AttemptPolicy { consecutive, delay_s, failures_per_day, failures_per_generation, .. } = attempts;
        let AttemptPolicy { attempts_per_day, attempts_per_generation, .. } = attempts;
        self.database
            .write(move |connection| {
                let sql = "INSERT INTO tenants VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
                         ON CONFLICT DO UPDATE SET threshold = ?3, consecutive = ?4, delay_s = ?5,
                         failures_per_day = ?6, failures_per_generation = ?7, attempts_per_day = ?8,
                         attempts_per_generation = ?9, malformed = ?10, forgiven = ?11";
                let values = params![
                    tenant.as_bytes(),
                    keys,
                    threshold,
                    consecutive,
                    delay_s,
                    failures_per_day,
                    failures_per_generation,
                    attempts_per_day,
                    attempts_per_generation,
                    malformed,
                    forgiven
                ];
                connection.execute(sql, values).map_err(fault)?;
                for (epoch, master, seed, tags) in epochs {
                    let sql = "INSERT INTO epochs VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
                    connection
                        .execute(sql, params![tenant.as_bytes(), epoch, master, seed, tags])
                        .map_err(fault)?;
                }
                Ok(())
            })
            .map_err(failed)
    }

    fn erase_epoch(&self, tenant: &TenantId, epoch: u32) -> Result<(), VaultError> {
        let name = (tenant.to_bytes(), epoch);
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

    fn opened_until(&self) -> Result<u64, VaultError> {
        let until = self.database.read(|connection| {
            connection.query_row("SELECT until FROM opened", [], |row| row.get(0)).optional()
        });
        until.map(Option::unwrap_or_default).map_err(failed)
    }

    fn put_opened_until(&self, time: u64) -> Result<(), VaultError> {
        let sql = "INSERT INTO opened VALUES (0, ?) ON CONFLICT (id) DO UPDATE SET until = max(until, excluded.until)";
        self.database
            .write(move |connection| connection.execute(sql, [time]).map(drop).map_err(fault))
            .map_err(failed)
    }

    fn put_subject(&self, tenant: &TenantId, record: &SubjectRecord) -> Result<(), VaultError> {
        // No other write for the tenant comes between these two.
        let replaced = self.replaced_by(tenant, record).map_err(failed)?;
        let SubjectRecord { handle, generation, lane, epoch, renewed_from, salt, attempts } = record;
        let wrapped = self.key.wrap(&salt_name(tenant, handle, *generation, *epoch), salt);
        let (tenant, handle, generation, epoch) = (*tenant, *handle, *generation, *epoch);
        let (lane, renewed_from) = (lane.index() as u8, *renewed_from);
        let AttemptRecord { consecutive, retry_at, day, day_failures, day_attempts, .. } = *attempts;
        let AttemptRecord { generation_failures, generation_attempts, version, .. } = *attempts;
        let insert = move |connection: &Connection| {
            if let Some(replaced) = replaced {
                delete(connection, (tenant, handle, replaced))?;
            }
            let values = params![
                tenant.as_bytes(),
                handle.as_bytes(),
                generation,
                lane,
                epoch,
                renewed_from,
                wrapped,
                consecutive,
                retry_at,
                day,
                day_failures,
                day_attempts,
                generation_failures,
                generation_attempts,
                version
            ];
            let sql = "INSERT INTO subjects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
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

    fn state(&self) -> VaultState {
        self.database.state()
    }
}

fn delete(connection: &Connection, name: (TenantId, Handle, u32)) -> Result<(), StoreError> {
    let sql = "DELETE FROM subjects WHERE tenant = ? AND handle = ? AND generation = ?";
    connection.execute(sql, params![name.0.as_bytes(), name.1.as_bytes(), name.2]).map(drop).map_err(fault)
}

fn update_attempts(
    connection: &Connection,
    tenant: &TenantId,
    records: &[(Handle, u32, AttemptRecord)],
) -> Result<(), StoreError> {
    let mut update = connection
        .prepare_cached(
            "UPDATE subjects SET consecutive = ?4, retry_at = ?5, day = ?6, day_failures = ?7, day_attempts = ?8,
             generation_failures = ?9, generation_attempts = ?10, version = ?11
             WHERE tenant = ?1 AND handle = ?2 AND generation = ?3 AND version < ?11",
        )
        .map_err(fault)?;
    for (handle, of, attempts) in records {
        let AttemptRecord { consecutive, retry_at, day, day_failures, day_attempts, .. } = attempts;
        let AttemptRecord { generation_failures, generation_attempts, version, .. } = attempts;
        let values = params![
            tenant.as_bytes(),
            handle.as_bytes(),
            of,
            consecutive,
            retry_at,
            day,
            day_failures,
            day_attempts,
            generation_failures,
            generation_attempts,
            version
        ];
        update.execute(values).map_err(fault)?;
    }
    Ok(())
}

fn read_policy(row: &Row<'_>) -> rusqlite::Result<DecisionPolicy> {
    Ok(DecisionPolicy {
        threshold: row.get("threshold")?,
        attempts: AttemptPolicy {
            consecutive: row.get("consecutive")?,
            delay_s: row.get("delay_s")?,
            failures_per_day: row.get("failures_per_day")?,
            failures_per_generation: row.get("failures_per_generation")?,
            attempts_per_day: row.get("attempts_per_day")?,
            attempts_per_generation: row.get("attempts_per_generation")?,
        },
    })
}

fn read_attempts(row: &Row<'_>) -> rusqlite::Result<AttemptRecord> {
    Ok(AttemptRecord {
        consecutive: row.get("consecutive")?,
        retry_at: row.get("retry_at")?,
        day: row.get("day")?,
        day_failures: row.get("day_failures")?,
        day_attempts: row.get("day_attempts")?,
        generation_failures: row.get("generation_failures")?,
        generation_attempts: row.get("generation_attempts")?,
        version: row.get("version")?,
    })
}

#[cfg(test)]
mod tests;
