//! The description of a running service.

use super::{ADMIN_TOKEN_FILE, Server};
use crate::app::App;
use crate::config::{Limits, Place};
use crate::tls::Pair;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use trefoil_attest::TrustRoot;
use trefoil_service::keys::signing_keys::TRUST_ROOT_FILE;

/// The description of a service at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The data directory.
    pub directory: PathBuf,
    /// The name in attestations.
    pub issuer: String,
    /// Where callers reach it, if that is configured.
    pub public_url: String,
    /// Where decisions are made.
    pub key_holder: String,
    /// How many tenants it has.
    pub tenants: usize,
    /// When the TLS certificate expires, unix seconds.
    pub certificate_until: Option<u64>,
    /// When the signing keys expire, unix seconds.
    pub keys_until: Option<u64>,
}

impl Server {
    /// The description of this service at its start.
    pub fn standing(&self) -> Standing {
        let App { config, service, .. } = &*self.app;
        Standing {
            directory: std::path::absolute(self.directory.path())
                .unwrap_or_else(|_| self.directory.path().to_owned()),
            issuer: service.keys.root().issuer().to_owned(),
            public_url: config.server.public_url.clone(),
            key_holder: match config.key_holder.place() {
                Ok(Place::Here) | Err(_) => "in this process".to_owned(),
                Ok(Place::One(address)) => address.authority,
                Ok(Place::Three(three)) => three.map(|address| address.authority).join(","),
            },
            tenants: service.tenants.count(),
            certificate_until: self.certificate.until(),
            keys_until: service.keys.until(),
        }
    }

    /// Address of the public listener.
    pub fn public_address(&self) -> SocketAddr {
        self.public.0
    }

    /// Address of the admin listener.
    pub fn admin_address(&self) -> SocketAddr {
        self.admin.0
    }

    /// The operator's token, also in the data directory.
    pub fn admin_token(&self) -> &str {
        self.app.service.operators.bootstrap_token()
    }

    /// The trust root, which relying parties pin.
    pub fn trust_root(&self) -> TrustRoot {
        TrustRoot::clone(&self.app.service.keys.root())
    }

    /// The certificate that clients pin when it is self-signed.
    pub fn certificate_path(&self) -> PathBuf {
        self.certificate.certificate().to_owned()
    }

    /// What new connections get, to be read again.
    pub fn certificate(&self) -> &Arc<Pair> {
        &self.certificate
    }

    /// The limits, which can change while the service runs.
    pub(crate) fn set_limits(&self) -> impl Fn(&Limits) + Send + use<> {
        let app = Arc::clone(&self.app);
        move |limits| app.set_limits(limits)
    }

    /// The file with the operator's token.
    pub fn admin_token_path(&self) -> PathBuf {
        self.directory.join(ADMIN_TOKEN_FILE)
    }

    /// The file with the trust root.
    pub fn trust_root_path(&self) -> PathBuf {
        self.directory.join(TRUST_ROOT_FILE)
    }
}
