//! TLS 1.3 with the hybrid key exchange X25519MLKEM768 first; no older version, no session tickets.
//!
//! Resumption would save the server nothing (the key exchange dominates) and would need ticket keys, so it is off. The
//! certificate is classical (ECDSA): TLS authenticates the server only against today's attackers. Evidence that must
//! last longer is in attestations, not in the connection.

pub mod client_ca;

use crate::certificate::Certificate;
use crate::config::Tls;
use crate::tls::client_ca::ClientCa;
use arc_swap::{ArcSwap, ArcSwapOption};
use rustls::pki_types::CertificateDer;
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use sha3::{Digest as _, Sha3_256};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thiserror::Error;
use trefoil_contents::pem;
pub use trefoil_host::tls::provider;
use trefoil_storage::data_dir::{DataDir, DataDirError, read_private};
use zeroize::Zeroizing;

/// File names in the data directory.
pub const CERTIFICATE_FILE: &str = "tls-certificate.pem";
/// Its private key.
pub const PRIVATE_KEY_FILE: &str = "tls-private-key.pem";

const DAY: Duration = Duration::from_secs(86_400);
/// The service warns of keys and certificates that expire within this time.
pub const SOON_S: u64 = 30 * 86_400;
/// How long a self-signed certificate is valid: as long as browsers would accept one of an authority.
const LIFE_DAYS: u32 = 397;

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
    /// The file of the authorities of callers' certificates holds nothing usable.
    #[error(
        "{path}: {cause}; tls.client_ca takes PEM certificates of the authorities that sign the certificates of callers"
    )]
    ClientCa {
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
    client_ca: Option<Arc<ClientCa>>,
    /// Why the files were not taken when they were read last.
    refused: ArcSwapOption<String>,
    /// The files as they were just before they were opened.
    opened: Files,
}

/// The digest of each file; `None` for one that cannot be read, and for a pipe, which can be read only once.
pub type Files = Vec<Option<[u8; 32]>>;

fn files(paths: [&Path; 3]) -> Files {
    let digest = |path: &Path| {
        let is_file = std::fs::metadata(path).is_ok_and(|about| about.is_file());
        let bytes = Zeroizing::new(is_file.then(|| std::fs::read(path).ok()).flatten()?);
        Some(Sha3_256::digest(&*bytes).into())
    };
    paths.map(digest).to_vec()
}

impl ResolvesServerCert for Pair {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.shown.load_full())
    }
}

impl Pair {
    /// The pair of the configuration, or the self-signed one of the data directory, which is made the first time and renewed, with its
    /// key, at the first start within 30 days of its end.
    ///
    /// # Errors
    /// A file that cannot be used, by name.
    pub fn open(tls: &Tls, directory: &DataDir, now: SystemTime) -> Result<Arc<Pair>, TlsError> {
        let (certificate, key) = match tls.certificate.as_os_str().is_empty() {
            true => {
                self_signed(&tls.names, directory, now)?;
                let key = directory.join(PRIVATE_KEY_FILE);
                // Refuses a key that others can read.
                read_private(&key)?;
                (directory.join(CERTIFICATE_FILE), key)
            }
            false => (tls.certificate.clone(), tls.private_key.clone()),
        };
        let opened = files([&certificate, &key, &tls.client_ca]);
        let shown = ArcSwap::from_pointee(read_pair(&certificate, &key)?);
        let is_asked = !tls.client_ca.as_os_str().is_empty();
        let client_ca = is_asked.then(|| ClientCa::open(&tls.client_ca).map(Arc::new)).transpose()?;
        let refused = ArcSwapOption::empty();
        Ok(Arc::new(Pair { certificate, key, shown, client_ca, refused, opened }))
    }

    /// Reads all files again. If they changed, new connections get their contents, and the answer is true.
    ///
    /// # Errors
    /// A file that cannot be used, by name. New connections then get the certificate before.
    pub fn reload(&self) -> Result<bool, TlsError> {
        let reloaded = self.read_again();
        self.refused.store(reloaded.as_ref().err().map(|cause| Arc::new(cause.to_string())));
        reloaded
    }

