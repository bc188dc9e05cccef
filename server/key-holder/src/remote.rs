//! A key-holder elsewhere: connections kept ready, and one thread that knows whether it is there.
//!
//! Each decision under way has a connection of its own, so as many batches are in flight as threads wait, and a reply is read
//! by the thread that wants it. Nothing is sent twice: a batch whose connection breaks is not decided, and its attempts may
//! have been counted.
//!
//! The monitor holds one more connection. While it is down no caller waits: every call fails at once. It is up again as soon
//! as a ping has been answered, which is tried at least once a second.

use crate::address::Address;
use crate::channel::Channel;
use crate::identity::Identity;
use crate::process::IDLE_TIME_MAX;
use crate::protocol::{Enrolment, Renewal, Reply, Request, reply_length};
use crate::role::Role;
use crate::tls;
use rustls::{ClientConfig, ClientConnection};
use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trefoil_matching::{
    BlindedCiphertext, DecisionPolicy, Decisions, EncryptedProbes, EncryptedTemplate, ForKeyHolder, Handle,
    KeyHolderError, KeyHolding, KeyStructure, Lane, MatchJob, ProbeJob, PublicKey, SealingKey, TenantId,
};

/// Between two pings while all is well.
const PING_INTERVAL: Duration = Duration::from_millis(500);
/// Between two attempts to connect: the first and the longest pause.
const RETRY_FIRST: Duration = Duration::from_millis(50);
const RETRY_LONGEST: Duration = Duration::from_secs(1);

type Connection = Channel<ClientConnection>;

/// Bounds of the connection to a key-holder.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Longest time for one request, from taking a connection to the last byte of the reply.
    pub timeout: Duration,
    /// Connections at most; further requests wait for one, within their time.
    pub connections: usize,
}

/// See the module.
pub struct Remote {
    line: Arc<Line>,
    monitor: Option<JoinHandle<()>>,
}

struct Line {
    address: Address,
    tls: Arc<ClientConfig>,
    bounds: Bounds,
    state: Mutex<State>,
    /// A connection was given back, or the monitor is wanted.
    changed: Condvar,
}

struct State {
    /// Why nothing can be sent.
    down: Option<String>,
    idle: Vec<(Connection, Instant)>,
    /// Connections that exist, in use or idle.
    open: usize,
    /// Counts the times that everything was hung up; older connections are not kept.
    generation: u64,
    /// A caller has seen a fault that the monitor has not.
    suspect: bool,
    stop: bool,
}

impl Remote {
    /// Starts the monitor; the key-holder need not be there yet.
    ///
    /// # Errors
    /// When the identity is not usable or the thread does not start.
    pub fn start(address: Address, identity: Identity, bounds: Bounds) -> io::Result<Remote> {
        let tls = tls::client_config(identity, address.fingerprint).map_err(io::Error::other)?;
        let state = State {
            down: Some("not connected yet".to_owned()),
            idle: Vec::new(),
            open: 0,
            generation: 0,
            suspect: false,
            stop: false,
        };
        let line = Arc::new(Line { address, tls, bounds, state: Mutex::new(state), changed: Condvar::new() });
        let watched = Arc::clone(&line);
        let monitor = std::thread::Builder::new()
            .name("key-holder-monitor".to_owned())
            .spawn(move || watched.monitor())?;
        Ok(Remote { line, monitor: Some(monitor) })
    }

    /// One request and its reply.
    pub(crate) fn call(&self, frame: &[u8]) -> Result<Reply, KeyHolderError> {
        let deadline = Instant::now() + self.line.bounds.timeout;
        let (mut connection, generation) = self.line.take(deadline)?;
        let outcome = exchange(&mut connection, frame, deadline);
        match outcome {
            Ok(reply) => {
                self.line.give_back(connection, generation);
                match reply {
                    Reply::Refused(why) => Err(why.into()),
                    reply => Ok(reply),
                }
            }
            Err(cause) => {
                drop(connection);
                self.line.lost(&cause, generation);
                Err(KeyHolderError::Unavailable(cause.to_string()))
            }
        }
    }

    /// Replaces a tenant's policy, with an operator's identity.
    ///
    /// # Errors
    /// [`KeyHolderError`].
    pub fn set_policy(&self, tenant: TenantId, policy: DecisionPolicy) -> Result<(), KeyHolderError> {
        self.expect_done(&Request::SetPolicy(tenant, policy))
    }

