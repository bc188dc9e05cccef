//! The log as tiles (C2SP tlog-tiles): runs of 256 hashes or entries, which readers of any such log fetch and check against a checkpoint.
//!
//! An entry is the digest of a seal. Tiles are as stored and not checked here, because their reader checks every hash.

use crate::log::log_store::LogError;
use trefoil_attest::LogEntry;
use trefoil_storage::store::Store;

/// Hashes or entries of a full tile.
const WIDTH: u64 = 256;
/// Largest level: numbers of seals stay below 2^63.
const LEVEL_MAX: u8 = 7;

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Eight levels of the tree are one of tiles; `None` for entries.
    level: Option<u8>,
    number: u64,
    width: u64,
}

impl Tile {
    /// Reads `0` or `entries`, and `x001/x234/067` or `x001/x234/067.p/5`. Each tile has one name.
    #[must_use]
    pub fn parse(level_name: &str, index: &str) -> Option<Tile> {
        let (digits, width) = match index.split_once(".p/") {
            Some((digits, width)) => (digits, width.parse().ok().filter(|width| (1..WIDTH).contains(width))?),
            None => (index, WIDTH),
        };
        let level = match level_name {
            "entries" => None,
            _ => Some(level_name.parse().ok().filter(|level| *level <= LEVEL_MAX)?),
        };
        let thousands = |number: u64, part: &str| {
            number.checked_mul(1000)?.checked_add(part.trim_start_matches('x').parse().ok()?)
        };
        let tile = Tile { level, number: digits.split('/').try_fold(0, thousands)?, width };
        (tile.name() == format!("{level_name}/{index}")).then_some(tile)
    }

    /// The name, as `level/index`.
    fn name(self) -> String {
        let mut index = format!("{:03}", self.number % 1000);
        let mut rest = self.number / 1000;
        while rest > 0 {
            index = format!("x{:03}/{index}", rest % 1000);
            rest /= 1000;
        }
        let level = self.level.map_or("entries".to_owned(), |level| level.to_string());
        match self.width {
            WIDTH => format!("{level}/{index}"),
            width => format!("{level}/{index}.p/{width}"),
        }
    }

    /// Its bytes; `None` unless the log that the newest seal signs has all of it.
    ///
    /// # Errors
    /// The store failed, or lacks a node or seal that it must have.
    pub fn read(self, store: &dyn Store) -> Result<Option<Vec<u8>>, LogError> {
        let Some((size, _)) = store.last_seal()? else { return Ok(None) };
        let level = 8 * self.level.unwrap_or(0);
        let first = self.number.saturating_mul(WIDTH);
        let range = first..first.saturating_add(self.width);
        if range.end > size >> level {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(34 * WIDTH as usize);
        for number in range {
            match self.level {
                Some(_) => {
                    let missing = LogError::NodeMissing { level, number };
                    bytes.extend(store.log_node(level, number)?.ok_or(missing)?);
                }
                None => {
                    let entry = store.seal(number)?.and_then(|bytes| LogEntry::decode(&bytes).ok());
                    let digest = entry.ok_or(LogError::Altered("seal"))?.header().digest();
                    bytes.extend((digest.len() as u16).to_be_bytes());
                    bytes.extend(digest);
                }
            }
        }
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::log_store::tests::stored;
    use trefoil_attest::tree::{MerkleTree, leaf_hash};
    use trefoil_storage::store::Log as _;

    /// Claim S21: The log is served as C2SP tiles with a signed checkpoint, and torchwood, a client that knows nothing of Trefoil, reads
    /// and proves every entry. Also: `scripts/tlog/main.go`.
    #[test]
    fn tiles_are_those_of_the_tree_over_the_digests_that_the_newest_seal_signs() {
        // The newest is number 529, so two tiles are full.
        let ((store, _folder), _) = stored(530);
        let header =
            |number| LogEntry::decode(&store.seal(number).unwrap().unwrap()).unwrap().header().clone();
        let digests: Vec<[u8; 32]> = (0..529).map(|number| header(number).digest()).collect();
        store.prune_seals(vec![(300, header(300).encode())]).unwrap();
        let read = |level, index| Tile::parse(level, index).unwrap().read(&store).unwrap();
        for (index, range) in [("000", 0..256), ("001", 256..512), ("000.p/1", 0..1), ("002.p/17", 512..529)]
        {
            let leaves: Vec<u8> =
                digests[range.clone()].iter().flat_map(|digest| leaf_hash(digest)).collect();
            assert_eq!(read("0", index), Some(leaves), "{index}");
            let entries = digests[range].iter().flat_map(|digest| [&[0, 32], &digest[..]].concat());
            assert_eq!(read("entries", index), Some(entries.collect()), "{index}");
        }
        let roots = [0, 256].map(|at| MerkleTree::new(&digests[at..at + 256]).unwrap().root());
        assert_eq!(read("1", "000.p/2"), Some(roots.concat()));
        let beyond = "x018/x446/x744/x073/x709/551";
        for (level, index) in
            [("0", "002.p/18"), ("0", "002"), ("1", "000.p/3"), ("2", "000.p/1"), ("7", beyond)]
        {
            assert_eq!(read(level, index), None, "{level}/{index}");
        }
        let (empty, _folder) = crate::scratch::scratch();
        assert_eq!(Tile::parse("0", "000").unwrap().read(&empty).unwrap(), None);
    }

    #[test]
    fn a_tile_has_one_name() {
        for name in ["0/000", "7/x018/x446/x744/x073/x709/551", "entries/x001/x234/067.p/5", "1/999.p/255"] {
            let (level, index) = name.split_once('/').unwrap();
            assert_eq!(Tile::parse(level, index).unwrap().name(), name);
        }
        for name in [
            "8/000",
            "00/000",
            "-1/000",
            "entry/000",
            "0/",
            "0/0",
            "0/0000",
            "0/+01",
            "0/x000/001",
            "0/001/002",
            "0/x001",
            "0/x001/x002",
            "0/000.p/0",
            "0/000.p/256",
            "0/000.p/01",
            "0/000.p/",
            "0/000.p/1/2",
            "0/x018/x446/x744/x073/x709/x551/616",
            "0//000",
            "0/000/",
            "0/x99/000",
            "0/xx01/000",
        ] {
            let (level, index) = name.split_once('/').unwrap();
            assert_eq!(Tile::parse(level, index), None, "{name}");
        }
    }
}
