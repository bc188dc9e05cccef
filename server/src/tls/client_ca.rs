//! Client certificates for the public listener, signed by the authorities in `tls.client_ca`.

use crate::certificate::Certificate;
use crate::tls::{TlsError, provider, read_chain};
use arc_swap::ArcSwap;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The authorities in a file, which may be read again. Connections that are open stay open.
#[derive(Debug)]
pub struct ClientCa {
    path: PathBuf,
    held: ArcSwap<Held>,
}

/// The authorities that were read.
#[derive(Debug)]
pub(crate) struct Held {
    authorities: Vec<CertificateDer<'static>>,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl ClientCa {
    /// Reads the file.
    ///
    /// # Errors
    /// The file holds no certificate of an authority.
    pub fn open(path: &Path) -> Result<ClientCa, TlsError> {
        Ok(ClientCa { path: path.to_owned(), held: ArcSwap::from_pointee(read(path)?) })
    }

    /// Reads the file again, for [`ClientCa::take`].
    pub(crate) fn read(&self) -> Result<Held, TlsError> {
        read(&self.path)
    }

    /// Uses the authorities that were read for new connections. Returns whether they differ from those before.
    pub(crate) fn take(&self, read: Held) -> bool {
        let is_other = read.authorities != self.held.load().authorities;
        if is_other {
            self.held.store(Arc::new(read));
        }
        is_other
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// When the first certificate of an authority expires, Unix seconds; `None` if none can be parsed.
    pub fn until(&self) -> Option<u64> {
        let held = self.held.load();
        let parsed = held.authorities.iter().filter_map(|der| Certificate::parse(der.clone()).ok());
        parsed.map(|authority| authority.not_after).min()
    }
}

fn read(path: &Path) -> Result<Held, TlsError> {
    let refused = |cause: String| TlsError::ClientCa { path: path.display().to_string(), cause };
    let authorities = read_chain(path).map_err(|cause| match cause {
        TlsError::Pem { cause, .. } => refused(cause),
        other => other,
    })?;
    let mut roots = RootCertStore::empty();
    for authority in &authorities {
        roots.add(authority.clone()).map_err(|cause| refused(cause.to_string()))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(provider()));
    let verifier = verifier.build().map_err(|cause| refused(cause.to_string()))?;
    Ok(Held { authorities, verifier })
}

impl ClientCertVerifier for ClientCa {
    /// No hints: a client that has one certificate needs none, and the list may change.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.held.load().verifier.verify_client_cert(end_entity, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.held.load().verifier.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.held.load().verifier.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.held.load().verifier.supported_verify_schemes()
    }
}
