//! Enrolment, replacement and deletion of templates.

use super::body;
use super::caller::{Caller, PathBytes};
use super::once;
use super::sizes::ENROLMENT_JSON_BYTES_MAX;
use crate::app::App;
use crate::bodies::{self, Encoding};
use crate::problem::{Code, Problem};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::Response;
use std::sync::Arc;
use trefoil_api::{Enrolled, Enrolment, Erased, Hex, Replaced};
use trefoil_service::subjects::enrolments::{self, EnrolmentRequest};
use trefoil_service::tenants::tenant::Scope;
use trefoil_service::tenants::usage::Used;
use trefoil_types::Handle;

pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(super) const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// `POST /v1/subjects/{handle}/templates`
pub(super) async fn enrol(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathBytes(handle): PathBytes<32>,
    request: Request,
) -> Result<Response, Problem> {
    let enrolments::Enrolled { generation, agreement, replayed, receipt, .. } =
        stored(&app, &caller, (handle, false), request).await?;
    let receipt = bodies::receipt(receipt, Encoding::Full)?;
    let enrolled = Enrolled { handle: Hex(handle), generation, agreement, receipt };
    Ok(once::marked(body::answer(StatusCode::CREATED, &enrolled)?, replayed))
}

/// `PUT /v1/subjects/{handle}/templates`
pub(super) async fn replace(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathBytes(handle): PathBytes<32>,
    request: Request,
) -> Result<Response, Problem> {
    let enrolments::Enrolled { generation, replaced, agreement, replayed, receipt } =
        stored(&app, &caller, (handle, true), request).await?;
    let replaced = replaced.ok_or_else(|| Problem::internal("a replacement was answered as an enrolment"))?;
    let receipt = bodies::receipt(receipt, Encoding::Full)?;
    let answer = Replaced { handle: Hex(handle), generation, replaced, agreement, receipt };
    Ok(once::marked(body::answer(StatusCode::OK, &answer)?, replayed))
}

/// Reads a template with its idempotency key, and stores it.
async fn stored(
    app: &App,
    caller: &Caller,
    (handle, replaces): ([u8; 32], bool),
    request: Request,
) -> Result<enrolments::Enrolled, Problem> {
    caller.require(Scope::Enrol)?;
    app.service.log.check_room()?;
    let idempotency_key = idempotency_key(request.headers())?;
    let bytes = body::json_bytes(request, ENROLMENT_JSON_BYTES_MAX, &app.limits).await?;
    let Enrolment { embeddings, shares, issued_at, consent_ref } = body::parse(&bytes)?;
    let (subjects, handle) = (&app.service.subjects, Handle::new(handle));
    let face = bodies::face(bodies::photographs(embeddings), shares);
    let digest = subjects.digest(&handle, replaces, &bytes);
    let request =
        EnrolmentRequest { handle, replaces, face, issued_at, consent_ref, idempotency_key, digest };
    let enrolled = subjects.enrol(&caller.tenant, request, app.limits.answer_timeout()).await?;
    if !enrolled.replayed {
        caller.used(Used::Enrolled);
    }
    Ok(enrolled)
}

/// The advice of an erasure that finds no subject: the common one says how to enrol.
const NOTHING_TO_DELETE: &str = "Nothing is there to delete: the subject was erased before, or never enrolled. If neither is so, correct the handle in the path.";

/// `DELETE /v1/subjects/{handle}/templates`
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathBytes(handle): PathBytes<32>,
) -> Result<Response, Problem> {
    caller.require(Scope::Enrol)?;
    let patience = app.limits.answer_timeout();
    let erased = app.service.subjects.erase(caller.tenant.id, Handle::new(handle), patience).await;
    let enrolments::Erased { generation, erased_at, receipt } = erased.map_err(|cause| {
        let problem = Problem::from(cause);
        match problem.code() {
            Code::SubjectUnknown => problem.cured(NOTHING_TO_DELETE),
            _ => problem,
        }
    })?;
    let receipt = bodies::receipt(receipt, Encoding::Full)?;
    body::answer(StatusCode::OK, &Erased { handle: Hex(handle), generation, erased_at, receipt })
}

fn idempotency_key(headers: &HeaderMap) -> Result<String, Problem> {
    if let Some(key) = headers.get(IDEMPOTENCY_KEY).and_then(once::visible) {
        return Ok(key.to_owned());
    }
    let detail = "send `Idempotency-Key` with 1 to 255 visible characters, fresh for each enrolment";
    Err(Problem::new(Code::IdempotencyKeyMissing, detail))
}
