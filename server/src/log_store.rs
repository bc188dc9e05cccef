//! The log of seals as the store has it: where it ends, and proofs from its stored nodes.

use crate::store::{Store, StoreError};
use thiserror::Error;
use trefoil_attest::Seal;
use trefoil_attest::log::{self, Frontier};
use trefoil_attest::tree::{Hash, leaf_hash};
use trefoil_attest::witness::Checkpoint;
use trefoil_pipeline::ChainHead;

/// Why the stored log cannot be used.
#[derive(Debug, Error)]
pub(crate) enum LogError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A node that must be there is missing.
    #[error(
        "node {number} of level {level} of the log's tree is missing; restore the database from a backup"
    )]
    NodeMissing {
        /// Level, 0 for leaves.
        level: u8,
        /// Position in the level.
        number: u64,
    },
    /// The newest seal does not decode or does not fit the tree.
    #[error("seal {number}: {cause}; restore the database from a backup")]
    Seal {
        /// The seal.
        number: u64,
        /// Reason.
        cause: String,
    },
}

/// Where the stored chain of seals ends. The tree over the seals must be the one that the newest seal commits to, so that
/// a log that was altered or cut in the middle is not continued.
pub(crate) fn chain_head(store: &dyn Store) -> Result<ChainHead, LogError> {
    let Some((number, bytes)) = store.last_seal()? else { return Ok(ChainHead::GENESIS) };
    let refused = |cause: String| LogError::Seal { number, cause };
    let header = Seal::decode(&bytes).map_err(|cause| refused(cause.to_string()))?.header;
    let previous = header.digest();
    let before = Frontier::load(number, node(store))?;
    let leaf = node(store)(0, number)?;
    if header.seal_number != number || before.root() != header.log_root || leaf != leaf_hash(&previous) {
        return Err(refused("the stored tree over the seals is not the one that it commits to".to_owned()));
    }
    Ok(ChainHead { previous, log: Frontier::load(number + 1, node(store))? })
}

/// The head of the log at `size` as a note with the cosignatures that the store has; none where it has none.
pub(crate) fn checkpoint(store: &dyn Store, size: u64) -> Result<Option<String>, LogError> {
    let lines = store.cosignatures(size)?;
    let Some(seal) = store.seal(size)?.filter(|_| !lines.is_empty()) else { return Ok(None) };
    note(size, &seal, &lines).map(Some)
}

/// The note of the head that a seal signs, with cosignatures of it.
pub(crate) fn note(size: u64, seal: &[u8], lines: &[String]) -> Result<String, LogError> {
    let refused = |cause: &str| LogError::Seal { number: size, cause: cause.to_owned() };
    let seal = Seal::decode(seal).map_err(|cause| refused(&cause.to_string()))?;
    let checkpoint = Checkpoint::signed_by(&seal.header).ok_or_else(|| refused("it signs no log"))?;
    Ok(format!("{}\n{}", checkpoint.text(), lines.concat()))
}

/// The path of seal `seal` in the log of the first `size` seals; none where there is no such path.
pub(crate) fn inclusion(store: &dyn Store, seal: u64, size: u64) -> Result<Option<Vec<Hash>>, LogError> {
    log::inclusion(seal, size, node(store))
}

/// The proof that the log of `size` seals extends the one of `old_size`; none where there is no such proof.
pub(crate) fn consistency(
    store: &dyn Store,
    old_size: u64,
    size: u64,
) -> Result<Option<Vec<Hash>>, LogError> {
    log::consistency(old_size, size, node(store))
}

fn node(store: &dyn Store) -> impl FnMut(u8, u64) -> Result<Hash, LogError> {
    |level, number| store.log_node(level, number)?.ok_or(LogError::NodeMissing { level, number })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Memory;
    use trefoil_attest::{SealHeader, Suite};

    /// Stores seals as the service would, with signatures of zeros.
    fn stored(count: u64) -> (Memory, ChainHead) {
        let store = Memory::default();
        let mut head = ChainHead::GENESIS;
        for number in 0..count {
            let header = SealHeader {
                issuer: "auth.example".to_owned(),
                key_set_id: [1; 32],
                seal_number: number,
                previous: head.previous,
                log_root: head.log.root(),
                tree_size: 1,
                root: [number as u8; 32],
                time: 4,
                suite: Suite::One,
            };
            let signatures = trefoil_attest::Family::ALL.map(|family| vec![0; family.signature_bytes()]);
            let completed = head.log.clone().push(&header.digest());
            head.follow(&header);
            store.put_seal(number, Seal { header, signatures }.encode(), completed).unwrap();
        }
        (store, head)
    }

    #[test]
    fn the_stored_log_ends_where_the_service_stopped() {
        for count in [0, 1, 2, 3, 7, 8, 21] {
            let (store, head) = stored(count);
            assert_eq!(chain_head(&store).unwrap(), head);
        }
    }

    #[test]
    fn a_log_with_another_tree_than_its_last_seal_commits_to_is_not_continued() {
        let (store, head) = stored(6);
        let (_, last) = store.last_seal().unwrap().unwrap();
        // Seal 6 is a copy of seal 5, and its nodes are those of another entry.
        store.put_seal(6, last, head.log.clone().push(&[7; 32])).unwrap();
        assert!(matches!(chain_head(&store), Err(LogError::Seal { number: 6, .. })));
        let (store, _) = stored(2);
        let seal = store.seal(1).unwrap().unwrap();
        let cut = Memory::default();
        cut.put_seal(1, seal, vec![]).unwrap();
        assert!(matches!(chain_head(&cut), Err(LogError::NodeMissing { level: 0, number: 0 })));
    }
}
