//! The one mapping from the service's refusals to problems.

use super::{Code, Problem};
use trefoil_api::OutOfRange;
use trefoil_attest::witness::WitnessError;
use trefoil_matching::KeyHolderError;
use trefoil_pipeline::{Refusal, RevealRefused, Stale};
use trefoil_service::Refused;
use trefoil_service::tenant::ProbeMode;
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
            Refused::OperatorRevoked | Refused::TwoTokens | Refused::LastOwner => Code::OperatorConflict,
            Refused::TenantDisabled => Code::TenantDisabled,
            Refused::TenantEnabled | Refused::TenantRotates => Code::TenantInUse,
            Refused::TenantUnknown => Code::TenantUnknown,
            Refused::TenantExists => Code::TenantExists,
            Refused::Audience { .. } => Code::AudienceNotAllowed,
            Refused::RootOvertaken => Code::RootGenerationStale,
            Refused::NoProofs => Code::ProofModeMismatch,
            Refused::NonceUsedBySubject => Code::NonceReplayed,
            Refused::SessionUnknown => Code::SessionUnknown,
            Refused::SessionEnded => Code::SessionExpired,
            Refused::Proof(_) => Code::ProofRejected,
            Refused::DistinctFailures { .. } => Code::DistinctFailures,
            Refused::SourceFailures { .. } => return at("/source", Code::DistinctFailures, &refused),
            Refused::TooManyChains
            | Refused::ProofLate(_)
            | Refused::TooManyProofs(_)
            | Refused::StoreBusy => Code::Overloaded,
            Refused::StoreAway => Code::StoreUnavailable,
            Refused::StoreDamaged => Code::StorageDamaged,
            Refused::NoRoom => Code::DiskLow,
            Refused::KeyHolderAway | Refused::SeatAway(_) | Refused::OlderVault(_) => {
                Code::KeyHolderUnavailable
            }
            Refused::KeyHolderForbids(_) => Code::KeyHolderForbids,
            Refused::NotFresh(_) => return at("/issued_at", Code::RequestNotFresh, &refused),
            Refused::BeforeRestart { .. } => return at("/issued_at", Code::BeforeRestart, &refused),
            Refused::ProbeMode { expected } => return probe_mode(*expected),
            Refused::Embedding(_) => return at("/embedding", Code::EmbeddingInvalid, &refused),
            Refused::OpenShare(_) => return at("/shares/open", Code::ShareRefused, &refused),
            Refused::SealedShareLength => return at("/shares/sealed", Code::ShareRefused, &refused),
            Refused::SealedForAnother => {
                let detail = format!("{refused}: seal again, to the key of /v1/fhe/keys");
                return Problem::field(Code::ShareRefused, "/shares/sealed", detail);
            }
            Refused::SubjectUnknown => Code::SubjectUnknown,
            Refused::TemplateExists => Code::TemplateExists,
            Refused::IdempotencyInFlight => Code::IdempotencyInFlight,
            Refused::IdempotencyKeyReused => Code::IdempotencyKeyReused,
            Refused::SessionNotOpened => Code::SessionUnknown,
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
            Refused::LogShorter { .. } | Refused::Uncosigned => Code::SealUnknown,
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

