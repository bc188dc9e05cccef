//! JSON Schemas of the values in bodies, as the parser accepts them and as answers write them.

use crate::{Base64, Hex, NUMBERS_MAX, NUMBERS_MIN, Nonce, Vector};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use trefoil_attest::{NONCE_BYTES_MAX, NONCE_BYTES_MIN};
pub(crate) use trefoil_types::schema::Text;

/// Base64 of exactly `N` bytes.
pub(crate) struct Base64Of<const N: usize>;

/// Base64 of one or two bytes more than a multiple of three: the unused bits of the last character are zero.
const LAST_OF_TWO: &str = "[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=";
const LAST_OF_ONE: &str = "[A-Za-z0-9+/][AQgw]==";

/// Answers are in lower case; both cases are accepted.
fn digits(generator: &SchemaGenerator) -> &'static str {
    if generator.contract().is_serialize() { "[0-9a-f]" } else { "[0-9A-Fa-f]" }
}

impl<const N: usize> JsonSchema for Hex<N> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Hex{N}").into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("trefoil_api::Hex<{N}>").into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (digits, count) = (digits(generator), 2 * N);
        json_schema!({
            "type": "string",
            "minLength": count,
            "maxLength": count,
            "pattern": format!("^{digits}{{{count}}}$"),
        })
    }
}

impl JsonSchema for Nonce {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Nonce".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let digits = digits(generator);
        json_schema!({
            "type": "string",
            "minLength": 2 * NONCE_BYTES_MIN,
            "maxLength": 2 * NONCE_BYTES_MAX,
            "pattern": format!("^({digits}{{2}}){{{NONCE_BYTES_MIN},{NONCE_BYTES_MAX}}}$"),
        })
    }
}

impl JsonSchema for Base64 {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Base64".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "contentEncoding": "base64",
            "pattern": format!("^([A-Za-z0-9+/]{{4}})*({LAST_OF_TWO}|{LAST_OF_ONE})?$"),
        })
    }
}

impl<const N: usize> JsonSchema for Base64Of<N> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Base64Of{N}").into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("trefoil_api::Base64Of<{N}>").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let (whole, last) = (4 * (N / 3), ["", LAST_OF_ONE, LAST_OF_TWO][N % 3]);
        let length = 4 * N.div_ceil(3);
        json_schema!({
            "type": "string",
            "contentEncoding": "base64",
            "minLength": length,
            "maxLength": length,
            "pattern": format!("^[A-Za-z0-9+/]{{{whole}}}{last}$"),
        })
    }
}

impl JsonSchema for Vector {
    fn schema_name() -> Cow<'static, str> {
        "Embedding".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut base64 = |bytes: usize, description: &str| {
            let mut schema = generator.subschema_for::<Base64>();
            let length = |numbers: usize| (4 * (numbers * bytes).div_ceil(3)).into();
            schema.insert("description".to_owned(), description.into());
            schema.insert("minLength".to_owned(), length(NUMBERS_MIN));
            schema.insert("maxLength".to_owned(), length(NUMBERS_MAX));
            schema
        };
        let floats = base64(4, "numbers of 32 bits, IEEE 754, little-endian");
        let bytes = base64(1, "numbers of 8 bits, signed");
        json_schema!({
            "description": "A face: the output of the tenant's embedder, of as many numbers as its policy says. Finite, not all zeros, not an \
                            image. The forms are equivalent: each is normalised, and quantised by the service.",
            "oneOf": [
                floats,
                {
                    "type": "array",
                    "description": "rounded to 32 bits",
                    "items": { "type": "number", "minimum": -f64::from(f32::MAX), "maximum": f64::from(f32::MAX) },
                    "minItems": NUMBERS_MIN,
                    "maxItems": NUMBERS_MAX,
                },
                {
                    "type": "object",
                    "properties": { "int8": bytes },
                    "required": ["int8"],
                    "additionalProperties": false,
                },
            ],
        })
    }
}
