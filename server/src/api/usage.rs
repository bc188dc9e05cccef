//! The uses of API keys by day: for their tenant and for operators.

use super::body;
use super::caller::{Caller, Cursor, Operator, PathBytes};
use crate::app::App;
use crate::bodies;
use crate::problem::Problem;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;
use trefoil_service::Service;
use trefoil_types::{ApiKeyId, TenantId};

/// `GET /v1/usage?from={id}`: usage of the caller's tenant, with an API key of any scope.
pub(super) async fn own(
    State(app): State<Arc<App>>,
    caller: Caller,
    Cursor(from): Cursor<8>,
) -> Result<Response, Problem> {
    page(app, caller.tenant.id, from).await
}

/// `GET /v1/tenants/{tenant}/usage?from={id}`
pub(super) async fn of_tenant(
    State(app): State<Arc<App>>,
    _: Operator,
    PathBytes(tenant): PathBytes<16>,
    Cursor(from): Cursor<8>,
) -> Result<Response, Problem> {
    page(app, TenantId::new(tenant), from).await
}

async fn page(app: Arc<App>, tenant: TenantId, from: [u8; 8]) -> Result<Response, Problem> {
    let read =
        move |service: &Service| service.tenants.usage(&tenant, ApiKeyId::new(from), service.node.now());
    let (rows, next) = app.ask(read).await?;
    body::answer(StatusCode::OK, &bodies::usage(tenant, rows, next))
}
