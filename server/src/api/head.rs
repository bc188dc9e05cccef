//! What the rules of HTTP say about the head of every request (RFC 9110, 9112), before its route is looked at.

use crate::limits::{HEAD_BYTES_MAX, too_large_head};
use crate::problem::{Code, Problem};
use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Version, header};

/// Refuses a head that is too large, or that two programs could read in two ways.
pub(super) fn check(request: &Request) -> Result<(), Problem> {
    if bytes(request) > HEAD_BYTES_MAX {
        return Err(Problem::new(Code::HeadTooLarge, too_large_head()));
    }
    let unclear = |why| Err(Problem::new(Code::MalformedRequest, why));
    let headers = request.headers();
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(_), Some(_)) => return unclear("there are several `Host` headers; send one"),
        (None, _) if request.version() == Version::HTTP_11 => {
            return unclear(
                "there is no `Host` header, which HTTP/1.1 demands; send the service's name in it",
            );
        }
        (Some(host), _) if !names_a_host(host) => {
            return unclear("`Host` is not `name` or `name:port`; send the service's name in it");
        }
        (Some(host), _) if request.version() == Version::HTTP_2 && contradicts(request, host) => {
            return unclear("`Host` differs from `:authority`; send the same, or no `Host`");
        }
        _ => {}
    }
    // The HTTP library reads the body of any list that ends with `chunked`.
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => Ok(()),
        (Some(coding), None) if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => Ok(()),
        _ => {
            let detail = "Transfer-Encoding has a coding other than `chunked`; send the body without it";
            Err(Problem::new(Code::TransferCodingUnknown, detail))
        }
    }
}

/// The size of a request's head. HTTP/2 counts 32 bytes for each header besides its name and value.
fn bytes(request: &Request) -> usize {
    let path = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    let headers = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 32);
    path + headers.sum::<usize>()
}

/// Whether it is an authority without a user, or empty (RFC 9110 section 7.2).
fn names_a_host(host: &HeaderValue) -> bool {
    let host = host.as_bytes();
    host.is_empty() || (!host.contains(&b'@') && Authority::try_from(host).is_ok())
}

fn contradicts(request: &Request, host: &HeaderValue) -> bool {
    let authority = request.uri().authority();
    authority.is_some_and(|authority| !authority.as_str().as_bytes().eq_ignore_ascii_case(host.as_bytes()))
}
