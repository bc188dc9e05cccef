//! Creations by operators that happen at most once for each `Idempotency-Key`, however often the request is repeated.

use super::templates::{IDEMPOTENCY_KEY, IDEMPOTENT_REPLAYED};
use crate::app::{App, blocking};
use crate::problem::{Code, Problem};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use std::sync::Arc;
use trefoil_matching::IDEMPOTENCY_KEY_BYTES_MAX;
use trefoil_service::tenants::notes::{By, Created, Outcome};
use trefoil_service::{Refused, Service};
use trefoil_storage::store::Once;

/// Creates an object, unless an earlier request with the same key did.
pub(super) async fn create<T: Send + 'static>(
    app: &Arc<App>,
    headers: &HeaderMap,
    (path, body): (String, &[u8]),
    mut by: By,
    create: impl FnOnce(&Service, &By) -> Result<T, Refused> + Send + 'static,
) -> Result<Outcome<T>, Problem> {
    by.once = key(headers)?.map(|key| {
        let parts = [path.as_bytes(), body];
        let request_digest = app.service.tenants.keyed_digest(b"trefoil/create/1", &parts);
        Once { operator: by.operator, key, request_digest, at: app.service.node.now() }
    });
    let app = Arc::clone(app);
    blocking(move || Ok(app.service.log.create_once(&by, || create(&app.service, &by))?)).await
}

/// Marks an answer that is an earlier request's.
pub(super) fn marked(mut response: Response, replayed: bool) -> Response {
    if replayed {
        response.headers_mut().insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// The problem that stands for the answer of an earlier request, which had a secret.
pub(super) fn secret_shown(created: Created) -> Problem {
    let what = match created {
        Created::Tenant(tenant) => format!("the tenant {}", hex::encode(tenant)),
        Created::ApiKey(key) => format!("the API key {}", hex::encode(key)),
        Created::OperatorToken(operator, number) => {
            format!("token {number} of the operator {}", hex::encode(operator))
        }
    };
    let detail =
        format!("an earlier request with this Idempotency-Key created {what}, whose secret was shown once");
    Problem::new(Code::SecretShown, detail)
}

fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    match visible(value) {
        Some(key) => Ok(Some(key.to_owned())),
        None => {
            let detail = "send `Idempotency-Key` with 1 to 255 visible characters, or without it";
            Err(Problem::new(Code::MalformedRequest, detail))
        }
    }
}

/// A key of visible ASCII characters, whose number is within the bound. `HeaderValue::to_str` also lets blanks pass.
pub(super) fn visible(value: &HeaderValue) -> Option<&str> {
    let key = value.to_str().ok()?;
    let bounded = (1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&key.len());
    (bounded && key.bytes().all(|byte| byte.is_ascii_graphic())).then_some(key)
}
