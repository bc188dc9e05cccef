//! The role that a caller of the admin listener needs.

use trefoil_api::Role;
use trefoil_attest::Kind;

/// The role that a route of the admin listener needs and the kind of its change. The table of routes puts it into each request.
#[derive(Clone, Copy)]
pub(crate) struct Needs {
    pub(crate) role: Role,
    /// The kind of change that it makes; `None` where it only reads.
    pub(crate) changes: Option<Kind>,
}
