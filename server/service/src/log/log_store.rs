//! The log of seals in the store: its end, and proofs from its stored nodes.
//!
//! An attacker who can write to the store can change these tables. So at the start the newest seal must carry this service's signatures.
//! Each seal and proof is checked against the root that the newest seal signs before it is served.

use thiserror::Error;
use trefoil_attest::log::{self, Frontier};
use trefoil_attest::tree::{Hash, leaf_hash, verify_consistency, verify_inclusion};
use trefoil_attest::witness::{Checkpoint, issuer_line};
use trefoil_attest::{
    Family, Last, LogEntry, PrunedSeal, Restoration, Seal, SealHeader, TrustRoot, VaultState,
};
use trefoil_pipeline::ChainHead;
use trefoil_storage::store::{Store, StoreError};

/// Why the stored log cannot be used.
#[derive(Debug, Error)]
pub enum LogError {
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
    /// The newest seal is of keys that the trust root does not list.
    #[error(
        "seal {number} is signed with key set {key_set}, which version {version} of the trust root in this data directory does not list. If another \
         node has these keys, copy trust-roots/{}.json and the versions after it from its data directory, or from /v1/keys/{} of a node that \
         runs, into trust-roots of this directory, and start again; otherwise restore the database from a backup", version + 1, version + 1
    )]
    UnknownKeys {
        /// The seal.
        number: u64,
        /// The key set, hexadecimal.
        key_set: String,
        /// Version of the trust root.
        version: u64,
    },
    /// The requested seal or proof does not fit the log that the newest seal signs.
    #[error(
        "the stored {0} is not that of the log that the newest seal signs; restore the database from a backup"
    )]
    Altered(&'static str),
}

/// Whether a seal is signed with this service's keys, whether or not they were valid at its time.
pub fn check_signatures(seal: &Seal, trust_root: &TrustRoot) -> Result<(), LogError> {
    let header = &seal.header;
    let set = trust_root.key_set(&header.key_set_id).ok_or_else(|| LogError::UnknownKeys {
        number: header.seal_number,
        key_set: header.key_set_id.to_string(),
        version: trust_root.version(),
    })?;
    let signed = |family: Family| {
        let signature = &seal.signatures[family.index()];
        family.verifies(set.keys.public_key(family), &header.to_be_signed(family), signature)
    };
    match header.issuer == trust_root.issuer() && Family::ALL.into_iter().all(signed) {
        true => Ok(()),
        false => {
            let cause = "its signatures do not verify".to_owned();
            Err(LogError::Seal { number: header.seal_number, cause })
        }
    }
}

/// The end of the stored chain of seals. The newest seal must pass `signed`, and it must commit to the stored tree over the seals,
/// so that a log that was altered or cut in the middle is not continued.
pub fn chain_head(
    store: &dyn Store,
    signed: impl FnOnce(&Seal) -> Result<(), LogError>,
) -> Result<ChainHead, LogError> {
    let Some((number, bytes)) = store.last_seal()? else { return Ok(ChainHead::GENESIS) };
    let refused = |cause: String| LogError::Seal { number, cause };
    let seal = Seal::decode(&bytes).map_err(|cause| refused(cause.to_string()))?;
    signed(&seal)?;
    let header = seal.header;
    let previous = header.digest();
    let before = Frontier::load(number, node(store))?;
    let leaf = node(store)(0, number)?;
    if header.seal_number != number || before.root() != header.log_root || leaf != leaf_hash(&previous) {
        return Err(refused("the stored tree over the seals is not the one that it commits to".to_owned()));
    }
    Ok(ChainHead { previous, log: Frontier::load(number + 1, node(store))?, time: header.time })
}

/// The newest seal's number, and its states of the key-holders' vaults.
pub type SealedVaults = (u64, Vec<Option<VaultState>>);

/// The states of the vaults in the newest seal; empty if nothing was sealed.
pub fn sealed_vaults(store: &dyn Store) -> Result<Option<SealedVaults>, LogError> {
    Ok(last_header(store)?.map(|header| (header.seal_number, header.vaults)))
}

/// The header of the newest seal; `None` if nothing was sealed.
pub fn last_header(store: &dyn Store) -> Result<Option<SealHeader>, LogError> {
    let Some((number, bytes)) = store.last_seal()? else { return Ok(None) };
    let seal = Seal::decode(&bytes).map_err(|cause| LogError::Seal { number, cause: cause.to_string() })?;
    Ok(Some(seal.header))
}

