//! The bounds of each check of `verify`, with the shared vectors and public inputs only. A changed seal gets as far as its
//! signatures where every check before them lets it pass.

use crate::vectors::read;
use trefoil_attest::{
    Attestation, Evidence, ExpectedNonce, Family, Policy, Seal, SealHeader, Statement, TrustRoot,
    VerifyError, verify_seal, verify_with_seal,
};

/// `now` of `cases.json`.
const NOW: u64 = 1_800_000_010;
const AUDIENCE: &str = "https://shop.example";
const NONCE: [u8; 32] = [3; 32];
/// The signature that is checked first.
const CHANGED: VerifyError = VerifyError::Signature(Family::Falcon512);

fn trust_root() -> TrustRoot {
    TrustRoot::from_file(&read("trust-root.json")).unwrap()
}

fn policy_of(root: TrustRoot) -> Policy {
    Policy::new(root, AUDIENCE, ExpectedNonce::Exactly(NONCE.to_vec()))
}

fn seal() -> Seal {
    Seal::decode(&read("seal.cbor")).unwrap()
}

/// The vector's seal with other claims, which its signatures do not cover.
fn with_header(change: impl FnOnce(&mut SealHeader)) -> Seal {
    let mut seal = seal();
    change(&mut seal.header);
    seal
}

#[test]
fn a_seal_is_of_this_issuer_within_its_limits_and_its_keys_validity() {
    let root = trust_root();
    let outcome = |change: &dyn Fn(&mut SealHeader)| verify_seal(&with_header(change), &root);
    assert_eq!(outcome(&|_| {}), Ok(()));
    assert_eq!(outcome(&|header| header.tree_size = 0), Err(VerifyError::SealFields));
    assert_eq!(outcome(&|header| header.issuer.clear()), Err(VerifyError::SealFields));
    let found = "https://other.example".to_owned();
    assert_eq!(
        outcome(&|header| header.issuer.clone_from(&found)),
        Err(VerifyError::Issuer { found: found.clone() })
    );
    let (id, keys) = (seal().header.key_set_id, &root.key_sets()[0].keys);
    for (time, expected) in [
        (keys.not_before - 1, VerifyError::KeySetValidity { id, time: keys.not_before - 1 }),
        (keys.not_before, CHANGED),
        (keys.not_after - 1, CHANGED),
        (keys.not_after, VerifyError::KeySetValidity { id, time: keys.not_after }),
    ] {
        assert_eq!(outcome(&|header| header.time = time), Err(expected));
    }
}

#[test]
fn a_seal_is_at_most_the_skew_older_than_its_statement_or_in_the_future() {
    let bytes = read("full.cbor");
    let attestation = Attestation::decode(&bytes).unwrap();
    let issued_at = Statement::decode(attestation.statement).unwrap().issued_at;
    for skew in [0, 10, 60] {
        for (time, passes) in [
            (issued_at - skew - 1, false),
            (issued_at - skew, true),
            (NOW + skew, true),
            (NOW + skew + 1, false),
        ] {
            let seal = with_header(|header| header.time = time);
            let evidence = Evidence::Compact(seal.reference());
            let compact = Attestation { evidence, ..attestation.clone() }.encode();
            let policy = policy_of(trust_root()).clock_skew(skew);
            let refused = verify_with_seal(&compact, &seal, &policy, NOW).unwrap_err();
            let expected = if passes { CHANGED } else { VerifyError::SealTime { time } };
            assert_eq!(refused, expected, "skew {skew}");
        }
    }
}
