//! What API keys were used for.

use crate::record;
use trefoil_types::{ApiKeyId, TenantId};

/// The uses of an API key, on one day or since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageCounts {
    /// Logins decided with a match.
    pub matched: u64,
    /// Logins decided with no match.
    pub not_matched: u64,
    /// Subjects enrolled.
    pub enrolments: u64,
    /// Requests refused or failed; in a batch each login counts.
    pub refusals: u64,
}

impl UsageCounts {
    /// The sum of both.
    #[must_use]
    pub fn plus(&self, more: &UsageCounts) -> UsageCounts {
        UsageCounts {
            matched: self.matched.wrapping_add(more.matched),
            not_matched: self.not_matched.wrapping_add(more.not_matched),
            enrolments: self.enrolments.wrapping_add(more.enrolments),
            refusals: self.refusals.wrapping_add(more.refusals),
        }
    }

    /// The difference from `before`.
    #[must_use]
    pub fn less(&self, before: &UsageCounts) -> UsageCounts {
        UsageCounts {
            matched: self.matched.wrapping_sub(before.matched),
            not_matched: self.not_matched.wrapping_sub(before.not_matched),
            enrolments: self.enrolments.wrapping_sub(before.enrolments),
            refusals: self.refusals.wrapping_sub(before.refusals),
        }
    }
}

/// The counts of an API key on one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The tenant that the key belongs to.
    pub tenant: TenantId,
    /// Its public part.
    pub api_key: ApiKeyId,
    /// Days since 1970, UTC.
    pub day: u64,
    /// Its uses.
    pub counts: UsageCounts,
}
record!(
    "usage", 3, Rows, Usage { tenant, api_key, day, counts: UsageCounts { matched, not_matched, enrolments, refusals } }
    => tenant, api_key, day, matched, not_matched, enrolments, refusals
);

/// Names a write of usage. A write that is repeated, because its answer was lost, keeps its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageWrite {
    /// Random, of the process.
    pub process: u64,
    /// Counts the writes of the process from 1.
    pub number: u64,
}
