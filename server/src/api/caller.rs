//! Callers: a tenant's API key, or an operator's token.

use super::uses::is_use_of;
use crate::app::App;
use crate::openapi::Needs;
use crate::problem::{Code, Problem};
use axum::extract::{FromRequestParts, Path, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use std::sync::Arc;
use trefoil_api::Decision;
use trefoil_attest::SERVICE;
use trefoil_service::Refused;
use trefoil_service::limits::distinct_failures::DistinctFailures;
use trefoil_service::limits::pace::{Place, Work};
use trefoil_service::tenants::directory::api_keys::Known;
use trefoil_service::tenants::notes::By;
use trefoil_service::tenants::tenant::{Scope, Scopes, Tenant};
use trefoil_service::tenants::usage::{Used, Uses};
use trefoil_types::{ApiKeyId, TenantId};

/// An authenticated caller of the public listener, and its place among the tenant's requests in flight.
pub(super) struct Caller {
    pub(super) tenant: Arc<Tenant>,
    scopes: Scopes,
    /// Public part of the API key.
    pub(super) id: ApiKeyId,
    /// The outcomes of the API key's subjects.
    pub(super) failures: Arc<DistinctFailures>,
    uses: Arc<Uses>,
    place: Place,
}

/// An operator whose role allows the route.
pub(super) struct Operator(pub(super) By);

/// `N` bytes from the one parameter of the path.
pub(super) struct PathBytes<const N: usize>(pub(super) [u8; N]);

/// The start of a page of a list: `?from=`, or the beginning without it.
pub(super) struct Cursor<const N: usize>(pub(super) [u8; N]);

impl Caller {
    /// A known caller, with a place for one login.
    fn of(app: &App, known: Known) -> Result<Caller, Problem> {
        let Known { tenant, scopes, id, uses, failures } = known;
        let place = app.service.logins.pace.place(&tenant.in_flight).ok_or_else(crowded)?;
        Ok(Caller { tenant, scopes, id, failures, uses, place })
    }

    /// Waits until the tenant has room for one more request in work. Call it before the body is read.
    pub(super) async fn work(&self, app: &App) -> Result<Work, Problem> {
        app.service.logins.pace.work(&self.place, app.limits.answer_timeout()).await.ok_or_else(crowded)
    }

    /// Counts this request as this many logins in flight, from now on.
    pub(super) fn widen(&mut self, app: &App, logins: usize) -> Result<(), Problem> {
        app.service.logins.pace.widen(&mut self.place, logins).ok_or_else(crowded)
    }

    /// Reduces its count to this many.
    pub(super) fn only(&mut self, logins: usize) {
        self.place.only(logins);
    }

    /// Counts a use of its API key.
    pub(super) fn used(&self, used: Used) {
        self.uses.count(used);
    }

    /// Counts a login that was decided.
    pub(super) fn decided(&self, decision: Decision) {
        self.used(match decision {
            Decision::Match => Used::Matched,
            Decision::NoMatch => Used::NotMatched,
        });
    }

    /// Refuses a key without this scope.
    pub(super) fn require(&self, scope: Scope) -> Result<(), Problem> {
        if self.scopes.contains(scope) {
            return Ok(());
        }
        Err(Problem::new(Code::ScopeMissing, format!("use an API key with the scope `{}`", scope.name())))
    }
}

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Caller, Problem> {
        check_ready(app)?;
        let key = bearer(&parts.headers)?.ok_or(Refused::Caller)?;
        let directory = &app.service.tenants;
        let known = app.service.tenants.found(|| directory.caller(key, app.service.node.now())).await?;
        is_use_of(&known.uses);
        Caller::of(app, known)
    }
}

impl FromRequestParts<Arc<App>> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Operator, Problem> {
        app.service.node.check_heard()?;
        let token = bearer(&parts.headers)?.unwrap_or("");
        let operators = &app.service.operators;
        let acting = app.service.tenants.found(|| operators.caller(token, app.service.node.now())).await?;
        let needs = parts.extensions.get::<Needs>().copied();
        let Needs { role, changes } =
            needs.ok_or_else(|| Problem::internal("a route that operators use needs no role"))?;
        if acting.role >= role {
            if let Some(tenant) = named_tenant(parts, app).await {
                app.service.tenants.expect_tenant(&tenant).await;
            }
            return Ok(Operator(acting.by));
        }
        if let Some(action) = changes {
            let tenant = named_tenant(parts, app).await.unwrap_or(SERVICE);
            app.service.log.note_refusal(tenant, action, acting.by, app.limits.answer_timeout()).await;
        }
        let detail =
            format!("the role {} does not allow this; it needs the role {}", acting.role.name(), role.name());
        Err(Problem::new(Code::RoleMissing, detail))
    }
}

/// The tenant that the path names.
async fn named_tenant(parts: &mut Parts, app: &Arc<App>) -> Option<TenantId> {
    let parameters = RawPathParams::from_request_parts(parts, app).await.ok()?;
    let (_, value) = parameters.iter().find(|(name, _)| *name == "tenant")?;
    trefoil_api::Hex::parse(value).map(|hex| TenantId::new(hex.0))
}

impl<const N: usize> FromRequestParts<Arc<App>> for PathBytes<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<PathBytes<N>, Problem> {
        let text = Path::<String>::from_request_parts(parts, app).await;
        PathBytes::parse(text.as_deref().map_or("", String::as_str))
    }
}

impl<const N: usize> PathBytes<N> {
    /// Reads one parameter of the path.
    pub(super) fn parse(text: &str) -> Result<PathBytes<N>, Problem> {
        let malformed = || {
            let detail = format!("the identifier in the path is not {} hexadecimal digits", 2 * N);
            Problem::new(Code::MalformedRequest, detail)
        };
        trefoil_api::Hex::parse(text).map(|hex| PathBytes(hex.0)).ok_or_else(malformed)
    }
}

impl<const N: usize> FromRequestParts<Arc<App>> for Cursor<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Cursor<N>, Problem> {
        let Some(query) = parts.uri.query() else { return Ok(Cursor([0; N])) };
        let from = query.strip_prefix("from=").and_then(trefoil_api::Hex::parse);
        from.map(|hex| Cursor(hex.0)).ok_or_else(|| {
            let detail = format!("expected the query `from=` with {} hexadecimal digits, or none", 2 * N);
            Problem::new(Code::MalformedRequest, detail)
        })
    }
}

/// Before a credential is looked at.
fn check_ready(app: &App) -> Result<(), Problem> {
    app.service.node.unready().map_or(Ok(()), |why| Err(Problem::new(Code::Draining, why)))?;
    Ok(app.service.node.check_heard()?)
}

fn crowded() -> Problem {
    let detail = "more requests of this tenant are in flight than are answered in time; retry after a second";
    Problem::new(Code::QuotaExceeded, detail)
}

/// The bearer credential of the one `Authorization` header, if there is one. A proxy may check another one of several than the service would take.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let only = all.next();
    if all.next().is_some() {
        let detail = "the request has several `Authorization` headers; send one";
        return Err(Problem::new(Code::CallerUnauthenticated, detail));
    }
    let parts = only.and_then(|header| header.to_str().ok()?.split_once(' '));
    let token = parts.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    Ok(token.map(|(_, token)| token.trim()))
}
