//! The statement of a proof: every public value, in one canonical encoding.

use sha3::{Digest as _, Sha3_256};
use trefoil_types::TenantId;

use crate::{
    digest::{Digest, NonCanonical},
    epoch::EPOCH_LIMIT,
};

/// Parameter set of a proof. The id fixes the circuit, the hash functions and every FRI parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Circuit {
    /// `cred/2`: 55 queries; sized by list decoding.
    Cred2,
    /// `cred/2u`: 114 queries; sized by unique decoding, in case the other bound is broken.
    Cred2u,
}

/// The public values of one proof and the context it is bound to.
///
/// `scope` is checked against tenant and audience, and `ctx` against tenant, audience, epoch, policy and session key, by
/// [`ProofEnvelope`](crate::envelope::ProofEnvelope); `root` and `root_generation` are for the service to
/// compare with the tenant's current ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Statement {
    /// Parameter set.
    pub circuit: Circuit,
    /// Tenant whose members are meant; fixes the second input of `handle`.
    pub tenant: TenantId,
    /// Root of the tenant's credential tree.
    pub root: Digest,
    /// Generation of that root, counted by the tenant's issuer. Bound, not proven.
    pub root_generation: u32,
    /// The credential's expiry is at least this epoch; see [`proof_counts`](crate::proof_counts).
    pub epoch: u32,
    /// The credential's level is at least this.
    pub level: u8,
    /// Scope of `account`: tenant and audience.
    pub scope: Digest,
    /// Pseudonym towards the audience, the same in every epoch.
    pub account: Digest,
    /// Pseudonym within the tenant, which names the template.
    pub handle: Digest,
    /// Session context, see [`session::context`](crate::session::context).
    pub ctx: [u8; 32],
}

/// Why bytes are not a statement, or a statement can have no proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// Wrong length.
    #[error("statement: expected {expected} bytes, got {got}")]
    Length {
        /// Length of the encoding.
        expected: usize,
        /// Length received.
        got: usize,
    },
    /// The magic is not "TFS1".
    #[error("statement: not a statement of version 1 (magic TFS1 missing)")]
    Magic,
    /// A circuit id that this build does not know.
    #[error("statement: unknown circuit id {0}; this build knows 3 (cred/2) and 4 (cred/2u)")]
    Circuit(u16),
    /// An epoch outside the range that the circuit compares in.
    #[error("statement: epoch {0} is not below 2^24; give hours since 1970")]
    Epoch(u32),
    /// A digest with a limb at or above the modulus.
    #[error("statement: {field}: {source}")]
    Digest {
        /// Field of the statement.
        field: &'static str,
        /// The problem with it.
        source: NonCanonical,
    },
}

impl Circuit {
    /// Every circuit of this build.
    pub const ALL: [Circuit; 2] = [Circuit::Cred2, Circuit::Cred2u];

    /// Number on the wire.
    pub fn id(self) -> u16 {
        match self {
            Circuit::Cred2 => 3,
            Circuit::Cred2u => 4,
        }
    }

    /// Name in documents and attestations.
    pub fn name(self) -> &'static str {
        match self {
            Circuit::Cred2 => "cred/2",
            Circuit::Cred2u => "cred/2u",
        }
    }

    /// The circuit with this number.
    pub fn from_id(id: u16) -> Option<Circuit> {
        Circuit::ALL.into_iter().find(|circuit| circuit.id() == id)
    }

    fn read(id: u16) -> Result<Circuit, StatementError> {
        Circuit::from_id(id).ok_or(StatementError::Circuit(id))
    }
}

impl Statement {
    /// Length of the encoding.
    pub const BYTES: usize = 4 + 2 + 16 + 4 + 4 + 1 + 5 * 32;

    const MAGIC: [u8; 4] = *b"TFS1";

    /// The canonical encoding, integers little-endian: magic, circuit u16, tenant, root generation u32,
    /// epoch u32, level u8, root, scope, account, handle, ctx.
    pub fn encode(&self) -> [u8; Statement::BYTES] {
        let Statement { circuit, tenant, root, root_generation, epoch, level, scope, account, handle, ctx } =
            self;
        let mut bytes = [0; Statement::BYTES];
        let mut rest = &mut bytes[..];
        let mut put = |field: &[u8]| {
            let (head, tail) = std::mem::take(&mut rest).split_at_mut(field.len());
            head.copy_from_slice(field);
            rest = tail;
        };
        put(&Statement::MAGIC);
        put(&circuit.id().to_le_bytes());
        put(tenant.as_bytes());
        put(&root_generation.to_le_bytes());
        put(&epoch.to_le_bytes());
        put(&[*level]);
        put(root.as_bytes());
        put(scope.as_bytes());
        put(account.as_bytes());
        put(handle.as_bytes());
        put(ctx);
        bytes
    }

