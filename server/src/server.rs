//! A running service: opens, starts and joins its parts in order.

#![expect(clippy::disallowed_types, reason = "for enrolments, off the path of a login")]

mod callers;
mod error;
mod follower;
mod installation;
mod parts;
mod pipeline;
mod standing;
mod store;
mod stored;
mod tasks;

pub use callers::ADMIN_TOKEN_FILE;
pub use error::StartError;
pub(crate) use follower::Follower;
pub use installation::look;
use parts::assembled;
pub use standing::Standing;
pub use store::database;

use crate::api;
use crate::app::App;
use crate::config::Config;
use crate::findings;
use crate::limits::LiveLimits;
use crate::listener::connections::Connections;
use crate::listener::{Claim, Listener};
use crate::metrics::Metrics;
use crate::node_name;
use crate::refusals::Refusals;
use crate::tls::{self, CERTIFICATE_FILE, Pair};
use error::not_opened;
use installation::Installation;
use pipeline::{proof_pool, start_pipeline, start_seal_log};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::OpenStore;
use stored::Stored;
use tasks::{look_at_key_holder, seal_notes, spawn_tasks, tell_again, watched};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use trefoil_key_holder::vault::SqliteVault;
use trefoil_matching::{Tier, calibrate};
use trefoil_pipeline::{Clock, Pipeline};
use trefoil_service::Service;
use trefoil_service::counters::Counters;
use trefoil_service::fleet::FleetLog;
use trefoil_service::keys::key_holder_watch::KeyHolderWatch;
use trefoil_service::keys::signing_keys::Shown;
use trefoil_service::log::Log;
use trefoil_service::log::asker::Asker;
use trefoil_service::log::retention::Pruner;
use trefoil_service::log::seal_log;
use trefoil_service::login::clock::PipelineClock;
use trefoil_service::login::door::FrontDoor;
use trefoil_service::node::Node;
use trefoil_service::sessions::rows::Sessions;
use trefoil_service::subjects::rotation::Rotations;
use trefoil_storage::Supervisor;
use trefoil_storage::data_dir::DataDir;
use trefoil_storage::disk::Disk;
use trefoil_storage::supervisor::Death;

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
    /// What runs beside the requests.
    tasks: Vec<JoinHandle<Option<()>>>,
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
        prepare_arithmetic(&config)?;
        let supervisor = Supervisor::default();
        let opening = {
            let (config, clock, supervisor) = (config.clone(), Arc::clone(&clock), supervisor.clone());
            move || {
                let directory = DataDir::open(&config.server.data_dir)?;
                // It makes room for the databases, if there is almost none.
                let disk = Disk::open(directory.path(), config.disk.limits());
                let now = move || clock.unix_s();
                Installation::open(&directory, sockets, &config, now, &supervisor)
                    .map(|opened| (directory, disk, opened))
            }
        };
        let opened = tokio::task::spawn_blocking(opening).await;
        let (directory, disk, opened) = opened.map_err(|cause| StartError::Thread(cause.to_string()))??;
        let Installation {
            sockets, issuer, register, past, vault, key_holder, notes, operators, pruner, ..
        } = opened;
        let OpenStore { store, path: store_path, .. } = opened.store;
        let Stored { head, sealed, restored } = opened.stored;
        let certificate = opened.certificate.ok_or(StartError::Unfinished(CERTIFICATE_FILE))?;
        let keys = opened.keys.ok_or(StartError::Unfinished("signing.keys"))?;
        let (shown, mut keys) = (Shown::new(&keys), keys.keys);
        keys.precompute_to(config.keys.precompute.into());
        let watch = Arc::new(KeyHolderWatch::new(sealed.map(|(_, vaults)| vaults).unwrap_or_default()));

        // No seal is dated before its keys either.
        let from = head.time.max(keys.public().not_before);
        let (counters, standing) = (Arc::<Counters>::default(), Arc::new(seal_log::Standing::at(from)));
        let pipeline =
            Pipeline::new(issuer, opened.accounts.registry(), Arc::clone(&key_holder), Tier::detected());
        let (release, seal_log) = start_seal_log(&store, &counters, &standing, &supervisor)?;
        let shared = FleetLog::of(&store, &watch, register.clone(), past.accepted(), &standing);
        let told = (watch.vaults(), restored, shared);
        let (nonces, dated_by) = (config.pipeline.nonces, Arc::clone(&standing));
        let door = Arc::new(FrontDoor::new(nonces, register.clone(), dated_by));
        let dated = PipelineClock { clock: Arc::clone(&clock), seal_log: Arc::clone(&standing) };
        let ends = (Arc::clone(&door), release);
        let pipeline = start_pipeline(&config, pipeline, keys, head, Arc::new(dated), ends, told)?;
        let rows = Sessions::new(Arc::clone(&store), register.is_some());
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
        let log = Arc::new(Log::new(Arc::clone(&node), notes, pipeline.intake(), standing, opened.witnesses));
        let callers = (opened.accounts, operators);
        let subjects = (opened.leftovers, rows, proofs);
        let service = Arc::new(assembled(&config, (node, log, shown), callers, subjects, (door, past)));
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
            recurring: Mutex::default(),
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
        let tasks = spawn_tasks(&app, pruner, vault.as_ref(), &stopped);
        Ok(Server {
            pipeline,
            seal_log,
            public: (
                public,
                watched(supervisor, "public listener", public_listener.serve(public_router, stopped)),
            ),
            admin: (
                admin,
                watched(supervisor, "admin listener", admin_listener.serve(admin_router, admin_stopped)),
            ),
            tasks,
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
            tasks,
            vault,
            certificate: _,
            directory,
        } = self;
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
        for task in tasks {
            let _ = task.await;
        }
        app.service.log.intake.store(None);
        let sealed = tokio::task::spawn_blocking(move || {
            let sealed = pipeline.drain().is_some() & seal_log.join().is_ok();
            app.rotations.wait();
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

/// How long a node that leaves decides what comes on connections that it has told to end.
const SENT_ON_MAX: Duration = Duration::from_millis(500);

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
