//! What the handler of a traced request tells about it.

use super::sampler::Traced;
use super::steps::Login;
use std::cell::RefCell;
use trefoil_pipeline::Clock;
use trefoil_service::seal_log::Answer;
use trefoil_types::TenantId;

/// Most batches of one request whose steps are in its trace. The logins of a request are usually in one or two.
const BATCHES_MAX: usize = 8;

tokio::task_local! {
    static NOTED: RefCell<Noted>;
}

/// The tenant and the logins of a request, as far as its handler has come.
#[derive(Default)]
pub(crate) struct Noted {
    pub(super) tenant: Option<TenantId>,
    /// Logins that were decided.
    pub(super) logins: u32,
    /// Their batches, at most [`BATCHES_MAX`].
    pub(super) batches: Vec<Login>,
}

impl Noted {
    fn add(&mut self, login: Login) {
        self.logins += 1;
        let has_room = self.batches.len() < BATCHES_MAX;
        match self.batches.iter_mut().find(|batch| batch.timeline == login.timeline) {
            Some(batch) => {
                batch.submitted_ns = batch.submitted_ns.min(login.submitted_ns);
                batch.answered_ns = batch.answered_ns.max(login.answered_ns);
            }
            None if has_room => self.batches.push(login),
            None => {}
        }
    }
}

/// Handles a request, and learns what is told about it if it is traced.
pub(crate) async fn noting<T>(traced: &Traced, work: impl Future<Output = T>) -> (T, Noted) {
    if traced.0.is_none() {
        return (work.await, Noted::default());
    }
    let noting = async { (work.await, NOTED.with(RefCell::take)) };
    NOTED.scope(RefCell::default(), noting).await
}

/// Notes the tenant of the request that is handled.
pub(crate) fn is_of_tenant(tenant: TenantId) {
    let _ = NOTED.try_with(|noted| noted.borrow_mut().tenant = Some(tenant));
}

/// A login is handed to the service: when, if its request is traced.
pub(crate) fn submits(clock: &dyn Clock) -> Option<u64> {
    NOTED.try_with(|_| clock.monotonic_ns()).ok()
}

/// Notes the answer to a login that was handed over at this time.
pub(crate) fn answered(clock: &dyn Clock, submitted_ns: Option<u64>, answer: &Answer) {
    let Some(submitted_ns) = submitted_ns else { return };
    let login = Login { submitted_ns, answered_ns: clock.monotonic_ns(), timeline: answer.timeline };
    let _ = NOTED.try_with(|noted| noted.borrow_mut().add(login));
}
