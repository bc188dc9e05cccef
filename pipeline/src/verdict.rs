//! The cached verdict of one accepted proof, and the conditions under which it still counts.
//!
//! The key is the session id, which is the SHA3-256 digest of the proven statement: an invalid proof has
//! nothing to overwrite, and one statement has one key. Only an accepted proof can become a verdict
//! ([`Verdict::new`] takes a [`trefoil_zkp::Verified`]); there are no negative verdicts.

use sha3::{Digest as _, Sha3_256};
use trefoil_cache::Value;
use trefoil_cache::value::{pack, unpack};
use trefoil_zkp::Verified;
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::session::SessionKey;

use crate::tenant::Tenant;

/// Version of the verifier that produced a verdict. Raised when a soundness fault is mended upstream:
/// every verdict of an older version is then a miss.
pub const VERIFIER_VERSION: u16 = 1;

/// Bytes of the encoding; at most 160 so that an entry with its key stays within three cache lines.
const ENCODED: usize = 32 + 32 + 32 + 16 + 16 + 8 + 4 + 4 + 4 + 2 + 2 + 1 + 1;

/// What is remembered of an accepted proof.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Tenant-scoped pseudonym that names the template.
    pub handle: [u8; 32],
    /// Pseudonym towards this audience in this epoch.
    pub tag: [u8; 32],
    session_key: [u8; 32],
    tenant: [u8; 16],
    audience: AudienceId,
    /// Unix seconds after which the verdict is a miss.
    pub not_after: u64,
    /// Generation of the tenant's root that the proof names.
    pub root_generation: u32,
    /// Epoch that the proof names.
    pub epoch: u32,
    policy_id: u32,
    /// Circuit of the proof.
    pub circuit: u16,
    verifier: u16,
    /// Credential level that was proven.
    pub level: u8,
    /// Whether the proof commits to a hash chain, so that each request must reveal a value.
    pub has_chain: bool,
}

/// Why a session does not carry a request. The names are for logs and tests: a client is told only
/// that the session must be opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// No verdict in the cache: evicted, or never proven.
    #[error("no verdict is cached for this session")]
    Missing,
    /// The session's time is over.
    #[error("the session has expired")]
    Expired,
    /// The proof names a root older than the tenant now accepts.
    #[error("the credential root of this session is no longer accepted")]
    Root,
    /// The verdict belongs to another tenant, audience, subject or policy, proves too low a level, or commits to a hash
    /// chain of which the request reveals nothing (or the reverse).
    #[error("the session does not cover this request")]
    Scope,
    /// The verdict was reached by an older verifier.
    #[error("the session was verified by an older verifier")]
    Verifier,
}

impl Verdict {
    /// The verdict on an accepted proof, usable until `not_after` (unix seconds).
    ///
    /// `None` if `verified` and `envelope` are about different statements.
    pub fn new(verified: &Verified, envelope: &ProofEnvelope, not_after: u64) -> Option<Self> {
        let statement = verified.statement();
        if *statement != envelope.statement {
            return None;
        }
        Some(Verdict {
            handle: *statement.handle.as_bytes(),
            tag: *statement.tag.as_bytes(),
            session_key: *envelope.session_key.to_bytes(),
            tenant: statement.tenant,
            audience: AudienceId::of(&envelope.audience),
            not_after,
            root_generation: statement.root_generation,
            epoch: statement.epoch,
            policy_id: envelope.policy_id,
            circuit: statement.circuit.id(),
            verifier: VERIFIER_VERSION,
            level: statement.level,
            has_chain: envelope.chain.is_some(),
        })
    }

    /// Key under which this session's requests are authenticated.
    pub fn session_key(&self) -> SessionKey {
        SessionKey::from_bytes(self.session_key)
    }

