//! The property of bodies in CBOR: any bytes are refused with their place, or read as `ciborium` reads them, which shares no code with the reader. What was
//! read can be written, and is read as the same.

use super::{Fault, from_json, to_json};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ciborium::Value as Cbor;
use serde_json::json;
use std::collections::HashSet;

/// Longest JSON of a body: that of a login.
const BYTES_MAX: usize = 8 * 1024;

/// Fails if these bytes are read wrongly.
#[track_caller]
pub(crate) fn check(bytes: &[u8]) {
    match to_json(bytes, BYTES_MAX) {
        Ok(json) => {
            assert!(json.len() <= BYTES_MAX, "{} bytes of JSON", json.len());
            let mut rest = bytes;
            let other: Cbor = ciborium::from_reader(&mut rest).expect("another implementation reads it");
            assert!(rest.is_empty(), "{} bytes after the item", rest.len());
            assert_eq!(form(&other, 0).as_deref(), std::str::from_utf8(&json).ok());
            again(&json);
        }
        Err(Fault::At(at, why)) => assert!(at <= bytes.len() && !why.is_empty(), "at {at}: {why}"),
        Err(Fault::TooLong) => {
            let longer = to_json(bytes, usize::MAX).map(|json| json.len() > BYTES_MAX);
            assert!(longer != Ok(false), "it is not too long");
        }
    }
}

/// Writes what was read, and reads it again. Keys get another order, and integers below those of 64 bits become numbers with a fraction; a second time
/// nothing changes.
fn again(json: &[u8]) {
    let cbor = from_json(json).expect("JSON");
    let back = to_json(&cbor, usize::MAX).expect("its own CBOR");
    assert_eq!(from_json(&back).expect("JSON"), cbor);
}

/// The JSON form of what the other implementation read, if it has one. `base` is the innermost tag around it, or 0.
pub(crate) fn form(value: &Cbor, base: u64) -> Option<String> {
    Some(match value {
        Cbor::Integer(number) => i128::from(*number).to_string(),
        Cbor::Float(number) if number.is_finite() => json!(number).to_string(),
        Cbor::Text(text) => json!(text).to_string(),
        Cbor::Bool(is_true) => is_true.to_string(),
        Cbor::Null => "null".to_owned(),
        Cbor::Bytes(bytes) if base == 22 => json!(BASE64.encode(bytes)).to_string(),
        Cbor::Bytes(bytes) if base == 23 => json!(hex::encode_upper(bytes)).to_string(),
        Cbor::Tag(base @ (22 | 23), value) => form(value, *base)?,
        Cbor::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(|item| form(item, base)).collect();
            format!("[{}]", items?.join(","))
        }
        Cbor::Map(members) => {
            let keys: HashSet<&str> = members.iter().filter_map(|(key, _)| key.as_text()).collect();
            let member =
                |(key, value): &(Cbor, Cbor)| Some(format!("{}:{}", form(key, 0)?, form(value, base)?));
            let members: Option<Vec<String>> =
                (keys.len() == members.len()).then(|| members.iter().map(member).collect())?;
            format!("{{{}}}", members?.join(","))
        }
        _ => return None,
    })
}
