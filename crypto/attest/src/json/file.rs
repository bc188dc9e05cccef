//! The file of a trust root: JSON for people and tools, or the canonical CBOR.

use alloc::string::{String, ToString as _};

use crate::trust_root::TrustRoot;

/// Why bytes are no trust root.
#[derive(Debug, thiserror::Error)]
#[error("not a trust root: {0}; export one with `trefoil keys export-trust-root`")]
pub struct TrustFileError(String);

impl TrustRoot {
    /// Reads either form.
    ///
    /// # Errors
    /// [`TrustFileError`] when the bytes are neither form, or the trust root in them contradicts itself.
    pub fn from_file(bytes: &[u8]) -> Result<Self, TrustFileError> {
        // No CBOR array of at most six starts like JSON text.
        if !bytes.trim_ascii_start().starts_with(b"{") {
            return Self::decode(bytes).map_err(|cause| TrustFileError(cause.to_string()));
        }
        let text = core::str::from_utf8(bytes).map_err(|cause| TrustFileError(cause.to_string()))?;
        Self::from_json(text).map_err(|cause| TrustFileError(cause.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeySetStatus, PublicKeySet, TrustedKeySet};
    use alloc::boxed::Box;
    use alloc::vec;

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
        TrustRoot::new("https://auth.example", sets).expect("keys of two sets")
    }

    #[test]
    fn both_forms_read_back() {
        let first = root();
        let second = first.successor(first.key_sets().to_vec()).expect("the same keys");
        for root in [first, second] {
            assert_eq!(TrustRoot::from_file(root.to_json().as_bytes()).expect("JSON"), root);
            assert_eq!(TrustRoot::from_file(&root.encode()).expect("CBOR"), root);
        }
    }

    #[test]
    fn edited_files_are_refused_with_a_reason() {
        let json = root().to_json();
        let refused = |from: &str, to: &str| {
            assert!(json.contains(from));
            TrustRoot::from_file(json.replacen(from, to, 1).as_bytes()).expect_err("edited").to_string()
        };
        assert!(
            refused("\"format\"", "\"extra\": 1, \"format\"")
                .contains("an unknown, missing or repeated field")
        );
        assert!(refused("\"format\"", "\"version\": 2, \"format\"").contains("later ones have all three"));
        assert!(refused("trust-root/1", "trust-root/2").contains("unknown format or version"));
        assert!(refused("\"not_before\": 4", "\"not_before\": 3").contains("does not match"));
        assert!(refused("AwMDAwMD", "AwMDAwME").contains("does not match"));
        assert!(TrustRoot::from_file(b"").expect_err("empty").to_string().contains("not a trust root"));
    }
}
