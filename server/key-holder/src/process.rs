//! The key-holder as a process: it opens its files, admits clients, and has one thread for each connection.
//!
//! Everything that an answer depends on is durable before it is given, so the process may be killed at any moment. At a signal,
//! or when one of its own threads panics, it answers requests in flight before it ends, and moves the vault's
//! write-ahead log into the file, so that a copy of the file is complete.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "when a client connects and hangs up"
)]

use crate::channel::Channel;
use crate::clients::{Client, Clients, ClientsError};
use crate::config::{Config, Seated};
use crate::handler::{Handler, Role};
use crate::job_log::{Entry, JobLog, JobLogError};
use crate::protocol::{HEADER_BYTES, IDLE_TIME_MAX, Unreadable, read_request, reply_frame, request_header};
use crate::semaphore::Semaphore;
use crate::vault::{SqliteVault, VAULT_FILE};
use crate::{quorum, tls};
use rustls::{ServerConfig, ServerConnection};
use signal_hook::iterator::Signals;
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use thiserror::Error;
use trefoil_host::identity::{Fingerprint, IDENTITY, Identity, IdentityError};
use trefoil_host::settings::not_bound;
use trefoil_host::{systemd, unix_s};
use trefoil_matching::{KeyHolder, Vault as _, VaultState};
use trefoil_storage::data_dir::{DataDir, DataDirError};
use trefoil_storage::database::StoreError;
use trefoil_storage::disk::{self, Disk};
use trefoil_storage::supervisor::{Death, Supervisor};

/// Most connections in their handshake. Strangers can fill only these places, for [`HANDSHAKE_TIME_MAX`].
const HANDSHAKES_MAX: usize = 32;
const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(5);
/// From the first byte of a frame to its last, and for a reply.
const FRAME_TIME_MAX: Duration = Duration::from_secs(5);
/// Pause after a failed `accept`, which means that the process is out of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// Stack of a connection's thread; a decryption has its arrays of 4096 on the heap.
const STACK_BYTES: usize = 1 << 20;
/// Pause between two checks whether all requests in flight have been answered.
const FINISH_POLL: Duration = Duration::from_millis(10);

/// Looks at the disk after which the head of the job log is signed: a second.
const SIGN_TURNS: u32 = 2;
/// Looks at the disk after which the vault notes the length of the job log, if no other transaction has. A gateway asks for the status once a second,
/// and each question is a line.
const NOTE_TURNS: u32 = 20;

/// Why the process cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// There is no usable certificate.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The list of clients cannot be used.
    #[error(transparent)]
    Clients(#[from] ClientsError),
    /// The job log cannot be used.
    #[error(transparent)]
    JobLog(#[from] JobLogError),
    /// A database cannot be used.
    #[error("{path}: {cause}")]
    Store {
        /// The file.
        path: String,
        /// Reason.
        cause: StoreError,
    },
    /// Its configuration or files as one of three are missing or wrong.
    #[error("quorum: {0}")]
    Quorum(String),
    /// The vault holds data that this program did not write.
    #[error("vault: {0}")]
    Vault(String),
    /// The vault is an older copy.
    #[error(
        "the vault is older than the job log: it counts {found} transactions, the log has seen {remembered}: an older copy, or its \
         write-ahead log (vault.sqlite-wal) is missing or damaged. Budgets that were spent and \
         templates that were deleted since would be back: restore the whole directory from the newest backup, or, if there is none, start \
         once with --accept-older-vault, which every seal will show"
    )]
    OlderVault {
        /// Transactions that the vault counts.
        found: u64,
        /// Transactions that the log has seen.
        remembered: u64,
    },
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {cause}; {}", not_bound(cause))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Reason.
        cause: io::Error,
    },
}

/// A key-holder that listens and does not serve yet.
pub struct Process {
    listener: TcpListener,
    fingerprint: Fingerprint,
    shared: Arc<Shared>,
    /// Released last.
    _directory: DataDir,
}

