//! The holder's private input, and the statement it supports.

use trefoil_types::{AccountKeyId, TenantId};

use crate::{
    attributes::Attributes,
    hash::{account, commitment, handle, leaf, scope},
    secret::Secret,
    session,
    statement::{Circuit, Statement},
    tree::MerklePath,
};

/// Private input of a proof. The secret is wiped when the witness is dropped.
pub struct Witness {
    /// The device's secret.
    pub secret: Secret,
    /// Attributes as the issuer put them into the leaf.
    pub attributes: Attributes,
    /// Index of the leaf, below 2^20.
    pub index: u32,
    /// Siblings of the leaf under the current root.
    pub path: MerklePath,
}

/// The holder's claim in a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionClaim<'a> {
    /// Parameter set.
    pub circuit: Circuit,
    /// Tenant that issued the credential.
    pub tenant: TenantId,
    /// Service and relying party that the session is for.
    pub audience: &'a str,
    /// Generation of the root that the witness's path leads to.
    pub root_generation: u32,
    /// Epoch to prove, see [`epoch_to_prove`](crate::epoch_to_prove).
    pub epoch: u32,
    /// Level to show; no higher than the credential's own, and no higher than needed.
    pub level: u8,
    /// The requesting policy.
    pub policy_id: u32,
    /// Commitment of the session key.
    pub key_commitment: &'a [u8; 32],
    /// The key with which the holder's devices sign for its account.
    pub account_key: AccountKeyId,
}

impl Witness {
    /// The statement that this witness supports for `claim`, with root, scope, account, handle and context filled
    /// in. [`prove`](crate::prove) decides whether the credential satisfies it.
    pub fn statement(&self, claim: &SessionClaim<'_>) -> Statement {
        let SessionClaim {
            circuit,
            tenant,
            audience,
            root_generation,
            epoch,
            level,
            policy_id,
            key_commitment,
            account_key,
        } = *claim;
        let scope = scope(&tenant, audience);
        Statement {
            circuit,
            tenant,
            root: self.path.root(self.index, &leaf(&commitment(&self.secret), &self.attributes)),
            root_generation,
            epoch,
            level,
            scope,
            account: account(&self.secret, &scope),
            handle: handle(&self.secret, &tenant),
            ctx: session::context(&tenant, audience, key_commitment, &account_key, epoch, policy_id),
        }
    }
}

trefoil_types::opaque_debug!(Witness);
