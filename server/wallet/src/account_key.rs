//! The key with which a holder's devices sign for one account.

use fips204::ml_dsa_44;
use fips204::traits::{KeyGen as _, SerDes as _, Signer as _};
use rand::{CryptoRng, RngExt as _};
use trefoil_attest::{DeviceSignature, DeviceStatement, Succession, account_key_id, succession_to_be_signed};
use trefoil_types::{Account, AccountKeyId, TenantId};
use trefoil_zkp::{Secret, account, scope};
use zeroize::Zeroizing;

/// An account's ML-DSA-44 key: the same in every session and in a restored wallet, unrelated to that of another audience, tenant or secret.
///
/// Only the seed is kept, 32 bytes that are wiped when dropped. Each use derives the key anew, in less time than a signature takes. It
/// outlives every session, so no session keeps it.
pub struct AccountKey(Zeroizing<[u8; 32]>);

impl AccountKey {
    pub(crate) fn of(secret: &Secret, tenant: &TenantId, audience: &str) -> AccountKey {
        AccountKey(secret.account_key_seed(tenant, audience))
    }

    /// What a relying party keeps beside the account.
    #[must_use]
    pub fn id(&self) -> AccountKeyId {
        account_key_id(&ml_dsa_44::KG::keygen_from_seed(&self.0).0.into_bytes())
    }

    /// Signs for a request, hedged.
    pub fn sign(
        &self,
        statement: &DeviceStatement<'_>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> DeviceSignature {
        self.sign_bytes(&statement.to_be_signed(), rng)
    }

    fn sign_bytes(&self, message: &[u8], rng: &mut (impl CryptoRng + ?Sized)) -> DeviceSignature {
        let (public, secret) = ml_dsa_44::KG::keygen_from_seed(&self.0);
        let rnd: Zeroizing<[u8; 32]> = Zeroizing::new(rng.random());
        let signature = secret.try_sign_with_seed(&rnd, message, &[]);
        // FIPS 204 appendix C: a key that was derived needs over 814 attempts with probability below 2^-256.
        let signature = Box::new(signature.expect("a derived key signs"));
        DeviceSignature { public_key: Box::new(public.into_bytes()), signature }
    }
}

trefoil_types::opaque_debug!(AccountKey);

/// An encoded [`Succession`]: the account of the secret `old` with `audience` becomes that of `new`, signed by the keys of both.
pub(crate) fn succession(
    [old, new]: [&Secret; 2],
    tenant: &TenantId,
    audience: &str,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Vec<u8> {
    let accounts =
        [old, new].map(|secret| Account::new(account(secret, &scope(tenant, audience)).to_bytes()));
    let keys = [old, new].map(|secret| AccountKey::of(secret, tenant, audience));
    let message = succession_to_be_signed(tenant, audience, &accounts, &keys.each_ref().map(AccountKey::id));
    let signatures = keys.map(|key| key.sign_bytes(&message, rng));
    Succession { tenant: *tenant, audience, accounts, signatures }.encode()
}