    /// Whether this verdict carries a request of `handle` towards `audience` under the tenant's present state;
    /// if so, the credential root it was proven under.
    ///
    /// # Errors
    /// The first condition that fails.
    pub fn admits(
        &self,
        tenant: &Tenant,
        handle: &[u8; 32],
        audience: AudienceId,
        now: u64,
    ) -> Result<[u8; 32], Stale> {
        if self.verifier != VERIFIER_VERSION {
            return Err(Stale::Verifier);
        }
        if now >= self.not_after {
            return Err(Stale::Expired);
        }
        let root = *tenant.root(self.root_generation).ok_or(Stale::Root)?;
        let same = self.tenant == tenant.id
            && self.handle == *handle
            && self.audience == audience
            && self.policy_id == tenant.policy.id
            && self.level >= tenant.policy.level_min;
        if same { Ok(root) } else { Err(Stale::Scope) }
    }

    /// Whether a request that reveals a value of a hash chain, or does not, fits the session.
    ///
    /// # Errors
    /// [`Stale::Scope`] if it does not.
    pub fn covers(&self, reveals: bool) -> Result<(), Stale> {
        if self.has_chain == reveals { Ok(()) } else { Err(Stale::Scope) }
    }
}

/// Stands for an audience in a verdict: the first half of its SHA3-256. To find a second audience with the
/// same half costs 2^128 work. Hashing takes longer than a look-up, so it is done once per audience and batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudienceId([u8; 16]);

impl AudienceId {
    /// The id of `audience`.
    pub fn of(audience: &str) -> Self {
        let digest = Sha3_256::new_with_prefix(b"trefoil/audience/1").chain_update(audience).finalize();
        AudienceId(std::array::from_fn(|i| digest[i]))
    }
}

impl Value for Verdict {
    type Words = [u64; ENCODED.div_ceil(8)];

    fn to_words(&self) -> Self::Words {
        let mut bytes = [0u8; ENCODED];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        let Verdict {
            handle,
            tag,
            session_key,
            tenant,
            audience,
            not_after,
            root_generation,
            epoch,
            policy_id,
            circuit,
            verifier,
            level,
            has_chain,
        } = self;
        put(handle);
        put(tag);
        put(session_key);
        put(tenant);
        put(&audience.0);
        put(&not_after.to_le_bytes());
        put(&root_generation.to_le_bytes());
        put(&epoch.to_le_bytes());
        put(&policy_id.to_le_bytes());
        put(&circuit.to_le_bytes());
        put(&verifier.to_le_bytes());
        put(&[*level, u8::from(*has_chain)]);
        pack(&bytes)
    }

    fn from_words(words: &Self::Words) -> Self {
        let bytes: [u8; ENCODED] = unpack(words);
        let mut at = 0;
        Verdict {
            handle: part(&bytes, &mut at),
            tag: part(&bytes, &mut at),
            session_key: part(&bytes, &mut at),
            tenant: part(&bytes, &mut at),
            audience: AudienceId(part(&bytes, &mut at)),
            not_after: u64::from_le_bytes(part(&bytes, &mut at)),
            root_generation: u32::from_le_bytes(part(&bytes, &mut at)),
            epoch: u32::from_le_bytes(part(&bytes, &mut at)),
            policy_id: u32::from_le_bytes(part(&bytes, &mut at)),
            circuit: u16::from_le_bytes(part(&bytes, &mut at)),
            verifier: u16::from_le_bytes(part(&bytes, &mut at)),
            level: u8::from_le_bytes(part(&bytes, &mut at)),
            has_chain: part(&bytes, &mut at) != [0],
        }
    }
}

fn part<const B: usize>(bytes: &[u8; ENCODED], at: &mut usize) -> [u8; B] {
    let from = *at;
    *at += B;
    std::array::from_fn(|i| bytes[from + i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_at_most_160_bytes_and_reads_back_with_every_field_distinct() {
        assert!(size_of::<<Verdict as Value>::Words>() <= 160);
        let verdict = Verdict {
            handle: [1; 32],
            tag: [2; 32],
            session_key: [3; 32],
            tenant: [4; 16],
            audience: AudienceId([5; 16]),
            not_after: 6 << 32,
            root_generation: 7 << 24,
            epoch: 8 << 16,
            policy_id: 9 << 8,
            circuit: 10,
            verifier: 11 << 8,
            level: 12,
            has_chain: true,
        };
        assert!(Verdict::from_words(&verdict.to_words()) == verdict);
        let without = Verdict { has_chain: false, ..verdict };
        assert!(Verdict::from_words(&without.to_words()) == without);
    }
}
