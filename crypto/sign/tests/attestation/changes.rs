//! Receipts of changes: what a verifier must decide, as vectors that all verifiers share.

use crate::fixture::{
    AccountKey, ISSUED_AT, ISSUER, Issued, NOW, blesses, edited, read, read_json, read_root, statement,
    write, write_json,
};
use serde_json::{Value, json};
use trefoil_attest::tree::MerkleTree;
use trefoil_attest::{
    Actor, ApiKeyId, Attestation, Change, Evidence, Handle, IssuerKeyId, Kind, OperatorId, SERVICE, Seal,
    SessionId, Suite, TenantId, VerifyError, What, consent_digest, join, statement_digest, verify_change,
    verify_change_with_seal,
};

const TENANT: TenantId = TenantId::new([1; 16]);
const SEAL: &str = "changes-seal.cbor";
const FULL: &str = "change-full.cbor";

fn change(what: What) -> Change<'static> {
    Change {
        suite: Suite::One,
        issuer: ISSUER,
        tenant: TENANT,
        changed_at: ISSUED_AT,
        salt: [0xa5; 16],
        what,
        by: None,
    }
}

/// One of each kind, with numbers of several lengths; of two of them one more, of which the service and no operator is the actor.
fn changes() -> Vec<Change<'static>> {
    let handle = Handle::new([2; 32]);
    let of_tenants = [
        What::Enrolled { handle, generation: 1, consent: consent_digest("form 7") },
        What::Erased { handle, generation: 300 },
        What::RootPublished { generation: 70_000, generation_min: 0, root: [5; 32], head: [6; 32] },
        What::PolicyChanged { id: 1, version: u32::MAX, digest: [7; 32] },
        What::SessionOpened { session: SessionId::new([8; 32]), expires_at: NOW + 3_300 },
        What::SessionEnded { session: SessionId::new([8; 32]) },
        What::Replaced { handle, generation: 301, replaced: 300, consent: consent_digest("form 8") },
        What::Revoked { handle, generation: 301 },
        What::KeyRotationEnded { epoch: 2 },
    ];
    let (key, operator) = (ApiKeyId::new([9; 8]), OperatorId::new([10; 8]));
    let by_operators = [
        What::TenantCreated { digest: [7; 32] },
        What::TenantDisabled,
        What::TenantEnabled,
        What::ApiKeyCreated { key, scopes: 7 },
        What::ApiKeyRevoked { key },
        What::IssuerKeyRegistered { key: IssuerKeyId::new([11; 32]) },
        What::KeyRotationBegun { epoch: 2 },
        What::MalformedReset,
        What::Refused { action: Kind::PolicyChanged },
        What::TenantDeleted { templates: 5_000_000_000 },
        What::AttemptsReset,
    ];
    let of_the_service = [
        What::OperatorCreated { operator, role: 3 },
        What::OperatorRevoked { operator },
        What::OperatorTokenCreated { operator, token: 300 },
        What::OperatorTokenRevoked { operator, token: 1 },
    ];
    let by = Some(Actor { operator: OperatorId::new([12; 8]), name: "Ann \u{c4}" });
    let by_operators = by_operators.map(|what| Change { by, ..change(what) });
    let of_the_service = of_the_service.map(|what| Change { by, tenant: SERVICE, ..change(what) });
    of_tenants.map(change).into_iter().chain(by_operators).chain(of_the_service).collect()
}

/// A change as the vectors write it.
fn told(change: &Change<'_>) -> Value {
    let mut told = match change.what {
        What::Enrolled { handle, generation, consent } => {
            json!({"handle": hex::encode(handle), "generation": generation, "consent": hex::encode(consent)})
        }
        What::Erased { handle, generation } | What::Revoked { handle, generation } => {
            json!({"handle": hex::encode(handle), "generation": generation})
        }
        What::RootPublished { generation, generation_min, root, head } => {
            let (root, head) = (hex::encode(root), hex::encode(head));
            json!({"generation": generation, "generation_min": generation_min, "root": root, "head": head})
        }
        What::PolicyChanged { id, version, digest } => {
            json!({"policy_id": id, "policy_version": version, "policy_digest": hex::encode(digest)})
        }
        What::SessionOpened { session, expires_at } => {
            json!({"session": hex::encode(session), "expires_at": expires_at})
        }
        What::SessionEnded { session } => json!({"session": hex::encode(session)}),
        What::Replaced { handle, generation, replaced, consent } => {
            let (handle, consent) = (hex::encode(handle), hex::encode(consent));
            json!({"handle": handle, "generation": generation, "replaced": replaced, "consent": consent})
        }
        administrative => told_of_operators(administrative),
    };
    if let Some(Actor { operator, name }) = change.by {
        (told["by_operator"], told["by_name"]) = (json!(hex::encode(operator)), json!(name));
    }
    told["kind"] = json!(change.what.name());
    told["changed_at"] = json!(change.changed_at);
    told["tenant"] = json!(hex::encode(change.tenant));
    told["salt"] = json!(hex::encode(change.salt));
    told
}

