//! The write-ahead log of a database: when it is moved into the file, and when it is emptied.
//!
//! SQLite does neither by itself here, because its pages are cleared first (`residue`).

use super::connection::BUSY_TIMEOUT;
use super::error::{StoreError, fault};
use super::residue::Pages;
use rusqlite::{Connection, Row};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Pages in the log that are not in the file, from which on they are moved there.
pub(super) const LOG_MAX: u32 = 1000;
/// Pages between two attempts, while a reader keeps some from being moved.
const LOG_STEP: u32 = 100;
/// A reader kept the log from being emptied: time until the next attempt. It doubles while the disk fails.
pub(super) const AGAIN: Duration = Duration::from_millis(100);
const AGAIN_MAX: Duration = Duration::from_secs(10);
/// Two words that SQLite draws whenever the log begins anew are here.
const SALT_AT: u64 = 16;

/// See the module.
pub(super) struct Log {
    path: PathBuf,
    file: PathBuf,
    /// What was deleted may still be in it.
    pub(super) shreds: bool,
    /// Up to which frame its pages are cleared, and its salt then.
    cleared: (u32, [u8; 8]),
    /// Frames at the last attempt to move them into the file.
    tried: u32,
    /// Pages that were not cleared may have reached the file.
    is_behind: bool,
    /// Time until the next attempt, if one is due.
    pub(super) again: Duration,
    tried_at: Instant,
    failed: bool,
}

/// The write-ahead log of a file. SQLite puts it beside the file itself, not beside a link to it.
pub(super) fn log_of(file: &Path) -> PathBuf {
    let mut log = file.canonicalize().unwrap_or_else(|_| file.to_owned()).into_os_string();
    log.push("-wal");
    log.into()
}

impl Log {
    /// Of a file that was opened. Clears all pages, because a program that did not may have written some, and empties the log.
    pub(super) fn open(connection: &Connection, file: &Path) -> Result<Log, StoreError> {
        // What fails below is tried again, and this would fail again.
        Pages::of(connection)?;
        let mut log = Log {
            path: log_of(file),
            file: file.to_owned(),
            shreds: true,
            cleared: Default::default(),
            tried: 0,
            is_behind: true,
            again: AGAIN,
            tried_at: Instant::now(),
            failed: false,
        };
        log.shorten(connection, BUSY_TIMEOUT);
        Ok(log)
    }

    /// Moves the log into the file if it is long, and empties it if what was deleted is to be gone. Readers that keep it from being emptied
    /// are waited for so long; without patience it is tried no sooner than it is due. What fails is tried again later.
    pub(super) fn shorten(&mut self, connection: &Connection, patience: Duration) {
        if self.shreds && patience.is_zero() && self.tried_at.elapsed() < self.again {
            return;
        }
        self.tried_at = Instant::now();
        let shortened = self.try_shorten(connection, patience);
        self.again = if shortened.is_ok() { AGAIN } else { AGAIN_MAX.min(2 * self.again) };
        if let Err(cause) = &shortened
            && !self.failed
        {
            let file = self.file.display();
            tracing::warn!(%cause, %file, "the write-ahead log was not moved into the file, which is tried again");
        }
        self.failed = shortened.is_err();
    }

    fn try_shorten(&mut self, connection: &Connection, patience: Duration) -> Result<(), StoreError> {
        let (_, frames, in_file) = told(connection, "NOOP")?;
        // It begins anew once all of it is in the file.
        self.tried = if frames < self.tried { 0 } else { self.tried };
        let is_long = frames.saturating_sub(in_file) >= LOG_MAX && frames - self.tried >= LOG_STEP;
        if !self.shreds && !is_long {
            return Ok(());
        }
        let cleared = self.clear(connection, in_file..frames);
        // On a full disk pages are not cleared, and the log is moved all the same, because it holds the room that is missing.
        self.is_behind = cleared.is_err();
        self.tried = frames;
        if !self.shreds {
            return told(connection, "PASSIVE").and(cleared);
        }
        connection.busy_timeout(patience).map_err(fault)?;
        let emptied = told(connection, "TRUNCATE");
        connection.busy_timeout(BUSY_TIMEOUT).map_err(fault)?;
        let (is_busy, ..) = emptied?;
        self.shreds = is_busy || self.is_behind;
        cleared
    }

    /// Clears the pages of these frames, or all if some may have been missed.
    fn clear(&mut self, connection: &Connection, frames: Range<u32>) -> Result<(), StoreError> {
        let pages = Pages::of(connection)?;
        if self.is_behind {
            return pages.clear_all().map(drop);
        }
        if frames.is_empty() {
            return Ok(());
        }
        let log = File::open(&self.path).map_err(fault)?;
        let mut salt = [0; 8];
        log.read_exact_at(&mut salt, SALT_AT).map_err(fault)?;
        let before = if salt == self.cleared.1 { self.cleared.0 } else { 0 };
        pages.clear_logged(&log, frames.start.max(before)..frames.end)?;
        self.cleared = (frames.end, salt);
        Ok(())
    }
}

/// Has SQLite do this with the log. Returns whether it was kept from it, the frames of the log, and how many of them are in the file.
fn told(connection: &Connection, how: &str) -> Result<(bool, u32, u32), StoreError> {
    let count = |row: &Row<'_>, at| row.get::<_, i64>(at).map(|count| u32::try_from(count).unwrap_or(0));
    let mut checkpoint =
        connection.prepare_cached(&format!("PRAGMA wal_checkpoint({how})")).map_err(fault)?;
    checkpoint.query_row([], |row| Ok((count(row, 0)? > 0, count(row, 1)?, count(row, 2)?))).map_err(fault)
}
