//! TLS 1.3 with the hybrid key exchange X25519MLKEM768 first; no older version, no session tickets.
//!
//! Resumption would save the server nothing (the key exchange dominates) and would need ticket keys, so it is off. The
//! certificate is classical (ECDSA): TLS authenticates the server only against today's attackers. What must outlive
//! that is carried by attestations, not by the connection.

use crate::config::Tls;
use crate::data_dir::{DataDir, DataDirError};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;
pub use trefoil_key_holder::tls::provider;
use zeroize::Zeroizing;

/// File names in the data directory.
pub(crate) const CERTIFICATE_FILE: &str = "tls-certificate.pem";
const PRIVATE_KEY_FILE: &str = "tls-private-key.pem";

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
    /// Certificate and key do not fit, or the key is of an unsupported kind.
    #[error("TLS: {0}")]
    Rustls(#[from] rustls::Error),
}

/// The server's configuration for HTTP/2 and HTTP/1.1.
pub fn server_config(tls: &Tls, directory: &DataDir) -> Result<Arc<rustls::ServerConfig>, TlsError> {
    let (chain, key) = if tls.certificate.as_os_str().is_empty() {
        self_signed(&tls.names, directory)?;
        read_pem(&directory.join(CERTIFICATE_FILE), &directory.join(PRIVATE_KEY_FILE))?
    } else {
        read_pem(&tls.certificate, &tls.private_key)?
    };
    let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}

/// Makes the pair of files unless both exist. The certificate is not secret; clients pin it with `--cacert`.
fn self_signed(names: &[String], directory: &DataDir) -> Result<(), TlsError> {
    if directory.join(CERTIFICATE_FILE).exists() && directory.join(PRIVATE_KEY_FILE).exists() {
        return Ok(());
    }
    let key = rcgen::KeyPair::generate()?;
    let mut parameters = rcgen::CertificateParams::new(names.to_vec())?;
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "trefoil self-signed");
    let certificate = parameters.self_signed(&key)?;
    directory.write(PRIVATE_KEY_FILE, Zeroizing::new(key.serialize_pem()).as_bytes())?;
    directory.write(CERTIFICATE_FILE, certificate.pem().as_bytes())?;
    Ok(())
}

fn read_pem(
    chain: &Path,
    key: &Path,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let refused = |path: &Path, cause: String| TlsError::Pem { path: path.display().to_string(), cause };
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|cause| refused(chain, cause.to_string()))?;
    if certificates.is_empty() {
        return Err(refused(chain, "holds no certificate".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_file(key).map_err(|cause| refused(key, cause.to_string()))?;
    Ok((certificates, key))
}
