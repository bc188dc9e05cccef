//! Seals without their signatures, which a later seal vouches for.

use trefoil_attest::tree::{MerkleTree, verify_inclusion};
use trefoil_attest::{
    HEADER_BYTES_MAX, KeySetStatus, LogEntry, PrunedSeal, Seal, SealHeader, TrustRoot, TrustedKeySet,
    VerifyError, join, verify_pruned_seal, verify_with_pruned_seal,
};
use trefoil_sign::SigningKeys;

use crate::fixture::{
    AccountKey, ISSUED_AT, ISSUER, Issued, LEAF, NOT_AFTER, NOT_BEFORE, NOW, OtherKeys, statement,
};

/// Seals in the log before the later one.
const SIZE: usize = 23;
/// The one that is pruned.
const NUMBER: u64 = 17;

struct Logged {
    issued: Issued,
    digests: Vec<[u8; 32]>,
    pruned: PrunedSeal,
}

/// A log in which the seal of an attestation is number [`NUMBER`], and a later seal signs the log.
fn logged() -> Logged {
    let mut issued = Issued::new();
    assert_eq!(issued.seal.header.seal_number, NUMBER);
    let mut digests: Vec<[u8; 32]> = (0..SIZE as u8).map(|number| [number; 32]).collect();
    digests[NUMBER as usize] = issued.seal.header.digest();
    let header = later(&issued, &digests);
    let checkpoint = issued.keys.sign_seal(header, &mut issued.rng).unwrap();
    let path = MerkleTree::new(&digests).unwrap().path(NUMBER).unwrap();
    let pruned = PrunedSeal { header: issued.seal.header.clone(), path, checkpoint };
    Logged { issued, digests, pruned }
}

/// What the seal after `digests` says.
fn later(issued: &Issued, digests: &[[u8; 32]]) -> SealHeader {
    SealHeader {
        seal_number: digests.len() as u64,
        previous: digests[digests.len() - 1],
        log_root: MerkleTree::new(digests).unwrap().root(),
        time: ISSUED_AT + 3,
        ..issued.seal.header.clone()
    }
}

#[test]
fn a_compact_attestation_verifies_with_its_pruned_seal_and_no_other() {
    let Logged { issued, pruned, .. } = logged();
    let (bytes, policy) = (issued.compact(), issued.policy());
    let verified = verify_with_pruned_seal(&bytes, &pruned, &policy, NOW).unwrap();
    assert_eq!((verified.seal(), verified.leaf_index()), (&issued.seal.header, LEAF));
    assert_eq!(PrunedSeal::decode(&pruned.encode()).unwrap(), pruned);
    // A full attestation needs no help, and takes none.
    verify_with_pruned_seal(&issued.full(), &pruned, &policy, NOW).unwrap();
    // A device's signature counts in this form too.
    let (key, pinned) = (AccountKey::new(1), issued.policy().account_key(AccountKey::new(1).id()));
    let joined = join(&bytes, &key.of(&statement())).unwrap();
    let verified = verify_with_pruned_seal(&joined, &pruned, &pinned, NOW).unwrap();
    assert_eq!(verified.device(), Some(key.id()));
    let refused = verify_with_pruned_seal(&bytes, &pruned, &pinned, NOW).unwrap_err();
    assert_eq!(refused, VerifyError::NoDeviceSignature);
    let mut other = pruned.clone();
    other.header.time += 1;
    let named = issued.seal.reference();
    let refused = verify_with_pruned_seal(&bytes, &other, &policy, NOW).unwrap_err();
    assert_eq!(refused, VerifyError::OtherSeal(named));
}

/// Claim V14.
#[test]
fn every_byte_of_a_pruned_seal_matters() {
    let Logged { issued, pruned, .. } = logged();
    let (bytes, root) = (pruned.encode(), issued.trust_root());
    let signatures = bytes.len() - pruned.checkpoint.encode().len();
    // All of the header and the path, and of the signatures some.
    for at in (0..signatures).chain((signatures..bytes.len()).step_by(173)) {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let accepted =
            PrunedSeal::decode(&changed).is_ok_and(|changed| verify_pruned_seal(&changed, &root).is_ok());
        assert!(!accepted, "byte {at} of {}", bytes.len());
    }
    for end in 0..bytes.len() {
        assert!(PrunedSeal::decode(&bytes[..end]).is_err(), "{end} bytes");
    }
    assert!(PrunedSeal::decode(&[&bytes[..], &[0]].concat()).is_err());
}