struct Shared {
    tls: Arc<ServerConfig>,
    clients: HashMap<Fingerprint, Arc<Client>>,
    handler: Handler,
    connections_max: usize,
    connections: AtomicUsize,
    handshakes: Semaphore,
    /// A flag for each connection, so that no two batches share one: see [`Answering`].
    conversations: Mutex<Vec<Weak<AtomicBool>>>,
    supervisor: Supervisor,
    /// A signal came: no request is begun any more.
    stopping: AtomicBool,
}

impl Process {
    /// Opens all files, and binds the address unless a socket is given. An older copy of the vault is accepted only with `accept_older_vault`.
    ///
    /// # Errors
    /// [`StartError`] says what to do.
    pub fn open(
        socket: Option<TcpListener>,
        config: &Config,
        accept_older_vault: bool,
    ) -> Result<Process, StartError> {
        quorum::refuse_empty(config).map_err(StartError::Quorum)?;
        let directory = DataDir::open(&config.server.data_dir)?;
        let identity = Identity::open(&directory, IDENTITY)?;
        let fingerprint = identity.fingerprint();
        let clients = Clients::read(&directory)?;
        if clients.client.is_empty() {
            tracing::warn!("no client is authorised: run `trefoil key-holder init`");
        }
        let mut clients = clients.by_fingerprint().map_err(|cause| ClientsError::File {
            path: directory.join(crate::clients::CLIENTS_FILE).display().to_string(),
            cause,
        })?;
        let peers = config.quorum.seats().map_err(|cause| StartError::Quorum(cause.to_string()))?;
        for (seat, address) in peers.iter().flat_map(|(_, peers)| peers) {
            let client = quorum::client(*seat, address.fingerprint);
            if clients.insert(address.fingerprint, Arc::new(client)).is_some() {
                let cause = format!("{} is a peer and in the list of clients", address.fingerprint);
                return Err(StartError::Quorum(cause));
            }
        }
        let supervisor = Supervisor::default();
        let handler = open_desk(config, &directory, peers, accept_older_vault, &supervisor)?;
        let address = config.server.listen;
        let bound = match socket {
            Some(socket) => socket.set_nonblocking(false).map(|()| socket),
            None => TcpListener::bind(address),
        };
        let listener = bound.map_err(|cause| StartError::Bind { address, cause })?;
        let shared = Shared {
            tls: tls::server_config(identity, clients.keys().copied().collect())?,
            clients,
            handler,
            connections_max: config.server.connections,
            connections: AtomicUsize::new(0),
            handshakes: Semaphore::new(HANDSHAKES_MAX),
            conversations: Mutex::default(),
            supervisor,
            stopping: AtomicBool::new(false),
        };
        Ok(Process { listener, fingerprint, shared: Arc::new(shared), _directory: directory })
    }

    /// The bound address.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The fingerprint, which gateways pin.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Serves until one of `signals` comes, or an essential thread panics (then it returns the reason), and
    /// the requests in flight are answered.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn serve(self, signals: &[i32]) -> io::Result<Option<Death>> {
        let Process { listener, shared, .. } = &self;
        let head = shared.handler.log.head();
        tracing::info!(jobs = head.next, head = hex::encode(head.digest), "serving");
        shared.handler.sign_log(unix_s());
        let (tell, death) = channel();
        let died = tell.clone();
        shared.supervisor.on_death(move |death| drop(died.send(Some(death.clone()))));
        let mut signals = Signals::new(signals)?;
        let stopping = Arc::clone(shared);
        shared.supervisor.spawn("signals", move || {
            if signals.forever().next().is_some() {
                stopping.stopping.store(true, Ordering::SeqCst);
                // The receiver is gone when the process ends for another reason.
                let _ = tell.send(None);
            }
        })?;
        let watching = Arc::clone(shared);
        shared.supervisor.spawn("disk watch", move || {
            for turn in 1.. {
                std::thread::sleep(disk::INTERVAL);
                watching.handler.disk.look();
                if turn % SIGN_TURNS == 0 {
                    watching.handler.sign_log(unix_s());
                }
                if turn % NOTE_TURNS == 0 {
                    watching.handler.note_log();
                }
            }
        })?;
        let (listener, accepting) = (listener.try_clone()?, Arc::clone(shared));
        shared.supervisor.spawn("accept", move || accept_all(&listener, &accepting))?;
        systemd::ready("serves");
        if let Some(interval) = systemd::interval() {
            let living = Arc::clone(shared);
            shared.supervisor.spawn("watchdog", move || {
                loop {
                    // Every answer waits for the vault.
                    living.handler.vault.state();
                    systemd::alive();
                    std::thread::sleep(interval);
                }
            })?;
        }
        let death = death.recv().map_err(io::Error::other)?;
        systemd::stopping();
        shared.finish(Instant::now() + FRAME_TIME_MAX);
        shared.handler.sign_log(unix_s());
        shared.handler.note_log();
        if let Err(cause) = shared.handler.vault.checkpoint() {
            tracing::warn!(%cause, "vault.sqlite is complete only together with vault.sqlite-wal: copy both");
        }
        Ok(death)
    }
}

