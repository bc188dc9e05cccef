//! The accept loop: TLS, bounds on what a connection may hold and for how long, and a shutdown that loses no request.
//!
//! `axum::serve` has no TLS, no cap on connections and no deadlines, so this crate has its own loop. [`connections`] counts
//! connections and chooses the one to close, [`activity`] has the state and deadlines of each,
//! [`turns`] lets only a few handshakes and a few requests of a peer compute at once. [`exchange`] follows a request and
//! [`stream`] the bytes; [`refusal`] is the answer to one that the HTTP library cannot read. A long-lived connection is asked to reconnect after
//! [`CONNECTION_AGE_MAX`], so that load spreads again after a scale-out.

mod activity;
pub(crate) mod connections;
mod exchange;
mod plain;
mod refusal;
mod stream;
mod turns;

use crate::limits::LiveLimits;
use activity::{Activity, Overdue, State};
use axum::Router;
use connections::{Closed, Connections, Place};
use exchange::Exchange;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::error::Error;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use stream::Stream;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use turns::Turns;

/// Age at which a connection is asked to close after the request in flight.
const CONNECTION_AGE_MAX: Duration = Duration::from_secs(600);
/// An HTTP/2 peer that does not answer a ping in this time is gone.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Most streams of one HTTP/2 connection. With bodies of at most 512 KiB this bounds the memory of a connection.
const STREAMS_MAX: u32 = 128;
/// Bytes of a body that a peer may send before we read them. A refused upload costs no more, and a connection no more
/// than a few uploads.
const STREAM_WINDOW: u32 = 128 * 1024;
const CONNECTION_WINDOW: u32 = 512 * 1024;
/// Bytes of a request head that the HTTP library reads. It refuses more itself: over HTTP/1.1 with a [`refusal`], over HTTP/2 without a
/// problem document, so it reads more there.
const HEAD_BYTES_READ: usize = 2 * crate::limits::HEAD_BYTES_MAX;
const HTTP2_HEAD_BYTES_READ: u32 = 64 * 1024;
/// Pause after a failed `accept`, which means that the process is out of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// How long the peer of a connection that is closed to make room may take to notice it.
const EVICTED_TIME_MAX: Duration = Duration::from_secs(1);
/// Pause between two checks whether all connections have ended.
const DRAIN_POLL: Duration = Duration::from_millis(10);
/// File descriptors for everything but connections.
const DESCRIPTORS_BESIDES: u64 = 256;

/// Raises the number of files that this process may open as far as allowed. Shells allow a quarter of the
/// default number of connections.
pub(crate) fn raise_descriptor_limit(connections: usize) {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let wanted = connections as u64 + DESCRIPTORS_BESIDES;
    let may = match setrlimit(Resource::Nofile, limit) {
        Ok(()) => limit.maximum,
        Err(_) => getrlimit(Resource::Nofile).current,
    };
    if may.is_some_and(|may| may < wanted) {
        tracing::warn!(
            may,
            wanted,
            "fewer files may be open than limits.connections needs: raise `ulimit -Hn`"
        );
    }
}

/// A bound socket that is not yet served.
pub(crate) struct Listener {
    socket: TcpListener,
    tls: TlsAcceptor,
    limits: Arc<LiveLimits>,
    connections: Arc<Connections>,
}

/// A socket that has its address and to which nobody can connect yet, or one that was passed.
pub(crate) enum Claim {
    Passed(std::net::TcpListener),
    Bound(TcpSocket),
}

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

impl Claim {
    /// Takes a socket that listens, or binds the address; port 0 takes a free one.
    pub(crate) fn take(socket: Option<std::net::TcpListener>, address: SocketAddr) -> io::Result<Claim> {
        if let Some(socket) = socket {
            socket.set_nonblocking(true)?;
            return Ok(Claim::Passed(socket));
        }
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(Claim::Bound(socket))
    }
}

impl Listener {
    /// Listens on the socket.
    pub(crate) fn on(
        claim: Claim,
        tls: Arc<rustls::ServerConfig>,
        limits: Arc<LiveLimits>,
        connections: Arc<Connections>,
    ) -> io::Result<Listener> {
        let socket = match claim {
            Claim::Passed(socket) => TcpListener::from_std(socket)?,
            Claim::Bound(socket) => socket.listen(BACKLOG)?,
        };
        Ok(Listener { socket, tls: TlsAcceptor::from(tls), limits, connections })
    }

    /// The bound address.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until `stop` becomes true, then closes the socket, tells every connection to finish, and waits for the
    /// requests in flight up to `limits.drain_timeout_s`. Returns whether every handler finished. Peers that do not take
    /// their answers are given `limits.close_timeout_s`.
    pub(crate) async fn serve(self, router: Router, mut stop: watch::Receiver<bool>) -> bool {
        let Listener { socket, tls, limits, connections } = self;
        let listener =
            Arc::new(Serving { tls, router, limits, connections, handshakes: Turns::of_handshakes() });
        let connections = &listener.connections;
        loop {
            let accepted = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                accepted = socket.accept() => accepted,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(cause) => {
                    tracing::warn!(%cause, "accept failed");
                    connections.make_room();
                    tokio::time::sleep(ACCEPT_RETRY).await;
                    continue;
                }
            };
            let place = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                place = connections.admit(peer.ip()) => place,
            };
            let Some(place) = place else { continue };
            // Small answers must not wait for a delayed acknowledgement.
            let _ = stream.set_nodelay(true);
            let (listener, stop) = (Arc::clone(&listener), stop.clone());
            tokio::spawn(async move {
                let closed = listener.run(stream, &place, stop).await;
                listener.connections.closed(closed);
            });
        }
        drop(socket);
        let ended = async {
            while !connections.is_empty() {
                tokio::time::sleep(DRAIN_POLL).await;
            }
        };
        let timeout = Duration::from_secs(listener.limits.now().drain_timeout_s);
        // Do not wait for peers that keep a connection without a request.
        tokio::time::timeout(timeout, ended).await.is_ok() || !connections.any_works()
    }
}

