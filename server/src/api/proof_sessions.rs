//! Proof sessions: an anonymous credential shown once, a cached verdict for the requests that follow.
//!
//! The order of checks is the order of their cost: API key, the caller's credit, the announced size, the envelope's
//! form and bindings (context and scope are recomputed), and then those of the service.

use super::body;
use super::caller::{Caller, Cursor, PathBytes};
use crate::app::App;
use crate::bodies::{self, Encoding};
use crate::problem::{Code, Problem};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;
use std::time::Duration;
use trefoil_api::{EndedSession, Hex, LiveSession, PROOF_MEDIA_TYPE, ProofSession, SessionPage};
use trefoil_service::Refused;
use trefoil_service::counters::proofs::Event;
use trefoil_service::limits::quota::{COST_INVALID, COST_STALE, Upload};
use trefoil_service::sessions::opening::Opened;
use trefoil_service::sessions::rows;
use trefoil_service::tenants::tenant::Scope;
use trefoil_types::SessionId;
use trefoil_zkp::envelope::ProofEnvelope;

/// How long a caller without credit waits for its refusal. Its body is not read meanwhile, so HTTP/2 flow control stops
/// the upload, and the caller cannot send as fast as it could be refused.
const REFUSAL_DELAY: Duration = Duration::from_millis(500);

/// `POST /v1/proof-sessions`
pub(super) async fn open(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    app.service.log.check_room()?;
    let (upload, caller) = enter(&app, caller).await?;
    let envelope = match read(&app, request).await {
        Ok(envelope) => envelope,
        Err(problem) => {
            app.service.node.counters.proofs.count(Event::Malformed);
            upload.settle(cost(&problem));
            return Err(problem);
        }
    };
    let patience = app.limits.answer_timeout();
    let Opened { id, expires_at, receipt } =
        app.service.sessions.open_session(&caller.tenant, upload, envelope, patience).await?;
    let receipt = bodies::receipt(receipt, Encoding::Compact)?;
    body::answer(StatusCode::CREATED, &ProofSession { session_id: Hex(id.to_bytes()), expires_at, receipt })
}

/// Admits an upload, before a byte of its body is read.
async fn enter(app: &App, caller: Caller) -> Result<(Upload, Caller), Problem> {
    let refused = match app.service.sessions.admit_upload(&caller.tenant, caller.id) {
        Ok(upload) => return Ok((upload, caller)),
        Err(refused @ Refused::NoProofs) => return Err(refused.into()),
        Err(refused) => refused,
    };
    // The tenant's place for a request in flight is released first: waiting must not keep other requests out.
    drop(caller);
    tokio::time::sleep(REFUSAL_DELAY).await;
    Err(refused.into())
}

/// Reads an envelope of a size that the accepted circuits can have.
async fn read(app: &App, request: Request) -> Result<ProofEnvelope, Problem> {
    let sizes = app.config.proofs.circuits().map(ProofEnvelope::size_window);
    let (bytes_min, bytes_max) =
        sizes.fold((usize::MAX, 0), |(min, max), size| (min.min(*size.start()), max.max(*size.end())));
    let bytes = body::bytes(request, PROOF_MEDIA_TYPE, bytes_min, bytes_max, &app.limits).await?;
    let refused = |cause: String| Problem::new(Code::ProofRejected, cause);
    let envelope = ProofEnvelope::decode(&bytes).map_err(|cause| refused(cause.to_string()))?;
    let circuit = envelope.statement.circuit;
    if !app.config.proofs.circuits().any(|accepted| accepted == circuit) {
        return Err(refused(format!("this service does not take proofs of {}", circuit.name())));
    }
    Ok(envelope)
}

/// `GET /v1/proof-sessions?from={session}`: the open sessions.
pub(super) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Cursor(from): Cursor<32>,
) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    let from = SessionId::new(from);
    let page = app.ask(move |service| service.sessions.rows.list(&caller.tenant, &from, service.node.now()));
    let (sessions, next) = page.await?;
    let session = |rows::LiveSession { id, opened_at, expires_at }| LiveSession {
        session_id: Hex(id.to_bytes()),
        opened_at,
        expires_at,
    };
    let sessions = sessions.into_iter().map(session).collect();
    body::answer(StatusCode::OK, &SessionPage { sessions, next: next.map(|id| Hex(id.to_bytes())) })
}

/// `DELETE /v1/proof-sessions/{session_id}`: no request in it is accepted after the answer.
pub(super) async fn end(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathBytes(id): PathBytes<32>,
) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    let patience = app.limits.answer_timeout();
    let receipt = app.service.sessions.end_session(&caller.tenant, SessionId::new(id), patience).await?;
    let receipt = bodies::receipt(receipt, Encoding::Full)?;
    body::answer(StatusCode::OK, &EndedSession { session_id: Hex(id), receipt })
}

/// Charges the caller for an upload that could not be read.
fn cost(unread: &Problem) -> u32 {
    match unread.code() {
        Code::BodyTimeout | Code::MalformedRequest => COST_STALE,
        _ => COST_INVALID,
    }
}
