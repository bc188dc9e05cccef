//! Checking a proof.

use std::ops::RangeInclusive;

use crate::statement::{Circuit, Statement, StatementError};

/// Evidence that a proof of the statement was accepted. Only [`verify`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    statement: Statement,
    statement_digest: [u8; 32],
}

/// Why a proof was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The statement is out of range.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// The length is not one that the circuit can produce.
    #[error("proof of {got} bytes, {min} to {max} expected for {circuit}")]
    Size {
        /// Length received.
        got: usize,
        /// Shortest proof of the circuit.
        min: usize,
        /// Longest proof of the circuit.
        max: usize,
        /// The circuit's name.
        circuit: &'static str,
    },
    /// The bytes are not the canonical encoding of a proof.
    #[error("the proof is malformed or not canonically encoded")]
    Encoding,
    /// The proof does not show the statement.
    #[error("the proof does not show the statement")]
    Rejected,
    /// The verifier stopped on these bytes: counted as refused.
    #[error("the proof made the verifier stop; it is refused")]
    Panicked,
}

impl Verified {
    /// The statement that was proven.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// Digest of the statement: session id and cache key.
    pub fn statement_digest(&self) -> &[u8; 32] {
        &self.statement_digest
    }
}

/// Verifies `proof` for `statement`.
///
/// Checks in the order of cost: size window, canonical decoding, then the argument. Total on any input: a
/// panic inside the verifier is caught and counts as a refusal.
pub fn verify(statement: &Statement, proof: &[u8]) -> Result<Verified, ProofError> {
    let _ = (statement, proof);
    todo!()
}

/// Lengths in bytes that a proof of `circuit` can have, for checking a `Content-Length` before reading.
pub fn proof_size_window(circuit: Circuit) -> RangeInclusive<usize> {
    match circuit {
        Circuit::Cred1 => 1..=131_072,
        Circuit::Cred1u => 1..=262_144,
    }
}
