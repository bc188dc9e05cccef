//! Checking a proof.

use std::{ops::RangeInclusive, panic::catch_unwind};

use postcard::ser_flavors::Flavor;

use crate::{
    layout::ROWS,
    parameters::{self, Proof},
    statement::{Circuit, Statement, StatementError},
    trace::public_values,
};

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
    /// A proof of another trace length than the circuit's.
    #[error(
        "the proof is of a trace of 2^{log_rows} rows with its masks; the circuit's has 2^{MASKED_LOG_ROWS}"
    )]
    Rows {
        /// Rows of the masked trace, base-2 logarithm.
        log_rows: usize,
    },
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
/// Checks in order of cost: size window, canonical decoding, then the argument. Total on any input: a
/// panic inside the verifier is caught and counts as a refusal.
///
/// # Errors
/// [`ProofError`] says which of these checks refused it.
pub fn verify(statement: &Statement, proof: &[u8]) -> Result<Verified, ProofError> {
    statement.check_epoch()?;
    check_size(statement.circuit, proof.len())?;
    catch_unwind(|| argue(statement, &decode(proof)?)).unwrap_or(Err(ProofError::Panicked))?;
    Ok(Verified { statement: statement.clone(), statement_digest: statement.digest() })
}

/// Whether `proof` is the canonical encoding of some proof for `circuit`: the first step of [`verify`], for those
/// that measure it or store proofs unverified. It says nothing about what the proof shows.
///
/// # Errors
/// [`ProofError`] when it is too short, too long or not canonical.
pub fn check_encoding(circuit: Circuit, proof: &[u8]) -> Result<(), ProofError> {
    check_size(circuit, proof.len())?;
    catch_unwind(|| decode(proof).map(drop)).unwrap_or(Err(ProofError::Panicked))
}

// Browser engines isolate a panic themselves; a service must not crash on one.
#[cfg(all(panic = "abort", not(target_family = "wasm")))]
compile_error!("verify() relies on catch_unwind: build with panic = \"unwind\"");

/// Checks the argument itself.
fn argue(statement: &Statement, proof: &Proof) -> Result<(), ProofError> {
    let config = parameters::verifying(statement);
    p3_uni_stark::verify(&config, parameters::circuit(), proof, &public_values(statement))
        .map_err(|_| ProofError::Rejected)
}

/// Reads a proof from the one encoding that it has.
///
/// `postcard` reads padded integers and ignores what follows; encoding the result again and comparing excludes
/// both, so that a proof has one digest. Field elements at or above the modulus are refused while reading.
///
/// The proof names its own trace length. A longer trace satisfies the circuit as well, because it is periodic, but soundness
/// and masks are computed for [`ROWS`] rows: any other length is refused here.
fn decode(bytes: &[u8]) -> Result<Proof, ProofError> {
    let proof: Proof = postcard::from_bytes(bytes).map_err(|_| ProofError::Encoding)?;
    postcard::serialize_with_flavor(&proof, Expected(bytes)).map_err(|_| ProofError::Encoding)?;
    match proof.degree_bits {
        MASKED_LOG_ROWS => Ok(proof),
        log_rows => Err(ProofError::Rows { log_rows }),
    }
}

/// Base-2 logarithm of the masked trace's length: hiding doubles it.
pub(crate) const MASKED_LOG_ROWS: usize = ROWS.ilog2() as usize + 1;

/// A serialisation target that accepts only the bytes it expects: a comparison without a copy.
struct Expected<'a>(&'a [u8]);

impl Flavor for Expected<'_> {
    type Output = ();

    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0 = self.0.strip_prefix(data).ok_or(postcard::Error::SerializeBufferFull)?;
        Ok(())
    }

    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        self.try_extend(&[data])
    }

    fn finalize(self) -> postcard::Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(postcard::Error::SerializeBufferFull) }
    }
}

pub(crate) fn check_size(circuit: Circuit, got: usize) -> Result<(), ProofError> {
    let window = proof_size_window(circuit);
    if window.contains(&got) {
        return Ok(());
    }
    Err(ProofError::Size { got, min: *window.start(), max: *window.end(), circuit: circuit.name() })
}

/// Lengths in bytes that a proof of `circuit` can have, for checking a `Content-Length` before reading.
pub fn proof_size_window(circuit: Circuit) -> RangeInclusive<usize> {
    match circuit {
        Circuit::Cred2 => 65_536..=131_072,
        Circuit::Cred2u => 147_456..=262_144,
    }
}

#[cfg(test)]
mod mutants;
#[cfg(test)]
mod tests;
