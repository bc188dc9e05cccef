//! The typed client repeats requests that HTTP/2 reports as not processed, and no others.

use crate::http2::frame;
use crate::world::*;
use rustls::pki_types::PrivatePkcs8KeyDer;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use trefoil_client::{Client, ClientError, PublicLog};

/// What a service does with a request.
#[derive(Clone, Copy, Debug)]
enum Does {
    Answer,
    /// GOAWAY with this last stream and this code, then closes.
    GoAway {
        last: u32,
        code: u32,
    },
    /// RST_STREAM with this code.
    Reset(u32),
    /// Closes without a word.
    Close,
}

const NO_ERROR: u32 = 0;
const INTERNAL_ERROR: u32 = 2;
const REFUSED_STREAM: u32 = 7;
const CANCEL: u32 = 8;

/// A scripted service: what it does with each request in turn, and how many came.
struct Scripted {
    base: String,
    client: Client,
    requests: Arc<AtomicUsize>,
}

impl Scripted {
    async fn start(script: Vec<Does>) -> Scripted {
        let ((tls, certificate), socket) = (acceptor(), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let base = format!("https://localhost:{}", socket.local_addr().unwrap().port());
        let requests = Arc::new(AtomicUsize::new(0));
        let came = Arc::clone(&requests);
        tokio::spawn(async move {
            loop {
                let Ok(stream) = tls.accept(socket.accept().await.unwrap().0).await else { continue };
                serve(stream, &script, &came).await;
            }
        });
        let client = Client::new(&base, certificate.as_bytes(), "key", 1).unwrap();
        Scripted { base, client, requests }
    }

    /// The outcome of a request, and how often the service saw it.
    async fn ask(&self) -> (Result<(), ClientError>, usize) {
        let opened = self.client.open_session(vec![7; 1000]).await;
        (opened.map(drop), self.requests.load(Ordering::SeqCst))
    }
}

/// TLS for HTTP/2 with a new certificate for `localhost`, and this certificate.
pub(crate) fn acceptor() -> (TlsAcceptor, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate =
        rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let provider = Arc::new(trefoil_server::tls::provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    (TlsAcceptor::from(Arc::new(config)), certificate.pem())
}

/// Treats the requests of a connection as the script says, until the script says to close.
async fn serve(mut stream: TlsStream<TcpStream>, script: &[Does], requests: &AtomicUsize) {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await.unwrap();
    stream.write_all(&frame(4, 0, 0, &[])).await.unwrap();
    loop {
        let mut head = [0; 9];
        if stream.read_exact(&mut head).await.is_err() {
            return;
        }
        let [_, _, _, kind, flags, id @ ..] = head;
        let (length, id) = (u32::from_be_bytes([0, head[0], head[1], head[2]]), u32::from_be_bytes(id));
        stream.read_exact(&mut vec![0; length as usize]).await.unwrap();
        let answer = match (kind, flags & 1) {
            // SETTINGS are acknowledged.
            (4, 0) => frame(4, 1, 0, &[]),
            // The end of a request, in its HEADERS or DATA.
            (0 | 1, 1) => match script[requests.fetch_add(1, Ordering::SeqCst)] {
                Does::Answer => {
                    let body = json!({"session_id": "00".repeat(32), "expires_at": 1}).to_string();
                    // 0x88 is `:status: 200`.
                    [frame(1, 4, id, &[0x88]), frame(0, 1, id, body.as_bytes())].concat()
                }
                Does::GoAway { last, code } => {
                    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
                    stream.write_all(&frame(7, 0, 0, &payload)).await.unwrap();
                    stream.shutdown().await.unwrap();
                    return;
                }
                Does::Reset(code) => frame(3, 0, id, &code.to_be_bytes()),
                Does::Close => return,
            },
            _ => continue,
        };
        stream.write_all(&answer).await.unwrap();
    }
}

/// Claim V23.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_not_processed_is_sent_again() {
    let unprocessed = [
        // The first stream of a client is 1.
        Does::GoAway { last: 0, code: NO_ERROR },
        Does::GoAway { last: 0, code: INTERNAL_ERROR },
        Does::Reset(REFUSED_STREAM),
    ];
    for does in unprocessed {
        let (asked, requests) = Scripted::start(vec![does, Does::Answer]).await.ask().await;
        assert!(asked.is_ok() && requests == 2, "{does:?}: {asked:?}, {requests} requests");
    }
    let (asked, requests) = Scripted::start(vec![unprocessed[2]; 100]).await.ask().await;
    assert!(asked.is_err() && requests == 6, "not for ever: {requests} requests");
}

/// Claim V23.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_may_have_been_processed_is_not_sent_again() {
    for does in [
        Does::GoAway { last: 1, code: NO_ERROR },
        Does::GoAway { last: (1 << 31) - 1, code: NO_ERROR },
        Does::GoAway { last: 1, code: INTERNAL_ERROR },
        Does::Reset(INTERNAL_ERROR),
        Does::Reset(CANCEL),
        Does::Close,
    ] {
        let (asked, requests) = Scripted::start(vec![does, Does::Answer]).await.ask().await;
        assert!(asked.is_err() && requests == 1, "{does:?}: {asked:?}, {requests} requests");
    }
}

/// Claim V23: The typed client repeats exactly the requests that HTTP/2 reports as not processed, and those for which there was no
/// connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_cannot_be_reached_is_waited_for() {
    let (tls, certificate) = acceptor();
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let base = format!("https://localhost:{}", socket.local_addr().unwrap().port());
    let client = Client::new(&base, certificate.as_bytes(), "key", 1).unwrap();
    let at_once = client.retrying_for(Duration::ZERO).open_session(vec![7]).await;
    assert!(at_once.err().unwrap().is_unsent());
    let requests = AtomicUsize::new(0);
    let comes_back = async {
        // Nobody sees a connection that is refused.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let socket = socket.listen(8).unwrap();
        // It ends in its TLS handshake.
        drop(socket.accept().await.unwrap());
        let stream = tls.accept(socket.accept().await.unwrap().0).await.unwrap();
        serve(stream, &[Does::Answer], &requests).await;
    };
    let asked = tokio::select! {
        asked = client.open_session(vec![7]) => asked,
        () = comes_back => panic!("the connection ended"),
    };
    assert!(asked.is_ok() && requests.load(Ordering::SeqCst) == 1, "{:?}", asked.err());
    // Another certificate would be as wrong later.
    let (_, other) = acceptor();
    let service = Scripted::start(vec![]).await;
    let client = Client::new(&service.base, other.as_bytes(), "key", 1).unwrap();
    let wrong = client.retrying_for(Duration::MAX).open_session(vec![7]).await;
    let wrong = wrong.err().unwrap().to_string();
    assert!(wrong.contains("invalid peer certificate"), "{wrong}");
}

/// Claim V23.
#[tokio::test(flavor = "multi_thread")]
async fn requests_lose_nothing_while_the_service_closes_connections_under_them() {
    // Every other refusal ends a connection.
    let service = Service::configured(|config| config.limits.refusals_in_a_row = 2).await;
    let pem = std::fs::read(service.server.certificate_path()).unwrap();
    let log = PublicLog::new(&format!("https://{}", service.server.public_address()), &pem).unwrap();
    for _ in 0..20 {
        // No seal has this number.
        let asked = join_all((0..50).map(|number| log.seal(1_000_000 + number))).await;
        for answer in asked {
            assert_eq!(answer.unwrap(), None);
        }
    }
}
