//! The cached verdict of one accepted proof, and the conditions under which it is valid.
//!
//! The key is the session id, which is the SHA3-256 digest of the proven statement: an invalid proof has
//! nothing to overwrite, and one statement has one key. Only an accepted proof can become a verdict
//! ([`Verdict::new`] takes a [`trefoil_zkp::Verified`]); there are no negative verdicts.

use sha3::{Digest as _, Sha3_256};
use trefoil_cache::Value;
use trefoil_cache::value::{pack, unpack};
use trefoil_types::{Account, AudienceId, Handle, TenantId};
use trefoil_zkp::Verified;
use trefoil_zkp::envelope::ProofEnvelope;
use trefoil_zkp::session::SessionKey;

use crate::tenant::Tenant;

/// Version of the verifier that produced a verdict. Raised when a soundness bug is fixed upstream:
/// every verdict of an older version is then a miss.
pub const VERIFIER_VERSION: u16 = 2;

/// Words of the encoding: 160 bytes, so that an entry with its key stays within four cache lines.
const WORDS: usize = 4 + 4 + 4 + 2 + 2 + 4;

/// The cached data of an accepted proof.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The holder at the tenant; names the template.
    pub handle: Handle,
    /// The holder towards this audience, which is attested.
    pub account: Account,
    session_key: [u8; 32],
    tenant: TenantId,
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
}

/// Why a session does not cover a request. The names are for logs and tests: a client is told only
/// that the session must be opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// No verdict in the cache: evicted, or never proven.
    #[error("no verdict is cached for this session")]
    Missing,
    /// The session has expired.
    #[error("the session has expired")]
    Expired,
    /// The proof names a root older than the tenant now accepts.
    #[error("the credential root of this session is no longer accepted")]
    Root,
    /// The verdict belongs to another tenant, audience, handle or policy, or proves too low a level.
    #[error("the session does not cover this request")]
    Scope,
    /// An older verifier produced the verdict.
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
            handle: Handle::new(*statement.handle.as_bytes()),
            account: Account::new(*statement.account.as_bytes()),
            session_key: *envelope.session_key.to_bytes(),
            tenant: statement.tenant,
            audience: audience_id(&envelope.audience),
            not_after,
            root_generation: statement.root_generation,
            epoch: statement.epoch,
            policy_id: envelope.policy_id,
            circuit: statement.circuit.id(),
            verifier: VERIFIER_VERSION,
            level: statement.level,
        })
    }

    /// Key under which this session's requests are authenticated.
    pub fn session_key(&self) -> SessionKey {
        SessionKey::from_bytes(self.session_key)
    }

    /// Whether this verdict covers a request of `handle` towards `audience` under the tenant's present state;
    /// if so, the credential root it was proven under.
    ///
    /// # Errors
    /// The first condition that fails.
    pub fn admits(
        &self,
        tenant: &Tenant,
        handle: &Handle,
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
            && tenant.policy.proof_level.is_some_and(|least| self.level >= least);
        if same { Ok(root) } else { Err(Stale::Scope) }
    }
}

/// The id of `audience`: the first half of its SHA3-256. To find a second audience with the same half costs 2^128
/// work. Hashing takes longer than a look-up, so it is done once per audience and batch.
pub fn audience_id(audience: &str) -> AudienceId {
    let digest = Sha3_256::new_with_prefix(b"trefoil/audience/1").chain_update(audience).finalize();
    AudienceId::new(std::array::from_fn(|i| digest[i]))
}

impl Value for Verdict {
    type Words = [u64; WORDS];

    fn to_words(&self) -> Self::Words {
        let Verdict {
            handle,
            account,
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
        } = self;
        let ([n0, n1], [a0, a1]) = (pack(tenant.as_bytes()), pack(audience.as_bytes()));
        let generation = u64::from(*root_generation) | u64::from(*epoch) << 32;
        let policy = u64::from(*policy_id) | u64::from(*circuit) << 32 | u64::from(*verifier) << 48;
        let fours: [[u64; 4]; WORDS / 4] = [
            pack(handle.as_bytes()),
            pack(account.as_bytes()),
            pack(session_key),
            [n0, n1, a0, a1],
            [*not_after, generation, policy, u64::from(*level)],
        ];
        std::array::from_fn(|word| fours[word / 4][word % 4])
    }

