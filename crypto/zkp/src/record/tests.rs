use trefoil_attest::{Decision, ProbeMode, Proof, Suite};
use trefoil_types::{Account, BatchId, SessionId, TenantId};

use super::*;
use crate::{
    EPOCH_SECONDS,
    fixture::{ACCOUNT_KEY, AUDIENCE, POLICY, claim, rng, session_key, witness},
    prove::prove,
    verify::proof_size_window,
};

/// A proven session.
fn session() -> ProofEnvelope {
    let witness = witness();
    let statement = witness.statement(&claim(Circuit::Cred2, &session_key().commitment()));
    let proof = prove(&witness, &statement, &mut rng(5)).expect("valid witness");
    ProofEnvelope {
        statement,
        audience: AUDIENCE.to_owned(),
        session_key: session_key(),
        account_key: ACCOUNT_KEY,
        policy_id: POLICY,
        proof,
    }
}

/// A record around bytes that only have a proof's length.
fn unproven() -> ProofRecord {
    ProofRecord {
        statement: witness().statement(&claim(Circuit::Cred2, &session_key().commitment())),
        audience: AUDIENCE.to_owned(),
        key_commitment: session_key().commitment(),
        account_key: ACCOUNT_KEY,
        policy_id: POLICY,
        proof: vec![7; *proof_size_window(Circuit::Cred2).start()],
    }
}

/// An honest service's statement in the session of `record`.
fn attested(record: &ProofRecord) -> Attested<'_> {
    let statement = &record.statement;
    Attested {
        suite: Suite::One,
        issuer: "https://auth.example",
        tenant: statement.tenant,
        audience: &record.audience,
        account: Account::new(statement.account.to_bytes()),
        nonce: &[3; 32],
        request_digest: [4; 32],
        decision: Decision::Match,
        probe_mode: ProbeMode::Plain,
        policy_id: record.policy_id,
        policy_version: 1,
        fmr_class: 4,
        embedder: "facenet-128/1",
        quantiser: "unit-r175",
        template_generation: 1,
        proof: Some(Proof {
            circuit: statement.circuit.id(),
            root: statement.root.to_bytes(),
            level: statement.level,
            epoch: statement.epoch,
            session: SessionId::new(statement.digest()),
        }),
        batch_id: BatchId::new([6; 16]),
        place: 1,
        issued_at: u64::from(statement.epoch) * EPOCH_SECONDS + 17,
        expires_at: u64::from(statement.epoch) * EPOCH_SECONDS + 77,
    }
}

/// Claim P10: A stored proof shows offline which attestations it backs.
#[test]
fn a_stored_proof_verifies_without_the_key_and_backs_its_sessions_attestations() {
    let envelope = session();
    let bytes = ProofRecord::from(&envelope).encode().expect("well formed");
    assert!(!bytes.windows(32).any(|window| *window == *envelope.session_key.to_bytes()));
    let record = ProofRecord::decode(&bytes).expect("well formed");
    assert_eq!(record, ProofRecord::from(&envelope));
    assert_eq!(record.encode().as_ref(), Ok(&bytes));
    assert_eq!(record.verify().expect("honest").statement(), &envelope.statement);
    assert_eq!(record.backs(&attested(&record), None), Ok(()));
    let mut changed = record;
    changed.proof[5000] ^= 1;
    assert!(changed.verify().is_err());
}

#[test]
fn every_field_that_both_have_is_compared() {
    let record = unproven();
    let honest = attested(&record);
    let proof = honest.proof.expect("set");
    let with_proof = |proof| Attested { proof: Some(proof), ..honest.clone() };
    let cases = [
        ("circuit", with_proof(Proof { circuit: 2, ..proof })),
        ("root", with_proof(Proof { root: [1; 32], ..proof })),
        ("level", with_proof(Proof { level: proof.level + 1, ..proof })),
        ("epoch", with_proof(Proof { epoch: proof.epoch - 1, ..proof })),
        ("tenant", Attested { tenant: TenantId::new([0; 16]), ..honest.clone() }),
        ("audience", Attested { audience: "other.example", ..honest.clone() }),
        ("account", Attested { account: Account::new(record.statement.handle.to_bytes()), ..honest.clone() }),
        ("policy", Attested { policy_id: POLICY + 1, ..honest.clone() }),
        ("session", with_proof(Proof { session: SessionId::new([1; 32]), ..proof })),
    ];
    for (field, other) in cases {
        assert_eq!(record.backs(&other, None), Err(NotBacked::Field(field)));
    }
    assert_eq!(record.backs(&Attested { proof: None, ..honest.clone() }, None), Err(NotBacked::NoProof));
    // The device that signed the attestation is the one whose key the proof commits to.
    assert_eq!(record.backs(&honest, Some(ACCOUNT_KEY)), Ok(()));
    let other = AccountKeyId::new([1; 32]);
    assert_eq!(record.backs(&honest, Some(other)), Err(NotBacked::Field("account key")));
    let epoch = u64::from(record.statement.epoch);
    let at = |issued_at| record.backs(&Attested { issued_at, ..honest.clone() }, None);
    assert_eq!(at((epoch + 2) * EPOCH_SECONDS - 1), Ok(()));
    assert_eq!(at((epoch - 1) * EPOCH_SECONDS), Ok(()));
    assert_eq!(at((epoch + 2) * EPOCH_SECONDS), Err(NotBacked::Time));
    assert_eq!(at((epoch - 1) * EPOCH_SECONDS - 1), Err(NotBacked::Time));
    assert_eq!(at(u64::MAX), Err(NotBacked::Time));
}

#[test]
fn records_and_envelopes_are_not_confused_and_every_length_is_checked() {
    let record = unproven();
    let bytes = record.encode().expect("well formed");
    assert_eq!(ProofEnvelope::decode(&bytes).err(), Some(RecordError::Magic("TFP3")));
    let mut envelope = bytes.clone();
    envelope[..4].copy_from_slice(b"TFP3");
    assert_eq!(ProofEnvelope::decode(&envelope).err(), Some(RecordError::Context), "a commitment is no key");
    assert_eq!(ProofRecord::decode(&envelope).err(), Some(RecordError::Magic("TFR3")));
    let head = bytes.len() - record.proof.len();
    for length in (0..=head).chain((head..bytes.len()).step_by(997)).chain([bytes.len() - 1]) {
        let error = ProofRecord::decode(&bytes[..length]).err();
        assert!(matches!(error, Some(RecordError::Truncated { .. })), "{length} bytes: {error:?}");
    }
    assert_eq!(ProofRecord::decode(&[bytes.as_slice(), &[0]].concat()).err(), Some(RecordError::Trailing(1)));
    for at in 0..head {
        let mut other = bytes.clone();
        other[at] ^= 1;
        if let Ok(decoded) = ProofRecord::decode(&other) {
            assert_eq!(decoded.encode().as_ref(), Ok(&other), "byte {at}");
        }
    }
}
