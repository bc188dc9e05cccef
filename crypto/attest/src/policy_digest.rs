//! The digest by which receipts name a policy.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use serde_json::Value;
use trefoil_types::Policy;

use crate::statement::statement_digest;

/// SHA3-256 of a policy in canonical JSON (RFC 8785): its members are named in ASCII, and its numbers are whole.
///
/// # Panics
/// Never: every policy has a JSON form.
#[must_use]
pub fn policy_digest(policy: &Policy) -> [u8; 32] {
    // A value's members are sorted, which a struct's are not.
    let value = serde_json::to_value(policy).expect("a policy is JSON");
    statement_digest(canonical(&value).as_bytes())
}

fn canonical(value: &Value) -> String {
    let text = |text: &str| Value::from(text).to_string();
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            let members = names.iter().map(|name| format!("{}:{}", text(name), canonical(&members[*name])));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}
