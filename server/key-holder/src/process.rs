//! The key-holder as a process: what is opened, who is let in, and one thread for each connection.
//!
//! There is no orderly shutdown, because none is needed: everything that an answer depends on is durable before it is given,
//! so the process may be killed at any moment.

use crate::channel::Channel;
use crate::clients::{Client, Clients, ClientsError};
use crate::config::{Config, Seated};
use crate::data_dir::{DataDir, DataDirError};
use crate::database::StoreError;
use crate::desk::{Desk, Role};
use crate::identity::{Fingerprint, Identity, IdentityError};
use crate::job_log::{Entry, JobLog, JobLogError};
use crate::places::Places;
use crate::protocol::{HEADER_BYTES, Unreadable, read_request, reply_frame, request_header};
use crate::vault::SqliteVault;
use crate::{quorum, tls, unix_s};
use rustls::{ServerConfig, ServerConnection};
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;
use trefoil_matching::{KeyHolder, Vault as _};

/// The identity of the process in its data directory.
pub(crate) const IDENTITY: &str = "tls";
/// Connections that may be in their handshake. Strangers can fill these places, for [`HANDSHAKE_TIME_MAX`], and no others.
const HANDSHAKES_MAX: usize = 32;
const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(5);
/// From the first byte of a frame to its last, and for a reply.
const FRAME_TIME_MAX: Duration = Duration::from_secs(5);
/// Between two requests; gateways do not use a connection that has been idle for half as long.
pub(crate) const IDLE_TIME_MAX: Duration = Duration::from_secs(600);
/// Pause after a failed `accept`, which means that the process is out of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// Stack of a connection's thread; a decryption has its arrays of 4096 on the heap.
const STACK_BYTES: usize = 1 << 20;

/// Why the process cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The data directory refused.
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
    /// What makes it one of three is missing or wrong.
    #[error("quorum: {0}")]
    Quorum(String),
    /// The vault holds what this program did not write.
    #[error("vault: {0}")]
    Vault(String),
    /// The vault is an older copy.
    #[error(
        "the vault is older than the job log: it counts {found} transactions, the log has seen {remembered}. Budgets that were spent and \
         templates that were deleted since would be back: restore the newest vault, or, if there is none, start once with \
         --accept-older-vault, which every attestation will say"
    )]
    OlderVault {
        /// What the vault counts.
        found: u64,
        /// What the log has seen.
        remembered: u64,
    },
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {cause}; is another process using it?")]
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
    desk: Desk,
    connections_max: usize,
    connections: AtomicUsize,
    handshakes: Places,
}

impl Process {
    /// Opens everything and binds the address. An older copy of the vault is taken only if `accept_older_vault`.
    ///
    /// # Errors
    /// [`StartError`] says what to do.
    pub fn open(config: &Config, accept_older_vault: bool) -> Result<Process, StartError> {
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
        let desk = open_desk(config, &directory, peers, accept_older_vault)?;
        let address = config.server.listen;
        let listener = TcpListener::bind(address).map_err(|cause| StartError::Bind { address, cause })?;
        let shared = Shared {
            tls: tls::server_config(identity, clients.keys().copied().collect())?,
            clients,
            desk,
            connections_max: config.server.connections,
            connections: AtomicUsize::new(0),
            handshakes: Places::new(HANDSHAKES_MAX),
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

    /// What gateways pin.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Serves for ever.
    pub fn serve(&self) -> ! {
        let head = self.shared.desk.log.head();
        tracing::info!(jobs = head.next, head = hex::encode(head.digest), "serving");
        loop {
            self.shared.handshakes.take();
            let started = self.listener.accept().and_then(|(socket, peer)| {
                let shared = Arc::clone(&self.shared);
                let name = "connection".to_owned();
                let run = move || shared.serve(socket, peer);
                std::thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(run).map(drop)
            });
            if let Err(cause) = started {
                tracing::warn!(%cause, "a connection was not accepted");
                self.shared.handshakes.give_back();
                std::thread::sleep(ACCEPT_RETRY);
            }
        }
    }
}

fn open_desk(
    config: &Config,
    directory: &DataDir,
    peers: Option<Seated>,
    accept_older: bool,
) -> Result<Desk, StartError> {
    let path = directory.join("vault.sqlite");
    let failed = |cause| StartError::Store { path: path.display().to_string(), cause };
    let vault = SqliteVault::open(&path, &*directory.secret::<32>("vault.key")?).map_err(failed)?;
    let vault = Arc::new(vault.with_attempts_surviving(config.vault.attempts_survive.into()));
    let log = JobLog::open(directory)?;
    let (found, remembered) = (vault.state().generation, log.head().vault);
    if found < remembered {
        if !accept_older {
            return Err(StartError::OlderVault { found, remembered });
        }
        vault.accept_older(remembered).map_err(failed)?;
        let restored = vault.state();
        tracing::warn!(found, remembered, times = restored.restored, "an older vault was taken");
        let mut entry = Entry::begun(unix_s(), "the one who started it");
        (entry.op, entry.outcome) = ("accept-older-vault".to_owned(), "done".to_owned());
        entry.vault = restored.generation;
        log.append(entry).map_err(|cause| StartError::Vault(cause.to_string()))?;
    }
    let keyholder = KeyHolder::new(Box::new(Arc::clone(&vault)), &mut rand::rng(), unix_s())
        .map_err(|cause| StartError::Vault(cause.to_string()))?;
    let keyholder = Arc::new(keyholder);
    let member = quorum::open(&config.quorum, directory, peers, &keyholder).map_err(StartError::Quorum)?;
    let role = member.map_or(Role::Alone(keyholder), |member| Role::Member(Box::new(member)));
    Ok(Desk { role, vault, log, limits: config.policy })
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
            if let Err(cause) = self.converse(channel, &client) {
                tracing::info!(client = client.name, %peer, %cause, "connection ended");
            }
        } else {
            tracing::warn!(client = client.name, %peer, "too many connections: see server.connections");
        }
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    fn converse(&self, mut channel: Channel<ServerConnection>, client: &Client) -> io::Result<()> {
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
            let reply = self.desk.answer(client, request, unix_s());
            channel.set_deadline(Instant::now() + FRAME_TIME_MAX);
            channel.send(&reply_frame(&reply))?;
            if lost {
                return Err(io::Error::other("the peer sent something that is no request"));
            }
        }
    }
}
