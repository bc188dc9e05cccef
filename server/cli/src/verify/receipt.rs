//! The receipt of a change, for the tenant and for auditors: it has no audience, no nonce and no expiry.

use super::outcome::{At, Given, Outcome, mark, refused};
use serde_json::{Map, Value, json};
use trefoil_attest::{
    Attestation, Change, SERVICE, TrustRoot, VerifiedChange, What, verify_change,
    verify_change_with_pruned_seal, verify_change_with_seal,
};
use trefoil_service::tenants::tenant::Scopes;
use trefoil_service::time;
use trefoil_types::TenantId;

/// Roles by their numbers in receipts.
const ROLES: [&str; 4] = ["unknown", "viewer", "operator", "owner"];

/// Whether the bytes have the form of a receipt, verified or not.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    Attestation::decode(bytes).is_ok_and(|receipt| Change::decode(receipt.statement).is_ok())
}

pub(super) fn verify(
    bytes: &[u8],
    seal: Option<&Given>,
    root: &TrustRoot,
    tenant: Option<&TenantId>,
    at: At,
) -> Outcome {
    let now = at.unix_s;
    let verified = match seal {
        None => verify_change(bytes, root, tenant, now),
        Some(Given::Whole(seal)) => verify_change_with_seal(bytes, seal, root, tenant, now),
        Some(Given::Pruned(seal)) => verify_change_with_pruned_seal(bytes, seal, root, tenant, now),
    };
    verified.map_or_else(|cause| refused(&cause, at), |verified| report(&verified, tenant.is_none()))
}

fn report(verified: &VerifiedChange<'_>, of_any_tenant: bool) -> Outcome {
    let Change { issuer, tenant, changed_at, what, by, .. } = verified.change();
    let head = [
        ("change", what.name().to_owned()),
        ("issuer", (*issuer).to_owned()),
        ("tenant", if *tenant == SERVICE { "none: the service".to_owned() } else { hex::encode(tenant) }),
        ("done", time::format(*changed_at)),
    ];
    let by = by.map(|by| ("by", format!("{} ({})", by.name, hex::encode(by.operator))));
    let seal = verified.seal();
    let tail = [("seal", seal.seal_number.to_string()), ("sealed", time::format(seal.time))];
    let key_set = hex::encode(seal.key_set_id);
    let mut text = format!("{} three signatures verify under key set {}\n", mark(true), &key_set[..16]);
    let mut json = Map::new();
    for (name, value) in head.into_iter().chain(details(what)).chain(by).chain(tail) {
        text += &format!("  {name:<15}{value}\n");
        json.insert(name.replace(' ', "_"), Value::String(value));
    }
    let unchecked: &[&str] = if of_any_tenant { &["tenant"] } else { &[] };
    if of_any_tenant {
        text += "  not checked: tenant; give --tenant\n";
    }
    Outcome::Valid { text, json: json!({"valid": true, "receipt": json, "not_checked": unchecked}) }
}

fn details(what: &What) -> Vec<(&'static str, String)> {
    match what {
        What::Enrolled { handle, generation, consent } => vec![
            ("subject", hex::encode(handle)),
            ("generation", generation.to_string()),
            ("consent digest", hex::encode(consent)),
        ],
        What::Erased { handle, generation } | What::Revoked { handle, generation } => {
            vec![("subject", hex::encode(handle)), ("generation", generation.to_string())]
        }
        What::RootPublished { generation, generation_min, root, head } => vec![
            ("generation", generation.to_string()),
            ("accepted from", generation_min.to_string()),
            ("root", hex::encode(root)),
            ("log head", hex::encode(head)),
        ],
        What::PolicyChanged { id, version, digest } => {
            vec![("policy", format!("{id} version {version}")), ("policy digest", hex::encode(digest))]
        }
        What::SessionOpened { session, expires_at } => {
            vec![("session", hex::encode(session)), ("ends", time::format(*expires_at))]
        }
        What::SessionEnded { session } => vec![("session", hex::encode(session))],
        What::Replaced { handle, generation, replaced, consent } => vec![
            ("subject", hex::encode(handle)),
            ("generation", generation.to_string()),
            ("in place of", replaced.to_string()),
            ("consent digest", hex::encode(consent)),
        ],
        What::TenantCreated { digest } => vec![("policy digest", hex::encode(digest))],
        What::TenantDisabled | What::TenantEnabled | What::MalformedReset | What::AttemptsReset => Vec::new(),
        What::ApiKeyCreated { key, scopes } => {
            let scopes = Scopes::from_bits(*scopes).list();
            let scopes: Vec<&str> = scopes.iter().map(|scope| scope.name()).collect();
            vec![("api key", hex::encode(key)), ("scopes", scopes.join(", "))]
        }
        What::ApiKeyRevoked { key } => vec![("api key", hex::encode(key))],
        What::IssuerKeyRegistered { key } => vec![("issuer key", hex::encode(key))],
        What::KeyRotationBegun { epoch } | What::KeyRotationEnded { epoch } => {
            vec![("epoch", epoch.to_string())]
        }
        What::OperatorCreated { operator, role } => {
            let role = ROLES.get(usize::from(*role)).unwrap_or(&"unknown");
            vec![("operator", hex::encode(operator)), ("role", (*role).to_owned())]
        }
        What::OperatorRevoked { operator } => vec![("operator", hex::encode(operator))],
        What::OperatorTokenCreated { operator, token } | What::OperatorTokenRevoked { operator, token } => {
            vec![("operator", hex::encode(operator)), ("token", token.to_string())]
        }
        What::TenantDeleted { templates } => vec![("templates", templates.to_string())],
        What::Refused { action } => vec![("refused", action.name().to_owned())],
        other => vec![("more", format!("this build does not show what {} has", other.name()))],
    }
}
