//! A running service: opens, starts and joins its parts in order.

#![expect(clippy::disallowed_types, reason = "for enrolments, off the path of a login")]

mod callers;
mod follower;
mod parts;
mod standing;
mod store;
mod stored;
mod tasks;

pub(crate) use follower::Follower;
use parts::assembled;
pub use standing::Standing;
pub use store::database;
use store::{look, look_at};
use stored::{Stored, check_vault, introduce, refuse_older, tell_store};
use tasks::{
    count_sessions, keep_pace, keep_usage, look_at_key_holder, make_room, retain, seal_notes, sweep,
    take_up_rotations, watch_disk, watch_key_holder, watched,
};

use crate::api;
use crate::app::App;
use crate::config::{self, Config, ConfigError, Place};
use crate::findings;
use crate::limits::LiveLimits;
use crate::listener::connections::Connections;
use crate::listener::{Claim, Listener};
use crate::metrics::Metrics;
use crate::node_name;
use crate::refusals::Refusals;
use crate::tls::{self, Pair, TlsError};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};
use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use trefoil_attest::{Restoration, VaultState};
use trefoil_host::identity::{Identity, IdentityError};
use trefoil_host::settings::not_bound;
use trefoil_key_holder::vault::{SqliteVault, VAULT_FILE};
use trefoil_key_holder::{Quorum, Remote};
use trefoil_matching::{KeyHolder, KeyHolding, Local, StoreAge, Tier, calibrate};
use trefoil_pipeline::affinity::{Pin, Placement};
use trefoil_pipeline::{Cadence, ChainHead, Clock, Delay, Floor, Pipeline, SeenVaults, SharedLog};
use trefoil_service::Service;
use trefoil_service::counters::Counters;
use trefoil_service::fleet::FleetLog;
use trefoil_service::keys::key_holder_watch::KeyHolderWatch;
use trefoil_service::keys::signing_keys;
use trefoil_service::keys::signing_keys::{KeysError, Opened, Shown};
use trefoil_service::log::Log;
use trefoil_service::log::asker::Asker;
use trefoil_service::log::log_store;
use trefoil_service::log::log_store::SealedVaults;
use trefoil_service::log::retention::Pruner;
use trefoil_service::log::seal_log::{self, SealLog};
use trefoil_service::login::clock::PipelineClock;
use trefoil_service::login::door::FrontDoor;
use trefoil_service::login::past::{self, Past};
use trefoil_service::node::Node;
use trefoil_service::sessions::chains::Chains;
use trefoil_service::sessions::proofs::{PoolConfig, ProofPool};
use trefoil_service::sessions::rows::Sessions;
use trefoil_service::subjects::rotation::Rotations;
use trefoil_service::tenants::notes::Notes;
use trefoil_service::time;
use trefoil_sign::SigningKeys;
use trefoil_storage::Supervisor;
use trefoil_storage::data_dir::{DataDir, DataDirError};
use trefoil_storage::disk::Disk;
use trefoil_storage::store::{AcceptedClock, Store, StoreError};
use trefoil_storage::supervisor::{Death, no_thread};

/// The operator's token in the data directory.
pub const ADMIN_TOKEN_FILE: &str = "admin.token";

