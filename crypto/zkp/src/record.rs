//! A proof as a relying party stores it.

use std::ops::RangeInclusive;
use trefoil_types::{Account, AccountKeyId, SessionId};

use trefoil_attest::Statement as Attested;
use zeroize::Zeroizing;

pub use crate::frame::EnvelopeError as RecordError;
use crate::{
    envelope::ProofEnvelope,
    epoch::proof_counts,
    frame::Frame,
    statement::{Circuit, Statement},
    verify::{ProofError, Verified, verify},
};

/// The data of a session for verifying its proof at any later time, and for deciding which attestations it
/// backs. The session key is not in it, only its commitment.
///
/// A record shows the statement, and with it account and handle of the holder. A party that gets it can link this holder's activity
/// across all parties at this tenant that have a record too.
///
/// Layout as [`ProofEnvelope`]'s, with the magic "TFR3" and the commitment in place of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofRecord {
    /// The statement.
    pub statement: Statement,
    /// Service and relying party, at most 255 bytes.
    pub audience: String,
    /// Commitment of the session key.
    pub key_commitment: [u8; 32],
    /// The key with which the holder's devices sign for its account.
    pub account_key: AccountKeyId,
    /// The requesting policy.
    pub policy_id: u32,
    /// The proof's bytes.
    pub proof: Vec<u8>,
}

/// Why a record does not back an attested statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotBacked {
    /// The statement names no proof.
    #[error("the attested statement names no proof")]
    NoProof,
    /// A field of the two differs.
    #[error("the attested statement's {0} is not that of the stored proof")]
    Field(&'static str),
    /// It was issued at a time when the proof did not count, see [`crate::proof_counts`].
    #[error("the attested statement was issued at a time for which the stored proof does not count")]
    Time,
}

const MAGIC: &str = "TFR3";

impl ProofRecord {
    /// Lengths that a record for `circuit` can have.
    pub fn size_window(circuit: Circuit) -> RangeInclusive<usize> {
        Frame::size_window(circuit)
    }

    /// The bytes to store. Refuses what [`ProofRecord::decode`] would refuse.
    ///
    /// # Errors
    /// [`RecordError`] names the field that is out of bounds.
    pub fn encode(&self) -> Result<Vec<u8>, RecordError> {
        let ProofRecord { statement, audience, key_commitment, account_key, policy_id, proof } = self;
        let (statement, key) = (statement.clone(), Zeroizing::new(*key_commitment));
        let (account_key, policy_id) = (*account_key, *policy_id);
        let frame = Frame { statement, audience, key, account_key, policy_id, proof };
        frame.check(key_commitment)?;
        Ok(frame.encode(MAGIC))
    }

    /// Reads exactly one record, recomputes context and scope and compares them. The proof is not verified.
    ///
    /// # Errors
    /// [`RecordError`] names what cannot be read, is out of bounds or does not fit the rest.
    pub fn decode(bytes: &[u8]) -> Result<ProofRecord, RecordError> {
        let frame = Frame::decode(bytes, MAGIC)?;
        frame.check(&frame.key)?;
        Ok(ProofRecord {
            statement: frame.statement,
            audience: frame.audience.to_owned(),
            key_commitment: *frame.key,
            account_key: frame.account_key,
            policy_id: frame.policy_id,
            proof: frame.proof.to_vec(),
        })
    }

    /// Verifies the proof. The caller must know whether root and generation were the tenant's.
    ///
    /// # Errors
    /// [`ProofError`] when the proof does not show the statement.
    pub fn verify(&self) -> Result<Verified, ProofError> {
        verify(&self.statement, &self.proof)
    }

    /// Whether this record, once verified, backs an attested statement, once that is verified
    /// ([`trefoil_attest::verify`]): every field that both have is the same, and the times fit. `device` is the account key with which a device
    /// signed that ([`trefoil_attest::Verified::device`]); if one did, it is the record's.
    ///
    /// # Errors
    /// [`NotBacked`] names the first field that differs.
    pub fn backs(&self, attested: &Attested<'_>, device: Option<AccountKeyId>) -> Result<(), NotBacked> {
        let ProofRecord { statement, audience, account_key, policy_id, .. } = self;
        let proof = attested.proof.ok_or(NotBacked::NoProof)?;
        let fields = [
            ("circuit", proof.circuit == statement.circuit.id()),
            ("root", proof.root == *statement.root.as_bytes()),
            ("level", proof.level == statement.level),
            ("epoch", proof.epoch == statement.epoch),
            ("tenant", attested.tenant == statement.tenant),
            ("audience", attested.audience == audience),
            ("account", attested.account == Account::new(*statement.account.as_bytes())),
            ("account key", device.is_none_or(|device| device == *account_key)),
            ("policy", attested.policy_id == *policy_id),
            ("session", proof.session == SessionId::new(statement.digest())),
        ];
        if let Some((name, _)) = fields.iter().find(|(_, same)| !same) {
            return Err(NotBacked::Field(name));
        }
        if !proof_counts(statement.epoch, attested.issued_at) {
            return Err(NotBacked::Time);
        }
        Ok(())
    }
}

impl From<&ProofEnvelope> for ProofRecord {
    /// The part of an upload that may be passed on.
    fn from(envelope: &ProofEnvelope) -> ProofRecord {
        ProofRecord {
            statement: envelope.statement.clone(),
            audience: envelope.audience.clone(),
            key_commitment: envelope.session_key.commitment(),
            account_key: envelope.account_key,
            policy_id: envelope.policy_id,
            proof: envelope.proof.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
