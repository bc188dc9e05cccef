//! Bodies in CBOR (RFC 8949). A request in CBOR becomes the JSON of the same value before anything reads it, and an answer becomes CBOR after
//! everything else: handlers, parsers, digests and idempotency know only JSON, so neither form can do what the other cannot.
//!
//! | CBOR | JSON |
//! |---|---|
//! | text, integer, false, true, null | the same |
//! | number of 16, 32 or 64 bits | the shortest decimal that reads as the same number of 64 bits |
//! | array, map with distinct keys of text | array, object |
//! | byte string under tag 22 | base64 with padding (RFC 8949 section 3.4.5.2) |
//! | byte string under tag 23 | hexadecimal, upper case (the same section) |
//! | anything else | none: refused |

mod fault;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub(super) use fault::Fault;
pub(super) use reader::to_json;
pub(super) use writer::from_json;
