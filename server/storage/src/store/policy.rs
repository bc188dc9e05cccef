//! The stored form of policies: JSON, as operators send them.

use trefoil_types::Policy;

/// The policy of this text.
///
/// # Errors
/// The text is not one that [`write_policy`] gives.
pub fn read_policy(text: &str) -> Result<Policy, String> {
    serde_json::from_str(text).map_err(|cause| cause.to_string())
}

/// The text of a policy.
///
/// # Errors
/// Never: every policy has a JSON form.
pub fn write_policy(policy: &Policy) -> Result<String, String> {
    serde_json::to_string(policy).map_err(|cause| cause.to_string())
}
