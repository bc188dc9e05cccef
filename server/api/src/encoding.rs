//! Byte strings in JSON.

use base64::Engine as _;
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use trefoil_attest::{NONCE_BYTES_MAX, NONCE_BYTES_MIN};

/// `N` bytes as hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hex<const N: usize>(pub [u8; N]);

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hex({})", hex::encode(self.0))
    }
}

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(self.0))
    }
}

/// Reads a string where it is, without a copy if it has no escapes.
struct Text<F>(F);

impl<T, F: FnOnce(&str) -> Result<T, String>> Visitor<'_> for Text<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }
}

/// The values of hexadecimal digits; 16 for other bytes. A table, because digits are random and each comparison would be mispredicted half of the time.
const DIGITS: [u8; 256] = {
    let mut digits = [16; 256];
    let mut value = 0;
    while value < 16 {
        let lower = b"0123456789abcdef"[value];
        digits[lower as usize] = value as u8;
        digits[lower.to_ascii_uppercase() as usize] = value as u8;
        value += 1;
    }
    digits
};

/// Reads exactly twice as many hexadecimal digits as there are bytes.
fn hex_into(text: &str, bytes: &mut [u8]) -> Option<()> {
    let (pairs, rest) = text.as_bytes().as_chunks();
    if pairs.len() != bytes.len() || !rest.is_empty() {
        return None;
    }
    let mut all = 0;
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        let (high, low) = (DIGITS[usize::from(*high)], DIGITS[usize::from(*low)]);
        all |= high | low;
        *byte = high << 4 | low;
    }
    (all < 16).then_some(())
}

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text(|text: &str| {
            Hex::parse(text).ok_or_else(|| {
                let (digits, given) = (2 * N, text.chars().count());
                format!("expected {digits} hexadecimal digits, got {given} characters")
            })
        }))
    }
}

impl<const N: usize> Hex<N> {
    /// Reads exactly `2 N` hexadecimal digits.
    pub fn parse(text: &str) -> Option<Hex<N>> {
        let mut bytes = [0; N];
        hex_into(text, &mut bytes)?;
        Some(Hex(bytes))
    }
}

/// A relying party's nonce, 16 to 64 bytes, as hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonce(Vec<u8>);

impl Nonce {
    /// `None` unless there are 16 to 64 bytes.
    pub fn new(bytes: Vec<u8>) -> Option<Nonce> {
        (NONCE_BYTES_MIN..=NONCE_BYTES_MAX).contains(&bytes.len()).then_some(Nonce(bytes))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl Serialize for Nonce {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Nonce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text(|text: &str| {
            let mut bytes = vec![0; text.len().min(2 * NONCE_BYTES_MAX) / 2];
            let read = hex_into(text, &mut bytes).and_then(|()| Nonce::new(bytes));
            read.ok_or_else(|| "expected 32 to 128 hexadecimal digits".to_owned())
        }))
    }
}

/// Any bytes as base64 (RFC 4648 section 4, padded).
#[derive(Clone, PartialEq, Eq)]
pub struct Base64(pub Vec<u8>);

/// Shows only their number: an attestation has twenty thousand.
impl fmt::Debug for Base64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Base64({} bytes)", self.0.len())
    }
}

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Base64::write(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text(|text: &str| Base64::read(text).map(Base64)))
    }
}

impl Base64 {
    pub(crate) fn read(text: &str) -> Result<Vec<u8>, String> {
        BASE64.decode(text).map_err(|_| {
            "expected base64 of the standard alphabet (+ and /) with padding, RFC 4648 section 4".to_owned()
        })
    }

    pub(crate) fn write<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(bytes, &BASE64))
    }
}
