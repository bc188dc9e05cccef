//! The nodes of a fleet are started again one after another behind a balancer, and then a key-holder, and no caller sees it who repeats requests as
//! `server/API.md` says. Logins over HTTP/1.1 need not be repeated while nodes are started again.

use crate::fleet::{Fleet, NODES, Plan};
use crate::renewal::pair;
use crate::service::request_at;
use crate::world::*;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::task::block_in_place;
use trefoil_host::unix_s;
use trefoil_testing::postgres::Server;

/// Between two questions of the balancer whether a node is ready.
const ASK: Duration = Duration::from_millis(100);
const LOGINS: &str = "/v1/authentications";
/// Callers of each kind that logs in.
const CALLERS: u64 = 2;
/// Logins at a time on a connection over HTTP/2.
const STREAMS: u64 = 3;
/// In which what is waited for happens.
const WITHIN: Duration = Duration::from_secs(120);
/// What asks for a new login with a fresh nonce; whatever has `Retry-After` is sent again as it is.
const ANEW: [&str; 5] = ["nonce-replayed", "policy-out-of-step", "unsealed", "timed-out", "before-restart"];
const BROKEN: &str = "broken";
/// Why a request is repeated only if a node ends while it has it.
const OF_AN_END: [&str; 2] = [BROKEN, "draining"];

/// Public and admin listener of a node that is there, and whether it said that it is ready.
type Node = (Endpoint, Endpoint, bool);
/// One of the listeners of a node.
type Listener = fn(&Node) -> &Endpoint;

/// Sends each connection to a node that is ready, and to the next one if that does not take it. Connections that are there go on.
#[derive(Default)]
struct Balancer {
    nodes: Mutex<Vec<Node>>,
    turn: AtomicUsize,
}

impl Balancer {
    fn start() -> Arc<Balancer> {
        let balancer = Arc::new(Balancer::default());
        tokio::spawn(Arc::clone(&balancer).ask());
        balancer
    }

    /// Listens for those who call the public or the admin listeners.
    async fn listen(self: &Arc<Self>, to: Listener) -> SocketAddr {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, own) = (socket.local_addr().unwrap(), Arc::clone(self));
        tokio::spawn(async move {
            while let Ok((caller, _)) = socket.accept().await {
                tokio::spawn(Arc::clone(&own).pass(caller, to));
            }
        });
        address
    }

    async fn ask(self: Arc<Self>) {
        loop {
            let nodes = self.nodes.lock().unwrap().clone();
            for (public, admin, _) in nodes {
                let ready = admin.try_send(Method::GET, "/readyz", &[], "").await;
                let ready = ready.is_ok_and(|ready| ready.status == 200);
                for node in self.nodes.lock().unwrap().iter_mut() {
                    node.2 = if node.0.address == public.address { ready } else { node.2 };
                }
            }
            tokio::time::sleep(ASK).await;
        }
    }

    async fn pass(self: Arc<Self>, mut caller: TcpStream, to: Listener) {
        let mut ready: Vec<SocketAddr> = self.ready(to);
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % ready.len();
        ready.rotate_left(turn);
        for node in ready {
            if let Ok(mut node) = TcpStream::connect(node).await {
                // A caller may go at any time.
                let _ = copy_bidirectional(&mut caller, &mut node).await;
                return;
            }
        }
    }

    fn ready(&self, to: Listener) -> Vec<SocketAddr> {
        self.nodes.lock().unwrap().iter().filter(|node| node.2).map(|node| to(node).address).collect()
    }

    /// Waits until so many nodes are ready.
    async fn has(&self, count: usize) {
        until(async || self.ready(|node| &node.0).len() == count).await;
    }
}

/// What callers share.
struct Callers {
    person: Person,
    /// Who enrols and is deleted again and again.
    comes: Person,
    public: Endpoint,
    admin: Endpoint,
    /// The path of a tenant that operators change.
    tenant: String,
    nonce: AtomicU64,
    ended: AtomicBool,
    told: Mutex<Told>,
}

