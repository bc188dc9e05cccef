//! Each requirement of a policy, one at a time.

use trefoil_attest::{Account, TenantId};
use trefoil_attest::{
    Decision, ExpectedNonce, Policy, ProbeMode, Statement, TrustRoot, TrustedKeySet, VerifyError, verify,
};

use crate::fixture::{AUDIENCE, EXPIRES_AT, ISSUED_AT, Issued, NONCE, NOW, statement};

#[test]
fn every_requirement_that_holds_is_accepted_together() {
    let issued = Issued::new();
    let policy = issued
        .policy()
        .tenant(TenantId::new([1; 16]))
        .account(Account::new([2; 32]))
        .request_digest([4; 32])
        .probe_mode(ProbeMode::Plain)
        .proof_level(2)
        .policy_version(7, 3)
        .fmr_class(4);
    verify(&issued.full(), &policy, NOW).unwrap();
}

/// Claim S10: An attestation is for one audience, nonce and time.
#[test]
fn each_requirement_that_fails_is_named() {
    let issued = Issued::new();
    let bytes = issued.full();
    let audience =
        |name: &str| Policy::new(issued.trust_root(), name, ExpectedNonce::Exactly(NONCE.to_vec()));
    let nonce = |nonce: Vec<u8>| Policy::new(issued.trust_root(), AUDIENCE, ExpectedNonce::Exactly(nonce));
    let base = || issued.policy();
    let other_issuer = {
        let key_sets: Vec<TrustedKeySet> = issued.trust_root().key_sets().to_vec();
        let root = TrustRoot::new("https://other.example", key_sets).unwrap();
        Policy::new(root, AUDIENCE, ExpectedNonce::Exactly(NONCE.to_vec()))
    };
    let cases = [
        (other_issuer, VerifyError::Issuer { found: "https://auth.example".into() }),
        (audience("https://shop.example/"), VerifyError::Audience { found: AUDIENCE.into() }),
        (audience(""), VerifyError::Audience { found: AUDIENCE.into() }),
        (nonce(vec![4; 32]), VerifyError::Nonce),
        (nonce(vec![3; 31]), VerifyError::Nonce),
        (nonce(Vec::new()), VerifyError::Nonce),
        (base().tenant(TenantId::new([2; 16])), VerifyError::Tenant),
        (base().account(Account::new([1; 32])), VerifyError::Account),
        (base().request_digest([0; 32]), VerifyError::RequestDigest),
        (base().probe_mode(ProbeMode::Shared), VerifyError::ProbeMode(ProbeMode::Plain)),
        (base().proof_level(3), VerifyError::ProofLevel),
        (base().policy_version(8, 1), VerifyError::PolicyVersion),
        (base().policy_version(7, 4), VerifyError::PolicyVersion),
        (base().fmr_class(5), VerifyError::FmrClass(4)),
    ];
    for (policy, error) in cases {
        assert_eq!(verify(&bytes, &policy, NOW).unwrap_err(), error);
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn a_statement_of_another_issuer_under_this_issuers_seal_is_refused() {
    let issued = Issued::with(&Statement { issuer: "https://other.example", ..statement() }, |header| header);
    let refused = verify(&issued.full(), &issued.policy(), NOW).unwrap_err();
    assert_eq!(refused, VerifyError::Issuer { found: "https://other.example".into() });
}

#[test]
fn a_denial_never_passes_for_a_match() {
    let denied = Statement { decision: Decision::NoMatch, proof: None, ..statement() };
    let issued = Issued::with(&denied, |header| header);
    let bytes = issued.full();
    let refused = verify(&bytes, &issued.policy(), NOW).unwrap_err();
    assert_eq!(refused, VerifyError::Decision(Decision::NoMatch));
    let policy = issued.policy().any_decision().accept_no_proof();
    assert_eq!(verify(&bytes, &policy, NOW).unwrap().statement().decision, Decision::NoMatch);
}

/// Who says nothing of a proof gets one: that a request was the person's must not become an application's word unnoticed.
#[test]
fn a_statement_without_a_proof_is_refused_unless_it_is_accepted_on_purpose() {
    let issued = Issued::with(&Statement { proof: None, ..statement() }, |header| header);
    let bytes = issued.full();
    assert_eq!(verify(&bytes, &issued.policy(), NOW).unwrap_err(), VerifyError::NoProof);
    assert_eq!(verify(&bytes, &issued.policy().any_decision(), NOW).unwrap_err(), VerifyError::NoProof);
    let accepting = issued.policy().accept_no_proof();
    assert_eq!(verify(&bytes, &accepting, NOW).unwrap().statement().proof, None);
    assert_eq!(verify(&bytes, &accepting.proof_level(0), NOW).unwrap_err(), VerifyError::NoProof);
    verify(&Issued::new().full(), &Issued::new().policy().accept_no_proof(), NOW).unwrap();
}

/// Claim S10.
#[test]
fn time_is_bounded_on_both_sides() {
    let issued = Issued::new();
    let bytes = issued.full();
    for (skew, first, last) in [(0, ISSUED_AT + 1, EXPIRES_AT - 1), (60, ISSUED_AT - 59, EXPIRES_AT + 59)] {
        let policy = issued.policy().clock_skew(skew);
        verify(&bytes, &policy, first).unwrap();
        verify(&bytes, &policy, last).unwrap();
        let expired = verify(&bytes, &policy, last + 1).unwrap_err();
        assert_eq!(expired, VerifyError::Expired { expires_at: EXPIRES_AT });
        // One second earlier the seal, made a second after the statement, is in the future.
        let early = verify(&bytes, &policy, first - 1).unwrap_err();
        assert_eq!(early, VerifyError::SealTime { time: ISSUED_AT + 1 });
        let earlier = verify(&bytes, &policy, first - 2).unwrap_err();
        assert_eq!(earlier, VerifyError::NotYetValid { issued_at: ISSUED_AT });
        for far in [0, u64::MAX, u64::MAX - 1] {
            assert!(verify(&bytes, &policy, far).is_err(), "{far}");
        }
    }
    let greedy = issued.policy().clock_skew(u64::MAX);
    assert!(verify(&bytes, &greedy, EXPIRES_AT + 60).is_err(), "the skew is capped");
}
