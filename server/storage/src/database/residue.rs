//! What deleted rows leave in the pages of a file.
//!
//! `secure_delete` fills a deleted row with zeros where it lies. SQLite moves rows to other pages when it divides a page or joins two, and then
//! a copy can stay in the unused part of the page that they came from, between its list of rows and its rows (`rebuildPage` in its source). The
//! row that is deleted later is the one that was moved, and nothing ever fills the copy. A free page can hold rows too: a write that is undone
//! within a transaction gives pages back without undoing what is in them. So the unused part of each page is filled with zeros here, before
//! the page goes from the write-ahead log to the file, and once in all pages when a file is opened, because it may have been written by a
//! program that did not do this.
//!
//! Pages are read and written by SQLite's own table of pages, in a transaction, so nothing here depends on its cache or locks.
//! Source of the layouts: <https://www.sqlite.org/fileformat2.html>.

use super::error::{StoreError, fault};
use super::log::LOG_MAX;
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

/// The write-ahead log begins with a header of so many bytes.
const LOG_HEADER: u64 = 32;
/// Each page in it comes after a header of so many bytes, whose first four are the page's number.
const FRAME_HEADER: u64 = 24;
/// The first page begins with a header of the file.
const FILE_HEADER: usize = 100;
/// An entry of a pointer map: a type of page and the number of another page.
const ENTRY: usize = 5;
/// Types of pages in a pointer map: the root of a tree, a page that is free, and any other page of a tree.
const ROOT: u8 = 1;
const FREE: u8 = 2;
const IN_A_TREE: u8 = 5;
/// In page 1, the number of the first trunk of the list of free pages.
const FIRST_TRUNK_AT: usize = 32;
/// Pages in a transaction, so that it fits SQLite's cache: what does not fit is written at once, and a failure then looks like a stranger's write.
const PORTION: usize = 64;
/// No page is where this byte is, because locks lie there.
const LOCKS_AT: u64 = 0x4000_0000;

/// What a transaction has read of the pages: the pointer map that was read last, after its number, and the trunks of the list of free pages.
#[derive(Default)]
struct Seen {
    map: (u32, Vec<u8>),
    trunks: Option<BTreeSet<u32>>,
}

/// The pages of a database, under a connection that may write.
pub(super) struct Pages<'a> {
    connection: &'a Connection,
    size: usize,
}

impl<'a> Pages<'a> {
    /// # Errors
    /// When SQLite was built without its table of pages.
    pub(super) fn of(connection: &'a Connection) -> Result<Pages<'a>, StoreError> {
        let size = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).map_err(fault)?;
        let pages = Pages { connection, size };
        match pages.read(1) {
            Ok(_) => Ok(pages),
            Err(cause) => Err(StoreError::Fault(format!(
                "{cause}: this program's SQLite was built without -DSQLITE_ENABLE_DBPAGE_VTAB, which the file .cargo/config.toml of the \
                 sources asks for; build it from the folder of the sources"
            ))),
        }
    }

