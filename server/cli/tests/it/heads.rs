//! Heads that RFC 9110 and RFC 9112 forbid, or that the service does not support: each refusal has a problem document and a request id.

use crate::connections::closed;
use crate::http2;
use crate::world::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// An answer as it was sent.
struct Answer {
    status: u16,
    head: String,
    /// The code of its problem document; empty if it has another body.
    code: String,
}

impl Answer {
    /// The first answer of these bytes, and the rest of them.
    #[track_caller]
    fn first(bytes: &str) -> (Answer, &str) {
        let (head, rest) = bytes.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {bytes:?}"));
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let status = head["HTTP/1.1 ".len()..][..3].parse().unwrap();
        let (body, rest) = rest.split_at(field("content-length:").unwrap().parse().unwrap());
        let id = field("request-id:").unwrap_or_else(|| panic!("no id: {head}"));
        let mut code = String::new();
        if field("content-type:") == Some("application/problem+json") {
            let problem: Value = serde_json::from_str(body).unwrap();
            assert_eq!((&problem["status"], &problem["request_id"]), (&json!(status), &json!(id)));
            code = problem["code"].as_str().unwrap().to_owned();
        }
        (Answer { status, head: head.to_owned(), code }, rest)
    }
}

/// Every byte that the service sends for these, until it closes.
async fn sent(to: &Endpoint, request: &str) -> String {
    let mut stream = to.connect().await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answers = Vec::new();
    // With or without a TLS close.
    let _ = stream.read_to_end(&mut answers).await;
    String::from_utf8(answers).unwrap()
}

