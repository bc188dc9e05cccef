//! The trust-root file, in JSON.

mod file;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use trefoil_types::KeySetId;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

pub use self::file::TrustFileError;
use crate::family::Family;
use crate::key_set::{Hex, PublicKeySet};
use crate::rotation::Cosignature;
use crate::trust_root::{KeySetStatus, TRUST_ROOT_FORMAT, TrustRoot, TrustRootError, TrustedKeySet};

/// Longest JSON text of a trust root: 64 key sets of about 4.4 KB.
pub const TRUST_ROOT_JSON_BYTES_MAX: usize = 512 * 1024;

/// A JSON text that was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// Longer than the limit.
    #[error("the JSON text is too long; pass exactly one object")]
    TooLong,
    /// Not JSON, or not of the expected shape. The library's own error quotes what it read, which may be another file's secret.
    #[error("unexpected JSON at line {line}, column {column}: {what}")]
    Syntax {
        /// Where it ends to fit, from 1.
        line: usize,
        /// In that line.
        column: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// Another format or version.
    #[error("unknown format or version; update this program")]
    Format,
    /// A field that is not unpadded base64url of the right length.
    #[error("{0} is not unpadded base64url of the right length")]
    Base64(&'static str),
    /// A key set whose `id` is not the digest of its keys.
    #[error("a key set's id does not match its keys; fetch the file again")]
    KeySetId,
    /// `version`, `previous` and `cosignatures` that do not fit together.
    #[error(
        "version 1 has neither version, previous nor cosignatures; later ones have all three, previous as 64 lower-case \
         hexadecimal digits"
    )]
    Version,
    /// A key set whose `status` and `since` do not fit together.
    #[error("status is active without since, or retired or revoked with since")]
    Status,
    /// The parts are well formed and the whole is not.
    #[error("{0}")]
    TrustRoot(TrustRootError),
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> JsonError {
        let what = match error.classify() {
            Category::Data => "an unknown, missing or repeated field, or a value of another kind",
            Category::Eof => "it ends too early",
            Category::Syntax | Category::Io => "a syntax error",
        };
        JsonError::Syntax { line: error.line(), column: error.column(), what }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustRootFile {
    format: String,
    issuer: String,
    key_sets: Vec<KeySetEntry>,
    /// This and what follows: from version 2 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cosignatures: Option<Vec<CosignatureEntry>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CosignatureEntry {
    key_set: String,
    #[serde(rename = "ml-dsa-65")]
    ml_dsa_65: String,
    #[serde(rename = "falcon-512-padded-r3")]
    falcon_512: String,
    #[serde(rename = "slh-dsa-sha2-128f")]
    slh_dsa_sha2_128f: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeySetEntry {
    id: String,
    status: StatusName,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    not_before: u64,
    not_after: u64,
    #[serde(rename = "ml-dsa-65")]
    ml_dsa_65: String,
    #[serde(rename = "falcon-512-padded-r3")]
    falcon_512: String,
    #[serde(rename = "slh-dsa-sha2-128f")]
    slh_dsa_sha2_128f: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StatusName {
    Active,
    Retired,
    Revoked,
}

impl TrustRoot {
    /// The text form: what an issuer publishes and `verify --trust-root` reads.
    #[must_use]
    pub fn to_json(&self) -> String {
        let later = self.version() != 1;
        let file = TrustRootFile {
            format: TRUST_ROOT_FORMAT.into(),
            issuer: self.issuer().into(),
            key_sets: self.key_sets().iter().map(KeySetEntry::from).collect(),
            version: later.then_some(self.version()),
            previous: later.then(|| hex(self.previous())),
            cosignatures: later.then(|| self.cosignatures().iter().map(CosignatureEntry::from).collect()),
        };
        let value = serde_json::to_value(file).unwrap_or_default();
        format!("{value:#}\n")
    }

    /// Reads the text form.
    ///
    /// # Errors
    /// See [`JsonError`].
    pub fn from_json(text: &str) -> Result<Self, JsonError> {
        if text.len() > TRUST_ROOT_JSON_BYTES_MAX {
            return Err(JsonError::TooLong);
        }
        let file: TrustRootFile = serde_json::from_str(text)?;
        if file.format != TRUST_ROOT_FORMAT {
            return Err(JsonError::Format);
        }
        let key_sets = file.key_sets.into_iter().map(TrustedKeySet::try_from).collect::<Result<_, _>>()?;
        let root = Self::new(file.issuer, key_sets).map_err(JsonError::TrustRoot)?;
        match (file.version, file.previous, file.cosignatures) {
            (None, None, None) => Ok(root),
            // Version 1 has another form.
            (Some(version), Some(previous), Some(entries)) if version >= 2 => {
                let previous = unhex(&previous).ok_or(JsonError::Version)?;
                let cosignatures =
                    entries.into_iter().map(Cosignature::try_from).collect::<Result<_, _>>()?;
                root.at(version, previous, cosignatures).map_err(JsonError::TrustRoot)
            }
            _ => Err(JsonError::Version),
        }
    }
}

impl From<&Cosignature> for CosignatureEntry {
    fn from(Cosignature { key_set_id, signatures }: &Cosignature) -> Self {
        let [ml_dsa_65, falcon_512, slh_dsa_sha2_128f] =
            signatures.each_ref().map(|signature| Base64UrlUnpadded::encode_string(signature));
        Self { key_set: hex(key_set_id.as_bytes()), ml_dsa_65, falcon_512, slh_dsa_sha2_128f }
    }
}

impl TryFrom<CosignatureEntry> for Cosignature {
    type Error = JsonError;

    fn try_from(entry: CosignatureEntry) -> Result<Self, JsonError> {
        let CosignatureEntry { key_set, ml_dsa_65, falcon_512, slh_dsa_sha2_128f } = entry;
        let key_set_id = unhex(&key_set).ok_or(JsonError::KeySetId)?;
        let signature = |text: &str, family: Family| {
            let bytes = Base64UrlUnpadded::decode_vec(text).ok();
            bytes
                .filter(|bytes| bytes.len() == family.signature_bytes())
                .ok_or(JsonError::Base64(family.id()))
        };
        let signatures = [
            signature(&ml_dsa_65, Family::MlDsa65)?,
            signature(&falcon_512, Family::Falcon512)?,
            signature(&slh_dsa_sha2_128f, Family::SlhDsaSha2_128f)?,
        ];
        Ok(Self { key_set_id: KeySetId::new(key_set_id), signatures })
    }
}

impl From<&TrustedKeySet> for KeySetEntry {
    fn from(TrustedKeySet { keys, status }: &TrustedKeySet) -> Self {
        let (status, since) = match *status {
            KeySetStatus::Active => (StatusName::Active, None),
            KeySetStatus::Retired { since } => (StatusName::Retired, Some(since)),
            KeySetStatus::Revoked { since } => (StatusName::Revoked, Some(since)),
        };
        let encoded = |family| Base64UrlUnpadded::encode_string(keys.public_key(family));
        Self {
            id: hex(keys.id().as_bytes()),
            status,
            since,
            not_before: keys.not_before,
            not_after: keys.not_after,
            ml_dsa_65: encoded(Family::MlDsa65),
            falcon_512: encoded(Family::Falcon512),
            slh_dsa_sha2_128f: encoded(Family::SlhDsaSha2_128f),
        }
    }
}

impl TryFrom<KeySetEntry> for TrustedKeySet {
    type Error = JsonError;

    fn try_from(entry: KeySetEntry) -> Result<Self, JsonError> {
        let status = match (entry.status, entry.since) {
            (StatusName::Active, None) => KeySetStatus::Active,
            (StatusName::Retired, Some(since)) => KeySetStatus::Retired { since },
            (StatusName::Revoked, Some(since)) => KeySetStatus::Revoked { since },
            _ => return Err(JsonError::Status),
        };
        let keys = PublicKeySet {
            ml_dsa_65: Box::new(public_key(&entry.ml_dsa_65, Family::MlDsa65)?),
            falcon_512: Box::new(public_key(&entry.falcon_512, Family::Falcon512)?),
            slh_dsa_sha2_128f: public_key(&entry.slh_dsa_sha2_128f, Family::SlhDsaSha2_128f)?,
            not_before: entry.not_before,
            not_after: entry.not_after,
        };
        match hex(keys.id().as_bytes()) == entry.id {
            true => Ok(Self { keys, status }),
            false => Err(JsonError::KeySetId),
        }
    }
}

fn public_key<const N: usize>(text: &str, family: Family) -> Result<[u8; N], JsonError> {
    let bytes = Base64UrlUnpadded::decode_vec(text).map_err(|_| JsonError::Base64(family.id()))?;
    bytes.try_into().map_err(|_| JsonError::Base64(family.id()))
}

fn hex(bytes: &[u8]) -> String {
    Hex(bytes).to_string()
}

/// 32 bytes from lower-case hexadecimal, the one form that [`hex`] gives.
fn unhex(text: &str) -> Option<[u8; 32]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}