/// Why the service cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A setting cannot be used here.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The signing keys cannot be used.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A database cannot be opened.
    #[error("{path}: {cause}")]
    Store {
        /// The file.
        path: String,
        /// Reason.
        cause: StoreError,
    },
    /// The PostgreSQL database cannot be used.
    #[error(transparent)]
    Database(StoreError),
    /// An address cannot be bound.
    #[error("cannot listen on {address}: {cause}; {}", not_bound(cause))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Reason.
        cause: std::io::Error,
    },
    /// The vault is older than a seal shows.
    #[error(
        "the vault is older than seal {seal}: it counts {} transactions and was restored {} times, the seal says {} and {}. Budgets \
         that were spent and templates that were deleted since would be back: restore the whole directory from the newest backup, or, if there is none, start \
         once with --accept-older-vault, which every seal will show", found.generation, found.restored, sealed.generation, sealed.restored
    )]
    OlderVault {
        /// The newest seal.
        seal: u64,
        /// What the vault says.
        found: VaultState,
        /// What the seal says.
        sealed: VaultState,
    },
    /// The store is older than the vault shows.
    #[error(
        "the store is older than the vault: {store} counts {}, and {vault} has seen {}. Its log of seals would get a \
         second history, and what was erased since would be back: restore the whole directory from the newest backup; after the restoration of a \
         PostgreSQL database start once with --store-restored, which every seal will show", stored::told(*found), stored::told(*seen)
    )]
    OlderStore {
        /// Where the store is.
        store: String,
        /// Where the vault is.
        vault: String,
        /// How new the store is.
        found: StoreAge,
        /// How new the vault has seen it.
        seen: StoreAge,
    },
    /// Stored data cannot be opened, or contradicts itself.
    #[error("{what}: {cause}")]
    Stored {
        /// The part that is damaged.
        what: &'static str,
        /// Reason.
        cause: String,
    },
    /// A thread or the pipeline did not start.
    #[error("{0}")]
    Thread(String),
}

/// A running service. Call [`Server::shutdown`]: dropping it abandons requests in flight.
pub struct Server {
    app: Arc<App>,
    pipeline: trefoil_pipeline::Service<Asker>,
    seal_log: std::thread::JoinHandle<()>,
    stop: watch::Sender<bool>,
    stop_admin: watch::Sender<bool>,
    death: watch::Receiver<Option<Death>>,
    public: (SocketAddr, JoinHandle<Option<bool>>),
    admin: (SocketAddr, JoinHandle<Option<bool>>),
    sweeper: JoinHandle<Option<()>>,
    usage: JoinHandle<Option<()>>,
    rotations: JoinHandle<Option<()>>,
    pacer: JoinHandle<Option<()>>,
    sessions: JoinHandle<Option<()>>,
    room: JoinHandle<Option<()>>,
    watcher: JoinHandle<Option<()>>,
    disk: JoinHandle<Option<()>>,
    retention: JoinHandle<Option<()>>,
    /// The vault of a key-holder in this process.
    vault: Option<Arc<SqliteVault>>,
    /// What new connections get.
    certificate: Arc<Pair>,
    /// Released last.
    directory: DataDir,
}

impl Server {
    /// Opens the data directory, starts all threads, and serves on both listeners.
    ///
    /// # Errors
    /// [`StartError`] says what is missing or wrong, and what to do.
    pub async fn start(config: Config, clock: Arc<dyn Clock>) -> Result<Server, StartError> {
        Server::start_on([None, None], config, clock).await
    }

