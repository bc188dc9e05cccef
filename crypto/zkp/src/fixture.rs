//! One enrolled member and the statement of one session, for the tests.

use rand::{SeedableRng, rngs::StdRng};
use trefoil_types::{AccountKeyId, TenantId};

use crate::{
    attributes::Attributes,
    digest::Digest,
    hash::{commitment, leaf},
    secret::Secret,
    session::SessionKey,
    statement::{Circuit, Statement},
    tree::CredentialTree,
    witness::{SessionClaim, Witness},
};

pub(crate) const TENANT: TenantId = TenantId::new(*b"tenant-of-a-test");
pub(crate) const AUDIENCE: &str = "payments.example";
pub(crate) const EPOCH: u32 = 498_611;
pub(crate) const LEVEL: u8 = 2;
pub(crate) const ACCOUNT_KEY: AccountKeyId = AccountKeyId::new([0x6b; 32]);
pub(crate) const POLICY: u32 = 17;

/// Index of the member's leaf.
pub(crate) const INDEX: u32 = 300;

pub(crate) fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

pub(crate) fn session_key() -> SessionKey {
    SessionKey::from_bytes([0x5a; 32])
}

/// A member with the given expiry and level among 352 others.
pub(crate) fn member(expiry: u32, level: u8) -> Witness {
    let rng = &mut rng(7);
    let secret = Secret::random(rng);
    let attributes = Attributes::new(expiry, level, 0x0103, 90_001, rng).expect("in range");
    let mut leaves: Vec<Digest> = (0..352).map(|i| Digest::hash_to_field("other", &[i as u8; 32])).collect();
    leaves[INDEX as usize] = leaf(&commitment(&secret), &attributes);
    let tree = CredentialTree::from_leaves(&leaves).expect("few leaves");
    Witness { secret, attributes, index: INDEX, path: tree.path(INDEX).expect("in the tree") }
}

/// A member that satisfies [`statement`] with room.
pub(crate) fn witness() -> Witness {
    member(EPOCH + 2000, 3)
}

pub(crate) fn claim(circuit: Circuit, key_commitment: &[u8; 32]) -> SessionClaim<'_> {
    SessionClaim {
        circuit,
        tenant: TENANT,
        audience: AUDIENCE,
        root_generation: 4,
        epoch: EPOCH,
        level: LEVEL,
        policy_id: POLICY,
        key_commitment,
        account_key: ACCOUNT_KEY,
    }
}

pub(crate) fn statement(witness: &Witness, circuit: Circuit) -> Statement {
    witness.statement(&claim(circuit, &session_key().commitment()))
}