    /// Waits until the key-holder answers.
    ///
    /// # Errors
    /// Why it does not, at `deadline`.
    pub fn wait_until_ready(&self, deadline: Instant) -> Result<(), String> {
        let left = deadline.saturating_duration_since(Instant::now());
        let down = |state: &mut State| state.down.is_some();
        let state = self.line.state();
        let waited = self.line.changed.wait_timeout_while(state, left, down);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.down.clone().map_or(Ok(()), Err)
    }

    fn expect_done(&self, request: &Request) -> Result<(), KeyHolderError> {
        match self.call(&request.encode())? {
            Reply::Done => Ok(()),
            _ => Err(nonsense()),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.line.state().stop = true;
        self.line.changed.notify_all();
        if let Some(monitor) = self.monitor.take() {
            // A panic of the monitor was logged where it happened.
            let _ = monitor.join();
        }
    }
}

impl KeyHolding for Remote {
    /// `now` is not sent: a key-holder counts attempts by its own clock.
    fn decide(&self, job: &MatchJob, _now: u64) -> Result<Decisions, KeyHolderError> {
        match self.call(&Request::decide(job))? {
            Reply::Decided(lanes) if lanes.bits() & !job.occupied().bits() == 0 => {
                Ok(Decisions::from_lanes(lanes))
            }
            _ => Err(nonsense()),
        }
    }

    fn encrypt_probes(&self, job: &ProbeJob) -> Result<EncryptedProbes, KeyHolderError> {
        match self.call(&Request::encrypt_probes(job))? {
            Reply::Probes(probes) => Ok(*probes),
            _ => Err(nonsense()),
        }
    }
}

impl Role for Remote {
    fn create_tenant(
        &self,
        tenant: TenantId,
        keys: KeyStructure,
        policy: DecisionPolicy,
    ) -> Result<PublicKey, KeyHolderError> {
        match self.call(&Request::CreateTenant(tenant, keys, policy).encode())? {
            Reply::Created(key) if key.structure() == keys => Ok(*key),
            _ => Err(nonsense()),
        }
    }

    fn enrol(
        &self,
        tenant: TenantId,
        handle: Handle,
        generation: u32,
        lane: Lane,
        template: ForKeyHolder,
    ) -> Result<EncryptedTemplate, KeyHolderError> {
        let request = Request::Enrol(Box::new(Enrolment { tenant, handle, generation, lane, template }));
        match self.call(&request.encode())? {
            Reply::Enrolled(template) if template.is_of(&tenant, &handle, generation, lane) => Ok(*template),
            _ => Err(nonsense()),
        }
    }

    fn shred(&self, tenant: TenantId, handle: Handle, generation: u32) -> Result<(), KeyHolderError> {
        self.expect_done(&Request::Shred(tenant, handle, generation))
    }

    fn lift_freeze(&self, tenant: TenantId) -> Result<(), KeyHolderError> {
        self.expect_done(&Request::LiftFreeze(tenant))
    }

    fn begin_rotation(&self, tenant: TenantId) -> Result<PublicKey, KeyHolderError> {
        match self.call(&Request::BeginRotation(tenant).encode())? {
            Reply::Created(key) => Ok(*key),
            _ => Err(nonsense()),
        }
    }

    /// `now` is not sent, as in [`KeyHolding::decide`].
    fn renew(
        &self,
        tenant: TenantId,
        handle: Handle,
        from: u32,
        to: u32,
        blinded: BlindedCiphertext,
        _now: u64,
    ) -> Result<EncryptedTemplate, KeyHolderError> {
        let request = Request::Renew(Box::new(Renewal { tenant, handle, from, to, blinded }));
        match self.call(&request.encode())? {
            Reply::Enrolled(template) if template.is_renewal(&tenant, &handle, to) => Ok(*template),
            _ => Err(nonsense()),
        }
    }

    fn finish_rotation(&self, tenant: TenantId, epoch: u32) -> Result<(), KeyHolderError> {
        self.expect_done(&Request::FinishRotation(tenant, epoch))
    }

    fn sealing_key(&self) -> Result<SealingKey, KeyHolderError> {
        match self.call(&Request::SealingKey.encode())? {
            Reply::SealingKey(key) => Ok(*key),
            _ => Err(nonsense()),
        }
    }

