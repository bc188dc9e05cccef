//! Cosignatures of the log: witnesses hand them in, anybody who audits fetches them.
//!
//! What is stored is bounded without any account: a line costs a signature of a configured witness over a head that this
//! service has sealed, and of each witness one is kept for each head.

use crate::log_store;
use crate::refused::Refused;
use crate::service::Service;
use trefoil_attest::LogEntry;
use trefoil_attest::witness::{Checkpoint, Cosigned};
use trefoil_storage::store::StoreError;

impl Service {
    /// Takes a checkpoint's cosignatures; the size of its log, and the witnesses whose lines are kept now. Lines of other witnesses than
    /// those of the configuration are passed over. A cosignature that is there already is no error.
    pub fn cosign(&self, note: &str) -> Result<(u64, Vec<String>), Refused> {
        let (checkpoint, cosigned) =
            Checkpoint::verify(note, &self.witnesses, 1).map_err(Refused::Checkpoint)?;
        let size = checkpoint.size;
        let seal = self.store.seal(size)?.ok_or(Refused::LogShorter { size })?;
        let signed = Checkpoint::signed_by(LogEntry::decode(&seal).map_err(Refused::fault)?.header());
        if signed.as_ref() != Some(&checkpoint) {
            return Err(Refused::OtherLog);
        }
        let mut names = Vec::with_capacity(cosigned.len());
        for Cosigned { witness, line, .. } in cosigned {
            match self.store.put_cosignature(size, witness.clone(), line) {
                Ok(()) | Err(StoreError::Conflict) => names.push(witness),
                Err(cause) => return Err(cause.into()),
            }
        }
        Ok((size, names))
    }

    /// The head of the log of `size` seals with all cosignatures of it; of the largest that a witness has cosigned without a size.
    pub fn cosigned(&self, size: Option<u64>) -> Result<String, Refused> {
        let size = match size {
            Some(size) => size,
            None => self.store.last_cosigned()?.ok_or(Refused::Uncosigned)?,
        };
        log_store::checkpoint(self.store.as_ref(), size)
            .map_err(|cause| self.unlogged(cause))?
            .ok_or(Refused::Uncosigned)
    }
}