/// Claim V151: Over HTTP/1.1 every refusal has a problem document and a request id, also of a head that the HTTP library cannot read. A
/// missing or a second `Host`, an unknown transfer coding, a compressed body and a charset other than UTF-8 are refused as such.
#[tokio::test(flavor = "multi_thread")]
async fn every_head_that_is_refused_gets_a_problem_and_an_id() {
    let service = Service::start().await;
    let headers = |count: usize| "x: y\r\n".repeat(count);
    let long = |bytes: usize| format!("x: {}\r\n", "y".repeat(bytes));
    let get =
        |headers: &str| format!("GET /v1/fhe/parameters HTTP/1.1\r\nconnection: close\r\n{headers}\r\n");
    let chunked = |codings: &str| {
        format!(
            "POST /v1/log/cosignatures HTTP/1.1\r\nconnection: close\r\nhost: localhost\r\ncontent-type: text/plain\r\n\
             transfer-encoding: {codings}\r\n\r\n0\r\n\r\n"
        )
    };
    let host = "host: localhost\r\n";
    let with_host = |headers: &str| get(&format!("{host}{headers}"));
    for (request, status, code) in [
        (with_host(""), 200, ""),
        (get("host: localhost:8443\r\n"), 200, ""),
        (get("host: [::1]:8443\r\n"), 200, ""),
        (get("host:\r\n"), 200, ""),
        ("GET /v1/fhe/parameters HTTP/1.0\r\n\r\n".to_owned(), 200, ""),
        ("GET https://localhost/v1/fhe/parameters HTTP/1.1\r\nconnection: close\r\nhost: localhost\r\n\r\n".to_owned(), 200, ""),
        (get(""), 400, "malformed-request"),
        (with_host(host), 400, "malformed-request"),
        (with_host("host: elsewhere\r\n"), 400, "malformed-request"),
        (get("host: local host\r\n"), 400, "malformed-request"),
        (get("host: me@localhost\r\n"), 400, "malformed-request"),
        (get("host: localhost/\r\n"), 400, "malformed-request"),
        // The HTTP library reads a hundred headers.
        (with_host(&headers(98)), 200, ""),
        (with_host(&headers(99)), 431, "head-too-large"),
        (with_host(&headers(2_000)), 431, "head-too-large"),
        (with_host(&long(20_000)), 431, "head-too-large"),
        (with_host(&long(100_000)), 431, "head-too-large"),
        (with_host("no colon\r\n"), 400, "malformed-request"),
        (with_host("x y: z\r\n"), 400, "malformed-request"),
        (with_host("content-length: x\r\n"), 400, "malformed-request"),
        (with_host("content-length: 0\r\ncontent-length: 1\r\n"), 400, "malformed-request"),
        ("GET / HTTP/7.7\r\nhost: localhost\r\n\r\n".to_owned(), 400, "malformed-request"),
        ("GET  HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(), 400, "malformed-request"),
        (chunked("chunked").replace("HTTP/1.1", "HTTP/1.0"), 400, "malformed-request"),
        // Without `chunked` at the end nobody knows where the body ends.
        (chunked("gzip"), 400, "malformed-request"),
        (chunked("chunked, gzip"), 400, "malformed-request"),
        (chunked("gzip, chunked"), 501, "transfer-coding-unknown"),
        (chunked("gzip\r\ntransfer-encoding: chunked"), 501, "transfer-coding-unknown"),
        (chunked("chunked, chunked"), 501, "transfer-coding-unknown"),
        // This one is read, and its checkpoint is empty.
        (chunked("Chunked"), 400, "malformed-request"),
    ] {
        let answers = sent(&service.public, &request).await;
        // A reset may overtake the answer where the library does not read all of a request.
        if answers.is_empty() && request.len() > 32 << 10 {
            continue;
        }
        let (answer, rest) = Answer::first(&answers);
        let shown = &request[..request.len().min(200)];
        assert_eq!((answer.status, &*answer.code, rest), (status, code, ""), "{shown:?}: {}", answer.head);
        assert!(code.is_empty() || answer.head.contains("no-store"), "{}", answer.head);
    }
    // The library's own answer follows another one.
    let answers =
        sent(&service.public, &(get(host).replace("connection: close\r\n", "") + "GET\r\n\r\n")).await;
    let (first, rest) = Answer::first(&answers);
    let (second, rest) = Answer::first(rest);
    assert_eq!((first.status, second.status, &*second.code, rest), (200, 400, "malformed-request", ""));

    for reason in ["head-too-large", "malformed"] {
        assert!(closed(&service, reason).await > 0, "{reason}");
    }

    // Over HTTP/2 there may be more headers, and the library refuses more than 64 KiB itself, without a document.
    let long = |bytes: usize| "y".repeat(bytes);
    let (over_16, over_32, under_64, over_64) = (long(17_000), long(40_000), long(58_000), long(59_000));
    for (host, more, code) in [
        ("localhost", "y", ""),
        ("LOCALHOST", "y", ""),
        ("elsewhere", "y", "malformed-request"),
        ("localhost", &over_16, "head-too-large"),
        ("localhost", &over_32, "head-too-large"),
        ("localhost", &under_64, "head-too-large"),
        ("localhost", &over_64, ""),
    ] {
        let mut connection = http2::Connection::open(&service.public, None).await;
        let headers = [vec![("host", host), ("x", more)], vec![("x", "y"); 200]].concat();
        connection.request(1, http2::END_STREAM, "GET", "/v1/fhe/parameters", &headers).await;
        let body = connection.answer(1).await.into_iter().filter(|frame| frame.kind == http2::DATA);
        let body: Vec<u8> = body.flat_map(|frame| frame.payload).collect();
        let problem = serde_json::from_slice::<Value>(&body).unwrap_or_default();
        assert_eq!(problem["code"].as_str().unwrap_or_default(), code, "{host}, {} bytes", more.len());
        assert!(more.len() > 1 || !body.is_empty(), "{host}");
    }
}

/// Claim V151.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_in_another_coding_or_charset_is_refused_as_such() {
    let service = Service::start().await;
    let bearer = service.public.bearer.clone().unwrap();
    let json = "content-type: application/json";
    for (headers, status, code) in [
        (json.to_owned(), 422, "field-invalid"),
        (format!("{json}; charset=utf-8"), 422, "field-invalid"),
        (format!("{json};CHARSET=\"UTF-8\"; profile=x"), 422, "field-invalid"),
        (format!("{json}\r\ncontent-encoding: identity"), 422, "field-invalid"),
        (format!("{json}; charset=utf-16"), 415, "media-type-unsupported"),
        (format!("{json}; charset=iso-8859-1"), 415, "media-type-unsupported"),
        (format!("{json}\r\n{json}"), 415, "media-type-unsupported"),
        (format!("{json}\r\ncontent-type: text/plain"), 415, "media-type-unsupported"),
        ("x: y".to_owned(), 415, "media-type-unsupported"),
        (format!("{json}\r\ncontent-encoding: gzip"), 415, "content-coding-unsupported"),
        (format!("{json}\r\ncontent-encoding: identity, br"), 415, "content-coding-unsupported"),
        (
            format!("{json}\r\ncontent-encoding: identity\r\ncontent-encoding: zstd"),
            415,
            "content-coding-unsupported",
        ),
    ] {
        let request = format!(
            "POST /v1/authentications HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {bearer}\r\n\
             {headers}\r\ncontent-length: 2\r\n\r\n{{}}"
        );
        let answers = sent(&service.public, &request).await;
        let (answer, _) = Answer::first(&answers);
        assert_eq!((answer.status, &*answer.code), (status, code), "{headers}");
        // RFC 9110 section 15.5.16: which codings would do, and only where a coding was the reason.
        let says = answer.head.contains("\r\naccept-encoding: identity");
        assert_eq!(says, code == "content-coding-unsupported", "{}", answer.head);
    }
}

/// Claim V150.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_may_be_idle_for_longer_than_a_head_may_take() {
    let service = Service::configured(|config| config.limits.header_timeout_s = 1).await;
    let mut stream = service.public.connect().await;
    for pause in [0, 2_500] {
        // Longer than a head may take. Nothing happens meanwhile that could be awaited.
        tokio::time::sleep(Duration::from_millis(pause)).await;
        stream.write_all(b"GET /none HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        while !answer.ends_with('}') {
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).await.unwrap();
            assert!(read > 0, "closed after {answer:?}");
            answer.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        }
    }
}
