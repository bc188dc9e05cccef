//! The accept loop: TLS, bounds on what a connection may hold, and a shutdown that loses no request.
//!
//! `axum::serve` has no TLS, no cap on connections and no timer for the request head, so the loop is ours. Each
//! connection holds a permit; when none is left the loop stops accepting and the kernel's backlog fills. A peer that
//! says nothing is cut by the handshake or head timeout; a peer that stays is asked to reconnect after
//! [`CONNECTION_AGE_MAX`], so that load spreads again after a scale-out.

use crate::config::Limits;
use crate::lingering::Lingering;
use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

/// Age at which a connection is asked to close after the request in flight.
const CONNECTION_AGE_MAX: Duration = Duration::from_secs(600);
/// An HTTP/2 peer that does not answer a ping is gone.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Streams of one HTTP/2 connection; with bodies of at most 256 KiB this bounds what a connection can make us hold.
const STREAMS_MAX: u32 = 128;
/// Bytes of a body that a peer may send before we read them: a refused upload costs no more, and a connection not more
/// than a few uploads.
const STREAM_WINDOW: u32 = 128 * 1024;
const CONNECTION_WINDOW: u32 = 512 * 1024;
/// Bytes of a request head.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Pause after a failed `accept`, which means that the process is out of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// A bound socket that is not yet served.
pub(crate) struct Listener {
    socket: TcpListener,
    tls: TlsAcceptor,
    limits: Limits,
}

impl Listener {
    /// Binds the address; port 0 takes a free one.
    pub(crate) async fn bind(
        address: SocketAddr,
        tls: Arc<rustls::ServerConfig>,
        limits: Limits,
    ) -> io::Result<Listener> {
        Ok(Listener { socket: TcpListener::bind(address).await?, tls: TlsAcceptor::from(tls), limits })
    }

    /// The bound address.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until `stop` becomes true, then closes the socket, tells every connection to finish, and waits for the
    /// requests in flight up to `limits.drain_timeout_s`. Returns whether all of them finished.
    pub(crate) async fn serve(self, router: Router, mut stop: watch::Receiver<bool>) -> bool {
        let Listener { socket, tls, limits } = self;
        let permits = Arc::new(Semaphore::new(limits.connections));
        let connection = Arc::new(Connection { tls, router, builder: builder(&limits), limits });
        loop {
            let accepted = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                accepted = accept(&socket, &permits) => accepted,
            };
            let Some((stream, permit)) = accepted else {
                tokio::time::sleep(ACCEPT_RETRY).await;
                continue;
            };
            let (connection, stop) = (connection.clone(), stop.clone());
            tokio::spawn(async move {
                connection.run(stream, stop).await;
                drop(permit);
            });
        }
        drop(socket);
        // All permits are free once every connection has ended.
        let all = u32::try_from(connection.limits.connections).unwrap_or(u32::MAX);
        let timeout = Duration::from_secs(connection.limits.drain_timeout_s);
        tokio::time::timeout(timeout, permits.acquire_many(all)).await.is_ok()
    }
}

/// What every connection of a listener shares.
struct Connection {
    tls: TlsAcceptor,
    router: Router,
    builder: auto::Builder<TokioExecutor>,
    limits: Limits,
}

impl Connection {
    async fn run(&self, stream: TcpStream, mut stop: watch::Receiver<bool>) {
        let handshake = self.tls.accept(stream);
        let timeout = Duration::from_secs(self.limits.handshake_timeout_s);
        let stream = tokio::select! {
            // A handshake has carried no request yet, so shutdown may cut it.
            _ = stop.wait_for(|stop| *stop) => return,
            done = tokio::time::timeout(timeout, handshake) => match done {
                Ok(Ok(stream)) => stream,
                Ok(Err(cause)) => return tracing::debug!(%cause, "TLS handshake failed"),
                Err(_) => return tracing::debug!("TLS handshake timed out"),
            },
        };
        let service = TowerToHyperService::new(self.router.clone());
        let stream = TokioIo::new(Lingering::new(stream));
        let mut connection = std::pin::pin!(self.builder.serve_connection(stream, service));
        let ended = tokio::select! {
            ended = &mut connection => Some(ended),
            _ = stop.wait_for(|stop| *stop) => None,
            () = tokio::time::sleep(CONNECTION_AGE_MAX) => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            // GOAWAY or `Connection: close`: requests in flight are still answered.
            None => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(cause) = ended {
            tracing::debug!(%cause, "connection ended");
        }
    }
}

fn builder(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(limits.header_timeout_s))
        .max_buf_size(HEAD_BYTES_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX as u32)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_INTERVAL);
    builder
}

async fn accept(
    socket: &TcpListener,
    permits: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = permits.clone().acquire_owned().await.ok()?;
    match socket.accept().await {
        Ok((stream, _peer)) => {
            // Small answers must not wait for a delayed acknowledgement.
            let _ = stream.set_nodelay(true);
            Some((stream, permit))
        }
        Err(cause) => {
            tracing::warn!(%cause, "accept failed");
            None
        }
    }
}
