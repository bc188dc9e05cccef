//! The description of the API in OpenAPI 3.1, made from the routes of a listener: a route cannot be added without its description, and
//! neither can differ from the other.

mod document;
pub(crate) mod examples;
mod listener;
mod needs;
mod operation;

pub(crate) use document::document;
pub use listener::Listener;
pub(crate) use needs::Needs;
pub(crate) use operation::{Body, Caller, JSON, Method, Operation, Shape};