    /// Like [`Server::start`], but serves the public and the admin API on these sockets if they are given.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub async fn start_on(
        sockets: [Option<TcpListener>; 2],
        config: Config,
        clock: Arc<dyn Clock>,
    ) -> Result<Server, StartError> {
        let stored = |what, cause: &dyn ToString| StartError::Stored { what, cause: cause.to_string() };
        let (directory, sockets) = prepared(sockets, &config).await?;
        let supervisor = Supervisor::default();
        let disk = Disk::open(&config.server.data_dir, config.disk.limits());
        let issuer = config.issuer(signing_keys::kept_issuer(&directory).as_deref())?;
        let (Opened { keys, trust_root }, shown) = signing_keys_of(&config, &issuer, clock.unix_s())?;
        let certificate = Pair::open(&config.tls, &directory, SystemTime::now())?;
        let database = store::database(&config)?;
        let credential = || Identity::open(&directory, trefoil_key_holder::cli::GATEWAY_IDENTITY);
        let remote = elsewhere(&supervisor, &config.key_holder, &credential)?;
        let (store, store_path) =
            store::open(&supervisor, &directory, &config, (database.as_ref(), remote.1.1), clock.unix_s())?;
        accept_clock(&config, store.as_ref(), clock.unix_s())?;
        let Stored { mut head, sealed, restored } =
            Stored::check(store.as_ref(), &trust_root, clock.unix_s())?;
        let of_store = (store.as_ref(), &*store_path, sealed.as_ref());
        let (key_holder, vault) = key_holder(&supervisor, &config, &directory, (&clock, remote), of_store)?;
        store::tell_of_vaults(&config, key_holder.as_ref(), sealed.as_ref());
        let watch = Arc::new(KeyHolderWatch::new(sealed.map(|(_, vaults)| vaults).unwrap_or_default()));
        let register = store::register(&supervisor, &config, database.as_ref(), clock.unix_s())?;
        // A register remembers what was accepted before the start.
        let started_at = if register.is_some() { 0 } else { clock.unix_s() };
        let past = Past::of(store.as_ref(), started_at, restored.map(|restored| restored.time));
        let (past, reached) = past.map_err(|cause| stored("seals", &cause))?;
        head.time = reached;
        let notes = Notes::new(&issuer);
        let (operators, accounts) = callers::open(&config, &directory, (&store, &key_holder), &notes)?;

        // No seal is dated before its keys either.
        let from = reached.max(keys.public().not_before);
        let (counters, standing) = (Arc::<Counters>::default(), Arc::new(seal_log::Standing::at(from)));
        let pruner = config.retention.keeping().map(|keeping| Pruner::new(keeping, store.as_ref()));
        let pruner = pruner.transpose().map_err(|cause| stored("seals", &cause))?;
        let pipeline = Pipeline::new(issuer, accounts.registry(), Arc::clone(&key_holder), Tier::detected());
        let (release, seal_log) = start_seal_log(&store, &counters, &standing, &supervisor)?;
        let shared = FleetLog::of(&store, &watch, register.clone(), past.accepted(), &standing);
        let told = (watch.vaults(), restored, shared);
        let chains = Arc::new(Chains::new(config.proofs.cache_capacity));
        let (nonces, dated_by) = (config.pipeline.nonces, Arc::clone(&standing));
        let door = Arc::new(FrontDoor::new(nonces, Arc::clone(&chains), register.clone(), dated_by));
        let dated = PipelineClock { clock: Arc::clone(&clock), seal_log: Arc::clone(&standing) };
        let ends = (Arc::clone(&door), release);
        let pipeline = start_pipeline(&config, pipeline, keys, head, Arc::new(dated), ends, told)?;
        let witnesses = config.witnesses.parse().map_err(|cause| stored("configuration", &cause))?;
        let rows = Sessions::new(Arc::clone(&store), Arc::clone(&chains), register.clone());
        let proofs = proof_pool(&config.proofs, &clock, &counters, &supervisor)?;
        let draining = AtomicBool::new(false);
        let node = Arc::new(Node {
            clock,
            store,
            store_path,
            register,
            key_holder,
            key_holder_watch: watch,
            counters,
            supervisor,
            disk,
            draining,
        });
        let log = Arc::new(Log::new(Arc::clone(&node), notes, pipeline.intake(), standing, witnesses));
        let callers = (accounts, operators);
        let service = assembled(&config, (node, log, shown), callers, (rows, proofs), (door, past));
        let service = Arc::new(service.map_err(|cause| stored("store", &cause))?);
        follow_fleet(Arc::clone(&service)).await?;
        let limits = LiveLimits::new(config.limits.clone());
        let app = Arc::new(App {
            rotations: Arc::new(Rotations::new(Arc::clone(&service.subjects))),
            service,
            certificate: Arc::clone(&certificate),
            metrics: Metrics::default(),
            public_connections: Connections::new(&limits),
            admin_connections: Connections::new(&limits),
            refusals: Refusals::default(),
            stood: Mutex::default(),
            leaving: AtomicBool::new(false),
            limits,
            config,
        });
        Server::listen(sockets, app, pipeline, seal_log, pruner, certificate, (vault, directory)).await
    }

    async fn listen(
        [public_socket, admin_socket]: [Claim; 2],
        app: Arc<App>,
        pipeline: trefoil_pipeline::Service<Asker>,
        seal_log: std::thread::JoinHandle<()>,
        pruner: Option<Pruner>,
        certificate: Arc<Pair>,
        (vault, directory): (Option<Arc<SqliteVault>>, DataDir),
    ) -> Result<Server, StartError> {
        let callers = certificate.client_ca().cloned();
        let public_tls = tls::server_config(Arc::clone(&certificate), callers)?;
        let admin_tls = tls::server_config(Arc::clone(&certificate), None)?;
        let ((stop, stopped), (stop_admin, admin_stopped)) = (watch::channel(false), watch::channel(false));
        let supervisor = &app.service.node.supervisor;
        let (tell, death) = watch::channel(None);
        supervisor.on_death(move |death| drop(tell.send(Some(death.clone()))));
        let listen = |socket, address, connections, tls| {
            let failed = |cause| StartError::Bind { address, cause };
            let limits = Arc::clone(&app.limits);
            let listener = Listener::on(socket, tls, limits, Arc::clone(connections)).map_err(failed)?;
            let bound = listener.address().map_err(failed)?;
            Ok::<_, StartError>((bound, listener))
        };
        let (public, public_listener) =
            listen(public_socket, app.config.server.listen, &app.public_connections, public_tls)?;
        let (admin, admin_listener) =
            listen(admin_socket, app.config.server.admin_listen, &app.admin_connections, admin_tls)?;
        let resumed = Arc::clone(&app);
        let resumed = tokio::task::spawn_blocking(move || {
            let service = &resumed.service;
            look_at_key_holder(service);
            service.logins.look_at_clock();
            service.subjects.forget_leftovers();
            if service.node.keeps_house() {
                resumed.rotations.resume();
            }
            service.sessions.rows.warm(&service.tenants, service.node.now());
        });
        resumed.await.map_err(|cause| StartError::Thread(cause.to_string()))?;
        if app.service.node.keeps_house() {
            seal_notes(&app.service, app.limits.answer_timeout()).await;
        }
        let public_router = api::public(Arc::clone(&app));
        let admin_router = api::admin(Arc::clone(&app));
        Ok(Server {
            pipeline,
            seal_log,
            public: (
                public,
                watched(supervisor, "public listener", public_listener.serve(public_router, stopped.clone())),
            ),
            admin: (
                admin,
                watched(supervisor, "admin listener", admin_listener.serve(admin_router, admin_stopped)),
            ),
            sweeper: watched(
                supervisor,
                "sweeper",
                sweep(Arc::clone(&app.service), app.limits.answer_timeout(), stopped.clone()),
            ),
            usage: watched(supervisor, "usage", keep_usage(Arc::clone(&app.service), stopped.clone())),
            rotations: watched(
                supervisor,
                "rotations",
                take_up_rotations(Arc::clone(&app.rotations), stopped.clone()),
            ),
            pacer: watched(supervisor, "pacer", keep_pace(Arc::clone(&app.service), stopped.clone())),
            sessions: watched(
                supervisor,
                "session count",
                count_sessions(Arc::clone(&app.service), stopped.clone()),
            ),
            room: watched(supervisor, "cache room", make_room(Arc::clone(&app.service), stopped.clone())),
            watcher: watched(
                supervisor,
                "key-holder watch",
                watch_key_holder(Arc::clone(&app.service), vault.clone(), stopped.clone()),
            ),
            disk: watched(supervisor, "disk watch", watch_disk(Arc::clone(&app.service), stopped.clone())),
            retention: watched(supervisor, "retention", retain(Arc::clone(&app.service), pruner, stopped)),
            stop,
            stop_admin,
            death,
            app,
            vault,
            certificate,
            directory,
        })
    }

    /// Waits until an essential thread panics. The service is then not ready: shut it down.
    pub async fn death(&self) -> Death {
        let mut death = self.death.clone();
        let told = death.wait_for(Option::is_some).await;
        match told.ok().and_then(|death| death.clone()) {
            Some(death) => death,
            // The supervisor lives as long as the server.
            None => std::future::pending().await,
        }
    }

    /// Serves for `server.leave_s` seconds more, and tells balancers and callers to go to other nodes meanwhile.
    pub async fn leave(&self) {
        let seconds = self.app.config.server.leave_s;
        if seconds > 0 {
            tracing::info!(seconds, "leaving: callers are told to go to other nodes");
            self.app.leaving.store(true, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_secs(seconds)).await;
        }
    }

    /// Refuses new requests, answers those in flight, seals what was decided, and closes the stores. Returns whether
    /// everything in flight was answered before the drain timeout.
    pub async fn shutdown(self) -> bool {
        let Server {
            app,
            pipeline,
            seal_log,
            stop,
            stop_admin,
            death: _,
            mut public,
            admin,
            sweeper,
            usage,
            rotations,
            pacer,
            sessions,
            room,
            watcher,
            ..
        } = self;
        let (disk, retention, vault, directory) = (self.disk, self.retention, self.vault, self.directory);
        let timeout = Duration::from_secs(app.limits.now().drain_timeout_s);
        // Both ends of the channel live until here, so the send arrives.
        let _ = stop.send(true);
        let answered = |drained: Result<Option<bool>, _>| drained.ok().flatten().unwrap_or(false);
        let mut drained = None;
        if app.leaving.load(Ordering::Relaxed) {
            // Over HTTP/2 callers send on until they read that the connection ends.
            drained = tokio::time::timeout(SENT_ON_MAX, &mut public.1).await.ok();
        } else {
            let _ = stop_admin.send(true);
        }
        app.service.node.draining.store(true, Ordering::Relaxed);
        let public_answered = answered(match drained {
            Some(drained) => drained,
            None => public.1.await,
        });
        // A balancer cuts what is in flight once nobody answers it here, so while a node leaves this listener ends last.
        let _ = stop_admin.send(true);
        let answered = public_answered & answered(admin.1.await);
        let _ = sweeper.await;
        let _ = usage.await;
        let _ = rotations.await;
        let _ = pacer.await;
        let _ = sessions.await;
        let _ = room.await;
        let _ = watcher.await;
        let _ = disk.await;
        let _ = retention.await;
        app.service.log.intake.store(None);
        let sealed = tokio::task::spawn_blocking(move || {
            let sealed = pipeline.drain().is_some() & seal_log.join().is_ok();
            app.rotations.wait();
            app.service.sessions.rows.keep_places(&app.service.tenants);
            if let Err(cause) = app.service.tenants.note_uses() {
                tracing::warn!(%cause, "the last uses of API keys were not noted");
            }
            if let Err(cause) = app.service.tenants.store_usage(app.service.node.now()) {
                tracing::warn!(%cause, "the last uses of API keys were not counted");
            }
            if vault.is_none() && app.service.node.key_holder.unready().is_none() {
                tell_again(&app.service, None);
            }
            let of_vault =
                vault.map_or(Ok(()), |vault| vault.note_beside().and_then(|()| vault.checkpoint()));
            let checkpoints = [app.service.node.store.checkpoint(), of_vault];
            for cause in checkpoints.into_iter().filter_map(Result::err) {
                tracing::warn!(%cause, "a database is complete only together with its -wal file: copy both");
            }
            drop(app);
            drop(directory);
            sealed
        });
        // A thread of the pipeline may wait forever for one that panicked.
        let sealed = tokio::time::timeout(timeout, sealed).await.is_ok_and(|sealed| sealed.unwrap_or(false));
        sealed && answered
    }
}

