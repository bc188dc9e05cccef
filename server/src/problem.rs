//! Problem details (RFC 9457): the one mapping from a refusal or a fault to what a caller sees.
//!
//! Three outcomes are never mixed. A *denial* is a correct negative answer and is not a problem: it is `200` with
//! `decision: "no_match"`. A *rejection* declines to try, because the request is malformed, too large, not allowed, or
//! the service is busy. An *error* is the service's fault. [`Code`] lists the last two exhaustively; its `type` URIs are an
//! API contract and never change meaning.

mod cause;
mod cure;
mod refused;

use axum::http::{HeaderValue, StatusCode, StatusCode as S, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

pub use cause::{Explained, Retry};

/// Why a request was not carried out. The kebab-case name is the stable `code` and the end of the `type` URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// The body is not JSON; `detail` gives line and column.
    MalformedJson,
    /// A path segment or header is malformed.
    MalformedRequest,
    /// A create without `Idempotency-Key`.
    IdempotencyKeyMissing,
    /// No API key or admin token, or one that is unknown, expired or revoked.
    CallerUnauthenticated,
    /// The API key lacks the scope that this route needs.
    ScopeMissing,
    /// The operator's role does not allow what this route does.
    RoleMissing,
    /// No such operator, or no such token of it.
    OperatorUnknown,
    /// The state of the operators forbids it: the last owner, a third token, a revoked operator.
    OperatorConflict,
    /// The policy in force has another version than `If-Match` names.
    PolicyOvertaken,
    /// The tenant's policy does not list this audience.
    AudienceNotAllowed,
    /// The request MAC does not verify under the session's key.
    RequestMacInvalid,
    /// The session was proven for another handle, audience, policy or level.
    SessionScope,
    /// No such route.
    RouteUnknown,
    /// No such subject, or one without an active template, in the caller's tenant.
    SubjectUnknown,
    /// No such tenant.
    TenantUnknown,
    /// The operator disabled the tenant.
    TenantDisabled,
    /// The tenant is enabled, or its keys are being rotated, so that it cannot be deleted.
    TenantInUse,
    /// The tenant has no API key with this id.
    ApiKeyUnknown,
    /// No such proof session in the caller's tenant.
    SessionUnknown,
    /// No seal with this number.
    SealUnknown,
    /// The signatures of this seal were pruned.
    SealPruned,
    /// No trust root has this version.
    TrustRootUnknown,
    /// The route exists, the method does not.
    MethodNotAllowed,
    /// The request head is too large.
    HeadTooLarge,
    /// The body did not arrive within its deadline.
    BodyTimeout,
    /// The subject already has a template.
    TemplateExists,
    /// The tenant exists.
    TenantExists,
    /// The nonce was already used in this session.
    NonceReplayed,
    /// The value of the session's hash chain is missing, used, or not of this chain.
    ChainValueRefused,
    /// An earlier request with this idempotency key created it, and its secret was shown then.
    SecretShown,
    /// A request with the same idempotency key is still running.
    IdempotencyInFlight,
    /// The credential root's generation is not above the current one.
    RootGenerationStale,
    /// The tenant has no issuer key under which a root could verify.
    IssuerKeyMissing,
    /// The root is not signed by the tenant's issuer key.
    RootSignatureInvalid,
    /// No witness of this service has cosigned the checkpoint, a cosignature does not verify, or it is of another log.
    CosignatureRefused,
    /// The proof session ended: its time is over, or its credential root was withdrawn.
    SessionExpired,
    /// The body is larger than this route accepts.
    BodyTooLarge,
    /// The media type is not the one that this route accepts.
    MediaTypeUnsupported,
    /// The body is compressed.
    ContentCodingUnsupported,
    /// The body is sent in a transfer coding other than `chunked`.
    TransferCodingUnknown,
    /// The JSON is well formed but a field is unknown, missing or of the wrong kind; `errors` has JSON pointers.
    FieldInvalid,
    /// The embedding is not 128 finite numbers with a usable norm.
    EmbeddingInvalid,
    /// The face is not sent in the tenant's probe mode.
    ProbeModeMismatch,
    /// A share was not sealed to this key-holder for this request, or does not have the length of one.
    ShareRefused,
    /// The zero-knowledge proof or its envelope was refused.
    ProofRejected,
    /// The proof is well formed and names an old root, or another epoch, policy or level: prove again.
    ProofStale,
    /// The tenant requires a proof session and the request names none, or the reverse.
    ProofModeMismatch,
    /// `issued_at` is outside the freshness window, or before this process started.
    RequestNotFresh,
    /// The idempotency key was used with a different request.
    IdempotencyKeyReused,
    /// Logins with this API key failed for too many different subjects.
    DistinctFailures,
    /// Too many requests of this tenant in flight.
    QuotaExceeded,
    /// A queue is full: nothing was attempted.
    Overloaded,
    /// The process before the restart may have answered this request: nothing was attempted.
    BeforeRestart,
    /// The service's clock is behind what was sealed: nothing was attempted.
    ClockBehind,
    /// The database of the store cannot be reached.
    StoreUnavailable,
    /// What is stored is damaged.
    StorageDamaged,
    /// There is too little room on the disk: nothing was attempted.
    DiskLow,
    /// The decision was made, but its seal cannot be stored.
    Unsealed,
    /// The service is shutting down or not ready: nothing was attempted.
    Draining,
    /// The key-holder gave no decision.
    Undecided,
    /// The key-holder's threshold differs from that of the tenant's policy: nothing was attempted.
    PolicyOutOfStep,
    /// The key-holder cannot be reached.
    KeyHolderUnavailable,
    /// The key-holder, which has another operator, does not do this for this service.
    KeyHolderForbids,
    /// The answer did not arrive in time; it may have been computed.
    TimedOut,
    /// An internal error.
    Internal,
}

