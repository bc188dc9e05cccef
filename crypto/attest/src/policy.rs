//! What a relying party requires of an attestation.

use alloc::string::String;
use alloc::vec::Vec;
use trefoil_types::{Account, AccountKeyId, Decision, ProbeMode, TenantId};

use crate::trust_root::TrustRoot;

/// Largest clock difference a policy may tolerate: more would stretch the 120 s life of a statement by half.
pub const CLOCK_SKEW_SECONDS_MAX: u64 = 60;
/// Clock difference tolerated unless the policy says otherwise.
pub const CLOCK_SKEW_SECONDS_DEFAULT: u64 = 10;

/// Which nonce an attestation must carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedNonce {
    /// The nonce this relying party issued for this authentication. It must accept each nonce once.
    Exactly(Vec<u8>),
    /// Any nonce. For auditors of stored attestations: as an authentication it can be replayed for its whole life.
    DangerousAny,
}

/// The requirements. All of them must hold; [`Policy::new`] gives the strict ones.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(crate) trust_root: TrustRoot,
    pub(crate) audience: String,
    pub(crate) nonce: ExpectedNonce,
    pub(crate) tenant: Option<TenantId>,
    pub(crate) account: Option<Account>,
    pub(crate) account_key: Option<AccountKeyId>,
    pub(crate) request_digest: Option<[u8; 32]>,
    pub(crate) decision: Option<Decision>,
    pub(crate) probe_mode: Option<ProbeMode>,
    /// The lowest level of its proof; none where a statement without a proof is accepted too.
    pub(crate) proof_level: Option<u8>,
    pub(crate) policy_version: Option<(u32, u32)>,
    pub(crate) fmr_class: u8,
    pub(crate) clock_skew: u64,
}

impl Policy {
    /// Requires the root's issuer, this audience and nonce, a decision of `match`, a credential proof, and the present time.
    #[must_use]
    pub fn new(trust_root: TrustRoot, audience: impl Into<String>, nonce: ExpectedNonce) -> Self {
        Self {
            trust_root,
            audience: audience.into(),
            nonce,
            tenant: None,
            account: None,
            account_key: None,
            request_digest: None,
            decision: Some(Decision::Match),
            probe_mode: None,
            proof_level: Some(0),
            policy_version: None,
            fmr_class: 0,
            clock_skew: CLOCK_SKEW_SECONDS_DEFAULT,
        }
    }

    /// Requires this tenant.
    #[must_use]
    pub fn tenant(self, tenant: TenantId) -> Self {
        Self { tenant: Some(tenant), ..self }
    }

    /// Requires this account.
    #[must_use]
    pub fn account(self, account: Account) -> Self {
        Self { account: Some(account), ..self }
    }

    /// Requires that a device signed with this account key, which was kept beside the account. So the service alone, or who has all its keys,
    /// can log nobody in. Takes back [`Policy::accept_no_proof`]: an account key belongs to a proof.
    #[must_use]
    pub fn account_key(self, key: AccountKeyId) -> Self {
        Self { account_key: Some(key), ..self }
    }

    /// Requires this request.
    #[must_use]
    pub fn request_digest(self, digest: [u8; 32]) -> Self {
        Self { request_digest: Some(digest), ..self }
    }

    /// Accepts denials too: the caller must look at the decision. For auditors and for showing a file.
    #[must_use]
    pub fn any_decision(self) -> Self {
        Self { decision: None, ..self }
    }

    /// Requires this probe mode.
    #[must_use]
    pub fn probe_mode(self, mode: ProbeMode) -> Self {
        Self { probe_mode: Some(mode), ..self }
    }

    /// Requires a credential proof of at least this level. Takes back [`Policy::accept_no_proof`].
    #[must_use]
    pub fn proof_level(self, level: u8) -> Self {
        Self { proof_level: Some(level), ..self }
    }

    /// Accepts a statement without a credential proof too, as tenants with `proof: none` get them: that the request was the
    /// person's is then the word of the tenant's application alone. Takes back [`Policy::proof_level`].
    #[must_use]
    pub fn accept_no_proof(self) -> Self {
        Self { proof_level: None, ..self }
    }

    /// Requires the service's policy `id` in `version` or later.
    #[must_use]
    pub fn policy_version(self, id: u32, version: u32) -> Self {
        Self { policy_version: Some((id, version)), ..self }
    }

    /// Requires a false-match rate of 10^-class or less.
    #[must_use]
    pub fn fmr_class(self, class: u8) -> Self {
        Self { fmr_class: class, ..self }
    }

    /// Tolerates this clock difference, in seconds, up to [`CLOCK_SKEW_SECONDS_MAX`].
    #[must_use]
    pub fn clock_skew(self, seconds: u64) -> Self {
        Self { clock_skew: seconds.min(CLOCK_SKEW_SECONDS_MAX), ..self }
    }
}