    // Word by word: taking the fields out of bytes took longer than finding them.
    #[inline]
    fn from_words(words: &Self::Words) -> Self {
        let fours: [[u64; 4]; WORDS / 4] =
            std::array::from_fn(|four| std::array::from_fn(|i| words[4 * four + i]));
        let [handle, account, session_key, [n0, n1, a0, a1], [not_after, generation, policy, level]] = &fours;
        Verdict {
            handle: Handle::new(unpack(handle)),
            account: Account::new(unpack(account)),
            session_key: unpack(session_key),
            tenant: TenantId::new(unpack(&[*n0, *n1])),
            audience: AudienceId::new(unpack(&[*a0, *a1])),
            not_after: *not_after,
            root_generation: *generation as u32,
            epoch: (*generation >> 32) as u32,
            policy_id: *policy as u32,
            circuit: (*policy >> 32) as u16,
            verifier: (*policy >> 48) as u16,
            level: *level as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use trefoil_attest::ProbeMode;

    use super::*;
    use crate::tenant::Policy;

    fn example() -> Verdict {
        Verdict {
            handle: Handle::new([1; 32]),
            account: Account::new([2; 32]),
            session_key: [3; 32],
            tenant: TenantId::new([4; 16]),
            audience: AudienceId::new([5; 16]),
            not_after: 6 << 32,
            root_generation: 7 << 24,
            epoch: 8 << 16,
            policy_id: 9 << 8,
            circuit: 10,
            verifier: 11 << 8,
            level: 12,
        }
    }

    #[test]
    fn an_entry_has_at_most_160_bytes_and_reads_back_with_every_field_distinct() {
        assert!(size_of::<<Verdict as Value>::Words>() <= 160);
        let verdict = example();
        assert!(Verdict::from_words(&verdict.to_words()) == verdict);
    }

    #[test]
    fn a_verdict_admits_what_it_was_reached_for_and_each_other_condition_is_named() {
        let policy = Policy {
            id: 9 << 8,
            version: 1,
            models: Vec::new(),
            proof_level: Some(12),
            attestation_lifetime_s: 60,
            probe: ProbeMode::Plain,
        };
        // A newer root before it, so that the generation counts.
        let roots = vec![(8 << 24, [8; 32]), (7 << 24, [7; 32])];
        let tenant = |id| Tenant { id, keys: Vec::new(), policy: policy.clone(), roots: roots.clone() };
        let admits = |change: fn(&mut Verdict, &mut Tenant)| {
            let (mut verdict, mut tenant) =
                (Verdict { verifier: VERIFIER_VERSION, ..example() }, tenant(TenantId::new([4; 16])));
            change(&mut verdict, &mut tenant);
            verdict.admits(&tenant, &Handle::new([1; 32]), AudienceId::new([5; 16]), (6 << 32) - 1)
        };
        assert_eq!(admits(|_, _| {}), Ok([7; 32]));
        assert_eq!(admits(|verdict, _| verdict.level += 1), Ok([7; 32]), "more than is asked for");
        assert_eq!(admits(|verdict, _| verdict.verifier -= 1), Err(Stale::Verifier));
        assert_eq!(admits(|verdict, _| verdict.not_after -= 1), Err(Stale::Expired));
        assert_eq!(admits(|verdict, _| verdict.root_generation -= 1), Err(Stale::Root));
        assert_eq!(admits(|_, tenant| tenant.roots.truncate(1)), Err(Stale::Root));
        let elsewhere: [fn(&mut Verdict, &mut Tenant); 6] = [
            |_, tenant| tenant.id = TenantId::new([0xFF; 16]),
            |verdict, _| verdict.handle = Handle::new([0xFF; 32]),
            |verdict, _| verdict.audience = AudienceId::new([6; 16]),
            |_, tenant| tenant.policy.id += 1,
            |_, tenant| tenant.policy.proof_level = Some(13),
            |_, tenant| tenant.policy.proof_level = None,
        ];
        for (which, change) in elsewhere.into_iter().enumerate() {
            assert_eq!(admits(change), Err(Stale::Scope), "{which}");
        }
    }
}
