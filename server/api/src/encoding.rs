//! Byte strings in JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use trefoil_attest::{NONCE_BYTES_MAX, NONCE_BYTES_MIN};

/// `N` bytes as hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
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

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Hex::parse(&text).ok_or_else(|| {
            let (digits, given) = (2 * N, text.chars().count());
            D::Error::custom(format_args!("expected {digits} hexadecimal digits, got {given} characters"))
        })
    }
}

impl<const N: usize> Hex<N> {
    /// Reads exactly `2 N` hexadecimal digits.
    pub fn parse(text: &str) -> Option<Hex<N>> {
        let mut bytes = [0; N];
        hex::decode_to_slice(text, &mut bytes).ok()?;
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
        let text = String::deserialize(deserializer)?;
        let bytes = hex::decode(&text).ok().and_then(Nonce::new);
        bytes.ok_or_else(|| D::Error::custom("expected 32 to 128 hexadecimal digits"))
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
        serializer.serialize_str(&BASE64.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64.decode(text).map(Base64).map_err(|_| {
            D::Error::custom(
                "expected base64 of the standard alphabet (+ and /) with padding, RFC 4648 section 4",
            )
        })
    }
}
