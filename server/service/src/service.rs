//! The parts of the service, and whether it can work now.

#![expect(clippy::disallowed_types, reason = "for enrolments, off the path of a login")]

use crate::counters::Counters;
use crate::idempotency::InFlight;
use crate::keys::key_holder_watch::KeyHolderWatch;
use crate::keys::signing_keys::Shown;
use crate::limits::distinct_failures::LiveBounds;
use crate::limits::pace::Pace;
use crate::limits::quota::Quota;
use crate::log::log_store::LogError;
use crate::log::retention::Retained;
use crate::log::seal_log::Standing;
use crate::login::clock::ClockWatch;
use crate::login::door::{Asker, FrontDoor};
use crate::login::outcomes;
use crate::login::past::{Past, behind};
use crate::login::register::forgotten_until;
use crate::refused::Refused;
use crate::sessions::chains::Chains;
use crate::sessions::proofs::ProofPool;
use crate::sessions::rows::Sessions;
use crate::subjects::leftovers::Leftovers;
use crate::subjects::templates::Templates;
use crate::tenants::directory::Directory;
use crate::tenants::notes::Notes;
use crate::tenants::operators::Operators;
use crate::tenants::second_look::SecondLook;
use crate::tenants::tenant::Tenant;
use crate::time;
use arc_swap::ArcSwapOption;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use trefoil_attest::witness::Witness;
use trefoil_matching::{KeyHolding, Template, TemplateName};
use trefoil_pipeline::{Clock, Intake};
use trefoil_storage::Supervisor;
use trefoil_storage::disk::Disk;
use trefoil_storage::store::fleet::Fleet;
use trefoil_storage::store::{self, Register, Store, wrap};

/// The store in the data directory.
pub const STORE_FILE: &str = "store.sqlite";
/// In the data directory of a service whose store is in PostgreSQL: how many transactions were acknowledged.
pub const POSTGRES_MARK: &str = "postgres.mark";

/// What operators read while a seal waits.
const SEAL_WAITS: &str = "a seal waits for the store, which does not take it: see the log, make room";

/// The service. All of it is shared, and each part that changes has its own bounded type.
pub struct Service {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Whether it can be right.
    pub clock_watch: ClockWatch,
    /// What is refused because a process before this one may have accepted it.
    pub past: Past,
    /// The store.
    pub store: Arc<dyn Store>,
    /// The store's path or address, for messages to the operator who has to restore it.
    pub store_path: PathBuf,
    /// Tenants and their API keys.
    pub directory: Directory,
    /// Operators of the service.
    pub operators: Operators,
    /// Writes notes of their changes.
    pub notes: Notes,
    /// The key-holder, which decides.
    pub key_holder: Arc<dyn KeyHolding>,
    /// The key-holder's last known state.
    pub key_holder_watch: Arc<KeyHolderWatch>,
    /// Rows of sessions.
    pub sessions: Sessions,
    /// The positions of open sessions in their hash chains.
    pub chains: Arc<Chains>,
    /// Verifies proofs.
    pub proofs: ProofPool,
    /// The checks of logins on the pipeline's workers.
    pub door: Arc<FrontDoor>,
    /// What the nodes of a fleet used once, if this is a node of one.
    pub register: Option<Arc<dyn Register>>,
    /// The requests that look again.
    pub second_look: SecondLook,
    /// How many requests of a tenant may be in flight.
    pub pace: Pace,
    /// For how many different subjects an API key may fail.
    pub failure_bounds: LiveBounds,
    /// How many different subjects may fail from one source.
    pub source_bounds: LiveBounds,
    /// Callers' credit for proof uploads.
    pub quota: Arc<Quota>,
    /// Templates in memory.
    pub templates: Templates,
    /// Empty once the service drains, so that the pipeline can end.
    pub intake: ArcSwapOption<Intake<Asker>>,
    /// The counts.
    pub counters: Arc<Counters>,
    /// How the logins of each tenant ended lately.
    pub outcomes: outcomes::Watch,
    /// The trust root, which relying parties pin.
    pub trust_root: Shown,
    /// Whether it accepts no more requests.
    pub draining: AtomicBool,
    /// Watches the essential threads.
    pub supervisor: Supervisor,
    /// Whether a seal waits for the store.
    pub seal_log: Arc<Standing>,
    /// Room under the data directory.
    pub disk: Disk,
    /// Counts of pruned seals.
    pub retained: Retained,
    /// Keys of enrolments that are running.
    pub idempotency: InFlight,
    /// Generations that replacements left behind.
    pub leftovers: Leftovers,
    /// How long a session lasts at most, seconds.
    pub session_life_s: u64,
    /// Read-locked from the moment the key-holder encrypts a template until it is stored. At another node of a fleet the store refuses a template whose
    /// keys were replaced in between.
    pub enrolling: RwLock<()>,
    /// Witnesses whose cosignatures of the log are accepted.
    pub witnesses: Vec<Witness>,
}

impl Service {
    /// Unix seconds.
    pub fn now(&self) -> u64 {
        self.clock.unix_s()
    }