/// Claim V14: A seal whose signatures were pruned verifies offline only with a later seal of the same keys.
#[test]
fn a_pruned_seal_is_signed_by_its_own_keys_or_refused() {
    let Logged { mut issued, digests, pruned } = logged();
    let root = issued.trust_root();
    assert_eq!(verify_pruned_seal(&pruned, &root), Ok(()));
    // Another key set of the same issuer, trusted as well.
    let mut others = SigningKeys::generate(NOT_BEFORE, NOT_AFTER, &mut issued.rng).unwrap();
    let header = SealHeader { key_set_id: others.id(), ..later(&issued, &digests) };
    let by_others =
        PrunedSeal { checkpoint: others.sign_seal(header, &mut issued.rng).unwrap(), ..pruned.clone() };
    let trusted = |keys: &SigningKeys, status| TrustedKeySet { keys: keys.public().clone(), status };
    let both = [(&issued.keys, KeySetStatus::Active), (&others, KeySetStatus::Active)];
    let both = TrustRoot::new(ISSUER, both.map(|(keys, status)| trusted(keys, status)).to_vec()).unwrap();
    assert_eq!(verify_pruned_seal(&pruned, &both), Ok(()));
    assert_eq!(verify_pruned_seal(&by_others, &both), Err(VerifyError::OtherKeySet(others.id())));
    // A thief names the keys and signs with others.
    let forged =
        PrunedSeal { checkpoint: OtherKeys::new().sign(&pruned.checkpoint.header), ..pruned.clone() };
    assert!(matches!(verify_pruned_seal(&forged, &root), Err(VerifyError::Signature(_))));
    // Keys that were revoked vouch for nothing, and retired ones for what they sealed before.
    let with = |status| verify_pruned_seal(&pruned, &issued.trust_root_with(status));
    assert!(matches!(with(KeySetStatus::Revoked { since: NOW }), Err(VerifyError::RevokedKeySet { .. })));
    assert_eq!(with(KeySetStatus::Retired { since: NOW + 2 }), Ok(()));
    for since in [pruned.header.time, pruned.checkpoint.header.time] {
        assert!(matches!(with(KeySetStatus::Retired { since }), Err(VerifyError::RetiredKeySet { .. })));
    }
}

#[test]
fn a_seal_that_is_not_in_the_signed_log_is_refused() {
    let Logged { mut issued, mut digests, pruned } = logged();
    let root = issued.trust_root();
    let header = SealHeader { root: [7; 32], ..pruned.header.clone() };
    let elsewhere = PrunedSeal { header, ..pruned.clone() };
    assert_eq!(verify_pruned_seal(&elsewhere, &root), Err(VerifyError::NotInLog));
    // The checkpoint is an earlier seal than the pruned one: its log cannot hold it.
    digests.truncate(NUMBER as usize);
    let earlier = issued.keys.sign_seal(later(&issued, &digests), &mut issued.rng).unwrap();
    let earlier = PrunedSeal { checkpoint: earlier, path: Vec::new(), ..pruned.clone() };
    assert_eq!(verify_pruned_seal(&earlier, &root), Err(VerifyError::NotInLog));
    let SealHeader { log_root, seal_number, .. } = &pruned.checkpoint.header;
    assert!(verify_inclusion(&pruned.header.digest(), NUMBER, *seal_number, &pruned.path, log_root));
}

#[test]
fn a_header_is_no_seal_and_a_seal_no_header() {
    let Issued { seal, .. } =
        Issued::with(&statement(), |header| SealHeader { issuer: "i".repeat(255), ..header });
    let header = seal.header.encode();
    assert!(header.len() <= HEADER_BYTES_MAX && Seal::decode(&header).is_err());
    assert!(SealHeader::decode(&seal.encode()).is_err());
    assert_eq!(LogEntry::decode(&header), Ok(LogEntry::Pruned(seal.header.clone())));
    assert_eq!(LogEntry::decode(&seal.encode()), Ok(LogEntry::Signed(seal.clone())));
    for at in 0..header.len() {
        let mut changed = header.clone();
        changed[at] ^= 1;
        let same = SealHeader::decode(&changed).is_ok_and(|changed| changed.digest() == seal.header.digest());
        assert!(!same && SealHeader::decode(&header[..at]).is_err(), "byte {at}");
        if let Ok(decoded) = SealHeader::decode(&changed) {
            assert_eq!(decoded.encode(), changed);
        }
    }
}
