//! Succession: an account's key names the account and the key that follow it, as when a person moves to a wallet with a new secret.
//!
//! Both keys sign, so neither can be named against its holder's will. It shows the two keys, and not that the new account belongs to the
//! new key: the next login shows that. A thief of the old secret can make a succession too.

use alloc::vec::Vec;
use trefoil_types::{Account, AccountKeyId, NAME_BYTES_MAX, TenantId};

use crate::cbor::{Reader, Writer};
use crate::device::{DeviceSignature, signed_by_account_key};
use crate::error::{DecodeError, Problem};
use crate::verify_error::VerifyError;

/// Name and version of the format.
pub const SUCCESSION_FORMAT: &str = "trefoil:succession/1";
/// Upper bound on an encoded succession.
pub const SUCCESSION_BYTES_MAX: usize = 8 * 1024;

/// One account in place of another, signed by the keys of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Succession<'a> {
    /// Tenant of both accounts.
    pub tenant: TenantId,
    /// The relying party that knows the old one, 1 to 255 bytes.
    pub audience: &'a str,
    /// The account that ends, and the one that follows.
    pub accounts: [Account; 2],
    /// A signature by the key of each over [`succession_to_be_signed`].
    pub signatures: [DeviceSignature; 2],
}

/// The bytes that both keys sign: a `Sig_structure` of COSE_Sign1 (RFC 9052 section 4.4). Old before new.
#[must_use]
pub fn succession_to_be_signed(
    tenant: &TenantId,
    audience: &str,
    accounts: &[Account; 2],
    keys: &[AccountKeyId; 2],
) -> Vec<u8> {
    signed_by_account_key(SUCCESSION_FORMAT, |w| {
        w.array(6);
        w.bytes(tenant.as_bytes());
        w.text(audience);
        accounts.iter().for_each(|account| w.bytes(account.as_bytes()));
        keys.iter().for_each(|key| w.bytes(key.as_bytes()));
    })
}

/// Verifies a succession of the account and key that are pinned, and returns those to pin instead. The caller must refuse a new account that it
/// knows already.
///
/// # Errors
/// [`VerifyError::Malformed`], [`VerifyError::Account`], [`VerifyError::AccountKey`] or [`VerifyError::DeviceSignature`].
pub fn verify_succession(
    bytes: &[u8],
    account: Account,
    key: AccountKeyId,
) -> Result<(Account, AccountKeyId), VerifyError> {
    let Succession { tenant, audience, accounts, signatures } = Succession::decode(bytes)?;
    let keys = signatures.each_ref().map(DeviceSignature::account_key);
    if accounts[0] != account {
        return Err(VerifyError::Account);
    }
    if keys[0] != key {
        return Err(VerifyError::AccountKey(keys[0]));
    }
    let message = succession_to_be_signed(&tenant, audience, &accounts, &keys);
    match signatures.iter().all(|signature| signature.verifies(&message)) {
        true => Ok((accounts[1], keys[1])),
        false => Err(VerifyError::DeviceSignature),
    }
}

impl<'a> Succession<'a> {
    /// The canonical encoding: `[format, tenant, audience, old account, new account, [old key, signature], [new key, signature]]`.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SUCCESSION_BYTES_MAX);
        let mut w = Writer(&mut out);
        w.array(7);
        w.text(SUCCESSION_FORMAT);
        w.bytes(self.tenant.as_bytes());
        w.text(self.audience);
        self.accounts.iter().for_each(|account| w.bytes(account.as_bytes()));
        self.signatures.iter().for_each(|signature| signature.write(&mut w));
        out
    }

    /// Decodes the one canonical encoding of a succession. Nothing is verified: see [`verify_succession`].
    ///
    /// # Errors
    /// Any other bytes.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        if bytes.len() > SUCCESSION_BYTES_MAX {
            return Err(r.error("succession", Problem::WrongLength));
        }
        r.array("succession", 7..=7)?;
        r.format("succession.format", SUCCESSION_FORMAT)?;
        let tenant = TenantId::new(r.fixed("succession.tenant")?);
        let audience = r.text("succession.audience", NAME_BYTES_MAX)?;
        let accounts = [r.fixed("succession.old")?, r.fixed("succession.new")?].map(Account::new);
        let signatures = [DeviceSignature::read(&mut r)?, DeviceSignature::read(&mut r)?];
        r.finish("succession")?;
        Ok(Self { tenant, audience, accounts, signatures })
    }
}
