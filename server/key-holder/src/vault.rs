//! The key-holder's vault: SQLite, in its own file, with masters and salts wrapped under a key of its own.

mod records;

use arc_swap::ArcSwap;
use records::{
    Epoch, OPENING_KEY, Opened, OpeningKey, Owner, SCHEMA, Shown, Subject, Tenant, master_name, salt_name,
    tags_name,
};
use rusqlite::{Connection, params};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trefoil_matching::{
    AttemptRecord, DecisionPolicy, EpochRecord, Handle, KeyStructure, Lane, StoreAge, SubjectRecord,
    TenantId, TenantRecord, Vault, VaultError, VaultState,
};
use trefoil_storage::data_dir::DatabaseFile;
use trefoil_storage::database::{Count, Database, RowKey, StoreError, Survives, check_copy, fault};
use trefoil_storage::supervisor::Supervisor;
use trefoil_storage::table::{Record as _, Records as _, Rows as _, key};
use trefoil_storage::wrap::WrapKey;
use zeroize::Zeroizing;

/// The vault in the data directory of the role that holds the keys.
pub const VAULT_FILE: &str = "vault.sqlite";
/// Version of the schema.
pub const VERSION: i64 = 1;

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
    /// Opens or creates the file; the thread that writes is under `supervisor`. `secret` wraps the secrets in it, and authenticates every row.
    ///
    /// # Errors
    /// [`StoreError::Altered`] when another program wrote to the file.
    pub fn open(
        supervisor: &Supervisor,
        file: impl Into<DatabaseFile>,
        secret: &[u8; 32],
    ) -> Result<SqliteVault, StoreError> {
        let database = Database::open(file, VERSION, &SCHEMA, RowKey::of(secret), supervisor)?;
        let owners: Vec<Owner> = database.read(|rows| rows.select("", &[]))?;
        let owners = owners.into_iter().map(|Owner { tenant, client }| (tenant, client)).collect();
        let (key, owners) = (WrapKey::new(secret), ArcSwap::from_pointee(owners));
        Ok(SqliteVault { database, key, attempts: None, attempts_lost: Arc::default(), owners })
    }

    /// Checks a copy that no process has open; `secret` authenticates its rows.
    ///
    /// # Errors
    /// As [`SqliteVault::open`].
    pub fn check_copy(path: &Path, secret: &[u8; 32]) -> Result<VaultState, StoreError> {
        check_copy(path, VERSION, &SCHEMA, RowKey::of(secret))
    }

    /// Durably records the owner of a tenant before it is created; `Conflict` if another client has it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn claim(&self, tenant: TenantId, client: &str) -> Result<(), StoreError> {
        if self.owns(&tenant, client) {
            return Ok(());
        }
        let owner = Owner { tenant, client: client.to_owned() };
        self.database.write(move |rows| rows.insert(&owner))?;
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
        let client = client.to_owned();
        let shown: Option<Shown> = self.database.read(|rows| rows.get(&key([&client]))).map_err(failed)?;
        let seen = shown.map_or_else(StoreAge::default, |shown| shown.age);
        if age > seen {
            let newer = "(stores.restored, stores.count) < (excluded.restored, excluded.count)";
            let shown = Shown { client, age };
            let note = move |rows: &Connection| rows.put_row(&Shown::TABLE, &shown.values(), Some(newer));
            self.database.write(note).map_err(failed)?;
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
        let of_tenant = |rows: &Connection| rows.select("WHERE tenant = $1 ORDER BY epoch", &key([tenant]));
        let rows: Vec<Epoch> = self.database.read(of_tenant).map_err(failed)?;
        rows.into_iter()
            .map(|Epoch { epoch, wrapped_master, seed, wrapped_tags, .. }| {
                let master = self.secret(&master_name(tenant, keys, epoch), &wrapped_master)?;
                let tags = self.secrets(&tags_name(tenant, epoch), &wrapped_tags)?;
                Ok(EpochRecord { epoch, master, seed, tags })
            })
            .collect()
    }

    /// The subject that a new one replaces: renewed from the same generation, under the same keys.
    fn replaced_by(&self, new: &Subject) -> Result<Option<Subject>, StoreError> {
        let Subject { tenant, handle, generation, epoch, renewed_from, .. } = new;
        let Some(from) = renewed_from else { return Ok(None) };
        let alike =
            "WHERE tenant = $1 AND handle = $2 AND generation <> $3 AND epoch = $4 AND renewed_from = $5";
        let of = key([tenant, handle, generation, epoch, from]);
        self.database.read(|rows| rows.one(alike, &of))
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

fn failed(cause: StoreError) -> VaultError {
    VaultError(cause.to_string())
}

impl Vault for SqliteVault {
    fn tenants(&self) -> Result<Vec<TenantRecord>, VaultError> {
        let rows: Vec<Tenant> = self.database.read(|rows| rows.select("", &[])).map_err(failed)?;
        rows.into_iter()
            .map(|row| {
                let Tenant { tenant, keys, model, threshold, attempts, malformed, forgiven, .. } = row;
                let previous = row.previous_model.zip(row.previous_threshold);
                let policy = DecisionPolicy { model, threshold, previous, attempts };
                let keys = KeyStructure::from_code(keys)
                    .ok_or_else(|| VaultError(format!("key structure {keys} does not exist")))?;
                let epochs = self.epochs(&tenant, keys)?;
                Ok(TenantRecord { tenant, keys, epochs, policy, malformed, forgiven })
            })
            .collect()
    }

    fn subjects(&self, tenant: &TenantId) -> Result<Vec<SubjectRecord>, VaultError> {
        let of_tenant = |rows: &Connection| rows.select("WHERE tenant = $1", &key([tenant]));
        let rows: Vec<Subject> = self.database.read(of_tenant).map_err(failed)?;
        rows.into_iter()
            .map(
                |Subject {
                     handle,
                     generation,
                     lane,
                     model,
                     epoch,
                     renewed_from,
                     wrapped_salt,
                     attempts,
                     ..
                 }| {
                    let salt = self.secret(&salt_name(tenant, &handle, generation, epoch), &wrapped_salt)?;
                    let lane =
                        Lane::new(lane).ok_or_else(|| VaultError(format!("lane {lane} does not exist")))?;
                    Ok(SubjectRecord { handle, generation, lane, model, epoch, renewed_from, salt, attempts })
                },
            )
            .collect()
    }

    fn put_tenant(&self, record: &TenantRecord) -> Result<(), VaultError> {
        let TenantRecord { tenant, keys, epochs, policy, malformed, forgiven } = record;
        let wrapped = |EpochRecord { epoch, master, seed, tags }: &EpochRecord| Epoch {
            tenant: *tenant,
            epoch: *epoch,
            wrapped_master: self.key.wrap(&master_name(tenant, *keys, *epoch), master),
            seed: *seed,
            wrapped_tags: self.key.wrap(&tags_name(tenant, *epoch), tags.as_flattened()),
        };
        let epochs: Vec<Epoch> = epochs.iter().map(wrapped).collect();
        let DecisionPolicy { model, threshold, previous, attempts } = *policy;
        let own = Tenant {
            tenant: *tenant,
            keys: keys.code(),
            model,
            threshold,
            previous_model: previous.map(|(model, _)| model),
            previous_threshold: previous.map(|(_, threshold)| threshold),
            attempts,
            malformed: *malformed,
            forgiven: *forgiven,
        };
        let write = move |rows: &Connection| {
            rows.put(&own)?;
            // One that is there stays as it is.
            epochs.iter().try_for_each(|epoch| rows.put_row(&Epoch::TABLE, &epoch.values(), None).map(drop))
        };
        self.database.write(write).map_err(failed)
    }

    fn erase_epoch(&self, tenant: &TenantId, epoch: u32) -> Result<(), VaultError> {
        let tenant = *tenant;
        let erase = move |rows: &Connection| {
            let (of, under) = ("tenant = $1 AND epoch = $2", key([&tenant, &epoch]));
            rows.delete::<Subject>(of, &under)?;
            rows.delete::<Epoch>(of, &under).map(drop)
        };
        self.database.shred(erase).map_err(failed)
    }

    fn opening_key(&self) -> Result<Option<Zeroizing<Vec<u8>>>, VaultError> {
        let kept: Option<OpeningKey> = self.database.read(|rows| rows.one("", &[])).map_err(failed)?;
        let open = |kept: OpeningKey| self.key.open(OPENING_KEY, &kept.wrapped);
        kept.map(open).transpose().map_err(|cause| VaultError(cause.to_string()))
    }

    fn put_opening_key(&self, key: &[u8]) -> Result<(), VaultError> {
        let kept = OpeningKey { id: 0, wrapped: self.key.wrap(OPENING_KEY, key) };
        self.database.write(move |rows| rows.insert(&kept)).map_err(failed)
    }

    fn opened_until(&self) -> Result<u64, VaultError> {
        let opened: Option<Opened> = self.database.read(|rows| rows.one("", &[])).map_err(failed)?;
        Ok(opened.map_or(0, |opened| opened.until))
    }

    fn put_opened_until(&self, time: u64) -> Result<(), VaultError> {
        let row = Opened { id: 0, until: time };
        let later = "opened.until < excluded.until";
        let note = move |rows: &Connection| rows.put_row(&Opened::TABLE, &row.values(), Some(later));
        self.database.write(note).map(drop).map_err(failed)
    }

    fn put_subject(&self, tenant: &TenantId, record: &SubjectRecord) -> Result<(), VaultError> {
        let SubjectRecord { handle, generation, lane, model, epoch, renewed_from, salt, attempts } = record;
        let new = Subject {
            tenant: *tenant,
            handle: *handle,
            generation: *generation,
            lane: lane.index() as u8,
            model: *model,
            epoch: *epoch,
            renewed_from: *renewed_from,
            wrapped_salt: self.key.wrap(&salt_name(tenant, handle, *generation, *epoch), salt),
            attempts: *attempts,
        };
        // No other write for the tenant comes between these two.
        match self.replaced_by(&new).map_err(failed)? {
            None => self.database.write(move |rows| rows.insert(&new)),
            Some(replaced) => self.database.shred(move |rows| {
                rows.remove::<Subject>(&replaced.values()[..Subject::TABLE.key])?;
                rows.insert(&new)
            }),
        }
        .map_err(failed)
    }

    fn delete_subject(&self, tenant: &TenantId, handle: &Handle, generation: u32) -> Result<(), VaultError> {
        let (tenant, handle) = (*tenant, *handle);
        let delete = move |rows: &Connection| rows.remove::<Subject>(&key([&tenant, &handle, &generation]));
        self.database.shred(delete).map(drop).map_err(failed)
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

#[cfg(test)]
mod tests;
