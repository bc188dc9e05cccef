//! The answer to a request whose head the HTTP library cannot read, over HTTP/1.1.
//!
//! The library answers such a request by itself, with a status and no body, and no handler sees it. Every answer of a handler has a request
//! id, so the library's is known by having none.

use crate::problem::{Code, Problem};
use hyper::body::Bytes;

/// More than the library's answer has.
const HEAD_BYTES_MAX: usize = 256;
const EMPTY: &str = "content-length: 0\r\n";

/// The library's answer with a problem document, if these bytes are one.
pub(super) fn in_place_of(bytes: &[u8]) -> Option<Bytes> {
    let status = bytes.strip_prefix(b"HTTP/1.1 4")?.get(..2)?;
    let head = std::str::from_utf8(bytes).ok().filter(|head| head.len() <= HEAD_BYTES_MAX)?;
    if !head.ends_with("\r\n\r\n") || !head.contains(EMPTY) || head.contains("\r\nrequest-id: ") {
        return None;
    }
    let problem = match status {
        b"14" | b"31" => Problem::new(Code::HeadTooLarge, crate::limits::too_large_head()),
        _ => Problem::new(
            Code::MalformedRequest,
            "the request line, a header, Content-Length or Transfer-Encoding is not as RFC 9112 says",
        ),
    };
    let id = hex::encode(rand::random::<[u8; 16]>());
    let (code, body) = (problem.code().name(), serde_json::to_string(&problem.document(Some(&id))).ok()?);
    tracing::debug!(request_id = id, code, "request refused before its head was read");
    let fields = format!(
        "content-type: application/problem+json\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         x-content-type-options: nosniff\r\nrequest-id: {id}\r\n",
        body.len()
    );
    Some(Bytes::from(head.replacen(EMPTY, &fields, 1) + &body))
}