/// Checks the parameters of proofs, and measures which way of reading this machine's memory is fastest.
fn prepare_arithmetic(config: &Config) -> Result<(), StartError> {
    let below = |cause: trefoil_zkp::ParameterError| StartError::Stored {
        what: "proof parameters",
        cause: cause.to_string(),
    };
    trefoil_zkp::check_parameters().map_err(below)?;
    for circuit in config.proofs.circuits() {
        let soundness = trefoil_zkp::security_report(circuit);
        tracing::debug!(circuit = circuit.name(), %soundness, "takes proofs");
    }
    let asks_memory_ahead = calibrate();
    tracing::debug!(asks_memory_ahead, "matches");
    Ok(())
}

/// What may fail for a reason outside of the data directory, before the first keys are made: somebody who finds keys takes the installation for
/// complete. Returns the directory, and the addresses of both listeners.
async fn prepared(
    sockets: [Option<TcpListener>; 2],
    config: &Config,
) -> Result<(DataDir, [Claim; 2]), StartError> {
    prepare_arithmetic(config)?;
    let directory = DataDir::open(&config.server.data_dir)?;
    let sockets = claimed(sockets, config)?;
    store::reach(config, &directory).await?;
    Ok((directory, sockets))
}

/// Whether a start would refuse, where no service runs in the directory: its checks in their order, of files and a database that stay as they are.
/// Keys are opened if their passphrase is there.
///
/// # Errors
/// The words of the start.
pub fn would_start(config: &Config, now: u64) -> Result<(), StartError> {
    let directory = &config.server.data_dir;
    claimed([None, None], config)?;
    if !signing_keys::are_there(directory) {
        return Ok(());
    }
    let trust_root = signing_keys::newest(directory)?;
    let issuer = config.issuer(Some(trust_root.issuer()))?;
    signing_keys::look(
        directory,
        &issuer,
        &signing_keys::Source::of_process(&config.keys.passphrase_file),
        now,
    )?;
    let credential = || Identity::look(directory, trefoil_key_holder::cli::GATEWAY_IDENTITY);
    // Before the store, which other nodes of a fleet change.
    let (_, seen) = elsewhere(&Supervisor::default(), &config.key_holder, &credential)?;
    let (opened, path) = look(config)?;
    let stored = Stored::check(opened.as_ref(), &trust_root, now)?;
    refuse_older(opened.as_ref(), &path, seen)?;
    let vault = directory.join(VAULT_FILE);
    if config.key_holder.place().is_ok_and(|place| place == Place::Here) && vault.exists() {
        let looked = look_at(directory, VAULT_FILE, "vault.key", SqliteVault::look)?;
        let seen = introduce((opened.as_ref(), &path), (&looked, &vault), false)?;
        check_vault(&looked, &vault, (stored.sealed.as_ref(), seen), false)?;
    }
    store::look_at_clock(config, now)
}