fn accept_all(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        shared.handshakes.take();
        let started = listener.accept().and_then(|(socket, peer)| {
            let shared = Arc::clone(shared);
            let name = "connection".to_owned();
            let run = move || shared.serve(socket, peer);
            std::thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(run).map(drop)
        });
        if let Err(cause) = started {
            tracing::warn!(%cause, "a connection was not accepted");
            shared.handshakes.give_back();
            std::thread::sleep(ACCEPT_RETRY);
        }
    }
}

fn open_desk(
    config: &Config,
    directory: &DataDir,
    peers: Option<Seated>,
    accept_older: bool,
    supervisor: &Supervisor,
) -> Result<Handler, StartError> {
    let disk = Disk::open(directory.path(), config.disk.limits());
    let path = directory.join(VAULT_FILE);
    let failed = |cause| StartError::Store { path: path.display().to_string(), cause };
    let secret = directory.secret::<32>("vault.key")?;
    let file = directory.database(VAULT_FILE)?;
    let vault = SqliteVault::open(supervisor, file, &secret).map_err(failed)?;
    directory.note(VAULT_FILE)?;
    let vault = Arc::new(vault.with_attempts_surviving(config.vault.attempts_survive));
    let log = JobLog::open(directory)?;
    log.refuse_older(vault.follow(log.count()))?;
    let (found, remembered) = (vault.state().generation, log.head().vault.max(vault.reached()));
    if found < remembered && !accept_older {
        return Err(StartError::OlderVault { found, remembered });
    }
    // Also if the log shows nothing newer: it may be an older copy too, and a gateway's seals may show more.
    if accept_older {
        let newest = VaultState { generation: remembered, restored: 0 };
        vault.accept_older(newest).map_err(failed)?;
        let restored = vault.state();
        tracing::warn!(
            found,
            remembered,
            times = restored.restored,
            "the vault counts as an older copy that was taken"
        );
        let mut entry = Entry::begun(unix_s(), "the one who started it");
        (entry.op, entry.outcome) = ("accept-older-vault".to_owned(), "done".to_owned());
        entry.vault = restored.generation;
        log.append(entry).map_err(|cause| StartError::Vault(cause.to_string()))?;
    }
    let key_holder = KeyHolder::new(Arc::clone(&vault), &mut rand::rng(), unix_s())
        .map_err(|cause| StartError::Vault(cause.to_string()))?;
    let key_holder = Arc::new(key_holder);
    let member = quorum::open(supervisor, &config.quorum, directory, peers, &key_holder)
        .map_err(StartError::Quorum)?;
    let role = member.map_or(Role::Alone(key_holder), |member| Role::Member(Box::new(member)));
    Ok(Handler { role, vault, log, limits: config.policy, disk })
}

