//! Why a problem happens and whether the request may be repeated. The `type` of a problem is the path of this explanation.

use super::Code;
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

impl Code {
    /// Every code.
    pub const ALL: [Code; 65] = [
        Code::MalformedJson,
        Code::MalformedRequest,
        Code::IdempotencyKeyMissing,
        Code::CallerUnauthenticated,
        Code::ScopeMissing,
        Code::RoleMissing,
        Code::OperatorUnknown,
        Code::OperatorConflict,
        Code::PolicyOvertaken,
        Code::AudienceNotAllowed,
        Code::RequestMacInvalid,
        Code::SessionScope,
        Code::RouteUnknown,
        Code::SubjectUnknown,
        Code::TenantUnknown,
        Code::TenantDisabled,
        Code::TenantInUse,
        Code::ApiKeyUnknown,
        Code::SessionUnknown,
        Code::SealUnknown,
        Code::SealPruned,
        Code::TrustRootUnknown,
        Code::MethodNotAllowed,
        Code::HeadTooLarge,
        Code::BodyTimeout,
        Code::TemplateExists,
        Code::TenantExists,
        Code::NonceReplayed,
        Code::ChainValueRefused,
        Code::SecretShown,
        Code::IdempotencyInFlight,
        Code::RootGenerationStale,
        Code::IssuerKeyMissing,
        Code::CosignatureRefused,
        Code::RootSignatureInvalid,
        Code::SessionExpired,
        Code::BodyTooLarge,
        Code::MediaTypeUnsupported,
        Code::ContentCodingUnsupported,
        Code::TransferCodingUnknown,
        Code::FieldInvalid,
        Code::EmbeddingInvalid,
        Code::ProbeModeMismatch,
        Code::ShareRefused,
        Code::ProofRejected,
        Code::ProofStale,
        Code::ProofModeMismatch,
        Code::RequestNotFresh,
        Code::IdempotencyKeyReused,
        Code::DistinctFailures,
        Code::QuotaExceeded,
        Code::Overloaded,
        Code::BeforeRestart,
        Code::ClockBehind,
        Code::StoreUnavailable,
        Code::StorageDamaged,
        Code::DiskLow,
        Code::Unsealed,
        Code::Draining,
        Code::Undecided,
        Code::PolicyOutOfStep,
        Code::KeyHolderUnavailable,
        Code::KeyHolderForbids,
        Code::TimedOut,
        Code::Internal,
    ];

    /// The code of this name.
    pub fn named(name: &str) -> Option<Code> {
        Code::ALL.into_iter().find(|code| code.name() == name)
    }

    /// The explanation of the code, without a request.
    pub fn explain(self) -> Explained {
        let (status, code, title) = self.describe();
        let (cause, cure, retry) = (self.cause(), self.cure(), self.retry());
        Explained {
            code,
            title,
            status: status.as_u16(),
            cause,
            cure,
            retry,
            retry_after_s: self.retry_after_s(),
        }
    }

    /// Whether to repeat the request.
    pub fn retry(self) -> Retry {
        match self {
            Code::BodyTimeout
            | Code::TenantExists
            | Code::IdempotencyInFlight
            | Code::DistinctFailures
            | Code::QuotaExceeded
            | Code::Overloaded
            | Code::DiskLow
            | Code::Draining
            | Code::Undecided
            | Code::StoreUnavailable
            | Code::KeyHolderUnavailable => Retry::Same,
            Code::NonceReplayed | Code::Unsealed | Code::TimedOut | Code::PolicyOutOfStep => Retry::New,
            Code::RequestNotFresh | Code::BeforeRestart | Code::ClockBehind => Retry::Sign,
            Code::Internal => Retry::Once,
            _ => Retry::No,
        }
    }

