//! JSON Schemas that several bodies share.

use alloc::borrow::Cow;
use alloc::format;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// 1 to `BYTES_MAX` bytes of UTF-8 without control characters. A schema counts characters, so it cannot say the bound of text beyond ASCII.
pub struct Text<const BYTES_MAX: usize>;

impl<const BYTES_MAX: usize> JsonSchema for Text<BYTES_MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Text{BYTES_MAX}").into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("trefoil_types::Text<{BYTES_MAX}>").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 1,
            "maxLength": BYTES_MAX,
            "pattern": r"^[^\u0000-\u001f\u007f-\u009f]*$",
        })
    }
}