/// Tells a key-holder in another process how new the store is. One that was away at the start may show only now that the store is older.
fn tell_again(service: &Service, told: Option<StoreAge>) -> Option<StoreAge> {
    match tell_store(service.node.store.as_ref(), &service.node.store_path, &*service.node.key_holder, told) {
        Ok(told) => return told,
        Err(cause @ StartError::OlderStore { .. }) => {
            service.node.supervisor.damaged(&service.node.store_path, &cause.to_string());
        }
        Err(cause) => tracing::warn!(%cause, "the count of the store was not told to the key-holder"),
    }
    told
}

/// The addresses of both listeners.
fn claimed([public, admin]: [Option<TcpListener>; 2], config: &Config) -> Result<[Claim; 2], StartError> {
    let take =
        |socket, address| Claim::take(socket, address).map_err(|cause| StartError::Bind { address, cause });
    Ok([take(public, config.server.listen)?, take(admin, config.server.admin_listen)?])
}

/// Opens the signing keys under their own lock and releases it on return: keys may be rotated while the
/// service runs, and the next start uses them.
fn signing_keys_of(config: &Config, issuer: &str, now: u64) -> Result<(Opened, Shown), KeysError> {
    let directory = DataDir::open_for_keys(&config.server.data_dir)?;
    let source = signing_keys::Source::of_process(&config.keys.passphrase_file);
    let mut opened = signing_keys::open_or_make(&directory, issuer, &source, now)?;
    opened.keys.precompute_to(config.keys.precompute.into());
    let shown = Shown::new(&opened);
    Ok((opened, shown))
}