    fn unready(&self) -> Option<String> {
        self.line.state().down.clone()
    }
}

fn nonsense() -> KeyHolderError {
    KeyHolderError::Unavailable("it answered something that was not asked".to_owned())
}

fn exchange(connection: &mut Connection, frame: &[u8], deadline: Instant) -> io::Result<Reply> {
    connection.set_deadline(deadline);
    connection.send(frame)?;
    let first = connection.receive_first()?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let header = connection.receive_header(first)?;
    let unreadable = || io::Error::new(io::ErrorKind::InvalidData, "the reply cannot be read");
    let (status, length) = reply_length(header).ok_or_else(unreadable)?;
    let mut body = vec![0; length];
    connection.receive(&mut body)?;
    Reply::decode(status, &body).ok_or_else(unreadable)
}

impl Line {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(&self, deadline: Instant) -> io::Result<Connection> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in self.address.authority.to_socket_addrs()? {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match TcpStream::connect_timeout(&address, left) {
                Ok(socket) => return Channel::connect(Arc::clone(&self.tls), socket, deadline),
                Err(cause) => last = cause,
            }
        }
        Err(last)
    }

    /// An idle connection, or a new one while there are fewer than the most.
    fn take(&self, deadline: Instant) -> Result<(Connection, u64), KeyHolderError> {
        let busy = || KeyHolderError::Unavailable("all connections are in use".to_owned());
        let mut state = self.state();
        loop {
            if let Some(why) = &state.down {
                return Err(KeyHolderError::Unavailable(why.clone()));
            }
            while let Some((connection, since)) = state.idle.pop() {
                if since.elapsed() < IDLE_TIME_MAX / 2 {
                    return Ok((connection, state.generation));
                }
                state.open -= 1;
            }
            if state.open < self.bounds.connections {
                state.open += 1;
                break;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let (waited, timeout) =
                self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
            state = waited;
            if timeout.timed_out() {
                return Err(busy());
            }
        }
        let generation = state.generation;
        drop(state);
        self.connect(deadline).map(|connection| (connection, generation)).map_err(|cause| {
            self.lost(&cause, generation);
            KeyHolderError::Unavailable(cause.to_string())
        })
    }

    fn give_back(&self, connection: Connection, generation: u64) {
        let mut state = self.state();
        if state.generation == generation {
            state.idle.push((connection, Instant::now()));
        } else {
            state.open -= 1;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// A connection broke. Unless the others have been hung up since, nobody else should try before the monitor has.
    fn lost(&self, cause: &io::Error, generation: u64) {
        let mut state = self.state();
        state.open -= 1;
        if state.generation == generation && !state.suspect {
            state.suspect = true;
            // A slow answer says nothing about the next one; a broken connection does.
            if cause.kind() != io::ErrorKind::TimedOut {
                state.hang_up(cause.to_string());
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    fn monitor(&self) {
        let mut pause = RETRY_FIRST;
        while !self.state().stop {
            let deadline = || Instant::now() + self.bounds.timeout;
            let cause = match self.connect(deadline()) {
                Ok(mut connection) => loop {
                    if let Err(cause) = ping(&mut connection, deadline()) {
                        break cause;
                    }
                    pause = RETRY_FIRST;
                    if self.up() {
                        self.changed.notify_all();
                        tracing::info!(key_holder = self.address.authority, "connected");
                    }
                    if self.rest(PING_INTERVAL) {
                        return;
                    }
                },
                Err(cause) => cause,
            };
            if self.state().hang_up(cause.to_string()) {
                tracing::error!(key_holder = self.address.authority, %cause, "no connection: nothing is accepted");
            }
            self.changed.notify_all();
            if self.rest(pause) {
                return;
            }
            pause = (pause * 2).min(RETRY_LONGEST);
        }
    }

    /// The key-holder has answered; whether that is news.
    fn up(&self) -> bool {
        let mut state = self.state();
        state.suspect = false;
        state.down.take().is_some()
    }

    /// Waits, or until a caller has seen a fault; whether to stop.
    fn rest(&self, pause: Duration) -> bool {
        let state = self.state();
        let idle = |state: &mut State| !state.stop && !state.suspect;
        let (mut state, _) =
            self.changed.wait_timeout_while(state, pause, idle).unwrap_or_else(PoisonError::into_inner);
        state.suspect = false;
        state.stop
    }
}

impl State {
    /// Drops what is idle and sends nothing more; whether that is news.
    fn hang_up(&mut self, why: String) -> bool {
        self.open -= self.idle.len();
        self.idle.clear();
        self.generation += 1;
        self.down.replace(why).is_none()
    }
}

fn ping(connection: &mut Connection, deadline: Instant) -> io::Result<()> {
    match exchange(connection, &Request::Ping.encode(), deadline)? {
        Reply::Done => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the answer to a ping cannot be read")),
    }
}
