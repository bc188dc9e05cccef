//! TLS 1.3 with the hybrid key exchange X25519MLKEM768 first; no older version, no session tickets.
//!
//! Resumption would save the server nothing (the key exchange dominates) and would need ticket keys, so it is off. The
//! certificate is classical (ECDSA): TLS authenticates the server only against today's attackers. What must outlive
//! that is carried by attestations, not by the connection.

use crate::config::Tls;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use std::path::Path;
use std::sync::Arc;
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

/// The server's configuration for HTTP/2 and HTTP/1.1.
pub fn server_config(tls: &Tls, directory: &DataDir) -> Result<Arc<rustls::ServerConfig>, TlsError> {
    let is_own = tls.certificate.as_os_str().is_empty();
    let (certificate_path, key_path) = match is_own {
        true => (directory.join(CERTIFICATE_FILE), directory.join(PRIVATE_KEY_FILE)),
        false => (tls.certificate.clone(), tls.private_key.clone()),
    };
    let key = match is_own {
        true => {
            self_signed(&tls.names, directory)?;
            PrivateKeyDer::from_pem_slice(&read_private(&key_path)?)
        }
        false => PrivateKeyDer::from_pem_file(&key_path),
    };
    let (chain, key) = (read_chain(&certificate_path)?, read_key(&key_path, key)?);
    let mut config = with_pair(chain, key, &certificate_path, &key_path)?;
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
    let chain = read_chain(certificate)?;
    let secret = read_key(key, PrivateKeyDer::from_pem_file(key))?;
    with_pair(chain, secret, certificate, key).map(drop)
}

fn with_pair(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    certificate_path: &Path,
    key_path: &Path,
) -> Result<rustls::ServerConfig, TlsError> {
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth();
    config.with_single_cert(chain, key).map_err(|cause| match cause {
        rustls::Error::InconsistentKeys(_) => TlsError::Mismatch {
            certificate: certificate_path.display().to_string(),
            key: key_path.display().to_string(),
        },
        cause => TlsError::Pem { path: certificate_path.display().to_string(), cause: cause.to_string() },
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

fn read_key(
    path: &Path,
    key: Result<PrivateKeyDer<'static>, rustls::pki_types::pem::Error>,
) -> Result<PrivateKeyDer<'static>, TlsError> {
    key.map_err(|cause| TlsError::Pem { path: path.display().to_string(), cause: cause.to_string() })
}