    /// Why the files were not taken when they were read last.
    pub fn refused(&self) -> Option<Arc<String>> {
        self.refused.load_full()
    }

    fn read_again(&self) -> Result<bool, TlsError> {
        let read = read_pair(&self.certificate, &self.key)?;
        let mut others = false;
        if let Some(held) = &self.client_ca {
            others = held.take(held.read()?);
        }
        let is_other = read.cert != self.shown.load().cert;
        if is_other {
            self.shown.store(Arc::new(read));
        }
        Ok(is_other || others)
    }

    /// The authorities of callers' certificates for the public listener, if it demands any.
    pub fn client_ca(&self) -> Option<&Arc<ClientCa>> {
        self.client_ca.as_ref()
    }

    /// When the certificate of new connections expires, unix seconds; `None` if it cannot be parsed.
    pub fn until(&self) -> Option<u64> {
        let der = self.shown.load().cert.first()?.clone();
        Certificate::parse(der).ok().map(|read| read.not_after)
    }

    /// The files as they are now. Their contents are compared, because some ways of copying keep the time of the file before.
    pub fn files(&self) -> Files {
        let client_ca = self.client_ca.as_ref().map_or(Path::new(""), |held| held.path());
        files([&self.certificate, &self.key, client_ca])
    }

    /// The files as they were opened.
    pub fn opened(&self) -> &Files {
        &self.opened
    }

    /// The file of the certificate.
    pub fn certificate(&self) -> &Path {
        &self.certificate
    }
}

/// A listener's configuration for HTTP/2 and HTTP/1.1; with `callers`, only for callers that show a certificate from these authorities.
///
/// # Errors
/// TLS 1.3 is not supported by the library.
pub fn server_config(
    pair: Arc<Pair>,
    callers: Option<Arc<ClientCa>>,
) -> Result<Arc<rustls::ServerConfig>, TlsError> {
    let builder = rustls::ServerConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let builder = match callers {
        Some(callers) => builder.with_client_cert_verifier(callers),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(pair);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}

/// Whether the key is the certificate's, and of a kind that is supported.
///
/// # Errors
/// The reason, with the file.
pub fn check_pair(certificate: &Path, key: &Path) -> Result<(), TlsError> {
    read_pair(certificate, key).map(drop)
}

fn read_pair(certificate: &Path, key: &Path) -> Result<CertifiedKey, TlsError> {
    let chain = read_chain(certificate)?;
    let refused = |cause: String| TlsError::Pem { path: key.display().to_string(), cause };
    let file = Zeroizing::new(std::fs::read(key).map_err(|cause| refused(cause.to_string()))?);
    let secret = pem::private_key(&file).map_err(refused)?;
    if provider().key_provider.load_private_key(secret.clone_key()).is_err() {
        return Err(refused(format!("the key is damaged or of a kind that is not supported; {}", pem::KEYS)));
    }
    CertifiedKey::from_der(chain, secret, &provider()).map_err(|cause| match cause {
        rustls::Error::InconsistentKeys(_) => TlsError::Mismatch {
            certificate: certificate.display().to_string(),
            key: key.display().to_string(),
        },
        cause => TlsError::Pem { path: certificate.display().to_string(), cause: cause.to_string() },
    })
}

/// Makes the pair of files the first time. Later both must be there unchanged, because clients pin the certificate with `--ca`. A
/// certificate that expires soon is replaced by one with the same key and name. The programs of this project accept it under the old pin;
/// OpenSSL, and so curl and Python, needs the new file.
fn self_signed(names: &[String], directory: &DataDir, now: SystemTime) -> Result<(), TlsError> {
    if !(directory.has(CERTIFICATE_FILE)? && directory.has(PRIVATE_KEY_FILE)?) {
        let key = rcgen::KeyPair::generate()?;
        let certificate = certificate(names, &key, now)?;
        directory.write(PRIVATE_KEY_FILE, Zeroizing::new(key.serialize_pem()).as_bytes())?;
        directory.write(CERTIFICATE_FILE, certificate.as_bytes())?;
        return note(directory);
    }
    note(directory)?;
    let path = directory.join(CERTIFICATE_FILE);
    let now_s = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    match Certificate::read(&path) {
        Ok(read) if read.not_after < now_s.saturating_add(SOON_S) => {}
        // A file that cannot be read is refused where it is read.
        _ => return Ok(()),
    }
    let secret = read_private(&directory.join(PRIVATE_KEY_FILE))?;
    let refused =
        |cause| TlsError::Pem { path: directory.join(PRIVATE_KEY_FILE).display().to_string(), cause };
    let key = rcgen::KeyPair::try_from(&pem::private_key(&secret).map_err(refused)?)?;
    directory.replace_kept(CERTIFICATE_FILE, certificate(names, &key, now)?.as_bytes())?;
    tracing::warn!(
        file = %path.display(),
        "the self-signed certificate was renewed, with the same key: `trefoil` goes on with the old file, and curl, Python and others that \
         use OpenSSL want the new one"
    );
    Ok(())
}

/// A self-signed certificate of this key, valid since a day ago for clocks that are behind.
fn certificate(names: &[String], key: &rcgen::KeyPair, now: SystemTime) -> Result<String, TlsError> {
    let mut parameters = rcgen::CertificateParams::new(names.to_vec())?;
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "trefoil self-signed");
    parameters.not_before = (now - DAY).into();
    parameters.not_after = (now + LIFE_DAYS * DAY).into();
    Ok(parameters.self_signed(key)?.pem())
}

