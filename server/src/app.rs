//! What request handlers share.

#![expect(clippy::disallowed_types, reason = "for enrolments, off the path of a login")]

use crate::chains::Chains;
use crate::config::Config;
use crate::directory::Directory;
use crate::door::Login;
use crate::key_holder_watch::KeyHolderWatch;
use crate::listener::connections::Connections;
use crate::log_store::LogError;
use crate::metrics::{Gauges, Metrics};
use crate::pace::Pace;
use crate::problem::{Code, Problem};
use crate::proofs::ProofPool;
use crate::proofs::metrics::ProofGauges;
use crate::proofs::quota::Quota;
use crate::refused::Refused;
use crate::retention::Retained;
use crate::rotation::Rotations;
use crate::seal_log::Standing;
use crate::sessions::Reviving;
use crate::templates::Templates;
use crate::tls::Pair;
use arc_swap::ArcSwapOption;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use trefoil_attest::witness::Witness;
use trefoil_attest::{KeySetStatus, TrustRoot};
use trefoil_matching::KeyHolding;
use trefoil_pipeline::{Clock, Intake};
use trefoil_storage::Supervisor;
use trefoil_storage::disk::Disk;
use trefoil_storage::store::{Store, TenantId};
use zeroize::Zeroizing;

/// The store in the data directory.
pub const STORE_FILE: &str = "store.sqlite";

/// What operators read while a seal waits.
const SEAL_WAITS: &str = "a seal waits for the store, which does not take it: see the log, make room";

/// The state behind both listeners. Everything in it is shared; what changes is behind its own bounded type.
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) clock: Arc<dyn Clock>,
    /// Requests dated earlier are refused, because their nonces are not remembered.
    pub(crate) started_at: u64,
    /// Requests dated up to here may have been attested by the process before this one.
    pub(crate) attested_until: u64,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) directory: Directory,
    /// What new connections get.
    pub(crate) certificate: Arc<Pair>,
    pub(crate) keyholder: Arc<dyn KeyHolding>,
    /// What is known of it.
    pub(crate) key_holder: Arc<KeyHolderWatch>,
    /// Rows that are read now.
    pub(crate) reviving: Reviving,
    pub(crate) chains: Arc<Chains>,
    pub(crate) proofs: ProofPool,
    /// How many requests of a tenant may be in flight.
    pub(crate) pace: Pace,
    /// What callers may spend on proof uploads.
    pub(crate) quota: Arc<Quota>,
    pub(crate) templates: Templates,
    /// Empty once the service drains, so that the pipeline can end.
    pub(crate) intake: ArcSwapOption<Intake<Login>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) trust_root: TrustRoot,
    pub(crate) admin_token: Zeroizing<String>,
    pub(crate) draining: AtomicBool,
    /// Watches the threads that the service cannot do without.
    pub(crate) supervisor: Supervisor,
    /// Whether a seal waits for the store.
    pub(crate) seal_log: Arc<Standing>,
    /// Room under the data directory.
    pub(crate) disk: Disk,
    /// What was pruned.
    pub(crate) retained: Retained,
    pub(crate) public_connections: Arc<Connections>,
    pub(crate) admin_connections: Arc<Connections>,
    pub(crate) idempotency: InFlight,
    /// Held to read from the moment the key-holder encrypts a template until it is stored.
    pub(crate) enrolling: RwLock<()>,
    pub(crate) rotations: Rotations,
    /// Which refusals the log shows.
    pub(crate) refusals: crate::api::Refusals,
    /// Whose cosignatures of the log are taken.
    pub(crate) witnesses: Vec<Witness>,
}

impl App {
    /// Unix seconds.
    pub(crate) fn now(&self) -> u64 {
        self.clock.unix_s()
    }

