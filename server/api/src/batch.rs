//! Several authentications in one body.

use super::{Authenticated, Authentication};
use serde::{Deserialize, Serialize};

/// Most authentications of one body.
pub const BATCH_MAX: usize = 32;

/// `POST /v1/authentications/batch`: from 1 to [`BATCH_MAX`] requests, each as for `POST /v1/authentications`.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", schemars(rename = "AuthenticationBatch"))]
pub struct AuthenticationBatch<'a, A = Authentication> {
    /// The requests. Each is decided for itself, in no particular order.
    #[cfg_attr(
        feature = "openapi",
        schemars(with = "Vec<crate::AnyAuthentication>", length(min = 1, max = 32))
    )]
    pub authentications: &'a [A],
}

/// Answer to [`AuthenticationBatch`]. `P` is a problem document, `A` an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", schemars(rename = "AuthenticatedBatch"))]
pub struct AuthenticatedBatch<P, A = Authenticated> {
    /// One for each request, in their order.
    pub results: Vec<Outcome<P, A>>,
}

/// What became of one request of a batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(untagged)]
#[cfg_attr(feature = "openapi", schemars(rename = "Outcome"))]
pub enum Outcome<P, A = Authenticated> {
    /// As `POST /v1/authentications` refuses it.
    Refused {
        /// The problem document, RFC 9457.
        problem: P,
    },
    /// As `POST /v1/authentications` answers it.
    Answered(A),
}
