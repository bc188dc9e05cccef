//! The shared vectors of `testdata`, with public inputs only.

use crate::vectors::{list, read, read_json, text};
use serde_json::Value;
use trefoil_attest::{ExpectedNonce, Policy, Seal, TrustRoot, verify, verify_with_seal};

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn edited(case: &Value) -> Vec<u8> {
    let mut bytes = read(text(&case["base"]));
    for edit in list(&case["edits"]) {
        let (at, remove) = (number(&edit["at"]) as usize, number(&edit["remove"]) as usize);
        bytes.splice(at..at + remove, hex::decode(text(&edit["insert"])).unwrap());
    }
    bytes
}

/// Claim S20.
#[test]
fn every_case_is_decided_as_stated() {
    let manifest = read_json("cases.json");
    let seal = Seal::decode(&read("seal.cbor")).unwrap();
    let own = |case: &Value, field: &str| match &case[field] {
        Value::Null => manifest[field].clone(),
        given => given.clone(),
    };
    let (mut verified, mut refused) = (0, 0);
    for case in list(&manifest["cases"]) {
        let root = TrustRoot::from_file(&read(text(&case["trust_root"]))).unwrap();
        let nonce = hex::decode(text(&own(case, "nonce"))).unwrap();
        let policy = Policy::new(root, text(&own(case, "audience")), ExpectedNonce::Exactly(nonce));
        let policy = match case["tenant"].as_str() {
            Some(tenant) => policy.tenant(tenant.parse().unwrap()),
            None => policy,
        };
        let policy = match case["accept_no_proof"].as_bool() {
            Some(true) => policy.accept_no_proof(),
            _ => policy,
        };
        let policy = match case["account_key"].as_str() {
            Some(key) => policy.account_key(key.parse().unwrap()),
            None => policy,
        };
        let (bytes, now) = (edited(case), number(&own(case, "now")));
        let outcome = match case["seal"].as_bool().unwrap() {
            true => verify_with_seal(&bytes, &seal, &policy, now),
            false => verify(&bytes, &policy, now),
        };
        let decided = outcome.as_ref().map_or_else(|error| error.code(), |_| "verified");
        assert_eq!(decided, text(&case["expect"]), "{}: {:?}", case["name"], outcome.err());
        let device = outcome.as_ref().ok().and_then(|verified| verified.device());
        assert_eq!(device.map(|key| key.to_string()).as_deref(), case["device"].as_str(), "{}", case["name"]);
        *if decided == "verified" { &mut verified } else { &mut refused } += 1;
    }
    assert!(verified >= 33 && refused >= 470, "{verified} verified, {refused} refused");
}