/// What every connection of a listener shares.
struct Serving {
    tls: TlsAcceptor,
    router: Router,
    limits: Arc<LiveLimits>,
    connections: Arc<Connections>,
    handshakes: Turns,
}

impl Serving {
    /// Serves a connection. Returns why it ended.
    async fn run(&self, stream: TcpStream, place: &Place, mut stop: watch::Receiver<bool>) -> Closed {
        let (activity, limits) = (&place.activity, self.limits.now());
        let handshake = async {
            if plain::is_spoken(&stream).await {
                plain::refuse(stream).await;
                return Err(std::io::Error::other("HTTP without TLS"));
            }
            self.handshakes.in_turn(self.tls.accept(stream)).await
        };
        let timeout = Duration::from_secs(limits.handshake_timeout_s);
        let stream = tokio::select! {
            // A handshake has carried no request yet, so it may be cut.
            _ = stop.wait_for(|stop| *stop) => return Closed::Drain,
            () = activity.evicted.notified() => return Closed::Evicted,
            done = tokio::time::timeout(timeout, handshake) => match done {
                Ok(Ok(stream)) => stream,
                Ok(Err(cause)) => {
                    tracing::debug!(%cause, "TLS handshake failed");
                    return Closed::Handshake;
                }
                Err(_) => return Closed::HandshakeTimeout,
            },
        };
        activity.established();
        // HTTP/2 over TLS is negotiated (RFC 9113 section 3.2). A guess from the first bytes would read a damaged preface as HTTP/1.1.
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let stream = TokioIo::new(Stream::new(stream, http2, Arc::clone(activity)));
        let exchange = Exchange::new(
            self.router.clone(),
            Arc::clone(activity),
            Arc::clone(&place.turns),
            limits.refusals_in_a_row,
        );
        let builder = builder(http2);
        let mut connection = std::pin::pin!(builder.serve_connection(stream, exchange));
        let closed = tokio::select! {
            ended = &mut connection => return match activity.is_fed_up() {
                true => Closed::Refusals,
                false if activity.is_old() => Closed::Age,
                false => ended_by_itself(ended),
            },
            _ = stop.wait_for(|stop| *stop) => Closed::Drain,
            () = aged(activity, http2) => Closed::Age,
            () = activity.leave.notified() => Closed::Refusals,
            () = activity.evicted.notified() => Closed::Evicted,
            overdue = activity.overdue(&limits) => match overdue {
                Overdue::FirstRequest => Closed::FirstRequest,
                Overdue::Idle => Closed::Idle,
                // Its request could never end, so nothing is lost.
                Overdue::Head => return Closed::Head,
                // It would not read a GOAWAY either.
                Overdue::Stalled => return Closed::Stalled,
            },
        };
        // GOAWAY or `Connection: close`: requests in flight are still answered.
        activity.closes();
        connection.as_mut().graceful_shutdown();
        let finished = async {
            match closed {
                Closed::Evicted => evicted(activity).await,
                _ => activity.finished(&limits).await,
            }
        };
        tokio::select! {
            _ = &mut connection => {}
            () = finished => {}
        }
        closed
    }
}

/// How long a connection that is closed to make room may continue. One that has sent no request has nothing to lose.
async fn evicted(activity: &Activity) {
    if activity.state() != State::Silent {
        tokio::time::sleep(EVICTED_TIME_MAX).await;
    }
}

/// Until it is time for GOAWAY. HTTP/1.1 has none, and a request may be on its way to a connection that is idle: there the next answer says
/// that it is the last.
async fn aged(activity: &Activity, http2: bool) {
    tokio::time::sleep(CONNECTION_AGE_MAX).await;
    if !http2 {
        activity.ages();
        pending::<()>().await;
    }
}

/// Why the HTTP library ended a connection.
fn ended_by_itself(ended: Result<(), Box<dyn Error + Send + Sync>>) -> Closed {
    let Err(cause) = ended else { return Closed::Peer };
    tracing::debug!(cause = &*cause as &dyn Error, "connection ended");
    match cause.downcast_ref::<hyper::Error>() {
        Some(cause) if cause.is_parse_too_large() => Closed::HeadTooLarge,
        Some(cause) if cause.is_parse() || cause.source().is_some_and(|cause| cause.is::<h2::Error>()) => {
            Closed::Malformed
        }
        _ => Closed::Broken,
    }
}

fn builder(http2: bool) -> auto::Builder<TokioExecutor> {
    let builder = auto::Builder::new(TokioExecutor::new());
    let mut builder = if http2 { builder.http2_only() } else { builder.http1_only() };
    // Its time for a head begins with the answer before, so it would be the time that a connection may be idle: see `Activity`.
    builder.http1().header_read_timeout(None).max_buf_size(HEAD_BYTES_READ);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HTTP2_HEAD_BYTES_READ)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_INTERVAL);
    builder
}
