//! The job log: the key-holder's requests and their clients, in an append-only chain of hashes.
//!
//! One JSON object a line. `prev` is the SHA3-256 of the line before, without its newline, across files, so a line that is
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
mod head;

pub use chain::{Head, check, read};
pub(crate) use chain::{exists, is_file};
pub(crate) use head::HEAD_FILE;
pub use head::SignedHead;

use crate::vault::VAULT_FILE;
use aws_lc_rs::hmac;
use chain::{append_to, check_file, continues, cut_torn_line, file_path, files};
use head::Signer;
use serde::{Deserialize, Serialize};
use sha3::{Digest as _, Sha3_256};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use thiserror::Error;
use trefoil_matching::{Handle, JobsHead, LANES, LaneSet, TemplateName, TenantId};
use trefoil_storage::data_dir::{DataDir, DataDirError, HighWater, write_private};
use trefoil_storage::database::Count;

/// Bytes after which the next file begins.
const FILE_BYTES: u64 = 64 << 20;
const KEY_FILE: &str = "job-log.key";
/// The mark with the number of lines and the digest of the last.
pub(crate) const MARK_FILE: &str = "jobs.mark";

/// A line of the log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Counts lines from 0.
    pub n: u64,
    /// Unix seconds, by the key-holder's clock.
    pub at: u64,
    /// The client.
    pub client: String,
    /// The kind of request.
    pub op: String,
    /// The tenant, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The batch, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    /// Numbers in the vectors of the batch or template, padded: 128, 256 or 512.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Lanes of the batch that have a subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<u32>,
    /// Keyed digest of lane, handle and generation of each subject, or of the one subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subjects: Option<String>,
    /// The outcome, without a decision.
    pub outcome: String,
    /// The leaves of the lanes that matched, ascending and joined, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<String>,
    /// Keyed digest of the batch id and the 32 bits answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Transactions of the vault that were on the disk.
    pub vault: u64,
    /// SHA3-256 of the line before; zeros at the beginning.
    pub prev: String,
}

impl Entry {
    /// An empty line at `at` unix seconds.
    pub(crate) fn begun(at: u64, client: &str) -> Entry {
        Entry { at, client: client.to_owned(), ..Entry::default() }
    }
}

/// Why a log is not usable.
#[derive(Debug, Error)]
pub enum JobLogError {
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The file system failed.
    #[error("{path}: {cause}")]
    Io {
        /// The file.
        path: String,
        /// Reason.
        cause: io::Error,
    },
    /// The chain is broken.
    #[error(
        "{path}, line {line}: {cause}; someone altered the log, or it is damaged: keep a copy, find out who, then restore the whole directory from one backup"
    )]
    Broken {
        /// The file.
        path: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        cause: String,
    },
    /// The signed head is not of these lines.
    #[error(
        "{path} has {found} lines of the job log, and its jobs.head signs {lines} lines that are not among them: the log was cut or replaced, or copied \
         before its jobs.head: copy that first"
    )]
    OtherHead {
        /// The directory.
        path: String,
        /// Lines found.
        found: u64,
        /// Lines signed.
        lines: u64,
    },
    /// Lines that were written are missing.
    #[error(
        "{path} has {found} lines of the job log and {reached} were written, as {by} says, or its last lines are of another log: restore the whole \
         directory from one backup, or, if there is none, make one of it and restore that, which every seal will show"
    )]
    Older {
        /// The directory.
        path: String,
        /// Lines found.
        found: u64,
        /// Lines written.
        reached: u64,
        /// The file that counts them.
        by: &'static str,
    },
}

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
        let files = files(directory.path())?;
        let (path, head) = match files.last() {
            Some(path) => {
                let before = match files.len() {
                    1 => Some(Head::default()),
                    _ => None,
                };
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
            None => (file_path(directory.path(), 0), Head::default()),
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

/// The leaves of the lanes that matched, for a line; `None` if none did.
pub(crate) fn matched(leaves: &[[u8; 32]; LANES], accepted: LaneSet) -> Option<String> {
    let mut leaves: Vec<[u8; 32]> = accepted.iter().map(|lane| leaves[lane.index()]).collect();
    // Their order would be that of the lanes, which are the same for a subject each time.
    leaves.sort_unstable();
    (!leaves.is_empty()).then(|| hex::encode(leaves.as_flattened()))
}

fn older(directory: &Path, head: Head, reached: u64, by: &'static str) -> JobLogError {
    JobLogError::Older { path: directory.display().to_string(), found: head.next, reached, by }
}

fn failed(path: &Path, cause: io::Error) -> JobLogError {
    JobLogError::Io { path: path.display().to_string(), cause }
}

#[cfg(test)]
mod tests;