impl Shared {
    /// Serves one connection. The caller has taken a place for its handshake.
    fn serve(&self, socket: TcpStream, peer: SocketAddr) {
        let accepted = Channel::accept(Arc::clone(&self.tls), socket, Instant::now() + HANDSHAKE_TIME_MAX);
        self.handshakes.give_back();
        let channel = match accepted {
            Ok(channel) => channel,
            Err(cause) => return tracing::info!(%peer, %cause, "refused a connection"),
        };
        // The handshake has accepted this certificate because it is in the list.
        let client = channel.peer().and_then(|shown| self.clients.get(&Fingerprint::of(shown)));
        let Some(client) = client.map(Arc::clone) else { return };
        if self.connections.fetch_add(1, Ordering::Relaxed) < self.connections_max {
            // A panic there may have left an operation half done.
            if let Err(cause) = self.supervisor.watch("connection", || self.converse(channel, &client)) {
                tracing::info!(client = client.name, %peer, %cause, "connection ended");
            }
        } else {
            tracing::warn!(client = client.name, %peer, "too many connections: see server.connections");
        }
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Waits until no connection is answering, or until `deadline`. The supervisor has recorded the panic by now.
    fn finish(&self, deadline: Instant) {
        // Pairs with the fence in [`Answering::begin`]: a connection that is seen idle here sees the panic there.
        fence(Ordering::SeqCst);
        let conversations = std::mem::take(&mut *self.conversations());
        for answering in conversations.iter().filter_map(Weak::upgrade) {
            while answering.load(Ordering::Acquire) && Instant::now() < deadline {
                std::thread::sleep(FINISH_POLL);
            }
        }
    }

    fn conversations(&self) -> MutexGuard<'_, Vec<Weak<AtomicBool>>> {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A flag for a new connection.
    fn register(&self) -> Arc<AtomicBool> {
        let answering = Arc::new(AtomicBool::new(false));
        let mut conversations = self.conversations();
        conversations.retain(|answering| answering.strong_count() > 0);
        conversations.push(Arc::downgrade(&answering));
        answering
    }

    fn converse(&self, mut channel: Channel<ServerConnection>, client: &Client) -> io::Result<()> {
        let answering = self.register();
        let mut body = Vec::new();
        loop {
            channel.set_deadline(Instant::now() + IDLE_TIME_MAX);
            let Some(first) = channel.receive_first()? else { return Ok(()) };
            channel.set_deadline(Instant::now() + FRAME_TIME_MAX);
            let header = channel.receive_header(first)?;
            let request = match request_header(header) {
                Ok((kind, length)) => {
                    body.resize(length, 0);
                    body[0] = header[HEADER_BYTES - 1];
                    channel.receive(&mut body[1..])?;
                    read_request(&body).map(|request| (kind, request))
                }
                Err(why) => Err(why),
            };
            let lost = matches!(request, Err(Unreadable::Framing));
            let turn = Answering::begin(&answering);
            if self.stopping.load(Ordering::SeqCst) || self.supervisor.death().is_some() {
                return Err(io::Error::other("the process ends"));
            }
            let reply = self.handler.answer(client, request, unix_s());
            channel.set_deadline(Instant::now() + FRAME_TIME_MAX);
            channel.send(&reply_frame(&reply))?;
            drop(turn);
            if lost {
                return Err(io::Error::other("the peer sent something that is no request"));
            }
        }
    }
}

/// A connection that answers a request, until dropped.
struct Answering<'a>(&'a AtomicBool);

impl Answering<'_> {
    /// The caller checks next whether the process ends.
    fn begin(answering: &AtomicBool) -> Answering<'_> {
        answering.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        Answering(answering)
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Claim V17.
    #[test]
    fn after_a_panic_the_process_ends_once_every_connection_has_its_answer() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::embedded();
        config.server.data_dir = folder.path().join("data");
        config.server.listen = "127.0.0.1:0".parse().unwrap();
        let process = Process::open(None, &config, false).unwrap();
        let shared = Arc::clone(&process.shared);
        let (answering, _idle) = (shared.register(), shared.register());
        let turn = Answering::begin(&answering);
        let serving = std::thread::spawn(move || process.serve(&[]));
        let victim = shared.supervisor.spawn("victim", || panic!("this test has a thread panic"));
        victim.unwrap().join().unwrap_err();
        // Long enough for a process that does not wait.
        std::thread::sleep(Duration::from_millis(200));
        assert!(!serving.is_finished());
        drop(turn);
        assert_eq!(serving.join().unwrap().unwrap().unwrap().thread, "victim");
    }
}
