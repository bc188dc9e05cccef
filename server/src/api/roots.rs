//! Credential roots: the issuer's statement of who holds a credential now.

use super::{JSON_BYTES_MAX, body, caller::Caller};
use crate::app::{App, blocking};
use crate::problem::Problem;
use crate::tenant::Scope;
use crate::wire::PublishRoot;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;

/// `POST /v1/credentials/roots`. Withdrawing is publishing: sessions under a generation below the new minimum miss at
/// their next look-up.
pub(super) async fn publish(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Issue)?;
    let root: PublishRoot = body::json(request, JSON_BYTES_MAX, &app.config.limits).await?;
    let tenant = caller.tenant.id;
    let published = blocking(move || app.directory.publish_root(&tenant, &root, app.now())).await?;
    body::answer(StatusCode::CREATED, &published)
}