/// Takes this machine's clock for right although the newest seals are dated ahead of it.
fn accept_clock(config: &Config, store: &dyn Store, now: u64) -> Result<(), StartError> {
    if !config.store.accept_clock {
        return Ok(());
    }
    let accepted = past::accept_clock(store, now)
        .map_err(|cause| StartError::Stored { what: "seals", cause: cause.to_string() })?;
    match accepted {
        Some(AcceptedClock { from, until, .. }) => {
            let (from, until) = (time::format(from), time::format(until));
            tracing::warn!(
                from,
                until,
                "the clock is accepted; requests that are dated in this time are refused for good"
            );
        }
        None => tracing::warn!("--accept-clock changes nothing: no seal is dated ahead of the clock"),
    }
    Ok(())
}

/// A key-holder, and its vault if it is in this process.
type OpenedKeyHolder = (Arc<dyn KeyHolding>, Option<Arc<SqliteVault>>);

/// The key-holder: a connection to one in another process, or one in this process with its vault in the data directory.
fn key_holder(
    supervisor: &Supervisor,
    Config { key_holder: config, store: of_store, .. }: &Config,
    directory: &DataDir,
    (clock, remote): (&Arc<dyn Clock>, Elsewhere),
    (store, store_path, sealed): (&dyn Store, &Path, Option<&SealedVaults>),
) -> Result<OpenedKeyHolder, StartError> {
    let stored = |what, cause: &dyn ToString| StartError::Stored { what, cause: cause.to_string() };
    let path = directory.join(VAULT_FILE);
    if let (Some(key_holder), seen) = remote {
        if path.exists() {
            tracing::warn!(path = %path.display(), "this vault is not used: the key-holder runs apart");
        }
        refuse_older(store, store_path, seen)?;
        return Ok((key_holder, None));
    }
    let secret = directory.secret::<32>("vault.key")?;
    let file = directory.database(VAULT_FILE)?;
    let failed = |cause| not_opened(&path, cause);
    let vault = Arc::new(SqliteVault::open(supervisor, file, &secret).map_err(failed)?);
    let seen = introduce((store, store_path), (&vault, &path), of_store.restored)?;
    check_vault(&vault, &path, (sealed, seen), config.accept_older_vault)?;
    directory.note(VAULT_FILE)?;
    let key_holder = KeyHolder::new(Arc::clone(&vault), &mut rand::rng(), clock.unix_s())
        .map_err(|cause| stored("key-holder's vault", &cause))?;
    // A database that was restored is older than the vault has seen.
    vault.note_beside().map_err(failed)?;
    let clock = Arc::clone(clock);
    Ok((Arc::new(Local::new(key_holder.into(), move || clock.unix_s())), Some(vault)))
}

