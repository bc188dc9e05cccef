//! The one mapping from the service's refusals to problems.

use super::{Code, Problem};
use trefoil_api::OutOfRange;
use trefoil_attest::witness::WitnessError;
use trefoil_matching::{AverageError, KeyHolderError};
use trefoil_pipeline::{Refusal, Stale};
use trefoil_service::tenants::tenant::ProbeMode;
use trefoil_service::{NoFace, Refused};
use trefoil_storage::store::StoreError;
use trefoil_wallet::credentials::{ChainError, RootError};

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Problem {
        let code = match &refused {
            Refused::Caller => {
                let detail = "send `Authorization: Bearer <API key>` with a key that exists and is neither expired nor revoked";
                return Problem::new(Code::CallerUnauthenticated, detail);
            }
            Refused::OperatorToken => {
                let detail = "send `Authorization: Bearer <token>` with an operator's token that is neither expired nor revoked, or the one in the \
                              data directory's admin.token";
                return Problem::new(Code::CallerUnauthenticated, detail);
            }
            Refused::OperatorUnknown => {
                let detail = format!("{refused}; GET /v1/operators lists them");
                return Problem::new(Code::OperatorUnknown, detail);
            }
            Refused::ApiKeyUnknown => {
                let detail = format!("{refused}; GET /v1/tenants/{{tenant}}/api-keys lists them");
                return Problem::new(Code::ApiKeyUnknown, detail);
            }
            Refused::IssuerKeyMissing => {
                let detail = format!("{refused}: PUT /v1/tenants/{{tenant}}/issuer-key, admin listener");
                return Problem::new(Code::IssuerKeyMissing, detail);
            }
            Refused::Fault => return Problem::fault(),
            Refused::Policy(OutOfRange { pointer, .. }) => {
                return field(&format!("/policy{pointer}"), &refused);
            }
            Refused::PolicyOvertaken { .. } => Code::PolicyOvertaken,
            Refused::OtherThreshold => Code::PolicyOutOfStep,
            Refused::NoScope => return field("/scopes", &refused),
            Refused::Over { .. } => return field("/expires_at", &refused),
            Refused::IssuerKey => return field("/ml_dsa_65", &refused),
            Refused::RootEarly | Refused::TooManyRoots => return field("/statement", &refused),
            Refused::Root(cause) => return root(cause),
            Refused::OperatorTokenUnknown | Refused::BootstrapToken => Code::OperatorUnknown,
            Refused::OperatorRevoked | Refused::TwoTokens => Code::OperatorConflict,
            Refused::LastOwner => Code::LastOwner,
            Refused::TenantDisabled => Code::TenantDisabled,
            Refused::TenantEnabled | Refused::TenantRotates => Code::TenantInUse,
            Refused::TenantUnknown => Code::TenantUnknown,
            Refused::TenantExists => Code::TenantExists,
            Refused::Audience { .. } => Code::AudienceNotAllowed,
            Refused::RootOvertaken => Code::RootGenerationStale,
            Refused::NoProofs => Code::ProofModeMismatch,
            Refused::NonceUsedBySubject => Code::NonceReplayed,
            Refused::SessionUnknown | Refused::SessionNotOpened => Code::SessionUnknown,
            Refused::SessionEnded => Code::SessionExpired,
            Refused::Proof(_) => Code::ProofRejected,
            Refused::DistinctFailures { .. } => Code::DistinctFailures,
            Refused::SourceFailures { .. } => return at("/source", Code::DistinctFailures, &refused),
            Refused::ProofLate(_) | Refused::TooManyProofs(_) | Refused::StoreBusy => Code::Overloaded,
            Refused::StoreAway => Code::StoreUnavailable,
            Refused::StoreDamaged => Code::StorageDamaged,
            Refused::NoRoom => Code::DiskLow,
            Refused::KeyHolderAway | Refused::SeatAway(_) | Refused::OlderVault(_) => {
                Code::KeyHolderUnavailable
            }
            Refused::KeyHolderForbids(_) => Code::KeyHolderForbids,
            Refused::NotFresh(_) => return at("/issued_at", Code::RequestNotFresh, &refused),
            Refused::BeforeRestart { wait_s, .. } => {
                return at("/issued_at", Code::BeforeRestart, &refused).after(*wait_s);
            }
            Refused::ClockBehind { .. } => Code::ClockBehind,
            Refused::ProbeMode { expected } => return probe_mode(*expected),
            Refused::Embedding(cause) => return at(&face_at(cause), Code::EmbeddingInvalid, &refused),
            Refused::OpenShare(_) => return at("/shares/open", Code::ShareRefused, &refused),
            Refused::SealedShareLength { .. } => return at("/shares/sealed", Code::ShareRefused, &refused),
            Refused::SealedForAnother => {
                let detail = format!("{refused}: seal again, to the key of /v1/fhe/keys");
                return Problem::field(Code::ShareRefused, "/shares/sealed", detail);
            }
            Refused::SubjectUnknown => Code::SubjectUnknown,
            Refused::TemplateExists => Code::TemplateExists,
            Refused::IdempotencyInFlight => Code::IdempotencyInFlight,
            Refused::IdempotencyKeyReused => Code::IdempotencyKeyReused,
            Refused::Login(why) => return login(*why),
            Refused::Unsealed => Code::Unsealed,
            Refused::TemplateChanging
            | Refused::TemplateOvertaken
            | Refused::KeysReplaced
            | Refused::GenerationTaken
            | Refused::TooManyRequests => Code::Overloaded,
            Refused::Draining => Code::Draining,
            Refused::ProofStale(_) => Code::ProofStale,
            Refused::Upload(_) => Code::QuotaExceeded,
            Refused::Checkpoint(cause) => return checkpoint(cause),
            Refused::LogShorter { .. } | Refused::NoHead => Code::SealUnknown,
            Refused::OtherLog => Code::CosignatureRefused,
            Refused::SealPruned { number } => {
                let detail = format!(
                    "{refused}; /v1/seals/{number}/pruned has its header with the proof that a later seal of the same keys signs it, \
                     /v1/seals/{number}/header the header alone"
                );
                return Problem::new(Code::SealPruned, detail);
            }
        };
        Problem::new(code, refused.to_string())
    }
}

