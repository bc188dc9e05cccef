//! What deleted rows leave in the pages of a file.
//!
//! `secure_delete` fills a deleted row with zeros where it lies. SQLite moves rows to other pages when it divides a page or joins two, and then
//! a copy can stay in the unused part of the page that they came from, between its list of rows and its rows (`rebuildPage` in its source). The
//! row that is deleted later is the one that was moved, and nothing ever fills the copy. So the unused part of each page is filled with
//! zeros here, before the page goes from the write-ahead log to the file, and once in all pages when a file is opened, because it may have been
//! written by a program that did not do this.
//!
//! Pages are read and written by SQLite's own table of pages, in a transaction, so nothing here depends on its cache or locks.
//! Source of the layouts: <https://www.sqlite.org/fileformat2.html>.

use super::error::{StoreError, fault};
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// The write-ahead log begins with a header of so many bytes.
const LOG_HEADER: u64 = 32;
/// Each page in it comes after a header of so many bytes, whose first four are the page's number.
const FRAME_HEADER: u64 = 24;
/// The first page begins with a header of the file.
const FILE_HEADER: usize = 100;
/// An entry of a pointer map: a type of page and the number of another page.
const ENTRY: usize = 5;
/// The types of pages with rows in a pointer map: the root of a tree, and any other page of it.
const OF_TREES: [u8; 2] = [1, 5];
/// No page is where this byte is, because locks lie there.
const LOCKS_AT: u64 = 0x4000_0000;

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

    /// Fills the unused parts of all pages with zeros; returns how many pages were changed. Runs in a transaction that may write.
    pub(super) fn clear_all(&self) -> Result<usize, StoreError> {
        let count: u32 =
            self.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).map_err(fault)?;
        let mut changed = 0;
        let mut map = (0, Vec::new());
        for number in 1..=count {
            changed += usize::from(self.clear(number, &mut map)?);
        }
        Ok(changed)
    }

    /// The same for the pages in these frames of the write-ahead log, counted from 0. Runs in a transaction that may write.
    pub(super) fn clear_logged(&self, log: &Path, frames: Range<u32>) -> Result<usize, StoreError> {
        if frames.is_empty() {
            return Ok(0);
        }
        let log = File::open(log).map_err(fault)?;
        let step = FRAME_HEADER + self.size as u64;
        let mut number = [0; 4];
        let mut numbers = BTreeSet::new();
        for frame in frames {
            log.read_exact_at(&mut number, LOG_HEADER + u64::from(frame) * step).map_err(fault)?;
            numbers.insert(u32::from_be_bytes(number));
        }
        let mut map = (0, Vec::new());
        numbers
            .into_iter()
            .try_fold(0, |changed, number| Ok(changed + usize::from(self.clear(number, &mut map)?)))
    }

    /// Whether the page had something in its unused part. `map` is the pointer map that was read last, after its number.
    fn clear(&self, number: u32, map: &mut (u32, Vec<u8>)) -> Result<bool, StoreError> {
        if !self.is_of_a_tree(number, map)? {
            return Ok(false);
        }
        // A page beyond the end is one that a later transaction gave back.
        let Some(mut page) = self.read(number)? else { return Ok(false) };
        let Some(unused) = unused(&mut page, number) else { return Ok(false) };
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

    fn is_of_a_tree(&self, number: u32, map: &mut (u32, Vec<u8>)) -> Result<bool, StoreError> {
        if number == 1 {
            return Ok(true);
        }
        let locks = (LOCKS_AT / self.size as u64) as u32 + 1;
        let in_a_map = (self.size / ENTRY) as u32;
        let first = 2 + (number - 2) / (in_a_map + 1) * (in_a_map + 1);
        let first = if first == locks { first + 1 } else { first };
        if number <= first || number == locks {
            return Ok(false);
        }
        if map.0 != first {
            *map = (first, self.read(first)?.unwrap_or_default());
        }
        let entry = map.1.get((number - first - 1) as usize * ENTRY);
        Ok(entry.is_some_and(|kind| OF_TREES.contains(kind)))
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
    let word =
        |from: usize| Some(usize::from(u16::from_be_bytes(page.get(from..from + 2)?.try_into().ok()?)));
    let begin = at + header + 2 * word(at + 3)?;
    // 65,536 does not fit and is written as 0.
    let end = word(at + 5)?;
    page.get_mut(begin..if end == 0 { 65_536 } else { end })
}
