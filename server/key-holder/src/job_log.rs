//! The job log: the key-holder's requests and their clients, in an append-only chain of hashes.
//!
//! One JSON object a line. `prev` is the SHA3-256 of the line before, without its newline, across files, and that of the signing key in the first. So a line that is
//! altered, removed or inserted breaks the chain from there on. The log must not become a second copy of the data that it guards:
//! it has no score and no handle in the clear. `subjects` and `answer` are HMAC-SHA256 under a key of
//! the key-holder, which can show later which people a batch held and which bits it answered. A thief of the log alone learns
//! when which client sent how many lanes for which tenant, and how many of them matched.
//!
//! `matched` has the leaf of each lane that matched ([`trefoil_matching::MatchJob::leaves`]), sorted. So one who has an attestation finds out
//! whether a key-holder decided it: `trefoil log audit` does. The gateway makes the leaf, and nobody else can say of which lane it is.
//!
//! Every second in which the log grew its head is signed, in a file beside it ([`SignedHead`]), once the disk has its lines. The gateway puts the
//! newest that it saw into each seal.
//!
//! A line is written before its request is answered, so the log survives a kill of the process. It is not synced, so a
//! power cut may lose its last lines. If a line cannot be written, no more requests are answered.
//!
//! A file beside the log counts its lines ([`HighWater`]): a log that was cut, emptied, removed or replaced is refused.
//!
//! Each line has the number of the vault's transactions on the disk at that time, so that a vault with fewer is recognised as an older copy. The
//! vault has the number of lines that are on the disk, so that a log with fewer is, also with its mark.

#![expect(clippy::disallowed_types, reason = "the lines are a chain, so one is written after the other")]

mod chain;
mod entry;
mod error;
mod head;

pub use chain::Head;
pub(crate) use chain::{exists, is_file};
pub use entry::Entry;
pub(crate) use entry::matched;
pub use error::JobLogError;
pub(crate) use head::HEAD_FILE;
pub use head::SignedHead;
pub use head::read;

use crate::vault::VAULT_FILE;
use aws_lc_rs::hmac;
use chain::{append_to, check_file, continues, cut_torn_line, file_path, files};
use error::failed;
use head::Signer;
use sha3::{Digest as _, Sha3_256};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use trefoil_matching::{Handle, JobsHead, LANES, LaneSet, TemplateName, TenantId};
use trefoil_storage::data_dir::{DataDir, HighWater, write_private};
use trefoil_storage::database::Count;

/// Bytes after which the next file begins.
const FILE_BYTES: u64 = 64 << 20;
const KEY_FILE: &str = "job-log.key";
/// The mark with the number of lines and the digest of the last.
pub(crate) const MARK_FILE: &str = "jobs.mark";

/// The open log.
pub(crate) struct JobLog {
    directory: PathBuf,
    key: hmac::Key,
    signer: Signer,
    state: Mutex<State>,
    /// Lines that are on the disk.
    synced: Count,
}

struct State {
    file: File,
    bytes: u64,
    head: Head,
    mark: HighWater,
    /// The head that was signed last.
    signed: Option<JobsHead>,
    /// A write failed in the middle and left half a line; nothing may follow it.
    broken: bool,
}

