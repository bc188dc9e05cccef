//! The layout that uploads and stored proofs share.

use std::ops::RangeInclusive;

use trefoil_attest::NAME_BYTES_MAX;
use trefoil_types::AccountKeyId;
use zeroize::Zeroizing;

use crate::{
    hash::scope,
    session::context,
    statement::{Circuit, Statement, StatementError},
    verify::{ProofError, check_size, proof_size_window},
};

/// Everything around a proof. Layout, integers little-endian: magic (4), statement (191), u8 length and audience
/// (UTF-8), 32 bytes about the session key, account key id (32), policy id u32, u32 length and proof. Nothing follows.
pub(crate) struct Frame<'a> {
    pub(crate) statement: Statement,
    pub(crate) audience: &'a str,
    /// The session key or its commitment, as the format has it.
    pub(crate) key: Zeroizing<[u8; 32]>,
    pub(crate) account_key: AccountKeyId,
    pub(crate) policy_id: u32,
    pub(crate) proof: &'a [u8],
}

/// Why bytes are not an envelope or record, or why one cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// The magic is not that of the format.
    #[error("no magic {0}: not a file of this kind")]
    Magic(&'static str),
    /// The bytes end early.
    #[error("{field} is cut off")]
    Truncated {
        /// The field that is incomplete.
        field: &'static str,
    },
    /// Bytes after the proof.
    #[error("{0} bytes after the proof")]
    Trailing(usize),
    /// The audience is not UTF-8.
    #[error("audience is not UTF-8")]
    AudienceEncoding,
    /// The audience is too long.
    #[error("audience of {0} bytes, at most 255 allowed")]
    AudienceLength(usize),
    /// The proof's length is not one that the circuit can produce.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The statement inside is malformed.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// The statement's context is not that of this tenant, audience, session key, account key, epoch and policy.
    #[error("the statement's context does not belong to this audience, session key, account key and policy")]
    Context,
    /// The statement's scope is not that of this tenant and audience.
    #[error("the statement's scope does not belong to this tenant and audience")]
    Scope,
}

impl<'a> Frame<'a> {
    pub(crate) fn size_window(circuit: Circuit) -> RangeInclusive<usize> {
        let (proof, fixed) = (proof_size_window(circuit), 4 + Statement::BYTES + 1 + 2 * 32 + 4 + 4);
        proof.start() + fixed..=proof.end() + fixed + NAME_BYTES_MAX
    }

    /// The bytes of a frame that [`Frame::check`] has accepted.
    pub(crate) fn encode(&self, magic: &str) -> Vec<u8> {
        let Frame { statement, audience, key, account_key, policy_id, proof } = self;
        let mut bytes = Vec::with_capacity(4 + Statement::BYTES + 1 + audience.len() + 72 + proof.len());
        bytes.extend(magic.bytes());
        bytes.extend(statement.encode());
        bytes.push(audience.len() as u8);
        bytes.extend(audience.as_bytes());
        bytes.extend(key.iter());
        bytes.extend(account_key.as_bytes());
        bytes.extend(policy_id.to_le_bytes());
        bytes.extend((proof.len() as u32).to_le_bytes());
        bytes.extend(*proof);
        bytes
    }

    /// Reads exactly one frame. Nothing is copied but fields of fixed length; the length of the proof is checked
    /// before it is used.
    pub(crate) fn decode(bytes: &'a [u8], magic: &'static str) -> Result<Frame<'a>, EnvelopeError> {
        let mut rest = bytes;
        if take(&mut rest, 4, "magic")? != magic.as_bytes() {
            return Err(EnvelopeError::Magic(magic));
        }
        let statement = Statement::decode(take(&mut rest, Statement::BYTES, "statement")?)?;
        let [audience_length] = take_array(&mut rest, "audience length")?;
        let audience = take(&mut rest, audience_length.into(), "audience")?;
        let audience = str::from_utf8(audience).map_err(|_| EnvelopeError::AudienceEncoding)?;
        let key = Zeroizing::new(take_array(&mut rest, "session key")?);
        let account_key = AccountKeyId::new(take_array(&mut rest, "account key")?);
        let policy_id = u32::from_le_bytes(take_array(&mut rest, "policy id")?);
        let proof_length = u32::from_le_bytes(take_array(&mut rest, "proof length")?) as usize;
        check_size(statement.circuit, proof_length)?;
        let proof = take(&mut rest, proof_length, "proof")?;
        if !rest.is_empty() {
            return Err(EnvelopeError::Trailing(rest.len()));
        }
        Ok(Frame { statement, audience, key, account_key, policy_id, proof })
    }

    /// Recomputes context and scope and compares them; refuses lengths that cannot be encoded.
    pub(crate) fn check(&self, key_commitment: &[u8; 32]) -> Result<(), EnvelopeError> {
        let Frame { statement, audience, key: _, account_key, policy_id, proof } = self;
        if audience.len() > NAME_BYTES_MAX {
            return Err(EnvelopeError::AudienceLength(audience.len()));
        }
        check_size(statement.circuit, proof.len())?;
        statement.check_epoch()?;
        let Statement { tenant, epoch, .. } = statement;
        if statement.ctx != context(tenant, audience, key_commitment, account_key, *epoch, *policy_id) {
            return Err(EnvelopeError::Context);
        }
        if statement.scope != scope(tenant, audience) {
            return Err(EnvelopeError::Scope);
        }
        Ok(())
    }
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
