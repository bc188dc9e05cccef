//! The key-holder as a process: what is opened, who is let in, and one thread for each connection.
//!
//! There is no orderly shutdown, because none is needed: everything that an answer depends on is durable before it is given,
//! so the process may be killed at any moment.

use crate::channel::Channel;
use crate::clients::{Client, Clients, ClientsError};
use crate::config::{Config, Seated};
use crate::data_dir::{DataDir, DataDirError};
use crate::database::StoreError;
use crate::desk::Desk;
use crate::identity::{Fingerprint, Identity, IdentityError};
use crate::job_log::{JobLog, JobLogError};
use crate::owners::Owners;
use crate::places::Places;
use crate::protocol::{Refused, Reply, Request, request_length};
use crate::vault::SqliteVault;
use crate::wrap::WrapKey;
use crate::{quorum, tls};
use rustls::{ServerConfig, ServerConnection};
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use thiserror::Error;
use trefoil_matching::KeyHolder;

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
    /// Opens everything and binds the address.
    ///
    /// # Errors
    /// [`StartError`] says what to do.
    pub fn open(config: &Config) -> Result<Process, StartError> {
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
        let desk = open_desk(config, &directory, peers)?;
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

fn open_desk(config: &Config, directory: &DataDir, peers: Option<Seated>) -> Result<Desk, StartError> {
    let failed = |path: &PathBuf| {
        let path = path.display().to_string();
        move |cause| StartError::Store { path, cause }
    };
    let path = directory.join("vault.sqlite");
    let key = WrapKey::new(&*directory.secret::<32>("vault.key")?);
    let vault = SqliteVault::open(&path, key)
        .map_err(failed(&path))?
        .with_attempts_surviving(config.vault.attempts_survive.into());
    let keyholder = KeyHolder::new(Box::new(vault), &mut rand::rng())
        .map_err(|cause| StartError::Vault(cause.to_string()))?;
    let keyholder = Arc::new(keyholder);
    let bench = quorum::open(&config.quorum, directory, peers, &keyholder).map_err(StartError::Quorum)?;
    let path = directory.join("owners.sqlite");
    let owners = Owners::open(&path).map_err(failed(&path))?;
    Ok(Desk { keyholder, bench, owners, log: JobLog::open(directory)?, limits: config.policy })
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
            let Some(kind) = channel.receive_first()? else { return Ok(()) };
            channel.set_deadline(Instant::now() + FRAME_TIME_MAX);
            let header = channel.receive_header(kind)?;
            let request = match request_length(header) {
                Ok(length) => {
                    body.resize(length, 0);
                    channel.receive(&mut body)?;
                    Request::decode(kind, &body)
                }
                Err(why) => Err(why),
            };
            let reply = self.desk.answer(client, request, unix_s());
            channel.set_deadline(Instant::now() + FRAME_TIME_MAX);
            channel.send(&reply.encode())?;
            if matches!(reply, Reply::Refused(Refused::Framing)) {
                return Err(io::Error::other("the peer sent something that is no request"));
            }
        }
    }
}

/// A clock before 1970 is a broken one; at zero no budget is renewed.
fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
