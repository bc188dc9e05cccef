//! HTTPS to one service: HTTP/2 over TLS 1.3, one pinned certificate, a few connections, bounded answers.
//!
//! A request that the service has not processed is sent again, whatever its method: a closing connection
//! names the last stream that it accepts, and later ones were never processed (RFC 9113 section 8.7). A request for which there was no
//! connection is sent once there is one. Nothing else is repeated, because it may have been carried out.

use super::credential;
use super::error::{ClientError, NO_ANSWER, ProblemDocument};
use super::outgoing::Outgoing;
use super::unverified::{Said, Unverified};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{self, kx_group};
use rustls::pki_types::CertificateDer;
use serde::de::DeserializeOwned;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use trefoil_contents::{parse_error, pem};

/// Longest answer that is read: 32 full attestations in base64 have 1.2 MB, a trust root of 64 key sets 250 KB.
const ANSWER_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Longest wait for an answer: above every deadline of the service, so that its own refusal arrives first.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(90);

/// How often a request that was not processed is sent again. A service that shuts down refuses new connections.
const REPEATS_MAX: u32 = 5;
/// Pause before the first repetition, doubled with each: a connection takes this long to notice that it is closing.
const REPEAT_PAUSE: Duration = Duration::from_millis(5);

/// Pause before a connection is tried again that could not be made, doubled with each up to a second.
const UNREACHED_PAUSE: Duration = Duration::from_millis(50);

/// A transport to one listener of the service. Clones share the connections.
#[derive(Clone)]
pub(super) struct Transport {
    pools: Arc<[Pool<HttpsConnector<HttpConnector>, Full<Bytes>>]>,
    turn: Arc<AtomicUsize>,
    base: String,
    /// The value of `Authorization`, if a request shows one.
    authorization: Option<HeaderValue>,
    /// For how long a connection is tried again that cannot be made.
    retry_for: Duration,
}

/// Why there is no answer.
type Cause = Box<dyn Error + Send + Sync>;

impl Transport {
    /// A transport to `base` (such as `https://127.0.0.1:8443`) over `connections` HTTP/2 connections. The service
    /// must present a certificate in `certificate_pem`, or one that it signed. `identity_pem` is a certificate and its key, which the
    /// service may demand.
    pub(super) fn new(
        base: &str,
        certificate_pem: &[u8],
        identity_pem: Option<&[u8]>,
        connections: usize,
    ) -> Result<Transport, ClientError> {
        let base = base.trim_end_matches('/');
        let is_https = base.parse::<Uri>().is_ok_and(|uri| uri.scheme_str() == Some("https"));
        if !is_https {
            return Err(ClientError::Argument("the service's address must look like https://host:port"));
        }
        let pool = || -> Result<_, ClientError> {
            let mut tcp = HttpConnector::new();
            tcp.enforce_http(false);
            // A request is one small write; it must not wait for the acknowledgement of the one before.
            tcp.set_nodelay(true);
            let connector = HttpsConnectorBuilder::new()
                .with_tls_config(pinned(certificate_pem, identity_pem)?)
                .https_only()
                .enable_http2()
                .wrap_connector(tcp);
            Ok(Pool::builder(TokioExecutor::new()).http2_only(true).build(connector))
        };
        let pools: Vec<_> = (0..connections.max(1)).map(|_| pool()).collect::<Result<_, _>>()?;
        Ok(Transport {
            pools: pools.into(),
            turn: Arc::default(),
            base: base.to_owned(),
            authorization: None,
            retry_for: Duration::ZERO,
        })
    }

    /// The same connections, tried again for this long where they cannot be made.
    pub(super) fn retrying_for(&self, retry_for: Duration) -> Transport {
        Transport { retry_for, ..self.clone() }
    }

    /// The same connections with this bearer credential.
    pub(super) fn with_bearer(&self, token: &str) -> Result<Transport, ClientError> {
        let authorization = Some(credential::bearer(token)?);
        Ok(Transport { authorization, ..self.clone() })
    }

