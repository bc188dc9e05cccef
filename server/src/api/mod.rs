//! The HTTP API. Public listener: tenants' callers and anyone who verifies. Admin listener: operators.
//!
//! | method, path | scope | body | success |
//! |---|---|---|---|
//! | POST `/v1/subjects/{handle}/templates` | enrol | JSON | 201 |
//! | DELETE `/v1/subjects/{handle}/templates` | enrol | - | 204 |
//! | POST `/v1/credentials/roots` | issue | JSON | 201 |
//! | GET `/v1/credentials/roots/{tenant}` | none | - | 200, the root log |
//! | POST `/v1/proof-sessions` | authenticate | proof envelope | 201 |
//! | POST `/v1/authentications` | authenticate | JSON | 200, also for `no_match` |
//! | POST `/v1/authentications/batch` | authenticate | JSON | 200, also where an entry is refused |
//! | GET `/v1/keys`, `/v1/keys/{version}`, `/v1/seals/{n}`, `/v1/seals/{n}/header`, `/v1/seals/{n}/pruned`, `/v1/fhe/parameters`, `/v1/fhe/keys/{tenant}`, `/.well-known/trefoil-configuration`, `/.well-known/jwks.json` | none | - | 200 |
//! | GET `/v1/log/head`, `/v1/log/inclusion/{seal}/{size}`, `/v1/log/consistency/{old_size}/{size}` | none | - | 200 |
//! | POST `/v1/log/cosignatures` | none | a cosigned checkpoint | 200 |
//! | GET `/v1/log/checkpoint`, `/v1/log/checkpoint/{size}` | none | - | 200 |
//! | GET `/verify`, `/verify/page.js`, `/verify/page.css` | none | - | 200 |
//! | POST `/v1/tenants`, `/v1/tenants/{tenant}/api-keys` (admin) | token | JSON | 201 |
//! | GET `/v1/tenants`, `/v1/tenants/{tenant}`, `/v1/tenants/{tenant}/api-keys` (admin) | token | - | 200 |
//! | DELETE `/v1/tenants/{tenant}/api-keys/{id}` (admin) | token | - | 200, the revoked key |
//! | POST `/v1/tenants/{tenant}/disable`, `/enable` (admin) | token | - | 200 |
//! | PUT `/v1/tenants/{tenant}/issuer-key` (admin) | token | JSON | 200 |
//! | POST `/v1/tenants/{tenant}/reset-malformed` (admin) | token | - | 204 |
//! | POST, GET `/v1/tenants/{tenant}/key-rotation` (admin) | token | - | 202, 200: where it stands |
//! | GET `/livez`, `/readyz`, `/metrics` (admin) | none | - | 200, 503 when not ready |
//!
//! The tenant is never named by a caller: it follows from the API key. Every refusal is a [`crate::problem`].

mod admin;
mod authentications;
mod batch;
mod body;
mod caller;
mod cosignatures;
mod envelope;
mod jwks;
mod log;
mod page;
mod proof_sessions;
mod public;
mod roots;
mod sizes;
mod templates;

pub(crate) use sizes::HEAD_BYTES_MAX;
pub(crate) use templates::IDEMPOTENCY_LIFETIME_S;

use crate::app::App;
use crate::problem::{Code, Problem};
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post, put};
use std::sync::Arc;

/// Routes of the public listener.
pub(crate) fn public(app: Arc<App>) -> Router {
    let routes = Router::new()
        .route("/v1/subjects/{handle}/templates", post(templates::enrol).delete(templates::delete))
        .route("/v1/credentials/roots", post(roots::publish))
        .route("/v1/credentials/roots/{tenant}", get(roots::log))
        .route("/v1/proof-sessions", post(proof_sessions::open))
        .route("/v1/authentications", post(authentications::authenticate))
        .route("/v1/authentications/batch", post(batch::authenticate))
        .route("/v1/keys", get(public::keys))
        .route("/v1/keys/{version}", get(public::keys_version))
        .route("/v1/seals/{number}", get(public::seal))
        .route("/v1/seals/{number}/header", get(public::seal_header))
        .route("/v1/seals/{number}/pruned", get(public::pruned_seal))
        .route("/v1/log/head", get(log::head))
        .route("/v1/log/inclusion/{seal}/{size}", get(log::inclusion))
        .route("/v1/log/consistency/{old_size}/{size}", get(log::consistency))
        .route("/v1/log/cosignatures", post(cosignatures::hand_in))
        .route("/v1/log/checkpoint", get(cosignatures::newest))
        .route("/v1/log/checkpoint/{size}", get(cosignatures::of_size))
        .route("/verify", get(page::document))
        .route("/verify/page.js", get(page::script))
        .route("/verify/page.css", get(page::style))
        .route("/v1/fhe/parameters", get(public::fhe_parameters))
        .route("/v1/fhe/keys/{tenant}", get(public::fhe_keys))
        .route("/.well-known/trefoil-configuration", get(public::configuration))
        .route("/.well-known/jwks.json", get(jwks::key_set));
    finish(
        routes,
        app,
        "the public listener has no such path; tenants, API keys and metrics are on the admin listener",
    )
}

/// Routes of the admin listener.
pub(crate) fn admin(app: Arc<App>) -> Router {
    let routes = Router::new()
        .route("/v1/tenants", post(admin::create_tenant).get(admin::tenants))
        .route("/v1/tenants/{tenant}", get(admin::tenant))
        .route("/v1/tenants/{tenant}/disable", post(admin::disable))
        .route("/v1/tenants/{tenant}/enable", post(admin::enable))
        .route("/v1/tenants/{tenant}/api-keys", post(admin::create_api_key).get(admin::api_keys))
        .route("/v1/tenants/{tenant}/api-keys/{id}", delete(admin::revoke_api_key))
        .route("/v1/tenants/{tenant}/issuer-key", put(roots::register_key))
        .route("/v1/tenants/{tenant}/reset-malformed", post(admin::reset_malformed))
        .route("/v1/tenants/{tenant}/key-rotation", post(admin::rotate_keys).get(admin::key_rotation))
        .route("/livez", get(admin::live))
        .route("/readyz", get(admin::ready))
        .route("/metrics", get(admin::metrics));
    finish(
        routes,
        app,
        "the admin listener has no such path; logins, enrolments and public keys are on the public listener",
    )
}

fn finish(routes: Router<Arc<App>>, app: Arc<App>, no_such_path: &'static str) -> Router {
    routes
        .fallback(async move || Problem::new(Code::RouteUnknown, no_such_path))
        .method_not_allowed_fallback(async || Problem::new(Code::MethodNotAllowed, "see the Allow header"))
        .layer(from_fn_with_state(Arc::clone(&app), envelope::around))
        .with_state(app)
}