/// When a seal was signed, unix seconds.
pub fn time_of(store: &dyn Store, number: u64) -> Result<u64, LogError> {
    let bytes = store.seal(number)?.ok_or(LogError::Altered("log"))?;
    let entry =
        LogEntry::decode(&bytes).map_err(|cause| LogError::Seal { number, cause: cause.to_string() })?;
    Ok(entry.header().time)
}

/// The newest restoration, which seals name. The next seal must be able to name it.
pub fn restoration(store: &dyn Store) -> Result<Option<Restoration>, LogError> {
    let restored = store.last_restoration()?;
    if store.last_seal()?.is_none() {
        return Ok(restored);
    }
    let newest = newest(store)?;
    let next = SealHeader { seal_number: newest.seal_number + 1, restored, ..newest.clone() };
    match Restoration::follows(Some(Last::of(&newest)), &next) {
        true => Ok(restored),
        false => Err(LogError::Altered("list of restorations")),
    }
}

/// Stores a seal. If the store has these bytes already, an earlier write succeeded although it reported an error.
pub fn put_seal(
    store: &dyn Store,
    number: u64,
    bytes: Vec<u8>,
    completed: Vec<Hash>,
) -> Result<(), StoreError> {
    match store.put_seal(number, bytes.clone(), completed) {
        Err(StoreError::Conflict) if store.seal(number)?.as_ref() == Some(&bytes) => Ok(()),
        stored => stored,
    }
}

/// A seal, or the header of a pruned one, that is the newest or is in the log that the newest one signs; `None` if there is
/// no seal with this number.
pub fn entry(store: &dyn Store, number: u64) -> Result<Option<LogEntry>, LogError> {
    let Some(bytes) = store.seal(number)? else { return Ok(None) };
    let newest = newest(store)?;
    let entry = LogEntry::decode(&bytes);
    let digest = entry.as_ref().map(|entry| entry.header().digest());
    let is_logged = match digest {
        Ok(digest) if number < newest.seal_number => {
            let path = log::inclusion(number, newest.seal_number, node(store))?.unwrap_or_default();
            verify_inclusion(&digest, number, newest.seal_number, &path, &newest.log_root)
        }
        Ok(digest) => digest == newest.digest(),
        Err(_) => false,
    };
    match entry {
        Ok(entry) if is_logged => Ok(Some(entry)),
        _ => Err(LogError::Altered("seal")),
    }
}

/// A seal's header with its path to a later seal of the same keys; `None` if no such seal has its signatures.
pub fn pruned(store: &dyn Store, number: u64) -> Result<Option<PrunedSeal>, LogError> {
    let Some(header) = entry(store, number)?.map(|entry| entry.header().clone()) else { return Ok(None) };
    // The newest seal is at hand. If it has other keys, search for the last seal of these keys.
    let newest = newest(store)?;
    let later = match newest.key_set_id == header.key_set_id {
        true => Some(newest.seal_number),
        false => store.unpruned_after(number)?,
    };
    let Some(later) = later.filter(|later| *later > number) else { return Ok(None) };
    let Some(path) = inclusion(store, number, later)? else { return Ok(None) };
    Ok(match entry(store, later)? {
        Some(LogEntry::Signed(checkpoint)) if checkpoint.header.key_set_id == header.key_set_id => {
            Some(PrunedSeal { header, path, checkpoint })
        }
        _ => None,
    })
}

fn newest(store: &dyn Store) -> Result<SealHeader, LogError> {
    last_header(store)?.ok_or(LogError::Altered("log"))
}

/// The head of the log at `size` as a note with this service's signature, unless it was pruned, and the cosignatures in the store; `None` if there
/// are neither.
pub fn checkpoint(store: &dyn Store, size: u64) -> Result<Option<String>, LogError> {
    let Some(entry) = entry(store, size)? else { return Ok(None) };
    let own = match &entry {
        LogEntry::Signed(seal) => issuer_line(seal),
        LogEntry::Pruned(_) => None,
    };
    let lines: Vec<String> = own.into_iter().chain(store.cosignatures(size)?).collect();
    if lines.is_empty() { Ok(None) } else { note(entry.header(), &lines).map(Some) }
}

