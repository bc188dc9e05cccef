//! An append-only file of changes that loses no acknowledged change and detects damage.
//!
//! A frame is u32 length, payload, and a check over the frame before and the payload, so that frames cannot be moved,
//! dropped or exchanged unnoticed. A second small file, replaced whole, has the acknowledged length and
//! its check. Bytes beyond that length belong to a change that a crash cut off, and are removed. A fault
//! before it is damage and an error.

use sha3::{Digest as _, Sha3_256};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use thiserror::Error;
use trefoil_storage::data_dir::{DataDir, DataDirError};
use zeroize::Zeroizing;

const JOURNAL_FILE: &str = "journal";
const COMMIT_FILE: &str = "journal.commit";
const CHECK_BYTES: usize = 32;
const COMMIT_BYTES: usize = 8 + CHECK_BYTES;
/// Largest payload: one change of 2^20 members of at most 128 bytes.
const PAYLOAD_BYTES_MAX: u64 = 1 << 28;

/// See the module.
pub(super) struct Journal {
    file: File,
    length: u64,
    check: [u8; CHECK_BYTES],
}

/// Why a journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DataDirError),
    /// An operation failed.
    #[error("journal: {0}")]
    Io(#[from] io::Error),
    /// Acknowledged bytes are missing or altered.
    #[error("the journal is damaged at byte {at}: {what}; restore the whole directory from a backup")]
    Damaged {
        /// Offset of the first frame that is wrong.
        at: u64,
        /// The fault.
        what: &'static str,
    },
    /// Too large a change.
    #[error("one change of {0} bytes is too large; split it")]
    Payload(u64),
}

impl Journal {
    /// Opens or creates the journal of a directory; `replay` gets each payload in order.
    pub(super) fn open<E: From<JournalError>>(
        directory: &DataDir,
        mut replay: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Journal, E> {
        let damaged = |at, what| JournalError::Damaged { at, what };
        let written = std::fs::metadata(directory.join(JOURNAL_FILE)).is_ok_and(|journal| journal.len() > 0);
        if written && !directory.join(COMMIT_FILE).exists() {
            return Err(damaged(0, "journal.commit is missing").into());
        }
        let empty = || Zeroizing::new([0_u64.to_le_bytes().as_slice(), &first_check()].concat());
        let commit = directory.file(COMMIT_FILE, empty).map_err(JournalError::from)?;
        let commit: &[u8; COMMIT_BYTES] =
            commit.as_slice().try_into().map_err(|_| damaged(0, "journal.commit has the wrong length"))?;
        let (length, expected) = commit.split_at(8);
        let length = u64::from_le_bytes(length.try_into().expect("eight bytes"));
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(directory.join(JOURNAL_FILE))
            .map_err(JournalError::from)?;
        if file.metadata().map_err(JournalError::from)?.len() < length {
            return Err(damaged(length, "it is shorter than what was acknowledged").into());
        }
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| damaged(0, "its length is impossible"))?];
        file.read_exact(&mut bytes).map_err(JournalError::from)?;
        let (mut at, mut check) = (0, first_check());
        while at < bytes.len() {
            let (payload, next) = frame(&bytes[at..], &check).map_err(|what| damaged(at as u64, what))?;
            replay(payload)?;
            at += 4 + payload.len() + CHECK_BYTES;
            check = next;
        }
        if check[..] != *expected {
            return Err(damaged(length, "journal.commit names another end").into());
        }
        // Bytes that a crash left behind.
        file.set_len(length).map_err(JournalError::from)?;
        Ok(Journal { file, length, check })
    }

    /// Appends a payload; on return it is durable.
    pub(super) fn append(&mut self, directory: &DataDir, payload: &[u8]) -> Result<(), JournalError> {
        let length = payload.len() as u64;
        if length > PAYLOAD_BYTES_MAX {
            return Err(JournalError::Payload(length));
        }
        let check = next_check(&self.check, payload);
        self.file.seek(SeekFrom::Start(self.length))?;
        self.file.write_all(&(payload.len() as u32).to_le_bytes())?;
        self.file.write_all(payload)?;
        self.file.write_all(&check)?;
        self.file.sync_all()?;
        let end = self.length + 4 + length + CHECK_BYTES as u64;
        directory.write(COMMIT_FILE, &[end.to_le_bytes().as_slice(), &check].concat())?;
        (self.length, self.check) = (end, check);
        Ok(())
    }
}

fn frame<'a>(
    bytes: &'a [u8],
    check: &[u8; CHECK_BYTES],
) -> Result<(&'a [u8], [u8; CHECK_BYTES]), &'static str> {
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or("a frame is cut off")?;
    let (payload, rest) =
        rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or("a frame is cut off")?;
    let stored = rest.first_chunk::<CHECK_BYTES>().ok_or("a frame is cut off")?;
    let next = next_check(check, payload);
    if next == *stored { Ok((payload, next)) } else { Err("a frame's check does not hold") }
}

fn first_check() -> [u8; CHECK_BYTES] {
    Sha3_256::digest(b"trefoil/issuer-journal/1").into()
}

fn next_check(check: &[u8; CHECK_BYTES], payload: &[u8]) -> [u8; CHECK_BYTES] {
    Sha3_256::new().chain_update(check).chain_update(payload).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn read(path: &Path) -> Result<Vec<Vec<u8>>, JournalError> {
        let directory = DataDir::open(path)?;
        let mut payloads = Vec::new();
        Journal::open(&directory, |payload| {
            payloads.push(payload.to_vec());
            Ok::<_, JournalError>(())
        })?;
        Ok(payloads)
    }

    fn filled(path: &Path) {
        let directory = DataDir::open(path).unwrap();
        let mut journal = Journal::open(&directory, |_| Ok::<_, JournalError>(())).unwrap();
        for payload in [b"one".as_slice(), b"", b"three"] {
            journal.append(&directory, payload).unwrap();
        }
    }

    #[test]
    fn a_change_that_was_cut_off_is_gone_and_the_next_takes_its_place() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("issuer");
        filled(&path);
        let whole = std::fs::read(path.join(JOURNAL_FILE)).unwrap();
        for torn in [&[9, 0][..], &[5, 0, 0, 0, b'f', b'o'], &[0xff; 300]] {
            std::fs::write(path.join(JOURNAL_FILE), [whole.as_slice(), torn].concat()).unwrap();
            assert_eq!(read(&path).unwrap().len(), 3);
            assert_eq!(std::fs::read(path.join(JOURNAL_FILE)).unwrap(), whole);
        }
        filled(&path);
        assert_eq!(read(&path).unwrap().len(), 6);
    }

    /// Claim I18: An issuer loses no change and detects damage.
    #[test]
    fn every_altered_byte_and_every_cut_is_damage() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("issuer");
        filled(&path);
        for name in [JOURNAL_FILE, COMMIT_FILE] {
            let file = path.join(name);
            let whole = std::fs::read(&file).unwrap();
            for at in 0..whole.len() {
                let mut altered = whole.clone();
                altered[at] ^= 0x40;
                for bytes in [&altered, &whole[..at]] {
                    std::fs::write(&file, bytes).unwrap();
                    assert!(matches!(read(&path), Err(JournalError::Damaged { .. })), "{name} byte {at}");
                }
            }
            std::fs::write(&file, whole).unwrap();
        }
        assert_eq!(read(&path).unwrap().len(), 3);
        std::fs::remove_file(path.join(COMMIT_FILE)).unwrap();
        assert!(matches!(read(&path), Err(JournalError::Damaged { at: 0, .. })));
    }
}
