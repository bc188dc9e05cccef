//! Whether two attestations contradict each other: evidence against a service that attests match to one party and no match
//! to another.
//!
//! The request digest covers a request's session, handle, audience, nonce, time and probe, and a service decides a request
//! once. So two statements of one issuer about one request digest contradict each other if they differ in the decision or
//! in what the request fixes. Each is a leaf under a seal that the service signed, so the two attestations convince
//! everybody who has the trust root.
//!
//! Two limits. A service that states another request digest contradicts nothing: the person who made the request compares
//! the digest. And an honest service can attest two decisions in one case: a request dated ahead by a fast clock, sent again
//! to a service that restarted within the minute, after the attempt budget ran out or the policy changed.

use core::fmt;

use crate::statement::Statement;
use crate::verify::Verified;

/// How two attestations are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Relation {
    /// They are about different requests, or by different issuers.
    Unrelated,
    /// They attest one and the same statement.
    Same,
    /// Two statements of one request that agree: it was sent again to a service that restarted within a minute.
    Repeated,
    /// They differ in something of which a request has one.
    Contradiction(Contradicted),
}

/// What two statements about one request say differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Contradicted {
    /// Match, and no match.
    Decision,
    /// Who made it.
    Account,
    /// In which session: the proof, or that there was one.
    Session,
    /// At which tenant.
    Tenant,
    /// For which relying party.
    Audience,
    /// Under which nonce.
    Nonce,
}

impl Relation {
    /// Every relation, as tests and documents list them.
    pub const ALL: [Self; 9] = [
        Self::Unrelated,
        Self::Same,
        Self::Repeated,
        Self::Contradiction(Contradicted::Decision),
        Self::Contradiction(Contradicted::Account),
        Self::Contradiction(Contradicted::Session),
        Self::Contradiction(Contradicted::Tenant),
        Self::Contradiction(Contradicted::Audience),
        Self::Contradiction(Contradicted::Nonce),
    ];

    /// A stable name for programs, the same in every verifier of these formats.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unrelated => "unrelated",
            Self::Same => "same",
            Self::Repeated => "repeated",
            Self::Contradiction(Contradicted::Decision) => "contradiction-decision",
            Self::Contradiction(Contradicted::Account) => "contradiction-account",
            Self::Contradiction(Contradicted::Session) => "contradiction-session",
            Self::Contradiction(Contradicted::Tenant) => "contradiction-tenant",
            Self::Contradiction(Contradicted::Audience) => "contradiction-audience",
            Self::Contradiction(Contradicted::Nonce) => "contradiction-nonce",
        }
    }

    /// Whether the two attestations are evidence of a service that lies.
    #[must_use]
    pub const fn is_contradiction(&self) -> bool {
        matches!(self, Self::Contradiction(_))
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unrelated => "they are about different requests, or by different issuers",
            Self::Same => "they attest one and the same statement",
            Self::Repeated => "one request was stated twice, alike",
            Self::Contradiction(Contradicted::Decision) => {
                "one request was attested as a match and as no match; keep both as evidence"
            }
            Self::Contradiction(Contradicted::Account) => {
                "one request was attested for two accounts; keep both as evidence"
            }
            Self::Contradiction(Contradicted::Session) => {
                "one request was attested for two sessions; keep both as evidence"
            }
            Self::Contradiction(Contradicted::Tenant) => {
                "one request was attested at two tenants; keep both as evidence"
            }
            Self::Contradiction(Contradicted::Audience) => {
                "one request was attested for two audiences; keep both as evidence"
            }
            Self::Contradiction(Contradicted::Nonce) => {
                "one request was attested under two nonces; keep both as evidence"
            }
        })
    }
}

/// How two verified attestations are related, in any order.
#[must_use]
pub fn compare(one: &Verified<'_>, other: &Verified<'_>) -> Relation {
    compare_statements(one.statement(), other.statement())
}

/// The same for their statements. The caller must have verified both: anybody can write statements that contradict each other.
#[must_use]
pub fn compare_statements(one: &Statement<'_>, other: &Statement<'_>) -> Relation {
    if one == other {
        return Relation::Same;
    }
    if one.issuer != other.issuer || one.request_digest != other.request_digest {
        return Relation::Unrelated;
    }
    let differing = [
        (one.decision != other.decision, Contradicted::Decision),
        (one.account != other.account, Contradicted::Account),
        (one.proof != other.proof, Contradicted::Session),
        (one.tenant != other.tenant, Contradicted::Tenant),
        (one.audience != other.audience, Contradicted::Audience),
        (one.nonce != other.nonce, Contradicted::Nonce),
    ];
    match differing.iter().find(|(differs, _)| *differs) {
        Some((_, what)) => Relation::Contradiction(*what),
        None => Relation::Repeated,
    }
}
