//! The device's signature: this person's device made the request that a statement is about.
//!
//! A service that is taken over can state anything, because it signs. It has no account key: a device derives that from its
//! credential's secret, for one audience of one tenant. So a relying party that keeps the key's [`AccountKeyId`] beside the account
//! accepts no login without the device ([`Policy::account_key`](crate::Policy::account_key)). What the service decided is its own word:
//! the device signs before, and neither decision nor policy.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use sha3::{Digest as _, Sha3_256};
use trefoil_types::{Account, AccountKeyId, TenantId};

use crate::attestation::Attestation;
use crate::cbor::{Reader, Writer, sig_structure};
use crate::error::DecodeError;
use crate::family::{ML_DSA_44_PUBLIC_KEY_BYTES, ML_DSA_44_SIGNATURE_BYTES, verify_ml_dsa_44};
use crate::statement::{Proof, Statement};

/// Name and version of what a device signs.
pub const DEVICE_FORMAT: &str = "trefoil:device/1";

/// An account's public key, and a signature by it.
#[derive(Clone, PartialEq, Eq)]
pub struct DeviceSignature {
    /// The ML-DSA-44 public key.
    pub public_key: Box<[u8; ML_DSA_44_PUBLIC_KEY_BYTES]>,
    /// The signature, over [`DeviceStatement::to_be_signed`] with an empty context.
    pub signature: Box<[u8; ML_DSA_44_SIGNATURE_BYTES]>,
}

/// What a device signs when it makes a request. A verifier rebuilds it from the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceStatement<'a> {
    /// Tenant.
    pub tenant: TenantId,
    /// The account towards the audience.
    pub account: Account,
    /// The relying party, 1 to 255 bytes.
    pub audience: &'a str,
    /// Its nonce, 16 to 64 bytes.
    pub nonce: &'a [u8],
    /// Digest of the request.
    pub request_digest: [u8; 32],
    /// The proof of the session in which the request is made.
    pub proof: Proof,
}

/// The identifier of an account key: SHA3-256("trefoil/account-key-id/1" | public key).
#[must_use]
pub fn account_key_id(public_key: &[u8; ML_DSA_44_PUBLIC_KEY_BYTES]) -> AccountKeyId {
    let hash = Sha3_256::new_with_prefix(b"trefoil/account-key-id/1").chain_update(public_key);
    AccountKeyId::new(hash.finalize().into())
}

/// The attestation, full or compact, with a device's signature, in place of one that it has. Nothing is verified.
///
/// # Errors
/// Bytes that are not an attestation.
pub fn join(attestation: &[u8], device: &DeviceSignature) -> Result<Vec<u8>, DecodeError> {
    let attestation = Attestation::decode(attestation)?;
    Ok(Attestation { device: Some(device.clone()), ..attestation }.encode())
}

impl<'a> DeviceStatement<'a> {
    /// What the device of the person must have signed; none without a proof, which has no account key.
    #[must_use]
    pub fn of(statement: &Statement<'a>) -> Option<Self> {
        let Statement { tenant, account, audience, nonce, request_digest, proof, .. } = *statement;
        Some(Self { tenant, account, audience, nonce, request_digest, proof: proof? })
    }

    /// The signed bytes: a `Sig_structure` of COSE_Sign1 (RFC 9052 section 4.4).
    #[must_use]
    pub fn to_be_signed(&self) -> Vec<u8> {
        let Self { tenant, account, audience, nonce, request_digest, proof } = self;
        signed_by_account_key(DEVICE_FORMAT, |w| {
            w.array(6);
            w.bytes(tenant.as_bytes());
            w.bytes(account.as_bytes());
            w.text(audience);
            w.bytes(nonce);
            w.bytes(request_digest);
            proof.write(w);
        })
    }
}

/// What an account key signs under the name of a format.
pub(crate) fn signed_by_account_key(format: &str, payload: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let (mut protected, mut content) = (Vec::with_capacity(32), Vec::with_capacity(512));
    let mut w = Writer(&mut protected);
    w.map(2);
    w.key(1).int(ML_DSA_44);
    w.key(15).map(1);
    w.key(265).text(format);
    payload(&mut Writer(&mut content));
    sig_structure(&protected, &content)
}

impl DeviceSignature {
    /// The identifier of its key.
    #[must_use]
    pub fn account_key(&self) -> AccountKeyId {
        account_key_id(&self.public_key)
    }

    /// Whether it is over `message`.
    #[must_use]
    pub fn verifies(&self, message: &[u8]) -> bool {
        verify_ml_dsa_44(&self.public_key, message, &self.signature)
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.array(2);
        w.bytes(&self.public_key[..]);
        w.bytes(&self.signature[..]);
    }

    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.array("device", 2..=2)?;
        let public_key = Box::new(r.fixed("device.public_key")?);
        Ok(Self { public_key, signature: Box::new(r.fixed("device.signature")?) })
    }
}

impl fmt::Debug for DeviceSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceSignature({})", self.account_key())
    }
}

/// COSE algorithm (RFC 9964).
const ML_DSA_44: i64 = -48;
