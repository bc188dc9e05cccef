//! The uses of API keys.

use super::Hex;
use serde::{Deserialize, Serialize};

/// `GET /v1/usage` and `GET /v1/tenants/{tenant}/usage`: the last 31 days, today among them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct UsagePage {
    /// The tenant.
    pub tenant_id: Hex<16>,
    /// Each API key on each day on which it was used, by key and then by day.
    pub usage: Vec<DayOfUse>,
    /// The value of `from` for the next page; `null` at the end.
    pub next: Option<Hex<8>>,
}

/// The uses of an API key on one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct DayOfUse {
    /// Its public part.
    pub api_key: Hex<8>,
    /// Unix second at which the day began, in UTC.
    pub day: u64,
    /// Logins decided with a match.
    pub matched: u64,
    /// Logins decided with no match.
    pub not_matched: u64,
    /// Subjects enrolled, and templates replaced.
    pub enrolments: u64,
    /// Requests refused or failed; in a batch each login counts.
    pub refusals: u64,
}
