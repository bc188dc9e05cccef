//! The description of the API in OpenAPI 3.1, made from the routes of a listener: a route cannot be added without its description, and
//! neither can differ from the other.

mod document;
pub(crate) mod examples;
mod operation;

pub(crate) use document::document;
pub(crate) use operation::{Body, Method, Operation, Shape};

use serde_json::Value;

/// Which of the two listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// Tenants' callers and anyone who verifies.
    Public,
    /// Operators.
    Admin,
}

/// The description of a listener's routes, an OpenAPI document.
pub fn of(listener: Listener) -> Value {
    match listener {
        Listener::Public => crate::api::routes::public().document(),
        Listener::Admin => crate::api::routes::admin().document(),
    }
}
