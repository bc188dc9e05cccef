//! Reading bodies: media type, size and time are bounded before anything is parsed.

use crate::limits::LiveLimits;
use crate::openapi::JSON;
use crate::problem::{Code, Problem};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_path_to_error::Segment;
use trefoil_contents::{parse_error, shown};

/// Reads and parses a body in JSON of at most `bytes_max`.
pub(super) async fn json<T: DeserializeOwned>(
    request: Request,
    bytes_max: usize,
    limits: &LiveLimits,
) -> Result<T, Problem> {
    parse(&json_bytes(request, bytes_max, limits).await?)
}

/// Reads a body in JSON of at most `bytes_max` without parsing it.
pub(super) async fn json_bytes(
    request: Request,
    bytes_max: usize,
    limits: &LiveLimits,
) -> Result<Bytes, Problem> {
    bytes(request, JSON, 0, bytes_max, limits).await
}

/// Reads a body of this media type and between these sizes.
pub(super) async fn bytes(
    request: Request,
    media_type: &'static str,
    bytes_min: usize,
    bytes_max: usize,
    limits: &LiveLimits,
) -> Result<Bytes, Problem> {
    check_codings(request.headers())?;
    check_media_type(request.headers(), media_type)?;
    let (parts, body) = request.into_parts();
    let too_large = || too_large(bytes_max);
    let too_small =
        || Problem::new(Code::ProofRejected, format!("no shorter than {bytes_min} bytes is possible"));
    if let Some(length) = content_length(&parts.headers) {
        if length > bytes_max as u64 {
            return Err(too_large());
        }
        if length < bytes_min as u64 {
            return Err(too_small());
        }
    }
    let body = read(body, bytes_max, limits).await?.ok_or_else(too_large)?;
    if body.len() < bytes_min { Err(too_small()) } else { Ok(body) }
}

fn too_large(bytes_max: usize) -> Problem {
    let detail = format!("the body has more than the {bytes_max} bytes that this route takes");
    Problem::new(Code::BodyTooLarge, detail)
}

/// Parses JSON. If its shape is wrong, the problem has the JSON pointer of the field.
pub(super) fn parse<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Problem> {
    // Tracking the path costs an allocation for each name, so it is done only after an error.
    serde_json::from_slice(bytes).or_else(|_| parse_with_path(bytes))
}

fn parse_with_path<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let pointer = pointer(error.path());
        let cause = error.into_inner();
        match is_well_formed(bytes) {
            true => Problem::field(Code::FieldInvalid, pointer, field(&cause)),
            false => not_json(bytes, &cause),
        }
    })?;
    deserializer.end().map_err(|cause| not_json(bytes, &cause))?;
    Ok(value)
}

