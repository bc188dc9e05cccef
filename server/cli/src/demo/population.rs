//! The issuer's side: credentials for all people and the tree whose root the service gets.

use super::error::DemoError;
use trefoil_client::{Holder, Membership};
use trefoil_issuer::{public_key, sign};
use trefoil_sign::{MlDsa65, SignatureFamily as _};
use trefoil_types::TenantId;
use trefoil_wallet::credentials::{IssuerPublicKey, RootStatement, SignedRoot};
use trefoil_zkp::{Attributes, CredentialTree, Secret, Witness, commitment, epoch_at, leaf};

/// Level that every credential has and every session shows.
pub(super) const LEVEL: u8 = 2;
/// The first and only root.
pub(super) const ROOT_GENERATION: u32 = 1;
/// Lifetime of the credentials in epochs of an hour: a day.
const CREDENTIAL_EPOCHS: u32 = 24;

/// The credentials of all people.
pub(super) struct Population {
    /// One holder per person.
    pub(super) holders: Vec<Holder>,
    /// The issuer's key, made for this run.
    pub(super) issuer: IssuerPublicKey,
    /// The signed root of the credential tree.
    pub(super) root: SignedRoot,
}

impl Population {
    /// Issues `people` credentials of a tenant. Secrets come from the operating system.
    pub(super) fn issue(
        people: usize,
        tenant: TenantId,
        policy_id: u32,
        now: u64,
    ) -> Result<Population, DemoError> {
        let failed = |cause: &dyn std::fmt::Display| DemoError::step("credentials", cause);
        let rng = &mut rand::rng();
        let (mut members, mut leaves) = (Vec::with_capacity(people), Vec::with_capacity(people));
        for serial in (0u32..).take(people) {
            let secret = Secret::random(rng);
            let expiry = epoch_at(now) + CREDENTIAL_EPOCHS;
            let attributes =
                Attributes::new(expiry, LEVEL, 0, serial, rng).map_err(|cause| failed(&cause))?;
            leaves.push(leaf(&commitment(&secret), &attributes));
            members.push((serial, secret, attributes));
        }
        let tree = CredentialTree::from_leaves(&leaves).map_err(|cause| failed(&cause))?;
        let membership = Membership { tenant, policy_id, root_generation: ROOT_GENERATION, level: LEVEL };
        let holder = |(index, secret, attributes)| -> Result<Holder, DemoError> {
            let path = tree.path(index).map_err(|cause| failed(&cause))?;
            Ok(Holder::new(Witness { secret, attributes, index, path }, membership.clone()))
        };
        let holders = members.into_iter().map(holder).collect::<Result<_, _>>()?;
        let mut key = MlDsa65::generate(rng).map_err(|cause| failed(&cause))?;
        let issuer = public_key(&key);
        let statement = RootStatement {
            tenant,
            generation: ROOT_GENERATION,
            generation_min: ROOT_GENERATION,
            root: tree.root(),
            issued_at: now,
            previous: [0; 32],
            key_id: issuer.id(),
        };
        let root = sign(&statement, &mut key, rng).map_err(|cause| failed(&cause))?;
        Ok(Population { holders, issuer, root })
    }
}
