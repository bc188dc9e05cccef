//! The service's certificate: its expiry, its names, and whether the key belongs to it.

use super::{Finding, time};
use http::uri::Authority;
use std::path::PathBuf;
use trefoil_server::certificate::Certificate;
use trefoil_server::config::Config;
use trefoil_server::findings::{self, Fault};
use trefoil_server::tls::client_ca::ClientCa;
use trefoil_server::tls::{self, CERTIFICATE_FILE, PRIVATE_KEY_FILE, TlsError};
use trefoil_storage::data_dir;

/// The place of the certificate.
pub(super) fn certificate_path(config: &Config) -> PathBuf {
    match config.tls.certificate.as_os_str().is_empty() {
        true => config.server.data_dir.join(CERTIFICATE_FILE),
        false => config.tls.certificate.clone(),
    }
}

pub(super) fn examine(config: &Config, now: u64) -> Vec<Finding> {
    let is_own = config.tls.certificate.as_os_str().is_empty();
    let (path, key) = match is_own {
        true => (certificate_path(config), config.server.data_dir.join(PRIVATE_KEY_FILE)),
        false => (certificate_path(config), config.tls.private_key.clone()),
    };
    let place = path.display();
    let certificate = match Certificate::read(&path) {
        Ok(certificate) => certificate,
        Err(cause) => {
            let what = cause.strip_prefix(&format!("{place}: ")).unwrap_or(&cause).to_owned();
            return vec![Fault::CertificateUnreadable.at(place, what)];
        }
    };
    let mut found = Vec::new();
    let Certificate { not_before, not_after, .. } = certificate;
    if not_before > now && not_after > now {
        let what =
            format!("the certificate is valid from {}, and the clock says {}", time(not_before), time(now));
        found.push(Fault::CertificateNotYet.at(place, what));
    } else {
        found.extend(findings::certificate(place, not_after, now, &config.tls));
    }
    let place = path.display();
    if let Some(host) = host(config).filter(|host| !certificate.is_for(host)) {
        let what =
            format!("callers ask for {host}, and the certificate is for {}", certificate.names.join(", "));
        found.push(Fault::CertificateName.at(place, what));
    }
    let place = key.display();
    if let Err(cause) = data_dir::refuse_exposed(&key) {
        // The check of the directory has found it already.
        found.extend((!is_own).then(|| super::file(&cause)));
    }
    if let Err(cause) = tls::check_pair(&path, &key) {
        let text = cause.to_string();
        let what = text.strip_prefix(&format!("{place}: ")).unwrap_or(&text);
        found.push(match &cause {
            TlsError::Pem { .. } => {
                let (what, remedy) = what.split_once("; ").unwrap_or((what, ""));
                Fault::CertificateKey.at(place, what).do_this(remedy)
            }
            _ => Fault::CertificateKey.at(place, what),
        });
    }
    found.extend(client_ca(config, now));
    if found.is_empty() {
        found.push(Finding::ok("certificate", path.display(), format!("until {}", time(not_after))));
    }
    found
}

/// The authorities of callers' certificates, if these are demanded.
fn client_ca(config: &Config, now: u64) -> Option<Finding> {
    let path = &config.tls.client_ca;
    if path.as_os_str().is_empty() {
        return None;
    }
    match ClientCa::open(path) {
        Ok(held) => {
            held.until().and_then(|until| findings::client_ca(path.display(), until, now, &config.tls))
        }
        Err(cause) => {
            let text = cause.to_string();
            let what = text.rsplit_once("; ").map_or(text.as_str(), |(what, _)| what).to_owned();
            let what = what.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&what).to_owned();
            Some(Fault::ClientCaUnreadable.at(path.display(), what))
        }
    }
}

/// The name to which callers connect, if the configuration has it.
fn host(config: &Config) -> Option<String> {
    let listen = config.server.listen.ip();
    match config.server.public_url.strip_prefix("https://") {
        Some(authority) => Some(authority.parse::<Authority>().ok()?.host().to_owned()),
        None if listen.is_unspecified() => None,
        None => Some(listen.to_string()),
    }
}
