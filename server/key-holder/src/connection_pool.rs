//! The connection pool to a remote key-holder: connections kept ready, and one thread that monitors whether it can be reached.
//!
//! Each decision in flight has a connection of its own, so as many batches are in flight as threads wait, and each thread reads its
//! own reply. Nothing is sent twice: a batch whose connection breaks is not decided, and its attempts may
//! have been counted.
//!
//! The monitor holds one more connection. While the key-holder is down no caller waits: every call fails at once. It is up again as soon
//! as it answers a ping, which the monitor tries at least once a second. A restart of the key-holder between two pings
//! fails no call: an idle connection that the peer has closed is not used, and the monitor reconnects before it
//! reports the key-holder as down.

#![expect(
    clippy::disallowed_types,
    reason = "a connection is taken and given back once for a round trip to another machine"
)]

use crate::address::Address;
use crate::channel::Channel;
use crate::protocol::{HEADER_BYTES, IDLE_TIME_MAX, read_reply, reply_length, request_frame};
use rustls::{AlertDescription, ClientConfig, ClientConnection, Error};
use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use trefoil_host::identity::Fingerprint;
use trefoil_matching::quorum::Seat;
use trefoil_matching::{KeyHolderError, Reply, Request};
use zeroize::Zeroizing;

/// Between two pings while all is well.
const PING_INTERVAL: Duration = Duration::from_millis(500);
/// Between two attempts to connect: the first and the longest pause.
const RETRY_FIRST: Duration = Duration::from_millis(50);
const RETRY_LONGEST: Duration = Duration::from_secs(1);

/// Another key-holder answered than the one of the place.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Misplaced(String);

type Connection = Channel<ClientConnection>;

/// Bounds of the connection to a key-holder.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Longest time of one request, from taking a connection to the last byte of the reply.
    pub timeout: Duration,
    /// Most connections; further requests wait for one, within their time.
    pub connections: usize,
}

/// See the module.
pub(crate) struct ConnectionPool {
    address: Address,
    tls: Arc<ClientConfig>,
    bounds: Bounds,
    /// The certificate that this side shows.
    own: Fingerprint,
    /// The seat in whose place it is listed.
    place: Option<Seat>,
    state: Mutex<State>,
    /// A connection was returned, or the monitor is needed.
    changed: Condvar,
}

struct State {
    /// Why nothing can be sent.
    down: Option<String>,
    /// The reason is that another key-holder answered.
    misplaced: bool,
    idle: Vec<(Connection, Instant)>,
    /// Number of connections, in use or idle.
    open: usize,
    /// Counts how often all connections were closed; older connections are not kept.
    generation: u64,
    /// A caller has seen a fault that the monitor has not seen yet.
    suspect: bool,
    stop: bool,
}

fn exchange(
    connection: &mut Connection,
    frame: &[u8],
    deadline: Instant,
) -> io::Result<Result<Reply, KeyHolderError>> {
    connection.set_deadline(deadline);
    connection.send(frame)?;
    let first = connection.receive_first()?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let header = connection.receive_header(first)?;
    let unreadable = || io::Error::new(io::ErrorKind::InvalidData, "the reply cannot be read");
    let length = reply_length(header).ok_or_else(unreadable)?;
    // A reply may hold a quorum's part of a template, so it is wiped.
    let mut body = Zeroizing::new(vec![0; length]);
    body[0] = header[HEADER_BYTES - 1];
    connection.receive(&mut body[1..])?;
    read_reply(&body).ok_or_else(unreadable)
}