/// The note of the head that a seal signs, with cosignatures of it.
pub fn note(header: &SealHeader, lines: &[String]) -> Result<String, LogError> {
    let refused = |cause: &str| LogError::Seal { number: header.seal_number, cause: cause.to_owned() };
    let checkpoint = Checkpoint::signed_by(header).ok_or_else(|| refused("it signs no log"))?;
    Ok(format!("{}\n{}", checkpoint.text(), lines.concat()))
}

/// The path of seal `number` in the log of the first `size` seals, if there is one.
pub fn inclusion(store: &dyn Store, number: u64, size: u64) -> Result<Option<Vec<Hash>>, LogError> {
    let Some(path) = log::inclusion(number, size, node(store))? else { return Ok(None) };
    let root = root_at(store, size)?;
    let entry = store.seal(number)?.and_then(|bytes| LogEntry::decode(&bytes).ok());
    let digest = entry.map(|entry| entry.header().digest());
    match digest.is_some_and(|digest| verify_inclusion(&digest, number, size, &path, &root)) {
        true => Ok(Some(path)),
        false => Err(LogError::Altered("path of a seal")),
    }
}

/// The proof that the log of `size` seals extends the one of `old_size`, if there is one.
pub fn consistency(store: &dyn Store, old_size: u64, size: u64) -> Result<Option<Vec<Hash>>, LogError> {
    let Some(proof) = log::consistency(old_size, size, node(store))? else { return Ok(None) };
    let (old_root, root) = (root_at(store, old_size)?, root_at(store, size)?);
    match verify_consistency(old_size, &old_root, size, &root, &proof) {
        true => Ok(Some(proof)),
        false => Err(LogError::Altered("proof of consistency")),
    }
}

/// The root of the log of the first `size` seals, which the log that the newest seal signs extends.
fn root_at(store: &dyn Store, size: u64) -> Result<Hash, LogError> {
    let newest = newest(store)?;
    let root = Frontier::load(size, node(store))?.root();
    if size == newest.seal_number {
        return if root == newest.log_root { Ok(root) } else { Err(LogError::Altered("root of the log")) };
    }
    let proof = log::consistency(size, newest.seal_number, node(store))?.unwrap_or_default();
    match verify_consistency(size, &root, newest.seal_number, &newest.log_root, &proof) {
        true => Ok(root),
        false => Err(LogError::Altered("root of the log")),
    }
}

