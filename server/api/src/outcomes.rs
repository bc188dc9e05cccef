//! How the logins of each tenant ended, for operators.

use super::Hex;
use serde::{Deserialize, Serialize};

/// How the logins of a tenant ended lately, at this node of a fleet; of a tenant with two models, those with one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TenantLogins {
    /// The tenant.
    pub tenant: Hex<16>,
    /// Its name for operators.
    pub name: String,
    /// The model of these logins' templates; `null` if the tenant has only one.
    pub model: Option<String>,
    /// In the last 60 to 65 minutes, or since its policy changed or the process began.
    pub hour: LoginOutcomes,
    /// In the last 24 to 25 hours, likewise.
    pub day: LoginOutcomes,
    /// The share of the right people that the model refuses at the policy's threshold; `null` if that is not known.
    pub model_refuses: Option<f64>,
    /// Whether more are refused than that explains: then there is a finding.
    pub refuses_too_many: bool,
}

/// Logins by their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct LoginOutcomes {
    /// Decided with a match.
    pub matched: u64,
    /// Decided with no match.
    pub not_matched: u64,
    /// Attempts that the key-holder refused because a budget of the subject was spent. Their logins are among those with no match.
    pub locked_out: u64,
    /// Refused with `distinct-failures`, undecided.
    pub turned_away: u64,
}
