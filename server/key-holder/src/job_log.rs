//! The job log: the key-holder's requests and their clients, in an append-only chain of hashes.
//!
//! One JSON object a line. `prev` is the SHA3-256 of the line before, without its newline, across files, so a line that is
//! altered, removed or inserted breaks the chain from there on. The log must not become a second copy of the data that it guards:
//! it has no score, no decision and no handle in the clear. `subjects` and `answer` are HMAC-SHA256 under a key of
//! the key-holder, which can show later which people a batch held and which bits it answered. A thief of the log alone learns
//! only when which client sent how many lanes for which tenant.
//!
//! A line is written before its request is answered, so the log survives a kill of the process. It is not synced, so a
//! power cut may lose its last lines. If a line cannot be written, no more requests are answered.
//!
//! A file beside the log counts its lines ([`HighWater`]): a log that was cut, emptied, removed or replaced is refused.
//!
//! Each line has the number of the vault's transactions on the disk at that time, so that a vault with fewer is recognised as an older copy. The
//! vault has the number of lines that are on the disk, so that a log with fewer is, also with its mark.

#![expect(clippy::disallowed_types, reason = "the lines are a chain, so one is written after the other")]

use crate::vault::VAULT_FILE;
use aws_lc_rs::hmac;
use serde::{Deserialize, Serialize};
use sha3::{Digest as _, Sha3_256};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use thiserror::Error;
use trefoil_contents::parse_error;
use trefoil_matching::{Handle, LANES, LaneSet, TemplateName, TenantId};
use trefoil_storage::data_dir::{DataDir, DataDirError, HighWater, Reached, no_follow};
use trefoil_storage::database::Count;

/// Bytes after which the next file begins.
const FILE_BYTES: u64 = 64 << 20;
const KEY_FILE: &str = "job-log.key";
/// The mark with the number of lines and the digest of the last.
pub(crate) const MARK_FILE: &str = "jobs.mark";

/// A line of the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// Lanes of the batch that have a subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<u32>,
    /// Keyed digest of lane, handle and generation of each subject, or of the one subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subjects: Option<String>,
    /// The outcome, without a decision.
    pub outcome: String,
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
        Entry {
            n: 0,
            at,
            client: client.to_owned(),
            op: String::new(),
            tenant: None,
            batch: None,
            lanes: None,
            subjects: None,
            outcome: String::new(),
            answer: None,
            vault: 0,
            prev: String::new(),
        }
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

/// The end of the chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Lines so far.
    pub next: u64,
    /// Digest of the last.
    pub digest: [u8; 32],
    /// Transactions of the vault on the disk, by the last line.
    pub vault: u64,
}

impl Head {
    fn reached(&self) -> Reached {
        Reached { count: self.next, digest: self.digest }
    }
}

/// The open log.
pub(crate) struct JobLog {
    directory: PathBuf,
    key: hmac::Key,
    state: Mutex<State>,
    /// Lines that are on the disk.
    synced: Count,
}

struct State {
    file: File,
    bytes: u64,
    head: Head,
    mark: HighWater,
    /// A write failed in the middle and left half a line; nothing may follow it.
    broken: bool,
}

impl JobLog {
    /// Opens or begins the log of a data directory and checks its newest file.
    pub(crate) fn open(directory: &DataDir) -> Result<JobLog, JobLogError> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &*directory.secret::<32>(KEY_FILE)?);
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
                (path.clone(), check_file(path, before)?.unwrap_or(next))
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
        let state = Mutex::new(State { file, bytes, head, mark, broken: false });
        let log = JobLog { directory: directory.path().to_owned(), key, state, synced: Count::default() };
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

    /// Waits until the disk has every line so far.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let (file, lines) = {
            let state = self.state.lock().map_err(|_| io::Error::other("the job log is broken"))?;
            (state.file.try_clone()?, state.head.next)
        };
        if lines > self.synced.load(Ordering::Acquire) {
            file.sync_data()?;
            self.synced.store(lines, Ordering::Release);
        }
        Ok(())
    }

    /// The end of the chain.
    pub(crate) fn head(&self) -> Head {
        self.state.lock().expect("no thread panics while it holds this lock").head
    }

    /// Appends a line, and fills in `n` and `prev`.
    pub(crate) fn append(&self, mut entry: Entry) -> io::Result<()> {
        let mut state = self.state.lock().map_err(|_| io::Error::other("the job log is broken"))?;
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
        let mut context = hmac::Context::with_key(&self.key);
        context.update(b"trefoil/job-log-subject/1");
        context.update(tenant.as_bytes());
        context.update(handle.as_bytes());
        context.update(&generation.to_le_bytes());
        hex::encode(context.sign())
    }

    /// The keyed digest of the answer to a batch.
    pub(crate) fn answer(&self, batch: &str, accepted: LaneSet) -> String {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(b"trefoil/job-log-answer/1");
        context.update(batch.as_bytes());
        context.update(&accepted.bits().to_le_bytes());
        hex::encode(context.sign())
    }
}

