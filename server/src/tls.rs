//! TLS 1.3 with the hybrid key exchange X25519MLKEM768 first; no older version, no session tickets.
//!
//! Resumption would save the server nothing (the key exchange dominates) and would need ticket keys, so it is off. The
//! certificate is classical (ECDSA): TLS authenticates the server only against today's attackers. What must outlive
//! that is carried by attestations, not by the connection.

use crate::certificate::Certificate;
use crate::config::Tls;
use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use thiserror::Error;
pub use trefoil_key_holder::tls::provider;
use trefoil_storage::data_dir::{DataDir, DataDirError, read_private};
use zeroize::Zeroizing;

/// File names in the data directory.
pub const CERTIFICATE_FILE: &str = "tls-certificate.pem";
/// Its private key.
pub const PRIVATE_KEY_FILE: &str = "tls-private-key.pem";

/// Why no TLS configuration can be made.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The data directory refused.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// A PEM file is missing or holds nothing usable.
    #[error("{path}: {cause}; tls.certificate takes a PEM chain and tls.private_key a PEM key")]
    Pem {
        /// The file.
        path: String,
        /// Reason.
        cause: String,
    },
    /// A self-signed certificate cannot be made.
    #[error("self-signed certificate for tls.names: {0}")]
    SelfSigned(#[from] rcgen::Error),
    /// The key is another certificate's.
    #[error(
        "{key} is not the key of the certificate in {certificate}; set tls.private_key to the key that it was made for"
    )]
    Mismatch {
        /// The certificate's file.
        certificate: String,
        /// The key's file.
        key: String,
    },
    /// TLS 1.3 is not supported by the library.
    #[error("TLS: {0}")]
    Rustls(#[from] rustls::Error),
}

/// The certificate that new connections get, and the files that it comes from. Open connections keep theirs.
#[derive(Debug)]
pub struct Pair {
    certificate: PathBuf,
    key: PathBuf,
    shown: ArcSwap<CertifiedKey>,
}

impl ResolvesServerCert for Pair {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.shown.load_full())
    }
}

impl Pair {
    /// The pair of the configuration, or the self-signed one of the data directory, which is made the first time.
    ///
    /// # Errors
    /// A file that cannot be used, by name.
    pub fn open(tls: &Tls, directory: &DataDir) -> Result<Arc<Pair>, TlsError> {
        let (certificate, key) = match tls.certificate.as_os_str().is_empty() {
            true => {
                self_signed(&tls.names, directory)?;
                let key = directory.join(PRIVATE_KEY_FILE);
                // Refuses a key that others can read.
                read_private(&key)?;
                (directory.join(CERTIFICATE_FILE), key)
            }
            false => (tls.certificate.clone(), tls.private_key.clone()),
        };
        let shown = ArcSwap::from_pointee(read_pair(&certificate, &key)?);
        Ok(Arc::new(Pair { certificate, key, shown }))
    }

    /// Reads both files again; new connections get what they hold if it is another certificate, and then the answer is true.
    ///
    /// # Errors
    /// A file that cannot be used, by name; new connections get what they got before.
    pub fn reload(&self) -> Result<bool, TlsError> {
        let read = read_pair(&self.certificate, &self.key)?;
        let is_other = read.cert != self.shown.load().cert;
        if is_other {
            self.shown.store(Arc::new(read));
        }
        Ok(is_other)
    }

    /// Until when new connections get a valid certificate, unix seconds; nothing if it cannot be parsed.
    pub fn until(&self) -> Option<u64> {
        let der = self.shown.load().cert.first()?.clone();
        Certificate::parse(der).ok().map(|read| read.not_after)
    }

    /// When each file was last written; nothing for one that cannot be looked at.
    pub fn written(&self) -> [Option<SystemTime>; 2] {
        [&self.certificate, &self.key]
            .map(|path| std::fs::metadata(path).and_then(|about| about.modified()).ok())
    }

    /// The file of the certificate.
    pub fn certificate(&self) -> &Path {
        &self.certificate
    }
}

/// The server's configuration for HTTP/2 and HTTP/1.1.
///
/// # Errors
/// TLS 1.3 is not supported by the library.
pub fn server_config(pair: Arc<Pair>) -> Result<Arc<rustls::ServerConfig>, TlsError> {
    let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(pair);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}

/// Whether the key is the certificate's, and of a kind that is supported.
///
/// # Errors
/// Why not, with the file.
pub fn check_pair(certificate: &Path, key: &Path) -> Result<(), TlsError> {
    read_pair(certificate, key).map(drop)
}

fn read_pair(certificate: &Path, key: &Path) -> Result<CertifiedKey, TlsError> {
    let chain = read_chain(certificate)?;
    let secret = PrivateKeyDer::from_pem_file(key)
        .map_err(|cause| TlsError::Pem { path: key.display().to_string(), cause: cause.to_string() })?;
    CertifiedKey::from_der(chain, secret, &provider()).map_err(|cause| match cause {
        rustls::Error::InconsistentKeys(_) => TlsError::Mismatch {
            certificate: certificate.display().to_string(),
            key: key.display().to_string(),
        },
        cause => TlsError::Pem { path: certificate.display().to_string(), cause: cause.to_string() },
    })
}

/// Makes the pair of files the first time; later both must be there unchanged, because clients pin the certificate with
/// `--cacert`.
fn self_signed(names: &[String], directory: &DataDir) -> Result<(), TlsError> {
    if directory.has(CERTIFICATE_FILE)? && directory.has(PRIVATE_KEY_FILE)? {
        return note(directory);
    }
    let key = rcgen::KeyPair::generate()?;
    let mut parameters = rcgen::CertificateParams::new(names.to_vec())?;
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "trefoil self-signed");
    let certificate = parameters.self_signed(&key)?;
    directory.write(PRIVATE_KEY_FILE, Zeroizing::new(key.serialize_pem()).as_bytes())?;
    directory.write(CERTIFICATE_FILE, certificate.pem().as_bytes())?;
    note(directory)
}

fn note(directory: &DataDir) -> Result<(), TlsError> {
    directory.kept(PRIVATE_KEY_FILE)?;
    directory.kept(CERTIFICATE_FILE)?;
    Ok(())
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let refused = |cause: String| TlsError::Pem { path: path.display().to_string(), cause };
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|cause| refused(cause.to_string()))?;
    match certificates.is_empty() {
        true => Err(refused("holds no certificate".to_owned())),
        false => Ok(certificates),
    }
}
