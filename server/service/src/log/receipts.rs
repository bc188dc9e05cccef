//! Receipts: statements of changes, sealed in the same log as decisions.
//!
//! A change is made durable first, then its receipt is sealed. A crash between the two, a store that takes no seal, or a stop
//! leaves a tenant's own change without a receipt. The change stands, because undoing it would be worse, above all for an erasure. A change by an
//! operator gets its receipt later: [`crate::log::audit`].

use crate::log::Log;
use crate::log::asker::Asker;
use crate::log::seal_log::{Answer, Answered};
use std::time::Duration;
use tokio::sync::oneshot;
use trefoil_attest::What;
use trefoil_pipeline::Record;
use trefoil_types::TenantId;

impl Log {
    /// Seals the statement that `what` was done for a tenant at `changed_at`, or logs why it is not sealed.
    pub async fn receipt(
        &self,
        tenant: TenantId,
        changed_at: u64,
        what: What,
        patience: Duration,
    ) -> Option<Answer> {
        let statement = self.notes.statement(tenant, changed_at, what, None).ok()?;
        self.answered(self.record(statement), patience).await
    }

    /// The outcome of sealing a statement.
    pub(crate) async fn answered(
        &self,
        recorded: Result<Answered, &'static str>,
        patience: Duration,
    ) -> Option<Answer> {
        let why = match recorded {
            Err(why) => why,
            Ok(answer) => match tokio::time::timeout(patience, answer).await {
                Ok(Ok(Ok(answer))) => return Some(answer),
                Ok(Ok(Err(_))) => "the store does not take the seal",
                Ok(Err(_)) => "the pipeline dropped it",
                Err(_) => "it was not sealed in time",
            },
        };
        tracing::warn!(why, "a change has no receipt");
        None
    }

    /// Seals the statement of a change.
    pub(crate) fn record(&self, statement: Vec<u8>) -> Result<Answered, &'static str> {
        // A seal would fill the disk further, or wait for the store; an erasure must not.
        if self.check_room().is_err() {
            return Err("there is no room for a seal");
        }
        let (reply, answer) = oneshot::channel();
        let intake = self.intake.load();
        let intake = intake.as_ref().ok_or("the service drains")?;
        let record = Record { reply: Asker::Change(reply), statement };
        intake.record(record).map_err(|_| "too many requests wait")?;
        Ok(answer)
    }
}
