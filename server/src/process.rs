//! The service as a process: its log, its memory, its signals, its exit code.

use crate::config::Config;
use crate::listener::raise_descriptor_limit;
use crate::reload::Settings;
pub use crate::reload::Source;
use crate::server::{Follower, Server, Standing, StartError};
use crate::standby;
use crate::tls::{Pair, SOON_S};
use std::net::TcpListener;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use trefoil_host::logging::{Filter, Logging};
use trefoil_host::{memory, output, systemd};
use trefoil_pipeline::Clock;
use trefoil_service::keys::signing_keys;
use trefoil_service::time;
use trefoil_storage::supervisor::no_thread;

/// Exit code for a setting that cannot be used.
const USAGE: u8 = 2;

/// Runs the service by this clock as `trefoil serve` does: with its log and its signals, to the exit code of the process.
/// On failure the last line of the log is the reason. Sockets that systemd passed are served instead of `server.listen` and
/// `server.admin_listen`. From `source` the configuration is read again when its file changes, and at SIGHUP.
pub fn run_service(config: Config, source: Source, clock: Arc<dyn Clock>) -> ExitCode {
    // This has to happen before there is a second thread.
    let sockets = match systemd::sockets(["public", "admin"]) {
        Ok(sockets) => sockets,
        Err(cause) => {
            eprintln!("trefoil: {cause}");
            return ExitCode::from(USAGE);
        }
    };
    let log = match Logging::start(&config.log) {
        Ok(log) => log,
        Err(cause) => {
            eprintln!("trefoil: {cause}");
            return ExitCode::from(USAGE);
        }
    };
    let ended = run(config, (source, log.filter()), clock, sockets);
    log.end(ended.as_ref().err().map(|cause| format!("trefoil: {cause}")).as_deref());
    ended.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

/// Connections that are woken together. Each thread of the runtime has its own queue for 256 tasks. Further tasks go to the queue of all threads and
/// wait behind its tasks, among them answers of the pipeline.
const EVENTS_PER_TICK: usize = 64;

fn run(
    mut config: Config,
    reading: (Source, Filter),
    clock: Arc<dyn Clock>,
    sockets: [Option<TcpListener>; 2],
) -> Result<(), String> {
    let configured = config.clone();
    take_addresses(&mut config, &sockets);

    if config.server.protect_memory {
        memory::protect().map_err(|cause| format!("memory cannot be protected: {cause}"))?;
    }
    raise_descriptor_limit(2 * config.limits.connections);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().max_io_events_per_tick(EVENTS_PER_TICK).build();
    let runtime = runtime.map_err(|cause| cause.to_string())?;
    let starting = watch_start(runtime.handle().clone())?;
    let ended = runtime.block_on(serve(config, (configured, reading), clock, sockets, starting));
    // A blocking task may wait forever for a thread that panicked.
    runtime.shutdown_background();
    ended
}

/// How long a start may wait for one thread.
const THREAD_MAX: Duration = Duration::from_secs(10);

/// Ends the process if the runtime gets no thread for what it has to do: it would wait for one for ever. Drop the answer once the service serves.
fn watch_start(runtime: Handle) -> Result<Sender<()>, String> {
    let (starting, serves) = channel::<()>();
    let watch = move || {
        while serves.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            let (ran, runs) = channel();
            runtime.spawn_blocking(move || ran.send(()).is_ok());
            let is_stuck = runs.recv_timeout(THREAD_MAX).is_err();
            if is_stuck && serves.recv_timeout(THREAD_MAX) == Err(RecvTimeoutError::Timeout) {
                let cause = no_thread(std::io::ErrorKind::WouldBlock.into());
                eprintln!("trefoil: the start waits for a thread: {cause}");
                std::process::exit(1);
            }
        }
    };
    let thread = std::thread::Builder::new().name("start-watch".to_owned()).spawn(watch);
    thread.map(|_| starting).map_err(|cause| no_thread(cause).to_string())
}

/// Serves until a signal comes. The error says why it ended without one.
async fn serve(
    config: Config,
    (configured, (source, filter)): (Config, (Source, Filter)),
    clock: Arc<dyn Clock>,
    sockets: [Option<TcpListener>; 2],
    starting: Sender<()>,
) -> Result<(), String> {
    let reloads = signal(SignalKind::hangup());
    let living = tokio::spawn(live());
    let warn_days = config.tls.warn_days;
    let (server, mut signals) = if config.store.standby {
        refuse_sockets(&sockets)?;
        let mut signals = signals();
        match standby::taken_over(config, &clock, stopped_by(&mut signals)).await? {
            Some(server) => (server, signals),
            None => return Ok(()),
        }
    } else {
        let data = config.server.data_dir.clone();
        let started = Server::start_on(sockets, config, Arc::clone(&clock)).await;
        // Only now, so that a signal ends a start at once, and before the addresses are printed, whose reader may send one.
        (started.map_err(|cause| not_started(&cause, &data))?, signals())
    };
    drop(starting);
    say_what_runs(&server, clock.unix_s(), warn_days);
    output::tell(&format!(
        "public API    https://{}\nadmin API     https://{}\ncertificate   {}\nadmin token   {}\ntrust root    {}\n",
        server.public_address(),
        server.admin_address(),
        server.certificate_path().display(),
        server.admin_token_path().display(),
        server.trust_root_path().display(),
    ));
    let settings = Settings::new(configured, source, filter, server.set_limits());
    let reloads = reloads.map_err(|cause| cause.to_string())?;
    let renewing =
        tokio::spawn(renew((Arc::clone(server.certificate()), server.follower()), settings, reloads));
    systemd::ready(&format!("serves {} tenants", server.standing().tenants));
    let death = tokio::select! {
        () = stopped_by(&mut signals) => None,
        death = server.death() => Some(death),
    };
    systemd::stopping();
    renewing.abort();
    if death.is_none() {
        tokio::select! {
            () = server.leave() => {}
            () = stopped_by(&mut signals) => {}
        }
    }
    let drained = server.shutdown().await;
    living.abort();
    match (death, drained) {
        (Some(death), _) => Err(death.to_string()),
        (None, true) => Ok(()),
        (None, false) => Err("some requests were not answered in time".to_owned()),
    }
}

