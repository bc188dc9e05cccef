//! The common form of all names: a fixed number of bytes, written as lower-case hexadecimal digits.

/// Malformed text: it has another length, or a character that is not a hexadecimal digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be {digits} hexadecimal digits")]
pub struct NotAnId {
    /// Number of digits of the name.
    pub digits: usize,
}

/// Makes a type of each name with its length in bytes.
macro_rules! ids {
    ($($(#[$text:meta])* $name:ident, $bytes:literal;)*) => {$(
        $(#[$text])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
        pub struct $name([u8; $bytes]);

        impl $name {
            /// Its length in bytes.
            pub const BYTES: usize = $bytes;

            /// The name with these bytes.
            #[must_use]
            pub const fn new(bytes: [u8; $bytes]) -> Self {
                Self(bytes)
            }

            /// Its bytes.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; $bytes] {
                &self.0
            }

            /// Its bytes, as a value.
            #[must_use]
            pub const fn to_bytes(self) -> [u8; $bytes] {
                self.0
            }
        }

        impl From<[u8; $bytes]> for $name {
            fn from(bytes: [u8; $bytes]) -> Self {
                Self(bytes)
            }
        }

        impl TryFrom<&[u8]> for $name {
            type Error = core::array::TryFromSliceError;

            fn try_from(bytes: &[u8]) -> Result<Self, Self::Error> {
                bytes.try_into().map(Self)
            }
        }

        impl AsRef<[u8]> for $name {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        impl core::str::FromStr for $name {
            type Err = $crate::NotAnId;

            fn from_str(text: &str) -> Result<Self, $crate::NotAnId> {
                $crate::id::from_hex(text).map(Self)
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    )*};
}

pub(crate) use ids;

/// The bytes of `2 * N` hexadecimal digits of either case.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Result<[u8; N], NotAnId> {
    let wrong = NotAnId { digits: 2 * N };
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return Err(wrong) };
    let digit = |c: u8| char::from(c).to_digit(16).ok_or(wrong);
    let mut bytes = [0; N];
    if pairs.len() != N {
        return Err(wrong);
    }
    for (byte, &[high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = (digit(high)? << 4 | digit(low)?) as u8;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use crate::{ApiKeyId, Handle};
    use proptest::prelude::*;
    use std::string::ToString;

    proptest! {
        #[test]
        fn text_is_what_another_program_writes_and_comes_back(bytes: [u8; 32]) {
            let handle = Handle::new(bytes);
            prop_assert_eq!(handle.to_string(), hex::encode(bytes));
            prop_assert_eq!(handle.to_string().parse(), Ok(handle));
            prop_assert_eq!(handle.to_string().to_uppercase().parse(), Ok(handle));
        }

        #[test]
        fn text_is_read_exactly_where_another_program_reads_it(text in "[0-9a-gA-F]{0,20}|.{0,20}") {
            let other: Option<[u8; 8]> = hex::decode(&text).ok().and_then(|bytes| bytes.try_into().ok());
            prop_assert_eq!(text.parse::<ApiKeyId>().ok(), other.map(ApiKeyId::new));
        }
    }

    #[cfg(feature = "serde")]
    #[cfg(feature = "serde")]
    #[test]
    fn the_bytes_are_all_that_is_written() {
        let id = ApiKeyId::new([1, 2, 3, 4, 5, 6, 7, 8]);
        let text = serde_json::to_string(&id).expect("plain bytes");
        assert_eq!(text, "[1,2,3,4,5,6,7,8]");
        assert_eq!(serde_json::from_str::<ApiKeyId>(&text).expect("as written"), id);
    }
}
