//! Every problem: name, status, whether to repeat the request, title, cause and cure. The `type` of a problem is the path of its explanation.

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

/// Whether a request that was refused is worth sending again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// The same request gets the same answer.
    No,
    /// The same bytes, after the header Retry-After.
    Same,
    /// The login signed again, with the same nonce and a later `issued_at`.
    Sign,
    /// A new login with a fresh nonce; the attempt may have been counted.
    New,
    /// The same bytes once more.
    Once,
}

/// The answer of `GET /v1/problems/{code}`.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Explained {
    /// The stable name.
    pub code: &'static str,
    /// What it means.
    pub title: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// Why it happens.
    pub cause: &'static str,
    /// What to do.
    pub cure: &'static str,
    /// Whether to repeat the request.
    pub retry: Retry,
    /// The value of the header Retry-After, seconds; `null` where there is none.
    pub retry_after_s: Option<u32>,
}

impl Retry {
    /// As the document and the page write it.
    pub fn name(self) -> &'static str {
        match self {
            Retry::No => "no",
            Retry::Same => "same",
            Retry::Sign => "sign",
            Retry::New => "new",
            Retry::Once => "once",
        }
    }
}

/// For each code: name, status, whether to repeat the request and after how many seconds, title, cause, cure.
macro_rules! problems {
    ($($code:ident: $name:literal, $status:ident, $retry:ident, $after:expr, $title:literal, $cause:literal, $cure:literal;)*) => {
        /// Why a request was not carried out. The kebab-case name is the stable `code` and the end of the `type` URI.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $cause] $code,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Code] = &[$(Code::$code),*];

            /// The HTTP status.
            pub fn status(self) -> StatusCode {
                match self {
                    $(Code::$code => StatusCode::$status,)*
                }
            }

            /// The explanation of the code, without a request.
            pub fn explain(self) -> &'static Explained {
                match self {
                    $(Code::$code => const {
                        &Explained {
                            code: $name,
                            title: $title,
                            status: StatusCode::$status.as_u16(),
                            cause: $cause,
                            cure: $cure,
                            retry: Retry::$retry,
                            retry_after_s: $after,
                        }
                    },)*
                }
            }
        }
    };
}

