//! The operator's routes.

use super::body;
use super::caller::{Cursor, Operator, PathBytes};
use super::once;
use super::sizes::JSON_BYTES_MAX;
use crate::app::{App, blocking};
use crate::bodies;
use crate::metrics;
use crate::problem::{Code, Problem};
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use trefoil_api::{
    ApiKeyPage, ChangedPolicy, ChangedTenant, CreateApiKey, CreateTenant, CreatedApiKey, CreatedTenant,
    DeletedTenant, Hex, Level, ResetAttempts, ResetMalformed, RevokedApiKey, SetPolicy, StartedRotation,
    TenantPage,
};
use trefoil_attest::What;
use trefoil_matching::{KeyHolderError, Status};
use trefoil_service::subjects::deletion::Deleted;
use trefoil_service::tenants::notes::{By, Created, Outcome};
use trefoil_service::tenants::tenant::POLICY_ID;
use trefoil_service::{Refused, Service};
use trefoil_types::{ApiKeyId, Handle, TenantId};

/// `POST /v1/tenants`. A policy with many audiences may be larger than other JSON.
pub(super) async fn create_tenant(
    State(app): State<Arc<App>>,
    Operator(by): Operator,
    request: Request,
) -> Result<Response, Problem> {
    let headers = request.headers().clone();
    let bytes = body::json_bytes(request, 16 * JSON_BYTES_MAX, &app.limits).await?;
    let CreateTenant { name, policy } = body::parse(&bytes)?;
    let create = move |service: &Service, by: &By| {
        service.node.check_vaults()?;
        service.tenants.create_tenant(name, policy, by, service.node.now())
    };
    let of = ("/v1/tenants".to_owned(), &bytes[..]);
    let (tenant, noted, is_replayed) = match once::create(&app, &headers, of, by, create).await? {
        Outcome::New((tenant, noted)) => (tenant, noted, false),
        Outcome::Replayed(Created::Tenant(tenant), noted) => (tenant, noted, true),
        Outcome::Replayed(other, _) => return Err(once::secret_shown(other)),
    };
    let receipt = app.sealed(noted).await?;
    let created = CreatedTenant { tenant_id: Hex(tenant.to_bytes()), policy_id: POLICY_ID, receipt };
    Ok(once::marked(body::answer(StatusCode::CREATED, &created)?, is_replayed))
}

/// `POST /v1/tenants/{tenant}/api-keys`. The answer is the only time that the secret is shown.
pub(super) async fn create_api_key(
    State(app): State<Arc<App>>,
    Operator(by): Operator,
    PathBytes(tenant): PathBytes<16>,
    request: Request,
) -> Result<Response, Problem> {
    let headers = request.headers().clone();
    let bytes = body::json_bytes(request, JSON_BYTES_MAX, &app.limits).await?;
    let CreateApiKey { scopes, label, expires_at } = body::parse(&bytes)?;
    let create = move |service: &Service, by: &By| {
        let key = (scopes.as_slice(), label.unwrap_or_default(), expires_at);
        service.tenants.create_api_key(&TenantId::new(tenant), key, by, service.node.now())
    };
    let of = (format!("/v1/tenants/{}/api-keys", hex::encode(tenant)), &bytes[..]);
    let (text, id, noted) = match once::create(&app, &headers, of, by, create).await? {
        Outcome::New(created) => created,
        Outcome::Replayed(created, _) => return Err(once::secret_shown(created)),
    };
    let receipt = app.sealed(noted).await?;
    let (api_key, id) = (text.to_string(), Hex(id.to_bytes()));
    body::answer(StatusCode::CREATED, &CreatedApiKey { api_key, id, expires_at, receipt })
}

/// `GET /v1/tenants/{tenant}/api-keys?from={id}`: without their secrets, which the service does not keep.
pub(super) async fn api_keys(
    State(app): State<Arc<App>>,
    _: Operator,
    PathBytes(tenant): PathBytes<16>,
    Cursor(from): Cursor<8>,
) -> Result<Response, Problem> {
    let (keys, next) =
        app.service.tenants.api_keys(&TenantId::new(tenant), ApiKeyId::new(from), app.service.node.now())?;
    let api_keys = keys.into_iter().map(bodies::api_key).collect();
    body::answer(StatusCode::OK, &ApiKeyPage { api_keys, next: next.map(|id| Hex(id.to_bytes())) })
}

