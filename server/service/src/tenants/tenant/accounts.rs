//! Accounts of subjects without credentials.
//!
//! With a credential the account is derived from the holder's secret, which the service does not know. Without one the service derives it
//! from a secret of the tenant that no one else has. So two audiences that compare their accounts cannot tell that they have the same
//! person, and an attacker who guesses a handle (the digest of an email address, say) cannot test the guess.

use sha3::{Digest as _, Sha3_256};
use trefoil_types::{Account, Handle};
use zeroize::Zeroizing;

/// The purpose for which the secret is derived.
pub(crate) const PURPOSE: &[u8] = b"trefoil/accounts/1";

/// A tenant's secret from which the accounts of its subjects are derived. It lasts as long as the tenant's key, because relying parties keep
/// accounts for years.
pub struct AccountSecret(Zeroizing<[u8; 32]>);

impl AccountSecret {
    /// The secret with these bytes, of one tenant.
    pub(crate) fn new(bytes: Zeroizing<[u8; 32]>) -> AccountSecret {
        AccountSecret(bytes)
    }

    /// The account of `handle` with `audience`: SHA3-256("trefoil/account/1" | secret (32) | handle (32) | audience). It never changes,
    /// and differs for each audience, handle and tenant.
    pub fn account(&self, handle: &Handle, audience: &str) -> Account {
        let hash = Sha3_256::new_with_prefix(b"trefoil/account/1").chain_update(*self.0);
        Account::new(hash.chain_update(handle).chain_update(audience).finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_of_one_secret_handle_and_audience() {
        let secret = |byte| AccountSecret::new(Zeroizing::new([byte; 32]));
        let [ann, ben] = [1, 2].map(|byte| Handle::new([byte; 32]));
        let account = secret(7).account(&ann, "https://shop.example");
        assert_eq!(secret(7).account(&ann, "https://shop.example"), account);
        for other in [
            secret(8).account(&ann, "https://shop.example"),
            secret(7).account(&ben, "https://shop.example"),
            secret(7).account(&ann, "https://mall.example"),
        ] {
            assert_ne!(other, account);
        }
        assert_ne!(account.as_bytes(), ann.as_bytes());
    }

    /// Relying parties keep accounts, so their derivation must never change.
    #[test]
    fn accounts_stay_what_they_were() {
        let secret = AccountSecret::new(Zeroizing::new([7; 32]));
        let account = secret.account(&Handle::new([1; 32]), "https://shop.example");
        assert_eq!(
            hex::encode(account.as_bytes()),
            "935d07cacc1a2cd55601dbb2a9bcb78af5ac6a1c7506bcc3dc27a8c71f5de207"
        );
    }
}