/// Checks every file of the log in `directory`, from the oldest kept.
///
/// # Errors
/// [`JobLogError::Broken`] names the first line that does not follow the one before.
pub fn check(directory: &Path) -> Result<Head, JobLogError> {
    let mut head = None;
    for path in files(directory)? {
        let oldest = path == file_path(directory, 0);
        let before = if oldest { Some(Head::default()) } else { head };
        head = check_file(&path, before)?.or(head);
    }
    Ok(head.unwrap_or_default())
}

/// The end of the chain after a file, or `None` for an empty one. Without `before` its first line is trusted.
fn check_file(path: &Path, mut before: Option<Head>) -> Result<Option<Head>, JobLogError> {
    let text = std::fs::read(path).map_err(|cause| failed(path, cause))?;
    let mut after = None;
    for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let broken =
            |cause: String| JobLogError::Broken { path: path.display().to_string(), line: index + 1, cause };
        let line = line.strip_suffix(b"\n").ok_or_else(|| broken("it has no end".to_owned()))?;
        let entry: Entry = serde_json::from_slice(line).map_err(|cause| broken(parse_error(cause)))?;
        let follows = |head: Head| entry.n == head.next && entry.prev == hex::encode(head.digest);
        if !before.is_none_or(follows) {
            return Err(broken("it does not follow from the line before".to_owned()));
        }
        let head = Head { next: entry.n + 1, digest: Sha3_256::digest(line).into(), vault: entry.vault };
        (before, after) = (Some(head), Some(head));
    }
    Ok(after)
}

/// Whether the newest file has the last written line, or begins with the one after it.
fn continues(path: &Path, reached: Reached) -> Result<bool, JobLogError> {
    let Some(last) = reached.count.checked_sub(1) else { return Ok(true) };
    let text = match std::fs::read(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(false),
        read => read.map_err(|cause| failed(path, cause))?,
    };
    let entries = text.split(|byte| *byte == b'\n').filter_map(|line| {
        let entry: Entry = serde_json::from_slice(line).ok()?;
        Some((entry, line))
    });
    let found = entries.take_while(|(entry, _)| entry.n <= reached.count).any(|(entry, line)| {
        (entry.n == last && Sha3_256::digest(line)[..] == reached.digest)
            || (entry.n == reached.count && entry.prev == hex::encode(reached.digest))
    });
    Ok(found)
}

/// Removes the bytes after the last newline and returns their number.
fn cut_torn_line(path: &Path) -> io::Result<usize> {
    let text = std::fs::read(path)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole < text.len() {
        OpenOptions::new().write(true).open(path)?.set_len(whole as u64)?;
    }
    Ok(text.len() - whole)
}

/// The file whose first line is number `next`.
fn file_path(directory: &Path, next: u64) -> PathBuf {
    directory.join(format!("jobs-{next:016}.log"))
}

fn files(directory: &Path) -> Result<Vec<PathBuf>, JobLogError> {
    let entries = std::fs::read_dir(directory).map_err(|cause| failed(directory, cause))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_file))
        .collect();
    files.sort();
    Ok(files)
}

/// Whether a file of a data directory is one of the log's.
pub(crate) fn is_file(name: &str) -> bool {
    name.starts_with("jobs-") && name.ends_with(".log")
}

/// Whether a directory has a log.
pub(crate) fn exists(directory: &Path) -> Result<bool, JobLogError> {
    Ok(!files(directory)?.is_empty())
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(no_follow()).open(path)
}

fn older(directory: &Path, head: Head, reached: u64, by: &'static str) -> JobLogError {
    JobLogError::Older { path: directory.display().to_string(), found: head.next, reached, by }
}

