//! Verification for people who try the API. It is the service's statement about its own attestation, so a relying party must not rely on it.

use super::body;
use super::sizes::ATTESTATION_JSON_BYTES_MAX;
use crate::app::App;
use crate::openapi::examples;
use crate::problem::{Code, Problem};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use trefoil_api::{Base64, Nonce};
use trefoil_attest::json::attestation_to_json;
use trefoil_attest::{
    Attestation, ExpectedNonce, LogEntry, Policy, SealReference, Statement, TrustRoot, VerifyError, verify,
    verify_with_seal,
};
use trefoil_service::{Service, log_store};

/// An attestation, and the requirements.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// The attestation of a login, CBOR.
    attestation: Base64,
    /// The relying party that it must be for; absent with `any_audience`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    audience: Option<String>,
    /// The nonce that it must carry; absent with `any_nonce`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nonce: Option<Nonce>,
    /// Unix second to verify at; by default now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    /// Accept an attestation for any audience.
    #[serde(default)]
    any_audience: bool,
    /// Accept an attestation for another login, or one that was used before.
    #[serde(default)]
    any_nonce: bool,
    /// Accept `no_match` too.
    #[serde(default)]
    any_decision: bool,
    /// Accept one without a credential proof too.
    #[serde(default)]
    accept_no_proof: bool,
}

/// The verifier's result.
#[derive(Serialize, JsonSchema)]
pub(super) struct Said {
    /// Whether every check passed.
    valid: bool,
    /// The name of the failed check; `null` if none failed.
    reason: Option<&'static str>,
    /// The reason in a sentence.
    detail: Option<String>,
    /// Which of `audience` and `nonce` the request waived.
    not_checked: Vec<&'static str>,
    /// Its statement, as in the JSON view of an attestation; `null` if it is not valid.
    statement: Option<Map<String, Value>>,
}

/// `POST /v1/attestations/verify`
pub(super) async fn answer(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let bytes = body::json_bytes(request, ATTESTATION_JSON_BYTES_MAX, &app.limits).await?;
    let service = Arc::clone(&app.service);
    let said = app.verifications.run(move || said(&service, &body::parse(&bytes)?)).await?;
    body::answer(StatusCode::OK, &said)
}

fn said(service: &Service, asked: &Asked) -> Result<Said, Problem> {
    required("audience", asked.audience.is_some(), asked.any_audience)?;
    required("nonce", asked.nonce.is_some(), asked.any_nonce)?;
    let waived = [("audience", asked.any_audience), ("nonce", asked.any_nonce)];
    let not_checked = waived.into_iter().filter_map(|(name, waived)| waived.then_some(name)).collect();
    let now = asked.at.unwrap_or_else(|| service.now());
    let (statement, refused) = match checked(service, asked, now)? {
        Ok(statement) => (Some(statement), None),
        Err(cause) => (None, Some(cause)),
    };
    Ok(Said {
        valid: refused.is_none(),
        reason: refused.as_ref().map(VerifyError::code),
        detail: refused.map(|cause| cause.to_string()),
        not_checked,
        statement,
    })
}

/// Either a value, or that any value is accepted.
fn required(name: &'static str, is_given: bool, is_waived: bool) -> Result<(), Problem> {
    let detail = match (is_given, is_waived) {
        (true, false) | (false, true) => return Ok(()),
        (false, false) => format!("send `{name}`, or `\"any_{name}\": true` to go without this check"),
        (true, true) => format!("send either `{name}` or `any_{name}`"),
    };
    Err(Problem::field(Code::FieldInvalid, format!("/{name}"), detail))
}

/// The attestation's statement, if it is valid. A compact one is verified with its seal from the service's own log.
fn checked(
    service: &Service,
    asked: &Asked,
    now: u64,
) -> Result<Result<Map<String, Value>, VerifyError>, Problem> {
    let bytes = &asked.attestation.0;
    let policy = match policy(TrustRoot::clone(&service.trust_root.root()), asked) {
        Ok(policy) => policy,
        Err(cause) => return Ok(Err(cause)),
    };
    let verified = match verify(bytes, &policy, now) {
        Err(VerifyError::SealNeeded(SealReference { seal_number, .. })) => {
            let entry = log_store::entry(service.store.as_ref(), seal_number);
            match entry.map_err(|cause| service.unlogged(cause))? {
                Some(LogEntry::Signed(seal)) => verify_with_seal(bytes, &seal, &policy, now),
                Some(LogEntry::Pruned(_)) | None => verify(bytes, &policy, now),
            }
        }
        verified => verified,
    };
    if let Err(cause) = verified {
        return Ok(Err(cause));
    }
    let view = attestation_to_json(bytes).map_err(Problem::internal)?;
    let mut view: Map<String, Value> = serde_json::from_str(&view).map_err(Problem::internal)?;
    match view.remove("statement") {
        Some(Value::Object(statement)) => Ok(Ok(statement)),
        _ => Err(Problem::internal("the JSON view of an attestation has no statement")),
    }
}

/// The requirements. For a waived audience, the attestation's own is used.
fn policy(root: TrustRoot, asked: &Asked) -> Result<Policy, VerifyError> {
    let audience = match &asked.audience {
        Some(audience) => audience.clone(),
        None => Statement::decode(Attestation::decode(&asked.attestation.0)?.statement)?.audience.to_owned(),
    };
    let nonce = match &asked.nonce {
        Some(nonce) => ExpectedNonce::Exactly(nonce.as_bytes().to_vec()),
        None => ExpectedNonce::DangerousAny,
    };
    let mut policy = Policy::new(root, audience, nonce);
    if asked.any_decision {
        policy = policy.any_decision();
    }
    if asked.accept_no_proof {
        policy = policy.accept_no_proof();
    }
    Ok(policy)
}

/// An example request.
pub(super) fn asked() -> Asked {
    Asked {
        attestation: Base64(b"CBOR, longer than this".to_vec()),
        audience: Some(examples::AUDIENCE.to_owned()),
        nonce: Nonce::new((0..16).collect()),
        at: None,
        any_audience: false,
        any_nonce: false,
        any_decision: false,
        accept_no_proof: false,
    }
}

/// Its answer.
pub(super) fn valid() -> Said {
    let statement = json!({ "audience": examples::AUDIENCE, "decision": "match" });
    Said {
        valid: true,
        reason: None,
        detail: None,
        not_checked: Vec::new(),
        statement: statement.as_object().cloned(),
    }
}
