//! The log's lines about logins of batches and streams that failed or were refused. Such a login has no answer of its own, so `envelope` logs none for it.
//!
//! A batch that fails has one line for each code, and not one for each of its logins. A stream has one a second. Of refusals, those get a line that
//! would as requests of their own.

use super::envelope::RequestId;
use crate::app::App;
use crate::problem::Code;
use axum::extract::Request;

/// A stream is told about at most this often.
const PAUSE_NS: u64 = 1_000_000_000;
/// Stands in the line of a refusal.
pub(super) const ONE_A_SECOND: &str = "one line a second; trefoil_http_problems_total counts all";

/// How many logins of one request failed and have no line yet. Those that are left when it is dropped get their line then.
pub(super) struct Failures {
    request: Option<RequestId>,
    route: &'static str,
    counts: Vec<(Code, u64)>,
    /// When the last line was written.
    told_ns: Option<u64>,
}

impl Failures {
    /// Those of this request, to this route.
    pub(super) fn of(request: &Request, route: &'static str) -> Failures {
        let request = request.extensions().get::<RequestId>().copied();
        Failures { request, route, counts: Vec::new(), told_ns: None }
    }

    /// A login was refused. It failed if the status is one from 500 on.
    pub(super) fn refused(&mut self, app: &App, code: Code) {
        let status = code.status().as_u16();
        match status {
            500.. => self.count(code),
            401 | 403 if app.refusals.takes(status, app.service.clock.monotonic_ns()) => {
                let (request_id, sampled) = (self.request_id(), ONE_A_SECOND);
                let (route, code) = (self.route, code.name());
                tracing::info!(request_id, route, status, code, sampled, "login refused");
            }
            _ => {}
        }
    }

    fn count(&mut self, code: Code) {
        match self.counts.iter_mut().find(|(counted, _)| *counted == code) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((code, 1)),
        }
    }

    /// Writes the lines, unless the last ones were written less than a second ago.
    pub(super) fn tell(&mut self, now_ns: u64) {
        self.due(now_ns).into_iter().for_each(|(code, logins)| self.line(code, logins));
    }

    /// What [`Failures::tell`] writes.
    fn due(&mut self, now_ns: u64) -> Vec<(Code, u64)> {
        let is_due = self.told_ns.is_none_or(|told_ns| now_ns >= told_ns + PAUSE_NS);
        if self.counts.is_empty() || !is_due {
            return Vec::new();
        }
        self.told_ns = Some(now_ns);
        std::mem::take(&mut self.counts)
    }

    fn line(&self, code: Code, logins: u64) {
        let (request_id, status, code) = (self.request_id(), code.status().as_u16(), code.name());
        tracing::warn!(request_id, route = self.route, status, code, logins, "logins failed");
    }

    fn request_id(&self) -> String {
        self.request.map_or_else(|| "-".to_owned(), RequestId::text)
    }
}

impl Drop for Failures {
    fn drop(&mut self) {
        std::mem::take(&mut self.counts).into_iter().for_each(|(code, logins)| self.line(code, logins));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_by_code_once_a_second() {
        let mut failures = Failures { request: None, route: "-", counts: Vec::new(), told_ns: None };
        let count =
            |failures: &mut Failures, codes: &[Code]| codes.iter().for_each(|code| failures.count(*code));
        assert!(failures.due(5).is_empty(), "nothing failed");
        count(&mut failures, &[Code::Unsealed, Code::Internal, Code::Unsealed]);
        assert_eq!(failures.due(5), [(Code::Unsealed, 2), (Code::Internal, 1)]);
        count(&mut failures, &[Code::Unsealed; 3]);
        assert!(failures.due(5 + PAUSE_NS - 1).is_empty(), "a line was written less than a second ago");
        count(&mut failures, &[Code::Unsealed]);
        assert_eq!(failures.due(5 + PAUSE_NS), [(Code::Unsealed, 4)]);
        assert!(failures.due(5 + 3 * PAUSE_NS).is_empty(), "nothing failed since");
    }
}
