use sha3::{Digest as _, Sha3_256};
use trefoil_types::TenantId;

use super::*;
use crate::{
    Digest, EPOCH_LIMIT, ProofError, StatementError,
    fixture::{self, ACCOUNT_KEY, AUDIENCE, POLICY, session_key, witness},
    proof_size_window, scope,
};

/// An envelope around bytes that only have a proof's length.
fn envelope() -> ProofEnvelope {
    let statement = fixture::statement(&witness(), Circuit::Cred2);
    let length = *proof_size_window(Circuit::Cred2).start();
    ProofEnvelope {
        statement,
        audience: AUDIENCE.to_owned(),
        session_key: session_key(),
        account_key: ACCOUNT_KEY,
        policy_id: POLICY,
        proof: (0..length).map(|i| i as u8).collect(),
    }
}

fn bytes() -> Vec<u8> {
    envelope().encode().expect("well formed")
}

/// Where the fields start.
const AUDIENCE_LENGTH_AT: usize = 4 + Statement::BYTES;
const KEY_AT: usize = AUDIENCE_LENGTH_AT + 1 + AUDIENCE.len();
const PROOF_LENGTH_AT: usize = KEY_AT + 32 + 32 + 4;

fn changed(at: usize, with: &[u8]) -> Option<EnvelopeError> {
    let mut bytes = bytes();
    bytes[at..at + with.len()].copy_from_slice(with);
    ProofEnvelope::decode(&bytes).err()
}

#[test]
fn debug_shows_neither_key_nor_proof() {
    let text = format!("{:?}", envelope());
    assert!(text.contains("SessionKey(..)") && text.contains("proof_bytes: 65536"), "{text}");
    assert!(text.len() < 2000);
}

#[test]
fn every_shorter_input_is_refused() {
    let bytes = bytes();
    let head = PROOF_LENGTH_AT + 4;
    for length in (0..=head).chain((head..bytes.len()).step_by(509)).chain(bytes.len() - 20..bytes.len()) {
        let error = ProofEnvelope::decode(&bytes[..length]).err();
        assert!(matches!(error, Some(EnvelopeError::Truncated { .. })), "{length} bytes: {error:?}");
    }
}

#[test]
fn trailing_bytes_are_refused() {
    for count in [1, 2, 100] {
        let bytes = [bytes(), vec![0; count]].concat();
        assert_eq!(ProofEnvelope::decode(&bytes).err(), Some(EnvelopeError::Trailing(count)));
    }
}

#[test]
fn impossible_lengths_are_refused_before_the_proof_is_read() {
    let window = proof_size_window(Circuit::Cred2);
    for length in [0, 1, *window.start() as u32 - 1, *window.end() as u32 + 1, u32::MAX] {
        let error = changed(PROOF_LENGTH_AT, &length.to_le_bytes());
        assert!(matches!(error, Some(EnvelopeError::Proof(ProofError::Size { .. }))), "{length}: {error:?}");
    }
    let longer = (*window.end() as u32).to_le_bytes();
    assert_eq!(changed(PROOF_LENGTH_AT, &longer), Some(EnvelopeError::Truncated { field: "proof" }));
}

#[test]
fn what_the_statement_does_not_bind_is_refused() {
    assert_eq!(changed(0, b"X"), Some(EnvelopeError::Magic("TFP3")));
    assert_eq!(changed(AUDIENCE_LENGTH_AT + 1, b"q"), Some(EnvelopeError::Context));
    assert_eq!(changed(AUDIENCE_LENGTH_AT + 1, &[0xff]), Some(EnvelopeError::AudienceEncoding));
    assert_eq!(changed(KEY_AT, &[0]), Some(EnvelopeError::Context));
    assert_eq!(changed(KEY_AT + 32, &[0]), Some(EnvelopeError::Context));
    assert_eq!(changed(KEY_AT + 64, &[0]), Some(EnvelopeError::Context));
    assert_eq!(changed(4, b"X"), Some(EnvelopeError::Statement(StatementError::Magic)));
    // An audience length that takes bytes from the key, or gives it some.
    for length in [AUDIENCE.len() as u8 - 1, AUDIENCE.len() as u8 + 1] {
        assert!(changed(AUDIENCE_LENGTH_AT, &[length]).is_some());
    }
}

#[test]
fn every_change_of_the_head_is_refused_or_another_envelope() {
    let original = bytes();
    for at in 0..PROOF_LENGTH_AT + 4 {
        let mut other = original.clone();
        other[at] ^= 1;
        if let Ok(decoded) = ProofEnvelope::decode(&other) {
            assert_eq!(decoded.encode().as_ref(), Ok(&other), "byte {at}");
        }
    }
}

/// Claim P6.
#[test]
fn a_scope_of_another_audience_or_tenant_or_with_an_epoch_is_refused() {
    let mut envelope = envelope();
    let tenant = envelope.statement.tenant;
    // An account that changes with the epoch.
    let with_epoch = Sha3_256::new()
        .chain_update(b"trefoil/scope/authentication/1")
        .chain_update(tenant)
        .chain_update((AUDIENCE.len() as u32).to_le_bytes())
        .chain_update(AUDIENCE)
        .chain_update(envelope.statement.epoch.to_le_bytes())
        .finalize();
    let with_epoch = Digest::hash_to_field("trefoil/hash-to-field/1", &with_epoch.into());
    let other_tenant = TenantId::new(tenant.to_bytes().map(|byte| byte ^ 1));
    for other in [scope(&tenant, "other.example"), scope(&other_tenant, AUDIENCE), with_epoch] {
        envelope.statement.scope = other;
        assert_eq!(envelope.encode().err(), Some(EnvelopeError::Scope));
    }
    envelope.statement.scope = scope(&tenant, AUDIENCE);
    assert!(envelope.encode().is_ok());
}

#[test]
fn an_envelope_that_cannot_be_read_cannot_be_written() {
    let long = ProofEnvelope { audience: "a".repeat(256), ..envelope() };
    assert_eq!(long.encode().err(), Some(EnvelopeError::AudienceLength(256)));
    let short = ProofEnvelope { proof: vec![0; 10], ..envelope() };
    assert!(matches!(short.encode().err(), Some(EnvelopeError::Proof(ProofError::Size { got: 10, .. }))));
    let mut late = envelope();
    late.statement.epoch = EPOCH_LIMIT;
    let error = EnvelopeError::Statement(StatementError::Epoch(EPOCH_LIMIT));
    assert_eq!(late.encode().err(), Some(error));
    let other_policy = ProofEnvelope { policy_id: POLICY + 1, ..envelope() };
    assert_eq!(other_policy.encode().err(), Some(EnvelopeError::Context));
}