fn field(pointer: &str, refused: &Refused) -> Problem {
    at(pointer, Code::FieldInvalid, refused)
}

fn at(pointer: &str, code: Code, refused: &Refused) -> Problem {
    Problem::field(code, pointer, refused.to_string())
}

/// Which vector of a body is refused: that of a login, or one or all of an enrolment's.
fn face_at(cause: &NoFace) -> String {
    match cause {
        NoFace::Photographs(AverageError::NoDirection) => "/embeddings".to_owned(),
        NoFace::Photographs(AverageError::Photograph { at, .. } | AverageError::Length { at, .. })
        | NoFace::Length { photograph: Some(at), .. } => format!("/embeddings/{at}"),
        NoFace::Length { photograph: None, .. } | NoFace::Login(_) => "/embedding".to_owned(),
        NoFace::OtherModel { .. } => "/embedder".to_owned(),
    }
}

fn probe_mode(expected: ProbeMode) -> Problem {
    let detail = match expected {
        ProbeMode::Plain => {
            "the tenant's probe mode is plain: send `embedding` (to enrol, `embeddings`) and no `shares`"
        }
        ProbeMode::Shared => {
            "the tenant's probe mode is shared: send `shares`, which the device makes, and no vector"
        }
    };
    Problem::new(Code::ProbeModeMismatch, detail)
}

/// A login that the pipeline did not decide.
fn login(why: Refusal) -> Problem {
    match why {
        Refusal::Session(Stale::Expired | Stale::Root | Stale::Missing | Stale::Verifier) => {
            Refused::SessionEnded.into()
        }
        Refusal::Session(Stale::Scope) => Problem::new(
            Code::SessionScope,
            "the session was proven for another handle, audience, policy or level; open one for this request",
        ),
        Refusal::Mac => Problem::new(
            Code::RequestMacInvalid,
            "the mac is not that of this request under the session's key",
        ),
        Refusal::NonceUsed => {
            Problem::new(Code::NonceReplayed, "this nonce was used in this session; get a new one")
        }
        Refusal::TooOld => Problem::field(
            Code::RequestNotFresh,
            "/issued_at",
            "the request waited for too long and nothing was attempted; issue a new request",
        ),
        Refusal::NoncesFull => {
            Problem::new(Code::Overloaded, "too many requests are remembered; retry after a second")
        }
        Refusal::Unremembered => Problem::field(
            Code::RequestNotFresh,
            "/issued_at",
            "the nodes' register of used nonces cannot know this request, because it began anew or its clock is not this node's; issue a new \
             request",
        ),
        Refusal::RegisterUnavailable => Problem::new(
            Code::StoreUnavailable,
            "the nodes' register of used nonces gave no answer, and nothing is decided without it; the nonce may be used up, so make a new \
             request in a second",
        ),
        Refusal::Template => Problem::new(
            Code::SubjectUnknown,
            "no template is active under this handle; enrol the subject first",
        ),
        Refusal::SealedShare => Refused::SealedForAnother.into(),
        Refusal::ProbeMode => {
            Problem::new(Code::ProbeModeMismatch, "the tenant's probe mode changed while the request waited")
        }
        Refusal::ProofMode => Problem::new(
            Code::ProofModeMismatch,
            "the tenant's policy says whether a login is in a proof session; this one is not as it says",
        ),
        Refusal::Tenant => Problem::new(Code::TenantUnknown, "the tenant was removed"),
        Refusal::KeyHolder => Problem::new(
            Code::Undecided,
            "the key-holder gave no decision, and nothing is accepted without one",
        ),
        Refusal::Threshold => Refused::OtherThreshold.into(),
        Refusal::KeyHolderUnavailable => Refused::KeyHolderAway.into(),
        Refusal::Unsealed => Refused::StoreAway.into(),
        Refusal::Fault => Problem::internal("the pipeline could not decide a request"),
    }
}

