//! Subjects and their templates.

use super::{Hex, PHOTOGRAPHS_MAX, Receipt, Shares, Vector};
use crate::face::rest;
use crate::text::reference;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// `POST /v1/subjects/{handle}/templates`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Enrolment {
    /// The face in 1 to 8 photographs, where the tenant's probe mode is `plain`. The template is the mean of their directions, which is
    /// more like the next photograph than each of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "photographs")]
    #[cfg_attr(feature = "openapi", schemars(length(min = 1, max = PHOTOGRAPHS_MAX)))]
    pub embeddings: Vec<Vector>,
    /// The face in two shares, where it is `shared`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<Shares>,
    /// Unix second at which the device sealed its share, within a minute of the service's clock; where there are shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_at: Option<u64>,
    /// The caller's reference to the subject's consent, 1 to 256 bytes; kept with the template.
    #[serde(deserialize_with = "reference")]
    #[cfg_attr(feature = "openapi", schemars(with = "crate::schema::Text<256>"))]
    pub consent_ref: String,
}

impl Enrolment {
    /// Of these photographs, where the tenant's probe mode is `plain`.
    pub fn of(embeddings: Vec<Vector>, consent_ref: impl Into<String>) -> Enrolment {
        Enrolment { embeddings, shares: None, issued_at: None, consent_ref: consent_ref.into() }
    }
}

fn photographs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vector>, D::Error> {
    deserializer.deserialize_seq(Photographs)
}

struct Photographs;

impl<'de> Visitor<'de> for Photographs {
    type Value = Vec<Vector>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of the faces of 1 to {PHOTOGRAPHS_MAX} photographs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut faces: A) -> Result<Vec<Vector>, A::Error> {
        let mut read = Vec::new();
        while read.len() < PHOTOGRAPHS_MAX {
            let Some(face) = faces.next_element()? else { break };
            read.push(face);
        }
        match (read.len(), rest(&mut faces)?) {
            (1.., 0) => Ok(read),
            (read, more) => Err(A::Error::invalid_length(read + more, &self)),
        }
    }
}

/// Answer to [`Enrolment`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Enrolled {
    /// The subject's handle.
    pub handle: Hex<32>,
    /// Generation of the template that is now active.
    pub generation: u32,
    /// The smallest cosine of two of the photographs, rounded to two decimals; absent for one photograph or shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    /// The receipt of the enrolment; `null` if it could not be sealed.
    #[serde(default)]
    pub receipt: Option<Receipt>,
}

/// Answer to `PUT /v1/subjects/{handle}/templates`, which takes an [`Enrolment`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Replaced {
    /// The subject's handle.
    pub handle: Hex<32>,
    /// Generation of the template that is now active.
    pub generation: u32,
    /// Generation of the template that was active before and is now destroyed.
    pub replaced: u32,
    /// As that of [`Enrolled`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    /// The receipt of the replacement; `null` if it could not be sealed.
    pub receipt: Option<Receipt>,
}

/// Answer to `POST /v1/subjects/{handle}/revoke`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Revoked {
    /// The subject's handle.
    pub handle: Hex<32>,
    /// Generation of its template, which decides no login any more.
    pub generation: u32,
    /// When it was revoked first, Unix seconds.
    pub revoked_at: u64,
    /// The receipt of the revocation; `null` if it could not be sealed, as on a full disk.
    pub receipt: Option<Receipt>,
}

/// `GET /v1/subjects/{handle}`: a subject with a template. Nothing about the template is disclosed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Subject {
    /// The subject's handle.
    pub handle: Hex<32>,
    /// Generation of its template.
    pub generation: u32,
    /// Whether its logins are decided.
    pub state: SubjectState,
    /// When it was revoked, Unix seconds; `null` for an active subject.
    pub revoked_at: Option<u64>,
    /// The model of its template; `null` if the tenant does not use it any more.
    pub embedder: Option<String>,
    /// Numbers in the vector of its template: the model's dimension.
    pub dimension: u32,
    /// When it was enrolled, Unix seconds.
    pub enrolled_at: u64,
    /// The caller's reference to the subject's consent.
    pub consent_ref: String,
}

/// Whether a subject's logins are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SubjectState {
    /// Yes.
    Active,
    /// No, the tenant revoked it. Another template makes it active again.
    Revoked,
}

/// `GET /v1/subjects`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct SubjectPage {
    /// The subjects, in the order of their handles.
    pub subjects: Vec<Subject>,
    /// The value of `from` for the next page; `null` at the end.
    pub next: Option<Hex<32>>,
}

/// Answer to `DELETE /v1/subjects/{handle}/templates`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Erased {
    /// The subject's handle.
    pub handle: Hex<32>,
    /// Generation of the newest destroyed template. No template of the subject is left.
    pub generation: u32,
    /// When, Unix seconds.
    pub erased_at: u64,
    /// The receipt of the erasure; `null` if it could not be sealed, as on a full disk.
    pub receipt: Option<Receipt>,
}
