//! The log's lines about logins of a batch that failed or were refused. Such a login has no answer of its own, so `envelope` logs none for it.
//!
//! A batch that fails has one line for each code, and not one for each of its logins. Of refusals, those get a line that would as requests of
//! their own.

use super::envelope::RequestId;
use crate::app::App;
use crate::problem::Code;
use axum::extract::Request;
use std::collections::BTreeMap;

/// The route of batches, for metrics and the log.
pub(super) const BATCHES: &str = "/v1/authentications/batch";
/// Stands in the line of a refusal.
pub(super) const ONE_A_SECOND: &str = "one line a second; trefoil_http_problems_total counts all";

/// How many logins of a batch failed. They get their lines when it is dropped.
pub(super) struct Failures {
    request_id: String,
    counts: BTreeMap<Code, u64>,
}

impl Failures {
    /// Those of this request.
    pub(super) fn of(request: &Request) -> Failures {
        let id = request.extensions().get::<RequestId>();
        Failures { request_id: id.map_or_else(|| "-".to_owned(), |id| id.text()), counts: BTreeMap::new() }
    }

    /// A login was refused. It failed if the status is one from 500 on.
    pub(super) fn refused(&mut self, app: &App, code: Code) {
        let status = code.status().as_u16();
        match status {
            500.. => *self.counts.entry(code).or_default() += 1,
            401 | 403 if app.refusals.takes(status, app.service.node.clock.monotonic_ns()) => {
                let (request_id, code, sampled) = (&self.request_id, code.name(), ONE_A_SECOND);
                tracing::info!(request_id, route = BATCHES, status, code, sampled, "login refused");
            }
            _ => {}
        }
    }
}

impl Drop for Failures {
    fn drop(&mut self) {
        for (code, logins) in &self.counts {
            let (request_id, status, code) = (&self.request_id, code.status().as_u16(), code.name());
            tracing::warn!(request_id, route = BATCHES, status, code, logins, "logins failed");
        }
    }
}