fn told_of_operators(what: What) -> Value {
    match what {
        What::TenantCreated { digest } => json!({"policy_digest": hex::encode(digest)}),
        What::TenantDisabled | What::TenantEnabled | What::MalformedReset | What::AttemptsReset => json!({}),
        What::ApiKeyCreated { key, scopes } => json!({"api_key": hex::encode(key), "scopes": scopes}),
        What::ApiKeyRevoked { key } => json!({"api_key": hex::encode(key)}),
        What::IssuerKeyRegistered { key } => json!({"issuer_key": hex::encode(key)}),
        What::KeyRotationBegun { epoch } | What::KeyRotationEnded { epoch } => json!({"epoch": epoch}),
        What::OperatorCreated { operator, role } => {
            json!({"operator": hex::encode(operator), "role": role})
        }
        What::OperatorRevoked { operator } => json!({"operator": hex::encode(operator)}),
        What::OperatorTokenCreated { operator, token } | What::OperatorTokenRevoked { operator, token } => {
            json!({"operator": hex::encode(operator), "token": token})
        }
        What::Refused { action } => json!({"action": action.name()}),
        What::TenantDeleted { templates } => json!({"templates": templates}),
        _ => panic!("a kind without vectors"),
    }
}

/// Full and compact receipts of all changes under one seal, with a login beside them.
struct Receipts {
    seal: Seal,
    full: Vec<u8>,
    compact: Vec<(&'static str, Vec<u8>)>,
}

fn seal() -> Receipts {
    let mut encoded: Vec<(&str, Vec<u8>)> =
        changes().iter().map(|change| (change.what.name(), change.encode().unwrap())).collect();
    let later = Change { changed_at: NOW + 60, ..changes()[1] };
    let other_issuer = Change { issuer: "https://other.example", ..changes()[1] };
    encoded.push(("later", later.encode().unwrap()));
    encoded.push(("of another issuer", other_issuer.encode().unwrap()));
    encoded.push(("a login", statement().encode().unwrap()));
    let digests: Vec<[u8; 32]> = encoded.iter().map(|(_, bytes)| statement_digest(bytes)).collect();
    let tree = MerkleTree::new(&digests).unwrap();
    let Issued { seal, .. } = Issued::with(&statement(), |header| trefoil_attest::SealHeader {
        tree_size: tree.size(),
        root: tree.root(),
        seal_number: 18,
        ..header
    });
    let receipt = |leaf: usize, evidence| {
        let path = tree.path(leaf as u64).unwrap();
        let (statement, leaf_index) = (encoded[leaf].1.as_slice(), leaf as u64);
        Attestation { statement, leaf_index, tree_size: tree.size(), path, evidence, device: None }.encode()
    };
    let compact =
        (0..encoded.len()).map(|leaf| (encoded[leaf].0, receipt(leaf, Evidence::Compact(seal.reference()))));
    Receipts { full: receipt(1, Evidence::Full(seal.clone())), compact: compact.collect(), seal }
}

/// What this verifier decides of a case: the change, or the code of the refusal.
fn decide(manifest: &Value, case: &Value) -> Result<Value, &'static str> {
    let base = case["base"].as_str().unwrap();
    let base = match base {
        FULL => read(FULL),
        name => hex::decode(manifest["compact"][name].as_str().unwrap()).unwrap(),
    };
    let (bytes, seal) =
        (edited(&base, case["edits"].as_array().unwrap()), Seal::decode(&read(SEAL)).unwrap());
    let root = read_root(case["trust_root"].as_str().unwrap());
    let tenant =
        hex::decode(case["tenant"].as_str().unwrap_or(manifest["tenant"].as_str().unwrap())).unwrap();
    // Receipts of the service itself are of no tenant.
    let tenant = (!tenant.is_empty()).then(|| TenantId::new(tenant.try_into().unwrap()));
    let now = case["now"].as_u64().unwrap_or(NOW);
    let verified = match case["seal"].as_bool().unwrap() {
        true => verify_change_with_seal(&bytes, &seal, &root, tenant.as_ref(), now),
        false => verify_change(&bytes, &root, tenant.as_ref(), now),
    };
    verified.map(|verified| told(verified.change())).map_err(|cause: VerifyError| cause.code())
}