/// `DELETE /v1/tenants/{tenant}/api-keys/{id}`: from the answer on the key is refused, also after a restart.
pub(super) async fn revoke_api_key(
    State(app): State<Arc<App>>,
    Operator(by): Operator,
    Path((tenant, id)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let (PathBytes(tenant), PathBytes(id)) = (PathBytes::<16>::parse(&tenant)?, PathBytes::<8>::parse(&id)?);
    let (tenant, id) = (TenantId::new(tenant), ApiKeyId::new(id));
    let revoke =
        move |service: &Service| service.tenants.revoke_api_key(&tenant, id, &by, service.node.now());
    let (revoked, noted) = app.ask(revoke).await?;
    let receipt = app.sealed(noted).await?;
    body::answer(StatusCode::OK, &RevokedApiKey { key: bodies::api_key(revoked), receipt })
}

/// `GET /v1/tenants?from={tenant}`
pub(super) async fn tenants(
    State(app): State<Arc<App>>,
    _: Operator,
    Cursor(from): Cursor<16>,
) -> Result<Response, Problem> {
    let (tenants, next) = app.service.tenants.tenants(TenantId::new(from));
    let tenants = tenants.iter().map(|tenant| bodies::summary(tenant)).collect();
    body::answer(StatusCode::OK, &TenantPage { tenants, next: next.map(|id| Hex(id.to_bytes())) })
}

/// `GET /v1/tenants/{tenant}`
pub(super) async fn tenant(
    State(app): State<Arc<App>>,
    _: Operator,
    PathBytes(tenant): PathBytes<16>,
) -> Result<Response, Problem> {
    let tenant = app.service.tenants.tenant(&TenantId::new(tenant))?;
    let refused = app.service.tenants.refused_for_failures(Some(&tenant.id));
    let id = tenant.id;
    let locked_out = app.ask(move |service| Ok(service.subjects.locked_out(&id))).await?;
    Ok(tagged(
        tenant.policy_version,
        body::answer(StatusCode::OK, &bodies::shown(&tenant, refused, locked_out))?,
    ))
}

/// `PUT /v1/tenants/{tenant}/policy`: the next version of its policy, at the key-holder too.
pub(super) async fn set_policy(
    State(app): State<Arc<App>>,
    Operator(by): Operator,
    PathBytes(tenant): PathBytes<16>,
    request: Request,
) -> Result<Response, Problem> {
    app.service.log.check_room()?;
    let if_version = if_match(request.headers())?;
    let SetPolicy { policy } = body::json(request, 16 * JSON_BYTES_MAX, &app.limits).await?;
    let set = move |service: &Service| {
        service.node.check_vaults()?;
        service.tenants.set_policy(&TenantId::new(tenant), policy, if_version, &by, service.node.now())
    };
    let (version, noted) = app.ask(set).await?;
    let version = bodies::policy_version(version);
    let policy_version = version.policy_version;
    let receipt = app.sealed(noted).await?;
    Ok(tagged(policy_version, body::answer(StatusCode::OK, &ChangedPolicy { version, receipt })?))
}

/// What `GET /v1/tenants/{tenant}/policies` takes.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FromVersion {
    #[serde(default)]
    from: u32,
}

