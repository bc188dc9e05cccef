//! Checkpoints of the log, signed by this service, and cosignatures: witnesses hand them in, auditors fetch them.
//!
//! Storage is bounded without accounts: each line needs a signature of a configured witness over a head that this
//! service has sealed, and one line is kept for each witness and head.

use crate::log::Log;
use crate::log::log_store;
use crate::refused::Refused;
use trefoil_attest::LogEntry;
use trefoil_attest::witness::{Checkpoint, Cosigned};
use trefoil_storage::store::StoreError;

impl Log {
    /// Stores a checkpoint's cosignatures. Returns the size of its log and the witnesses whose lines are kept now. Lines of witnesses that are
    /// not in the configuration are ignored. A cosignature that is stored already is no error.
    pub fn cosign(&self, note: &str) -> Result<(u64, Vec<String>), Refused> {
        let (checkpoint, cosigned) =
            Checkpoint::verify(note, &self.witnesses, 1).map_err(Refused::Checkpoint)?;
        let size = checkpoint.size;
        let seal = self.node.store.seal(size)?.ok_or(Refused::LogShorter { size })?;
        let signed = Checkpoint::signed_by(LogEntry::decode(&seal).map_err(Refused::fault)?.header());
        if signed.as_ref() != Some(&checkpoint) {
            return Err(Refused::OtherLog);
        }
        let mut names = Vec::with_capacity(cosigned.len());
        for Cosigned { witness, line, .. } in cosigned {
            match self.node.store.put_cosignature(size, witness.clone(), line) {
                Ok(()) | Err(StoreError::Conflict) => names.push(witness),
                Err(cause) => return Err(cause.into()),
            }
        }
        Ok((size, names))
    }

    /// The head of the log of `size` seals, signed, with all its cosignatures; without `size`, the largest head that a witness has cosigned, or
    /// the newest head if this service has no witnesses or none has cosigned yet.
    pub fn checkpoint(&self, size: Option<u64>) -> Result<String, Refused> {
        let size = match size {
            None if !self.witnesses.is_empty() => self.node.store.last_cosigned()?,
            size => size,
        };
        let size = match size {
            Some(size) => size,
            None => self.node.store.last_seal()?.ok_or(Refused::NoHead)?.0,
        };
        log_store::checkpoint(self.node.store.as_ref(), size)
            .map_err(|cause| self.unlogged(cause))?
            .ok_or(Refused::NoHead)
    }
}
