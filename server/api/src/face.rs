//! A face in a body: as a vector, or in two shares.

use super::Base64;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha3::{Digest as _, Sha3_256};
use std::fmt;
use trefoil_types::DIM;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A face embedding: 128 numbers as an array, or as base64 of 512 bytes (`f32`, little-endian). Biometric data: wiped
/// when dropped, not shown by `Debug`.
///
/// Base64 can carry NaN and infinities, which the quantiser refuses; numbers in an array are finite in `f32`.
#[derive(Clone, PartialEq, Zeroize, ZeroizeOnDrop)]
pub struct Vector([f32; DIM]);

impl Vector {
    /// The vector with these coordinates.
    pub fn new(coordinates: [f32; DIM]) -> Vector {
        Vector(coordinates)
    }

    /// The coordinates.
    pub fn coordinates(&self) -> &[f32; DIM] {
        &self.0
    }

    /// SHA3-256("trefoil/probe/1" | 512 bytes, little-endian), which a request's MAC covers in both forms.
    pub fn digest(&self) -> [u8; 32] {
        let mut bytes = [0; 4 * DIM];
        bytes.as_chunks_mut().0.iter_mut().zip(&self.0).for_each(|(word, x)| *word = x.to_le_bytes());
        let digest = Sha3_256::new_with_prefix(b"trefoil/probe/1").chain_update(bytes).finalize().into();
        bytes.zeroize();
        digest
    }
}

impl fmt::Debug for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vector(..)")
    }
}

impl Serialize for Vector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self.0.iter().flat_map(|x| x.to_le_bytes()).collect();
        serializer.serialize_str(&BASE64.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VectorVisitor)
    }
}

struct VectorVisitor;

impl<'de> Visitor<'de> for VectorVisitor {
    type Value = Vector;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of {DIM} numbers, or base64 of {} bytes (32-bit floats, little-endian)", 4 * DIM)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vector, E> {
        let mut bytes = BASE64.decode(text).map_err(|_| {
            E::custom("expected base64 of the standard alphabet (+ and /) with padding, RFC 4648 section 4")
        })?;
        if bytes.len() != 4 * DIM {
            return Err(E::custom(format_args!(
                "expected {} bytes, {DIM} numbers (the tenant's `dimension`) of 32 bits, got {}",
                4 * DIM,
                bytes.len()
            )));
        }
        let word = |i: usize| f32::from_le_bytes(std::array::from_fn(|k| bytes[4 * i + k]));
        let vector = Vector(std::array::from_fn(word));
        bytes.zeroize();
        Ok(vector)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Vector, A::Error> {
        let mut vector = Vector([0.0; DIM]);
        for i in 0..DIM {
            let number: Option<f64> = numbers.next_element().map_err(|cause| no_number(i, cause))?;
            vector.0[i] = number.ok_or_else(|| wrong_length(i))? as f32;
            if !vector.0[i].is_finite() {
                return Err(too_large(i));
            }
        }
        match numbers.next_element::<IgnoredAny>()? {
            None => Ok(vector),
            Some(_) => Err({
                let mut given = DIM + 1;
                while numbers.next_element::<IgnoredAny>()?.is_some() {
                    given += 1;
                }
                wrong_length(given)
            }),
        }
    }
}

/// What stands where a number is expected; the body may also break off there.
fn no_number<E: serde::de::Error>(at: usize, cause: E) -> E {
    let cause_text = cause.to_string();
    if cause_text.starts_with("EOF") {
        return cause;
    }
    if cause_text.starts_with("number out of range") {
        return too_large(at);
    }
    E::custom(format_args!(
        "number {} of {DIM} is not a number: JSON has no NaN and no Infinity, and takes no quotes around a number; look at what the model \
         gave for this photograph",
        at + 1
    ))
}

fn too_large<E: serde::de::Error>(at: usize) -> E {
    E::custom(format_args!("number {} of {DIM} is beyond 3.4e38, the largest that a face may have", at + 1))
}

fn wrong_length<E: serde::de::Error>(given: usize) -> E {
    E::custom(format_args!("expected {DIM} numbers, which is the tenant's `dimension`, got {given}"))
}

/// A face in two shares modulo 65537, each uniform by itself, see `trefoil-split`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shares {
    /// The service's, 272 bytes: `x1` of a probe `x`, or the blind `rho` of a template `y`.
    #[cfg_attr(feature = "openapi", schemars(with = "crate::schema::Base64Of<272>"))]
    pub open: Base64,
    /// The key-holder's, sealed to it, 1408 bytes: `x - x1`, or `y + rho`.
    #[cfg_attr(feature = "openapi", schemars(with = "crate::schema::Base64Of<1408>"))]
    pub sealed: Base64,
}

impl Shares {
    /// SHA3-256("trefoil/shared-probe/1" | u32 length | open share | sealed share), which a request's MAC covers.
    pub fn digest(&self) -> [u8; 32] {
        Sha3_256::new_with_prefix(b"trefoil/shared-probe/1")
            .chain_update((self.open.0.len() as u32).to_le_bytes())
            .chain_update(&self.open.0)
            .chain_update(&self.sealed.0)
            .finalize()
            .into()
    }
}
