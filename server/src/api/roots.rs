//! Credential roots: the issuer's signed statements of who holds a credential, and the log of all of them.

use super::caller::{Caller, Operator, PathBytes};
use super::{EMBEDDING_JSON_BYTES_MAX, body};
use crate::app::{App, blocking};
use crate::problem::{Code, Problem};
use crate::tenant::Scope;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;
use trefoil_api::{PublishRoot, RegisterIssuerKey};

/// `POST /v1/credentials/roots`. Withdrawing is publishing: sessions under a generation below the new minimum miss at
/// their next look-up.
pub(super) async fn publish(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Issue)?;
    let root: PublishRoot = body::json(request, EMBEDDING_JSON_BYTES_MAX, &app.config.limits).await?;
    let tenant = caller.tenant.id;
    // It may revoke somebody, which a full disk must not prevent.
    let publish = move || {
        let failed = |problem: &Problem| problem.code() == Code::Internal;
        app.disk.with_reserve(|| app.directory.publish_root(&tenant, root.clone(), app.now()), failed)
    };
    let published = blocking(publish).await?;
    body::answer(StatusCode::CREATED, &published)
}

/// What `GET /v1/credentials/roots/{tenant}` takes.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    #[serde(default)]
    from: u32,
}

/// `GET /v1/credentials/roots/{tenant}?from={generation}`: the root log. Public, because a log that only the issuer can
/// read is no evidence against the issuer.
pub(super) async fn log(
    State(app): State<Arc<App>>,
    PathBytes(tenant): PathBytes<16>,
    page: Result<Query<Page>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Problem> {
    let Query(Page { from }) = page.map_err(|_| {
        Problem::new(Code::MalformedRequest, "the query is `from` and a generation, or nothing")
    })?;
    let page = blocking(move || app.directory.root_log(&tenant, from)).await?;
    body::answer(StatusCode::OK, &page)
}

/// `PUT /v1/tenants/{tenant}/issuer-key`, admin. Sessions go on; the next root must be signed by the new key.
pub(super) async fn register_key(
    State(app): State<Arc<App>>,
    _: Operator,
    PathBytes(tenant): PathBytes<16>,
    request: Request,
) -> Result<Response, Problem> {
    let key: RegisterIssuerKey = body::json(request, EMBEDDING_JSON_BYTES_MAX, &app.config.limits).await?;
    let registered = blocking(move || app.directory.register_issuer_key(&tenant, &key, app.now())).await?;
    body::answer(StatusCode::OK, &registered)
}
