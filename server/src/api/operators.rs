//! Routes about operators, and the audit trail.

use super::body;
use super::caller::{Cursor, Operator, PathBytes};
use super::once;
use super::sizes::JSON_BYTES_MAX;
use crate::app::{App, blocking};
use crate::bodies;
use crate::problem::{Code, Problem};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;
use trefoil_api::{
    AuditPage, ChangedOperator, CreateOperator, CreateOperatorToken, CreatedOperatorToken, Hex, OperatorPage,
};
use trefoil_service::Service;
use trefoil_service::tenants::notes::{By, Outcome};
use trefoil_service::tenants::operators::NewToken;
use trefoil_types::{OperatorId, TenantId};

/// `POST /v1/operators`. Only this answer shows the token.
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Operator(by): Operator,
    request: Request,
) -> Result<Response, Problem> {
    app.service.log.check_room()?;
    let headers = request.headers().clone();
    let bytes = body::json_bytes(request, JSON_BYTES_MAX, &app.limits).await?;
    let CreateOperator { name, role, expires_at } = body::parse(&bytes)?;
    let create = move |service: &Service, by: &By| {
        service.operators.create((name, role, expires_at), by, service.node.now())
    };
    let of = ("/v1/operators".to_owned(), &bytes[..]);
    created(&app, once::create(&app, &headers, of, by, create).await?).await
}

/// `POST /v1/operators/{operator}/tokens`. Only this answer shows the token.
pub(super) async fn create_token(
    State(app): State<Arc<App>>,
    Operator(by): Operator,
    PathBytes(operator): PathBytes<8>,
    request: Request,
) -> Result<Response, Problem> {
    app.service.log.check_room()?;
    let headers = request.headers().clone();
    let bytes = body::json_bytes(request, JSON_BYTES_MAX, &app.limits).await?;
    let CreateOperatorToken { expires_at } = body::parse(&bytes)?;
    let create = move |service: &Service, by: &By| {
        service.operators.add_token(&OperatorId::new(operator), expires_at, by, service.node.now())
    };
    let of = (format!("/v1/operators/{}/tokens", hex::encode(operator)), &bytes[..]);
    created(&app, once::create(&app, &headers, of, by, create).await?).await
}

async fn created(app: &App, outcome: Outcome<NewToken>) -> Result<Response, Problem> {
    let NewToken { text, record, noted } = match outcome {
        Outcome::New(token) => token,
        Outcome::Replayed(created, _) => return Err(once::secret_shown(created)),
    };
    let created = CreatedOperatorToken {
        operator_id: Hex(record.operator.to_bytes()),
        token: text.to_string(),
        number: record.number,
        expires_at: record.expires_at,
        receipt: app.sealed(noted).await?,
    };
    body::answer(StatusCode::CREATED, &created)
}

/// `GET /v1/operators?from={operator}`: without the secrets of their tokens, which the service does not keep.
pub(super) async fn list(
    State(app): State<Arc<App>>,
    _: Operator,
    Cursor(from): Cursor<8>,
) -> Result<Response, Problem> {
    let (operators, next) = app.service.operators.list(OperatorId::new(from));
    let operators = operators.into_iter().map(bodies::operator).collect();
    body::answer(StatusCode::OK, &OperatorPage { operators, next: next.map(|id| Hex(id.to_bytes())) })
}

/// `GET /v1/operators/{operator}`
pub(super) async fn show(
    State(app): State<Arc<App>>,
    _: Operator,
    PathBytes(operator): PathBytes<8>,
) -> Result<Response, Problem> {
    let shown = app.service.operators.show(&OperatorId::new(operator))?;
    body::answer(StatusCode::OK, &bodies::operator(shown))
}

/// `DELETE /v1/operators/{operator}`: from the answer on all of its tokens are refused, also after a restart.
pub(super) async fn revoke(
    State(app): State<Arc<App>>,
    Operator(by): Operator,
    PathBytes(operator): PathBytes<8>,
) -> Result<Response, Problem> {
    let operator = OperatorId::new(operator);
    let revoke = move |service: &Service| service.operators.revoke(&operator, &by, service.node.now());
    let (revoked, noted) = app.ask(revoke).await?;
    let receipt = app.sealed(noted).await?;
    body::answer(StatusCode::OK, &ChangedOperator { operator: bodies::operator(revoked), receipt })
}

/// `DELETE /v1/operators/{operator}/tokens/{number}`
pub(super) async fn revoke_token(
    State(app): State<Arc<App>>,
    Operator(by): Operator,
    Path((operator, number)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let PathBytes(operator) = PathBytes::<8>::parse(&operator)?;
    let number = number.parse().map_err(|_| {
        Problem::new(Code::MalformedRequest, "the number of the token in the path is no whole number")
    })?;
    let operator = OperatorId::new(operator);
    let revoke =
        move |service: &Service| service.operators.revoke_token(&operator, number, &by, service.node.now());
    let (operator, noted) = app.ask(revoke).await?;
    let receipt = app.sealed(noted).await?;
    body::answer(StatusCode::OK, &ChangedOperator { operator: bodies::operator(operator), receipt })
}

/// The query of `GET /v1/audit`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Trail {
    #[serde(default)]
    from: u64,
    tenant: Option<Hex<16>>,
}

/// `GET /v1/audit?from={number}&tenant={tenant}`
pub(super) async fn audit(
    State(app): State<Arc<App>>,
    _: Operator,
    page: Result<Query<Trail>, QueryRejection>,
) -> Result<Response, Problem> {
    let page = page.ok().filter(|Query(trail)| i64::try_from(trail.from).is_ok());
    let Query(Trail { from, tenant }) = page.ok_or_else(|| {
        let detail = "the query is `from` and a number below 2^63, `tenant` and 32 hexadecimal digits, both, or nothing";
        Problem::new(Code::MalformedRequest, detail)
    })?;
    let read = move || {
        let tenant = tenant.map(|tenant| TenantId::new(tenant.0));
        let (entries, next) = app.service.log.audit(from, tenant.as_ref())?;
        let entries = entries.into_iter().map(bodies::audit_entry).collect::<Result<_, _>>()?;
        Ok(AuditPage { entries, next })
    };
    body::answer(StatusCode::OK, &blocking(read).await?)
}
