//! The shared vectors of contradictions, with public inputs only.

use serde_json::Value;
use trefoil_attest::{
    Attestation, ExpectedNonce, Policy, Relation, Seal, Statement, TrustRoot, compare, compare_statements,
    verify_with_seal,
};

fn read(name: &str) -> String {
    std::fs::read_to_string(format!("{}/testdata/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap()).unwrap()
}

/// Claim S9.
#[test]
fn every_pair_is_related_as_stated() {
    let vectors: Value = serde_json::from_str(&read("contradictions.json")).unwrap();
    let now = vectors["now"].as_u64().unwrap();
    let (mut seen, mut contradictions) = (Vec::new(), 0);
    for pair in vectors["pairs"].as_array().unwrap() {
        let [one, other] =
            ["one", "other"].map(|side| &vectors["attestations"][pair[side].as_str().unwrap()]);
        let [one_bytes, other_bytes] = [one, other].map(|case| bytes(&case["bytes"]));
        let verified = |case: &Value, attestation| {
            let seal = &vectors["seals"][case["seal"].as_u64().unwrap() as usize];
            let seal = Seal::decode(&bytes(seal)).unwrap();
            let root = TrustRoot::from_json(&read(case["trust_root"].as_str().unwrap())).unwrap();
            let statement = Attestation::decode(attestation).unwrap().statement;
            let audience = Statement::decode(statement).unwrap().audience;
            let policy =
                Policy::new(root, audience, ExpectedNonce::DangerousAny).any_decision().accept_no_proof();
            verify_with_seal(attestation, &seal, &policy, now).unwrap()
        };
        let (one, other) = (verified(one, &one_bytes), verified(other, &other_bytes));
        let relation = compare(&one, &other);
        assert_eq!(relation.code(), pair["expect"].as_str().unwrap(), "{pair}");
        assert_eq!(compare_statements(other.statement(), one.statement()), relation, "in any order");
        contradictions += usize::from(relation.is_contradiction());
        seen.push(relation);
    }
    assert!(Relation::ALL.iter().all(|relation| seen.contains(relation)), "{seen:?}");
    assert!(contradictions >= 9, "{contradictions}");
}