/// By kind of caller.
#[derive(Default)]
struct Told {
    done: BTreeMap<&'static str, u64>,
    /// With the reason.
    repeated: BTreeMap<(&'static str, String), u64>,
}

/// The code of a problem.
fn code(reply: &Reply) -> String {
    reply.json()["code"].as_str().unwrap_or_default().to_owned()
}

/// Whether a login is to be made anew. These answers may have `Retry-After` too.
fn asks_anew(reply: &Reply) -> bool {
    reply.status != 200 && reply.status != 201 && ANEW.contains(&code(reply).as_str())
}

impl Callers {
    /// A login that nobody made before.
    fn login(&self) -> Vec<u8> {
        let nonce = self.nonce.fetch_add(1, Ordering::Relaxed);
        serde_json::to_vec(&request_at(unix_s(), &self.person, &self.person.face, nonce)).unwrap()
    }

    fn goes_on(&self) -> bool {
        !self.ended.load(Ordering::Relaxed)
    }

    fn did(&self, kind: &'static str) {
        *self.told.lock().unwrap().done.entry(kind).or_default() += 1;
    }

    async fn repeats(&self, kind: &'static str, reason: String) {
        *self.told.lock().unwrap().repeated.entry((kind, reason)).or_default() += 1;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }

    /// Sends the same request until the answer asks for no such repetition.
    async fn send(&self, kind: &'static str, mut sent: impl AsyncFnMut() -> Result<Reply, String>) -> Reply {
        loop {
            let reason = match sent().await {
                Err(reason) => reason,
                Ok(reply) if reply.headers.contains_key("retry-after") && !asks_anew(&reply) => code(&reply),
                Ok(reply) => return reply,
            };
            self.repeats(kind, reason).await;
        }
    }

    /// Logs in, and anew with a fresh nonce where the answer asks for that.
    async fn logs_in(&self, kind: &'static str, mut sent: impl AsyncFnMut(&[u8]) -> Result<Reply, String>) {
        loop {
            let request = self.login();
            let reply = self.send(kind, async || sent(&request).await).await;
            if reply.status == 200 {
                reply.matches();
                return self.did(kind);
            }
            assert!(asks_anew(&reply), "{kind}: {}", reply.text());
            self.repeats(kind, code(&reply)).await;
        }
    }

    /// Logs in on a new connection each time.
    async fn call_anew(self: Arc<Self>) {
        while self.goes_on() {
            let sent = async |request: &[u8]| {
                self.public.try_send(Method::POST, LOGINS, &[], request.to_vec()).await.map_err(broken)
            };
            self.logs_in("anew", sent).await;
        }
    }

    fn request(&self, request: &[u8], uri: &str) -> Request<Full<Bytes>> {
        let bearer = format!("Bearer {}", self.public.bearer.as_ref().unwrap());
        Request::post(uri)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("authorization", bearer)
            .body(Full::new(Bytes::copy_from_slice(request)))
            .unwrap()
    }

    /// Logs in on one connection until the service closes it. Returns how many there were.
    async fn call_kept(self: Arc<Self>) -> u32 {
        let (mut sender, mut opened) = (None, 0);
        while self.goes_on() {
            let sent = async |request: &[u8]| {
                if sender.as_ref().is_none_or(http1::SendRequest::is_closed) {
                    let stream = TokioIo::new(self.public.connect().await);
                    let (new, connection) = http1::handshake(stream).await.map_err(broken)?;
                    tokio::spawn(connection);
                    (sender, opened) = (Some(new), opened + 1);
                }
                let on = sender.as_mut().unwrap();
                on.ready().await.map_err(broken)?;
                let reply = on.send_request(self.request(request, LOGINS)).await.map_err(broken)?;
                let reply = whole(reply).await?;
                if reply.headers.get("connection").is_some_and(|says| says == "close") {
                    sender = None;
                }
                Ok(reply)
            };
            self.logs_in("kept", sent).await;
        }
        opened
    }

    /// Logs in over HTTP/2, several at a time on one connection until the service closes it. Returns how many there were.
    async fn call_multiplexed(self: Arc<Self>) -> u32 {
        let mut opened = 0;
        while self.goes_on() {
            let stream = TokioIo::new(self.public.http2().connect().await);
            let Ok((sender, connection)) = http2::handshake(TokioExecutor::new(), stream).await else {
                continue;
            };
            tokio::spawn(connection);
            opened += 1;
            let streams = (0..STREAMS).map(|_| self.on_a_stream(sender.clone()));
            join_all(streams).await;
        }
        opened
    }

