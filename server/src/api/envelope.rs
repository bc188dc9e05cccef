//! The layer around every request: it gives it an id, renders problems, contains a panic, counts, and writes the log line.

use super::failures::ONE_A_SECOND;
use super::head;
use super::uses::with_uses;
use crate::app::App;
use crate::problem::Problem;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use trefoil_service::tenants::usage::Used;

const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// Names a request in the log, and in the header `request-id` of its answer. A request has it among its extensions.
#[derive(Clone, Copy)]
pub(super) struct RequestId([u8; 16]);

impl RequestId {
    /// As the header and the log show it.
    pub(super) fn text(self) -> String {
        hex::encode(self.0)
    }
}

/// The outermost layer.
pub(super) async fn around(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let id = rand::random::<[u8; 16]>();
    request.extensions_mut().insert(RequestId(id));
    let id = hex::encode(id);
    let (method, version) = (request.method().clone(), request.version());
    // The pattern, not the path: a path names a subject.
    let route = request.extensions().get::<MatchedPath>().cloned();
    let started = app.service.node.clock.monotonic_ns();
    let (mut response, uses) = match head::check(&request) {
        Ok(()) => with_uses(contain(next.run(request))).await,
        Err(refused) => (refused.into_response(), None),
    };
    let problem = response.extensions_mut().remove::<Problem>();
    if let (Some(_), Some(uses)) = (&problem, uses) {
        uses.count(Used::Refused);
    }
    if let Some(problem) = &problem {
        let allow = response.headers_mut().remove(header::ALLOW);
        response = problem.render(&id);
        if let Some(allow) = allow {
            response.headers_mut().insert(header::ALLOW, allow);
        }
    }
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REQUEST_ID, HeaderValue::from_str(&id).expect("hexadecimal is a header value"));
    // HTTP/2 says it by GOAWAY, at the end.
    if version < Version::HTTP_2 && app.leaving.load(Ordering::Relaxed) {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let status = response.status().as_u16();
    let code = problem.as_ref().map(Problem::code);
    let took_ns = app.service.node.clock.monotonic_ns() - started;
    let route = route.as_ref().map_or("-", MatchedPath::as_str);
    app.metrics.responded(method.as_str(), route, status, code, took_ns);
    let (code, us) = (code.map_or("-", |code| code.name()), took_ns / 1_000);
    match status {
        500.. => tracing::warn!(request_id = id, %method, route, status, code, us, "request failed"),
        401 | 403 if app.refusals.takes(status, started) => {
            let sampled = ONE_A_SECOND;
            tracing::info!(request_id = id, %method, route, status, code, us, sampled, "request refused");
        }
        _ if app.config.server.access_log => {
            tracing::info!(request_id = id, %method, route, status, code, us, "request");
        }
        _ => tracing::debug!(request_id = id, %method, route, status, code, us, "request"),
    }
    response
}

/// Turns a panic of a handler into a 500, so that it costs one request and not its connection.
async fn contain(response: impl Future<Output = Response>) -> Response {
    let mut response = pin!(response);
    poll_fn(|context| {
        catch_unwind(AssertUnwindSafe(|| response.as_mut().poll(context)))
            .unwrap_or_else(|_| Poll::Ready(Problem::internal("a handler panicked").into_response()))
    })
    .await
}
