//! The service's reader and writer.

#[path = "../../../src/api/cbor/fault.rs"]
mod fault;
#[path = "../../../src/api/cbor/reader.rs"]
mod reader;
#[path = "../../../src/api/cbor/writer.rs"]
mod writer;

pub(super) use fault::Fault;
pub(super) use reader::to_json;
pub(super) use writer::from_json;
