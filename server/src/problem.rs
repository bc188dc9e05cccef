//! Problem details (RFC 9457): the one mapping from a refusal or a fault to what a caller sees.
//!
//! Three outcomes are never mixed. A *denial* is a correct negative answer and is not a problem: it is `200` with
//! `decision: "no_match"`. A *rejection* declines to try, because the request is malformed, too large, not allowed, or
//! the service is busy. An *error* is the service's fault. [`Code`] lists the last two exhaustively; its `type` URIs are an
//! API contract and never change meaning.

mod refused;
mod table;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

pub use table::{Code, Explained, Retry};

/// The start of a problem's `type`: a path of this service, which answers with an explanation on both listeners.
const TYPES: &str = "/v1/problems/";

/// One offending place in a JSON body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldError {
    /// JSON pointer (RFC 6901) to the field.
    pub pointer: String,
    /// What is wrong with it and what would be right.
    pub detail: String,
}

/// A refusal or fault that the caller gets. Holds no secret and no score, so it may be logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    code: Code,
    detail: Cow<'static, str>,
    errors: Vec<FieldError>,
    /// What to do, where it is not what the code says.
    cure: Option<&'static str>,
    /// When to retry, where it is not what the code says.
    retry_after_s: Option<u32>,
}

impl Problem {
    /// A problem with one sentence that says what happened and what to do.
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem { code, detail: detail.into(), errors: Vec::new(), cure: None, retry_after_s: None }
    }

    /// A problem about one field of a JSON body.
    pub fn field(code: Code, pointer: impl Into<String>, detail: impl Into<String>) -> Problem {
        let error = FieldError { pointer: pointer.into(), detail: detail.into() };
        let detail = match error.pointer.as_str() {
            "" => error.detail.clone(),
            pointer => format!("{pointer}: {}", error.detail),
        };
        Problem { code, detail: Cow::Owned(detail), errors: vec![error], cure: None, retry_after_s: None }
    }

    /// With another advice than that of its code.
    pub(crate) fn cured(self, cure: &'static str) -> Problem {
        Problem { cure: Some(cure), ..self }
    }

    /// To be retried after so many seconds.
    pub(crate) fn after(self, seconds: u64) -> Problem {
        Problem { retry_after_s: Some(u32::try_from(seconds).unwrap_or(u32::MAX)), ..self }
    }

    fn retry_after_s(&self) -> Option<u32> {
        self.retry_after_s.or_else(|| self.code.explain().retry_after_s)
    }

    /// An internal error: `cause` goes to the log, the caller learns only that it happened.
    pub fn internal(cause: impl std::fmt::Display) -> Problem {
        tracing::error!(%cause, "internal error");
        Problem::fault()
    }

    /// An internal error whose cause is in the log already.
    fn fault() -> Problem {
        Problem::new(
            Code::Internal,
            "the request failed on our side; retry, and quote request_id if it persists",
        )
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The problem as a member of an answer, whose headers have the request's id.
    pub(crate) fn member(&self) -> Document<'_> {
        Document { retry_after_s: self.retry_after_s(), ..self.document(None) }
    }

    /// As callers read it.
    pub(crate) fn document<'a>(&'a self, request_id: Option<&'a str>) -> Document<'a> {
        let Explained { code, title, status, cure, .. } = *self.code.explain();
        Document {
            r#type: format!("{TYPES}{code}"),
            title,
            status,
            code,
            detail: &self.detail,
            cure: self.cure.unwrap_or(cure),
            request_id,
            retry_after_s: None,
            errors: &self.errors,
        }
    }

    /// The body and headers, with the request's id.
    pub(crate) fn render(&self, request_id: &str) -> Response {
        let status = self.code.status();
        let body = self.document(Some(request_id));
        let bytes = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = (status, bytes).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after_s() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == Code::ContentCodingUnsupported {
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Why a request was not carried out (RFC 9457).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct Document<'a> {
    /// Where the problem is explained.
    r#type: String,
    /// What the code means.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// The stable name.
    code: &'static str,
    /// What was wrong with this request, and where.
    detail: &'a str,
    /// What to do.
    cure: &'static str,
    /// Names the request in the service's log; also the header `request-id`. Absent in an entry of a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    /// The value of Retry-After in an entry of a batch, which has no headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_s: Option<u32>,
    /// The fields that are wrong.
    #[serde(skip_serializing_if = "<[FieldError]>::is_empty")]
    errors: &'a [FieldError],
}

impl IntoResponse for Problem {
    /// An empty response that carries the problem; the outermost layer knows the request id and renders it.
    fn into_response(self) -> Response {
        let mut response = self.code.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}