    /// Why it happens.
    pub fn cause(self) -> &'static str {
        match self {
            Code::MalformedJson => "the body is not JSON",
            Code::MalformedRequest => {
                "a path segment, query or header cannot be read, `Host` is missing or there twice, or the body broke off"
            }
            Code::IdempotencyKeyMissing => "an enrolment without `Idempotency-Key`",
            Code::CallerUnauthenticated => "no API key or token, or one that is unknown, expired or revoked",
            Code::ScopeMissing => "the API key lacks the route's scope",
            Code::RoleMissing => "the operator's role is below the one that the route needs",
            Code::OperatorUnknown => "no such operator, or no such token of it",
            Code::OperatorConflict => {
                "the last owner cannot be revoked, an operator has at most two tokens, and a revoked operator gets none"
            }
            Code::PolicyOvertaken => "`If-Match` names another version of the policy than the one in force",
            Code::AudienceNotAllowed => "the tenant's policy does not list the audience",
            Code::RequestMacInvalid => "the MAC is not that of the request under the session's key",
            Code::SessionScope => "the session is for another handle, audience, policy or level",
            Code::RouteUnknown => "no such path on this listener",
            Code::SubjectUnknown => "no active template under this handle",
            Code::TenantUnknown => "no such tenant",
            Code::TenantDisabled => "the operator disabled the tenant",
            Code::TenantInUse => "only a disabled tenant is deleted, and not while its keys are rotated",
            Code::ApiKeyUnknown => "the tenant has no such API key",
            Code::SessionUnknown => "the tenant has no such session",
            Code::SealUnknown => {
                "no seal has this number or signs this head, or the log ends before this tile does"
            }
            Code::SealPruned => "the seal is old and its signatures were dropped",
            Code::TrustRootUnknown => "no such version",
            Code::MethodNotAllowed => "the path exists, the method does not",
            Code::HeadTooLarge => {
                "path and headers are over 16 KiB, or over HTTP/1.1 there are more than 100 headers"
            }
            Code::BodyTimeout => "the body took longer than 10 s",
            Code::TemplateExists => "the subject is enrolled",
            Code::TenantExists => "the drawn identifier was taken",
            Code::NonceReplayed => {
                "the nonce was used before in the session, or without one for the subject. After a repetition: the first request was attempted, and its answer is lost"
            }
            Code::ChainValueRefused => "the revealed chain value is missing, used or not of this chain",
            Code::SecretShown => {
                "an earlier request with this `Idempotency-Key` created it; the service does not keep secrets that it shows"
            }
            Code::IdempotencyInFlight => "a request with this `Idempotency-Key` is still running",
            Code::RootGenerationStale => "the root is not newer than the last one",
            Code::IssuerKeyMissing => "no issuer key is registered",
            Code::CosignatureRefused => "no listed witness cosigned the checkpoint, or it is of another log",
            Code::RootSignatureInvalid => "the root is not signed by the registered issuer key",
            Code::SessionExpired => "the session is over, or its root was withdrawn",
            Code::BodyTooLarge => "the body is over the route's limit",
            Code::MediaTypeUnsupported => {
                "another `Content-Type`, several of them, or a charset other than UTF-8"
            }
            Code::ContentCodingUnsupported => "a body with `Content-Encoding`, such as gzip",
            Code::TransferCodingUnknown => "a `Transfer-Encoding` other than `chunked`",
            Code::FieldInvalid => "a field is missing, unknown or out of range",
            Code::EmbeddingInvalid => "not a face: all zeros, NaN or infinite, or many numbers of one size",
            Code::ProbeModeMismatch => "the face comes in the other probe mode",
            Code::ShareRefused => "a share is malformed, old, used or for another request",
            Code::ProofRejected => "the envelope is malformed or its proof does not verify",
            Code::ProofStale => "the proof names an old root or epoch, another tenant, policy or level",
            Code::ProofModeMismatch => {
                "a session, root or issuer's key where the tenant's policy asks for no proof"
            }
            Code::RequestNotFresh => "`issued_at` is outside the window, or before the service started",
            Code::IdempotencyKeyReused => "the `Idempotency-Key` came with another body",
            Code::DistinctFailures => {
                "logins with this API key, or from this source, failed for too many different subjects that did not match since"
            }
            Code::QuotaExceeded => "too many requests of the tenant in flight, or no credit for proofs",
            Code::Overloaded => "a queue is full; nothing was attempted",
            Code::BeforeRestart => {
                "the process before a restart may have answered this request; nothing was attempted now"
            }
            Code::ClockBehind => {
                "the service's clock is behind what it has sealed or what its database says; nothing was attempted"
            }
            Code::StoreUnavailable => {
                "the database of the store cannot be reached or gave no answer; a change may have been made"
            }
            Code::StorageDamaged => "stored data is damaged",
            Code::DiskLow => {
                "too little disk space; nothing was attempted. Deletions and roots are still accepted"
            }
            Code::Unsealed => "decided and counted, but the seal cannot be stored, so there is no answer",
            Code::Draining => "the service stops, or is not ready; nothing was attempted",
            Code::Undecided => {
                "the key-holder gave no decision; the attempt may have been counted, and the nonce spent"
            }
            Code::PolicyOutOfStep => {
                "the key-holder's threshold differs from the tenant's policy; no decision and no attempt counted, but the nonce is spent"
            }
            Code::KeyHolderUnavailable => {
                "the key-holder cannot be reached; no decision. A login may have spent its nonce: then `nonce-replayed` follows"
            }
            Code::KeyHolderForbids => "the key-holder's configuration does not allow it",
            Code::TimedOut => "no answer in time; it may have been decided and counted",
            Code::Internal => "an internal error",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_listed_once_and_found_by_its_name() {
        for code in Code::ALL {
            assert_eq!(Code::named(code.name()), Some(code));
        }
        let described = include_str!("../problem.rs").split_once("fn describe(").unwrap().1;
        let described = described.split_once("The HTTP status.").unwrap().0;
        assert_eq!(described.matches("S::").count(), Code::ALL.len());
        assert_eq!(Code::named("no-such"), None);
    }

    /// The page for people says the same.
    #[test]
    fn the_table_of_the_api_page_says_the_same_of_each() {
        let page = include_str!("../../API.md");
        for code in Code::ALL {
            let Explained { status, retry, cause, .. } = code.explain();
            let retry = retry.name();
            let row = format!("| `{}` | {status} | {retry} | {cause} |", code.name());
            assert!(page.contains(&row), "API.md has no line that begins {row}");
        }
    }
}
