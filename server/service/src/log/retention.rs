//! Pruning of old seals: their headers stay, and the signatures of checkpoints.
//!
//! A seal is 21.7 KB, nearly all of it signatures. The next seals vouch for its header as well, because each signs the log of all before
//! it. So the signatures of a seal that is older than the retention are dropped, except those of checkpoints: the last seal of each period,
//! the last of each key set, since other keys do not vouch for it ([`trefoil_attest::verify_pruned_seal`]), and the newest. With the headers
//! and the nodes of the log's tree, every proof and every audit stays possible.
//!
//! Seals are pruned from the oldest on, in steps that hold the store's writer for some milliseconds. So a restart finds its place from the
//! newest pruned one, and no other state is kept. If seals are archived, a whole file of them is on the disk before the first
//! of them is pruned.

#![expect(clippy::disallowed_methods, reason = "one thread prunes, off the path of a login")]

mod archive;

use crate::log::log_audit::{self, Head, Notice};
use crate::log::log_store;
use archive::Archive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use thiserror::Error;
use trefoil_attest::{LogEntry, PrunedSeal, SealHeader, TrustRoot};
use trefoil_storage::disk::Disk;
use trefoil_storage::store::{SealReader, Store, StoreError};

/// How often to look for old seals.
pub const INTERVAL: Duration = Duration::from_secs(1);
/// The same after a failure.
pub const FAILED_INTERVAL: Duration = Duration::from_secs(30);
/// Seals of one transaction: some 500 KB of the write-ahead log.
const STEP: u64 = 16;
/// Free space that stays in the store's file: the next seals need it.
const FREE_BYTES_KEPT: u64 = 16 << 20;
/// Seals of an archive's file, about 22 MB.
const FILE_SEALS: u64 = 1024;

/// Why old seals are not pruned.
#[derive(Debug, Error)]
pub enum RetentionError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A seal is missing or malformed.
    #[error("seal {0} cannot be read; restore the database from a backup")]
    Seal(u64),
    /// The archive failed.
    #[error("the archive {path}: {cause}; old seals stay in the store until it is put right")]
    Archive {
        /// The file.
        path: String,
        /// Reason.
        cause: String,
    },
}

/// How many seals were pruned since the start.
#[derive(Debug, Default)]
pub struct Retained {
    pruned: AtomicU64,
    archived: AtomicU64,
}

impl Retained {
    /// Pruned, archived.
    pub fn counts(&self) -> [u64; 2] {
        [&self.pruned, &self.archived].map(|count| count.load(Ordering::Relaxed))
    }
}

/// The rules for old seals.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// For how long seals keep their signatures, seconds.
    pub full_s: u64,
    /// The last seal of each period of this length keeps them, seconds.
    pub checkpoint_s: u64,
    /// Where they are written before their signatures are dropped.
    pub archive: Option<PathBuf>,
}

/// Prunes old seals.
pub struct Pruner {
    full_s: u64,
    checkpoint_s: u64,
    archive: Option<Archive>,
    /// Seals that are pruned together.
    group: u64,
    /// The first that was not examined.
    next: u64,
    /// Those below may be pruned now.
    end: u64,
}

impl Pruner {
    /// Finds its place in the store.
    ///
    /// # Errors
    /// Those of the store.
    pub fn new(keeping: Keeping, store: &dyn Store) -> Result<Pruner, StoreError> {
        let Keeping { full_s, checkpoint_s, archive } = keeping;
        let group = if archive.is_some() { FILE_SEALS } else { STEP };
        let next = store.last_pruned()?.map_or(0, |last| last + 1);
        Ok(Pruner { full_s, checkpoint_s, archive: archive.map(Archive::new), group, next, end: next })
    }

    /// One step of pruning, or of releasing space once nothing is to be pruned. Returns whether there is more to do.
    ///
    /// # Errors
    /// See [`Pruner::step`].
    pub fn tend(
        &mut self,
        store: &dyn Store,
        disk: &Disk,
        now: u64,
        retained: &Retained,
    ) -> Result<bool, RetentionError> {
        // A full disk must not prevent pruning, which frees space.
        let failed =
            |cause: &RetentionError| matches!(cause, RetentionError::Store(cause) if cause.is_fault());
        if disk.with_reserve(|| self.step(store, now, retained), failed)? {
            return Ok(true);
        }
        let kept = if disk.low().is_some() { 0 } else { FREE_BYTES_KEPT };
        Ok(store.shrink(kept)?)
    }