fn failed(path: &Path, cause: io::Error) -> JobLogError {
    JobLogError::Io { path: path.display().to_string(), cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(op: &str) -> Entry {
        Entry {
            op: op.to_owned(),
            outcome: "done".to_owned(),
            vault: 7,
            ..Entry::begun(1_800_000_000, "gateway")
        }
    }

    #[test]
    fn the_chain_goes_on_after_a_restart_and_a_torn_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        for round in 0..3_u64 {
            let directory = DataDir::open(&path).unwrap();
            let log = JobLog::open(&directory).unwrap();
            assert_eq!(log.head().next, 2 * round);
            log.append(entry("decide")).unwrap();
            log.append(entry("enrol")).unwrap();
            assert_eq!(check(&path).unwrap(), log.head());
            assert_eq!(log.head().vault, 7);
            drop(log);
            append_to(&file_path(&path, 0)).unwrap().write_all(b"{\"n\":9,\"at\":").unwrap();
        }
    }

    #[test]
    fn a_log_goes_on_in_the_next_file() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDir::open(&folder.path().join("data")).unwrap();
        let log = JobLog::open(&directory).unwrap();
        log.append(entry("decide")).unwrap();
        log.state.lock().unwrap().bytes = FILE_BYTES;
        log.append(entry("decide")).unwrap();
        log.append(entry("decide")).unwrap();
        assert_eq!(files(directory.path()).unwrap().len(), 2);
        let head = log.head();
        assert_eq!(check(directory.path()).unwrap(), head);
        drop(log);
        assert_eq!(JobLog::open(&directory).unwrap().head(), head);
    }

    #[test]
    fn altered_removed_and_inserted_lines_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDir::open(&folder.path().join("data")).unwrap();
        let log = JobLog::open(&directory).unwrap();
        for op in ["create", "enrol", "decide", "decide"] {
            log.append(entry(op)).unwrap();
        }
        let path = file_path(directory.path(), 0);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let altered = text.replacen("enrol", "shred", 1);
        let removed = [lines[0], lines[2], lines[3], ""].join("\n");
        let inserted = [lines[0], lines[1], lines[1], lines[2], lines[3], ""].join("\n");
        // No line follows the last one, so only the mark protects it.
        let renumbered = text.replacen("\"n\":3", "\"n\":4", 1);
        let beheaded = [lines[1], lines[2], lines[3], ""].join("\n");
        for forged in [altered, removed, inserted, renumbered, beheaded] {
            std::fs::write(&path, forged).unwrap();
            assert!(matches!(check(directory.path()), Err(JobLogError::Broken { line: 1..=4, .. })));
            assert!(matches!(JobLog::open(&directory), Err(JobLogError::Broken { .. })));
        }
        std::fs::write(&path, text).unwrap();
        assert_eq!(check(directory.path()).unwrap(), log.head());
    }

    #[test]
    fn nothing_follows_half_a_line_that_cannot_be_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDir::open(&folder.path().join("data")).unwrap();
        let log = JobLog::open(&directory).unwrap();
        log.append(entry("decide")).unwrap();
        // A file that can be neither written nor cut.
        let read_only = File::open(file_path(directory.path(), 0)).unwrap();
        let writable = std::mem::replace(&mut log.state.lock().unwrap().file, read_only);
        log.append(entry("decide")).unwrap_err();
        log.state.lock().unwrap().file = writable;
        log.append(entry("decide")).unwrap_err();
        drop(log);
        assert_eq!(JobLog::open(&directory).unwrap().head().next, 1, "a restart looks at what is there");
    }

    /// A batch and its answer, shown later, can be matched to their line.
    #[test]
    fn digests_depend_on_everything_that_they_are_of_and_on_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let open = |name: &str| JobLog::open(&DataDir::open(&folder.path().join(name)).unwrap()).unwrap();
        let (log, other) = (open("data"), open("other"));
        let batch = |lane: usize, handle: u8, generation: u32| {
            std::array::from_fn(|at| (at == lane).then_some((Handle::new([handle; 32]), generation)))
        };
        let name = |tenant: u8, handle: u8, generation: u32| TemplateName {
            tenant: TenantId::new([tenant; 16]),
            handle: Handle::new([handle; 32]),
            generation,
        };
        let digests = [
            log.subjects(&TenantId::new([1; 16]), &batch(1, 2, 3)),
            log.subjects(&TenantId::new([2; 16]), &batch(1, 2, 3)),
            log.subjects(&TenantId::new([1; 16]), &batch(2, 2, 3)),
            log.subjects(&TenantId::new([1; 16]), &batch(1, 3, 3)),
            log.subjects(&TenantId::new([1; 16]), &batch(1, 2, 4)),
            other.subjects(&TenantId::new([1; 16]), &batch(1, 2, 3)),
            log.subject(&name(1, 2, 3)),
            log.subject(&name(2, 2, 3)),
            log.subject(&name(1, 3, 3)),
            log.subject(&name(1, 2, 4)),
            other.subject(&name(1, 2, 3)),
            log.answer("01", LaneSet::from_bits(1)),
            log.answer("02", LaneSet::from_bits(1)),
            log.answer("01", LaneSet::from_bits(1 << 31)),
            other.answer("01", LaneSet::from_bits(1)),
        ];
        for (i, one) in digests.iter().enumerate() {
            assert!(digests[..i].iter().all(|other| other != one), "{i}");
        }
        assert_eq!(log.answer("01", LaneSet::from_bits(1)), digests[11], "and on nothing else");
    }
}