impl ConnectionPool {
    pub(crate) fn new(
        address: Address,
        (tls, own): (Arc<ClientConfig>, Fingerprint),
        bounds: Bounds,
        place: Option<Seat>,
    ) -> ConnectionPool {
        let state = State {
            down: Some("not connected yet".to_owned()),
            misplaced: false,
            idle: Vec::new(),
            open: 0,
            generation: 0,
            suspect: false,
            stop: false,
        };
        ConnectionPool { address, tls, bounds, own, place, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// One request and its reply.
    pub(crate) fn call(&self, frame: &[u8]) -> Result<Reply, KeyHolderError> {
        let deadline = Instant::now() + self.bounds.timeout;
        let (mut connection, generation) = self.take(deadline)?;
        match self.exchanged(&mut connection, frame, deadline) {
            Ok(reply) => {
                self.give_back(connection, generation);
                reply
            }
            Err(cause) => {
                drop(connection);
                self.lost(&cause, generation);
                Err(KeyHolderError::Unavailable(cause.to_string()))
            }
        }
    }

    /// As [`exchange`], with our own words for the refusal of our certificate, of which a client hears only now.
    fn exchanged(
        &self,
        connection: &mut Connection,
        frame: &[u8],
        deadline: Instant,
    ) -> io::Result<Result<Reply, KeyHolderError>> {
        exchange(connection, frame, deadline).map_err(|cause| {
            let inner = cause.get_ref().and_then(|inner| inner.downcast_ref());
            let Some(Error::AlertReceived(AlertDescription::CertificateUnknown)) = inner else { return cause };
            let own = self.own;
            io::Error::other(format!(
                "the key-holder refuses our certificate: it lists others, and ours has fingerprint {own}. If it is this gateway's, stop the \
                 key-holder, run `trefoil key-holder init --gateway-fingerprint {own}` with its settings, and start it again"
            ))
        })
    }

    /// Waits until the key-holder answers, or says at `deadline` why it does not; at once if it is another.
    pub(crate) fn wait_until_up(&self, deadline: Instant) -> Result<(), String> {
        let left = deadline.saturating_duration_since(Instant::now());
        let down = |state: &mut State| state.down.is_some() && !state.misplaced;
        let waited = self.changed.wait_timeout_while(self.state(), left, down);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.down.clone().map_or(Ok(()), Err)
    }

    /// Why nothing can be sent, or `None`.
    pub(crate) fn down(&self) -> Option<String> {
        self.state().down.clone()
    }

    /// That another key-holder answered than the one of the place, and what to do.
    pub(crate) fn misplaced(&self) -> Option<String> {
        let state = self.state();
        state.down.clone().filter(|_| state.misplaced)
    }

    /// Ends the monitor.
    pub(crate) fn stop(&self) {
        self.state().stop = true;
        self.changed.notify_all();
    }

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
                if since.elapsed() < IDLE_TIME_MAX / 2 && connection.is_idle() {
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

    /// A connection broke. Unless all others have been closed since, no caller should try before the monitor has.
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

    /// The monitor's thread.
    pub(crate) fn monitor(&self) {
        let mut pause = RETRY_FIRST;
        while !self.state().stop {
            let deadline = || Instant::now() + self.bounds.timeout;
            let mut answered = false;
            let cause = match self.connect(deadline()) {
                Ok(mut connection) => loop {
                    if let Err(cause) = self.ping(&mut connection, deadline()) {
                        break cause;
                    }
                    (answered, pause) = (true, RETRY_FIRST);
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
            // After a broken connection the key-holder may be up again; after silence it is not.
            if answered && cause.kind() != io::ErrorKind::TimedOut {
                continue;
            }
            if self.down_for(&cause) {
                let without = if self.place.is_none() { ": nothing is accepted" } else { "" };
                tracing::error!(key_holder = self.address.authority, %cause, "no connection{without}");
            }
            self.changed.notify_all();
            if self.rest(pause) {
                return;
            }
            pause = (pause * 2).min(RETRY_LONGEST);
        }
    }

    /// Checks that a key-holder answers, and that it is the one of its place.
    fn ping(&self, connection: &mut Connection, deadline: Instant) -> io::Result<()> {
        let told = self.exchanged(connection, &request_frame(&Request::Ping), deadline)?;
        let found = match (told, self.place) {
            (Ok(Reply::Done | Reply::Seat(_)), None) => return Ok(()),
            (Ok(Reply::Seat(seat)), Some(place)) if seat == place => return Ok(()),
            (Ok(Reply::Seat(seat)), Some(_)) => format!("is seat {}", seat.index() + 1),
            (Ok(Reply::Done), Some(_)) => "is no key-holder of a quorum".to_owned(),
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the answer to a ping cannot be read",
                ));
            }
        };
        let place = self.place.map_or(0, Seat::index) + 1;
        Err(io::Error::other(Misplaced(format!(
            "tls://{} {found} and stands in place {place}; list them in the order of 1.toml, 2.toml, 3.toml",
            self.address.authority
        ))))
    }

    /// Nothing is sent until a ping is answered. Returns whether it was up before.
    fn down_for(&self, cause: &io::Error) -> bool {
        let mut state = self.state();
        let is_misplaced = cause.get_ref().is_some_and(|cause| cause.is::<Misplaced>());
        let told = is_misplaced && !state.misplaced;
        state.misplaced = is_misplaced;
        state.hang_up(cause.to_string()) || told
    }

    /// The key-holder has answered. Returns whether it was down before.
    fn up(&self) -> bool {
        let mut state = self.state();
        (state.suspect, state.misplaced) = (false, false);
        state.down.take().is_some()
    }

    /// Waits for the pause or until a caller has seen a fault. Returns whether to stop.
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
    /// Drops idle connections and sends nothing more. Returns whether it was up before.
    fn hang_up(&mut self, why: String) -> bool {
        self.open -= self.idle.len();
        self.idle.clear();
        self.generation += 1;
        self.down.replace(why).is_none()
    }
}