    /// Why the service accepts no requests, or `None`.
    pub fn unready(&self) -> Option<&'static str> {
        if self.supervisor.death().is_some() {
            Some("a part of the service failed, so it ends; retry at another instance")
        } else if self.draining.load(Ordering::Relaxed) {
            Some("draining")
        } else {
            None
        }
    }

    /// Why no decision can be made now, or `None`: the reasons of [`Service::unready`], and a store or a key-holder that is away.
    pub fn undecided(&self) -> Option<String> {
        let death = self.supervisor.death().map(ToString::to_string);
        let unready = || self.unready().map(str::to_owned);
        let away = || Some(format!("the key-holder cannot be reached: {}", self.key_holder.unready()?));
        let room = || self.no_room();
        let older = || self.key_holder_watch.too_many_older();
        let register = || self.register.as_ref().and_then(|register| register.unready());
        let behind = || self.clock_behind().map(|reached| behind(self.now(), reached));
        let closed = || {
            let until = time::format(self.past.closed(self.now())?);
            Some(format!(
                "the clock was wrong when it showed this time before; logins are refused until {until}"
            ))
        };
        death
            .or_else(unready)
            .or_else(|| self.store_away())
            .or_else(register)
            .or_else(behind)
            .or_else(closed)
            .or_else(room)
            .or_else(away)
            .or_else(older)
    }

    /// Why the store takes nothing now, or `None`.
    fn store_away(&self) -> Option<String> {
        self.store.unready().or_else(|| self.seal_log.away())
    }

    /// Why no request that fills the disk is accepted, or `None`.
    fn no_room(&self) -> Option<String> {
        let waits = || self.seal_log.waits().then(|| SEAL_WAITS.to_owned());
        self.disk.low().or_else(waits)
    }

    /// Requests dated up to here may have been attested, and their nonces are forgotten: by the process before this one, or by the register
    /// of the fleet.
    pub fn attested_until(&self) -> u64 {
        let of_fleet = self.register.as_ref().map(|register| forgotten_until(register.since()));
        of_fleet.unwrap_or(self.past.attested_until())
    }

    /// Refuses requests that fill the disk while there is little room, while a seal waits for the store, or while the store is
    /// away. Erasures and revocations are not refused here.
    pub fn check_room(&self) -> Result<(), Refused> {
        if let Some(why) = self.store_away() {
            tracing::debug!(why, "refused while the store is away");
            return Err(Refused::StoreAway);
        }
        match self.no_room() {
            None => Ok(()),
            Some(why) => {
                tracing::debug!(why, "refused for want of room");
                Err(Refused::NoRoom)
            }
        }
    }

    /// Refuses every caller while this node of a fleet may not know that another node revoked it.
    pub fn check_heard(&self) -> Result<(), Refused> {
        let is_stale = self.store.fleet().is_some_and(Fleet::is_stale);
        if is_stale { Err(Refused::StoreAway) } else { Ok(()) }
    }

    /// Refuses a login where too many vaults are older copies.
    pub fn check_decidable(&self) -> Result<(), Refused> {
        self.key_holder_watch.too_many_older().map_or(Ok(()), |why| Err(Refused::OlderVault(why)))
    }

    /// Refuses requests that would write to a vault that is an older copy: its count would rise, and hide that it is older.
    pub fn check_vaults(&self) -> Result<(), Refused> {
        self.key_holder_watch.older_vault().map_or(Ok(()), |why| Err(Refused::OlderVault(why)))
    }

    /// Stored data contradicts itself: the process ends, because its answers could not be trusted.
    pub fn damaged(&self, cause: impl std::fmt::Display) -> Refused {
        let cure = format!("{cause}; restore the whole directory from the newest backup");
        self.supervisor.damaged(&self.store_path, &cure);
        Refused::StoreDamaged
    }

    /// Why a seal or proof of the log is not served.
    pub fn unlogged(&self, cause: LogError) -> Refused {
        match cause {
            LogError::Store(cause) => cause.into(),
            cause => self.damaged(cause),
        }
    }

    /// When the signing keys expire, unix seconds.
    pub fn keys_until(&self) -> Option<u64> {
        self.trust_root.until()
    }

    /// A template from its record.
    ///
    /// # Errors
    /// The record does not open.
    pub fn opened(&self, tenant: &Tenant, record: &store::Template) -> Result<Template, Refused> {
        let store::Template { handle, generation, lane, epoch, wrapped_key, wrapped, .. } = record;
        let name = TemplateName { tenant: tenant.id, handle: *handle, generation: *generation };
        let place = wrap::TemplatePlace { name, lane: *lane, keys: tenant.structure(), epoch: *epoch };
        let damaged =
            |cause: &dyn std::fmt::Display| self.damaged(format_args!("a template does not open: {cause}"));
        let bytes =
            tenant.key.open_template(&place, wrapped_key, wrapped).map_err(|cause| damaged(&cause))?;
        Template::from_bytes(&bytes).map_err(|cause| damaged(&cause))
    }
}

/// Runs `work` where it may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|cause| Err(Refused::fault(cause)))
}
