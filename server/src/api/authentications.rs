//! The authentication of one face in one session, alone or with others in one request.

use super::body;
use super::caller::{Caller, PathBytes};
use super::sizes::EMBEDDING_JSON_BYTES_MAX;
use crate::app::App;
use crate::bodies;
use crate::capture;
use crate::problem::{Code, Problem};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;
use std::time::Duration;
use trefoil_api::{Authenticated, Authentication};
use trefoil_service::tenant::Scope;
use trefoil_types::Handle;

/// `POST /v1/authentications`
pub(super) async fn authenticate(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    let _work = caller.work(&app).await?;
    let began_ns = app.service.clock.monotonic_ns();
    app.service.check_room()?;
    let bytes = body::json_bytes(request, EMBEDDING_JSON_BYTES_MAX, &app.limits).await?;
    let login = login(&app, &caller, &bytes);
    let answer = tokio::time::timeout(app.limits.answer_timeout(), login).await;
    let answer = answer.unwrap_or_else(|_| Err(late()))?;
    app.service.pace.answered_in(Duration::from_nanos(app.service.clock.monotonic_ns() - began_ns));
    caller.decided(answer.decision);
    body::answer(StatusCode::OK, &answer)
}

/// One login, from its JSON to its answer, whether it came alone or in a batch.
pub(super) async fn login(app: &App, caller: &Caller, json: &[u8]) -> Result<Authenticated, Problem> {
    let request: Authentication = body::parse(json)?;
    capture::is_of_subject(Handle::new(request.handle.0));
    let form = request.attestation;
    let answer = app.service.login(&caller.tenant, &caller.failures, bodies::login_request(request)).await?;
    bodies::authenticated(&answer, form)
}

/// `GET /v1/attestations/{id}`: that of a login which asked for none.
pub(super) async fn attestation(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathBytes(id): PathBytes<32>,
) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    let attested = app.service.attestation(&caller.tenant, &id).await?;
    body::answer(StatusCode::OK, &bodies::attested(id, attested))
}

pub(super) fn late() -> Problem {
    Problem::new(Code::TimedOut, "no answer in time; the attempt may have been counted")
}
