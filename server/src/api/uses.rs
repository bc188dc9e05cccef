//! Which API key a request came with, so that a refusal counts as a use of it wherever it happens.

use std::cell::RefCell;
use std::sync::Arc;
use trefoil_service::tenants::usage::Uses;

tokio::task_local! {
    static USES: RefCell<Option<Arc<Uses>>>;
}

/// Handles a request, and learns which counter is that of its API key.
pub(super) async fn with_uses<T>(work: impl Future<Output = T>) -> (T, Option<Arc<Uses>>) {
    let noting = async { (work.await, USES.with(RefCell::take)) };
    USES.scope(RefCell::default(), noting).await
}

/// The request that is handled is a use of this API key.
pub(super) fn is_use_of(uses: &Arc<Uses>) {
    let _ = USES.try_with(|noted| *noted.borrow_mut() = Some(Arc::clone(uses)));
}