    /// Why the service takes no requests, or nothing.
    pub(crate) fn unready(&self) -> Option<&'static str> {
        if self.supervisor.death().is_some() {
            Some("a part of the service failed, so it ends; retry at another instance")
        } else if self.draining.load(Ordering::Relaxed) {
            Some("draining")
        } else {
            None
        }
    }

    /// Why no decision can be made now, or nothing: the reasons of [`App::unready`], and a key-holder that is away.
    pub(crate) fn undecided(&self) -> Option<String> {
        let death = self.supervisor.death().map(ToString::to_string);
        let unready = || self.unready().map(str::to_owned);
        let away = || Some(format!("the key-holder cannot be reached: {}", self.keyholder.unready()?));
        let room = || self.no_room();
        death.or_else(unready).or_else(room).or_else(away).or_else(|| self.key_holder.too_many_older())
    }

    /// Why nothing is begun that fills the disk, or nothing.
    fn no_room(&self) -> Option<String> {
        let waits = || self.seal_log.waits().then(|| SEAL_WAITS.to_owned());
        self.disk.low().or_else(waits)
    }

    /// Refuses what fills the disk while there is little room, or while a seal waits for the store. An erasure and a revocation are not
    /// refused.
    pub(crate) fn check_room(&self) -> Result<(), Refused> {
        match self.no_room() {
            None => Ok(()),
            Some(why) => {
                tracing::debug!(why, "refused for want of room");
                Err(Refused::NoRoom)
            }
        }
    }

    /// Refuses a login where too many vaults are older copies.
    pub(crate) fn check_decidable(&self) -> Result<(), Refused> {
        self.key_holder.too_many_older().map_or(Ok(()), |why| Err(Refused::OlderVault(why)))
    }

    /// Refuses what would write to a vault that is an older copy: its count would go on, and hide that it is older.
    pub(crate) fn check_vaults(&self) -> Result<(), Refused> {
        self.key_holder.older_vault().map_or(Ok(()), |why| Err(Refused::OlderVault(why)))
    }

    /// What the store gave contradicts itself: the process ends, because nothing that it would say could be believed.
    pub(crate) fn damaged(&self, cause: impl std::fmt::Display) -> Refused {
        let path = self.config.server.data_dir.join(STORE_FILE);
        self.supervisor
            .damaged(&path, &format!("{cause}; restore the whole directory from the newest backup"));
        Refused::StoreDamaged
    }

    /// Why a seal or proof of the log is not served.
    pub(crate) fn unlogged(&self, cause: LogError) -> Refused {
        match cause {
            LogError::Store(cause) => cause.into(),
            cause => self.damaged(cause),
        }
    }

    /// End of the signing keys, unix seconds.
    pub(crate) fn keys_until(&self) -> Option<u64> {
        let active = self.trust_root.key_sets().iter().filter(|set| set.status == KeySetStatus::Active);
        active.map(|set| set.keys.not_after).max()
    }

    /// What a scrape reads.
    pub(crate) fn gauges(&self) -> Gauges<'_> {
        Gauges {
            intake_depth: self.intake.load().as_ref().map_or(0, |intake| intake.depth()),
            in_flight_limit: self.pace.limit(),
            work_limit: self.pace.share(),
            proofs: ProofGauges { depth: self.proofs.depth(), open: self.quota.open() },
            templates: self.templates.len(),
            arenas: self.templates.arenas(),
            ready: self.undecided().is_none(),
            disk: [self.disk.free(), self.disk.low_water()],
            seal_waits: self.seal_log.waits(),
            expiries: [self.certificate.until(), self.keys_until()],
            retained: self.retained.counts(),
            connections: [("public", &self.public_connections), ("admin", &self.admin_connections)],
            key_holders: self.keyholder.seats(),
            counted: self.key_holder.status(),
        }
    }
}

/// Runs `work` where it may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|cause| Err(Problem::internal(cause)))
}

/// Idempotency keys of requests that are running.
#[derive(Default)]
pub(crate) struct InFlight(Mutex<HashSet<(TenantId, String)>>);

/// Holds a key until dropped.
pub(crate) struct Running {
    app: Arc<App>,
    name: (TenantId, String),
}

impl InFlight {
    /// Claims a key, or says that a request with it is running.
    pub(crate) fn claim(app: &Arc<App>, tenant: TenantId, key: &str) -> Result<Running, Problem> {
        let name = (tenant, key.to_owned());
        let mut running = app.idempotency.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !running.insert(name.clone()) {
            let detail = "a request with this Idempotency-Key is still running; retry after a second";
            return Err(Problem::new(Code::IdempotencyInFlight, detail));
        }
        Ok(Running { app: Arc::clone(app), name })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.app.idempotency.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}