/// A key-holder in another process, if there is one, and how new it has seen the store, if it answers.
type Elsewhere = (Option<Arc<dyn KeyHolding>>, StoreAge);

/// A connection to the key-holders in other processes, if the configuration names any. Other nodes change the store, so it is asked before that is opened.
fn elsewhere(
    supervisor: &Supervisor,
    config: &config::KeyHolder,
    credential: &dyn Fn() -> Result<Identity, IdentityError>,
) -> Result<Elsewhere, StartError> {
    let stored = |what, cause: &dyn ToString| StartError::Stored { what, cause: cause.to_string() };
    let identity = || credential().map_err(|cause| stored("credential for the key-holder", &cause));
    let failed = |cause: std::io::Error| stored("connection to the key-holder", &cause);
    let deadline = Instant::now() + config.bounds().timeout;
    let warn = |why: String| tracing::warn!(why, "started without a key-holder");
    let key_holder: Arc<dyn KeyHolding> =
        match config.place().map_err(|cause| stored("configuration", &cause))? {
            Place::Here => return Ok((None, (0, 0))),
            Place::One(address) => {
                let place = address.authority.clone();
                let remote =
                    Remote::start(supervisor, address, identity()?, config.bounds(), None).map_err(failed)?;
                remote.wait_until_ready(deadline).unwrap_or_else(|why| warn(format!("{place}: {why}")));
                Arc::new(remote)
            }
            Place::Three([one, two, three]) => {
                let at = [(one, identity()?), (two, identity()?), (three, identity()?)];
                let quorum = Quorum::start(supervisor, at, config.bounds()).map_err(failed)?;
                quorum.wait_until_ready(deadline).unwrap_or_else(warn);
                if let Some(cause) = quorum.misplaced() {
                    return Err(stored("key-holders", &cause));
                }
                Arc::new(quorum)
            }
        };
    let seen = key_holder.note_store((0, 0)).unwrap_or_default();
    Ok((Some(key_holder), seen))
}

fn not_opened(path: &Path, cause: StoreError) -> StartError {
    StartError::Store { path: path.display().to_string(), cause }
}

