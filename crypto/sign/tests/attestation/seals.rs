//! Which key sets may have sealed, and when.

use trefoil_attest::KeySetId;
use trefoil_attest::{
    ExpectedNonce, JobsHead, KeySetStatus, Policy, Restoration, SealHeader, VaultState, VerifyError, verify,
    verify_seal,
};
use trefoil_sign::SignError;

use crate::fixture::{AUDIENCE, Issued, NONCE, NOT_AFTER, NOT_BEFORE, NOW};

#[test]
fn the_status_of_the_key_set_rules() {
    let issued = Issued::new();
    let (bytes, id, time) = (issued.full(), issued.keys.id(), issued.seal.header.time);
    let outcome = |status| {
        let policy =
            Policy::new(issued.trust_root_with(status), AUDIENCE, ExpectedNonce::Exactly(NONCE.to_vec()));
        verify(&bytes, &policy, NOW).map(|_| ())
    };
    assert_eq!(outcome(KeySetStatus::Active), Ok(()));
    assert_eq!(outcome(KeySetStatus::Retired { since: time + 1 }), Ok(()));
    let retired = VerifyError::RetiredKeySet { id, since: time };
    assert_eq!(outcome(KeySetStatus::Retired { since: time }), Err(retired));
    for since in [0, time, u64::MAX] {
        let revoked = VerifyError::RevokedKeySet { id, since };
        assert_eq!(outcome(KeySetStatus::Revoked { since }), Err(revoked), "a thief can back-date a seal");
    }
}

#[test]
fn a_seal_outside_the_validity_is_neither_made_nor_accepted() {
    let mut issued = Issued::new();
    for time in [NOT_BEFORE - 1, NOT_AFTER] {
        let header = SealHeader { time, ..issued.seal.header.clone() };
        let refused = issued.keys.sign_seal(header.clone(), &mut issued.rng).unwrap_err();
        assert_eq!(refused, SignError::OutsideValidity { time });
        let mut seal = issued.seal.clone();
        seal.header = header;
        let refused = VerifyError::KeySetValidity { id: issued.keys.id(), time };
        assert_eq!(verify_seal(&seal, &issued.trust_root()), Err(refused));
    }
}

#[test]
fn headers_that_are_not_for_these_keys_are_not_signed() {
    let mut issued = Issued::new();
    let base = issued.seal.header.clone();
    let mut sign = |header: SealHeader| issued.keys.sign_seal(header, &mut issued.rng).unwrap_err();
    let other = SealHeader { key_set_id: KeySetId::new([1; 32]), ..base.clone() };
    assert_eq!(sign(other), SignError::OtherKeySet(KeySetId::new([1; 32])));
    for header in [
        SealHeader { issuer: String::new(), ..base.clone() },
        SealHeader { issuer: "x".repeat(256), ..base.clone() },
        SealHeader { tree_size: 0, ..base.clone() },
        SealHeader { seal_number: 0, ..base.clone() },
        SealHeader { seal_number: 0, previous: [0; 32], ..base.clone() },
        SealHeader { vaults: vec![None; 4], ..base.clone() },
        SealHeader { restored: Some(Restoration { first: 18, time: 1 }), ..base.clone() },
    ] {
        assert!(matches!(sign(header), SignError::Header(_)));
    }
}

#[test]
fn the_digest_covers_every_header_field_and_no_signature() {
    let mut issued = Issued::new();
    let base = issued.seal.header.clone();
    let again = issued.keys.sign_seal(base.clone(), &mut issued.rng).unwrap();
    assert_ne!(again.signatures, issued.seal.signatures, "hedged");
    assert_eq!(again.reference(), issued.seal.reference());
    let vault = |state| SealHeader { vaults: vec![Some(state)], ..base.clone() };
    let mut digests = vec![base.digest()];
    digests.extend(
        [
            SealHeader { issuer: "x".into(), ..base.clone() },
            SealHeader { key_set_id: KeySetId::new([1; 32]), ..base.clone() },
            SealHeader { seal_number: 18, ..base.clone() },
            SealHeader { previous: [1; 32], ..base.clone() },
            SealHeader { log_root: [1; 32], ..base.clone() },
            SealHeader { tree_size: 12, ..base.clone() },
            SealHeader { root: [1; 32], ..base.clone() },
            SealHeader { time: 1, ..base.clone() },
            SealHeader { vaults: Vec::new(), ..base.clone() },
            SealHeader { vaults: vec![None], ..base.clone() },
            vault(VaultState::default()),
            vault(VaultState { generation: 1, ..VaultState::default() }),
            vault(VaultState { restored: 1, ..VaultState::default() }),
            vault(VaultState { jobs: Some(JobsHead { lines: 0, digest: [0; 32] }), ..VaultState::default() }),
            vault(VaultState { jobs: Some(JobsHead { lines: 1, digest: [0; 32] }), ..VaultState::default() }),
            vault(VaultState { jobs: Some(JobsHead { lines: 0, digest: [1; 32] }), ..VaultState::default() }),
            SealHeader { restored: Some(Restoration { first: 17, time: 1 }), ..base.clone() },
            SealHeader { restored: Some(Restoration { first: 17, time: 2 }), ..base.clone() },
            SealHeader { restored: Some(Restoration { first: 16, time: 2 }), ..base.clone() },
        ]
        .map(|header| header.digest()),
    );
    let count = digests.len();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), count);
}
