//! The place of the service's files in this crate: they name it.

mod cbor;
#[path = "../property.rs"]
pub(crate) mod property;

use cbor::{Fault, from_json, to_json};
