//! A face in a body: as a vector, or in two shares.

use super::Base64;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha3::{Digest as _, Sha3_256};
use std::fmt;
pub use trefoil_types::{NUMBERS_MAX, NUMBERS_MIN};
use zeroize::Zeroizing;

/// Most photographs of one enrolment.
pub const PHOTOGRAPHS_MAX: usize = 8;

/// A face embedding, 2 to 512 numbers: an array of them, a string with base64 of `f32` (little-endian), or `{"int8": ...}` with base64 of `i8`.
/// Biometric data: wiped when dropped, not shown by `Debug`.
///
/// Base64 can carry NaN and infinities, which the quantiser refuses; numbers in an array are finite in `f32`.
#[derive(Clone, PartialEq)]
pub struct Vector(Zeroizing<Vec<f32>>);

impl Vector {
    /// The vector with these coordinates, whose number is checked when this is compiled.
    pub fn new<const N: usize>(coordinates: [f32; N]) -> Vector {
        const { assert!(NUMBERS_MIN <= N && N <= NUMBERS_MAX, "a face has 2 to 512 numbers") };
        Vector(Zeroizing::new(coordinates.to_vec()))
    }

    /// The vector with these coordinates; `None` unless they are 2 to 512.
    pub fn of(coordinates: Zeroizing<Vec<f32>>) -> Option<Vector> {
        (NUMBERS_MIN..=NUMBERS_MAX).contains(&coordinates.len()).then_some(Vector(coordinates))
    }

    /// The coordinates.
    pub fn coordinates(&self) -> &[f32] {
        &self.0
    }

    /// The coordinates.
    pub fn into_coordinates(self) -> Zeroizing<Vec<f32>> {
        self.0
    }

    /// SHA3-256("trefoil/probe/1" | the numbers as `f32`, little-endian), which a request's MAC covers in every form.
    pub fn digest(&self) -> [u8; 32] {
        Sha3_256::new_with_prefix(b"trefoil/probe/1").chain_update(&*self.packed()).finalize().into()
    }

    fn packed(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(vec![0; 4 * self.0.len()]);
        bytes.as_chunks_mut().0.iter_mut().zip(&*self.0).for_each(|(word, x)| *word = x.to_le_bytes());
        bytes
    }
}

impl fmt::Debug for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vector(..)")
    }
}

impl Serialize for Vector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Base64::write(&self.packed(), serializer)
    }
}

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VectorVisitor)
    }
}

/// The form with one byte for a number.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bytes {
    int8: Base64,
}

struct VectorVisitor;

impl<'de> Visitor<'de> for VectorVisitor {
    type Value = Vector;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of numbers, base64 of 32-bit floats (little-endian), or {\"int8\": base64 of signed bytes}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vector, E> {
        let bytes = Zeroizing::new(Base64::read(text).map_err(E::custom)?);
        let (words, []) = bytes.as_chunks() else {
            let given = bytes.len();
            return Err(E::custom(format_args!(
                "expected base64 of 4 bytes (32-bit float) for each number, got {given} bytes"
            )));
        };
        vector(Zeroizing::new(words.iter().map(|word| f32::from_le_bytes(*word)).collect()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vector, A::Error> {
        let Bytes { int8 } = Bytes::deserialize(MapAccessDeserializer::new(map))?;
        let bytes = Zeroizing::new(int8.0);
        vector(Zeroizing::new(bytes.iter().map(|byte| f32::from(byte.cast_signed())).collect()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Vector, A::Error> {
        // It never grows, which would leave a copy behind.
        let mut read = Zeroizing::new(Vec::with_capacity(NUMBERS_MAX));
        while read.len() < NUMBERS_MAX {
            let at = read.len();
            let Some(number) = numbers.next_element::<f64>().map_err(|cause| no_number(at, cause))? else {
                break;
            };
            read.push(number as f32);
            if !read[at].is_finite() {
                return Err(too_large(at));
            }
        }
        match rest(&mut numbers)? {
            0 => vector(read),
            more => Err(wrong_length(read.len() + more)),
        }
    }
}

/// How many elements are left of an array.
pub(crate) fn rest<'de, A: SeqAccess<'de>>(array: &mut A) -> Result<usize, A::Error> {
    let mut count = 0;
    while array.next_element::<IgnoredAny>()?.is_some() {
        count += 1;
    }
    Ok(count)
}

fn vector<E: Error>(numbers: Zeroizing<Vec<f32>>) -> Result<Vector, E> {
    let given = numbers.len();
    Vector::of(numbers).ok_or_else(|| wrong_length(given))
}

/// What stands where a number is expected; the body may also break off there.
fn no_number<E: Error>(at: usize, cause: E) -> E {
    let cause_text = cause.to_string();
    if cause_text.starts_with("EOF") {
        return cause;
    }
    if cause_text.starts_with("number out of range") {
        return too_large(at);
    }
    E::custom(format_args!(
        "number {} is not a number: JSON has no NaN and no Infinity, and takes no quotes around a number; look at what the model gave for this \
         photograph",
        at + 1
    ))
}

fn too_large<E: Error>(at: usize) -> E {
    E::custom(format_args!("number {} is beyond 3.4e38, the largest that a face may have", at + 1))
}

fn wrong_length<E: Error>(given: usize) -> E {
    E::custom(format_args!("a face has {NUMBERS_MIN} to {NUMBERS_MAX} numbers, got {given}"))
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
