//! The HTTP API. Public listener: tenants' callers and anyone who verifies. Admin listener: operators.
//!
//! | method, path | scope | body | success |
//! |---|---|---|---|
//! | POST `/v1/subjects/{handle}/templates` | enrol | JSON | 201 |
//! | PUT `/v1/subjects/{handle}/templates` | enrol | JSON | 200 |
//! | DELETE `/v1/subjects/{handle}/templates` | enrol | - | 200 and a receipt |
//! | POST `/v1/subjects/{handle}/revoke` | enrol | - | 200 and a receipt |
//! | GET `/v1/tenant` | authenticate | - | 200, counts of the tenant |
//! | POST `/v1/credentials/roots` | issue | JSON | 201 |
//! | GET `/v1/credentials/roots/{tenant}` | none | - | 200, the root log |
//! | POST `/v1/proof-sessions` | authenticate | proof envelope | 201 |
//! | POST `/v1/authentications` | authenticate | JSON | 200, also for `no_match` |
//! | POST `/v1/authentications/batch` | authenticate | JSON | 200, also where an entry is refused |
//! | GET `/v1/keys`, `/v1/keys/{version}`, `/v1/seals/{n}`, `/v1/seals/{n}/header`, `/v1/seals/{n}/pruned`, `/v1/fhe/parameters`, `/v1/fhe/keys/{tenant}`, `/.well-known/trefoil-configuration`, `/.well-known/jwks.json` | none | - | 200 |
//! | GET `/v1/log/head`, `/v1/log/inclusion/{seal}/{size}`, `/v1/log/consistency/{old_size}/{size}` | none | - | 200 |
//! | POST `/v1/log/cosignatures` | none | a cosigned checkpoint | 200 |
//! | GET `/v1/log/checkpoint`, `/v1/log/checkpoint/{size}`, `/v1/log/tile/{level}/{index}` | none | - | 200 |
//! | GET `/verify`, `/verify.js`, `/verify.css` | none | - | 200 |
//! | POST `/v1/tenants`, `/v1/tenants/{tenant}/api-keys` (admin) | token | JSON | 201 |
//! | GET `/v1/tenants`, `/v1/tenants/{tenant}`, `/v1/tenants/{tenant}/api-keys` (admin) | token | - | 200 |
//! | DELETE `/v1/tenants/{tenant}/api-keys/{id}` (admin) | token | - | 200, the revoked key |
//! | DELETE `/v1/tenants/{tenant}` (admin) | token | - | 200 and a receipt |
//! | POST `/v1/tenants/{tenant}/disable`, `/enable` (admin) | token | - | 200 |
//! | PUT `/v1/tenants/{tenant}/issuer-key` (admin) | token | JSON | 200 |
//! | GET `/v1/usage` | any | - | 200 |
//! | GET `/v1/tenants/{tenant}/usage` (admin) | token | - | 200 |
//! | POST `/v1/tenants/{tenant}/reset-malformed` (admin) | token | - | 200 and a receipt |
//! | POST `/v1/tenants/{tenant}/subjects/{handle}/reset-attempts` (admin) | token | - | 200 and a receipt |
//! | POST, GET `/v1/tenants/{tenant}/key-rotation` (admin) | token | - | 202, 200: its progress |
//! | POST `/v1/operators`, `/v1/operators/{operator}/tokens` (admin) | token | JSON | 201 |
//! | GET `/v1/operators`, `/v1/operators/{operator}`, `/v1/audit` (admin) | token | - | 200 |
//! | DELETE `/v1/operators/{operator}`, `/v1/operators/{operator}/tokens/{number}` (admin) | token | - | 200 and a receipt |
//! | GET `/openapi.json`, `/reference`, `/v1/problems/{code}` (both) | none | - | 200 |
//! | GET `/v1/status` (admin) | token | - | 200 |
//! | GET `/operator`, `/operator/page.js`, `/operator/page.css` (admin) | none | - | 200 |
//! | GET `/livez`, `/readyz`, `/metrics` (admin) | none | - | 200, 503 when not ready |
//!
//! A caller never names its tenant: the API key determines it. Every refusal is a [`crate::problem`].

mod admin;
mod authentications;
mod batch;
mod body;
mod caller;
mod conditional;
mod cosignatures;
mod envelope;
mod failures;
mod head;
mod jwks;
mod log;
mod once;
mod operators;
mod page;
mod proof_sessions;
mod public;
mod reference;
mod roots;
pub(crate) mod routes;
mod sizes;
mod subjects;
mod templates;
mod usage;
mod uses;

use crate::app::App;
use crate::problem::{Code, Problem};
use axum::Router;
use axum::middleware::from_fn_with_state;
use std::sync::Arc;

/// Routes of the public listener.
pub(crate) fn public(app: Arc<App>) -> Router {
    let no_such_path =
        "the public listener has no such path; tenants, API keys and metrics are on the admin listener";
    finish(routes::public().router(), app, no_such_path)
}

/// Routes of the admin listener.
pub(crate) fn admin(app: Arc<App>) -> Router {
    let no_such_path =
        "the admin listener has no such path; logins, enrolments and public keys are on the public listener";
    finish(routes::admin().router(), app, no_such_path)
}

fn finish(routes: Router<Arc<App>>, app: Arc<App>, no_such_path: &'static str) -> Router {
    routes
        .fallback(async move || Problem::new(Code::RouteUnknown, no_such_path))
        .method_not_allowed_fallback(async || Problem::new(Code::MethodNotAllowed, "see the Allow header"))
        .layer(from_fn_with_state(Arc::clone(&app), envelope::around))
        .with_state(app)
}
