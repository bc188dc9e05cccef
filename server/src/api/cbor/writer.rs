//! From JSON to the CBOR of the same value, in core deterministic encoding (RFC 8949 section 4.2.1).

use minicbor::{Decoder, Encoder};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::error::Error;

type Written = Result<(), Box<dyn Error>>;

/// The CBOR of an answer in JSON. Strings stay text, whatever they stand for.
///
/// # Errors
/// If it is not JSON.
pub(in crate::api) fn from_json(json: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut cbor = Encoder::new(Vec::with_capacity(json.len()));
    write(serde_json::from_slice(json)?, &mut cbor)?;
    Ok(cbor.into_writer())
}

fn write(value: &RawValue, cbor: &mut Encoder<Vec<u8>>) -> Written {
    let json = value.get();
    match json.as_bytes().first() {
        Some(b'{') => return write_map(serde_json::from_str(json)?, cbor),
        Some(b'[') => return write_array(&serde_json::from_str::<Vec<&RawValue>>(json)?, cbor),
        Some(b'"') => cbor.str(&serde_json::from_str::<String>(json)?)?,
        Some(b't' | b'f') => cbor.bool(json == "true")?,
        Some(b'n') => cbor.null()?,
        _ => return write_number(json, cbor),
    };
    Ok(())
}

fn write_array(items: &[&RawValue], cbor: &mut Encoder<Vec<u8>>) -> Written {
    cbor.array(items.len() as u64)?;
    items.iter().try_for_each(|item| write(item, cbor))
}

/// The keys are in the order of their encoding: shorter ones first.
fn write_map(members: BTreeMap<String, &RawValue>, cbor: &mut Encoder<Vec<u8>>) -> Written {
    let mut members = Vec::from_iter(members);
    members.sort_by_key(|(key, _)| key.len());
    cbor.map(members.len() as u64)?;
    members.into_iter().try_for_each(|(key, value)| write(value, cbor.str(&key)?))
}

/// The JSON parser's own numbers may be off by the last bit of a fraction.
fn write_number(json: &str, cbor: &mut Encoder<Vec<u8>>) -> Written {
    match (json.parse(), json.parse()) {
        (Ok(number), _) => cbor.u64(number)?,
        (_, Ok(number)) => cbor.i64(number)?,
        _ => return write_float(json.parse()?, cbor),
    };
    Ok(())
}

/// The shortest form that keeps the value (RFC 8949 section 4.1).
fn write_float(number: f64, cbor: &mut Encoder<Vec<u8>>) -> Written {
    let single = number as f32;
    match f64::from(single) == number {
        true if is_half(single) => cbor.f16(single)?,
        true => cbor.f32(single)?,
        false => cbor.f64(number)?,
    };
    Ok(())
}

/// Whether 16 bits keep the value.
fn is_half(number: f32) -> bool {
    let mut half = Encoder::new(Vec::with_capacity(3));
    half.f16(number).is_ok_and(|half| Decoder::new(half.writer()).f16().is_ok_and(|kept| kept == number))
}
