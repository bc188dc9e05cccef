//! The text form of a trust root: same content, nothing else.

use trefoil_attest::TrustRoot;
use trefoil_attest::json::JsonError;

use crate::fixture::Issued;

#[test]
fn damaged_trust_roots_are_refused() {
    let root = Issued::new().trust_root();
    let text = root.to_json();
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        TrustRoot::from_json(&text.replacen(from, to, 1)).unwrap_err()
    };
    assert!(matches!(refused("trust-root/1", "trust-root/2"), JsonError::Format));
    // Another file's secret may stand anywhere.
    for (from, to) in [
        ("\"issuer\"", "\"s3cret\": 1, \"issuer\""),
        ("\"active\"", "\"s3cret\""),
        ("\"active\"", "[\"s3cret\"]"),
        ("\"not_after\": 18", "\"not_after\": \"s3cret\""),
        ("{", "s3cret"),
    ] {
        let error = refused(from, to);
        assert!(matches!(error, JsonError::Syntax { .. }), "{to}");
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
    }
    assert!(matches!(refused("\"active\"", "\"active\", \"since\": 1"), JsonError::Status));
    assert!(matches!(refused("\"active\"", "\"revoked\""), JsonError::Status));
    assert!(matches!(refused("\"not_after\": 18", "\"not_after\": 19"), JsonError::KeySetId));
    assert!(matches!(refused("\"ml-dsa-65\": \"", "\"ml-dsa-65\": \"A"), JsonError::Base64("ml-dsa-65")));
}
