//! A credential file of an issuer: JSON, whose only secret is the salt of the attributes.

use super::root_statement::{IssuerPublicKey, RootError, RootStatement, SignedRoot};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use trefoil_api::{Base64, Hex};
use trefoil_zkp::{Attributes, DEPTH, Digest, MerklePath, leaf};

/// Names the format and its version.
pub const CREDENTIAL_FORMAT: &str = "trefoil/credential/1";

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialFile {
    /// [`CREDENTIAL_FORMAT`].
    pub format: String,
    /// Number of the tenant's policy, part of every session context.
    pub policy_id: u32,
    /// Place of the leaf.
    pub index: u32,
    /// [`Attributes::to_bytes`].
    pub attributes: Hex<{ Attributes::BYTES }>,
    /// Siblings of the leaf, leaf first.
    pub path: Vec<Hex<32>>,
    /// The root statement at the end of the path.
    pub root: Base64,
    /// The issuer's signature over it.
    pub signature: Base64,
    /// The issuer's public key.
    pub issuer_key: Base64,
}

/// Why a credential is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CredentialError {
    /// Not JSON of this form.
    #[error("not a credential: {0}")]
    Json(String),
    /// Another format or version.
    #[error("its format is not {CREDENTIAL_FORMAT}, which this program reads")]
    Format,
    /// A field has the wrong length or value.
    #[error("`{0}` is out of range")]
    Field(&'static str),
    /// The root is refused.
    #[error("root: {0}")]
    Root(#[from] RootError),
    /// The path does not lead from the commitment to the root.
    #[error("the credential is not for this wallet's commitment, or its path is not the one under its root")]
    Path,
}

impl CredentialFile {
    /// Reads JSON; unknown fields are refused.
    ///
    /// # Errors
    /// [`CredentialError`] when it is not JSON of this form.
    pub fn from_json(bytes: &[u8]) -> Result<CredentialFile, CredentialError> {
        let file: CredentialFile =
            serde_json::from_slice(bytes).map_err(|cause| CredentialError::Json(cause.to_string()))?;
        if file.format != CREDENTIAL_FORMAT {
            return Err(CredentialError::Format);
        }
        if file.path.len() != DEPTH {
            return Err(CredentialError::Field("path"));
        }
        Ok(file)
    }

    /// The JSON form.
    ///
    /// # Panics
    /// Never: strings and numbers have a JSON form.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and numbers have a JSON form") + "\n"
    }

    /// The issuer's key in the file. The reader must check that it is the right one.
    ///
    /// # Errors
    /// [`CredentialError::Field`] when its length is wrong.
    pub fn issuer(&self) -> Result<IssuerPublicKey, CredentialError> {
        IssuerPublicKey::from_bytes(&self.issuer_key.0).ok_or(CredentialError::Field("issuer_key"))
    }

    /// The attributes that the issuer asserts.
    ///
    /// # Errors
    /// [`CredentialError::Field`] when they are out of bounds.
    pub fn attributes(&self) -> Result<Attributes, CredentialError> {
        Attributes::from_bytes(&self.attributes.0).map_err(|_| CredentialError::Field("attributes"))
    }

    /// The path to the root.
    ///
    /// # Errors
    /// [`CredentialError::Field`] when it cannot be read.
    pub fn path(&self) -> Result<MerklePath, CredentialError> {
        let siblings: Result<Vec<Digest>, _> =
            self.path.iter().map(|sibling| Digest::from_bytes(&sibling.0)).collect();
        let siblings = siblings.ok().and_then(|siblings| siblings.try_into().ok());
        siblings.map(MerklePath::new).ok_or(CredentialError::Field("path"))
    }

    /// The signed root, unverified.
    pub fn signed_root(&self) -> SignedRoot {
        SignedRoot { statement: self.root.0.clone(), signature: self.signature.0.clone() }
    }

    /// Checks everything that public data allow: the issuer's signature, and that `commitment` with these
    /// attributes is under the root.
    ///
    /// # Errors
    /// [`CredentialError`] says which check failed.
    pub fn verify(&self, commitment: &Digest) -> Result<RootStatement, CredentialError> {
        let statement = self.signed_root().verify(&self.issuer()?)?;
        let leaf = leaf(commitment, &self.attributes()?);
        if self.index >= trefoil_zkp::CAPACITY {
            return Err(CredentialError::Field("index"));
        }
        match self.path()?.root(self.index, &leaf) == statement.root {
            true => Ok(statement),
            false => Err(CredentialError::Path),
        }
    }
}