/// Why it does not start. If a first start fails for a reason outside of the directory, this says that nothing is set up yet.
fn not_started(cause: &StartError, data: &Path) -> String {
    let is_outside = matches!(cause, StartError::Bind { .. } | StartError::Database(_));
    match is_outside && !signing_keys::are_there(data) {
        true => format!("{cause}. No keys were made in {}: correct this and start again", data.display()),
        false => cause.to_string(),
    }
}

/// Replaces the configured addresses by those of the sockets that systemd passed. Commands find the service by the configuration, so this
/// warns of a difference.
fn take_addresses(config: &mut Config, sockets: &[Option<TcpListener>; 2]) {
    let server = &mut config.server;
    let listeners =
        [("server.listen", &mut server.listen), ("server.admin_listen", &mut server.admin_listen)];
    for (socket, (setting, configured)) in sockets.iter().zip(listeners) {
        let Some(Ok(passed)) = socket.as_ref().map(TcpListener::local_addr) else { continue };
        if *configured != passed {
            tracing::warn!(
                setting,
                %configured,
                %passed,
                "systemd passed a socket with another address, which is served: write the same into the configuration, where \
                 `trefoil admin` and `trefoil doctor` look"
            );
            *configured = passed;
        }
    }
}

/// Tells systemd that this runtime works, at the interval that systemd asks for.
async fn live() {
    let Some(interval) = systemd::interval() else { return };
    loop {
        systemd::alive();
        tokio::time::sleep(interval).await;
    }
}

/// The first line of the log, which describes this process, and warnings of certificates and keys that expire soon.
fn say_what_runs(server: &Server, now: u64, warn_days: u64) {
    let Standing { directory, issuer, public_url, key_holder, tenants, certificate_until, keys_until } =
        server.standing();
    let until = |time: Option<u64>| time.map_or("unknown".to_owned(), time::format);
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        commit = env!("COMMIT_OF_BUILD"),
        directory = %directory.display(),
        issuer,
        public = %server.public_address(),
        public_url,
        admin = %server.admin_address(),
        key_holder,
        tenants,
        certificate_until = until(certificate_until),
        keys_until = until(keys_until),
        "started"
    );
    for (what, until, within_s, remedy) in [
        (
            "TLS certificate",
            certificate_until,
            warn_days * 86_400,
            "renew it; its files are read again when they change, or at SIGHUP",
        ),
        ("signing keys", keys_until, SOON_S, "`trefoil keys rotate`, then start again"),
    ] {
        if let Some(until) = until.filter(|until| *until < now.saturating_add(within_s)) {
            tracing::warn!(what, until = time::format(until), remedy, "runs out soon, or has run out");
        }
    }
}

/// How often the files of the certificate, of the next trust root and of the configuration are checked for changes.
const LOOK: Duration = Duration::from_secs(5);

/// Reloads the certificate, the trust root and the settings that can change when their files change, and all of them at SIGHUP.
async fn renew((pair, root): (Arc<Pair>, Follower), mut settings: Settings, mut reloads: Signal) {
    let (mut seen, mut seen_root) = (pair.opened().clone(), None);
    loop {
        let asked = tokio::select! {
            _ = reloads.recv() => true,
            () = tokio::time::sleep(LOOK) => false,
        };
        let next = root.waiting();
        if asked || next != seen_root {
            root.follow();
            seen_root = root.waiting();
        }
        let files = pair.files();
        let certificate = match asked || files != seen {
            true => renew_certificate(&pair),
            false => "the same",
        };
        seen = files;
        match asked {
            true => settings.at_signal(certificate),
            false => settings.at_look(),
        }
    }
}

/// Reads the certificate again, and says what became of it.
fn renew_certificate(pair: &Pair) -> &'static str {
    let file = pair.certificate().display();
    match pair.reload() {
        Ok(true) => {
            tracing::info!(%file, "new connections get the renewed certificate");
            "renewed"
        }
        Ok(false) => "the same",
        Err(cause) => {
            tracing::error!(%cause, "the certificate cannot be renewed: new connections get the one before");
            "refused"
        }
    }
}

/// SIGTERM and SIGINT, handled from now on.
fn signals() -> std::io::Result<[Signal; 2]> {
    Ok([signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?])
}

/// Waits until one of them comes.
async fn stopped_by(signals: &mut std::io::Result<[Signal; 2]>) {
    match signals {
        Ok([terminate, interrupt]) => {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            tracing::info!(signal = name, "shutting down");
        }
        Err(cause) => tracing::error!(%cause, "no signal can be received, shutting down"),
    }
}

/// A socket that systemd opened accepts connections, which a standby would let wait.
fn refuse_sockets(sockets: &[Option<TcpListener>]) -> Result<(), String> {
    match sockets.iter().any(Option::is_some) {
        false => Ok(()),
        true => {
            Err("a standby opens its listeners itself when it takes over: stop and disable the socket unit"
                .to_owned())
        }
    }
}
