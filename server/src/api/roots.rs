//! Credential roots: the issuer's signed statements of which credentials are valid, and the log of all of them.

use super::body;
use super::caller::{Caller, Operator, PathBytes};
use super::sizes::SIGNED_JSON_BYTES_MAX;
use crate::app::App;
use crate::bodies::{self, Encoding};
use crate::problem::{Code, Problem};
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;
use trefoil_api::{Base64, Hex, PublishRoot, PublishedRoot, RegisterIssuerKey, RegisteredIssuerKey};
use trefoil_attest::What;
use trefoil_service::tenants::tenant::Scope;
use trefoil_service::{Refused, Service};
use trefoil_types::TenantId;
use trefoil_wallet::credentials::{RootStatement, SignedRoot};

/// `POST /v1/credentials/roots`. A new root also withdraws older ones: sessions under a generation below the new minimum
/// are not found at their next request.
pub(super) async fn publish(
    State(app): State<Arc<App>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    caller.require(Scope::Issue)?;
    let PublishRoot { statement: Base64(statement), signature: Base64(signature) } =
        body::json(request, SIGNED_JSON_BYTES_MAX, &app.limits).await?;
    let tenant = caller.tenant.id;
    // The root may revoke a credential, which a full disk must not prevent.
    let publish = move |service: &Service| {
        let root = || SignedRoot { statement: statement.clone(), signature: signature.clone() };
        let failed = |refused: &Refused| matches!(refused, Refused::Fault | Refused::NoRoom);
        let publish = || service.tenants.publish_root(&tenant, root(), service.node.now());
        service.node.disk.with_reserve(publish, failed)
    };
    let (published, published_at) = app.ask(publish).await?;
    let RootStatement { generation, generation_min, root, .. } = &published;
    let (generation, generation_min) = (*generation, *generation_min);
    let (root, head) = (root.to_bytes(), published.digest());
    let what = What::RootPublished { generation, generation_min, root, head };
    let receipt = app.receipt(tenant, published_at, what, Encoding::Full).await?;
    body::answer(StatusCode::CREATED, &PublishedRoot { receipt, ..bodies::published(&published) })
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
    let tenant = TenantId::new(tenant);
    app.service.tenants.expect_tenant(&tenant).await;
    let page = app.ask(move |service| service.tenants.root_log(&tenant, from)).await?;
    body::answer(StatusCode::OK, &bodies::root_log(tenant, page))
}

/// `PUT /v1/tenants/{tenant}/issuer-key`, admin. Open sessions stay valid. The next root must be signed with the new key.
pub(super) async fn register_key(
    State(app): State<Arc<App>>,
    Operator(by): Operator,
    PathBytes(tenant): PathBytes<16>,
    request: Request,
) -> Result<Response, Problem> {
    let key: RegisterIssuerKey = body::json(request, SIGNED_JSON_BYTES_MAX, &app.limits).await?;
    let register = move |service: &Service| {
        let tenant = TenantId::new(tenant);
        service.tenants.register_issuer_key(&tenant, &key.ml_dsa_65.0, &by, service.node.now())
    };
    let (key, noted) = app.ask(register).await?;
    let (key_id, receipt) = (Hex(key.to_bytes()), app.sealed(noted).await?);
    body::answer(StatusCode::OK, &RegisteredIssuerKey { key_id, receipt })
}
