//! The statement: what one authentication decided, as a deterministic CBOR map of CWT/EAT claims.
//!
//! Claim keys are those of the CWT registry (RFC 8392) and EAT (RFC 9711) where one exists; everything else sits
//! in one map under a private-use key, so that each field costs one key byte. `NOTES.md` has the CDDL.

mod codec;

use sha3::{Digest as _, Sha3_256};

use trefoil_types::{Account, BatchId, Decision, ProbeMode, SessionId, TenantId};
pub use trefoil_types::{LIFETIME_SECONDS_MAX, MODEL_BYTES_MAX, NAME_BYTES_MAX};

pub(crate) use self::codec::read_suite;
use crate::suite::Suite;

/// Name and version of the statement format (`eat_profile`).
pub const STATEMENT_FORMAT: &str = "trefoil:statement/3";
/// Shortest relying-party nonce: 128 bits, so that none repeats by chance.
pub const NONCE_BYTES_MIN: usize = 16;
/// Longest relying-party nonce: the limit of EAT (RFC 9711 section 4.1).
pub const NONCE_BYTES_MAX: usize = 64;
/// Upper bound on an encoded statement; the longest legal one is shorter.
pub const STATEMENT_BYTES_MAX: usize = 1024;
/// Most requests of one batch.
pub const BATCH_MAX: u8 = 32;

/// Private-use claim key (below -65536, RFC 8392 section 9.1) of the map that holds our own fields.
pub(crate) const TREFOIL_CLAIM: i64 = -65537;

/// The credential proof that backed the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Proof {
    /// Circuit identifier.
    pub circuit: u16,
    /// Root of the tenant's credential tree.
    pub root: [u8; 32],
    /// Attribute level that was proven.
    pub level: u8,
    /// The credential was shown to expire in this epoch (hour since 1970) or later, and the proof counts in it and in the next.
    pub epoch: u32,
    /// The session that the proof opened: digest of the proven statement, another one with every proof.
    pub session: SessionId,
}

/// What the service states about one authentication. Fields are borrowed, so that encoding and decoding copy nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    /// Signature suite that will protect it.
    pub suite: Suite,
    /// The service that states this, 1 to 255 bytes.
    pub issuer: &'a str,
    /// Tenant.
    pub tenant: TenantId,
    /// The relying party this is for, 1 to 255 bytes.
    pub audience: &'a str,
    /// The account: who was authenticated, towards this audience of this tenant. The same value in every session; to keep.
    pub account: Account,
    /// The relying party's nonce, 16 to 64 bytes.
    pub nonce: &'a [u8],
    /// Digest of the authenticated request.
    pub request_digest: [u8; 32],
    /// The answer.
    pub decision: Decision,
    /// Who saw the probe.
    pub probe_mode: ProbeMode,
    /// Policy identifier.
    pub policy_id: u32,
    /// Policy version.
    pub policy_version: u32,
    /// False-match class k: the policy's threshold was calibrated to a false-match rate of at most 10^-k.
    pub fmr_class: u8,
    /// Embedding model, 1 to 64 bytes.
    pub embedder: &'a str,
    /// Quantiser, 1 to 64 bytes.
    pub quantiser: &'a str,
    /// Generation of the enrolled template.
    pub template_generation: u32,
    /// The credential proof, or none where the tenant's policy asks for none: then the tenant's application alone vouched for
    /// the request. [`verify`](crate::verify) refuses such a statement unless its policy accepts it.
    pub proof: Option<Proof>,
    /// Batch that the request was decided in.
    pub batch_id: BatchId,
    /// Place in that batch, 0 to 31, drawn anew for each batch: it says nothing about who was authenticated.
    pub place: u8,
    /// Time of the decision, Unix seconds.
    pub issued_at: u64,
    /// First second at which it no longer holds; at most 120 s after `issued_at`.
    pub expires_at: u64,
}

/// A statement whose fields are outside their limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("statement field {field} must be {limits}")]
pub struct StatementError {
    /// The field to correct.
    pub field: &'static str,
    /// Its limits.
    pub limits: &'static str,
}

/// SHA3-256 of an encoded statement: the entry that goes into the tree.
#[must_use]
pub fn statement_digest(encoded: &[u8]) -> [u8; 32] {
    Sha3_256::digest(encoded).into()
}

impl Statement<'_> {
    fn check(&self) -> Result<(), StatementError> {
        let refuse = |field, limits| Err(StatementError { field, limits });
        if !is_name(self.issuer, NAME_BYTES_MAX) {
            return refuse("issuer", "1 to 255 bytes without control characters");
        }
        if !is_name(self.audience, NAME_BYTES_MAX) {
            return refuse("audience", "1 to 255 bytes without control characters");
        }
        if !(NONCE_BYTES_MIN..=NONCE_BYTES_MAX).contains(&self.nonce.len()) {
            return refuse("nonce", "16 to 64 bytes");
        }
        if !is_name(self.embedder, MODEL_BYTES_MAX) {
            return refuse("embedder", "1 to 64 bytes without control characters");
        }
        if !is_name(self.quantiser, MODEL_BYTES_MAX) {
            return refuse("quantiser", "1 to 64 bytes without control characters");
        }
        if self.place >= BATCH_MAX {
            return refuse("place", "0 to 31");
        }
        if !lifetime_is_legal(self.issued_at, self.expires_at) {
            return refuse("expires_at", "1 to 120 s after issued_at");
        }
        Ok(())
    }
}

/// Whether `text` can stand in a name field: the rule by which names are read.
pub(crate) fn is_name(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len()) && !text.chars().any(char::is_control)
}

fn lifetime_is_legal(issued_at: u64, expires_at: u64) -> bool {
    expires_at.checked_sub(issued_at).is_some_and(|life| (1..=LIFETIME_SECONDS_MAX).contains(&life))
}
