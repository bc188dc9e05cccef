//! The file form of a trust root: JSON for people and tools, or the canonical CBOR. Both are defined by `trefoil-attest`.

use thiserror::Error;
use trefoil_attest::TrustRoot;
use trefoil_attest::json::TRUST_ROOT_JSON_BYTES_MAX;

/// Largest trust-root file.
pub const TRUST_ROOT_FILE_BYTES_MAX: u64 = TRUST_ROOT_JSON_BYTES_MAX as u64;

/// Why bytes are no trust root.
#[derive(Debug, Error)]
#[error("not a trust root: {0}; export one with `trefoil keys export-trust-root`")]
pub struct TrustFileError(String);

/// The JSON form.
pub fn to_json(root: &TrustRoot) -> String {
    root.to_json()
}

/// Reads either form.
pub fn read(bytes: &[u8]) -> Result<TrustRoot, TrustFileError> {
    // No CBOR array of at most six starts like JSON text.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return TrustRoot::decode(bytes).map_err(|cause| TrustFileError(cause.to_string()));
    }
    let text = std::str::from_utf8(bytes).map_err(|cause| TrustFileError(cause.to_string()))?;
    TrustRoot::from_json(text).map_err(|cause| TrustFileError(cause.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_attest::{KeySetStatus, PublicKeySet, TrustedKeySet};

    fn root() -> TrustRoot {
        let keys = PublicKeySet {
            ml_dsa_65: Box::new([1; 1952]),
            falcon_512: Box::new([2; 897]),
            slh_dsa_sha2_128f: [3; 32],
            not_before: 4,
            not_after: 5,
        };
        let retired = PublicKeySet { not_after: 6, ..keys.clone() };
        let status = KeySetStatus::Retired { since: 7 };
        let sets = vec![
            TrustedKeySet { keys, status: KeySetStatus::Active },
            TrustedKeySet { keys: retired, status },
        ];
        TrustRoot::new("https://auth.example", sets).unwrap()
    }

    #[test]
    fn both_forms_read_back() {
        let first = root();
        let second = first.successor(first.key_sets().to_vec()).unwrap();
        for root in [first, second] {
            assert_eq!(read(to_json(&root).as_bytes()).unwrap(), root);
            assert_eq!(read(&root.encode()).unwrap(), root);
        }
    }

    #[test]
    fn edited_files_are_refused_with_a_reason() {
        let json = to_json(&root());
        let refused = |from: &str, to: &str| {
            assert!(json.contains(from));
            read(json.replacen(from, to, 1).as_bytes()).unwrap_err().to_string()
        };
        assert!(refused("\"format\"", "\"extra\": 1, \"format\"").contains("unknown field"));
        assert!(refused("\"format\"", "\"version\": 2, \"format\"").contains("later ones have all three"));
        assert!(refused("trust-root/1", "trust-root/2").contains("unknown format or version"));
        assert!(refused("\"not_before\": 4", "\"not_before\": 3").contains("does not match"));
        assert!(refused("AwMDAwMD", "AwMDAwME").contains("does not match"));
        assert!(read(b"").unwrap_err().to_string().contains("not a trust root"));
    }
}