    /// Fills the unused parts of all pages with zeros; returns how many pages were changed. No transaction is open.
    pub(super) fn clear_all(&self) -> Result<usize, StoreError> {
        let count: u32 =
            self.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).map_err(fault)?;
        let mut changed = 0;
        for first in (1..=count).step_by(PORTION) {
            let numbers: Vec<u32> = (first..=count).take(PORTION).collect();
            let before = changed;
            changed += self.clear_some(&numbers)?;
            if changed / LOG_MAX as usize > before / LOG_MAX as usize {
                // The log stays short.
                self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).map_err(fault)?;
            }
        }
        Ok(changed)
    }

    /// The same for the pages in these frames of the write-ahead log, counted from 0.
    pub(super) fn clear_logged(&self, log: &File, frames: Range<u32>) -> Result<usize, StoreError> {
        let step = FRAME_HEADER + self.size as u64;
        let mut number = [0; 4];
        let mut numbers = BTreeSet::new();
        for frame in frames {
            log.read_exact_at(&mut number, LOG_HEADER + u64::from(frame) * step).map_err(fault)?;
            numbers.insert(u32::from_be_bytes(number));
        }
        let numbers: Vec<u32> = numbers.into_iter().collect();
        numbers.chunks(PORTION).try_fold(0, |changed, some| Ok(changed + self.clear_some(some)?))
    }

    /// A transaction with some pages.
    fn clear_some(&self, numbers: &[u32]) -> Result<usize, StoreError> {
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(fault)?;
        let mut seen = Seen::default();
        let cleared = numbers
            .iter()
            .try_fold(0, |changed, number| Ok(changed + usize::from(self.clear(*number, &mut seen)?)));
        let end = if cleared.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = self.connection.execute_batch(end).map_err(fault);
        cleared.and_then(|changed| ended.and(Ok(changed)))
    }

    /// Whether the page had something in its unused part.
    fn clear(&self, number: u32, seen: &mut Seen) -> Result<bool, StoreError> {
        let kind = self.kind(number, seen)?;
        if ![IN_A_TREE, ROOT, FREE].contains(&kind) {
            return Ok(false);
        }
        // A page beyond the end is one that a later transaction gave back.
        let Some(mut page) = self.read(number)? else { return Ok(false) };
        let unused = match kind {
            FREE => Some(self.unused_of_free(number, &mut page, seen)?),
            _ => unused(&mut page, number),
        };
        let Some(unused) = unused else { return Ok(false) };
        if unused.iter().all(|byte| *byte == 0) {
            return Ok(false);
        }
        unused.fill(0);
        let mut write = self
            .connection
            .prepare_cached("UPDATE sqlite_dbpage SET data = ?2 WHERE pgno = ?1")
            .map_err(fault)?;
        write.execute((number, page)).map_err(fault)?;
        Ok(true)
    }

    /// The type of a page in its pointer map. The maps themselves, and the page where locks lie, are of none.
    fn kind(&self, number: u32, seen: &mut Seen) -> Result<u8, StoreError> {
        if number == 1 {
            return Ok(ROOT);
        }
        let locks = (LOCKS_AT / self.size as u64) as u32 + 1;
        let in_a_map = (self.size / ENTRY) as u32;
        let first = 2 + (number - 2) / (in_a_map + 1) * (in_a_map + 1);
        let first = if first == locks { first + 1 } else { first };
        if number <= first || number == locks {
            return Ok(0);
        }
        if seen.map.0 != first {
            seen.map = (first, self.read(first)?.unwrap_or_default());
        }
        Ok(seen.map.1.get((number - first - 1) as usize * ENTRY).copied().unwrap_or(0))
    }

    /// All of a free page, but what a trunk of the list of free pages says of others.
    fn unused_of_free<'p>(
        &self,
        number: u32,
        page: &'p mut [u8],
        seen: &mut Seen,
    ) -> Result<&'p mut [u8], StoreError> {
        if seen.trunks.is_none() {
            seen.trunks = Some(self.trunks()?);
        }
        let is_trunk = seen.trunks.as_ref().is_some_and(|trunks| trunks.contains(&number));
        let listed = word(page, 4).unwrap_or(0) as usize;
        let kept = if is_trunk { (8 + 4 * listed).min(page.len()) } else { 0 };
        Ok(&mut page[kept..])
    }

    /// The trunks of the list of free pages. Each begins with the number of the next one; page 1 has that of the first.
    fn trunks(&self) -> Result<BTreeSet<u32>, StoreError> {
        let mut trunks = BTreeSet::new();
        let mut next = self.read(1)?.and_then(|page| word(&page, FIRST_TRUNK_AT)).unwrap_or(0);
        while next != 0 && trunks.insert(next) {
            next = self.read(next)?.and_then(|page| word(&page, 0)).unwrap_or(0);
        }
        Ok(trunks)
    }

    fn read(&self, number: u32) -> Result<Option<Vec<u8>>, StoreError> {
        let mut read = self
            .connection
            .prepare_cached("SELECT data FROM sqlite_dbpage WHERE pgno = ?1")
            .map_err(fault)?;
        read.query_row([number], |row| row.get(0)).optional().map_err(fault)
    }
}

/// The bytes between the list of a page's rows and the first row; `None` if this is no page of a tree.
fn unused(page: &mut [u8], number: u32) -> Option<&mut [u8]> {
    let at = if number == 1 { FILE_HEADER } else { 0 };
    let header = match page.get(at)? {
        2 | 5 => 12,
        10 | 13 => 8,
        _ => return None,
    };
    let half =
        |from: usize| Some(usize::from(u16::from_be_bytes(page.get(from..from + 2)?.try_into().ok()?)));
    let begin = at + header + 2 * half(at + 3)?;
    // 65,536 does not fit and is written as 0.
    let end = half(at + 5)?;
    page.get_mut(begin..if end == 0 { 65_536 } else { end })
}

/// Four bytes of a page as a number.
fn word(page: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(page.get(at..at + 4)?.try_into().ok()?))
}
