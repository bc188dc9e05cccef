//! TLS, many connections, and connections that do nothing.

use crate::http2;
use crate::world::*;
use rustls::NamedGroup;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Claim V2: Key agreement is hybrid and older protocols are refused.
#[tokio::test(flavor = "multi_thread")]
async fn the_key_exchange_is_hybrid_and_older_protocols_are_refused() {
    let service = Service::start().await;
    let stream = service.public.connect().await;
    let connection = stream.get_ref().1;
    assert_eq!(connection.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
    let group = connection.negotiated_key_exchange_group().map(|group| group.name());
    assert_eq!(group, Some(NamedGroup::X25519MLKEM768));
    // A ClientHello of TLS 1.2: record header, handshake header, version 3.3, random, no session, one suite, no
    // compression, no extensions.
    let hello =
        [&[0x16, 3, 1, 0, 45, 1, 0, 0, 41, 3, 3][..], &[7; 32], &[0, 0, 2, 0xc0, 0x2b, 1, 0]].concat();
    let mut old = TcpStream::connect(service.public.address).await.unwrap();
    old.write_all(&hello).await.unwrap();
    let mut alert = Vec::new();
    old.read_to_end(&mut alert).await.unwrap();
    assert_eq!(alert.first(), Some(&0x15), "a TLS alert");
    drop(stream);
}

/// Reads until the service closes.
async fn until_closed(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut answer = Vec::new();
    // With or without a TLS close.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn http_without_tls_is_told_to_use_https() {
    let service = Service::start().await;
    let body = format!("POST /v1/tenants HTTP/1.1\r\nhost: x\r\n\r\n{}", "x".repeat(5000));
    for (endpoint, request) in
        [(&service.public, "GET / HTTP/1.1\r\nhost: x\r\n\r\n"), (&service.admin, &body)]
    {
        let mut stream = TcpStream::connect(endpoint.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = until_closed(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("call https://"), "{answer}");
    }
    // Neither TLS nor HTTP: an alert at most.
    let mut stream = TcpStream::connect(service.public.address).await.unwrap();
    stream.write_all(b"\x00garbage").await.unwrap();
    assert!(!until_closed(&mut stream).await.contains("HTTP"));
    until(async || closed(&service, "handshake").await >= 2).await;
}

/// How many connections of the public listener were closed for this reason.
pub(crate) async fn closed(service: &Service, reason: &str) -> u64 {
    let labels = format!("{{listener=\"public\",reason=\"{reason}\"}}");
    service.metric(&format!("trefoil_connections_closed_total{labels}")).await
}

/// How many connections of the public listener are in this state.
async fn open(service: &Service, state: &str) -> u64 {
    service.metric(&format!("trefoil_connections{{listener=\"public\",state=\"{state}\"}}")).await
}

/// A connection whose peer has a small receive buffer and reads none of its 200 answers of at least 10 KB.
async fn never_reads(public: &Endpoint) -> TlsStream<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let stream = socket.connect(public.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let tls = TlsConnector::from(Arc::clone(&public.tls));
    let mut stream = tls.connect(name, stream).await.unwrap();
    for _ in 0..200 {
        stream.write_all(b"GET /verify.js HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    }
    stream.flush().await.unwrap();
    stream
}

/// A connection whose flow control lets nothing through, and that is otherwise correct.
async fn zero_window(public: &Endpoint) -> tokio::task::JoinHandle<()> {
    let mut connection = http2::Connection::open(public, Some((http2::INITIAL_WINDOW_SIZE, 0))).await;
    for request in 0..50 {
        connection.request(1 + 2 * request, http2::END_STREAM, "GET", "/verify.js", &[]).await;
    }
    tokio::spawn(async move { while connection.receive().await.is_some() {} })
}

/// Claim V18.
#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_stops_sending_or_reading_is_disconnected() {
    let service = Service::configured(|config| {
        config.limits.handshake_timeout_s = 2;
        config.limits.first_request_timeout_s = 2;
        config.limits.header_timeout_s = 1;
        config.limits.body_timeout_s = 2;
        config.limits.idle_timeout_s = 2;
        config.limits.write_timeout_s = 1;
        config.limits.close_timeout_s = 1;
    })
    .await;
    let public = &service.public;

    let mut silent = TcpStream::connect(public.address).await.unwrap();
    let mut after_tls = public.connect().await;
    let mut half_preface = public.http2().connect().await;
    half_preface.write_all(b"PRI * HTTP/2.0\r\n").await.unwrap();
    let mut half_head = public.connect().await;
    half_head.write_all(b"POST /v1/authentications HTTP/1.1\r\nhost: localhost\r\n").await.unwrap();
    let mut half_body = public.connect().await;
    let bearer = public.bearer.as_ref().unwrap();
    let head = format!(
        "POST /v1/authentications HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {bearer}\r\n\
         content-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
    );
    half_body.write_all(head.as_bytes()).await.unwrap();
    let mut idle = http2::Connection::open(public, None).await;
    idle.request(1, http2::END_STREAM, "GET", "/v1/fhe/parameters", &[]).await;
    let deaf = never_reads(public).await;
    let window = zero_window(public).await;
    public.get("/v1/fhe/parameters").await.is(200);

    assert_eq!(until_closed(&mut silent).await, "");
    assert_eq!(until_closed(&mut after_tls).await, "");
    // The service's own preface.
    assert!(!until_closed(&mut half_preface).await.contains("HTTP"));
    let answer = until_closed(&mut half_head).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    let answer = until_closed(&mut half_body).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("body-timeout"), "{answer}");
    assert!(idle.answer(1).await.len() >= 2);
    let mut told = false;
    while let Some(frame) = idle.receive().await {
        told |= frame.kind == http2::GOAWAY;
    }
    assert!(told, "an idle connection is told that it ends");
    window.await.unwrap();
    // The one that reads nothing does not see its end, but the service does.
    until(async || closed(&service, "write-timeout").await >= 2).await;
    drop(deaf);
    for (reason, times) in
        [("handshake-timeout", 1), ("first-request-timeout", 2), ("head-timeout", 1), ("idle-timeout", 1)]
    {
        assert!(closed(&service, reason).await >= times, "{reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_sends_pings_and_reads_no_answer_is_disconnected() {
    let service = Service::configured(|config| {
        // Only the write deadline ends it: no answer to a request waits.
        config.limits.idle_timeout_s = 600;
        config.limits.write_timeout_s = 1;
    })
    .await;
    let mut connection = http2::Connection::open(&service.public, None).await;
    connection.request(1, http2::END_STREAM, "GET", "/v1/fhe/parameters", &[]).await;
    assert!(connection.answer(1).await.len() >= 2);
    connection.flood(&http2::frame(http2::PING, 0, 0, &[0; 8]).repeat(1000)).await;
    until(async || closed(&service, "write-timeout").await >= 1).await;
}

/// Connections that a client without a credential can hold open, one of each kind.
struct Held {
    _open: [TlsStream<TcpStream>; 4],
    _silent: TcpStream,
    window: tokio::task::JoinHandle<()>,
}

impl Held {
    async fn open(public: &Endpoint) -> Held {
        let [silent, mut half_head, mut half_body] =
            [public.connect().await, public.connect().await, public.connect().await];
        half_head.write_all(b"GET /v1/keys HTTP/1.1\r\nhost: localhost\r\n").await.unwrap();
        let head = "POST /v1/log/cosignatures HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\n";
        half_body.write_all(format!("{head}content-length: 100\r\n\r\nhalf").as_bytes()).await.unwrap();
        Held {
            _open: [silent, half_head, half_body, never_reads(public).await],
            _silent: TcpStream::connect(public.address).await.unwrap(),
            window: zero_window(public).await,
        }
    }
}

/// Claim V21: Clients that read nothing do not delay a shutdown.
#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_the_program_with_code_0_under_clients_that_read_nothing() {
    let directory = tempfile::tempdir().unwrap();
    // Only the shutdown closes these connections, long before any of these deadlines.
    let variables = [
        ("TREFOIL_LIMITS_FIRST_REQUEST_TIMEOUT_S", "300"),
        ("TREFOIL_LIMITS_HEADER_TIMEOUT_S", "60"),
        ("TREFOIL_LIMITS_BODY_TIMEOUT_S", "300"),
        ("TREFOIL_LIMITS_WRITE_TIMEOUT_S", "300"),
        ("TREFOIL_LIMITS_DRAIN_TIMEOUT_S", "600"),
        ("TREFOIL_LIMITS_CLOSE_TIMEOUT_S", "1"),
    ];
    let program = Program::start(&directory.path().join("data"), Stdio::null(), &variables);
    let held = Held::open(&program.public).await;
    program.serves(1).await;
    let ended = tokio::task::spawn_blocking(move || program.terminate());
    assert_eq!(ended.await.unwrap().code(), Some(0));
    held.window.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_waits_for_requests_and_not_for_peers_that_read_nothing() {
    let service = Service::configured(|config| {
        // Nothing but the shutdown ends these connections, and it is given less time than they would take.
        config.limits.idle_timeout_s = 600;
        config.limits.write_timeout_s = 300;
        config.limits.close_timeout_s = 1;
        config.limits.drain_timeout_s = 600;
        config.pipeline.batch_delay_us = 500_000;
    })
    .await;
    let people = service.welcomed(1, 41).await;
    let request = serde_json::to_vec(&service.request(&people[0], &people[0].face, 1)).unwrap();
    let held = Held::open(&service.public).await;
    let public = service.public.clone();
    let waiting =
        tokio::spawn(async move { public.send(Method::POST, "/v1/authentications", &[], request).await });
    until(async || service.metric("trefoil_submitted_total").await >= 1).await;
    assert!(
        service.server.shutdown().await,
        "requests in flight are answered, and no other peer is waited for"
    );
    waiting.await.unwrap().matches();
    held.window.await.unwrap();
}

/// A request of an honest client, which opens a connection for it.
async fn honest(service: &Service) {
    let served = service.public.get("/v1/fhe/parameters");
    let served = tokio::time::timeout(Duration::from_secs(60), served).await;
    assert_eq!(served.expect("it is let in").status, 200);
}

/// Claim V18: A client without a credential cannot keep others out with connections that send nothing or read nothing.
#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_do_not_keep_honest_clients_out() {
    let service = Service::configured(|config| {
        config.limits.connections = 16;
        config.limits.connections_per_peer = 16;
        config.limits.idle_timeout_s = 600;
        config.limits.first_request_timeout_s = 300;
    })
    .await
    .at_one_node();
    let (mut silent, mut half_open, mut idle, mut asking) = (vec![], vec![], vec![], vec![]);
    let post = "POST /v1/log/cosignatures HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\n\
                content-length: 100\r\n\r\n";
    for _ in 0..32 {
        // Without a credential each of these holds a connection for as long as it may.
        half_open.push(TcpStream::connect(service.public.address).await.unwrap());
        silent.push(service.public.connect().await);
        let mut connection = http2::Connection::open(&service.public, None).await;
        connection.request(1, http2::END_STREAM, "GET", "/v1/fhe/parameters", &[]).await;
        assert!(connection.answer(1).await.len() >= 2);
        idle.push(connection);
        let mut connection = service.public.connect().await;
        connection.write_all(post.as_bytes()).await.unwrap();
        asking.push(connection);
        honest(&service).await;
    }
    until(async || closed(&service, "evicted").await >= 4 * 32 - 16).await;
    let states = ["handshake", "silent", "idle", "waiting", "working"];
    let mut places = 0;
    for state in states {
        places += open(&service, state).await;
    }
    assert!(places <= 16, "{places}");
}

/// Claim V18.
#[tokio::test(flavor = "multi_thread")]
async fn a_peer_above_its_cap_loses_its_own_connections() {
    let service = Service::configured(|config| config.limits.connections_per_peer = 4).await;
    let mut honest = http2::Connection::open(&service.public, None).await;
    let other = |_| async {
        // Another address of this machine.
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        socket.connect(service.public.address).await.unwrap()
    };
    let mut many = join_all((0..40).map(other)).await;
    until(async || closed(&service, "evicted").await >= 36).await;
    for stream in &mut many[..30] {
        assert_eq!(until_closed(stream).await, "");
    }
    honest.request(1, http2::END_STREAM, "GET", "/v1/fhe/parameters", &[]).await;
    assert!(honest.answer(1).await.len() >= 2);
}

/// Claim V18.
/// Claim V20.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_with_too_many_refusals_in_a_row_is_closed() {
    let service = Service::configured(|config| config.limits.refusals_in_a_row = 5).await;
    let request = |path| format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let mut http1 = service.public.connect().await;
    // An answer that is not a refusal restarts the count.
    let requests = request("/none").repeat(4) + &request("/v1/fhe/parameters") + &request("/none").repeat(20);
    http1.write_all(requests.as_bytes()).await.unwrap();
    let answers = until_closed(&mut http1).await;
    assert_eq!((answers.matches("HTTP/1.1 404").count(), answers.matches("HTTP/1.1 200").count()), (9, 1));
    assert_eq!(answers.matches("connection: close").count(), 1, "{answers}");

    let mut http2 = http2::Connection::open(&service.public, None).await;
    for request in 0..5 {
        http2.request(1 + 2 * request, http2::END_STREAM, "GET", "/none", &[]).await;
    }
    let (mut ends, mut goaways) = (0, vec![]);
    while let Some(frame) = http2.receive().await {
        ends += usize::from(frame.kind == http2::DATA && frame.flags & http2::END_STREAM != 0);
        if frame.kind == http2::GOAWAY {
            goaways.push(u32::from_be_bytes(frame.payload[..4].try_into().unwrap()));
        }
    }
    // The first says that no stream may be opened any more, the second, after a round trip, which one was the last.
    assert_eq!((ends, &goaways[..]), (5, &[(1 << 31) - 1, 9][..]));
    until(async || closed(&service, "refusals").await >= 2).await;
}

/// Claim V22: A client that is still sending its body gets the refusal and no reset.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_waits_for_the_body_so_that_no_reset_overtakes_it() {
    let service = Service::start().await;
    let reader = format!("Bearer {}", service.api_key(&["enrol"]).await);
    let caller = format!("Bearer {}", service.public.bearer.as_ref().unwrap());
    let json = ("content-type", "application/json");
    for (status, path, headers) in [
        ("404", "/none", vec![json]),
        ("405", "/v1/keys", vec![json]),
        (
            "415",
            "/v1/authentications",
            vec![("authorization", caller.as_str()), ("content-type", "text/plain")],
        ),
        ("403", "/v1/authentications", vec![("authorization", reader.as_str()), json]),
        ("401", "/v1/authentications", vec![json]),
        ("413", "/v1/authentications", vec![("authorization", caller.as_str()), json]),
    ] {
        let mut connection = http2::Connection::open(&service.public, None).await;
        connection.request(1, 0, "POST", path, &headers).await;
        // Long enough for an answer that does not wait.
        tokio::time::sleep(Duration::from_millis(100)).await;
        // More than a login may have.
        for _ in 0..20 {
            connection.send(&http2::frame(http2::DATA, 0, 1, &[b' '; 1000])).await;
        }
        connection.send(&http2::frame(http2::DATA, http2::END_STREAM, 1, &[])).await;
        let frames = connection.answer(1).await;
        // The reset of a service that does not read the body comes right after the answer.
        let after = connection.ping().await;
        let reset = frames.iter().chain(&after).any(|frame| frame.kind == http2::RST_STREAM);
        assert!(!reset, "{status}: a reset");
        let body: Vec<u8> = frames
            .iter()
            .filter(|frame| frame.kind == http2::DATA)
            .flat_map(|frame| frame.payload.clone())
            .collect();
        let body = String::from_utf8(body).unwrap();
        assert!(body.contains(&format!("\"status\":{status}")), "{body}");
    }
}

/// Claim V22.
#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_still_sends_gets_its_refusal_and_no_reset() {
    let service = Service::start().await;
    let bearer = service.public.bearer.as_ref().unwrap();
    let body = vec![0; 300_000];
    let head = format!(
        "POST /v1/proof-sessions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {bearer}\r\n\
         content-type: application/octet-stream\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut peer = service.public.connect().await;
    peer.write_all(head.as_bytes()).await.unwrap();
    let mut refusal = Vec::new();
    // Read to the end: from here on the service has closed its side.
    peer.read_to_end(&mut refusal).await.unwrap();
    let refusal = String::from_utf8(refusal).unwrap();
    assert!(refusal.starts_with("HTTP/1.1 413") && refusal.contains("body-too-large"), "{refusal}");
    // A closed socket would answer the first piece with a reset and break the next.
    for piece in body.chunks(30_000) {
        peer.write_all(piece).await.unwrap();
        peer.flush().await.unwrap();
    }
    drop(peer);
}