    /// One step. Returns whether there is more to do at `now`.
    ///
    /// # Errors
    /// See [`RetentionError`]; then nothing was pruned.
    pub fn step(&mut self, store: &dyn Store, now: u64, retained: &Retained) -> Result<bool, RetentionError> {
        if self.next == self.end && !self.begin(store, now, retained)? {
            return Ok(false);
        }
        let end = self.end.min(self.next + STEP);
        let entries: Vec<LogEntry> =
            (self.next..=end).map(|number| entry(store, number)).collect::<Result<_, _>>()?;
        let mut headers = Vec::new();
        for pair in entries.windows(2) {
            if let LogEntry::Signed(seal) = &pair[0]
                && !self.is_checkpoint(&seal.header, pair[1].header())
            {
                headers.push((seal.header.seal_number, seal.header.encode()));
            }
        }
        let count = headers.len() as u64;
        store.prune_seals(headers)?;
        retained.pruned.fetch_add(count, Ordering::Relaxed);
        self.next = end;
        Ok(true)
    }

    /// Whether the next seals are old enough, and in the archive.
    fn begin(&mut self, store: &dyn Store, now: u64, retained: &Retained) -> Result<bool, RetentionError> {
        let end = (self.next / self.group + 1) * self.group;
        // One more, because the newest seal stays.
        if store.seal(end)?.is_none() {
            return Ok(false);
        }
        let last = entry(store, end - 1)?;
        if last.header().time.saturating_add(self.full_s) > now {
            return Ok(false);
        }
        if let Some(archive) = &self.archive {
            let seals =
                (self.next..end).map(|number| signed(store, number)).collect::<Result<Vec<_>, _>>()?;
            if archive.keep(self.next / self.group * self.group, self.next, end - 1, &seals.concat())? {
                retained.archived.fetch_add(end - self.next, Ordering::Relaxed);
            }
        }
        self.end = end;
        Ok(true)
    }

    /// Whether a seal is the last of its period or of its keys, by the one after it.
    fn is_checkpoint(&self, seal: &SealHeader, next: &SealHeader) -> bool {
        seal.time / self.checkpoint_s != next.time / self.checkpoint_s || seal.key_set_id != next.key_set_id
    }
}

/// The result of an audit of a store's whole log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audited {
    /// Seals in the log.
    pub seals: u64,
    /// How many of them have pruned signatures.
    pub pruned: u64,
}

/// Audits the log in a store's file from the first seal, as `trefoil log audit` does.
///
/// # Errors
/// The fault in the log.
pub fn audit(file: &Path, trust_root: &TrustRoot) -> Result<Audited, String> {
    let reader = SealReader::open(file).map_err(|cause| cause.to_string())?;
    let audited = log_audit::audit(&reader, trust_root, &Head::default(), None);
    let log_audit::Audited { head, notices, .. } = audited.map_err(|cause| cause.to_string())?;
    let pruned = notices.iter().find_map(|notice| match notice {
        Notice::Pruned { pruned, .. } => Some(*pruned),
        _ => None,
    });
    Ok(Audited { seals: head.log.size(), pruned: pruned.unwrap_or(0) })
}

/// A seal's header with its path to a later seal of the same keys, as `GET /v1/seals/{number}/pruned` answers it.
///
/// # Errors
/// The fault in the log.
pub fn pruned_seal(store: &dyn Store, number: u64) -> Result<Option<PrunedSeal>, String> {
    log_store::pruned(store, number).map_err(|cause| cause.to_string())
}

fn entry(store: &dyn Store, number: u64) -> Result<LogEntry, RetentionError> {
    let bytes = store.seal(number)?.ok_or(RetentionError::Seal(number))?;
    LogEntry::decode(&bytes).map_err(|_| RetentionError::Seal(number))
}

/// The bytes of a seal with its signatures.
fn signed(store: &dyn Store, number: u64) -> Result<Vec<u8>, RetentionError> {
    let bytes = store.seal(number)?.ok_or(RetentionError::Seal(number))?;
    match LogEntry::decode(&bytes) {
        Ok(LogEntry::Signed(_)) => Ok(bytes),
        _ => Err(RetentionError::Seal(number)),
    }
}

#[cfg(test)]
mod tests;