    /// Sends a request and reads its JSON answer.
    pub(super) async fn json<T: DeserializeOwned>(&self, outgoing: Outgoing) -> Result<T, ClientError> {
        let route = outgoing.route();
        let body = self.bytes(outgoing).await?;
        serde_json::from_slice(&body)
            .map_err(|cause| ClientError::Answer { route, cause: parse_error(cause) })
    }

    /// Makes a change. `said` makes of the answer what its receipt must say; `None` if the answer is about something else than the request.
    pub(super) async fn change<T: DeserializeOwned>(
        &self,
        outgoing: Outgoing,
        said: impl FnOnce(&T) -> Option<Said>,
    ) -> Result<Unverified<T>, ClientError> {
        let answer = self.json(outgoing).await?;
        let said = said(&answer);
        Ok(Unverified::change(answer, said))
    }

    /// Asks for readiness. Returns the text of an answer that says there is none, and `None` for a success.
    pub(super) async fn refusal(&self, outgoing: Outgoing) -> Result<Option<String>, ClientError> {
        let route = outgoing.route();
        match self.answer(&outgoing, &route).await? {
            (status, _) if status.is_success() => Ok(None),
            (StatusCode::SERVICE_UNAVAILABLE | StatusCode::NOT_FOUND, body)
                if body.starts_with(b"not ready: ") =>
            {
                Ok(Some(String::from_utf8_lossy(&body).trim().to_owned()))
            }
            (status, _) => Err(ClientError::Status { route, status: status.as_u16() }),
        }
    }

    /// Sends a request and reads its answer, which must be a success.
    pub(super) async fn bytes(&self, outgoing: Outgoing) -> Result<Bytes, ClientError> {
        let route = outgoing.route();
        let (status, body) = self.answer(&outgoing, &route).await?;
        if status.is_success() { Ok(body) } else { Err(refused(route, status, &body)) }
    }

    async fn answer(&self, outgoing: &Outgoing, route: &str) -> Result<(StatusCode, Bytes), ClientError> {
        let exchange = tokio::time::timeout(ANSWER_TIMEOUT, self.exchange(outgoing));
        // Include the address, because a wrong one is the most common cause.
        let address = route.replacen(' ', &format!(" {}", self.base), 1);
        let unreachable = |cause: String| ClientError::Unreachable { route: address.clone(), cause };
        exchange
            .await
            .map_err(|_| unreachable(format!("{NO_ANSWER} {} s", ANSWER_TIMEOUT.as_secs())))?
            .map_err(|cause| unreachable(chain(cause.as_ref())))
    }

    async fn exchange(&self, outgoing: &Outgoing) -> Result<(StatusCode, Bytes), Cause> {
        let (mut repeats, mut waited, mut pause) = (0, Duration::ZERO, UNREACHED_PAUSE);
        let response = loop {
            let request = self.request(outgoing)?;
            match self.pool().request(request).await {
                Ok(response) => break response,
                Err(cause) if repeats < REPEATS_MAX && is_unprocessed(&cause) => {
                    tokio::time::sleep(REPEAT_PAUSE * 2_u32.pow(repeats)).await;
                    repeats += 1;
                }
                Err(cause) if waited + pause <= self.retry_for && cause.is_connect() && may_pass(&cause) => {
                    tokio::time::sleep(pause).await;
                    waited += pause;
                    pause = (2 * pause).min(Duration::from_secs(1));
                }
                Err(cause) => return Err(cause.into()),
            }
        };
        let (head, body) = response.into_parts();
        Ok((head.status, Limited::new(body, ANSWER_BYTES_MAX).collect().await?.to_bytes()))
    }

    fn pool(&self) -> &Pool<HttpsConnector<HttpConnector>, Full<Bytes>> {
        &self.pools[self.turn.fetch_add(1, Ordering::Relaxed) % self.pools.len()]
    }

    fn request(&self, outgoing: &Outgoing) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let mut request = Request::builder()
            .method(&outgoing.method)
            .uri(format!("{}{}", self.base, outgoing.path))
            .body(Full::new(outgoing.body.clone()))?;
        let headers = outgoing.headers.iter().cloned().map(|(name, value)| (Some(name), value));
        request.headers_mut().extend(headers);
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        Ok(request)
    }
}

