//! The upload that opens a proof session.

use std::{fmt, ops::RangeInclusive};

use crate::{
    chain::{ChainCommitment, ChainLength},
    hash::scope,
    session::{AUDIENCE_BYTES_MAX, SessionKey, context, with_chain},
    statement::{Circuit, Statement, StatementError},
    verify::proof_size_window,
};

/// A proof with all that the service needs to check and to bind it.
///
/// Layout, integers little-endian: magic "TFP1", statement (191 bytes), u8 length and audience (UTF-8), session
/// key (32), policy id u32, u32 length and proof. Nothing follows. With a hash chain the magic is "TFP2", and the
/// chain's u32 length and tip (32) stand before the length of the proof.
///
/// The session key travels inside, so an envelope is sent over an authenticated, encrypted channel only.
#[derive(Clone)]
pub struct ProofEnvelope {
    /// The statement.
    pub statement: Statement,
    /// Service and relying party, at most 255 bytes.
    pub audience: String,
    /// Key under which the session's requests are authenticated.
    pub session_key: SessionKey,
    /// Policy that asked.
    pub policy_id: u32,
    /// Commitment of the session's hash chain, if it has one.
    pub chain: Option<ChainCommitment>,
    /// The proof's bytes.
    pub proof: Vec<u8>,
}

/// Why bytes are no envelope, or an envelope cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// Other magic than "TFP1" and "TFP2".
    #[error("envelope: not a proof envelope (magic TFP1, or TFP2 with a hash chain, missing)")]
    Magic,
    /// The bytes end early.
    #[error("envelope: {field} is cut off")]
    Truncated {
        /// The field that is incomplete.
        field: &'static str,
    },
    /// Bytes after the proof.
    #[error("envelope: {0} bytes after the proof")]
    Trailing(usize),
    /// The audience is not UTF-8.
    #[error("envelope: audience is not UTF-8")]
    AudienceEncoding,
    /// The audience is too long.
    #[error("envelope: audience of {0} bytes, at most 255 allowed")]
    AudienceLength(usize),
    /// The proof's length is not one that the circuit can produce.
    #[error("envelope: proof of {got} bytes, {min} to {max} expected for {circuit}")]
    ProofLength {
        /// Length announced.
        got: usize,
        /// Shortest proof of the circuit.
        min: usize,
        /// Longest proof of the circuit.
        max: usize,
        /// The circuit's name.
        circuit: &'static str,
    },
    /// The chain's length is out of range.
    #[error("envelope: {0}")]
    Chain(#[from] ChainLength),
    /// The statement inside is malformed.
    #[error("envelope: {0}")]
    Statement(#[from] StatementError),
    /// The statement's context is not that of this tenant, audience, key, epoch, policy and chain.
    #[error(
        "envelope: the statement's context does not belong to this audience, session key, policy and chain"
    )]
    Context,
    /// The statement's scope is not that of this tenant, audience and epoch.
    #[error("envelope: the statement's scope does not belong to this tenant, audience and epoch")]
    Scope,
}

impl ProofEnvelope {
    const MAGIC: [u8; 4] = *b"TFP1";
    const MAGIC_WITH_CHAIN: [u8; 4] = *b"TFP2";

    /// Lengths that an envelope for `circuit` can have, for checking a `Content-Length` before reading.
    pub fn size_window(circuit: Circuit) -> RangeInclusive<usize> {
        let (proof, fixed) = (proof_size_window(circuit), 4 + Statement::BYTES + 1 + 32 + 4 + 4);
        proof.start() + fixed..=proof.end() + fixed + AUDIENCE_BYTES_MAX + ChainCommitment::BYTES
    }

    /// The bytes to send. Refuses what [`ProofEnvelope::decode`] would refuse.
    pub fn encode(&self) -> Result<Vec<u8>, EnvelopeError> {
        self.check()?;
        let ProofEnvelope { statement, audience, session_key, policy_id, chain, proof } = self;
        let audience_length =
            u8::try_from(audience.len()).map_err(|_| EnvelopeError::AudienceLength(audience.len()))?;
        let mut bytes = Vec::with_capacity(4 + Statement::BYTES + 1 + audience.len() + 76 + proof.len());
        bytes.extend(if chain.is_some() { Self::MAGIC_WITH_CHAIN } else { Self::MAGIC });
        bytes.extend(statement.encode());
        bytes.push(audience_length);
        bytes.extend(audience.as_bytes());
        bytes.extend(session_key.to_bytes().iter());
        bytes.extend(policy_id.to_le_bytes());
        bytes.extend(chain.iter().flat_map(ChainCommitment::encode));
        bytes.extend((proof.len() as u32).to_le_bytes());
        bytes.extend(proof);
        Ok(bytes)
    }

