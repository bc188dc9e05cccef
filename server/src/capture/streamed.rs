//! The logins of a stream in a capture.

use super::{Capture, PARTIES, Parties, Shape, with_parties};
use std::sync::Arc;
use trefoil_types::TenantId;

/// The route that a login of a stream is noted under: that of a single login, because its shape is the same.
const ALONE: &str = "/v1/authentications";

/// A stream that is captured.
#[derive(Clone)]
pub(crate) struct Streamed {
    capture: Arc<Capture>,
    tenant: TenantId,
    /// Drawn for each stream, so it says nothing but which logins came together. Never 0.
    mark: u64,
}

/// A login of it, from its line to its answer.
pub(crate) struct Login {
    pub(crate) status: u16,
    pub(crate) began_ns: u64,
    pub(crate) took_ns: u64,
    pub(crate) request_bytes: u64,
    pub(crate) answer_bytes: u64,
}

impl Streamed {
    /// The stream of this tenant that the request which is handled opens. The request is noted with its mark too.
    pub(crate) fn of(capture: &Arc<Capture>, tenant: TenantId) -> Streamed {
        let mark = rand::random::<u64>() | 1;
        let _ = PARTIES.try_with(|parties| parties.borrow_mut().stream = Some(mark));
        Streamed { capture: Arc::clone(capture), tenant, mark }
    }

    /// Notes one of its logins, and the subject that was read of it.
    pub(crate) fn note(&self, login: &Login, parties: Parties) {
        let Login { status, began_ns, took_ns, request_bytes, answer_bytes } = *login;
        let shape =
            Shape { method: "POST", route: ALONE, status, began_ns, took_ns, request_bytes, answer_bytes };
        let parties = Parties { tenant: Some(self.tenant), stream: Some(self.mark), ..parties };
        self.capture.note(&shape, &parties);
    }
}

/// Handles a login, and learns its subject if its stream is captured.
pub(crate) async fn with_subject<T>(
    streamed: Option<&Streamed>,
    work: impl Future<Output = T>,
) -> (T, Parties) {
    match streamed {
        Some(_) => with_parties(work).await,
        None => (work.await, Parties::default()),
    }
}
