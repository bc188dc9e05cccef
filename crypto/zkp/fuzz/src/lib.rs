//! What every input must satisfy. The fuzzers call these functions, and so does `tests/it/fuzz.rs` of trefoil-zkp with
//! the seeds and deterministic changes of them, on the stable compiler.

use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::record::ProofRecord;
use trefoil_zkp::{ProofError, check_encoding, verify};

/// An upload.
pub const ENVELOPE: &[u8] = include_bytes!("../seeds/envelope/plain");
/// A stored proof of another session.
pub const RECORD: &[u8] = include_bytes!("../seeds/record/plain");

/// Decoding is total, inverts encoding, and the record made of an upload is readable.
pub fn envelope(data: &[u8]) {
    let Ok(envelope) = ProofEnvelope::decode(data) else { return };
    assert_eq!(envelope.encode().as_deref(), Ok(data));
    let record = ProofRecord::from(&envelope);
    let stored = record.encode().expect("an envelope's record can be stored");
    assert_eq!(ProofRecord::decode(&stored).as_ref(), Ok(&record));
    encoding(&record);
}

/// Decoding is total and inverts encoding; only what was honestly proven verifies.
pub fn record(data: &[u8]) {
    let Ok(record) = ProofRecord::decode(data) else { return };
    assert_eq!(record.encode().as_deref(), Ok(data));
    encoding(&record);
    assert!(record.verify().is_err() || data == RECORD, "a forged record verifies");
}

/// Bytes as the proof of a fixed statement: only the honest ones verify.
pub fn proof(data: &[u8]) {
    let honest = ProofRecord::decode(RECORD).expect("the seed is well formed");
    let canonical = check_encoding(honest.statement.circuit, data);
    let verified = verify(&honest.statement, data).map(drop);
    assert_ne!(verified, Err(ProofError::Panicked));
    assert!(verified.is_err() || data == honest.proof, "a forged proof verifies");
    assert_eq!(canonical.is_ok(), matches!(verified, Ok(()) | Err(ProofError::Rejected)));
}

fn encoding(record: &ProofRecord) {
    assert_ne!(check_encoding(record.statement.circuit, &record.proof), Err(ProofError::Panicked));
}