    /// Logs in one after the other on a connection, until it ends. What it breaks is repeated on a new one.
    async fn on_a_stream(&self, mut sender: http2::SendRequest<Full<Bytes>>) {
        let uri = format!("https://localhost{LOGINS}");
        while self.goes_on() && !sender.is_closed() {
            let mut is_first = true;
            let sent = async |request: &[u8]| {
                // A repetition is of a new connection, as a client makes one when the old one is about to end.
                if !std::mem::replace(&mut is_first, false) {
                    return self
                        .public
                        .try_send(Method::POST, LOGINS, &[], request.to_vec())
                        .await
                        .map_err(broken);
                }
                let reply = sender.send_request(self.request(request, &uri)).await;
                whole(reply.map_err(|cause| not_taken(&cause).unwrap_or_else(|| broken(cause)))?).await
            };
            self.logs_in("multiplexed", sent).await;
        }
    }

    /// Enrols somebody, asks again with the same key, and deletes them.
    async fn enrol(self: Arc<Self>) {
        let path = templates_path(&self.comes);
        for number in 0.. {
            let key = format!("enrolment-{number}");
            let (handle, face, kind) = (self.comes.handle, (&self.comes.face[..], "form 7"), "enrolments");
            for _ in 0..2 {
                let sent =
                    async || self.public.try_template(Method::POST, handle, face, &key).await.map_err(broken);
                self.send(kind, sent).await.is(201);
            }
            let mut times = 0;
            let sent = async || {
                times += 1;
                self.public.try_send(Method::DELETE, &path, &[], "").await.map_err(broken)
            };
            let gone = self.send(kind, sent).await;
            // After a repetition it means done.
            assert!(gone.status == 200 || (gone.status == 404 && times > 1), "{}", gone.text());
            self.did(kind);
            if !self.goes_on() {
                return;
            }
        }
    }

    /// Makes an API key, and sets the policy.
    async fn operate(self: Arc<Self>) {
        let (keys, policy) = (format!("{}/api-keys", self.tenant), format!("{}/policy", self.tenant));
        for number in 0.. {
            let (key, kind) = (format!("operator-{number}"), "operators");
            let (headers, scopes) =
                ([("idempotency-key", key.as_str())], json!({"scopes": ["authenticate"]}));
            let sent = async || {
                self.admin.try_send(Method::POST, &keys, &headers, scopes.to_string()).await.map_err(broken)
            };
            self.send(kind, sent).await.is(201);
            let body = json!({"policy": service::policy()}).to_string();
            let sent =
                async || self.admin.try_send(Method::PUT, &policy, &[], body.clone()).await.map_err(broken);
            self.send(kind, sent).await.is(200);
            self.did(kind);
            if !self.goes_on() {
                return;
            }
        }
    }

    /// Waits until callers of each of these kinds have done so much more.
    async fn do_more(&self, kinds: &[&'static str], more: u64) {
        let done = || -> Vec<u64> {
            let told = self.told.lock().unwrap();
            kinds.iter().map(|kind| told.done.get(kind).copied().unwrap_or(0)).collect()
        };
        let (begun, before) = (Instant::now(), done());
        while done().iter().zip(&before).any(|(now, before)| *now < before + more) {
            assert!(begun.elapsed() < WITHIN, "{kinds:?}: {before:?}, and now {:?}", done());
            tokio::time::sleep(ASK).await;
        }
    }
}

fn broken(cause: impl Into<Box<dyn Error>>) -> String {
    format!("{BROKEN}: {:?}", cause.into())
}

/// That the service said of a request over HTTP/2 that it did not take it, or that it was not sent. Clients repeat such a request on their own.
fn not_taken(cause: &hyper::Error) -> Option<String> {
    let is_left_out = format!("{cause:?}").contains("NO_ERROR, Remote");
    (is_left_out || cause.is_canceled()).then(|| "not taken".to_owned())
}

/// An answer with its body.
async fn whole(response: Response<Incoming>) -> Result<Reply, String> {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.map_err(broken)?.to_bytes();
    Ok(Reply { status: parts.status, headers: parts.headers, body })
}

/// A caller on a thread of its own.
fn begins<F: Future>(
    callers: &Arc<Callers>,
    calls: impl FnOnce(Arc<Callers>) -> F + Send + 'static,
) -> JoinHandle<F::Output>
where
    F::Output: Send + 'static,
{
    let (callers, handle) = (Arc::clone(callers), Handle::current());
    std::thread::spawn(move || handle.block_on(calls(callers)))
}

const LOG_IN: [&str; 3] = ["anew", "kept", "multiplexed"];
const CHANGE: [&str; 2] = ["enrolments", "operators"];

/// Claim V129: The nodes of a fleet are restarted one after another behind a balancer, and no login on a new or a kept connection fails,
/// over HTTP/1.1 or HTTP/2. Nor does an enrolment with its key or a change by an operator, also while one of three key-holders is started
/// again, for callers who repeat requests as API.md says.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_are_started_again_one_after_another_fail_no_request() {
    let Some(server) = Server::shared() else { return };
    let (mut policy, mut plan) = (service::policy(), Plan::quorum(server));
    policy["attempts"] = service::unlimited();
    // A balancer that does not end TLS needs nodes with one certificate.
    for (name, text) in ["TREFOIL_TLS_CERTIFICATE", "TREFOIL_TLS_PRIVATE_KEY"].into_iter().zip(pair()) {
        let file = plan.folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        plan.every_node(name, file.to_str().unwrap());
    }
    plan.every_node("TREFOIL_SERVER_LEAVE_S", "2");
    let mut fleet = Fleet::of(plan, policy).await;
    let [person, comes] = fleet.at(0).people(2, 1, 71).await.try_into().ok().expect("two people");
    fleet.at(0).welcome(&person).await;
    let other = json!({"name": "other", "policy": service::policy()});
    let other = fleet.at(0).admin.post("/v1/tenants", &other).await.json();