/// How many durations of a seal apart seals begin under load. A seal costs a processor the same milliseconds for one login as for thousands, so
/// at 2 and not at 1 a login pays half as much of that, and waits half a seal longer on average.
const SEAL_SPACING: u64 = 2;
/// How long a node that leaves decides what comes on connections that it has told to end.
const SENT_ON_MAX: Duration = Duration::from_millis(500);

/// Starts to keep seals in the store.
fn start_seal_log(
    store: &Arc<dyn Store>,
    counters: &Arc<Counters>,
    standing: &Arc<seal_log::Standing>,
    supervisor: &Supervisor,
) -> Result<(SealLog, std::thread::JoinHandle<()>), StartError> {
    let store = Arc::clone(store);
    let put = move |number, bytes, completed| log_store::put_seal(store.as_ref(), number, bytes, completed);
    SealLog::start(put, Arc::clone(counters), Arc::clone(standing), supervisor)
        .map_err(|cause| StartError::Thread(no_thread(cause).to_string()))
}

fn start_pipeline(
    config: &Config,
    pipeline: Pipeline<trefoil_service::tenants::wiring::VerdictCache>,
    keys: SigningKeys,
    head: ChainHead,
    clock: Arc<dyn Clock>,
    (door, release): (Arc<FrontDoor>, SealLog),
    (vaults, restored, shared): (Arc<SeenVaults>, Option<Restoration>, Option<Arc<dyn SharedLog>>),
) -> Result<trefoil_pipeline::Service<Asker>, StartError> {
    let config::Pipeline {
        workers,
        cadence,
        sealers,
        seal_floor_ms,
        seal_floor_logins,
        batch_delay_us,
        queue,
        nonces: _,
    } = config.pipeline;
    let placement = Placement::new((workers > 0).then_some(workers), Pin::Auto);
    for warning in &placement.warnings {
        tracing::warn!("{warning}");
    }
    let config = trefoil_pipeline::Config {
        placement,
        delay: Delay { idle_us_max: batch_delay_us, busy_us_max: batch_delay_us.saturating_mul(4) },
        cadence: match cadence {
            config::Cadence::Group => Cadence::Group,
            config::Cadence::PerBatch => Cadence::PerBatch,
        },
        floor: Floor {
            distance: Duration::from_millis(seal_floor_ms),
            lanes: seal_floor_logins,
            spacing: SEAL_SPACING,
        },
        // Seals of a shared log are made one at a time.
        sealers: if shared.is_some() { Some(1) } else { (sealers > 0).then_some(sealers) },
        shared,
        intake: queue,
        vaults,
        restored,
    };
    let release = Arc::new(release);
    trefoil_pipeline::Service::start(Arc::new(pipeline), keys, head, config, clock, door, release)
        .map_err(|cause| StartError::Thread(cause.to_string()))
}

fn proof_pool(
    proofs: &config::Proofs,
    clock: &Arc<dyn Clock>,
    counters: &Counters,
    supervisor: &Supervisor,
) -> Result<ProofPool, StartError> {
    let workers = match proofs.workers {
        0 => std::thread::available_parallelism().map_or(1, |all| all.get().div_ceil(2)),
        workers => workers,
    };
    let deadline = Duration::from_millis(proofs.deadline_ms);
    let config = PoolConfig { workers, queue: proofs.queue, deadline };
    ProofPool::start(config, Arc::clone(clock), Arc::clone(&counters.proofs), supervisor)
        .map_err(|cause| StartError::Thread(cause.to_string()))
}

/// Begins to hear of what the other nodes of a fleet change.
async fn follow_fleet(service: Arc<Service>) -> Result<(), StartError> {
    let following = Arc::clone(&service);
    let followed = tokio::task::spawn_blocking(move || following.follow_fleet()).await;
    followed.map_err(|cause| StartError::Thread(cause.to_string()))?.map_err(StartError::Database)?;
    let nodes = service.node.store.fleet().map(|fleet| fleet.nodes()).unwrap_or_default();
    for found in findings::fleet_keys(&service.keys.told(), &node_name(), &nodes) {
        tracing::warn!(code = found.code, place = found.place, remedy = found.remedy, "{}", found.what);
    }
    Ok(())
}
