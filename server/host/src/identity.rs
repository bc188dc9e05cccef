//! An identity: a self-signed certificate, its private key, and the fingerprint by which the other side knows it.
//!
//! Both sides pin fingerprints. Two processes that know each other need no certificate authority, which could
//! impersonate either.

use aws_lc_rs::digest::{SHA256, digest};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use thiserror::Error;
use trefoil_contents::pem;
use trefoil_storage::data_dir::{DataDir, DataDirError, read_private};
use zeroize::Zeroizing;

/// The identity of the process in its data directory.
pub const IDENTITY: &str = "tls";
/// The identity of the operator's commands in the key-holder's data directory.
pub const OPERATOR_IDENTITY: &str = "operator";

/// SHA-256 of a certificate (DER). Public.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 32]);

/// A certificate and its private key.
pub struct Identity {
    /// The certificate.
    pub certificate: CertificateDer<'static>,
    /// Its key.
    pub key: PrivateKeyDer<'static>,
}

/// Why there is no identity.
#[derive(Debug, Error)]
pub enum IdentityError {
    /// The data directory refused.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// A file is malformed.
    #[error("{path}: {cause}; restore the whole directory from one backup")]
    Pem {
        /// The file.
        path: String,
        /// Reason.
        cause: String,
    },
    /// No certificate can be made.
    #[error("making a certificate: {0}")]
    Make(#[from] rcgen::Error),
}

impl Identity {
    /// The identity `name` of a data directory, made the first time (in memory alone, if the directory is only looked at). If it was made and is missing, this fails, because the
    /// other side pins it.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn open(directory: &DataDir, name: &str) -> Result<Identity, IdentityError> {
        let (certificate, key) = (format!("{name}-certificate.pem"), format!("{name}-private-key.pem"));
        if !(directory.has(&certificate)? && directory.has(&key)?) {
            let pair = rcgen::KeyPair::generate()?;
            let mut parameters = rcgen::CertificateParams::new(vec![])?;
            parameters.distinguished_name.push(rcgen::DnType::CommonName, format!("trefoil {name}"));
            let made = parameters.self_signed(&pair)?;
            directory.write(&key, Zeroizing::new(pair.serialize_pem()).as_bytes())?;
            directory.write(&certificate, made.pem().as_bytes())?;
            if directory.is_still() {
                return Ok(Identity {
                    certificate: made.der().clone(),
                    key: PrivateKeyDer::Pkcs8(pair.serialize_der().into()),
                });
            }
        }
        directory.kept(&key)?;
        directory.kept(&certificate)?;
        Identity::look(directory.path(), name)
    }

    /// Reads what [`Identity::open`] made.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn look(directory: &Path, name: &str) -> Result<Identity, IdentityError> {
        let file = |kind: &str| directory.join(format!("{name}-{kind}.pem"));
        Identity::read(&file("certificate"), &file("private-key"))
    }

    /// Reads a pair of files that [`Identity::open`] made.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn read(certificate: &Path, key: &Path) -> Result<Identity, IdentityError> {
        let refused = |path: &Path, cause| IdentityError::Pem { path: path.display().to_string(), cause };
        let file = std::fs::read(certificate).map_err(|cause| refused(certificate, cause.to_string()))?;
        let mut chain = pem::certificates(&file).map_err(|cause| refused(certificate, cause))?;
        let key = pem::private_key(&read_private(key)?).map_err(|cause| refused(key, cause))?;
        Ok(Identity { certificate: chain.swap_remove(0), key })
    }

    /// The fingerprint, which the other side pins.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificate)
    }
}

impl Fingerprint {
    /// That of a certificate.
    ///
    /// # Panics
    /// Never: SHA-256 has 32 bytes.
    pub fn of(certificate: &CertificateDer<'_>) -> Fingerprint {
        let digest = digest(&SHA256, certificate);
        Fingerprint(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Fingerprint, String> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes)
            .map_err(|_| "a fingerprint has 64 hexadecimal digits".to_owned())?;
        Ok(Fingerprint(bytes))
    }
}