fn node(store: &dyn Store) -> impl FnMut(u8, u64) -> Result<Hash, LogError> {
    |level, number| store.log_node(level, number)?.ok_or(LogError::NodeMissing { level, number })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::scratch::scratch;
    use tempfile::TempDir;
    use trefoil_attest::{KeySetStatus, SealHeader, Suite, TrustedKeySet};
    use trefoil_sign::SigningKeys;
    use trefoil_storage::store::{Log as _, Sqlite};
    use trefoil_types::KeySetId;

    /// Stores seals as the service would, with signatures of zeros.
    pub(crate) fn stored(count: u64) -> ((Sqlite, TempDir), ChainHead) {
        let (store, folder) = scratch();
        let mut head = ChainHead::GENESIS;
        for number in 0..count {
            let header = SealHeader {
                issuer: "auth.example".to_owned(),
                key_set_id: KeySetId::new([1; 32]),
                seal_number: number,
                previous: head.previous,
                log_root: head.log.root(),
                tree_size: 1,
                root: [number as u8; 32],
                time: 4,
                suite: Suite::One,
                vaults: Vec::new(),
                restored: None,
            };
            let signatures = trefoil_attest::Family::ALL.map(|family| vec![0; family.signature_bytes()]);
            let completed = head.log.clone().push(&header.digest());
            head.follow(&header);
            store.put_seal(number, Seal { header, signatures }.encode(), completed).unwrap();
        }
        ((store, folder), head)
    }

    #[test]
    fn the_stored_log_ends_where_the_service_stopped() {
        for count in [0, 1, 2, 3, 7, 8, 21] {
            let ((store, _folder), head) = stored(count);
            assert_eq!(chain_head(&store, |_| Ok(())).unwrap(), head);
        }
    }

    #[test]
    fn a_log_with_another_tree_than_its_last_seal_commits_to_is_not_continued() {
        let ((store, _folder), head) = stored(6);
        let (_, last) = store.last_seal().unwrap().unwrap();
        // Seal 6 is a copy of seal 5, and its nodes are those of another entry.
        store.put_seal(6, last, head.log.clone().push(&[7; 32])).unwrap();
        assert!(matches!(chain_head(&store, |_| Ok(())), Err(LogError::Seal { number: 6, .. })));
        let ((store, _folder), _) = stored(2);
        let seal = store.seal(1).unwrap().unwrap();
        let (cut, _cut) = scratch();
        cut.put_seal(1, seal, vec![]).unwrap();
        assert!(matches!(chain_head(&cut, |_| Ok(())), Err(LogError::NodeMissing { level: 0, number: 0 })));
    }

    /// A copy of a store in which one node or one seal is another.
    fn edited(store: &Sqlite, node: Option<(u8, u64)>, seal: Option<u64>) -> (Sqlite, TempDir) {
        let (copy, folder) = scratch();
        let (newest, _) = store.last_seal().unwrap().unwrap();
        for number in 0..=newest {
            let mut bytes = store.seal(number).unwrap().unwrap();
            if seal == Some(number) {
                let mut other = Seal::decode(&bytes).unwrap();
                other.header.time += 1;
                bytes = other.encode();
            }
            let completed = 0..=(number + 1).trailing_zeros() as u8;
            let nodes = completed.map(|level| match node == Some((level, number >> level)) {
                true => [9; 32],
                false => store.log_node(level, number >> level).unwrap().unwrap(),
            });
            copy.put_seal(number, bytes, nodes.collect()).unwrap();
        }
        (copy, folder)
    }

    /// Claim V25.
    #[test]
    fn nothing_is_served_that_the_newest_seal_does_not_vouch_for() {
        let ((store, _folder), _) = stored(11);
        let all = |store: &Sqlite| {
            let mut refused = 0;
            let mut count = |outcome: Result<bool, LogError>| match outcome {
                Ok(served) => assert!(served),
                Err(LogError::Altered(_)) => refused += 1,
                Err(cause) => panic!("{cause}"),
            };
            for size in 1..=10 {
                for old in 1..=size {
                    count(consistency(store, old, size).map(|proof| proof.is_some()));
                }
                for number in 0..size {
                    count(inclusion(store, number, size).map(|path| path.is_some()));
                }
            }
            for number in 0..=10 {
                count(entry(store, number).map(|entry| entry.is_some()));
            }
            refused
        };
        assert_eq!(all(&store), 0);
        assert!(inclusion(&store, 3, 3).unwrap().is_none() && entry(&store, 11).unwrap().is_none());
        for level in 0..4 {
            for number in 0..(10 >> level) {
                let (altered, _altered) = edited(&store, Some((level, number)), None);
                assert!(all(&altered) > 0, "node {number} of level {level}");
            }
        }
        for number in 0..10 {
            let (altered, _altered) = edited(&store, None, Some(number));
            assert!(matches!(entry(&altered, number), Err(LogError::Altered(_))));
            assert!(matches!(inclusion(&altered, number, 10), Err(LogError::Altered(_))));
        }
    }

    #[test]
    fn a_log_whose_newest_seal_is_not_signed_is_not_continued() {
        let ((store, _folder), _) = stored(3);
        let keys = SigningKeys::generate(1, 9, &mut rand::rng()).unwrap();
        let set = TrustedKeySet { keys: keys.public().clone(), status: KeySetStatus::Active };
        let root = TrustRoot::new("auth.example", vec![set]).unwrap();
        let unknown = chain_head(&store, |seal| check_signatures(seal, &root));
        assert!(matches!(unknown, Err(LogError::UnknownKeys { number: 2, version: 1, .. })));
        let text = unknown.unwrap_err().to_string();
        assert!(text.contains(&"01".repeat(32)) && text.contains("copy trust-roots/2.json"), "{text}");
        let unsigned = chain_head(&store, |seal| {
            let mut seal = seal.clone();
            seal.header.key_set_id = keys.id();
            check_signatures(&seal, &root)
        });
        assert!(matches!(unsigned, Err(LogError::Seal { number: 2, .. })));
    }
}
