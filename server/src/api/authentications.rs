//! The authentication of one face, alone or with others in one request.

use super::body;
use super::caller::Caller;
use super::sizes::LOGIN_JSON_BYTES_MAX;
use crate::app::App;
use crate::bodies;
use crate::problem::{Code, Problem};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::de::IgnoredAny;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use trefoil_api::{AttestationForm, Authenticated, Authentication, UnprovenAuthentication};
use trefoil_service::login::logins::LoginRequest;
use trefoil_service::tenants::tenant::{Scope, Tenant};

/// `POST /v1/authentications`
pub(super) async fn authenticate(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    let _work = caller.work(&app).await?;
    let began_ns = app.service.node.clock.monotonic_ns();
    app.service.log.check_room()?;
    let bytes = body::json_bytes(request, LOGIN_JSON_BYTES_MAX, &app.limits).await?;
    let login = login(&app, &caller, &bytes);
    let answer = tokio::time::timeout(app.limits.answer_timeout(), login).await;
    let answer = answer.unwrap_or_else(|_| Err(late()))?;
    app.service
        .logins
        .pace
        .answered_in(Duration::from_nanos(app.service.node.clock.monotonic_ns() - began_ns));
    caller.decided(answer.decision);
    body::sized_answer(StatusCode::OK, &answer, json_bytes(&answer))
}

/// One login, from its JSON to its answer, whether it came alone or in a batch.
pub(super) async fn login(app: &App, caller: &Caller, json: &[u8]) -> Result<Authenticated, Problem> {
    let (request, form) = request(&caller.tenant, json)?;
    // In a box, because what encloses this future is moved several times before it begins.
    let answer = Box::pin(app.service.logins.login(&caller.tenant, &caller.failures, request)).await?;
    bodies::authenticated(&answer, form)
}

/// About how long an answer is in JSON.
pub(super) fn json_bytes(answer: &Authenticated) -> usize {
    // The attestation in base64, and all other fields.
    answer.attestation.as_ref().map_or(0, |attestation| attestation.0.len().div_ceil(3) * 4) + 192
}

/// The login in a body, checked against the tenant's policy, and the form of its answer.
fn request(tenant: &Tenant, json: &[u8]) -> Result<(LoginRequest, AttestationForm), Problem> {
    if tenant.needs_proof() {
        let body: Authentication =
            body::parse(json).map_err(|wrong| without_session(json).unwrap_or(wrong))?;
        let form = body.attestation;
        return Ok((bodies::login_request(body), form));
    }
    let body: UnprovenAuthentication =
        body::parse(json).map_err(|wrong| in_session(json).unwrap_or(wrong))?;
    let form = body.attestation;
    Ok((bodies::unproven_request(body), form))
}

/// Refuses a login without a session at a tenant whose logins need one.
fn without_session(json: &[u8]) -> Option<Problem> {
    let fields: HashMap<&str, IgnoredAny> = serde_json::from_slice(json).ok()?;
    let detail = "missing: the tenant's policy asks for a credential proof; open a proof session with POST /v1/proof-sessions, and send its \
                  `session_id` and a `mac`";
    let is_login = fields.contains_key("handle") && !fields.contains_key("session_id");
    is_login.then(|| Problem::field(Code::FieldInvalid, "/session_id", detail))
}

/// Refuses a login that has fields of a session at a tenant without sessions.
fn in_session(json: &[u8]) -> Option<Problem> {
    let fields: HashMap<&str, IgnoredAny> = serde_json::from_slice(json).ok()?;
    let unwanted = ["session_id", "mac"].into_iter().find(|name| fields.contains_key(name))?;
    let detail = "the tenant's policy asks for no proof, so its logins are in no session: send no `session_id` and `mac`";
    Some(Problem::field(Code::ProofModeMismatch, format!("/{unwanted}"), detail))
}

pub(super) fn late() -> Problem {
    Problem::new(Code::TimedOut, "no answer in time; the attempt may have been counted")
}

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_api::{AuthenticatedBatch, Base64, Decision, Hex, Outcome};

    #[test]
    fn the_buffer_of_an_answer_need_not_grow() {
        for attestation in [None, Some(0), Some(1), Some(1_000), Some(22_001)] {
            let attestation = attestation.map(|bytes| Base64(vec![255; bytes]));
            let (id, seal_number) = (Hex([255; 32]), u64::MAX);
            let answer = Authenticated { id, decision: Decision::NoMatch, attestation, seal_number };
            for count in [1, 32] {
                let results = vec![Outcome::<(), _>::Answered(&answer); count];
                let bytes = serde_json::to_vec(&AuthenticatedBatch { results }).unwrap().len();
                let expected = count * json_bytes(&answer);
                assert!((bytes..bytes + 64 * count).contains(&expected), "{bytes} of {expected}");
            }
        }
    }
}
