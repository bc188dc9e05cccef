//! TLS to the database: rustls over aws-lc, TLS 1.3, the server's name checked.

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{self, kx_group};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;

/// Makes TLS connections of one configuration.
#[derive(Clone)]
pub(crate) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Trusts the certificates in a PEM file, or those of the system.
    ///
    /// # Errors
    /// A text that names the file and what is wrong with it.
    pub(crate) fn new(roots: Option<&Path>) -> Result<Tls, String> {
        let mut store = RootCertStore::empty();
        match roots {
            Some(path) => {
                let named =
                    |cause: &dyn std::fmt::Display| format!("sslrootcert {}: {cause}", path.display());
                let file = std::fs::read(path).map_err(|cause| named(&cause))?;
                for certificate in
                    trefoil_contents::pem::certificates(&file).map_err(|cause| named(&cause))?
                {
                    store.add(certificate).map_err(|cause| named(&cause))?;
                }
            }
            None => {
                store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                if store.is_empty() {
                    return Err(
                        "the system trusts no certificate authority; add ?sslrootcert=FILE with the one \
                                that signed the database's certificate"
                            .to_owned(),
                    );
                }
            }
        }
        let config = ClientConfig::builder_with_provider(Arc::new(provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|cause| cause.to_string())?;
        Ok(Tls(Arc::new(config.with_root_certificates(store).with_no_client_auth())))
    }
}

/// The hybrid key exchange first. PostgreSQL before version 18 offers P-256 unless it is configured otherwise.
fn provider() -> CryptoProvider {
    CryptoProvider {
        kx_groups: vec![kx_group::X25519MLKEM768, kx_group::X25519, kx_group::SECP256R1, kx_group::SECP384R1],
        ..aws_lc_rs::default_provider()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Stream<S>;
    type TlsConnect = Connect;
    type Error = rustls::pki_types::InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Connect, Self::Error> {
        let name = ServerName::try_from(domain)?.to_owned();
        Ok(Connect { connector: Arc::clone(&self.0).into(), name })
    }
}

/// One handshake.
pub(crate) struct Connect {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Connect {
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Handshake<S>;

    fn connect(self, stream: S) -> Handshake<S> {
        Handshake(self.connector.connect(self.name, stream))
    }
}

/// A handshake in progress.
pub(crate) struct Handshake<S>(tokio_rustls::Connect<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> Future for Handshake<S> {
    type Output = io::Result<Stream<S>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map_ok(Stream)
    }
}

/// A connection inside TLS.
pub(crate) struct Stream<S>(tokio_rustls::client::TlsStream<S>);

/// A password is not bound to the channel: the server's certificate is verified, which binding would replace.
impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for Stream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