fn make() -> Value {
    let Receipts { compact, full, seal } = seal();
    write(SEAL, seal.encode());
    write(FULL, &full);
    let listed: serde_json::Map<String, Value> =
        compact.iter().map(|(name, bytes)| ((*name).to_owned(), json!(hex::encode(bytes)))).collect();
    let mut manifest = json!({"now": NOW, "tenant": hex::encode(TENANT), "compact": listed});
    let root = "trust-root.json";
    let case = |name: &str, base: &str, seal: bool| json!({"name": name, "base": base, "seal": seal, "edits": [], "trust_root": root});
    let mut cases = vec![case("full", FULL, false), case("full with its seal", FULL, true)];
    for (name, _) in &compact {
        let mut case = case(name, name, true);
        if name.starts_with("operator_") {
            case["tenant"] = json!("");
        }
        cases.push(case);
    }
    cases.push(case("of the service and not of the tenant", "operator_revoked", true));
    cases.push(case("compact without its seal", "erased", false));
    let with = |name: &str, field: &str, value: Value| {
        let mut case = case(name, "erased", true);
        case[field] = value;
        case
    };
    cases.push(with("another tenant", "tenant", json!("fe".repeat(16))));
    cases.push(with("before it was done", "now", json!(ISSUED_AT - 60)));
    cases.push(with("years later", "now", json!(NOW + 100_000_000)));
    for root in ["trust-root-revoked.json", "trust-root-other-keys.json", "trust-root-other-issuer.json"] {
        cases.push(with(root, "trust_root", json!(root)));
    }
    for base in ["erased", "policy_changed", "refused"] {
        let bytes = &compact.iter().find(|(name, _)| *name == base).unwrap().1;
        for (at, byte) in bytes.iter().enumerate() {
            let mut case = case(&format!("{base}, byte {at}"), base, true);
            case["edits"] = json!([{"at": at, "remove": 1, "insert": hex::encode([byte ^ 1])}]);
            cases.push(case);
        }
    }
    for at in (0..full.len()).step_by(613) {
        let mut case = case(&format!("full, byte {at}"), FULL, false);
        case["edits"] = json!([{"at": at, "remove": 1, "insert": hex::encode([full[at] ^ 1])}]);
        cases.push(case);
    }
    // A device signs logins only.
    let mut joined = case("a receipt that a device signed", FULL, false);
    let bytes = join(&full, &AccountKey::new(0x21).sign(b"a receipt")).unwrap();
    joined["edits"] = json!([
        {"at": 0, "remove": 1, "insert": hex::encode([bytes[0]])},
        {"at": full.len(), "remove": 0, "insert": hex::encode(&bytes[full.len()..])},
    ]);
    cases.push(joined);
    for case in &mut cases {
        match decide(&manifest, case) {
            Ok(change) => (case["expect"], case["change"]) = (json!("verified"), change),
            Err(code) => case["expect"] = json!(code),
        }
    }
    manifest["cases"] = json!(cases);
    manifest
}

#[test]
fn receipts_are_decided_as_stated_and_their_vectors_belong_together() {
    if blesses("changes") {
        write_json("changes.json", &make());
    }
    let manifest = read_json("changes.json");
    let (mut verified, mut refused) = (0, 0);
    for case in manifest["cases"].as_array().unwrap() {
        match decide(&manifest, case) {
            Ok(change) => {
                assert_eq!(
                    (&case["expect"], &case["change"]),
                    (&json!("verified"), &change),
                    "{}",
                    case["name"]
                );
                verified += 1;
            }
            Err(code) => {
                assert_eq!(case["expect"], code, "{}", case["name"]);
                refused += 1;
            }
        }
    }
    assert!(verified == 27 && refused > 1000, "{verified} verified, {refused} refused");
    // Signatures differ each time, what they sign does not.
    for (name, bytes) in &seal().compact {
        assert_eq!(manifest["compact"][*name], hex::encode(bytes), "{name}");
    }
}

#[test]
fn every_kind_reads_back_equal() {
    for change in changes() {
        let bytes = change.encode().unwrap();
        assert_eq!(Change::decode(&bytes), Ok(change));
        (0..bytes.len()).for_each(|end| assert!(Change::decode(&bytes[..end]).is_err(), "{end}"));
    }
    let nameless = Change { issuer: "", ..changes()[0] };
    assert!(nameless.encode().is_err());
    let nobody = Actor { operator: OperatorId::new([0; 8]), name: "" };
    assert!(Change { by: Some(nobody), ..changes()[0] }.encode().is_err());
    let kinds: Vec<Kind> = changes().iter().map(|change| change.what.kind()).collect();
    assert!(Kind::ALL.iter().all(|kind| kinds.contains(kind)), "a kind without vectors");
    // A refusal of a refusal is none.
    let refusal =
        changes().iter().find(|change| change.what.kind() == Kind::Refused).unwrap().encode().unwrap();
    let at = refusal.windows(4).position(|part| part == [4, 0x81, 4, 5]).unwrap() + 2;
    let twice = [&refusal[..at], &[20], &refusal[at + 1..]].concat();
    assert!(Change::decode(&twice).is_err());
}
