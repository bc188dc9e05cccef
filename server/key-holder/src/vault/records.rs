//! The rows of a vault, and the names to which their secrets are bound. Each row is a part of the file's keyed sum.

use std::sync::LazyLock;
use trefoil_matching::{AttemptPolicy, AttemptRecord, Handle, KeyStructure, Model, StoreAge, TenantId};
use trefoil_storage::record;
use trefoil_storage::table::{Record as _, schema};

/// The statements that make the tables.
pub(super) static SCHEMA: LazyLock<String> = LazyLock::new(|| {
    schema(&[
        Tenant::TABLE,
        Owner::TABLE,
        Shown::TABLE,
        Epoch::TABLE,
        Subject::TABLE,
        OpeningKey::TABLE,
        Opened::TABLE,
    ])
});

/// A tenant, without its keys.
pub(super) struct Tenant {
    pub(super) tenant: TenantId,
    pub(super) keys: u8,
    pub(super) model: Model,
    pub(super) threshold: i32,
    pub(super) previous_model: Option<Model>,
    pub(super) previous_threshold: Option<i32>,
    pub(super) attempts: AttemptPolicy,
    pub(super) malformed: u32,
    pub(super) forgiven: u32,
}
record!(
    "tenants", 1, Rows,
    Tenant {
        tenant, keys, model, threshold, previous_model, previous_threshold,
        attempts: AttemptPolicy {
            consecutive, delay_s, failures_per_day, failures_per_generation, attempts_per_day, attempts_per_generation
        },
        malformed, forgiven
    }
    => tenant, keys, model, threshold, previous_model, previous_threshold, consecutive, delay_s, failures_per_day, failures_per_generation, attempts_per_day,
    attempts_per_generation, malformed, forgiven
);

/// Which client created which tenant: only that client may enrol, shred and decide for it.
pub(super) struct Owner {
    pub(super) tenant: TenantId,
    pub(super) client: String,
}
record!("owners", 1, Rows, Owner { tenant, client });

/// The newest store that a client has shown.
pub(super) struct Shown {
    pub(super) client: String,
    pub(super) age: StoreAge,
}
record!("stores", 1, Rows, Shown { client, age: (restored, count) } => client, restored, count);

/// Keys of a tenant: two while they are rotated, otherwise one.
pub(super) struct Epoch {
    pub(super) tenant: TenantId,
    pub(super) epoch: u32,
    pub(super) wrapped_master: Vec<u8>,
    pub(super) seed: [u8; 32],
    pub(super) wrapped_tags: Vec<u8>,
}
record!("epochs", 2, Rows, Epoch { tenant, epoch, wrapped_master, seed, wrapped_tags });

/// A subject that may be decided, and its attempts.
pub(super) struct Subject {
    pub(super) tenant: TenantId,
    pub(super) handle: Handle,
    pub(super) generation: u32,
    pub(super) lane: u8,
    pub(super) model: Model,
    pub(super) epoch: u32,
    pub(super) renewed_from: Option<u32>,
    pub(super) wrapped_salt: Vec<u8>,
    pub(super) attempts: AttemptRecord,
}
record!(
    "subjects", 3, Rows,
    Subject {
        tenant, handle, generation, lane, model, epoch, renewed_from, wrapped_salt,
        attempts: AttemptRecord {
            consecutive, retry_at, day, day_failures, day_attempts, generation_failures, generation_attempts, version
        }
    }
    => tenant, handle, generation, lane, model, epoch, renewed_from, wrapped_salt, consecutive, retry_at, day, day_failures,
    day_attempts, generation_failures, generation_attempts, version
);

/// The only row has number 0.
pub(super) struct OpeningKey {
    pub(super) id: u8,
    pub(super) wrapped: Vec<u8>,
}
record!("opening_key", 1, Rows, OpeningKey { id, wrapped });

/// Shares that were sealed up to this time may have been opened. The only row has number 0.
pub(super) struct Opened {
    pub(super) id: u8,
    pub(super) until: u64,
}
record!("opened", 1, Rows, Opened { id, until });

/// Associated data of a master key: the tenant, its key structure, and the epoch.
pub(super) fn master_name(tenant: &TenantId, keys: KeyStructure, epoch: u32) -> Vec<u8> {
    [b"trefoil/vault-master/2".as_slice(), tenant.as_bytes(), &[keys.code()], &epoch.to_le_bytes()].concat()
}

/// Associated data of the secret from which tag keys are derived.
pub(super) fn tags_name(tenant: &TenantId, epoch: u32) -> Vec<u8> {
    [b"trefoil/vault-tags/1".as_slice(), tenant.as_bytes(), &epoch.to_le_bytes()].concat()
}

/// Associated data of the key that opens sealed shares.
pub(super) const OPENING_KEY: &[u8] = b"trefoil/vault-opening-key/1";

/// Associated data of a salt.
pub(super) fn salt_name(tenant: &TenantId, handle: &Handle, generation: u32, epoch: u32) -> Vec<u8> {
    let (generation, epoch) = (generation.to_le_bytes(), epoch.to_le_bytes());
    [b"trefoil/vault-salt/2".as_slice(), tenant.as_bytes(), handle.as_bytes(), &generation, &epoch].concat()
}