impl JobLog {
    /// Opens or begins the log of a data directory and checks its newest file.
    pub(crate) fn open(directory: &DataDir) -> Result<JobLog, JobLogError> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &*directory.secret::<32>(KEY_FILE)?);
        let signer = Signer::open(directory)?;
        let (files, first) = (files(directory.path())?, signer.first());
        let (path, head) = match files.last() {
            Some(path) => {
                let before = (*path == file_path(directory.path(), 0)).then_some(first);
                let cut = cut_torn_line(path).map_err(|cause| failed(path, cause))?;
                if cut > 0 {
                    tracing::warn!(
                        bytes = cut,
                        "the job log ended in the middle of a line, which was removed"
                    );
                }
                let next = before.unwrap_or_default();
                (path.clone(), check_file(path, before, &mut |_, _| ())?.unwrap_or(next))
            }
            None => (file_path(directory.path(), 0), first),
        };
        let mut mark = directory.high_water(MARK_FILE)?;
        let reached = mark.reached();
        if head.next < reached.count || !continues(&path, reached)? {
            return Err(older(directory.path(), head, reached.count, MARK_FILE));
        }
        let file = append_to(&path).map_err(|cause| failed(&path, cause))?;
        mark.reach(head.reached()).map_err(|cause| failed(&directory.join(MARK_FILE), cause))?;
        let bytes = file.metadata().map_err(|cause| failed(&path, cause))?.len();
        let state = Mutex::new(State { file, bytes, head, mark, signed: None, broken: false });
        let directory = directory.path().to_owned();
        let log = JobLog { directory, key, signer, state, synced: Count::default() };
        log.sync().map_err(|cause| failed(&path, cause))?;
        Ok(log)
    }

    /// Refuses a log with fewer lines than the vault has seen.
    pub(crate) fn refuse_older(&self, seen: u64) -> Result<(), JobLogError> {
        let head = self.head();
        if head.next < seen { Err(older(&self.directory, head, seen, VAULT_FILE)) } else { Ok(()) }
    }

    /// Lines that are on the disk, for the vault.
    pub(crate) fn count(&self) -> Count {
        Arc::clone(&self.synced)
    }

    /// Waits until the disk has every line so far; the end of the chain then.
    pub(crate) fn sync(&self) -> io::Result<Head> {
        let (file, head) = {
            let state = self.state()?;
            (state.file.try_clone()?, state.head)
        };
        if head.next > self.synced.load(Ordering::Acquire) {
            file.sync_data()?;
            self.synced.store(head.next, Ordering::Release);
        }
        Ok(head)
    }

    /// Signs the end of the chain at `at`, in unix seconds, unless it was signed. `restored` counts the older copies of the vault.
    pub(crate) fn sign(&self, restored: u64, at: u64) -> io::Result<()> {
        let head = self.sync()?;
        let now = (head.next, head.digest);
        if self.signed() == Some(now) {
            return Ok(());
        }
        let mut line = serde_json::to_vec(&self.signer.sign(head, restored, at)?)?;
        line.push(b'\n');
        write_private(&self.directory, HEAD_FILE, &line).map_err(io::Error::other)?;
        self.state()?.signed = Some(now);
        Ok(())
    }

    /// The head that was signed last.
    pub(crate) fn signed(&self) -> Option<JobsHead> {
        self.state().ok()?.signed
    }

    fn state(&self) -> io::Result<MutexGuard<'_, State>> {
        self.state.lock().map_err(|_| io::Error::other("the job log is broken"))
    }

    /// The end of the chain.
    pub(crate) fn head(&self) -> Head {
        self.state.lock().expect("no thread panics while it holds this lock").head
    }

    /// Appends a line, and fills in `n` and `prev`.
    pub(crate) fn append(&self, mut entry: Entry) -> io::Result<()> {
        let mut state = self.state()?;
        if state.broken {
            let why = "half a line of the job log could not be taken back: make it writable, then restart";
            return Err(io::Error::other(why));
        }
        if state.bytes >= FILE_BYTES {
            state.file.sync_data()?;
            state.file = append_to(&file_path(&self.directory, state.head.next))?;
            state.bytes = 0;
        }
        (entry.n, entry.prev) = (state.head.next, hex::encode(state.head.digest));
        let mut line = serde_json::to_vec(&entry)?;
        let digest = Sha3_256::digest(&line).into();
        line.push(b'\n');
        if let Err(cause) = state.file.write_all(&line) {
            // A full disk may have taken half of the line. Once there is room, the next line follows the last whole one.
            state.broken = state.file.set_len(state.bytes).is_err();
            return Err(cause);
        }
        state.bytes += line.len() as u64;
        state.head = Head { next: entry.n + 1, digest, vault: entry.vault };
        let reached = state.head.reached();
        if let Err(cause) = state.mark.reach(reached) {
            tracing::warn!(%cause, "the count of the job log's lines was not noted");
        }
        Ok(())
    }

    /// The keyed digest of a batch's subjects.
    pub(crate) fn subjects(&self, tenant: &TenantId, subjects: &[Option<(Handle, u32)>; LANES]) -> String {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(b"trefoil/job-log-subjects/1");
        context.update(tenant.as_bytes());
        for (lane, subject) in (0u8..).zip(subjects) {
            if let Some((handle, generation)) = subject {
                context.update(&[lane]);
                context.update(handle.as_bytes());
                context.update(&generation.to_le_bytes());
            }
        }
        hex::encode(context.sign())
    }

    /// The keyed digest of one subject outside of a batch.
    pub(crate) fn subject(&self, name: &TemplateName) -> String {
        let TemplateName { tenant, handle, generation } = name;
        let generation = generation.to_le_bytes();
        self.digest(&[b"trefoil/job-log-subject/1", tenant.as_bytes(), handle.as_bytes(), &generation])
    }

    /// The keyed digest of the answer to a batch.
    pub(crate) fn answer(&self, batch: &str, accepted: LaneSet) -> String {
        self.digest(&[b"trefoil/job-log-answer/1", batch.as_bytes(), &accepted.bits().to_le_bytes()])
    }

    fn digest(&self, parts: &[&[u8]]) -> String {
        let mut context = hmac::Context::with_key(&self.key);
        parts.iter().for_each(|part| context.update(part));
        hex::encode(context.sign())
    }
}

fn older(directory: &Path, head: Head, reached: u64, by: &'static str) -> JobLogError {
    JobLogError::Older { path: directory.display().to_string(), found: head.next, reached, by }
}

#[cfg(test)]
mod tests;