fn note(directory: &DataDir) -> Result<(), TlsError> {
    directory.kept(PRIVATE_KEY_FILE)?;
    directory.kept(CERTIFICATE_FILE)?;
    Ok(())
}

pub(crate) fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let refused = |cause: String| TlsError::Pem { path: path.display().to_string(), cause };
    let file = std::fs::read(path).map_err(|cause| refused(cause.to_string()))?;
    pem::certificates(&file).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier as _;
    use rustls::pki_types::UnixTime;
    use rustls::pki_types::pem::PemObject as _;

    const NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

    fn pem(directory: &DataDir) -> Vec<u8> {
        std::fs::read(directory.join(CERTIFICATE_FILE)).unwrap()
    }

    #[test]
    fn a_self_signed_certificate_is_renewed_before_it_ends_with_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let start = SystemTime::now();
        let at = |day: u32| {
            let directory = DataDir::open(&path).unwrap();
            let tls = Tls { names: NAMES.map(str::to_owned).to_vec(), ..Config::embedded().tls };
            let pair = Pair::open(&tls, &directory, start + day * DAY).unwrap();
            (pem(&directory), pair)
        };
        let (first, pair) = at(0);
        let start_s = start.duration_since(UNIX_EPOCH).unwrap().as_secs();
        assert_eq!(pair.until(), Some(start_s + 397 * 86_400));
        drop(pair);
        assert_eq!(at(366).0, first, "it has 31 days left");
        let key = std::fs::read(path.join(PRIVATE_KEY_FILE)).unwrap();
        let (second, pair) = at(368);
        assert_ne!(second, first);
        assert_eq!(pair.until(), Some(start_s + (368 + 397) * 86_400));
        assert_eq!(std::fs::read(path.join(PRIVATE_KEY_FILE)).unwrap(), key);
        drop(pair);
        assert_eq!(at(369).0, second, "the record knows the new one");

        // A client that pinned the first certificate accepts the second, also after the first has expired.
        let mut pinned = RootCertStore::empty();
        pinned.add(CertificateDer::from_pem_slice(&first).unwrap()).unwrap();
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(pinned), Arc::new(provider()))
            .build()
            .unwrap();
        let shown = CertificateDer::from_pem_slice(&second).unwrap();
        let later = UnixTime::since_unix_epoch(Duration::from_secs(start_s + 400 * 86_400));
        let taken = |der: &CertificateDer<'_>| {
            verifier.verify_server_cert(der, &[], &"localhost".try_into().unwrap(), &[], later).is_ok()
        };
        assert!(taken(&shown) && !taken(&CertificateDer::from_pem_slice(&first).unwrap()));
        let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        assert!(!taken(other.cert.der()), "another key's");
    }
}
