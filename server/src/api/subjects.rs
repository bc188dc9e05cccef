//! Subjects as their tenant sees them: handles, and nothing about their templates. And their revocation.

use super::body;
use super::caller::{Caller, Cursor, PathBytes};
use super::conditional::tagged;
use crate::app::App;
use crate::bodies::{self, Encoding};
use crate::problem::{Code, Problem};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use std::sync::Arc;
use trefoil_api::{Hex, OwnTenant, Revoked, Subject, SubjectPage, SubjectState};
use trefoil_matching::Model;
use trefoil_service::subjects::revocation;
use trefoil_service::tenants::tenant::Scope;
use trefoil_storage::store::{self, Handle};

/// Subjects in one page of the list.
const PAGE: usize = 256;

/// `GET /v1/subjects?from={handle}`
pub(super) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Cursor(from): Cursor<32>,
) -> Result<Response, Problem> {
    caller.require(Scope::Enrol)?;
    let policy = caller.tenant.policy.clone();
    let (tenant, from) = (caller.tenant.id, Handle::new(from));
    let subjects = app.ask(move |service| Ok(service.node.store.subjects(&tenant, &from, PAGE + 1)?)).await?;
    let next = subjects.get(PAGE).map(|subject| Hex(subject.handle.to_bytes()));
    let subjects = subjects.into_iter().take(PAGE).map(|subject| shown(subject, &policy)).collect();
    body::answer(StatusCode::OK, &SubjectPage { subjects, next })
}

/// `GET /v1/subjects/{handle}`
pub(super) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathBytes(handle): PathBytes<32>,
    asked: HeaderMap,
) -> Result<Response, Problem> {
    caller.require(Scope::Enrol)?;
    let (handle, policy) = (Handle::new(handle), caller.tenant.policy.clone());
    let found = app.ask(move |service| service.subjects.subject(&caller.tenant.id, &handle)).await?;
    let found = found
        .ok_or_else(|| Problem::new(Code::SubjectUnknown, "no subject has a template under this handle"))?;
    let subject = shown(found, &policy);
    Ok(tagged(&asked, &tag(&subject), body::answer(StatusCode::OK, &subject)?))
}

/// The fields of a subject that change: its generation, and its revocation.
fn tag(Subject { generation, revoked_at, .. }: &Subject) -> String {
    match revoked_at {
        None => generation.to_string(),
        Some(revoked_at) => format!("{generation}-{revoked_at}"),
    }
}

/// `POST /v1/subjects/{handle}/revoke`
pub(super) async fn revoke(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathBytes(handle): PathBytes<32>,
) -> Result<Response, Problem> {
    caller.require(Scope::Enrol)?;
    let patience = app.limits.answer_timeout();
    let revocation::Revoked { generation, revoked_at, receipt } =
        app.service.subjects.revoke(&caller.tenant, Handle::new(handle), patience).await?;
    let receipt = bodies::receipt(receipt, Encoding::Full)?;
    body::answer(StatusCode::OK, &Revoked { handle: Hex(handle), generation, revoked_at, receipt })
}

/// `GET /v1/tenant`: counts of the caller's own tenant; names no subject.
pub(super) async fn tenant(State(app): State<Arc<App>>, caller: Caller) -> Result<Response, Problem> {
    caller.require(Scope::Authenticate)?;
    let id = caller.tenant.id;
    let own = app.ask(move |service| {
        Ok(OwnTenant {
            tenant_id: Hex(id.to_bytes()),
            locked_out: service.subjects.locked_out(&id),
            distinct_failures_refused: service.tenants.refused_for_failures(Some(&id)),
        })
    });
    body::answer(StatusCode::OK, &own.await?)
}

fn shown(subject: store::Subject, policy: &trefoil_types::Policy) -> Subject {
    let store::Subject { handle, generation, model, consent_ref, created_at, revoked_at, .. } = subject;
    let mut models = policy.models().map(|(_, embedder, dimension, _)| (embedder, dimension));
    let is_it = |of: &(&str, u32)| Model::of(of.0, of.1 as usize) == Some(model);
    let found = models.find(is_it).map(|(embedder, dimension)| (embedder.to_owned(), dimension));
    let (embedder, dimension) = found.unzip();
    let dimension = dimension.unwrap_or_default();
    let state = if revoked_at.is_some() { SubjectState::Revoked } else { SubjectState::Active };
    let (handle, enrolled_at) = (Hex(handle.to_bytes()), created_at);
    Subject { handle, generation, state, revoked_at, embedder, dimension, enrolled_at, consent_ref }
}