problems! {
    MalformedJson: "malformed-json", BAD_REQUEST, No, None, "The body is not JSON",
        "the body is not JSON",
        "Send one JSON value (RFC 8259) in UTF-8; `detail` says where it breaks off.";
    MalformedRequest: "malformed-request", BAD_REQUEST, No, None, "The request cannot be read",
        "a path segment, query or header cannot be read, `Host` is missing or there twice, or the body broke off",
        "Correct what `detail` names; API.md shows each path and header.";
    IdempotencyKeyMissing: "idempotency-key-missing", BAD_REQUEST, No, None, "Idempotency-Key is required",
        "an enrolment without `Idempotency-Key`",
        "Send the header Idempotency-Key with a fresh value, and the same one when you repeat the request.";
    CallerUnauthenticated: "caller-unauthenticated", UNAUTHORIZED, No, None, "The caller is not authenticated",
        "no API key or token, or one that is unknown, expired or revoked",
        "Send the header `Authorization: Bearer KEY`: on the public listener with an API key that is active (`trefoil admin api-key list`), on the admin listener with an operator's token; the first one is in admin.token.";
    ScopeMissing: "scope-missing", FORBIDDEN, No, None, "The API key lacks a scope",
        "the API key lacks the route's scope",
        "Use an API key with that scope; `trefoil admin api-key create --scope` makes one.";
    RoleMissing: "role-missing", FORBIDDEN, No, None, "The operator's role does not allow this",
        "the operator's role is below the one that the route needs",
        "Ask an operator with that role; `trefoil admin operator list` shows them.";
    OperatorUnknown: "operator-unknown", NOT_FOUND, No, None, "No such operator",
        "no such operator, or no such token of it",
        "Correct it; `trefoil admin operator list` shows operators and tokens.";
    OperatorConflict: "operator-conflict", CONFLICT, No, None, "The operators do not allow this now",
        "an operator has at most two tokens, and a revoked operator gets none",
        "Do first what `detail` names.";
    LastOwner: "last-owner", CONFLICT, No, None, "The last owner stays",
        "no other owner has a valid token, so nobody could manage operators",
        "Create another owner first: `trefoil admin operator create NAME --role owner`.";
    PolicyOvertaken: "policy-overtaken", PRECONDITION_FAILED, No, None, "Another version of the policy is in force",
        "`If-Match` names another version of the policy than the one in force",
        "Read the policy in force (GET /v1/tenants/TENANT), and send yours with its ETag in If-Match.";
    AudienceNotAllowed: "audience-not-allowed", FORBIDDEN, No, None, "The tenant does not serve this audience",
        "the tenant's policy does not list the audience",
        "Name an audience of the tenant's policy, spelled as it is there.";
    RequestMacInvalid: "request-mac-invalid", FORBIDDEN, No, None, "The request MAC is wrong",
        "the MAC is not that of the request under the session's key",
        "Compute the MAC over exactly the fields that you send, under the key of the session that you name.";
    SessionScope: "session-scope", FORBIDDEN, No, None, "The session does not cover the request",
        "the session is for another handle, audience, policy or level",
        "Open a session for this subject and audience, and use it.";
    RouteUnknown: "route-unknown", NOT_FOUND, No, None, "No such route",
        "no such path on this listener",
        "Correct the path and the listener; API.md lists the routes of both.";
    SubjectUnknown: "subject-unknown", NOT_FOUND, No, None, "No active template for this subject",
        "no active template under this handle",
        "Correct the subject in the path or body, or enrol it first.";
    TenantUnknown: "tenant-unknown", NOT_FOUND, No, None, "No such tenant",
        "no such tenant",
        "Correct the tenant; `trefoil admin tenant list` shows them.";
    TenantDisabled: "tenant-disabled", FORBIDDEN, No, None, "The tenant is disabled",
        "the operator disabled the tenant",
        "Ask the operator: `trefoil admin tenant enable TENANT` lets it in again.";
    TenantInUse: "tenant-in-use", CONFLICT, No, None, "The tenant is in use",
        "only a disabled tenant is deleted, and not while its keys are rotated",
        "Disable it first (`trefoil admin tenant disable TENANT`), and let a rotation end.";
    ApiKeyUnknown: "api-key-unknown", NOT_FOUND, No, None, "No such API key",
        "the tenant has no such API key",
        "Correct the id; `trefoil admin api-key list --tenant TENANT` shows them.";
    SessionUnknown: "session-unknown", NOT_FOUND, No, None, "No such proof session",
        "the tenant has no such session",
        "Open a session (POST /v1/proof-sessions) and sign the request under its key.";
    SealUnknown: "seal-unknown", NOT_FOUND, No, None, "No such seal",
        "no seal has this number or signs this head, or the log ends before this tile does",
        "Ask for a number, or a tile of a log, up to the size of GET /v1/log/head.";
    SealPruned: "seal-pruned", GONE, No, None, "The seal's signatures were pruned",
        "the seal is old and its signatures were dropped",
        "Ask for /v1/seals/N/pruned or /v1/seals/N/header.";
    TrustRootUnknown: "trust-root-unknown", NOT_FOUND, No, None, "No such trust root",
        "no such version",
        "Ask for a version from 1 to the newest.";
    MethodNotAllowed: "method-not-allowed", METHOD_NOT_ALLOWED, No, None, "Method not allowed",
        "the path exists, the method does not",
        "Use a method that the header Allow names.";
    HeadTooLarge: "head-too-large", REQUEST_HEADER_FIELDS_TOO_LARGE, No, None, "The request head is too large",
        "path and headers are over 16 KiB, or over HTTP/1.1 there are more than 100 headers",
        "Shorten the path or the headers.";
    BodyTimeout: "body-timeout", REQUEST_TIMEOUT, Same, None, "The body came too slowly",
        "the body took longer than 10 s",
        "Send the body without pauses, or over a faster connection.";
    TemplateExists: "template-exists", CONFLICT, No, None, "The subject is already enrolled",
        "the subject is enrolled",
        "Replace the subject's template (PUT on this path), or delete it (DELETE on this path) and enrol again.";
    TenantExists: "tenant-exists", CONFLICT, Same, None, "The tenant exists",
        "the drawn identifier was taken",
        "Repeat the request: another identifier is drawn.";
    NonceReplayed: "nonce-replayed", CONFLICT, New, None, "The nonce was already used",
        "the nonce was used before in the session, or without one for the subject. After a repetition: the first request was attempted, and its answer is lost",
        "Make a new request with a fresh nonce.";
    SecretShown: "secret-shown", CONFLICT, No, None, "The secret was shown once",
        "an earlier request with this `Idempotency-Key` created it; the service does not keep secrets that it shows",
        "If you did not see the secret, revoke what `detail` names and create another with a fresh Idempotency-Key.";
    IdempotencyInFlight: "idempotency-in-flight", CONFLICT, Same, Some(1), "The same request is still running",
        "a request with this `Idempotency-Key` is still running",
        "Repeat the request with the same Idempotency-Key after Retry-After.";
    RootGenerationStale: "root-generation-stale", CONFLICT, No, None, "The root generation is not newer",
        "the root is not newer than the last one",
        "Read GET /v1/credentials/roots/TENANT and publish after its end.";
    IssuerKeyMissing: "issuer-key-missing", CONFLICT, No, None, "No issuer key is registered",
        "no issuer key is registered",
        "Register the issuer's key first: `trefoil issuer register`.";
    CosignatureRefused: "cosignature-refused", UNPROCESSABLE_ENTITY, No, None, "The checkpoint is not taken",
        "no listed witness cosigned the checkpoint, or it is of another log",
        "Hand in a checkpoint of this log that a listed witness has cosigned.";
    RootSignatureInvalid: "root-signature-invalid", UNPROCESSABLE_ENTITY, No, None, "The root is not the issuer's",
        "the root is not signed by the registered issuer key",
        "Sign the root with the key that is registered for this tenant.";
    SessionExpired: "session-expired", GONE, No, None, "The proof session has ended",
        "the session is over, or its root was withdrawn",
        "Open a new session and sign the request under its key.";
    BodyTooLarge: "body-too-large", PAYLOAD_TOO_LARGE, No, None, "The body is too large",
        "the body is over the route's limit",
        "Send a smaller body; `detail` says how large one may be.";
    MediaTypeUnsupported: "media-type-unsupported", UNSUPPORTED_MEDIA_TYPE, No, None, "Wrong media type",
        "another `Content-Type`, several of them, or a charset other than UTF-8",
        "Send the header Content-Type that `detail` names.";
    ContentCodingUnsupported: "content-coding-unsupported", UNSUPPORTED_MEDIA_TYPE, No, None, "The body is coded",
        "a body with `Content-Encoding`, such as gzip",
        "Send the body as it is; the service takes no compressed one.";
    TransferCodingUnknown: "transfer-coding-unknown", NOT_IMPLEMENTED, No, None, "Unknown transfer coding",
        "a `Transfer-Encoding` other than `chunked`",
        "Send Content-Length, or Transfer-Encoding with `chunked` alone.";
    FieldInvalid: "field-invalid", UNPROCESSABLE_ENTITY, No, None, "A field is invalid",
        "a field is missing, unknown or out of range",
        "Correct the fields that `errors` points to.";
    EmbeddingInvalid: "embedding-invalid", UNPROCESSABLE_ENTITY, No, None, "The embedding is unusable",
        "not a face of the tenant's model: too few or too many numbers, all zeros, NaN or infinite, or many numbers of one size; or photographs without a common direction",
        "Send the numbers as the tenant's embedder gives them for one face, neither zeros nor an image.";
    ProbeModeMismatch: "probe-mode-mismatch", UNPROCESSABLE_ENTITY, No, None, "The face does not come as the policy says",
        "the face comes in the other probe mode",
        "Send the face in the way that `detail` names.";
    ShareRefused: "share-refused", UNPROCESSABLE_ENTITY, No, None, "A share was refused",
        "a share is malformed, old, used or for another request",
        "Make new shares on the device for this request, tenant and subject.";
    ProofRejected: "proof-rejected", UNPROCESSABLE_ENTITY, No, None, "The proof was refused",
        "the envelope is malformed or its proof does not verify",
        "Make a new proof with the wallet, and send its envelope unchanged.";
    ProofStale: "proof-stale", UNPROCESSABLE_ENTITY, No, None, "The proof is out of date",
        "the proof names an old root or epoch, another tenant, policy or level",
        "Fetch the newest root (`trefoil wallet receive`), and prove again.";
    ProofModeMismatch: "proof-mode-mismatch", UNPROCESSABLE_ENTITY, No, None, "The request does not fit the proof policy",
        "a session, root or issuer's key where the tenant's policy asks for no proof",
        "Send logins without a session; for credentials the operator makes another tenant.";
    RequestNotFresh: "request-not-fresh", UNPROCESSABLE_ENTITY, Sign, None, "The request is not fresh",
        "`issued_at` is outside the window, or before the service started",
        "Set the clock, then sign a new request with its time.";
    IdempotencyKeyReused: "idempotency-key-reused", UNPROCESSABLE_ENTITY, No, None, "Idempotency-Key was reused",
        "the `Idempotency-Key` came with another body",
        "Use a fresh Idempotency-Key for another request.";
    DistinctFailures: "distinct-failures", TOO_MANY_REQUESTS, Same, Some(60), "Too many different subjects failed",
        "logins with this API key, or from this source, failed for too many different subjects that did not match since",
        "Look for a caller that tries one face on many people, or for a camera or a model that fails; the limit goes up as subjects match.";
    QuotaExceeded: "quota-exceeded", TOO_MANY_REQUESTS, Same, Some(1), "Too many requests in flight",
        "too many requests of the tenant in flight, or no credit for proofs",
        "Repeat after Retry-After, with fewer requests in flight.";
    Overloaded: "overloaded", SERVICE_UNAVAILABLE, Same, Some(1), "The service is at capacity",
        "a queue is full; nothing was attempted",
        "Repeat after Retry-After; nothing was attempted.";
    BeforeRestart: "before-restart", SERVICE_UNAVAILABLE, Sign, Some(1), "The request may have been answered before a restart",
        "the process before a restart may have answered this request; nothing was attempted now",
        "Sign the request again with a later issued_at.";
    ClockBehind: "clock-behind", SERVICE_UNAVAILABLE, Sign, Some(30), "The service's clock is behind",
        "the service's clock is behind what it has sealed or what its database says; nothing was attempted",
        "The operator has to set the clock; sign the request again after Retry-After.";
    StoreUnavailable: "store-unavailable", SERVICE_UNAVAILABLE, Same, Some(1), "The store cannot be reached",
        "the database of the store cannot be reached or gave no answer; a change may have been made",
        "Repeat after Retry-After, with the same Idempotency-Key; where `nonce-replayed` follows, sign a new request. The operator finds the cause with `trefoil doctor`.";
    StorageDamaged: "storage-damaged", SERVICE_UNAVAILABLE, No, None, "Stored data is damaged",
        "stored data is damaged",
        "The operator has to restore a backup; its log and `trefoil doctor` say why.";
    DiskLow: "disk-low", SERVICE_UNAVAILABLE, Same, Some(30), "The service is short of disk space",
        "too little disk space; nothing was attempted. Deletions and roots are still accepted",
        "The operator has to make room; repeat after Retry-After.";
    Unsealed: "unsealed", SERVICE_UNAVAILABLE, New, Some(30), "The decision could not be sealed",
        "decided and counted, but the seal cannot be stored, so there is no answer",
        "The operator has to look at the store; sign a new request after Retry-After.";
    Draining: "draining", SERVICE_UNAVAILABLE, Same, Some(1), "The service is shutting down",
        "the service stops, or is not ready; nothing was attempted",
        "Repeat after Retry-After; nothing was attempted.";
    Undecided: "undecided", SERVICE_UNAVAILABLE, Same, Some(1), "No decision could be made",
        "the key-holder gave no decision; the attempt may have been counted, and the nonce spent",
        "Repeat after Retry-After; where `nonce-replayed` follows, sign a new request. An attempt may have been counted.";
    PolicyOutOfStep: "policy-out-of-step", SERVICE_UNAVAILABLE, New, Some(1), "The key-holder has another threshold",
        "the key-holder's threshold differs from the tenant's policy; no decision and no attempt counted, but the nonce is spent",
        "The operator sets the policy again (`trefoil admin policy set`), or the key-holder's operator its threshold (`trefoil key-holder set-policy`); then sign a new request. During a change of the policy it is over in a moment.";
    KeyHolderUnavailable: "key-holder-unavailable", SERVICE_UNAVAILABLE, Same, Some(1), "The key-holder cannot be reached",
        "the key-holder cannot be reached; no decision. A login may have spent its nonce: then `nonce-replayed` follows",
        "Repeat after Retry-After; where `nonce-replayed` follows, sign a new request. The operator finds the cause with `trefoil doctor`.";
    KeyHolderForbids: "key-holder-forbids", FORBIDDEN, No, None, "The key-holder does not allow this",
        "the key-holder's configuration does not allow it",
        "Ask the key-holder's operator, whose configuration says what is allowed. Only that operator resets malformed jobs and attempts, with `trefoil key-holder reset-malformed` and `reset-attempts`, at each of three key-holders.";
    TimedOut: "timed-out", GATEWAY_TIMEOUT, New, None, "The answer took too long",
        "no answer in time; it may have been decided and counted",
        "Sign a new request, and repeat.";
    Internal: "internal", INTERNAL_SERVER_ERROR, Once, None, "Internal error",
        "an internal error",
        "Repeat once; then give the operator `request_id`, which is in the log.";
}

impl Code {
    /// The code of this name.
    pub fn named(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name() == name)
    }

    /// The stable name, such as `session-expired`.
    pub fn name(self) -> &'static str {
        self.explain().code
    }
}
