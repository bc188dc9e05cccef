//! Free space on the file system of a data directory: a gauge, a low-water mark, and a reserve for erasures.
//!
//! Below the mark the process refuses requests, so that erasures and revocations still have room. The
//! reserve is a file of allocated blocks beside the databases. It is released when such a small write fails, because
//! other processes filled the disk, and is made again once there is room.

use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, open, statvfs};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Time between two checks.
pub const INTERVAL: Duration = Duration::from_millis(500);
/// Least free bytes with which a process can start.
const START_BYTES: u64 = 1 << 20;
/// Holds room and no data.
pub const RESERVE_FILE: &str = "disk.reserve";

/// The low-water mark and the reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskLimits {
    /// Free bytes below which requests are refused.
    pub low_water_bytes: u64,
    /// Bytes of the reserve.
    pub reserve_bytes: u64,
}

/// The file system of one directory.
pub struct Disk {
    directory: PathBuf,
    limits: DiskLimits,
    free: AtomicU64,
    low: AtomicBool,
    has_reserve: AtomicBool,
}

impl Disk {
    /// Reads the free space of `directory`'s file system and makes the reserve if there is room.
    pub fn open(directory: &Path, limits: DiskLimits) -> Disk {
        let disk = Disk {
            directory: directory.to_owned(),
            limits,
            free: AtomicU64::new(u64::MAX),
            low: AtomicBool::new(false),
            has_reserve: AtomicBool::new(false),
        };
        let length = std::fs::metadata(disk.reserve()).map_or(0, |file| file.len());
        disk.has_reserve.store(length >= limits.reserve_bytes && length > 0, Ordering::Relaxed);
        disk.look();
        if disk.free() < START_BYTES {
            // Opening a database takes some room, and an erasure needs the database.
            disk.give_up();
        }
        disk
    }

    /// Reads the free space again. Logs when it passes the mark.
    #[expect(clippy::disallowed_methods, reason = "by one task twice a second, and when a write failed")]
    pub fn look(&self) {
        let free = match statvfs(&self.directory) {
            Ok(found) => found.f_bavail.saturating_mul(found.f_frsize),
            Err(cause) => {
                tracing::warn!(%cause, path = %self.directory.display(), "free space is unknown");
                return;
            }
        };
        self.free.store(free, Ordering::Relaxed);
        let mark = self.limits.low_water_bytes;
        let low = free < if self.low.load(Ordering::Relaxed) { Disk::clear_of(mark) } else { mark };
        if self.low.swap(low, Ordering::Relaxed) != low {
            let (path, low_water) = (self.directory.display(), self.limits.low_water_bytes);
            match low {
                true => {
                    tracing::error!(%path, free, low_water, "little disk space is left: logins and enrolments are refused")
                }
                false => tracing::info!(%path, free, low_water, "there is disk space again"),
            }
        }
        if !low && !self.has_reserve.load(Ordering::Relaxed) && self.limits.reserve_bytes > 0 {
            match self.make_reserve() {
                Ok(()) => self.has_reserve.store(true, Ordering::Relaxed),
                Err(cause) => tracing::warn!(%cause, "no disk space could be reserved for erasures"),
            }
        }
    }

    /// The free space at which a mark, once passed, counts as not passed any more: an eighth above it, so that the service does not refuse and
    /// accept by turns around the mark.
    pub fn clear_of(mark: u64) -> u64 {
        mark.saturating_add(mark / 8)
    }

    /// Free bytes at the last check.
    pub fn free(&self) -> u64 {
        self.free.load(Ordering::Relaxed)
    }

    /// The mark, bytes.
    pub fn low_water(&self) -> u64 {
        self.limits.low_water_bytes
    }

    /// Why requests are refused, or `None`.
    pub fn low(&self) -> Option<String> {
        self.low.load(Ordering::Relaxed).then(|| {
            let (path, clear) = (self.directory.display(), Disk::clear_of(self.limits.low_water_bytes));
            format!("{} bytes are free under {path}, and {clear} are needed: make room", self.free())
        })
    }

    /// Runs a small write that must not fail for lack of space: if it fails, releases the reserve and runs it once more.
    pub fn with_reserve<T, E>(
        &self,
        mut write: impl FnMut() -> Result<T, E>,
        failed: impl FnOnce(&E) -> bool,
    ) -> Result<T, E> {
        match write() {
            Err(cause) if failed(&cause) && self.give_up() => write(),
            outcome => outcome,
        }
    }

    /// Frees the reserve, if there is one and the disk is full.
    #[expect(clippy::disallowed_methods, reason = "once, when the disk is full")]
    fn give_up(&self) -> bool {
        self.look();
        if self.free() >= self.limits.reserve_bytes || !self.has_reserve.swap(false, Ordering::Relaxed) {
            return false;
        }
        tracing::warn!(path = %self.directory.display(), "the disk is full: its reserve is given up for an erasure");
        std::fs::remove_file(self.reserve()).is_ok()
    }

    fn reserve(&self) -> PathBuf {
        self.directory.join(RESERVE_FILE)
    }

    fn make_reserve(&self) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = (|| {
            let mut file = File::from(open(self.reserve(), flags, Mode::RUSR | Mode::WUSR)?);
            let bytes = self.limits.reserve_bytes;
            match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
                Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                    let block = vec![0; 1 << 20];
                    (0..bytes.div_ceil(1 << 20)).try_for_each(|_| file.write_all(&block))?;
                }
                done => done?,
            }
            file.sync_all()
        })();
        if made.is_err() {
            // Half a reserve would be useless space.
            let _ = std::fs::remove_file(self.reserve());
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(low_water_bytes: u64, reserve_bytes: u64) -> DiskLimits {
        DiskLimits { low_water_bytes, reserve_bytes }
    }

    #[test]
    fn free_space_below_the_mark_is_low_and_above_it_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let roomy = Disk::open(directory.path(), limits(1, 0));
        assert!(roomy.low().is_none() && roomy.free() > 1 && roomy.free() < u64::MAX);
        let full = Disk::open(directory.path(), limits(u64::MAX, 1 << 20));
        assert!(full.low().unwrap().contains("make room"));
        assert!(!directory.path().join(RESERVE_FILE).exists(), "what is left is not reserved");
        let mark = roomy.free() - roomy.free() / 16;
        let near = Disk::open(directory.path(), limits(mark, 0));
        assert_eq!(near.low(), None);
        near.low.store(true, Ordering::Relaxed);
        near.look();
        assert!(near.low().is_some(), "above the mark, and not clear of it");
    }

    #[test]
    fn the_reserve_has_blocks_and_goes_only_when_the_disk_is_full() {
        use std::os::unix::fs::MetadataExt as _;
        let directory = tempfile::tempdir().unwrap();
        let disk = Disk::open(directory.path(), limits(1, 1 << 20));
        let file = std::fs::metadata(directory.path().join(RESERVE_FILE)).unwrap();
        assert!(file.blocks() * 512 >= 1 << 20 && file.mode() & 0o777 == 0o600);
        let mut tries = 0;
        let mut fail = || {
            tries += 1;
            Err::<(), _>("no room")
        };
        assert_eq!(disk.with_reserve(&mut fail, |_| true), Err("no room"));
        assert_eq!(tries, 1, "there is room, so something else is wrong");
        assert!(directory.path().join(RESERVE_FILE).exists());
    }
}
