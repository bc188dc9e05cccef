//! The typed client exchanges its API key for access tokens, and sends these: what a relay in front of a service sees of it.

use crate::client::acceptor;
use crate::enrolment::join_all;
use crate::http::Endpoint;
use crate::service::{Service, config};
use crate::store;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use trefoil_api::{Decision, Hex, Scope};
use trefoil_client::{Admin, Client, ClientError};
use trefoil_pipeline::Clock as _;

const TOKENS: &str = "/oauth2/token";
const TENANT: &str = "/v1/tenant";
const LOGINS: &str = "/v1/authentications";

/// Stands in front of a service, passes each request on, and notes its path and its credential. Or it lies.
pub(crate) struct Relay {
    base: String,
    certificate: String,
    way: Arc<Way>,
}

struct Way {
    to: Mutex<Endpoint>,
    seen: Mutex<Vec<(String, String)>>,
    /// Whether the service gets another token than the client sent.
    spoils: AtomicBool,
    /// The newest answer of the service.
    told: Mutex<Bytes>,
    /// An answer to every request in place of the service's.
    lie: Mutex<Option<Value>>,
}

impl Relay {
    async fn start(service: &Service) -> Relay {
        Relay::to(&service.public).await
    }

    /// In front of one listener.
    pub(crate) async fn to(listener: &Endpoint) -> Relay {
        let ((tls, certificate), socket) = (acceptor(), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let base = format!("https://localhost:{}", socket.local_addr().unwrap().port());
        let to = Mutex::new(Endpoint { bearer: None, ..listener.clone() });
        let (spoils, seen) = (AtomicBool::new(false), Mutex::default());
        let way = Arc::new(Way { to, seen, spoils, told: Mutex::default(), lie: Mutex::default() });
        let taken = Arc::clone(&way);
        tokio::spawn(async move {
            loop {
                let (tls, way) = (tls.clone(), Arc::clone(&taken));
                let stream = socket.accept().await.unwrap().0;
                tokio::spawn(async move {
                    let stream = TokioIo::new(tls.accept(stream).await.unwrap());
                    let passing = service_fn(move |request| pass(request, Arc::clone(&way)));
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    // It ends with an error if the client goes away.
                    let _ = server.serve_connection(stream, passing).await;
                });
            }
        });
        Relay { base, certificate, way }
    }

    /// A client that sends this credential.
    pub(crate) fn client(&self, text: &str) -> Client {
        Client::new(&self.base, self.certificate.as_bytes(), text, 1).unwrap()
    }

    /// An operator who sends this token.
    pub(crate) fn operator(&self, token: &str) -> Admin {
        Admin::new(&self.base, self.certificate.as_bytes(), token).unwrap()
    }

    /// The newest answer of the service.
    pub(crate) fn told(&self) -> Value {
        serde_json::from_slice(&self.way.told.lock().unwrap()).unwrap()
    }

    /// Answers every request with this from now on, without asking the service.
    pub(crate) fn lie(&self, lie: Option<Value>) {
        *self.way.lie.lock().unwrap() = lie;
    }

    /// The requests since the last call: path and `Authorization`.
    fn seen(&self) -> Vec<(String, String)> {
        std::mem::take(&mut *self.way.seen.lock().unwrap())
    }

    fn paths(&self) -> Vec<String> {
        self.seen().into_iter().map(|(path, _)| path).collect()
    }

    /// The service was started again.
    fn leads_to(&self, service: &Service) {
        *self.way.to.lock().unwrap() = Endpoint { bearer: None, ..service.public.clone() };
    }
}

/// Passes a request on to the service, and its answer back.
async fn pass(request: Request<Incoming>, way: Arc<Way>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let header = |name: &str, absent: &str| {
        head.headers.get(name).map_or(absent, |value| value.to_str().unwrap()).to_owned()
    };
    let (mut shown, kind) = (header("authorization", ""), header("content-type", "application/json"));
    let path = head.uri.path();
    way.seen.lock().unwrap().push((path.to_owned(), shown.clone()));
    if let Some(lie) = &*way.lie.lock().unwrap() {
        return Ok(Response::new(Full::new(lie.to_string().into())));
    }
    if path != TOKENS && way.spoils.load(Ordering::SeqCst) {
        "Bearer trefoil_access_of_another_process".clone_into(&mut shown);
    }
    let (to, asked) = (way.to.lock().unwrap().clone(), head.uri.path_and_query().unwrap().as_str());
    let once = header("idempotency-key", "");
    let mut headers = vec![("authorization", shown.as_str()), ("content-type", kind.as_str())];
    headers.extend((!once.is_empty()).then_some(("idempotency-key", once.as_str())));
    let reply = to.send(head.method.clone(), asked, &headers, body).await;
    *way.told.lock().unwrap() = reply.body.clone();
    let mut response = Response::new(Full::new(reply.body));
    *response.status_mut() = reply.status;
    for name in ["content-type", "request-id"] {
        if let Some(value) = reply.headers.get(name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    Ok(response)
}

/// The id and the text of a new API key.
async fn created(service: &Service, body: Value) -> (String, String) {
    let path = format!("/v1/tenants/{}/api-keys", hex::encode(service.tenant));
    let created = service.admin.post(&path, &body).await.json();
    let text = |name: &str| created[name].as_str().unwrap().to_owned();
    (text("id"), text("api_key"))
}

fn code<T>(answer: Result<T, ClientError>) -> String {
    answer.err().unwrap().code().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_key_is_sent_only_to_exchange_it_and_tasks_on_all_threads_share_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::new(config(&folder.path().join("data"))).await;
    let (_, key) = created(&service, json!({"scopes": ["enrol", "authenticate"]})).await;
    let relay = Relay::start(&service).await;
    let client = relay.client(&key).with_access_tokens(None).unwrap();
    assert_eq!(relay.paths(), [""; 0], "nothing is sent before the first call");
    let calls = (0..16).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.tenant().await })
    });
    for counts in join_all(calls).await {
        assert_eq!(counts.unwrap().unwrap().tenant_id.0, service.tenant.to_bytes());
    }
    let seen = relay.seen();
    let [(path, basic), others @ ..] = &seen[..] else { panic!("nothing was sent") };
    assert!(path == TOKENS && basic.starts_with("Basic "), "{path}");
    assert_eq!(others.len(), 16, "{others:?}");
    for (path, bearer) in others {
        assert_eq!((path.as_str(), bearer), (TENANT, &others[0].1));
        assert!(bearer.starts_with("Bearer trefoil_access_") && !bearer.contains(&key), "{bearer}");
    }

    // With some of the scopes, and then with others of the same key.
    let narrow = relay.client(&key).with_access_tokens(Some(&[Scope::Enrol])).unwrap();
    assert!(narrow.subjects(Hex([0; 32])).await.unwrap().subjects.is_empty());
    assert_eq!(code(narrow.tenant().await), "scope-missing");
    let other = narrow.with_access_tokens(Some(&[Scope::Authenticate])).unwrap();
    assert_eq!(other.tenant().await.unwrap().locked_out, Some(0));
    relay.seen();

    // For a process that is not to have the key.
    let token = client.access_token(Some(&[Scope::Authenticate])).await.unwrap();
    assert_eq!((token.scopes(), token.valid_for()), (&[Scope::Authenticate][..], Duration::from_secs(600)));
    assert!(!format!("{token:?}").contains(token.text()));
    let kiosk = relay.client(token.text());
    assert_eq!(kiosk.tenant().await.unwrap().locked_out, Some(0));
    assert_eq!(code(kiosk.subjects(Hex([0; 32])).await), "scope-missing");
    assert_eq!(relay.paths(), [TOKENS, TENANT, "/v1/subjects"]);
    let refused = kiosk.access_token(None).await.unwrap_err();
    assert!(refused.to_string().contains("only an API key"), "{refused}");
    assert_eq!(relay.paths(), [""; 0], "it was not sent");
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_has_ended_is_replaced_and_its_request_is_sent_once_more() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(&folder.path().join("data"));
    let service = Service::new(config.clone()).await;
    let people = service.people(1, 1, 92).await;
    service.welcome(&people[0]).await;
    let (_, key) = created(&service, json!({"scopes": ["authenticate"]})).await;
    let relay = Relay::start(&service).await;
    let client = relay.client(&key).with_access_tokens(None).unwrap();
    client.tenant().await.unwrap();
    assert_eq!(relay.paths(), [TOKENS, TENANT]);

    // The service's clock goes ahead of the client's.
    service.clock.advance(600);
    let request = service.request(&people[0], &people[0].face, 1);
    assert_eq!(client.authenticate(&request).await.unwrap().without_verification().decision, Decision::Match);
    assert_eq!(relay.paths(), [LOGINS, TOKENS, LOGINS]);
    assert_eq!(code(client.authenticate(&request).await), "nonce-replayed", "it was decided once");

    // A restart ends all tokens, but for those of a fleet.
    client.tenant().await.unwrap();
    relay.seen();
    let service = service.restart(config).await;
    relay.leads_to(&service);
    client.tenant().await.unwrap();
    let paths: &[&str] = if store::is_fleet() { &[TENANT] } else { &[TENANT, TOKENS, TENANT] };
    assert_eq!(relay.paths(), paths);

    // Once, and not for ever.
    relay.way.spoils.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        assert_eq!(code(client.tenant().await), "caller-unauthenticated");
        assert_eq!(relay.paths(), [TENANT, TOKENS, TENANT]);
    }
    assert!(service.server.shutdown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_renewed_before_its_end_and_a_refused_exchange_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::new(config(&folder.path().join("data"))).await;
    let relay = Relay::start(&service).await;
    // The service's clock stands, so its token of one second is valid throughout.
    let end = service.clock.unix_s() + 1;
    let (_, brief) = created(&service, json!({"scopes": ["authenticate"], "expires_at": end})).await;
    let client = relay.client(&brief).with_access_tokens(None).unwrap();
    let (begun, mut calls, mut seen) = (Instant::now(), 0, Vec::<String>::new());
    while seen.iter().filter(|path| *path == TOKENS).count() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{seen:?}");
        client.tenant().await.unwrap();
        calls += 1;
        seen.extend(relay.paths());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(begun.elapsed() >= Duration::from_millis(800), "{:?}", begun.elapsed());
    assert_eq!(seen.len(), calls + 2, "no call was refused: {seen:?}");

    let (id, key) = created(&service, json!({"scopes": ["authenticate"]})).await;
    let client = relay.client(&key).with_access_tokens(None).unwrap();
    let refused = client.access_token(Some(&[Scope::Issue])).await.unwrap_err();
    let ClientError::Problem(problem) = &refused else { panic!("{refused}") };
    assert_eq!((problem.status, problem.code.as_str()), (400, "invalid_scope"));
    assert!(problem.detail.contains("`authenticate`") && problem.request_id.len() == 32, "{problem:?}");
    let path = |rest: &str| format!("/v1/tenants/{}{rest}", hex::encode(service.tenant));
    service.admin.post(&path("/disable"), &json!({})).await;
    assert_eq!(code(client.tenant().await), "unauthorized_client");
    service.admin.post(&path("/enable"), &json!({})).await;
    client.tenant().await.unwrap();
    relay.seen();
    let revoked = service.admin.send(Method::DELETE, &path(&format!("/api-keys/{id}")), &[], "").await;
    assert_eq!(revoked.status, 200);
    let refused = client.tenant().await.unwrap_err();
    assert_eq!(refused.code(), Some("invalid_client"));
    assert!(refused.to_string().contains("revoked") && !format!("{refused:?}").contains(&key), "{refused}");
    assert_eq!(relay.paths(), [TENANT, TOKENS]);
    assert!(service.server.shutdown().await);
}
