//! The connection to the collector.

use crate::tls::provider;
use async_trait::async_trait;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry::KeyValue;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter as _;
use rustls::{ClientConfig, RootCertStore};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Longest wait for the collector's answer.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Longest answer that is read. It says how many spans were refused, and why.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// An exporter to the collector at `url`, for a service of this name.
///
/// # Errors
/// Why there can be none on this machine, and what to do.
pub(super) fn exporter(url: &str, service_name: &str) -> Result<SpanExporter, String> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Collector::new(url)?)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(url)
        .with_timeout(ANSWER_MAX)
        .build();
    let mut exporter = exporter.map_err(|cause| {
        format!("no exporter can be made: {cause}; look at the variables that begin with OTEL_EXPORTER_OTLP_")
    })?;
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder_empty().with_service_name(service_name.to_owned());
    exporter.set_resource(&resource.with_attribute(version).build());
    Ok(exporter)
}

/// The collector, to which requests go one after the other.
#[derive(Debug)]
struct Collector {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    url: String,
    /// Whether it did not take the last spans.
    is_away: AtomicBool,
}

impl Collector {
    fn new(url: &str) -> Result<Collector, String> {
        let tls = tls(url.starts_with("https:"))?;
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
        let client = Client::builder(TokioExecutor::new()).build(connector.build());
        Ok(Collector { client, url: url.to_owned(), is_away: AtomicBool::new(false) })
    }

    async fn ask(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let response = self.client.request(request.map(Full::new)).await?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?.to_bytes();
        Ok(Response::from_parts(head, body))
    }

    /// Says in the log when it stops to take spans, and when it takes them again.
    #[expect(
        clippy::disallowed_methods,
        reason = "the thread that exports, once for each request to the collector"
    )]
    fn note(&self, answer: &Result<Response<Bytes>, HttpError>) {
        let cause = match answer {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(format!("it answers {}", answer.status())),
            Err(cause) => Some(chain(&**cause)),
        };
        let was_away = self.is_away.swap(cause.is_some(), Relaxed);
        match cause {
            Some(cause) if !was_away => {
                let next =
                    "spans are dropped until it does: check trace.endpoint, and that the collector runs";
                tracing::warn!(url = %self.url, cause, next, "the collector takes no spans");
            }
            None if was_away => tracing::info!(url = %self.url, "the collector takes spans again"),
            _ => {}
        }
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answer = tokio::time::timeout(ANSWER_MAX, self.ask(request)).await;
        let answer = answer.unwrap_or_else(|_| Err("it does not answer in time".into()));
        self.note(&answer);
        answer
    }
}

/// TLS with the certificate authorities that this machine trusts, or with none where it is not used.
fn tls(is_used: bool) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    if is_used {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            let why = "this machine trusts no certificate authority; install ca-certificates, or name a file in SSL_CERT_FILE";
            return Err(why.to_owned());
        }
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|cause| cause.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// An error with its causes.
fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
