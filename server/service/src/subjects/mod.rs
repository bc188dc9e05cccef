//! Subjects and their templates.

pub mod deletion;
pub mod enrolments;
pub mod face;
pub mod leftovers;
pub(crate) mod lockouts;
pub mod revocation;
pub mod rotation;
pub mod templates;
