//! A gateway in front of a service that the typed client calls.

use crate::client::acceptor;
use crate::world::*;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use trefoil_client::{Admin, Client};

/// Stands in front of one listener, and passes each request on. Or it lies.
pub(crate) struct Relay {
    base: String,
    certificate: String,
    way: Arc<Way>,
}

struct Way {
    to: Endpoint,
    /// The newest answer of the service.
    told: Mutex<Bytes>,
    /// An answer to every request in place of the service's.
    lie: Mutex<Option<Value>>,
    /// How many answers are lost: their connections end once the service has given them.
    lose: AtomicUsize,
    lost: Notify,
}

impl Relay {
    pub(crate) async fn to(listener: &Endpoint) -> Relay {
        let ((tls, certificate), socket) = (acceptor(), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let base = format!("https://localhost:{}", socket.local_addr().unwrap().port());
        let to = Endpoint { bearer: None, ..listener.clone() };
        let way = Arc::new(Way {
            to,
            told: Mutex::default(),
            lie: Mutex::default(),
            lose: AtomicUsize::new(0),
            lost: Notify::new(),
        });
        let taken = Arc::clone(&way);
        tokio::spawn(async move {
            loop {
                let (tls, way) = (tls.clone(), Arc::clone(&taken));
                let stream = socket.accept().await.unwrap().0;
                tokio::spawn(async move {
                    let stream = TokioIo::new(tls.accept(stream).await.unwrap());
                    let own = Arc::clone(&way);
                    let passing = service_fn(move |request| pass(request, Arc::clone(&own)));
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    tokio::select! {
                        // It ends with an error if the client goes away.
                        _ = server.serve_connection(stream, passing) => {}
                        () = way.lost.notified() => {}
                    }
                });
            }
        });
        Relay { base, certificate, way }
    }

    /// Its address, and its certificate.
    pub(crate) fn place(&self) -> (&str, &str) {
        (&self.base, &self.certificate)
    }

    /// Loses the next answers.
    pub(crate) fn lose(&self, answers: usize) {
        self.way.lose.store(answers, Ordering::SeqCst);
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
}

/// Passes a request on to the service, and its answer back.
async fn pass(request: Request<Incoming>, way: Arc<Way>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let header = |name: &str, absent: &str| {
        head.headers.get(name).map_or(absent, |value| value.to_str().unwrap()).to_owned()
    };
    let (shown, kind) = (header("authorization", ""), header("content-type", "application/json"));
    if let Some(lie) = &*way.lie.lock().unwrap() {
        return Ok(Response::new(Full::new(lie.to_string().into())));
    }
    let asked = head.uri.path_and_query().unwrap().as_str();
    let once = header("idempotency-key", "");
    let mut headers = vec![("authorization", shown.as_str()), ("content-type", kind.as_str())];
    headers.extend((!once.is_empty()).then_some(("idempotency-key", once.as_str())));
    let reply = way.to.send(head.method.clone(), asked, &headers, body).await;
    if way.lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
        way.lost.notify_waiters();
        return std::future::pending().await;
    }
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
