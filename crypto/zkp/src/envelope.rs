//! The upload that opens a proof session.

use std::{fmt, ops::RangeInclusive};

use trefoil_types::AccountKeyId;

pub use crate::frame::EnvelopeError;
use crate::{
    frame::Frame,
    session::SessionKey,
    statement::{Circuit, Statement},
};

/// A proof with everything that the service needs to check and bind it.
///
/// Layout, integers little-endian: magic "TFP3", statement (191 bytes), u8 length and audience (UTF-8), session
/// key (32), account key id (32), policy id u32, u32 length and proof. Nothing follows.
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
    /// The key with which the holder's devices sign for its account.
    pub account_key: AccountKeyId,
    /// The requesting policy.
    pub policy_id: u32,
    /// The proof's bytes.
    pub proof: Vec<u8>,
}

const MAGIC: &str = "TFP3";

impl ProofEnvelope {
    /// Lengths that an envelope for `circuit` can have, for checking a `Content-Length` before reading.
    pub fn size_window(circuit: Circuit) -> RangeInclusive<usize> {
        Frame::size_window(circuit)
    }

    /// The bytes to send. Refuses what [`ProofEnvelope::decode`] would refuse.
    ///
    /// # Errors
    /// [`EnvelopeError`] names the field that is out of bounds.
    pub fn encode(&self) -> Result<Vec<u8>, EnvelopeError> {
        let ProofEnvelope { statement, audience, session_key, account_key, policy_id, proof } = self;
        let (statement, key) = (statement.clone(), session_key.to_bytes());
        let (account_key, policy_id) = (*account_key, *policy_id);
        let frame = Frame { statement, audience, key, account_key, policy_id, proof };
        frame.check(&session_key.commitment())?;
        Ok(frame.encode(MAGIC))
    }

    /// Reads exactly one envelope, recomputes context and scope and compares them. The proof is not verified.
    ///
    /// # Errors
    /// [`EnvelopeError`] names what cannot be read, is out of bounds or does not fit the rest.
    pub fn decode(bytes: &[u8]) -> Result<ProofEnvelope, EnvelopeError> {
        let frame = Frame::decode(bytes, MAGIC)?;
        let session_key = SessionKey::from_bytes(*frame.key);
        frame.check(&session_key.commitment())?;
        Ok(ProofEnvelope {
            statement: frame.statement,
            audience: frame.audience.to_owned(),
            session_key,
            account_key: frame.account_key,
            policy_id: frame.policy_id,
            proof: frame.proof.to_vec(),
        })
    }
}

impl fmt::Debug for ProofEnvelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProofEnvelope { statement, audience, session_key, account_key, policy_id, proof } = self;
        f.debug_struct("ProofEnvelope")
            .field("statement", statement)
            .field("audience", audience)
            .field("session_key", session_key)
            .field("account_key", account_key)
            .field("policy_id", policy_id)
            .field("proof_bytes", &proof.len())
            .finish()
    }
}

#[cfg(test)]
mod tests;
