//! What a caller of the admin listener must be.

use trefoil_api::Role;
use trefoil_attest::Kind;

/// What a route of the admin listener needs: the table of routes puts it into each request.
#[derive(Clone, Copy)]
pub(crate) struct Needs {
    pub(crate) role: Role,
    /// What it changes; nothing where it only reads.
    pub(crate) changes: Option<Kind>,
}
