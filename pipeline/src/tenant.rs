//! A tenant as the pipeline sees it: an immutable snapshot, replaced whole.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use trefoil_attest::ProbeMode;
use trefoil_matching::{Model, PublicKey};

use crate::TenantId;

/// Most root generations that are accepted at once: the newest and those in their grace window.
pub const LIVE_ROOTS_MAX: usize = 16;

/// The policy of a decision; copied into every attestation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Number of the policy within the tenant; part of every session context.
    pub id: u32,
    /// Raised at every change.
    pub version: u32,
    /// The models whose vectors are compared, that of new templates first.
    pub models: Vec<Calibrated>,
    /// Lowest credential level a session must prove; none where no proof is asked for, and requests are in no session.
    pub proof_level: Option<u8>,
    /// Lifetime of an attestation, seconds; 1 to [`trefoil_attest::LIFETIME_SECONDS_MAX`].
    pub attestation_lifetime_s: u64,
    /// Probe mode. A request in another mode is refused.
    pub probe: ProbeMode,
}

/// A model and its threshold; copied into attestations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibrated {
    /// The model.
    pub model: Model,
    /// Its name, 1 to 64 bytes.
    pub embedder: String,
    /// How its vectors become integers: unit length, times a scale, rounded half away from zero, and the count of numbers.
    pub quantiser: String,
    /// Lowest score that matches. A key-holder with a different threshold decides nothing, so that no attestation names this version for it.
    pub threshold: i32,
    /// k of the false-match class 10^-k that the threshold was calibrated to.
    pub fmr_class: u8,
}

impl Calibrated {
    /// A model by its name and the count of numbers in its vectors; none if that is not 2 to 512.
    pub fn new(embedder: &str, numbers: usize, threshold: i32, fmr_class: u8) -> Option<Calibrated> {
        let model = Model::of(embedder, numbers)?;
        let quantiser = format!("unit-r{}/{numbers}", model.width().scale());
        Some(Calibrated { model, embedder: embedder.to_owned(), quantiser, threshold, fmr_class })
    }
}

impl Policy {
    /// The threshold of a model, if it is one of the tenant's.
    pub fn calibrated(&self, model: &Model) -> Option<&Calibrated> {
        self.models.iter().find(|calibrated| calibrated.model == *model)
    }
}

/// Snapshot of one tenant.
#[derive(Clone)]
pub struct Tenant {
    /// The tenant of this snapshot.
    pub id: TenantId,
    /// Public keys of the tenant's template encryption, oldest first: two while they are rotated.
    pub keys: Vec<PublicKey>,
    /// Policy in force.
    pub policy: Policy,
    /// Credential roots that are accepted, newest first: generation and root.
    pub roots: Vec<(u32, [u8; 32])>,
}

impl Tenant {
    /// The root of `generation`, if proofs under it are still accepted.
    pub fn root(&self, generation: u32) -> Option<&[u8; 32]> {
        self.roots.iter().find(|(g, _)| *g == generation).map(|(_, root)| root)
    }

    /// The public key of an epoch.
    pub fn key(&self, epoch: u32) -> Option<&PublicKey> {
        self.keys.iter().find(|key| key.epoch() == epoch)
    }
}

/// A tenant, and the verdicts of its sessions in a partition of their own, so that another tenant's entries cannot evict them.
pub struct Served<C> {
    /// The snapshot.
    pub tenant: Tenant,
    /// The partition. It stays the same while the tenant's snapshot is replaced, and a larger one takes its place when it is crowded.
    pub verdicts: Arc<C>,
}

/// Where a pipeline reads its tenants.
pub trait Tenants<C>: Send + Sync {
    /// The present snapshot of a tenant. A batch reads it once.
    fn get(&self, id: &TenantId) -> Option<Arc<Served<C>>>;

    /// Takes newer forms of a tenant's public keys; each replaces the key of its epoch.
    fn renew_keys(&self, id: &TenantId, keys: &[PublicKey]);
}

/// All tenants, read once per batch without a lock and replaced as a whole: tenants change by the hour,
/// requests by the microsecond.
pub struct Registry<C> {
    tenants: Arc<ArcSwap<Present<C>>>,
}

type Present<C> = HashMap<TenantId, Arc<Served<C>>>;

impl<C> Clone for Registry<C> {
    fn clone(&self) -> Self {
        Registry { tenants: Arc::clone(&self.tenants) }
    }
}

impl<C> Default for Registry<C> {
    fn default() -> Self {
        Registry { tenants: Arc::new(ArcSwap::from_pointee(HashMap::new())) }
    }
}

impl<C: Send + Sync> Tenants<C> for Registry<C> {
    fn get(&self, id: &TenantId) -> Option<Arc<Served<C>>> {
        self.tenants.load().get(id).cloned()
    }

    fn renew_keys(&self, id: &TenantId, keys: &[PublicKey]) {
        let newest =
            |key: &PublicKey| keys.iter().find(|newer| newer.epoch() == key.epoch()).unwrap_or(key).clone();
        self.change(|all| {
            if let Some(served) = all.get_mut(id) {
                let keys = served.tenant.keys.iter().map(newest).collect();
                let tenant = Tenant { keys, ..served.tenant.clone() };
                *served = Arc::new(Served { tenant, verdicts: Arc::clone(&served.verdicts) });
            }
        });
    }
}

impl<C> Registry<C> {
    /// Adds or replaces a tenant.
    pub fn put(&self, tenant: Tenant, verdicts: Arc<C>) {
        let served = Arc::new(Served { tenant, verdicts });
        self.change(|all| drop(all.insert(served.tenant.id, Arc::clone(&served))));
    }

    /// Gives a tenant another partition, if it is still there. All else about it stays, newer keys among it.
    pub fn give(&self, id: &TenantId, verdicts: &Arc<C>) {
        self.change(|all| {
            if let Some(served) = all.get_mut(id) {
                let tenant = served.tenant.clone();
                *served = Arc::new(Served { tenant, verdicts: Arc::clone(verdicts) });
            }
        });
    }

    /// Removes a tenant.
    pub fn remove(&self, id: &TenantId) {
        self.change(|all| drop(all.remove(id)));
    }

    /// Puts a changed copy in the place of what is there.
    fn change(&self, change: impl Fn(&mut Present<C>)) {
        self.tenants.rcu(|old| {
            let mut all = Present::clone(old);
            change(&mut all);
            all
        });
    }
}
