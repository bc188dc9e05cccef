//! The log of seals: how it is extended, kept, checked and pruned.

pub mod asker;
pub mod audit;
pub(crate) mod cosignatures;
pub mod log_audit;
pub mod log_store;
pub(crate) mod receipts;
pub mod retention;
pub mod seal_log;
pub mod tiles;

use crate::idempotency::InFlight;
use crate::node::Node;
use crate::refused::Refused;
use crate::tenants::notes::Notes;
use arc_swap::ArcSwapOption;
use asker::Asker;
use log_store::LogError;
use retention::Retained;
use seal_log::Standing;
use std::sync::Arc;
use trefoil_attest::witness::Witness;
use trefoil_pipeline::Intake;

/// What operators read while a seal waits.
const SEAL_WAITS: &str = "a seal waits for the store, which does not take it: see the log, make room";

/// What is sealed, and what is read of the log.
pub struct Log {
    node: Arc<Node>,
    /// Writes notes of changes.
    notes: Notes,
    /// Empty once the service drains, so that the pipeline can end.
    pub intake: ArcSwapOption<Intake<Asker>>,
    /// Whether a seal waits for the store.
    pub standing: Arc<Standing>,
    /// Counts of pruned seals.
    pub retained: Retained,
    /// Witnesses whose cosignatures of the log are accepted.
    witnesses: Vec<Witness>,
    /// Idempotency keys of operators' requests that are running.
    creating: InFlight,
}

impl Log {
    /// The log that the pipeline behind this intake extends.
    pub fn new(
        node: Arc<Node>,
        notes: Notes,
        intake: Intake<Asker>,
        standing: Arc<Standing>,
        witnesses: Vec<Witness>,
    ) -> Log {
        let (retained, creating) = (Retained::default(), InFlight::default());
        Log {
            node,
            notes,
            intake: ArcSwapOption::from_pointee(intake),
            standing,
            retained,
            witnesses,
            creating,
        }
    }

    /// Why the store takes nothing now, or `None`.
    pub(crate) fn store_away(&self) -> Option<String> {
        self.node.store.unready().or_else(|| self.standing.away())
    }

    /// Why no request that fills the disk is accepted, or `None`.
    pub(crate) fn no_room(&self) -> Option<String> {
        let waits = || self.standing.waits().then(|| SEAL_WAITS.to_owned());
        self.node.disk.low().or_else(waits)
    }

    /// Refuses requests that fill the disk while there is little room, while a seal waits for the store, or while the store is
    /// away. Erasures and revocations are not refused here.
    pub fn check_room(&self) -> Result<(), Refused> {
        if let Some(why) = self.store_away() {
            tracing::debug!(why, "refused while the store is away");
            return Err(Refused::StoreAway);
        }
        match self.no_room() {
            None => Ok(()),
            Some(why) => {
                tracing::debug!(why, "refused for want of room");
                Err(Refused::NoRoom)
            }
        }
    }

    /// Why a seal or proof of the log is not served.
    pub fn unlogged(&self, cause: LogError) -> Refused {
        match cause {
            LogError::Store(cause) => cause.into(),
            cause => self.node.damaged(cause),
        }
    }
}
