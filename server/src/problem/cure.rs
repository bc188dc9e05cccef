//! What to do about a problem: one sentence for each code, the member `cure` of a problem document.

use super::Code;

impl Code {
    /// What to do next.
    #[expect(clippy::too_many_lines, reason = "a table with a line or two for each code")]
    pub fn cure(self) -> &'static str {
        match self {
            Code::MalformedJson => {
                "Send one JSON value (RFC 8259) in UTF-8; `detail` says where it breaks off."
            }
            Code::MalformedRequest => "Correct what `detail` names; API.md shows each path and header.",
            Code::IdempotencyKeyMissing => {
                "Send the header Idempotency-Key with a fresh value, and the same one when you repeat the request."
            }
            Code::CallerUnauthenticated => {
                "Send the header `Authorization: Bearer KEY`: on the public listener with an API key that is active (`trefoil admin \
                 api-key list`), on the admin listener with an operator's token; the first one is in admin.token."
            }
            Code::RoleMissing => "Ask an operator with that role; `trefoil admin operator list` shows them.",
            Code::OperatorUnknown => "Correct it; `trefoil admin operator list` shows operators and tokens.",
            Code::OperatorConflict => "Do first what `detail` names.",
            Code::ScopeMissing => {
                "Use an API key with that scope; `trefoil admin api-key create --scope` makes one."
            }
            Code::PolicyOvertaken => {
                "Read the policy in force (GET /v1/tenants/TENANT), and send yours with its ETag in If-Match."
            }
            Code::AudienceNotAllowed => "Name an audience of the tenant's policy, spelled as it is there.",
            Code::RequestMacInvalid => {
                "Compute the MAC over exactly the fields that you send, under the key of the session that you name."
            }
            Code::SessionScope => "Open a session for this subject and audience, and use it.",
            Code::RouteUnknown => "Correct the path and the listener; API.md lists the routes of both.",
            Code::SubjectUnknown => "Correct the subject in the path or body, or enrol it first.",
            Code::TenantUnknown => "Correct the tenant; `trefoil admin tenant list` shows them.",
            Code::TenantDisabled => {
                "Ask the operator: `trefoil admin tenant enable TENANT` lets it in again."
            }
            Code::TenantInUse => {
                "Disable it first (`trefoil admin tenant disable TENANT`), and let a rotation end."
            }
            Code::ApiKeyUnknown => "Correct the id; `trefoil admin api-key list --tenant TENANT` shows them.",
            Code::SessionUnknown => {
                "Open a session (POST /v1/proof-sessions) and sign the request under its key."
            }
            Code::SealUnknown => "Ask for a number, or a tile of a log, up to the size of GET /v1/log/head.",
            Code::SealPruned => "Ask for /v1/seals/N/pruned or /v1/seals/N/header.",
            Code::TrustRootUnknown => "Ask for a version from 1 to the newest.",
            Code::MethodNotAllowed => "Use a method that the header Allow names.",
            Code::HeadTooLarge => "Shorten the path or the headers.",
            Code::BodyTimeout => "Send the body without pauses, or over a faster connection.",
            Code::TemplateExists => {
                "Replace the subject's template (PUT on this path), or delete it (DELETE on this path) and enrol again."
            }
            Code::TenantExists => "Repeat the request: another identifier is drawn.",
            Code::NonceReplayed => "Make a new request with a fresh nonce.",
            Code::ChainValueRefused => "Reveal the next value of the session's chain, or open a new session.",
            Code::SecretShown => {
                "If you did not see the secret, revoke what `detail` names and create another with a fresh Idempotency-Key."
            }
            Code::IdempotencyInFlight => {
                "Repeat the request with the same Idempotency-Key after Retry-After."
            }
            Code::RootGenerationStale => "Read GET /v1/credentials/roots/TENANT and publish after its end.",
            Code::IssuerKeyMissing => "Register the issuer's key first: `trefoil issuer register`.",
            Code::RootSignatureInvalid => "Sign the root with the key that is registered for this tenant.",
            Code::CosignatureRefused => {
                "Hand in a checkpoint of this log that a listed witness has cosigned."
            }
            Code::SessionExpired => "Open a new session and sign the request under its key.",
            Code::BodyTooLarge => "Send a smaller body; `detail` says how large one may be.",
            Code::MediaTypeUnsupported => "Send the header Content-Type that `detail` names.",
            Code::ContentCodingUnsupported => "Send the body as it is; the service takes no compressed one.",
            Code::TransferCodingUnknown => "Send Content-Length, or Transfer-Encoding with `chunked` alone.",
            Code::FieldInvalid => "Correct the fields that `errors` points to.",
            Code::EmbeddingInvalid => {
                "Send the 128 numbers that the tenant's embedder gives for one face, neither zeros nor an image."
            }
            Code::ProbeModeMismatch => "Send the face in the way that `detail` names.",
            Code::ShareRefused => "Make new shares on the device for this request, tenant and subject.",
            Code::ProofRejected => "Make a new proof with the wallet, and send its envelope unchanged.",
            Code::ProofStale => "Fetch the newest root (`trefoil wallet receive`), and prove again.",
            Code::ProofModeMismatch => {
                "Send logins without a session; for credentials the operator makes another tenant."
            }
            Code::RequestNotFresh => "Set the clock, then sign a new request with its time.",
            Code::IdempotencyKeyReused => "Use a fresh Idempotency-Key for another request.",
            Code::DistinctFailures => {
                "Look for a caller that tries one face on many people, or for a camera or a model that fails; the limit goes up as subjects match."
            }
            Code::QuotaExceeded => "Repeat after Retry-After, with fewer requests in flight.",
            Code::Overloaded | Code::Draining => "Repeat after Retry-After; nothing was attempted.",
            Code::Undecided => {
                "Repeat after Retry-After; where `nonce-replayed` follows, sign a new request. An attempt may have been counted."
            }
            Code::PolicyOutOfStep => {
                "The operator sets the policy again (`trefoil admin policy set`), or the key-holder's operator its threshold \
                 (`trefoil key-holder set-policy`); then sign a new request. During a change of the policy it is over in a moment."
            }
            Code::ClockBehind => {
                "The operator has to set the clock; sign the request again after Retry-After."
            }
            Code::BeforeRestart => "Sign the request again with a later issued_at.",
            Code::StoreUnavailable => {
                "Repeat after Retry-After, with the same Idempotency-Key; where `nonce-replayed` follows, sign a new request. The operator finds the \
                 cause with `trefoil doctor`."
            }
            Code::StorageDamaged => {
                "The operator has to restore a backup; its log and `trefoil doctor` say why."
            }
            Code::DiskLow => "The operator has to make room; repeat after Retry-After.",
            Code::Unsealed => "The operator has to look at the store; sign a new request after Retry-After.",
            Code::KeyHolderUnavailable => {
                "Repeat after Retry-After; where `nonce-replayed` follows, sign a new request. The operator finds the cause with `trefoil doctor`."
            }
            Code::KeyHolderForbids => {
                "Ask the key-holder's operator, whose configuration says what is allowed. Only that operator resets malformed jobs and attempts, with \
                 `trefoil key-holder reset-malformed` and `reset-attempts`, at each of three key-holders."
            }
            Code::TimedOut => "Sign a new request, and repeat.",
            Code::Internal => "Repeat once; then give the operator `request_id`, which is in the log.",
        }
    }
}