/// The error of an answer that is not a success.
fn refused(route: String, status: StatusCode, body: &[u8]) -> ClientError {
    match serde_json::from_slice::<ProblemDocument>(body) {
        Ok(problem) => ClientError::Problem(Box::new(problem)),
        Err(_) => ClientError::Status { route, status: status.as_u16() },
    }
}

/// Whether HTTP/2 reports that a request was not processed: its stream comes after the last one of a GOAWAY, or was refused.
fn is_unprocessed(error: &(dyn Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |&cause| cause.source());
    causes.filter_map(|cause| cause.downcast_ref::<h2::Error>()).any(|cause| {
        let is_refused = cause.is_reset() && cause.reason() == Some(h2::Reason::REFUSED_STREAM);
        // A stream up to the last one of a GOAWAY ends with its own answer, or with the connection's error.
        cause.is_remote() && (cause.is_go_away() || is_refused)
    })
}

/// Whether a service that is down or starts would be the cause: another name, certificate or protocol stays wrong.
fn may_pass(error: &(dyn Error + 'static)) -> bool {
    use ErrorKind as E;
    let causes = std::iter::successors(Some(error), |&cause| cause.source());
    causes.filter_map(|cause| cause.downcast_ref()).map(innermost).any(|kind| {
        matches!(
            kind,
            E::ConnectionRefused
                | E::ConnectionReset
                | E::ConnectionAborted
                | E::BrokenPipe
                | E::UnexpectedEof
                | E::TimedOut
                | E::HostUnreachable
                | E::NetworkUnreachable
        )
    })
}

/// The TLS connector wraps errors of the socket in others, which do not name them as their source.
fn innermost(error: &io::Error) -> ErrorKind {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    inner.map_or_else(|| error.kind(), innermost)
}

/// The hybrid key exchange X25519MLKEM768 first, X25519 for services without it.
fn provider() -> CryptoProvider {
    CryptoProvider {
        kx_groups: vec![kx_group::X25519MLKEM768, kx_group::X25519],
        ..aws_lc_rs::default_provider()
    }
}

/// TLS 1.3 with these certificates, the service's own or its authorities', as the only trust anchors.
fn pinned(certificate_pem: &[u8], identity_pem: Option<&[u8]>) -> Result<rustls::ClientConfig, ClientError> {
    let refused = |cause: &dyn std::fmt::Display| ClientError::Certificate(cause.to_string());
    let mut roots = RootCertStore::empty();
    for certificate in pem::certificates(certificate_pem).map_err(|cause| refused(&cause))? {
        roots.add(certificate).map_err(|cause| refused(&cause))?;
    }
    let builder = rustls::ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|cause| refused(&cause))?;
    let builder = builder.with_root_certificates(roots);
    let Some(identity) = identity_pem else { return Ok(builder.with_no_client_auth()) };
    let unusable = |cause: &dyn std::fmt::Display| ClientError::Identity(cause.to_string());
    let chain = pem::certificates(identity).map_err(|cause| unusable(&cause))?;
    let key = pem::private_key(identity).map_err(|cause| unusable(&cause))?;
    builder.with_client_auth_cert(chain, key).map_err(|cause| unusable(&cause))
}

/// The certificates of authorities that this machine trusts, PEM: for a service whose certificate is signed by one of them.
///
/// # Errors
/// [`ClientError::Certificate`] if it trusts none.
pub fn system_roots() -> Result<Vec<u8>, ClientError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let why = found.errors.first().map_or(String::new(), |cause| format!(" ({cause})"));
        return Err(ClientError::Certificate(format!(
            "this machine trusts no authority{why}; install ca-certificates"
        )));
    }
    let pem = |certificate: &CertificateDer<'_>| {
        let body = STANDARD.encode(certificate);
        format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
    };
    Ok(found.certs.iter().map(pem).collect::<String>().into_bytes())
}

/// An error with its causes: "client error (Connect): invalid peer certificate: UnknownIssuer".
fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
