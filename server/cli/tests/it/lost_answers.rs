//! `trefoil admin` creates once, although an answer is lost.

use crate::cli::{code, trefoil};
use crate::service::{self, Service};
use std::net::SocketAddr;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::spawn_blocking;

/// The first byte of a TLS record that is part of a handshake in the clear.
const HANDSHAKE: u8 = 22;
/// More than the end of the handshake and the beginning of HTTP/2 have together, and less than those and a request.
const REQUEST_BYTES: usize = 300;

/// A path to the admin listener. On its first connections it keeps the answers back, until the test ends them.
struct Path {
    address: SocketAddr,
    lose: Arc<AtomicUsize>,
    /// How many connections that lose their answers have sent a request.
    sent: watch::Receiver<usize>,
    ended: watch::Sender<usize>,
}

impl Path {
    /// A path that loses as many answers as `lose` says.
    async fn to(target: SocketAddr) -> Path {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let (ended, seen) = watch::channel(0);
        let (sends, sent) = watch::channel(0);
        let lost = Arc::new(AtomicUsize::new(0));
        let lose = Arc::clone(&lost);
        tokio::spawn(async move {
            while let Ok((near, _)) = socket.accept().await {
                let far = TcpStream::connect(target).await.unwrap();
                let loses = lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
                tokio::spawn(carry(near, far, loses.is_ok().then(|| sends.clone()), seen.clone()));
            }
        });
        Path { address, lose: lost, sent, ended }
    }

    /// Loses the next answers, each once `done` says that the service has carried out the request; then what the command said.
    async fn loses(
        &self,
        answers: usize,
        mut done: impl AsyncFnMut() -> bool,
        command: Vec<String>,
    ) -> Output {
        let (mut sent, before) = (self.sent.clone(), *self.sent.borrow());
        self.lose.store(answers, Ordering::SeqCst);
        let running =
            spawn_blocking(move || trefoil(&command.iter().map(String::as_str).collect::<Vec<_>>()));
        for answer in 1..=answers {
            sent.wait_for(|sent| *sent == before + answer).await.unwrap();
            while !done().await {
                tokio::task::yield_now().await;
            }
            self.ended.send_modify(|ended| *ended += 1);
        }
        running.await.unwrap()
    }
}

/// Carries a connection. One that loses its answers carries the handshake and the request, and ends with the next count of `ended`.
async fn carry(
    near: TcpStream,
    far: TcpStream,
    loses: Option<watch::Sender<usize>>,
    mut ended: watch::Receiver<usize>,
) {
    let before = *ended.borrow_and_update();
    let ((near_reads, near_writes), (far_reads, far_writes)) = (near.into_split(), far.into_split());
    let (sent, has_sent) = watch::channel(0);
    let requests = tokio::spawn(requests(near_reads, far_writes, sent));
    let until = loses.is_some().then(|| has_sent.clone());
    let answers = tokio::spawn(answers(far_reads, near_writes, until));
    if let Some(sends) = loses {
        let mut has_sent = has_sent;
        has_sent.wait_for(|bytes| *bytes >= REQUEST_BYTES).await.unwrap();
        sends.send_modify(|sent| *sent += 1);
        ended.wait_for(|ended| *ended > before).await.unwrap();
        requests.abort();
        answers.abort();
    }
}

async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, sent: watch::Sender<usize>) {
    let mut bytes = vec![0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        // The first record that is encrypted ends its part of the handshake; then comes the request.
        if bytes[0] != HANDSHAKE || *sent.borrow() > 0 {
            sent.send_modify(|sent| *sent += count);
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

async fn answers(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, until: Option<watch::Receiver<usize>>) {
    let mut bytes = vec![0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let kept_back = until.as_ref().is_some_and(|until| *until.borrow() > 0);
        if !kept_back && to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_whose_answer_is_lost_is_repeated_and_creates_one() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    // What the command did at one node, another one may hear of a moment later.
    let service = Service::new(service::config(&data)).await.at_one_node();
    let path = Path::to(service.admin.address).await;
    let url = format!("https://{}", path.address);
    let command = |rest: &[&str]| -> Vec<String> {
        let place = ["admin", "--admin", &url, "--data-dir", data.to_str().unwrap()];
        [&place[..], rest].concat().iter().map(|word| (*word).to_owned()).collect()
    };
    let count =
        async |list: &str, field: &str| service.admin.get(list).await.json()[field].as_array().unwrap().len();
    let tenants = async || count("/v1/tenants", "tenants").await;
    let said = |output: &Output| {
        String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned()
    };
    assert_eq!(tenants().await, 1);

    // Lost once: the command asks again by itself.
    let create = |name: &str| {
        command(&[
            "tenant",
            "create",
            name,
            "--audience",
            "https://shop.example",
            "--embedder",
            "facenet-128",
        ])
    };
    let created = path.loses(1, async || tenants().await == 2, create("one")).await;
    assert_eq!(code(&created), 0, "{}", said(&created));
    let list = service.admin.get("/v1/tenants").await.text().to_owned();
    let id = said(&created).trim().strip_prefix("tenant ").unwrap().to_owned();
    assert!(list.contains(&id) && tenants().await == 2, "{list}");

    // Lost twice: the error names the key, with which the next command gets the answer.
    let lost = path.loses(2, async || tenants().await == 3, create("two")).await;
    let text = said(&lost);
    assert_eq!(code(&lost), 1, "{text}");
    let (_, key) = text.split_once("--idempotency-key ").unwrap_or_else(|| panic!("no key in: {text}"));
    let again = [create("two"), vec!["--idempotency-key".to_owned(), key.trim().to_owned()]].concat();
    let again = trefoil(&again.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((code(&again), tenants().await), (0, 3), "{}", said(&again));

    // A secret is shown once: its repetition says what to revoke, and no key goes on with it.
    let tenant = hex::encode(service.tenant);
    let keys = async || count(&format!("/v1/tenants/{tenant}/api-keys"), "api_keys").await;
    let (before, file) = (keys().await, folder.path().join("api.key"));
    let create = command(&[
        "api-key",
        "create",
        "--tenant",
        &tenant,
        "--scope",
        "enrol",
        "--output",
        file.to_str().unwrap(),
    ]);
    let shown = path.loses(1, async || keys().await == before + 1, create).await;
    let text = said(&shown);
    assert!(
        code(&shown) == 1 && text.contains("secret-shown") && text.contains("trefoil admin api-key revoke"),
        "{text}"
    );
    assert!(!text.contains("--idempotency-key") && !file.exists(), "{text}");
    assert_eq!(keys().await, before + 1);
    let operators = async || count("/v1/operators", "operators").await;
    let ann = command(&["operator", "create", "ann", "--role", "viewer"]);
    let before = operators().await;
    let shown = path.loses(1, async || operators().await == before + 1, ann).await;
    assert!(code(&shown) == 1 && said(&shown).contains("secret-shown"), "{}", said(&shown));
    assert_eq!(operators().await, before + 1);
    assert!(service.server.shutdown().await);
}
