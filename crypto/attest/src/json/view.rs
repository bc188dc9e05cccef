//! The view of an attestation.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use serde::{Deserialize, Serialize};

use super::{ATTESTATION_JSON_BYTES_MAX, JsonError, hex};
use crate::attestation::{ATTESTATION_FORMAT, Attestation, Evidence, SealReference};
use crate::error::DecodeError;
use crate::family::Family;
use crate::statement::{Proof, Reveal, Statement, statement_digest};
use crate::tree::Hash;

/// The JSON view of an encoded attestation, with the bytes themselves in `attestation` (base64url).
///
/// # Errors
/// The bytes are not a well-formed attestation. Signatures are not verified: see [`verify`](crate::verify).
pub fn attestation_to_json(bytes: &[u8]) -> Result<String, DecodeError> {
    let view = AttestationView::of(bytes)?;
    // Serialising text, numbers and lists to memory has no failure.
    Ok(serde_json::to_value(view).unwrap_or_default().to_string())
}

/// The bytes inside a JSON view, for [`verify`](crate::verify).
///
/// # Errors
/// A text that is not the view of a well-formed attestation, or that says something else than its bytes.
pub fn attestation_from_json(text: &str) -> Result<Vec<u8>, JsonError> {
    if text.len() > ATTESTATION_JSON_BYTES_MAX {
        return Err(JsonError::TooLong);
    }
    let given: AttestationView = serde_json::from_str(text).map_err(JsonError::Syntax)?;
    let bytes =
        Base64UrlUnpadded::decode_vec(&given.attestation).map_err(|_| JsonError::Base64("attestation"))?;
    match AttestationView::of(&bytes).map_err(JsonError::Attestation)? == given {
        true => Ok(bytes),
        false => Err(JsonError::ViewDiffers),
    }
}

/// Typed, so that repeated and unknown fields are refused: a person and a program must read the same thing.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AttestationView {
    format: String,
    statement: StatementView,
    tree: TreeView,
    seal: SealView,
    attestation: String,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StatementView {
    digest: String,
    suite: u64,
    issuer: String,
    tenant: String,
    audience: String,
    account: String,
    nonce: String,
    request_digest: String,
    decision: String,
    probe_mode: String,
    policy: PolicyView,
    fmr_class: u8,
    model: ModelView,
    template_generation: u32,
    proof: Option<ProofView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reveal: Option<RevealView>,
    batch: BatchView,
    issued_at: u64,
    expires_at: u64,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyView {
    id: u32,
    version: u32,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelView {
    embedder: String,
    quantiser: String,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProofView {
    circuit: u16,
    root: String,
    level: u8,
    epoch: u32,
    session: String,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RevealView {
    position: u32,
    value: String,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchView {
    id: String,
    place: u8,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TreeView {
    size: u64,
    leaf_index: u64,
    path: Vec<String>,
}

/// The seal's name and, in a full attestation, its content.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SealView {
    number: u64,
    digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<SealContentView>,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SealContentView {
    key_set: String,
    previous: String,
    root: String,
    time: u64,
    signatures: [String; 3],
}

impl AttestationView {
    fn of(bytes: &[u8]) -> Result<Self, DecodeError> {
        let Attestation { statement, leaf_index, tree_size, path, evidence } = Attestation::decode(bytes)?;
        Ok(Self {
            format: ATTESTATION_FORMAT.into(),
            statement: StatementView::of(statement)?,
            tree: TreeView {
                size: tree_size,
                leaf_index,
                path: path.iter().map(|node: &Hash| hex(node)).collect(),
            },
            seal: SealView::from(&evidence),
            attestation: Base64UrlUnpadded::encode_string(bytes),
        })
    }
}

impl StatementView {
    fn of(bytes: &[u8]) -> Result<Self, DecodeError> {
        let statement = Statement::decode(bytes)?;
        Ok(Self {
            digest: hex(&statement_digest(bytes)),
            suite: statement.suite.number(),
            issuer: statement.issuer.into(),
            tenant: hex(statement.tenant.as_bytes()),
            audience: statement.audience.into(),
            account: hex(statement.account.as_bytes()),
            nonce: hex(statement.nonce),
            request_digest: hex(&statement.request_digest),
            decision: statement.decision.name().into(),
            probe_mode: statement.probe_mode.name().into(),
            policy: PolicyView { id: statement.policy_id, version: statement.policy_version },
            fmr_class: statement.fmr_class,
            model: ModelView { embedder: statement.embedder.into(), quantiser: statement.quantiser.into() },
            template_generation: statement.template_generation,
            proof: statement.proof.map(|Proof { circuit, root, level, epoch, session }| ProofView {
                circuit,
                root: hex(&root),
                level,
                epoch,
                session: hex(session.as_bytes()),
            }),
            reveal: statement
                .reveal
                .map(|Reveal { position, value }| RevealView { position, value: hex(&value) }),
            batch: BatchView { id: hex(statement.batch_id.as_bytes()), place: statement.place },
            issued_at: statement.issued_at,
            expires_at: statement.expires_at,
        })
    }
}

impl From<&Evidence> for SealView {
    fn from(evidence: &Evidence) -> Self {
        let (SealReference { seal_number, digest }, content) = match evidence {
            Evidence::Compact(reference) => (*reference, None),
            Evidence::Full(seal) => {
                let content = SealContentView {
                    key_set: hex(seal.header.key_set_id.as_bytes()),
                    previous: hex(&seal.header.previous),
                    root: hex(&seal.header.root),
                    time: seal.header.time,
                    signatures: Family::ALL.map(|family| family.id().into()),
                };
                (seal.reference(), Some(content))
            }
        };
        Self { number: seal_number, digest: hex(&digest), content }
    }
}