    /// Reads exactly one encoding. Every accepted input is the encoding of its result.
    ///
    /// # Errors
    /// [`StatementError`] names what cannot be read.
    pub fn decode(bytes: &[u8]) -> Result<Statement, StatementError> {
        let length = StatementError::Length { expected: Statement::BYTES, got: bytes.len() };
        let bytes: &[u8; Statement::BYTES] = bytes.try_into().map_err(|_| length)?;
        let mut rest = &bytes[..];
        if take::<4>(&mut rest) != Statement::MAGIC {
            return Err(StatementError::Magic);
        }
        let circuit = Circuit::read(u16::from_le_bytes(take(&mut rest)))?;
        let tenant = take(&mut rest);
        let root_generation = u32::from_le_bytes(take(&mut rest));
        let epoch = u32::from_le_bytes(take(&mut rest));
        let [level] = take(&mut rest);
        let mut digest = |field| {
            Digest::from_bytes(&take(&mut rest)).map_err(|source| StatementError::Digest { field, source })
        };
        let (root, scope, account, handle) =
            (digest("root")?, digest("scope")?, digest("account")?, digest("handle")?);
        let ctx = take(&mut rest);
        let statement = Statement {
            circuit,
            tenant: TenantId::new(tenant),
            root,
            root_generation,
            epoch,
            level,
            scope,
            account,
            handle,
            ctx,
        };
        statement.check_epoch()?;
        Ok(statement)
    }

    /// SHA3-256("trefoil/statement/1" | encoding): the session id and the cache key.
    pub fn digest(&self) -> [u8; 32] {
        Sha3_256::new().chain_update(b"trefoil/statement/1").chain_update(self.encode()).finalize().into()
    }

    /// Refuses an epoch for which the circuit's comparison could wrap.
    pub(crate) fn check_epoch(&self) -> Result<(), StatementError> {
        if self.epoch < EPOCH_LIMIT { Ok(()) } else { Err(StatementError::Epoch(self.epoch)) }
    }
}

/// The next `N` bytes. The caller has checked the total length.
fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (head, tail) = rest.split_first_chunk::<N>().expect("total length was checked");
    *rest = tail;
    *head
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Statement {
        let digest = |byte| Digest::from_bytes(&[byte; 32]).expect("below the modulus");
        Statement {
            circuit: Circuit::Cred2u,
            tenant: TenantId::new([1; 16]),
            root: digest(2),
            root_generation: 3,
            epoch: 4,
            level: 5,
            scope: digest(6),
            account: digest(7),
            handle: digest(8),
            ctx: [0xff; 32],
        }
    }

    #[test]
    fn every_other_length_is_refused() {
        let mut bytes = example().encode().to_vec();
        for length in 0..Statement::BYTES {
            let error = StatementError::Length { expected: Statement::BYTES, got: length };
            assert_eq!(Statement::decode(&bytes[..length]), Err(error));
        }
        bytes.push(0);
        assert!(matches!(Statement::decode(&bytes), Err(StatementError::Length { .. })));
    }

    /// Claim P6: Unknown circuits, and scopes with an epoch, are refused.
    #[test]
    fn malformed_fields_are_named() {
        let edit = |at: usize, value: u8| {
            let mut bytes = example().encode();
            bytes[at] = value;
            Statement::decode(&bytes)
        };
        assert_eq!(edit(0, b'X'), Err(StatementError::Magic));
        assert_eq!(edit(4, 9), Err(StatementError::Circuit(9)));
        assert_eq!(edit(29, 1), Err(StatementError::Epoch(4 | 1 << 24)));
        for (at, field) in [(31, "root"), (63, "scope"), (95, "account"), (127, "handle")] {
            assert_eq!(edit(at + 3, 0xff), Err(StatementError::Digest { field, source: NonCanonical }));
        }
    }
}