fn checkpoint(cause: &WitnessError) -> Problem {
    match cause {
        WitnessError::Note => Problem::new(Code::MalformedRequest, cause.to_string()),
        WitnessError::TooFew { .. } => {
            let detail =
                "no witness of this service has cosigned it; its operator lists them under witnesses.keys";
            Problem::new(Code::CosignatureRefused, detail)
        }
        _ => Problem::new(Code::CosignatureRefused, cause.to_string()),
    }
}

fn root(cause: &ChainError) -> Problem {
    match cause {
        ChainError::Generation { .. } | ChainError::Previous { .. } => Problem::new(
            Code::RootGenerationStale,
            format!("{cause}; read the root log and publish after its end"),
        ),
        ChainError::Root(RootError::Key { .. } | RootError::Signature) => {
            Problem::new(Code::RootSignatureInvalid, cause.to_string())
        }
        _ => Problem::field(Code::FieldInvalid, "/statement", cause.to_string()),
    }
}

impl From<KeyHolderError> for Problem {
    /// As the service takes it.
    fn from(cause: KeyHolderError) -> Problem {
        Refused::from(cause).into()
    }
}

impl From<StoreError> for Problem {
    /// As the service takes it.
    fn from(cause: StoreError) -> Problem {
        Refused::from(cause).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use trefoil_service::Denied;
    use trefoil_service::NotFresh;

    /// The exact texts that callers have read since the first version: programs compare codes, people search for sentences.
    fn reads(refused: Refused, code: &str, detail: &str) {
        let problem = Problem::from(refused.clone());
        assert_eq!((problem.code().name(), &*problem.detail), (code, detail));
        // `errors` names the field at the start of `detail`.
        let pointer = detail.strip_prefix('/').and_then(|rest| rest.split_once(": "));
        let expected = pointer.map(|(pointer, rest)| (format!("/{pointer}"), rest));
        let named = problem.errors.first().map(|error| (error.pointer.clone(), error.detail.as_str()));
        assert_eq!(named, expected, "{refused:?}");
    }

    /// Of those that no test of a running service reads in an answer.
    #[test]
    fn rare_refusals_read_as_callers_know_them() {
        for (refused, code, detail) in [
            (Refused::OperatorRevoked, "operator-conflict", "this operator was revoked; create another one"),
            (Refused::TenantExists, "tenant-exists", "the tenant exists; retry for another identifier"),
            (
                Refused::NoScope,
                "field-invalid",
                "/scopes: expected at least one of enrol, authenticate, issue",
            ),
            (Refused::IssuerKey, "field-invalid", "/ml_dsa_65: expected 1952 bytes, an ML-DSA-65 public key"),
            (
                Refused::RootEarly,
                "field-invalid",
                "/statement: issued in the future: check the issuer's clock",
            ),
            (
                Refused::RootOvertaken,
                "root-generation-stale",
                "a root of this or a later generation is published",
            ),
            (
                Refused::ProofLate(Duration::from_secs(2)),
                "overloaded",
                "the proof waited longer than 2000 ms; retry after a second",
            ),
            (
                Refused::TooManyProofs("proofs of this tenant"),
                "overloaded",
                "too many proofs of this tenant wait; retry after a second",
            ),
            (Refused::StoreBusy, "overloaded", "too many writes wait; retry after a second"),
            (
                Refused::Login(Refusal::RegisterUnavailable),
                "store-unavailable",
                "the nodes' register of used nonces gave no answer, and nothing is decided without it; the nonce may be used up, so make a \
                 new request in a second",
            ),
            (
                Refused::Login(Refusal::Unremembered),
                "request-not-fresh",
                "/issued_at: the nodes' register of used nonces cannot know this request, because it began anew or its clock is not this \
                 node's; issue a new request",
            ),
            (
                Refused::Login(Refusal::ProofMode),
                "proof-mode-mismatch",
                "the tenant's policy says whether a login is in a proof session; this one is not as it says",
            ),
            (
                Refused::NotFresh(NotFresh::BeforeStart),
                "request-not-fresh",
                "/issued_at: issued before this process started, which cannot know its nonce; issue a new request",
            ),
            (
                Refused::Login(Refusal::Template),
                "subject-unknown",
                "no template is active under this handle; enrol the subject first",
            ),
            (
                Refused::IdempotencyInFlight,
                "idempotency-in-flight",
                "a request with this Idempotency-Key is still running; retry after a second",
            ),
            (
                Refused::TemplateChanging,
                "overloaded",
                "the template changed again and again while the request waited; retry after a second",
            ),
            (
                Refused::TemplateOvertaken,
                "overloaded",
                "the subject's template was renewed, replaced, revoked or erased meanwhile, and this request changed nothing; retry after a second",
            ),
            (
                Refused::Upload(Denied::Busy),
                "quota-exceeded",
                "too many uploads of this API key are open; retry after a second",
            ),
            (Refused::LogShorter { size: 9 }, "seal-unknown", "no seal signs a log of 9 yet"),
            (
                Refused::OtherLog,
                "cosignature-refused",
                "the seals of this service lead to another root, or have another issuer",
            ),
        ] {
            reads(refused, code, detail);
        }
    }
}
