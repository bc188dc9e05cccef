//! The source of a login, named by the application.

use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Bytes of a source, at most.
const BYTES_MAX: usize = 64;

/// An opaque name of the source of a login, such as a keyed hash of the end user's address: 1 to 64 bytes of text. The service counts
/// by it, and does not store, log or show it.
#[derive(Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Source(#[cfg_attr(feature = "openapi", schemars(with = "crate::schema::Text<64>"))] String);

impl Source {
    /// The name; `None` if it is empty, longer than 64 bytes, or has control characters.
    pub fn new(name: impl Into<String>) -> Option<Source> {
        let name = name.into();
        crate::text::is_text(&name, BYTES_MAX).then_some(Source(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Source, D::Error> {
        crate::text::text(deserializer, BYTES_MAX).map(Source)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source(..)")
    }
}