/// `GET /v1/tenants/{tenant}/policies?from={version}`: every version of its policy.
pub(super) async fn policies(
    State(app): State<Arc<App>>,
    _: Operator,
    PathBytes(tenant): PathBytes<16>,
    page: Result<Query<FromVersion>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Problem> {
    let Query(FromVersion { from }) = page
        .map_err(|_| Problem::new(Code::MalformedRequest, "the query is `from` and a version, or nothing"))?;
    let read = move |service: &Service| service.tenants.policies(&TenantId::new(tenant), from);
    let (versions, next) = app.ask(read).await?;
    body::answer(StatusCode::OK, &bodies::policies(versions, next))
}

/// With the version of a policy as `ETag`.
fn tagged(version: u32, mut response: Response) -> Response {
    let tag = HeaderValue::try_from(format!("\"{version}\"")).expect("a number in quotes is a header value");
    response.headers_mut().insert(header::ETAG, tag);
    response
}

/// The version that `If-Match` names, as [`tagged`] wrote it.
fn if_match(headers: &HeaderMap) -> Result<Option<u32>, Problem> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or("").trim();
    if text == "*" {
        return Ok(None);
    }
    let version =
        text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).and_then(|text| text.parse().ok());
    version.map(Some).ok_or_else(|| {
        let detail = "expected one `ETag` of this policy in `If-Match`, such as `\"3\"`, or `*`";
        Problem::new(Code::MalformedRequest, detail)
    })
}

/// `POST /v1/tenants/{tenant}/disable`: all of its API keys are refused with `tenant-disabled`. Nothing is deleted.
pub(super) async fn disable(
    state: State<Arc<App>>,
    operator: Operator,
    tenant: PathBytes<16>,
) -> Result<Response, Problem> {
    set_disabled(state, operator, tenant, true).await
}

/// `POST /v1/tenants/{tenant}/enable`
pub(super) async fn enable(
    state: State<Arc<App>>,
    operator: Operator,
    tenant: PathBytes<16>,
) -> Result<Response, Problem> {
    set_disabled(state, operator, tenant, false).await
}

async fn set_disabled(
    State(app): State<Arc<App>>,
    Operator(by): Operator,
    PathBytes(tenant): PathBytes<16>,
    disabled: bool,
) -> Result<Response, Problem> {
    let set = move |service: &Service| {
        service.tenants.set_disabled(&TenantId::new(tenant), disabled, &by, service.node.now())
    };
    let (tenant, noted) = app.ask(set).await?;
    let receipt = app.sealed(noted).await?;
    body::answer(StatusCode::OK, &ChangedTenant { summary: bodies::summary(&tenant), receipt })
}

/// `DELETE /v1/tenants/{tenant}`: deletes a disabled tenant and all its data except its root log. A repetition answers `tenant-unknown`.
pub(super) async fn delete_tenant(
    State(app): State<Arc<App>>,
    Operator(by): Operator,
    PathBytes(tenant): PathBytes<16>,
) -> Result<Response, Problem> {
    let delete = move |service: &Service| service.subjects.delete_tenant(&TenantId::new(tenant), &by);
    let Deleted { templates, at, noted } = app.ask(delete).await?;
    let receipt = app.sealed(noted).await?;
    let deleted = DeletedTenant { tenant_id: Hex(tenant), templates, deleted_at: at, receipt };
    body::answer(StatusCode::OK, &deleted)
}

/// `POST /v1/tenants/{tenant}/reset-malformed`: resets the key-holder's count of a tenant's malformed jobs, once their cause is found.
/// Logins of a tenant that they froze are decided again.
pub(super) async fn reset_malformed(
    State(app): State<Arc<App>>,
    Operator(by): Operator,
    PathBytes(tenant): PathBytes<16>,
) -> Result<Response, Problem> {
    let tenant = TenantId::new(tenant);
    let reset = move |service: &Service| {
        service.node.check_vaults()?;
        match service.node.key_holder.forgive_malformed(tenant) {
            Ok(()) => service.log.note(tenant, What::MalformedReset, &by),
            Err(KeyHolderError::UnknownTenant) => Err(Refused::TenantUnknown),
            Err(cause) => Err(cause.into()),
        }
    };
    let noted = app.ask(reset).await?;
    body::answer(StatusCode::OK, &ResetMalformed { receipt: app.sealed(noted).await? })
}