    /// Reads exactly one envelope, recomputes context and scope and compares them. The proof is not verified.
    pub fn decode(bytes: &[u8]) -> Result<ProofEnvelope, EnvelopeError> {
        let mut rest = bytes;
        let has_chain = match take_array(&mut rest, "magic")? {
            Self::MAGIC => false,
            Self::MAGIC_WITH_CHAIN => true,
            _ => return Err(EnvelopeError::Magic),
        };
        let statement = Statement::decode(take(&mut rest, Statement::BYTES, "statement")?)?;
        let [audience_length] = take_array(&mut rest, "audience length")?;
        let audience = take(&mut rest, audience_length.into(), "audience")?;
        let audience = str::from_utf8(audience).map_err(|_| EnvelopeError::AudienceEncoding)?.to_owned();
        let session_key = SessionKey::from_bytes(take_array(&mut rest, "session key")?);
        let policy_id = u32::from_le_bytes(take_array(&mut rest, "policy id")?);
        let chain = match has_chain {
            true => Some(ChainCommitment::decode(&take_array(&mut rest, "chain")?)?),
            false => None,
        };
        let proof_length = u32::from_le_bytes(take_array(&mut rest, "proof length")?) as usize;
        check_proof_length(&statement, proof_length)?;
        let proof = take(&mut rest, proof_length, "proof")?.to_vec();
        if !rest.is_empty() {
            return Err(EnvelopeError::Trailing(rest.len()));
        }
        let envelope = ProofEnvelope { statement, audience, session_key, policy_id, chain, proof };
        envelope.check()?;
        Ok(envelope)
    }

    fn check(&self) -> Result<(), EnvelopeError> {
        let ProofEnvelope { statement, audience, session_key, policy_id, chain, proof } = self;
        if audience.len() > AUDIENCE_BYTES_MAX {
            return Err(EnvelopeError::AudienceLength(audience.len()));
        }
        check_proof_length(statement, proof.len())?;
        statement.check_epoch()?;
        let Statement { tenant, epoch, .. } = statement;
        let context = context(tenant, audience, &session_key.commitment(), *epoch, *policy_id);
        if statement.ctx != with_chain(context, chain.as_ref()) {
            return Err(EnvelopeError::Context);
        }
        if statement.scope != scope(tenant, audience, *epoch) {
            return Err(EnvelopeError::Scope);
        }
        Ok(())
    }
}

impl fmt::Debug for ProofEnvelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProofEnvelope { statement, audience, session_key, policy_id, chain, proof } = self;
        f.debug_struct("ProofEnvelope")
            .field("statement", statement)
            .field("audience", audience)
            .field("session_key", session_key)
            .field("policy_id", policy_id)
            .field("chain", chain)
            .field("proof_bytes", &proof.len())
            .finish()
    }
}

fn check_proof_length(statement: &Statement, got: usize) -> Result<(), EnvelopeError> {
    let window = proof_size_window(statement.circuit);
    if window.contains(&got) {
        return Ok(());
    }
    let (min, max) = (*window.start(), *window.end());
    Err(EnvelopeError::ProofLength { got, min, max, circuit: statement.circuit.name() })
}

fn take<'a>(rest: &mut &'a [u8], length: usize, field: &'static str) -> Result<&'a [u8], EnvelopeError> {
    let (head, tail) = rest.split_at_checked(length).ok_or(EnvelopeError::Truncated { field })?;
    *rest = tail;
    Ok(head)
}

fn take_array<const N: usize>(rest: &mut &[u8], field: &'static str) -> Result<[u8; N], EnvelopeError> {
    let (head, tail) = rest.split_first_chunk::<N>().ok_or(EnvelopeError::Truncated { field })?;
    *rest = tail;
    Ok(*head)
}

#[cfg(test)]
mod tests;
