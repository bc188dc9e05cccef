//! The file form of a trust root: JSON for people and tools, or the canonical CBOR.
//!
//! The JSON form is versioned by `format`, refuses unknown keys, and repeats each key set's identifier, which is
//! recomputed when it is read: a file edited by accident does not silently become another root.

use crate::wire::{Base64, Hex};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use trefoil_attest::{KeySetStatus, PublicKeySet, TRUST_ROOT_FORMAT, TrustRoot, TrustedKeySet};

/// Largest trust-root file: 64 key sets of about 4 KiB as JSON, and room.
pub const TRUST_ROOT_FILE_BYTES_MAX: u64 = 512 * 1024;

/// Why bytes are no trust root.
#[derive(Debug, Error)]
pub enum TrustFileError {
    /// Neither the JSON nor the CBOR form.
    #[error("not a trust root: {0}; export one with `trefoil keys export-trust-root`")]
    Malformed(String),
    /// A version that this program does not know.
    #[error("trust root of format {0}, this program knows {TRUST_ROOT_FORMAT}; update it")]
    Version(String),
    /// A key set whose identifier is not that of its keys.
    #[error("key set {0} does not hold the keys it names; fetch the trust root again")]
    Identifier(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    issuer: String,
    key_sets: Vec<KeySet>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeySet {
    id: Hex<32>,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    since: Option<u64>,
    not_before: u64,
    not_after: u64,
    ml_dsa_65: Base64,
    falcon_512: Base64,
    slh_dsa_sha2_128f: Base64,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Active,
    Retired,
    Revoked,
}

/// The JSON form.
pub fn to_json(root: &TrustRoot) -> String {
    let key_sets = root.key_sets().iter().map(|TrustedKeySet { keys, status }| {
        let (status, since) = match *status {
            KeySetStatus::Active => (Status::Active, None),
            KeySetStatus::Retired { since } => (Status::Retired, Some(since)),
            KeySetStatus::Revoked { since } => (Status::Revoked, Some(since)),
        };
        KeySet {
            id: Hex(keys.id()),
            status,
            since,
            not_before: keys.not_before,
            not_after: keys.not_after,
            ml_dsa_65: Base64(keys.ml_dsa_65.to_vec()),
            falcon_512: Base64(keys.falcon_512.to_vec()),
            slh_dsa_sha2_128f: Base64(keys.slh_dsa_sha2_128f.to_vec()),
        }
    });
    let file = File {
        format: TRUST_ROOT_FORMAT.to_owned(),
        issuer: root.issuer().to_owned(),
        key_sets: key_sets.collect(),
    };
    serde_json::to_string_pretty(&file).expect("strings and numbers have a JSON form") + "\n"
}

/// Reads either form.
pub fn read(bytes: &[u8]) -> Result<TrustRoot, TrustFileError> {
    let malformed = |cause: &dyn ToString| TrustFileError::Malformed(cause.to_string());
    // No CBOR array of three starts like JSON text.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return TrustRoot::decode(bytes).map_err(|cause| malformed(&cause));
    }
    let file: File = serde_json::from_slice(bytes).map_err(|cause| malformed(&cause))?;
    if file.format != TRUST_ROOT_FORMAT {
        return Err(TrustFileError::Version(file.format));
    }
    let key_sets = file.key_sets.into_iter().map(KeySet::open).collect::<Result<_, _>>()?;
    TrustRoot::new(file.issuer, key_sets).map_err(|cause| malformed(&cause))
}

impl KeySet {
    fn open(self) -> Result<TrustedKeySet, TrustFileError> {
        let KeySet { id, status, since, not_before, not_after, ml_dsa_65, falcon_512, slh_dsa_sha2_128f } =
            self;
        let status = match (status, since) {
            (Status::Active, None) => KeySetStatus::Active,
            (Status::Retired, Some(since)) => KeySetStatus::Retired { since },
            (Status::Revoked, Some(since)) => KeySetStatus::Revoked { since },
            (Status::Active, Some(_)) => {
                return Err(TrustFileError::Malformed("an active key set has no `since`".to_owned()));
            }
            (_, None) => return Err(TrustFileError::Malformed("`since` is missing".to_owned())),
        };
        let keys = PublicKeySet {
            ml_dsa_65: Box::new(fixed(&ml_dsa_65, "ml_dsa_65")?),
            falcon_512: Box::new(fixed(&falcon_512, "falcon_512")?),
            slh_dsa_sha2_128f: fixed(&slh_dsa_sha2_128f, "slh_dsa_sha2_128f")?,
            not_before,
            not_after,
        };
        if keys.id() != id.0 {
            return Err(TrustFileError::Identifier(hex::encode(id.0)));
        }
        Ok(TrustedKeySet { keys, status })
    }
}

fn fixed<const N: usize>(bytes: &Base64, name: &str) -> Result<[u8; N], TrustFileError> {
    bytes
        .0
        .as_slice()
        .try_into()
        .map_err(|_| TrustFileError::Malformed(format!("{name} has {} bytes, expected {N}", bytes.0.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(read(to_json(&root()).as_bytes()).unwrap(), root());
        assert_eq!(read(&root().encode()).unwrap(), root());
    }

    #[test]
    fn edited_files_are_refused_with_a_reason() {
        let json = to_json(&root());
        let refused = |from: &str, to: &str| {
            assert!(json.contains(from));
            read(json.replacen(from, to, 1).as_bytes()).unwrap_err().to_string()
        };
        assert!(refused("\"format\"", "\"extra\": 1, \"format\"").contains("unknown field"));
        assert!(refused("trust-root/1", "trust-root/2").contains("trust-root/2"));
        assert!(refused("\"not_before\": 4", "\"not_before\": 3").contains("does not hold"));
        assert!(refused("\"since\": 7,", "").contains("since"));
        assert!(refused("AwMDAwMD", "AwMDAwME").contains("does not hold"));
        assert!(read(b"").unwrap_err().to_string().contains("not a trust root"));
    }
}
