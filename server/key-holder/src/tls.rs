//! TLS 1.3 in which both sides show a certificate and both pin the other's fingerprint.
//!
//! Key agreement is hybrid, X25519MLKEM768; processes of this project offer each other nothing else. Names, issuers and dates in
//! certificates are ignored: the fingerprint identifies a certificate, and removing it from the list revokes it.

use crate::protocol::ALPN;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, OtherError,
    ServerConfig, SignatureScheme,
};
use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use trefoil_host::identity::{Fingerprint, Identity};
use trefoil_host::tls::hybrid_only;

/// The key-holder's configuration: serves only clients with one of these fingerprints.
pub(crate) fn server_config(
    identity: Identity,
    clients: HashSet<Fingerprint>,
) -> Result<Arc<ServerConfig>, Error> {
    let provider = Arc::new(hybrid_only());
    let pinned = Arc::new(Pinned { peers: Peers::Clients(clients), provider: Arc::clone(&provider) });
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(pinned)
        .with_single_cert(vec![identity.certificate], identity.key)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}

/// The client's configuration: connects only to the key-holder with this fingerprint.
///
/// # Errors
/// When certificate and key do not fit.
pub fn client_config(identity: Identity, server: Fingerprint) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(hybrid_only());
    let pinned = Arc::new(Pinned { peers: Peers::Server(server), provider: Arc::clone(&provider) });
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(pinned)
        .with_client_auth_cert(vec![identity.certificate], identity.key)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}

/// Accepts exactly these certificates; the handshake shows that the peer has the private key.
#[derive(Debug)]
struct Pinned {
    peers: Peers,
    provider: Arc<CryptoProvider>,
}

/// Whose certificates they are.
#[derive(Debug)]
enum Peers {
    /// The key-holder at an address.
    Server(Fingerprint),
    /// Those whom a key-holder serves.
    Clients(HashSet<Fingerprint>),
}

/// A peer with another certificate: what was expected, what it has, and what to do.
#[derive(Debug, thiserror::Error)]
enum Another {
    /// The client says this of the key-holder.
    #[error(
        "the key-holder here is not the pinned one: expected fingerprint {expected}, it has {shown}. If you replaced the key-holder, put the \
         new fingerprint after the # of its address; if not, another program answers there"
    )]
    Server {
        /// The pinned fingerprint.
        expected: Fingerprint,
        /// The one of its certificate.
        shown: Fingerprint,
    },
    /// The key-holder says this of a client.
    #[error(
        "a client that is not listed: expected {listed}, it has fingerprint {shown}. If it is a gateway of yours with a new certificate, \
         stop this key-holder, run `trefoil key-holder init --gateway-fingerprint {shown}` with its settings, and start it again"
    )]
    Client {
        /// The fingerprints in the list.
        listed: String,
        /// The one of its certificate.
        shown: Fingerprint,
    },
}

/// Our words for a peer with another certificate, which the library shows with its own names around them.
pub(crate) fn in_words(cause: io::Error) -> io::Error {
    match cause.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(Error::InvalidCertificate(CertificateError::Other(OtherError(why)))) => {
            io::Error::new(cause.kind(), why.to_string())
        }
        _ => cause,
    }
}

/// A list that has more is shown as their number.
const SHOWN_MAX: usize = 4;

fn listed(clients: &HashSet<Fingerprint>) -> String {
    let mut each: Vec<String> = clients.iter().map(ToString::to_string).collect();
    each.sort();
    match each.len() {
        0 => "none, because no client is listed".to_owned(),
        1..=SHOWN_MAX => format!("fingerprint {}", each.join(" or ")),
        count => format!("one of the {count} fingerprints in clients.toml"),
    }
}

impl Pinned {
    fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let shown = Fingerprint::of(certificate);
        let another = match &self.peers {
            Peers::Server(expected) if *expected == shown => return Ok(()),
            Peers::Clients(clients) if clients.contains(&shown) => return Ok(()),
            Peers::Server(expected) => Another::Server { expected: *expected, shown },
            Peers::Clients(clients) => Another::Client { listed: listed(clients), shown },
        };
        Err(Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(another)))))
    }

    fn check_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn tls13_only() -> Error {
    Error::PeerIncompatible(rustls::PeerIncompatible::Tls12NotOffered)
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(tls13_only())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(tls13_only())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_certificate_is_shown_beside_the_expected_ones() {
        let folder = tempfile::tempdir().unwrap();
        let directory = trefoil_storage::data_dir::DataDir::open(&folder.path().join("data")).unwrap();
        let shown = Identity::open(&directory, "shown").unwrap();
        let (print, provider) = (shown.fingerprint(), Arc::new(hybrid_only()));
        let refused = |peers| {
            let pinned = Pinned { peers, provider: Arc::clone(&provider) };
            let cause = pinned.check(&shown.certificate).err().map(|cause| in_words(io::Error::other(cause)));
            cause.map(|cause| cause.to_string()).unwrap_or_default()
        };
        let one = Fingerprint([1; 32]);
        assert_eq!(refused(Peers::Server(print)), "");
        assert_eq!(refused(Peers::Clients(HashSet::from([one, print]))), "");
        let told = refused(Peers::Server(one));
        assert!(told.contains(&format!("expected fingerprint {one}, it has {print}")), "{told}");
        let told = refused(Peers::Clients(HashSet::from([one])));
        assert!(told.contains(&format!("expected fingerprint {one}, it has fingerprint {print}")), "{told}");
        assert!(told.contains(&format!("--gateway-fingerprint {print}")), "{told}");
        let many = (0..5).map(|at| Fingerprint([at; 32])).collect();
        assert!(refused(Peers::Clients(many)).contains("one of the 5 fingerprints"));
    }
}
