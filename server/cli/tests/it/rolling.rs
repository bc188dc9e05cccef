//! The nodes of a fleet are started again one after another behind a balancer, and no caller sees it.

use crate::fleet::{Fleet, NODES, Plan};
use crate::http::Endpoint;
use crate::program::Program;
use crate::renewal::pair;
use crate::service::{self, Person, answer, request_at};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::block_in_place;
use trefoil_api::Decision;
use trefoil_key_holder::unix_s;
use trefoil_testing::postgres::Server;

/// Between two questions of the balancer whether a node is ready.
const ASK: Duration = Duration::from_millis(100);
const LOGINS: &str = "/v1/authentications";
/// Callers of each kind.
const CALLERS: u64 = 2;

/// Sends each connection to a node that is ready, and to the next one if that does not take it. Connections that are there go on.
#[derive(Default)]
struct Balancer {
    /// Public and admin listener of each node that is there, and whether it said that it is ready.
    nodes: Mutex<Vec<(Endpoint, Endpoint, bool)>>,
    turn: AtomicUsize,
}

impl Balancer {
    async fn start() -> (Arc<Balancer>, SocketAddr) {
        let (balancer, socket) =
            (Arc::new(Balancer::default()), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let address = socket.local_addr().unwrap();
        tokio::spawn(Arc::clone(&balancer).ask());
        let own = Arc::clone(&balancer);
        tokio::spawn(async move {
            while let Ok((caller, _)) = socket.accept().await {
                tokio::spawn(Arc::clone(&own).pass(caller));
            }
        });
        (balancer, address)
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

    async fn pass(self: Arc<Self>, mut caller: TcpStream) {
        let mut ready: Vec<SocketAddr> = self.ready();
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

    fn ready(&self) -> Vec<SocketAddr> {
        self.nodes.lock().unwrap().iter().filter(|node| node.2).map(|node| node.0.address).collect()
    }

    /// Waits until so many nodes are ready.
    async fn has(&self, count: usize) {
        while self.ready().len() != count {
            tokio::time::sleep(ASK).await;
        }
    }
}

/// What callers share.
struct Callers {
    person: Person,
    through: Endpoint,
    nonce: AtomicU64,
    ended: AtomicBool,
}

impl Callers {
    /// The next request; none at the end.
    fn request(&self) -> Option<Vec<u8>> {
        let nonce = self.nonce.fetch_add(1, Ordering::Relaxed);
        let request = request_at(unix_s(), &self.person, &self.person.face, nonce);
        (!self.ended.load(Ordering::Relaxed)).then(|| serde_json::to_vec(&request).unwrap())
    }

    /// Logs in on a new connection each time.
    async fn call_anew(self: Arc<Self>) {
        while let Some(request) = self.request() {
            let reply = self.through.send(Method::POST, LOGINS, &[], request).await;
            assert_eq!(answer(&reply).decision, Decision::Match);
        }
    }

    /// Logs in on one connection until the service closes it. Returns how many there were.
    async fn call_kept(self: Arc<Self>) -> u32 {
        let (mut sender, mut opened) = (None, 0);
        while let Some(request) = self.request() {
            if sender.as_ref().is_none_or(SendRequest::is_closed) {
                let stream = TokioIo::new(self.through.connect().await);
                let (new, connection) = handshake::<_, Full<Bytes>>(stream).await.unwrap();
                tokio::spawn(connection);
                (sender, opened) = (Some(new), opened + 1);
            }
            let bearer = format!("Bearer {}", self.through.bearer.as_ref().unwrap());
            let request = Request::post(LOGINS)
                .header("host", "localhost")
                .header("content-type", "application/json")
                .header("authorization", bearer)
                .body(Full::new(Bytes::from(request)))
                .unwrap();
            let on = sender.as_mut().unwrap();
            on.ready().await.unwrap();
            let reply = on.send_request(request).await.unwrap();
            let (status, says) = (reply.status(), reply.headers().get("connection").cloned());
            let body = reply.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
            if says.is_some_and(|says| says == "close") {
                sender = None;
            }
        }
        opened
    }
}

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
    let person = fleet.at(0).people(1, 1, 71).await.pop().unwrap();
    fleet.at(0).welcome(&person).await;

    let (balancer, address) = Balancer::start().await;
    let entry = |node: &Program| (node.public.clone(), node.admin.clone(), false);
    *balancer.nodes.lock().unwrap() = fleet.nodes.iter().map(entry).collect();
    balancer.has(NODES).await;
    let through = Endpoint { address, ..fleet.at(0).public.clone() };
    let callers =
        Arc::new(Callers { person, through, nonce: AtomicU64::new(1), ended: AtomicBool::new(false) });
    let anew = (0..CALLERS).map(|_| tokio::spawn(Arc::clone(&callers).call_anew()));
    let anew: Vec<_> = anew.collect();
    let kept: Vec<_> = (0..CALLERS).map(|_| tokio::spawn(Arc::clone(&callers).call_kept())).collect();

    for number in 0..NODES {
        let before = callers.nonce.load(Ordering::Relaxed);
        let node = fleet.nodes.remove(number);
        assert_eq!(block_in_place(|| node.terminate()).code(), Some(0), "node {number}");
        let node = block_in_place(|| fleet.plan.started(number));
        balancer.nodes.lock().unwrap()[number] = entry(&node);
        fleet.nodes.insert(number, node);
        balancer.has(NODES).await;
        assert!(callers.nonce.load(Ordering::Relaxed) > before + 2 * CALLERS, "nobody called meanwhile");
    }
    callers.ended.store(true, Ordering::Relaxed);
    for caller in anew {
        caller.await.unwrap();
    }
    for caller in kept {
        assert!(caller.await.unwrap() > 1, "its node has ended, so it has connected again");
    }
}
