use trefoil_attest::{Decision, ProbeMode, Proof, Suite};
use trefoil_types::{Account, BatchId, SessionId, TenantId};

use super::*;
use crate::{
    EPOCH_SECONDS, SessionClaim,
    chain::{Chain, Reveal},
    fixture::{AUDIENCE, POLICY, claim, rng, session_key, witness},
    prove::prove,
    verify::proof_size_window,
};

/// A proven session with a chain of 20 values, and the values that its holder reveals.
fn session() -> (ProofEnvelope, Chain) {
    let key_commitment = session_key().commitment();
    let (witness, claim) = (witness(), claim(Circuit::Cred2, &key_commitment));
    let chain = Chain::random(claim.context(), 20, &mut rng(4)).expect("in range");
    let statement = witness.statement(&SessionClaim { chain: Some(chain.commitment()), ..claim });
    let proof = prove(&witness, &statement, &mut rng(5)).expect("valid witness");
    let envelope = ProofEnvelope {
        statement,
        audience: AUDIENCE.to_owned(),
        session_key: session_key(),
        policy_id: POLICY,
        chain: Some(*chain.commitment()),
        proof,
    };
    (envelope, chain)
}

/// A record without a chain around bytes that only have a proof's length.
fn unproven() -> ProofRecord {
    ProofRecord {
        statement: witness().statement(&claim(Circuit::Cred2, &session_key().commitment())),
        audience: AUDIENCE.to_owned(),
        key_commitment: session_key().commitment(),
        policy_id: POLICY,
        chain: None,
        proof: vec![7; *proof_size_window(Circuit::Cred2).start()],
    }
}

/// An honest service's statement in the session of `record`.
fn attested(record: &ProofRecord, reveal: Option<Reveal>) -> Attested<'_> {
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
        reveal,
        batch_id: BatchId::new([6; 16]),
        place: 1,
        issued_at: u64::from(statement.epoch) * EPOCH_SECONDS + 17,
        expires_at: u64::from(statement.epoch) * EPOCH_SECONDS + 77,
    }
}

/// Claim P10: A stored proof shows offline which attestations it backs, and the service cannot invent a value of the session's hash chain.
#[test]
fn a_stored_proof_verifies_without_the_key_and_backs_its_sessions_attestations() {
    let (envelope, mut chain) = session();
    let bytes = ProofRecord::from(&envelope).encode().expect("well formed");
    assert!(!bytes.windows(32).any(|window| *window == *envelope.session_key.to_bytes()));
    let record = ProofRecord::decode(&bytes).expect("well formed");
    assert_eq!(record, ProofRecord::from(&envelope));
    assert_eq!(record.encode().as_ref(), Ok(&bytes));
    assert_eq!(record.verify().expect("honest").statement(), &envelope.statement);
    for _ in 0..20 {
        let reveal = chain.reveal();
        assert_eq!(record.backs(&attested(&record, reveal)), Ok(()));
    }
    // The chain that the proof commits to is the one that counts.
    let mut other = record.clone();
    other.chain = Some(ChainCommitment::new(21, *record.chain.expect("chained").tip()).expect("in range"));
    assert_eq!(other.encode().err(), Some(RecordError::Context));
    let mut changed = record;
    changed.proof[5000] ^= 1;
    assert!(changed.verify().is_err());
}

/// Claim P10.
#[test]
fn the_service_cannot_invent_a_reveal() {
    let (envelope, mut chain) = session();
    let record = ProofRecord::from(&envelope);
    let first = chain.reveal().expect("20 values");
    let refused = |reveal| record.backs(&attested(&record, reveal));
    assert_eq!(refused(None), Err(NotBacked::NothingRevealed));
    assert_eq!(refused(Some(Reveal { position: 2, ..first })), Err(NotBacked::Chain(ChainError::Mismatch)));
    let invented = Reveal { position: 2, value: [0; 32] };
    assert_eq!(refused(Some(invented)), Err(NotBacked::Chain(ChainError::Mismatch)));
    let beyond = NotBacked::Chain(ChainError::BeyondEnd { position: 21, length: 20 });
    assert_eq!(refused(Some(Reveal { position: 21, ..first })), Err(beyond));
    let unchained = unproven();
    assert_eq!(unchained.backs(&attested(&unchained, None)), Ok(()));
    assert_eq!(unchained.backs(&attested(&unchained, Some(first))), Err(NotBacked::NoChain));
}

#[test]
fn every_field_that_both_have_is_compared() {
    let record = unproven();
    let honest = attested(&record, None);
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
        assert_eq!(record.backs(&other), Err(NotBacked::Field(field)));
    }
    assert_eq!(record.backs(&Attested { proof: None, ..honest.clone() }), Err(NotBacked::NoProof));
    let epoch = u64::from(record.statement.epoch);
    let at = |issued_at| record.backs(&Attested { issued_at, ..honest.clone() });
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
    assert_eq!(ProofEnvelope::decode(&bytes).err(), Some(RecordError::Magic("TFP1", "TFP2")));
    let mut envelope = bytes.clone();
    envelope[..4].copy_from_slice(b"TFP1");
    assert_eq!(ProofEnvelope::decode(&envelope).err(), Some(RecordError::Context), "a commitment is no key");
    assert_eq!(ProofRecord::decode(&envelope).err(), Some(RecordError::Magic("TFR1", "TFR2")));
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
