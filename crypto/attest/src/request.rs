//! What a client asked for, as far as an attestation binds it.

use sha3::{Digest as _, Sha3_256};
use trefoil_types::{Handle, SessionId, TenantId};

/// The parts of a request that its MAC and the attestation's `request_digest` cover. The API's body holds the audience
/// (at most [`NAME_BYTES_MAX`](crate::NAME_BYTES_MAX) bytes) and the nonce in their bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHeader<'a> {
    /// Statement digest of the session's proof.
    pub session_id: SessionId,
    /// The holder's handle.
    pub handle: Handle,
    /// Relying party, at most 255 bytes.
    pub audience: &'a str,
    /// Relying party's nonce, 16 to 64 bytes.
    pub nonce: &'a [u8],
    /// Unix seconds.
    pub issued_at: u64,
    /// Digest of the probe as sent.
    pub probe_digest: &'a [u8; 32],
}

impl RequestHeader<'_> {
    /// The `request_digest` of an attestation: SHA3-256("trefoil/request/1" | session id | handle | u64 issued at |
    /// probe digest | u32 length | audience | u32 length | nonce), integers little-endian. The client can recompute it, and
    /// so can everybody to whom the client shows the header.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let RequestHeader { session_id, handle, audience, nonce, issued_at, probe_digest } = *self;
        let hash = Sha3_256::new_with_prefix(b"trefoil/request/1").chain_update(session_id);
        digest(hash, handle, issued_at, probe_digest, audience, nonce)
    }
}

/// The parts of a request without a proof that the attestation's `request_digest` covers. Nothing authenticates them but the API key that
/// they came with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnprovenRequest<'a> {
    /// The tenant, which the API key names. A session's identifier says it otherwise; without it two tenants that choose one handle
    /// could have one digest, and two honest attestations would look like a contradiction.
    pub tenant: TenantId,
    /// The subject's handle, which the tenant chose.
    pub handle: Handle,
    /// Relying party, at most 255 bytes.
    pub audience: &'a str,
    /// Relying party's nonce, 16 to 64 bytes.
    pub nonce: &'a [u8],
    /// Unix seconds.
    pub issued_at: u64,
    /// Digest of the probe as sent.
    pub probe_digest: &'a [u8; 32],
}

impl UnprovenRequest<'_> {
    /// The `request_digest` of an attestation without a proof: SHA3-256("trefoil/unproven-request/1" | tenant | handle | u64 issued at |
    /// probe digest | u32 length | audience | u32 length | nonce), integers little-endian.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let UnprovenRequest { tenant, handle, audience, nonce, issued_at, probe_digest } = *self;
        let hash = Sha3_256::new_with_prefix(b"trefoil/unproven-request/1").chain_update(tenant);
        digest(hash, handle, issued_at, probe_digest, audience, nonce)
    }
}

/// What every request has, after what it is backed by.
fn digest(
    hash: Sha3_256,
    handle: Handle,
    issued_at: u64,
    probe_digest: &[u8; 32],
    audience: &str,
    nonce: &[u8],
) -> [u8; 32] {
    hash.chain_update(handle)
        .chain_update(issued_at.to_le_bytes())
        .chain_update(probe_digest)
        .chain_update((audience.len() as u32).to_le_bytes())
        .chain_update(audience)
        .chain_update((nonce.len() as u32).to_le_bytes())
        .chain_update(nonce)
        .finalize()
        .into()
}