fn probe_mode(expected: ProbeMode) -> Problem {
    let detail = match expected {
        ProbeMode::Plain => "the tenant's probe mode is plain: send `embedding` and no `shares`",
        ProbeMode::Shared => {
            "the tenant's probe mode is shared: send `shares`, which the device makes, and no `embedding`"
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
        Refusal::Reveal(RevealRefused::Unknown) => Refused::SessionEnded.into(),
        Refusal::Reveal(why) => Problem::new(Code::ChainValueRefused, why.to_string()),
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
    use trefoil_matching::{QuantiseError, ShareError};
    use trefoil_service::NotFresh;
    use trefoil_service::proofs::quota::Denied;
    use trefoil_zkp::ProofError;

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

    #[test]
    fn refusals_of_tenants_keys_and_roots_read_as_callers_know_them() {
        let out_of_range = OutOfRange { pointer: "/audiences".to_owned(), detail: "expected one".to_owned() };
        for (refused, code, detail) in [
            (
                Refused::Caller,
                "caller-unauthenticated",
                "send `Authorization: Bearer <API key>` with a key that exists and is neither expired nor revoked",
            ),
            (
                Refused::OperatorToken,
                "caller-unauthenticated",
                "send `Authorization: Bearer <token>` with an operator's token that is neither expired nor revoked, or the one in the data \
                 directory's admin.token",
            ),
            (
                Refused::OperatorUnknown,
                "operator-unknown",
                "no operator has this identifier; GET /v1/operators lists them",
            ),
            (
                Refused::OperatorTokenUnknown,
                "operator-unknown",
                "this operator has no token with this number",
            ),
            (
                Refused::TwoTokens,
                "operator-conflict",
                "this operator has two valid tokens already; revoke one of them first",
            ),
            (Refused::OperatorRevoked, "operator-conflict", "this operator was revoked; create another one"),
            (
                Refused::LastOwner,
                "operator-conflict",
                "no other owner has a valid token, so nobody could manage operators; create another owner first",
            ),
            (
                Refused::TenantDisabled,
                "tenant-disabled",
                "the service's operator disabled this tenant; ask the operator to enable it",
            ),
            (Refused::TenantUnknown, "tenant-unknown", "no tenant has this identifier"),
            (Refused::TenantExists, "tenant-exists", "the tenant exists; retry for another identifier"),
            (Refused::Policy(out_of_range), "field-invalid", "/policy/audiences: expected one"),
            (
                Refused::Audience { allowed: "a, b and others".to_owned() },
                "audience-not-allowed",
                "the tenant's policy allows the audiences a, b and others; use one of them as it is written, or have the \
                 operator add the other one to the policy",
            ),
            (
                Refused::ApiKeyUnknown,
                "api-key-unknown",
                "this tenant has no API key with this id; GET /v1/tenants/{tenant}/api-keys lists them",
            ),
            (
                Refused::NoScope,
                "field-invalid",
                "/scopes: expected at least one of enrol, authenticate, issue",
            ),
            (
                Refused::Over { end: 1, now: 2 },
                "field-invalid",
                "/expires_at: 1 is over: the service's clock says 2, in Unix seconds",
            ),
            (Refused::IssuerKey, "field-invalid", "/ml_dsa_65: expected 1952 bytes, an ML-DSA-65 public key"),
            (
                Refused::IssuerKeyMissing,
                "issuer-key-missing",
                "register the tenant's issuer key first: PUT /v1/tenants/{tenant}/issuer-key, admin listener",
            ),
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
                Refused::TooManyRoots,
                "field-invalid",
                "/statement: at most 16 generations are accepted at once; raise generation_min",
            ),
        ] {
            reads(refused, code, detail);
        }
    }

    #[test]
    fn refusals_of_sessions_stores_and_key_holders_read_as_callers_know_them() {
        let away =
            "the key-holder cannot be reached, and nothing is accepted without it; retry after a second";
        for (refused, code, detail) in [
            (
                Refused::SessionEnded,
                "session-expired",
                "the session has ended or its credential root was withdrawn; prove again",
            ),
            (
                Refused::TooManyChains,
                "overloaded",
                "too many sessions with a hash chain are open; retry later",
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
                Refused::StoreAway,
                "store-unavailable",
                "the service cannot reach its database; what was asked for may have been stored: repeat it",
            ),
            (
                Refused::StoreDamaged,
                "storage-damaged",
                "stored data is damaged, so the service ends; its operator finds the file and the cure in the log",
            ),
            (
                Refused::NoRoom,
                "disk-low",
                "the service has no room for new records; nothing was attempted: retry later",
            ),
            (Refused::KeyHolderAway, "key-holder-unavailable", away),
            (Refused::SeatAway("one is away".to_owned()), "key-holder-unavailable", "one is away"),
            (Refused::OlderVault("an older copy".to_owned()), "key-holder-unavailable", "an older copy"),
            (
                Refused::KeyHolderForbids("not today".to_owned()),
                "key-holder-forbids",
                "not today (a key-holder's limits are in its configuration; `trefoil key-holder reset-malformed`, \
                 `reset-attempts` and `set-policy` are its operator's)",
            ),
            (
                Refused::Fault,
                "internal",
                "the request failed on our side; retry, and quote request_id if it persists",
            ),
        ] {
            reads(refused, code, detail);
        }
    }

    #[test]
    fn refusals_of_faces_and_times_read_as_callers_know_them() {
        for (refused, code, detail) in [
            (
                Refused::NonceUsedBySubject,
                "nonce-replayed",
                "this nonce was used for this subject; get a new one",
            ),
            (
                Refused::Login(Refusal::ProofMode),
                "proof-mode-mismatch",
                "the tenant's policy says whether a login is in a proof session; this one is not as it says",
            ),
            (
                Refused::NoProofs,
                "proof-mode-mismatch",
                "the tenant's policy asks for no proof, and this cannot change, so it has no credentials, roots or sessions; send logins without \
                 `session_id` and `mac`, or make another tenant",
            ),
            (
                Refused::NotFresh(NotFresh::OutsideWindow { issued_at: 1, now: 100 }),
                "request-not-fresh",
                "/issued_at: issued_at 1 is more than 60 s before or 5 s after the service's clock, 100; set the clock, then issue a new \
                 request",
            ),
            (
                Refused::NotFresh(NotFresh::BeforeStart),
                "request-not-fresh",
                "/issued_at: issued before this process started, which cannot know its nonce; issue a new request",
            ),
            (
                Refused::BeforeRestart { attested_until: 7, wait_s: 2 },
                "before-restart",
                "/issued_at: the service was restarted and takes requests issued after 7; nothing was attempted, so sign it again with a \
                 later issued_at in 2 s",
            ),
            (
                Refused::NotFresh(NotFresh::SealedShare),
                "request-not-fresh",
                "/issued_at: send the second at which the device sealed its share, within 60 s of the service's clock",
            ),
            (
                Refused::ProbeMode { expected: ProbeMode::Plain },
                "probe-mode-mismatch",
                "the tenant's probe mode is plain: send `embedding` and no `shares`",
            ),
            (
                Refused::ProbeMode { expected: ProbeMode::Shared },
                "probe-mode-mismatch",
                "the tenant's probe mode is shared: send `shares`, which the device makes, and no `embedding`",
            ),
            (
                Refused::Embedding(QuantiseError::Zero),
                "embedding-invalid",
                "/embedding: the vector is zero or too short to have a direction",
            ),
            (
                Refused::OpenShare(ShareError::Length(1)),
                "share-refused",
                "/shares/open: a share has exactly 272 bytes, not 1",
            ),
            (Refused::SealedShareLength, "share-refused", "/shares/sealed: expected 1408 bytes"),
            (
                Refused::SealedForAnother,
                "share-refused",
                "/shares/sealed: the share was not sealed to this key-holder for this request, or not lately, or was used before: seal \
                 again, to the key of /v1/fhe/keys",
            ),
        ] {
            reads(refused, code, detail);
        }
    }

    #[test]
    fn refusals_of_subjects_and_of_undecided_logins_read_as_callers_know_them() {
        for (refused, code, detail) in [
            (
                Refused::SubjectUnknown,
                "subject-unknown",
                "no template is active under this handle: nothing was enrolled, or it was deleted or revoked",
            ),
            (
                Refused::Login(Refusal::Template),
                "subject-unknown",
                "no template is active under this handle; enrol the subject first",
            ),
        ] {
            reads(refused, code, detail);
        }
    }

    #[test]
    fn refusals_of_repeated_and_late_requests_read_as_callers_know_them() {
        for (refused, code, detail) in [
            (
                Refused::TemplateExists,
                "template-exists",
                "the subject has a template, active or revoked; replace it, or delete it to enrol again",
            ),
            (
                Refused::IdempotencyInFlight,
                "idempotency-in-flight",
                "a request with this Idempotency-Key is still running; retry after a second",
            ),
            (
                Refused::IdempotencyKeyReused,
                "idempotency-key-reused",
                "this Idempotency-Key was used with another request; use a fresh one",
            ),
            (Refused::SessionNotOpened, "session-unknown", "open a proof session first"),
            (
                Refused::Login(Refusal::Mac),
                "request-mac-invalid",
                "the mac is not that of this request under the session's key",
            ),
            (
                Refused::Unsealed,
                "unsealed",
                "decided, and the attempt counted, but the store does not take the seal now; make a new request later",
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
                Refused::KeysReplaced,
                "overloaded",
                "the keys of the tenant's templates were replaced meanwhile, and this request stored nothing; retry after a second",
            ),
            (
                Refused::GenerationTaken,
                "overloaded",
                "the key-holder knew a template of this subject from before the service was restored, and has forgotten it now; nothing was stored: retry after a second",
            ),
            (Refused::TooManyRequests, "overloaded", "too many requests wait; retry after a second"),
        ] {
            reads(refused, code, detail);
        }
    }

    #[test]
    fn refusals_of_uploads_and_checkpoints_read_as_callers_know_them() {
        for (refused, code, detail) in [
            (Refused::Draining, "draining", "retry at another instance"),
            (Refused::ProofStale("prove again"), "proof-stale", "prove again"),
            (
                Refused::Upload(Denied::Exhausted(Duration::from_secs(2))),
                "quota-exceeded",
                "too many uploads of this API key were refused or too many came; its credit is back in 3 s",
            ),
            (
                Refused::Upload(Denied::Busy),
                "quota-exceeded",
                "too many uploads of this API key are open; retry after a second",
            ),
            (
                Refused::Checkpoint(WitnessError::Note),
                "malformed-request",
                "not a checkpoint of three lines with signature lines; fetch it again",
            ),
            (
                Refused::Checkpoint(WitnessError::TooFew { needed: 1, found: 0 }),
                "cosignature-refused",
                "no witness of this service has cosigned it; its operator lists them under witnesses.keys",
            ),
            (Refused::LogShorter { size: 9 }, "seal-unknown", "no seal signs a log of 9 yet"),
            (
                Refused::OtherLog,
                "cosignature-refused",
                "the seals of this service lead to another root, or have another issuer",
            ),
            (Refused::Uncosigned, "seal-unknown", "no witness has cosigned this head of the log"),
            (
                Refused::SealPruned { number: 7 },
                "seal-pruned",
                "the signatures of seal 7 were pruned; /v1/seals/7/pruned has its header with the proof that a later seal of the same keys \
                 signs it, /v1/seals/7/header the header alone",
            ),
        ] {
            reads(refused, code, detail);
        }
    }

    #[test]
    fn what_is_wrong_with_a_proof_or_a_root_is_told_in_the_words_of_who_found_it() {
        let read = |refused: Refused| {
            let problem = Problem::from(refused);
            (problem.code(), problem.detail.into_owned())
        };
        let proof = ProofError::Encoding;
        assert_eq!(read(Refused::Proof(proof.clone())), (Code::ProofRejected, proof.to_string()));
        let late = "generation 3 does not follow generation 4; read the root log and publish after its end";
        for (cause, code, detail) in [
            (ChainError::Generation { got: 3, last: 4 }, Code::RootGenerationStale, late.to_owned()),
            (
                ChainError::Root(RootError::Signature),
                Code::RootSignatureInvalid,
                RootError::Signature.to_string(),
            ),
            (
                ChainError::Root(RootError::Root),
                Code::FieldInvalid,
                format!("/statement: {}", RootError::Root),
            ),
        ] {
            assert_eq!(read(Refused::Root(cause)), (code, detail));
        }
    }
}
