//! A client of a few lines: one connection per request, so that tests share nothing.

use crate::{description, siblings, store};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{HeaderMap, Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use trefoil_api::{Authenticated, Decision, Vector};

/// A listener and the certificate that it shows.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    pub(crate) tls: Arc<rustls::ClientConfig>,
    pub(crate) bearer: Option<String>,
}

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A client configuration that trusts the certificate in `path`.
pub(crate) fn tls(path: &Path) -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(path).unwrap()).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(trefoil_server::tls::provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

impl Endpoint {
    pub(crate) fn with_bearer(&self, token: &str) -> Endpoint {
        Endpoint { bearer: Some(token.to_owned()), ..self.clone() }
    }

    /// The same over HTTP/2.
    pub(crate) fn http2(&self) -> Endpoint {
        let mut tls = (*self.tls).clone();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        Endpoint { tls: Arc::new(tls), ..self.clone() }
    }

    pub(crate) async fn connect(&self) -> TlsStream<TcpStream> {
        self.try_connect(siblings::any_of(self.address)).await.unwrap()
    }

    async fn try_connect(&self, address: SocketAddr) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(address).await?;
        // A request would wait for the acknowledgement of the end of the TLS handshake, which the system delays by 40 ms.
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream).await
    }

    /// Sends a request; headers given twice replace the defaults.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Reply {
        self.try_send(method, path, headers, body).await.unwrap()
    }

    /// As [`Endpoint::send`] to a service that may be killed meanwhile.
    pub(crate) async fn try_send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Reply, Box<dyn std::error::Error>> {
        self.try_send_to(siblings::any_of(self.address), method, path, headers, body.into()).await
    }

    /// Whether each of the nodes that may be asked takes requests.
    pub(crate) async fn is_ready(&self) -> bool {
        for address in siblings::all_of(self.address) {
            let asked = self.try_send_to(address, Method::GET, "/readyz", &[], Bytes::new()).await;
            if !asked.is_ok_and(|reply| reply.status == 200) {
                return false;
            }
        }
        true
    }

    async fn try_send_to(
        &self,
        address: SocketAddr,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Reply, Box<dyn std::error::Error>> {
        let stream = TokioIo::new(self.try_connect(address).await?);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
        tokio::spawn(connection);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method.clone();
        *request.uri_mut() = path.parse()?;
        let present = request.headers_mut();
        present.insert("host", "localhost".parse()?);
        present.insert("content-type", "application/json".parse()?);
        if let Some(token) = &self.bearer {
            present.insert("authorization", format!("Bearer {token}").parse()?);
        }
        for (name, value) in headers {
            present.insert(hyper::header::HeaderName::try_from(*name)?, value.parse()?);
        }
        let response = sender.send_request(request).await?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        let reply = Reply { status: parts.status, headers: parts.headers, body };
        description::check(&method, path, &reply);
        if store::is_fleet() && method != Method::GET && !path.starts_with("/v1/authentications") {
            tokio::time::sleep(siblings::HEARD_WITHIN).await;
        }
        Ok(reply)
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, &[], "").await
    }

    /// The value of a metric, of the admin listener; of a fleet the sum over its nodes.
    pub(crate) async fn metric(&self, name: &str) -> u64 {
        let mut sum = 0;
        for node in siblings::all_of(self.address) {
            sum += self.metric_of(node, name).await;
        }
        sum
    }

    async fn metric_of(&self, node: SocketAddr, name: &str) -> u64 {
        let metrics = self.try_send_to(node, Method::GET, "/metrics", &[], Bytes::new()).await.unwrap();
        let line = metrics.text().lines().find(|line| line.starts_with(&format!("{name} ")));
        // A series begins with its first event.
        let none_yet = name.contains('{').then_some("0");
        line.and_then(|line| line.rsplit(' ').next()).or(none_yet).unwrap().parse().unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(Method::POST, path, &[], body.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Reply {
        self.send(Method::PUT, path, &[], body.to_string()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.send(Method::DELETE, path, &[], "").await
    }

    /// Enrols a face under a handle, or replaces the one that is there with PUT.
    pub(crate) async fn try_template(
        &self,
        method: Method,
        handle: impl AsRef<[u8]>,
        (face, consent): (&[f32], &str),
        key: &str,
    ) -> Result<Reply, Box<dyn std::error::Error>> {
        let body = json!({"embeddings": [vector(face)], "consent_ref": consent}).to_string();
        let path = format!("/v1/subjects/{}/templates", hex::encode(handle));
        self.try_send(method, &path, &[("idempotency-key", key)], body).await
    }

    /// Enrols a face under a handle.
    pub(crate) async fn enrol(&self, handle: impl AsRef<[u8]>, face: &[f32], key: &str) -> Reply {
        self.try_template(Method::POST, handle, (face, "form 7"), key).await.unwrap()
    }

    /// As an operator: a new tenant with this policy, by its identifier.
    pub(crate) async fn tenant(&self, policy: &Value) -> String {
        self.post("/v1/tenants", &json!({"name": "shop", "policy": policy})).await.is(201).field("tenant_id")
    }

    /// As an operator: a caller of this public listener, of a new tenant with this policy.
    pub(crate) async fn caller(&self, public: &Endpoint, policy: &Value, scopes: &[&str]) -> Endpoint {
        public.with_bearer(&self.api_key(self.tenant(policy).await, scopes).await)
    }

    /// As an operator: a new API key of this tenant.
    pub(crate) async fn api_key(&self, tenant: impl AsRef<str>, scopes: &[&str]) -> String {
        let path = format!("/v1/tenants/{}/api-keys", tenant.as_ref());
        self.post(&path, &json!({"scopes": scopes})).await.is(201).field("api_key")
    }
}

impl Reply {
    /// Asserts this status.
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Reply {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    /// The decision of a login.
    #[track_caller]
    pub(crate) fn decision(&self) -> Decision {
        answer(self).decision
    }

    /// Asserts a login that matches.
    #[track_caller]
    pub(crate) fn matches(&self) -> Authenticated {
        assert_eq!(self.decision(), Decision::Match);
        answer(self)
    }

    /// Asserts a login that does not match.
    #[track_caller]
    pub(crate) fn denies(&self) -> Authenticated {
        assert_eq!(self.decision(), Decision::NoMatch);
        answer(self)
    }

    /// A member of the body that is a text.
    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> String {
        self.json()[name].as_str().unwrap_or_else(|| panic!("no {name} in {}", self.text())).to_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Asserts a problem of this code, its status and its form (RFC 9457); returns it.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.headers["content-type"], "application/problem+json", "{:.200}", self.text());
        let problem = self.json();
        assert_eq!((self.status.as_u16(), problem["code"].as_str()), (status, Some(code)), "{problem}");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("/v1/problems/{code}"));
        assert_eq!(problem["request_id"], self.headers["request-id"].to_str().unwrap());
        assert!(
            !problem["title"].as_str().unwrap().is_empty() && !problem["detail"].as_str().unwrap().is_empty()
        );
        problem
    }
}

/// A face of any length.
pub(crate) fn vector(face: &[f32]) -> Vector {
    Vector::of(face.to_vec().into()).expect("2 to 512 numbers")
}

pub(crate) fn answer(reply: &Reply) -> Authenticated {
    assert_eq!(reply.status, 200, "{}", reply.text());
    serde_json::from_slice(&reply.body).unwrap()
}
