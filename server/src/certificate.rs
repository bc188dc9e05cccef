//! Reads from a TLS certificate how long it is valid and for which names. This is for operators; rustls verifies certificates.

use rustls::pki_types::{CertificateDer, ServerName};
use std::net::IpAddr;
use std::path::Path;
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

/// The first certificate of a PEM file.
pub struct Certificate {
    /// DER.
    pub der: CertificateDer<'static>,
    /// Unix seconds.
    pub not_before: u64,
    /// Unix seconds.
    pub not_after: u64,
    /// DNS names and addresses.
    pub names: Vec<String>,
}

impl Certificate {
    /// Reads it.
    ///
    /// # Errors
    /// The file cannot be read or holds no certificate; the text names it.
    pub fn read(path: &Path) -> Result<Certificate, String> {
        let named = |cause: &dyn std::fmt::Display| format!("{}: {cause}", path.display());
        let file = std::fs::read(path).map_err(|cause| named(&cause))?;
        let mut chain = trefoil_contents::pem::certificates(&file).map_err(|cause| named(&cause))?;
        Certificate::parse(chain.swap_remove(0)).map_err(|cause| named(&cause))
    }

    /// Reads the DER of a certificate.
    ///
    /// # Errors
    /// The bytes are no certificate.
    pub(crate) fn parse(der: CertificateDer<'static>) -> Result<Certificate, String> {
        let (_, parsed) = X509Certificate::from_der(&der).map_err(|cause| cause.to_string())?;
        let seconds = |time: x509_parser::time::ASN1Time| u64::try_from(time.timestamp()).unwrap_or(0);
        let (not_before, not_after) = (parsed.validity().not_before, parsed.validity().not_after);
        let alternative = parsed.subject_alternative_name().ok().flatten();
        let names =
            alternative.iter().flat_map(|names| &names.value.general_names).filter_map(name).collect();
        let (not_before, not_after) = (seconds(not_before), seconds(not_after));
        Ok(Certificate { not_before, not_after, names, der: der.clone() })
    }

    /// Whether a client that connects to `host` accepts it, as rustls decides.
    pub fn is_for(&self, host: &str) -> bool {
        let host = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let parsed = rustls::server::ParsedCertificate::try_from(&self.der);
        let (Ok(host), Ok(parsed)) = (host, parsed) else { return false };
        rustls::client::verify_server_name(&parsed, &host).is_ok()
    }
}

fn name(general: &GeneralName<'_>) -> Option<String> {
    match general {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(*bytes).ok().map(|bytes| IpAddr::from(bytes).to_string()),
            _ => <[u8; 16]>::try_from(*bytes).ok().map(|bytes| IpAddr::from(bytes).to_string()),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_times_are_those_that_were_put_in() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("certificate.pem");
        let names = ["auth.example", "*.shop.example", "192.0.2.7", "2001:db8::1"].map(str::to_owned);
        let mut made = rcgen::CertificateParams::new(names.to_vec()).unwrap();
        made.not_before = rcgen::date_time_ymd(2026, 1, 1);
        made.not_after = rcgen::date_time_ymd(2026, 2, 1);
        let key = rcgen::KeyPair::generate().unwrap();
        std::fs::write(&path, made.self_signed(&key).unwrap().pem()).unwrap();
        let read = Certificate::read(&path).unwrap();
        assert_eq!((read.not_before, read.not_after), (1_767_225_600, 1_769_904_000));
        assert_eq!(read.names, names);
        for host in ["auth.example", "a.shop.example", "192.0.2.7", "[2001:db8::1]"] {
            assert!(read.is_for(host), "{host}");
        }
        for host in ["other.example", "shop.example", "192.0.2.8", "", "not a name"] {
            assert!(!read.is_for(host), "{host}");
        }
        std::fs::write(&path, "no certificate").unwrap();
        assert!(Certificate::read(&path).err().unwrap().contains("certificate.pem: "));
    }
}