    let balancer = Balancer::start();
    let entry = |node: &Program| (node.public.clone(), node.admin.clone(), false);
    *balancer.nodes.lock().unwrap() = fleet.nodes.iter().map(entry).collect();
    balancer.has(NODES).await;
    let public = balancer.listen(|node| &node.0).await;
    let admin = balancer.listen(|node| &node.1).await;
    let callers = Arc::new(Callers {
        person,
        comes,
        public: Endpoint { address: public, ..fleet.at(0).public.clone() },
        admin: Endpoint { address: admin, ..fleet.at(0).admin.clone() },
        tenant: format!("/v1/tenants/{}", other["tenant_id"].as_str().unwrap()),
        nonce: AtomicU64::new(1),
        ended: AtomicBool::new(false),
        told: Mutex::default(),
    });
    let (mut others, mut connected) = (Vec::new(), Vec::new());
    others.push(begins(&callers, Callers::enrol));
    others.push(begins(&callers, Callers::operate));
    for _ in 0..CALLERS {
        others.push(begins(&callers, Callers::call_anew));
        connected.push(begins(&callers, Callers::call_kept));
        connected.push(begins(&callers, Callers::call_multiplexed));
    }
    callers.do_more(&[&LOG_IN[..], &CHANGE[..]].concat(), 1).await;

    for number in 0..NODES {
        let node = fleet.nodes.remove(number);
        let (ended, _) =
            tokio::join!(async { block_in_place(|| node.terminate()) }, callers.do_more(&LOG_IN, 2),);
        assert_eq!(ended.code(), Some(0), "node {number}");
        let node = block_in_place(|| fleet.plan.started(number));
        balancer.nodes.lock().unwrap()[number] = entry(&node);
        fleet.nodes.insert(number, node);
        balancer.has(NODES).await;
        callers.do_more(&CHANGE, 1).await;
    }
    let told = std::mem::take(&mut callers.told.lock().unwrap().repeated);
    let of_an_end = told.keys().filter(|(_, reason)| OF_AN_END.iter().any(|of| reason.starts_with(of)));
    assert_eq!(of_an_end.collect::<Vec<_>>(), Vec::<&(&str, String)>::new(), "{told:?}");

    // Two of three decide. Whatever needs all three waits for the third.
    fleet.plan.key_holders[1].kill();
    callers.do_more(&LOG_IN, 3).await;
    fleet.plan.key_holder_back(1);
    callers.do_more(&CHANGE, 2).await;
    callers.ended.store(true, Ordering::Relaxed);
    for caller in others {
        block_in_place(|| caller.join().unwrap());
    }
    for caller in connected {
        let times = block_in_place(|| caller.join().unwrap());
        assert!(times > 1, "its node has ended, so it has connected again");
    }
}
