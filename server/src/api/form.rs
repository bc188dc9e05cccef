//! The form of a body: JSON, or CBOR where a caller sends it or asks for it.

use super::body::{is_of_type, wrong_type};
use super::cbor;
use crate::problem::Problem;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use http_body_util::BodyExt as _;

pub(crate) const JSON: &str = "application/json";
pub(crate) const CBOR: &str = "application/cbor";

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Cbor,
}

/// Marks an answer that is JSON for every caller.
#[derive(Clone, Copy)]
struct OnlyJson;

impl Form {
    /// The form of a request's body, which its Content-Type says.
    pub(super) fn sent(headers: &HeaderMap) -> Result<Form, Problem> {
        if is_of_type(headers, JSON) {
            return Ok(Form::Json);
        }
        match is_of_type(headers, CBOR) {
            true => Ok(Form::Cbor),
            false => Err(wrong_type(headers, "application/json or application/cbor")),
        }
    }

    /// The form in which a caller prefers its answer: JSON, unless its Accept prefers CBOR (RFC 9110 section 12.5.1).
    pub(super) fn preferred(headers: &HeaderMap) -> Form {
        match quality(headers, CBOR) > quality(headers, JSON) {
            true => Form::Cbor,
            false => Form::Json,
        }
    }

    /// Gives an answer in JSON this form.
    pub(super) async fn give(self, mut answer: Response) -> Response {
        if !has_forms(&answer) {
            return answer;
        }
        if answer.headers().contains_key(header::CACHE_CONTROL) {
            answer.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
        }
        match self {
            Form::Json => answer,
            Form::Cbor => in_cbor(answer).await.unwrap_or_else(Problem::into_response),
        }
    }
}

/// Makes an answer JSON for every caller: for documents that a standard defines in JSON, or that have a CBOR of their own.
pub(super) async fn only_json(mut answer: Response) -> Response {
    answer.extensions_mut().insert(OnlyJson);
    answer
}

fn has_forms(answer: &Response) -> bool {
    is_of_type(answer.headers(), JSON) && answer.extensions().get::<OnlyJson>().is_none()
}

async fn in_cbor(answer: Response) -> Result<Response, Problem> {
    let (mut parts, body) = answer.into_parts();
    // It is in memory, so nothing waits here.
    let json = body.collect().await.map_err(Problem::internal)?.to_bytes();
    let cbor = cbor::from_json(&json).map_err(Problem::internal)?;
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CBOR));
    Ok(Response::from_parts(parts, Body::from(cbor)))
}

/// How much a caller wants this media type, in thousandths: the quality of the most precise range that includes it.
fn quality(headers: &HeaderMap, media_type: &str) -> u16 {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = values.flat_map(|value| value.split(',')).filter_map(range);
    let including = ranges.filter_map(|(range, quality)| Some((precision(range, media_type)?, quality)));
    including.max().map_or(0, |(_, quality)| quality)
}

/// A media range and its quality. Other parameters are ignored: neither form has any. An unreadable range is none.
fn range(text: &str) -> Option<(&str, u16)> {
    let mut parts = text.split(';').map(str::trim);
    let range = parts.next()?;
    let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    Some((range, quality.map_or(Some(1000), thousandths)?))
}

/// `0` to `1` with at most three digits after the point.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, digits) = text.split_once('.').unwrap_or((text, ""));
    if digits.len() > 3 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let digits = digits.bytes().chain(*b"000").take(3);
    let fraction = digits.fold(0, |number, digit| 10 * number + u16::from(digit - b'0'));
    match (whole, fraction) {
        ("0", fraction) => Some(fraction),
        ("1", 0) => Some(1000),
        _ => None,
    }
}

/// How precisely a range names a media type of applications, if it does.
fn precision(range: &str, media_type: &str) -> Option<u8> {
    match range {
        "*/*" => Some(0),
        range if range.eq_ignore_ascii_case("application/*") => Some(1),
        range if range.eq_ignore_ascii_case(media_type) => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn preferred(values: &[&str]) -> Form {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::ACCEPT, HeaderValue::from_str(value).unwrap());
        }
        Form::preferred(&headers)
    }

    #[test]
    fn cbor_is_given_only_where_it_is_preferred() {
        for accept in [
            "application/cbor",
            "Application/CBOR",
            "application/cbor, application/json;q=0.9",
            "application/json; q=0.999, application/cbor;q=1.000",
            "text/html, application/cbor;q=0.001",
            "application/cbor, */*;q=0.1",
            "*/*, application/json;q=0.5",
            "application/*;q=0.2, application/json;q=0",
            "application/json;q=0.4;charset=utf-8, application/cbor;v=1;q=0.5",
            "application/json;q=nonsense, application/cbor",
        ] {
            assert_eq!(preferred(&[accept]), Form::Cbor, "{accept}");
        }
        for accept in [
            "",
            "*/*",
            "application/*",
            "application/json",
            "application/json, application/cbor, text/plain",
            "application/cbor, application/json",
            "application/cbor;q=0",
            "application/cbor;q=0.5, */*",
            "application/cbor;q=1.001",
            "application/cbor;q=0.1234",
            "application/cbor;q=",
            "application/cbor-seq",
            "application/problem+json",
            "text/html",
            ";;,,=;q",
        ] {
            assert_eq!(preferred(&[accept]), Form::Json, "{accept}");
        }
        assert_eq!(preferred(&[]), Form::Json);
        assert_eq!(preferred(&["application/json;q=0.5", "application/cbor"]), Form::Cbor);
    }

    proptest! {
        #[test]
        fn any_accept_has_a_form(values in prop::collection::vec("[ -~]{0,40}", 0..4)) {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            preferred(&values);
        }

        #[test]
        fn the_larger_quality_wins(json in 0..=1000_u16, cbor in 0..=1000_u16) {
            let written = |quality: u16| format!("{}.{:03}", quality / 1000, quality % 1000);
            let accept = format!("application/json;q={}, application/cbor;q={}", written(json), written(cbor));
            let expected = if cbor > json { Form::Cbor } else { Form::Json };
            prop_assert_eq!(preferred(&[&accept]), expected);
        }
    }
}
