//! A TLS connection over a blocking socket on which every step has a deadline.
//!
//! It is blocking, because each end waits for exactly one thing at a time: a matching thread for its decision, a key-holder's
//! thread for the next batch. A runtime would add two hand-overs to each decision, and a large dependency to the role that
//! should have the fewest.

use crate::protocol::{ALPN, HEADER_BYTES};
use crate::tls;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustls::{ClientConfig, ClientConnection, ConnectionCommon, ServerConfig, ServerConnection, SideData};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Instant;

/// A socket that gives up at a deadline.
struct Timed {
    socket: TcpStream,
    deadline: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Option<std::time::Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

/// A socket's timeout is reported as `WouldBlock` on Unix.
fn timed_out(cause: io::Error) -> io::Error {
    match cause.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => cause,
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        self.socket.read(buffer).map_err(timed_out)
    }
}

impl Write for Timed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        self.socket.write(buffer).map_err(timed_out)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// One end of a connection.
pub(crate) struct Channel<C> {
    tls: C,
    socket: Timed,
}

impl Channel<ServerConnection> {
    /// The key-holder's end of a connection, after the handshake.
    pub(crate) fn accept(
        config: Arc<ServerConfig>,
        socket: TcpStream,
        deadline: Instant,
    ) -> io::Result<Channel<ServerConnection>> {
        let tls = ServerConnection::new(config).map_err(io::Error::other)?;
        Channel { tls, socket: Timed { socket, deadline } }.shake_hands()
    }

    /// The certificate that the client showed.
    pub(crate) fn peer(&self) -> Option<&rustls::pki_types::CertificateDer<'static>> {
        self.tls.peer_certificates()?.first()
    }
}

impl Channel<ClientConnection> {
    /// The gateway's end of a connection, after the handshake. If the key-holder does not know the client, the first read fails.
    pub(crate) fn connect(
        config: Arc<ClientConfig>,
        socket: TcpStream,
        deadline: Instant,
    ) -> io::Result<Channel<ClientConnection>> {
        // The name is not sent and not checked: the certificate is pinned.
        let name = rustls::pki_types::IpAddr::from(std::net::Ipv4Addr::LOCALHOST);
        let tls = ClientConnection::new(config, name.into()).map_err(io::Error::other)?;
        Channel { tls, socket: Timed { socket, deadline } }.shake_hands()
    }
}

impl<C, S> Channel<C>
where
    C: DerefMut + Deref<Target = ConnectionCommon<S>>,
    S: SideData,
{
    fn shake_hands(mut self) -> io::Result<Channel<C>> {
        self.socket.socket.set_nodelay(true)?;
        while self.tls.is_handshaking() {
            self.tls.complete_io(&mut self.socket).map_err(tls::in_words)?;
        }
        match self.tls.alpn_protocol() {
            Some(ALPN) => Ok(self),
            _ => Err(io::Error::other("the peer does not speak this protocol")),
        }
    }

    /// Whether the peer of an idle connection is silent and has not hung up.
    pub(crate) fn is_idle(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        recv(&self.socket.socket, &mut [0u8; 1], flags) == Err(Errno::AGAIN)
    }

    /// From now on, reads and writes fail after `deadline`.
    pub(crate) fn set_deadline(&mut self, deadline: Instant) {
        self.socket.deadline = deadline;
    }

    /// Sends whole frames.
    pub(crate) fn send(&mut self, frames: &[u8]) -> io::Result<()> {
        let mut stream = rustls::Stream::new(&mut self.tls, &mut self.socket);
        stream.write_all(frames)?;
        stream.flush()
    }

    /// The first byte of the next frame, or `None` if the peer has closed.
    pub(crate) fn receive_first(&mut self) -> io::Result<Option<u8>> {
        let mut first = [0];
        let read = rustls::Stream::new(&mut self.tls, &mut self.socket).read(&mut first)?;
        Ok((read == 1).then_some(first[0]))
    }

    /// The rest of the header.
    pub(crate) fn receive_header(&mut self, first: u8) -> io::Result<[u8; HEADER_BYTES]> {
        let mut header = [first; HEADER_BYTES];
        self.receive(&mut header[1..])?;
        Ok(header)
    }

    /// Fills `buffer`.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        rustls::Stream::new(&mut self.tls, &mut self.socket).read_exact(buffer)
    }
}
