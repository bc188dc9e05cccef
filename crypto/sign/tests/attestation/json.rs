//! The text forms: same content, nothing else.

use trefoil_attest::json::{JsonError, attestation_from_json, attestation_to_json};
use trefoil_attest::{TrustRoot, verify};

use crate::fixture::{Issued, NOW};

#[test]
fn views_carry_the_same_bytes() {
    let issued = Issued::new();
    for bytes in [issued.full(), issued.compact()] {
        let text = attestation_to_json(&bytes).unwrap();
        assert_eq!(attestation_from_json(&text).unwrap(), bytes);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["statement"]["decision"], "match");
        assert_eq!(value["statement"]["audience"], "https://shop.example");
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        assert_eq!(attestation_from_json(&pretty).unwrap(), bytes);
    }
    let bytes = attestation_from_json(&attestation_to_json(&issued.full()).unwrap()).unwrap();
    verify(&bytes, &issued.policy(), NOW).unwrap();
}

#[test]
fn a_view_that_contradicts_its_bytes_is_refused() {
    let text = attestation_to_json(&Issued::new().full()).unwrap();
    let differs = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        attestation_from_json(&text.replacen(from, to, 1)).unwrap_err()
    };
    let match_ = r#""decision":"match""#;
    assert!(matches!(differs(match_, r#""decision":"no_match""#), JsonError::ViewDiffers));
    assert!(matches!(differs(r#""place":4"#, r#""place":5"#), JsonError::ViewDiffers));
    let repeated = r#""decision":"no_match","decision":"match""#;
    assert!(matches!(differs(match_, repeated), JsonError::Syntax(_)));
    assert!(matches!(differs(match_, r#""decision":"match","score":1"#), JsonError::Syntax(_)));
    assert!(matches!(attestation_from_json("{}"), Err(JsonError::Syntax(_))));
    assert!(matches!(attestation_from_json(&" ".repeat(70_000)), Err(JsonError::TooLong)));
    let cut = text.len() - 20;
    assert!(matches!(attestation_from_json(&text[..cut]), Err(JsonError::Syntax(_))));
}

#[test]
fn damaged_trust_roots_are_refused() {
    let root = Issued::new().trust_root();
    let text = root.to_json();
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        TrustRoot::from_json(&text.replacen(from, to, 1)).unwrap_err()
    };
    assert!(matches!(refused("trust-root/1", "trust-root/2"), JsonError::Format));
    assert!(matches!(refused("\"issuer\"", "\"comment\": 1, \"issuer\""), JsonError::Syntax(_)));
    assert!(matches!(refused("\"active\"", "\"asleep\""), JsonError::Syntax(_)));
    assert!(matches!(refused("\"active\"", "\"active\", \"since\": 1"), JsonError::Status));
    assert!(matches!(refused("\"active\"", "\"revoked\""), JsonError::Status));
    assert!(matches!(refused("\"not_after\": 18", "\"not_after\": 19"), JsonError::KeySetId));
    assert!(matches!(refused("\"ml-dsa-65\": \"", "\"ml-dsa-65\": \"A"), JsonError::Base64("ml-dsa-65")));
}
