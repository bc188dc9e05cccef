//! A cheap client: hand-written HTTP/1.1 over TLS, requests made in advance, and only status and decision are read of an answer.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::world::Reached;
use crate::Failure;

/// Where connections go: the public listener, from one address of this machine.
#[derive(Clone)]
pub(super) struct Target {
    address: SocketAddr,
    from: Ipv4Addr,
    tls: Arc<rustls::ClientConfig>,
}

/// A connection.
pub(super) struct Connection {
    pub(super) stream: TlsStream<TcpStream>,
    buffer: Vec<u8>,
}

/// The parts that are read of an answer.
pub(super) struct Answered {
    pub(super) status: u16,
    /// Logins that were answered with a match.
    pub(super) matches: usize,
    pub(super) body: Vec<u8>,
}

impl Target {
    pub(super) fn of(reached: &Reached) -> Result<Target, Failure> {
        let mut roots = rustls::RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(&reached.certificate);
        let certificate = certificate.map_err(Failure::in_step("certificate"))?;
        roots.add(certificate).map_err(Failure::in_step("certificate"))?;
        let provider = Arc::new(trefoil_server::tls::provider());
        let config =
            rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config =
            config.map_err(Failure::in_step("TLS"))?.with_root_certificates(roots).with_no_client_auth();
        Ok(Target { address: reached.public, from: Ipv4Addr::LOCALHOST, tls: Arc::new(config) })
    }

    /// The same, from another address of the loopback: another peer to the service.
    pub(super) fn numbered(&self, number: usize) -> Target {
        let last = u8::try_from(number).unwrap_or(u8::MAX);
        Target { from: Ipv4Addr::new(127, 0, 0, last), ..self.clone() }
    }

    /// The same over HTTP/2, whose frames the caller writes.
    pub(super) fn http2(&self) -> Target {
        let mut tls = (*self.tls).clone();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        Target { tls: Arc::new(tls), ..self.clone() }
    }

    /// A connection without TLS, whose kernel takes at most about `receive_bytes` that nobody reads, if that is given.
    pub(super) async fn tcp(&self, receive_bytes: Option<u32>) -> io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        if let Some(bytes) = receive_bytes {
            socket.set_recv_buffer_size(bytes)?;
        }
        socket.bind((self.from, 0).into())?;
        let stream = socket.connect(self.address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    pub(super) async fn connect(&self, receive_bytes: Option<u32>) -> io::Result<Connection> {
        let stream = self.tcp(receive_bytes).await?;
        let name = ServerName::from(std::net::IpAddr::from(Ipv4Addr::LOCALHOST));
        let stream = TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream).await?;
        Ok(Connection { stream, buffer: Vec::with_capacity(1 << 14) })
    }
}

impl Connection {
    /// Sends a request, and reads its answer.
    pub(super) async fn ask(&mut self, request: &[u8]) -> io::Result<Answered> {
        self.stream.write_all(request).await?;
        self.stream.flush().await?;
        loop {
            if let Some((head, length)) = head(&self.buffer)
                && self.buffer.len() >= head + length
            {
                let status = std::str::from_utf8(&self.buffer[9..12]).ok().and_then(|text| text.parse().ok());
                let status = status.ok_or_else(|| io::Error::other("no status"))?;
                let body = self.buffer[head..head + length].to_vec();
                self.buffer.drain(..head + length);
                let matches = memchr::memmem::find_iter(&body, b"\"decision\":\"match\"").count();
                return Ok(Answered { status, matches, body });
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// The lengths of a complete head and its body.
fn head(bytes: &[u8]) -> Option<(usize, usize)> {
    let end = find(bytes, b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(Some(0), |n| n.parse().ok());
    Some((end, length?))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// A request with a body of JSON, as it is sent.
pub(super) fn post(path: &str, api_key: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {api_key}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}
