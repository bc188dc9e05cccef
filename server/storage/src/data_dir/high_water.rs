//! A mark: how many records were acknowledged, in a small file of its own. Data with fewer is an older copy, or lost its end. A mark is of one file of
//! one installation, and any other is refused.
//!
//! The file is written in place and not synced, after the records that it counts are durable. So it survives a kill of the process.
//! After a power cut its count may be too low, but never too high.

use super::error::{DataDirError, failed};
use super::private_file::{no_follow, read_private};
use super::record::{Record, fingerprint};
use sha3::{Digest as _, Sha3_256};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

const BYTES: usize = 8 + 32 + 32;

/// The acknowledged count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Number of records.
    pub count: u64,
    /// The digest of the last one, if it has one.
    pub digest: [u8; 32],
}

/// See the module.
#[derive(Debug)]
pub struct HighWater {
    file: File,
    owner: String,
    reached: Reached,
}

impl Reached {
    fn to_bytes(self, owner: &str) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&self.count.to_le_bytes());
        bytes[8..40].copy_from_slice(&self.digest);
        let check = check(owner, &bytes[..40]);
        bytes[40..].copy_from_slice(&check);
        bytes
    }

    fn from_bytes(owner: &str, bytes: &[u8]) -> Option<Reached> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let (count, rest) = bytes.split_first_chunk()?;
        let digest = rest.first_chunk()?;
        (check(owner, &bytes[..40]) == bytes[40..])
            .then_some(Reached { count: u64::from_le_bytes(*count), digest: *digest })
    }
}

fn check(owner: &str, bytes: &[u8]) -> [u8; 32] {
    let domain = Sha3_256::new().chain_update(b"trefoil/high-water/2");
    domain.chain_update(owner).chain_update(bytes).finalize().into()
}

/// The installation and the name of a mark, as 64 hexadecimal digits.
fn owner(path: &Path) -> Result<String, DataDirError> {
    let record = Record::read(path.parent().unwrap_or(Path::new("")))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(fingerprint(&name, record.id().as_bytes()))
}

impl HighWater {
    /// The bytes of a mark at 0.
    pub(super) fn begun(path: &Path) -> Result<[u8; BYTES], DataDirError> {
        Ok(Reached::default().to_bytes(&owner(path)?))
    }

    pub(super) fn open(path: &Path) -> Result<HighWater, DataDirError> {
        let reached = HighWater::read(path)?;
        let file = OpenOptions::new().write(true).custom_flags(no_follow()).open(path);
        let file = file.map_err(|cause| failed(path, "open", cause))?;
        Ok(HighWater { file, owner: owner(path)?, reached })
    }

    /// The highest count in a mark, which is left as it is.
    ///
    /// # Errors
    /// When the file cannot be read, or is no mark, or that of another file or installation.
    pub fn read(path: &Path) -> Result<Reached, DataDirError> {
        let damaged = || DataDirError::Other { path: path.display().to_string() };
        Reached::from_bytes(&owner(path)?, &read_private(path)?).ok_or_else(damaged)
    }

    /// The highest count so far.
    pub fn reached(&self) -> Reached {
        self.reached
    }

    /// Notes a count, if it is higher than before.
    ///
    /// # Errors
    /// When the file cannot be written. Its count is then too low, but not wrong.
    pub fn reach(&mut self, reached: Reached) -> io::Result<()> {
        if reached.count > self.reached.count {
            self.file.write_all_at(&reached.to_bytes(&self.owner), 0)?;
            self.reached = reached;
        }
        Ok(())
    }
}
