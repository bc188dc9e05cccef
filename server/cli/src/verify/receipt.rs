//! The receipt of a change, which is for the tenant and for auditors: it has no audience, no nonce and no end.

use super::{Given, Outcome, mark, refused, time};
use serde_json::{Map, Value};
use trefoil_attest::{
    Attestation, Change, TrustRoot, VerifiedChange, What, verify_change, verify_change_with_pruned_seal,
    verify_change_with_seal,
};
use trefoil_types::TenantId;

/// The tenant that a receipt is about; nothing where the bytes are none.
pub(super) fn tenant(bytes: &[u8]) -> Option<TenantId> {
    let receipt = Attestation::decode(bytes).ok()?;
    Change::decode(receipt.statement).ok().map(|change| change.tenant)
}

/// Verifies a receipt about a tenant, which is the receipt's own if the caller gave none.
pub(super) fn verify(
    bytes: &[u8],
    seal: Option<&Given>,
    root: &TrustRoot,
    tenant: &TenantId,
    now: u64,
    is_given: bool,
) -> Outcome {
    let verified = match seal {
        None => verify_change(bytes, root, tenant, now),
        Some(Given::Whole(seal)) => verify_change_with_seal(bytes, seal, root, tenant, now),
        Some(Given::Pruned(seal)) => verify_change_with_pruned_seal(bytes, seal, root, tenant, now),
    };
    verified.map_or_else(|cause| refused(&cause), |verified| report(&verified, is_given))
}

fn report(verified: &VerifiedChange<'_>, tenant_is_given: bool) -> Outcome {
    let Change { issuer, tenant, changed_at, what, .. } = verified.change();
    let head = [
        ("change", what.name().to_owned()),
        ("issuer", (*issuer).to_owned()),
        ("tenant", hex::encode(tenant)),
        ("done", time::format(*changed_at)),
    ];
    let seal = verified.seal();
    let tail = [("seal", seal.seal_number.to_string()), ("sealed", time::format(seal.time))];
    let rows = head.into_iter().chain(details(what)).chain(tail);
    let (mut text, mut json) = (String::new(), Map::new());
    text += &format!(
        "{} three signatures verify under key set {}\n",
        mark(true),
        &hex::encode(seal.key_set_id)[..16]
    );
    for (name, value) in rows {
        text += &format!("  {name:<15}{value}\n");
        json.insert(name.replace(' ', "_"), Value::String(value));
    }
    let unchecked: &[&str] = if tenant_is_given { &[] } else { &["tenant"] };
    if !tenant_is_given {
        text += "  not checked: tenant; give --tenant\n";
    }
    Outcome::Valid {
        text,
        json: serde_json::json!({"valid": true, "receipt": json, "not_checked": unchecked}),
    }
}

fn details(what: &What) -> Vec<(&'static str, String)> {
    match what {
        What::Enrolled { handle, generation, consent } => vec![
            ("subject", hex::encode(handle)),
            ("generation", generation.to_string()),
            ("consent digest", hex::encode(consent)),
        ],
        What::Erased { handle, generation } => {
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
        other => vec![("more", format!("this build does not show what {} has", other.name()))],
    }
}