/// `POST /v1/tenants/{tenant}/subjects/{handle}/reset-attempts`: ends the delay of a locked-out subject and forgets its failures of the day.
pub(super) async fn reset_attempts(
    State(app): State<Arc<App>>,
    Operator(by): Operator,
    Path((tenant, handle)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let (PathBytes(tenant), PathBytes(handle)) =
        (PathBytes::<16>::parse(&tenant)?, PathBytes::<32>::parse(&handle)?);
    let (tenant, handle) = (TenantId::new(tenant), Handle::new(handle));
    let noted = app.ask(move |service| service.subjects.reset_attempts(&tenant, &handle, &by)).await?;
    body::answer(StatusCode::OK, &ResetAttempts { receipt: app.sealed(noted).await? })
}

/// `POST /v1/tenants/{tenant}/key-rotation`: new keys for a tenant's templates, while its subjects log in. Resumes a
/// rotation that has stopped. A request while one runs changes nothing.
pub(super) async fn rotate_keys(
    State(app): State<Arc<App>>,
    Operator(by): Operator,
    PathBytes(tenant): PathBytes<16>,
) -> Result<Response, Problem> {
    // It writes every template anew.
    app.service.log.check_room()?;
    let (tenant, at_work) = (TenantId::new(tenant), Arc::clone(&app));
    let (standing, noted) = blocking(move || Ok(at_work.rotations.start(tenant, Some(&by))?)).await?;
    let status = bodies::rotation(tenant, standing);
    let receipt = app.sealed(noted).await?;
    body::answer(StatusCode::ACCEPTED, &StartedRotation { status, receipt })
}

/// `GET /v1/tenants/{tenant}/key-rotation`: its progress.
pub(super) async fn key_rotation(
    State(app): State<Arc<App>>,
    _: Operator,
    PathBytes(tenant): PathBytes<16>,
) -> Result<Response, Problem> {
    let standing = blocking(move || Ok(app.rotations.status(&TenantId::new(tenant))?)).await?;
    body::answer(StatusCode::OK, &bodies::rotation(TenantId::new(tenant), standing))
}

/// `GET /livez`: the process answers.
pub(super) async fn live() -> &'static str {
    "live\n"
}

/// `GET /readyz`: whether the service takes requests, and the reason if it does not. One that leaves answers 404, because balancers take that
/// for the wish to get no new connection, and 503 for a failure that ends those that there are.
pub(super) async fn ready(State(app): State<Arc<App>>) -> Response {
    if app.leaving.load(Ordering::Relaxed) {
        return (StatusCode::NOT_FOUND, "not ready: leaving, go to another node\n").into_response();
    }
    match app.service.undecided() {
        None => {
            let away = app.service.node.key_holder.seats().into_iter().filter_map(|holder| {
                let (seat, address) = (holder.seat, holder.address);
                holder.away.map(|why| format!("key-holder {seat} of 3 ({address}) is away: {why}\n"))
            });
            let counted = app.service.node.key_holder_watch.status().as_deref().map(counted);
            std::iter::once("ready\n".to_owned())
                .chain(away)
                .chain(counted)
                .collect::<String>()
                .into_response()
        }
        Some(why) => {
            let found = crate::status::attention(&app, &app.gauges());
            let cure = found.iter().find(|found| found.level == Level::Broken);
            let cure = cure.map_or(String::new(), |found| format!(". Do: {}", found.remedy));
            (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}{cure}\n")).into_response()
        }
    }
}

/// What the key-holder counts, for people.
fn counted(status: &Status) -> String {
    let Status { attempts, failures, enrolments, frozen, .. } = status;
    let malformed = status.malformed_jobs();
    let frozen = match frozen.len() {
        0 => String::new(),
        tenants => format!(", {tenants} tenants frozen by them until an operator resets the count"),
    };
    format!(
        "key-holder: {attempts} attempts, {failures} failures, {enrolments} enrolments, {malformed} malformed jobs{frozen}\n"
    )
}

/// `GET /metrics`: Prometheus text. The counts of the service come first, those of its verdict cache after them.
pub(super) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let page = app.metrics.render(&app.service.node.counters, &app.gauges())
        + &metrics::tenants::usage(&app.service.tenants.tenant_usage())
        + &metrics::verdicts::verdicts(&app.service.tenants.all());
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], page).into_response()
}

/// `GET /v1/status`: what the operator's page shows.
pub(super) async fn status(State(app): State<Arc<App>>, _: Operator) -> Result<Response, Problem> {
    // It counts open files and connections.
    let shown = blocking(move || Ok(crate::status::status(&app))).await?;
    body::answer(StatusCode::OK, &shown)
}