/// Whether it is JSON of any shape: a number in place of a name is not malformed JSON, although the parser says so.
fn is_well_formed(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

fn not_json(bytes: &[u8], cause: &serde_json::Error) -> Problem {
    let detail = match bytes.iter().all(u8::is_ascii_whitespace) {
        true => "the body is empty, and this route takes a JSON object".to_owned(),
        false => format!(
            "the body is not JSON at line {}, column {}: {}",
            cause.line(),
            cause.column(),
            parse_error(cause)
        ),
    };
    Problem::new(Code::MalformedJson, detail)
}

/// The error of a field, without the parser's position, because there is a pointer, and without names of our code.
fn field(cause: &serde_json::Error) -> String {
    let text = parse_error(cause);
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    match text {
        "expected value" | "expected `\"`" | "expected ident" => {
            "a value of another kind is expected here".to_owned()
        }
        _ => match text.split_once(", expected ") {
            // "invalid type: integer `5`, expected struct Policy"
            Some((what, expected)) => format!("{what}, expected {}", plain(expected)),
            None => text.to_owned(),
        },
    }
}

/// The JSON term for serde's name of a type.
fn plain(expected: &str) -> &str {
    match expected.split(' ').next() {
        Some("struct") => "an object",
        Some("enum") => "one of the forms that API.md shows",
        Some("u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64") => "a whole number in range",
        _ => expected,
    }
}

/// An answer in JSON.
pub(super) fn answer(status: axum::http::StatusCode, body: &impl Serialize) -> Result<Response, Problem> {
    sized_answer(status, body, ANSWER_BYTES)
}

/// The same for a body of about `bytes`. Its buffer then does not grow by copying itself, again and again.
pub(super) fn sized_answer(
    status: axum::http::StatusCode,
    body: &impl Serialize,
    bytes: usize,
) -> Result<Response, Problem> {
    let mut json = Vec::with_capacity(bytes);
    serde_json::to_writer(&mut json, body).map_err(Problem::internal)?;
    Ok((status, [(header::CONTENT_TYPE, JSON)], json).into_response())
}

/// More than most answers have without an attestation.
const ANSWER_BYTES: usize = 512;

async fn read(body: Body, bytes_max: usize, limits: &LiveLimits) -> Result<Option<Bytes>, Problem> {
    let timeout = limits.body_timeout();
    match tokio::time::timeout(timeout, Limited::new(body, bytes_max).collect()).await {
        Ok(Ok(collected)) => Ok(Some(collected.to_bytes())),
        Ok(Err(cause)) if cause.is::<LengthLimitError>() => Ok(None),
        Ok(Err(_)) => Err(Problem::new(Code::MalformedRequest, "the body broke off")),
        Err(_) => {
            let seconds = timeout.as_secs();
            Err(Problem::new(Code::BodyTimeout, format!("send the whole body within {seconds} s")))
        }
    }
}

/// Refuses a body that is compressed or otherwise coded.
fn check_codings(headers: &HeaderMap) -> Result<(), Problem> {
    let plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if headers.get_all(header::CONTENT_ENCODING).iter().all(plain) {
        return Ok(());
    }
    let detail = "Content-Encoding names a coding; send the body itself, without the header";
    Err(Problem::new(Code::ContentCodingUnsupported, detail))
}

/// Refuses a body of another media type than this, or in another charset than UTF-8, whatever its other parameters.
fn check_media_type(headers: &HeaderMap, expected: &str) -> Result<(), Problem> {
    let mut all = headers.get_all(header::CONTENT_TYPE).iter().map(|value| value.to_str().unwrap_or("?"));
    let (given, another) = (all.next(), all.next());
    let mut parts = given.unwrap_or("").split(';').map(str::trim);
    let essence = parts.next().unwrap_or("");
    let charsets = parts
        .filter_map(|part| part.split_once('='))
        .filter(|(name, _)| name.eq_ignore_ascii_case("charset"));
    let in_utf8 =
        charsets.into_iter().all(|(_, value)| value.trim_matches('"').eq_ignore_ascii_case("utf-8"));
    let what = match (given, another) {
        (None, _) => "there is no Content-Type".to_owned(),
        (_, Some(_)) => "there are several Content-Type headers".to_owned(),
        _ if essence.eq_ignore_ascii_case(expected) && in_utf8 => return Ok(()),
        (Some(given), None) => format!("Content-Type is {}", shown(given)),
    };
    let charset = if in_utf8 { "" } else { ", and the body in UTF-8" };
    Err(Problem::new(Code::MediaTypeUnsupported, format!("{what}; send Content-Type: {expected}{charset}")))
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn is_name(name: &str) -> bool {
    name.len() <= 32 && name.bytes().all(|byte| byte.is_ascii_lowercase() || b"_01568".contains(&byte))
}

/// RFC 6901.
fn pointer(path: &serde_path_to_error::Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        pointer.push('/');
        match segment {
            Segment::Seq { index } => pointer.push_str(&index.to_string()),
            // Names of ours; a caller's own may be a value in the wrong place.
            Segment::Map { key: name } | Segment::Enum { variant: name } if is_name(name) => {
                pointer.push_str(name)
            }
            Segment::Map { .. } | Segment::Enum { .. } => pointer.push('?'),
            Segment::Unknown => pointer.push('?'),
        }
    }
    pointer
}
