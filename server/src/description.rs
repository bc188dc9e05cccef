//! The description of each listener.

use crate::api::routes;
use crate::openapi::Listener;
use serde_json::Value;

/// The description of a listener's routes, an OpenAPI document.
pub fn of(listener: Listener) -> Value {
    match listener {
        Listener::Public => routes::public().document(),
        Listener::Admin => routes::admin().document(),
    }
}