impl Code {
    /// Status, stable name and title: the one exhaustive table.
    #[expect(clippy::too_many_lines, reason = "a table with a line or two for each code")]
    fn describe(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Code::MalformedJson => (S::BAD_REQUEST, "malformed-json", "The body is not JSON"),
            Code::MalformedRequest => (S::BAD_REQUEST, "malformed-request", "The request cannot be read"),
            Code::IdempotencyKeyMissing => {
                (S::BAD_REQUEST, "idempotency-key-missing", "Idempotency-Key is required")
            }
            Code::CallerUnauthenticated => {
                (S::UNAUTHORIZED, "caller-unauthenticated", "The caller is not authenticated")
            }
            Code::ScopeMissing => (S::FORBIDDEN, "scope-missing", "The API key lacks a scope"),
            Code::RoleMissing => (S::FORBIDDEN, "role-missing", "The operator's role does not allow this"),
            Code::OperatorUnknown => (S::NOT_FOUND, "operator-unknown", "No such operator"),
            Code::OperatorConflict => {
                (S::CONFLICT, "operator-conflict", "The operators do not allow this now")
            }
            Code::AudienceNotAllowed => {
                (S::FORBIDDEN, "audience-not-allowed", "The tenant does not serve this audience")
            }
            Code::RequestMacInvalid => (S::FORBIDDEN, "request-mac-invalid", "The request MAC is wrong"),
            Code::SessionScope => (S::FORBIDDEN, "session-scope", "The session does not cover the request"),
            Code::RouteUnknown => (S::NOT_FOUND, "route-unknown", "No such route"),
            Code::SubjectUnknown => (S::NOT_FOUND, "subject-unknown", "No active template for this subject"),
            Code::TenantUnknown => (S::NOT_FOUND, "tenant-unknown", "No such tenant"),
            Code::TenantDisabled => (S::FORBIDDEN, "tenant-disabled", "The tenant is disabled"),
            Code::TenantInUse => (S::CONFLICT, "tenant-in-use", "The tenant is in use"),
            Code::ApiKeyUnknown => (S::NOT_FOUND, "api-key-unknown", "No such API key"),
            Code::SessionUnknown => (S::NOT_FOUND, "session-unknown", "No such proof session"),
            Code::SealUnknown => (S::NOT_FOUND, "seal-unknown", "No such seal"),
            Code::SealPruned => (S::GONE, "seal-pruned", "The seal's signatures were pruned"),
            Code::TrustRootUnknown => (S::NOT_FOUND, "trust-root-unknown", "No such trust root"),
            Code::MethodNotAllowed => (S::METHOD_NOT_ALLOWED, "method-not-allowed", "Method not allowed"),
            Code::HeadTooLarge => {
                (S::REQUEST_HEADER_FIELDS_TOO_LARGE, "head-too-large", "The request head is too large")
            }
            Code::BodyTimeout => (S::REQUEST_TIMEOUT, "body-timeout", "The body came too slowly"),
            Code::TemplateExists => (S::CONFLICT, "template-exists", "The subject is already enrolled"),
            Code::TenantExists => (S::CONFLICT, "tenant-exists", "The tenant exists"),
            Code::NonceReplayed => (S::CONFLICT, "nonce-replayed", "The nonce was already used"),
            Code::ChainValueRefused => {
                (S::CONFLICT, "chain-value-refused", "The chain value is not the next")
            }
            Code::SecretShown => (S::CONFLICT, "secret-shown", "The secret was shown once"),
            Code::IdempotencyInFlight => {
                (S::CONFLICT, "idempotency-in-flight", "The same request is still running")
            }
            Code::PolicyOvertaken => {
                (S::PRECONDITION_FAILED, "policy-overtaken", "Another version of the policy is in force")
            }
            Code::RootGenerationStale => {
                (S::CONFLICT, "root-generation-stale", "The root generation is not newer")
            }
            Code::IssuerKeyMissing => (S::CONFLICT, "issuer-key-missing", "No issuer key is registered"),
            Code::CosignatureRefused => {
                (S::UNPROCESSABLE_ENTITY, "cosignature-refused", "The checkpoint is not taken")
            }
            Code::RootSignatureInvalid => {
                (S::UNPROCESSABLE_ENTITY, "root-signature-invalid", "The root is not the issuer's")
            }
            Code::SessionExpired => (S::GONE, "session-expired", "The proof session has ended"),
            Code::BodyTooLarge => (S::PAYLOAD_TOO_LARGE, "body-too-large", "The body is too large"),
            Code::MediaTypeUnsupported => {
                (S::UNSUPPORTED_MEDIA_TYPE, "media-type-unsupported", "Wrong media type")
            }
            Code::ContentCodingUnsupported => {
                (S::UNSUPPORTED_MEDIA_TYPE, "content-coding-unsupported", "The body is coded")
            }
            Code::TransferCodingUnknown => {
                (S::NOT_IMPLEMENTED, "transfer-coding-unknown", "Unknown transfer coding")
            }
            Code::FieldInvalid => (S::UNPROCESSABLE_ENTITY, "field-invalid", "A field is invalid"),
            Code::EmbeddingInvalid => {
                (S::UNPROCESSABLE_ENTITY, "embedding-invalid", "The embedding is unusable")
            }
            Code::ProbeModeMismatch => {
                (S::UNPROCESSABLE_ENTITY, "probe-mode-mismatch", "The face does not come as the policy says")
            }
            Code::ShareRefused => (S::UNPROCESSABLE_ENTITY, "share-refused", "A share was refused"),
            Code::ProofRejected => (S::UNPROCESSABLE_ENTITY, "proof-rejected", "The proof was refused"),
            Code::ProofStale => (S::UNPROCESSABLE_ENTITY, "proof-stale", "The proof is out of date"),
            Code::ProofModeMismatch => {
                (S::UNPROCESSABLE_ENTITY, "proof-mode-mismatch", "The request does not fit the proof policy")
            }
            Code::RequestNotFresh => {
                (S::UNPROCESSABLE_ENTITY, "request-not-fresh", "The request is not fresh")
            }
            Code::IdempotencyKeyReused => {
                (S::UNPROCESSABLE_ENTITY, "idempotency-key-reused", "Idempotency-Key was reused")
            }
            Code::DistinctFailures => {
                (S::TOO_MANY_REQUESTS, "distinct-failures", "Too many different subjects failed")
            }
            Code::QuotaExceeded => (S::TOO_MANY_REQUESTS, "quota-exceeded", "Too many requests in flight"),
            Code::Overloaded => (S::SERVICE_UNAVAILABLE, "overloaded", "The service is at capacity"),
            Code::BeforeRestart => (
                S::SERVICE_UNAVAILABLE,
                "before-restart",
                "The request may have been answered before a restart",
            ),
            Code::ClockBehind => (S::SERVICE_UNAVAILABLE, "clock-behind", "The service's clock is behind"),
            Code::StoreUnavailable => {
                (S::SERVICE_UNAVAILABLE, "store-unavailable", "The store cannot be reached")
            }
            Code::StorageDamaged => (S::SERVICE_UNAVAILABLE, "storage-damaged", "Stored data is damaged"),
            Code::DiskLow => (S::SERVICE_UNAVAILABLE, "disk-low", "The service is short of disk space"),
            Code::Unsealed => (S::SERVICE_UNAVAILABLE, "unsealed", "The decision could not be sealed"),
            Code::Draining => (S::SERVICE_UNAVAILABLE, "draining", "The service is shutting down"),
            Code::PolicyOutOfStep => {
                (S::SERVICE_UNAVAILABLE, "policy-out-of-step", "The key-holder has another threshold")
            }
            Code::Undecided => (S::SERVICE_UNAVAILABLE, "undecided", "No decision could be made"),
            Code::KeyHolderUnavailable => {
                (S::SERVICE_UNAVAILABLE, "key-holder-unavailable", "The key-holder cannot be reached")
            }
            Code::KeyHolderForbids => {
                (S::FORBIDDEN, "key-holder-forbids", "The key-holder does not allow this")
            }
            Code::TimedOut => (S::GATEWAY_TIMEOUT, "timed-out", "The answer took too long"),
            Code::Internal => (S::INTERNAL_SERVER_ERROR, "internal", "Internal error"),
        }
    }

    /// The HTTP status.
    pub fn status(self) -> StatusCode {
        self.describe().0
    }

    /// The stable name, such as `session-expired`.
    pub fn name(self) -> &'static str {
        self.describe().1
    }

    /// Seconds after which a retry makes sense. Nothing was attempted except for [`Code::Unsealed`], [`Code::Undecided`],
    /// [`Code::PolicyOutOfStep`], [`Code::StoreUnavailable`] and [`Code::KeyHolderUnavailable`], where an attempt may have been counted, a
    /// nonce spent or a record stored.
    fn retry_after_s(self) -> Option<u32> {
        match self {
            Code::QuotaExceeded
            | Code::Overloaded
            | Code::BeforeRestart
            | Code::Draining
            | Code::Undecided
            | Code::PolicyOutOfStep
            | Code::KeyHolderUnavailable
            | Code::StoreUnavailable
            | Code::IdempotencyInFlight => Some(1),
            Code::DistinctFailures => Some(60),
            // An operator has to make room, or to set the clock.
            Code::DiskLow | Code::Unsealed | Code::ClockBehind => Some(30),
            _ => None,
        }
    }
}

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
        self.retry_after_s.or_else(|| self.code.retry_after_s())
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
        let (status, code, title) = self.code.describe();
        Document {
            r#type: format!("{TYPES}{code}"),
            title,
            status: status.as_u16(),
            code,
            detail: &self.detail,
            cure: self.cure.unwrap_or_else(|| self.code.cure()),
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
