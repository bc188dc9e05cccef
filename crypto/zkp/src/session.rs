//! Binding a proof to a session key, and a request to the session.
//!
//! The proof names a context, the context names a commitment to the session key, and each request carries a MAC
//! under that key. A proof replayed by someone else is therefore useless to them. The context names the account key too, with which the
//! holder's devices sign for a relying party, so a proof shows that key to be the holder's.

use rand::{CryptoRng, RngExt};
use sha3::{Digest as _, Sha3_256};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use trefoil_attest::RequestHeader;
use trefoil_types::{AccountKeyId, TenantId};

/// Key shared by the client and the service for one session. Wiped when dropped, not shown by `Debug`.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct SessionKey([u8; 32]);

/// The MAC of a request does not belong to its header under the session's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("request MAC does not match the session key and the request header")]
pub struct MacMismatch;

impl SessionKey {
    /// A fresh key. Production callers pass an OS-seeded generator.
    pub fn random(rng: &mut (impl CryptoRng + ?Sized)) -> SessionKey {
        SessionKey(rng.random())
    }

    /// The key with these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> SessionKey {
        SessionKey(bytes)
    }

    /// The key's bytes, wiped when dropped.
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0)
    }

    /// SHA3-256("trefoil/session-key/1" | key).
    pub fn commitment(&self) -> [u8; 32] {
        Sha3_256::new().chain_update(b"trefoil/session-key/1").chain_update(self.0).finalize().into()
    }
}

trefoil_types::opaque_debug!(SessionKey);

/// Context of a session: SHA3-256("trefoil/context/2" | tenant | u32 length | audience | key commitment | account key id |
/// u32 epoch | u32 policy id), integers little-endian.
pub fn context(
    tenant: &TenantId,
    audience: &str,
    key_commitment: &[u8; 32],
    account_key: &AccountKeyId,
    epoch: u32,
    policy_id: u32,
) -> [u8; 32] {
    Sha3_256::new()
        .chain_update(b"trefoil/context/2")
        .chain_update(tenant)
        .chain_update((audience.len() as u32).to_le_bytes())
        .chain_update(audience)
        .chain_update(key_commitment)
        .chain_update(account_key)
        .chain_update(epoch.to_le_bytes())
        .chain_update(policy_id.to_le_bytes())
        .finalize()
        .into()
}

/// SHA3-256("trefoil/request-mac/1" | key | session id | handle | u64 issued at | probe digest | u32 length |
/// audience | u32 length | nonce). A prefix MAC is sound with SHA3, which has no length extension (FIPS 202,
/// A.2 and its use in KMAC, SP 800-185).
pub fn request_mac(key: &SessionKey, header: &RequestHeader<'_>) -> [u8; 32] {
    let RequestHeader { session_id, handle, audience, nonce, issued_at, probe_digest } = header;
    Sha3_256::new()
        .chain_update(b"trefoil/request-mac/1")
        .chain_update(key.0)
        .chain_update(session_id)
        .chain_update(handle)
        .chain_update(issued_at.to_le_bytes())
        .chain_update(probe_digest)
        .chain_update((audience.len() as u32).to_le_bytes())
        .chain_update(audience)
        .chain_update((nonce.len() as u32).to_le_bytes())
        .chain_update(nonce)
        .finalize()
        .into()
}

/// Compares in constant time.
///
/// # Errors
/// [`MacMismatch`] when the MAC is not that of the header under the key.
pub fn verify_request_mac(
    key: &SessionKey,
    header: &RequestHeader<'_>,
    mac: &[u8; 32],
) -> Result<(), MacMismatch> {
    if bool::from(request_mac(key, header).ct_eq(mac)) { Ok(()) } else { Err(MacMismatch) }
}

#[cfg(test)]
mod tests;
