//! Deterministic CBOR, the subset the formats need: integers, byte and text strings, arrays, maps, one tag, null.
//!
//! RFC 8949 section 4.2.1: shortest heads, definite lengths, map keys in bytewise order. The reader accepts
//! nothing else, so one value has exactly one encoding. It never allocates and never recurses; every length is
//! checked against the bytes that are present before it is used.

use alloc::vec::Vec;

use crate::error::{DecodeError, Problem};

const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
const NULL: u8 = 0xf6;

/// Appends deterministic CBOR to a caller's buffer.
pub(crate) struct Writer<'a>(pub(crate) &'a mut Vec<u8>);

impl Writer<'_> {
    fn head(&mut self, major: u8, value: u64) {
        let major = major << 5;
        let bytes = value.to_be_bytes();
        match value {
            0..=23 => self.0.push(major | bytes[7]),
            24..=0xff => self.0.extend_from_slice(&[major | 24, bytes[7]]),
            0x100..=0xffff => {
                self.0.push(major | 25);
                self.0.extend_from_slice(&bytes[6..]);
            }
            0x1_0000..=0xffff_ffff => {
                self.0.push(major | 26);
                self.0.extend_from_slice(&bytes[4..]);
            }
            _ => {
                self.0.push(major | 27);
                self.0.extend_from_slice(&bytes);
            }
        }
    }

    pub(crate) fn uint(&mut self, value: u64) {
        self.head(UNSIGNED, value);
    }

    /// A map key; the value is written next.
    pub(crate) fn key(&mut self, key: i64) -> &mut Self {
        self.int(key);
        self
    }

    pub(crate) fn int(&mut self, value: i64) {
        match u64::try_from(value) {
            Ok(value) => self.head(UNSIGNED, value),
            // -1 - n for the encoded n, RFC 8949 section 3.1.
            Err(_) => self.head(NEGATIVE, !value as u64),
        }
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.head(BYTES, value.len() as u64);
        self.0.extend_from_slice(value);
    }

    pub(crate) fn text(&mut self, value: &str) {
        self.head(TEXT, value.len() as u64);
        self.0.extend_from_slice(value.as_bytes());
    }

    pub(crate) fn array(&mut self, items: usize) {
        self.head(ARRAY, items as u64);
    }

    pub(crate) fn map(&mut self, pairs: usize) {
        self.head(MAP, pairs as u64);
    }

    pub(crate) fn tag(&mut self, tag: u64) {
        self.head(TAG, tag);
    }

    pub(crate) fn null(&mut self) {
        self.0.push(NULL);
    }
}

/// What a COSE_Sign1 signature is over (RFC 9052 section 4.4), without external data.
pub(crate) fn sig_structure(protected: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(protected.len() + payload.len() + 24);
    let mut w = Writer(&mut out);
    w.array(4);
    w.text("Signature1");
    w.bytes(protected);
    w.bytes(&[]);
    w.bytes(payload);
    out
}

/// Reads deterministic CBOR from untrusted bytes; `field` names what is being read, for the error.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Self { input, at: 0 }
    }

    /// An error at the current position.
    pub(crate) fn error(&self, field: &'static str, problem: Problem) -> DecodeError {
        DecodeError { offset: self.at, field, problem }
    }

    /// Every byte must have been read.
    pub(crate) fn finish(self, field: &'static str) -> Result<(), DecodeError> {
        match self.at == self.input.len() {
            true => Ok(()),
            false => Err(self.error(field, Problem::TrailingBytes)),
        }
    }

    fn take(&mut self, field: &'static str, length: u64) -> Result<&'a [u8], DecodeError> {
        let rest = &self.input[self.at..];
        let length = usize::try_from(length).ok().filter(|&length| length <= rest.len());
        let length = length.ok_or_else(|| self.error(field, Problem::Truncated))?;
        self.at += length;
        Ok(&rest[..length])
    }

    /// Reads one head of the given major type. `expected` names that type.
    fn head(&mut self, field: &'static str, major: u8, expected: &'static str) -> Result<u64, DecodeError> {
        let start = self.clone();
        let initial = self.take(field, 1)?[0];
        if initial >> 5 != major {
            return Err(start.error(field, Problem::WrongType { expected }));
        }
        let additional = initial & 31;
        let width = match additional {
            0..=23 => return Ok(u64::from(additional)),
            24..=27 => 1usize << (additional - 24),
            // 28-30 are reserved, 31 is an indefinite length.
            _ => return Err(start.error(field, Problem::NotCanonical)),
        };
        let mut bytes = [0; 8];
        bytes[8 - width..].copy_from_slice(self.take(field, width as u64)?);
        let value = u64::from_be_bytes(bytes);
        let floor = if width == 1 { 24 } else { 1u64 << (4 * width) };
        match value >= floor {
            true => Ok(value),
            false => Err(start.error(field, Problem::NotCanonical)),
        }
    }

    pub(crate) fn uint(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.head(field, UNSIGNED, "an unsigned integer")
    }

    /// An unsigned integer that fits `T`.
    pub(crate) fn number<T: TryFrom<u64>>(&mut self, field: &'static str) -> Result<T, DecodeError> {
        let start = self.clone();
        T::try_from(self.uint(field)?).map_err(|_| start.error(field, Problem::OutOfRange))
    }

    /// An integer of either sign; magnitudes beyond `i64` are out of range.
    pub(crate) fn int(&mut self, field: &'static str) -> Result<i64, DecodeError> {
        let start = self.clone();
        let negative = self.input.get(self.at).is_some_and(|initial| initial >> 5 == NEGATIVE);
        let magnitude = match negative {
            true => self.head(field, NEGATIVE, "an integer")?,
            false => self.head(field, UNSIGNED, "an integer")?,
        };
        let value = i64::try_from(magnitude).map_err(|_| start.error(field, Problem::OutOfRange))?;
        Ok(if negative { !value } else { value })
    }

    /// The next integer must be exactly `key`: with all keys required and written in canonical order this refuses
    /// unknown, missing, repeated and reordered keys alike.
    pub(crate) fn key(&mut self, field: &'static str, key: i64) -> Result<&mut Self, DecodeError> {
        let start = self.clone();
        match self.int(field)? {
            found if found == key => Ok(self),
            found => Err(start.error(field, Problem::UnexpectedKey { expected: key, found })),
        }
    }

    /// A byte string whose length lies in `lengths`.
    pub(crate) fn bytes(
        &mut self,
        field: &'static str,
        lengths: core::ops::RangeInclusive<usize>,
    ) -> Result<&'a [u8], DecodeError> {
        let start = self.clone();
        let length = self.head(field, BYTES, "a byte string")?;
        self.bounded(&start, field, length, lengths)
    }

    /// A byte string of exactly `N` bytes.
    pub(crate) fn fixed<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        let mut out = [0; N];
        out.copy_from_slice(self.bytes(field, N..=N)?);
        Ok(out)
    }

    /// A text string of 1 to `longest` bytes without control characters: these strings are shown on terminals.
    pub(crate) fn text(&mut self, field: &'static str, longest: usize) -> Result<&'a str, DecodeError> {
        let start = self.clone();
        let length = self.head(field, TEXT, "a text string")?;
        let bytes = self.bounded(&start, field, length, 1..=longest)?;
        let text = core::str::from_utf8(bytes).map_err(|_| start.error(field, Problem::InvalidText))?;
        match text.chars().any(char::is_control) {
            true => Err(start.error(field, Problem::InvalidText)),
            false => Ok(text),
        }
    }

    /// A text string that must equal `value`: the name and version of a format.
    pub(crate) fn format(&mut self, field: &'static str, value: &'static str) -> Result<(), DecodeError> {
        let start = self.clone();
        match self.text(field, FORMAT_BYTES_MAX)? == value {
            true => Ok(()),
            false => Err(start.error(field, Problem::UnknownFormat { expected: value })),
        }
    }

    fn bounded(
        &mut self,
        start: &Self,
        field: &'static str,
        length: u64,
        lengths: core::ops::RangeInclusive<usize>,
    ) -> Result<&'a [u8], DecodeError> {
        match usize::try_from(length) {
            Ok(length) if lengths.contains(&length) => self.take(field, length as u64),
            _ => Err(start.error(field, Problem::WrongLength)),
        }
    }

    /// An array header with a number of items in `items`.
    pub(crate) fn array(
        &mut self,
        field: &'static str,
        items: core::ops::RangeInclusive<usize>,
    ) -> Result<usize, DecodeError> {
        let start = self.clone();
        let found = self.head(field, ARRAY, "an array")?;
        usize::try_from(found)
            .ok()
            .filter(|found| items.contains(found))
            .ok_or_else(|| start.error(field, Problem::WrongLength))
    }

    /// A map header with exactly `pairs` pairs.
    pub(crate) fn map(&mut self, field: &'static str, pairs: usize) -> Result<(), DecodeError> {
        self.map_of(field, pairs..=pairs).map(|_| ())
    }

    /// A map header; the number of pairs, which lies in `pairs`.
    pub(crate) fn map_of(
        &mut self,
        field: &'static str,
        pairs: core::ops::RangeInclusive<usize>,
    ) -> Result<usize, DecodeError> {
        let start = self.clone();
        let found = self.head(field, MAP, "a map")?;
        let found = usize::try_from(found).ok().filter(|found| pairs.contains(found));
        found.ok_or_else(|| start.error(field, Problem::WrongLength))
    }

    pub(crate) fn tag(&mut self, field: &'static str, tag: u64) -> Result<(), DecodeError> {
        let start = self.clone();
        match self.head(field, TAG, "a tag")? == tag {
            true => Ok(()),
            false => Err(start.error(field, Problem::OutOfRange)),
        }
    }

    pub(crate) fn null(&mut self, field: &'static str) -> Result<(), DecodeError> {
        match self.is_null() {
            true => self.take(field, 1).map(|_| ()),
            false => Err(self.error(field, Problem::WrongType { expected: "null" })),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.input.get(self.at) == Some(&NULL)
    }
}

/// Longer than every format name of ours.
const FORMAT_BYTES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_shortest_and_longer_ones_are_refused() {
        // RFC 8949 appendix A.
        let table: [(u64, &[u8]); 8] = [
            (0, &[0x00]),
            (23, &[0x17]),
            (24, &[0x18, 0x18]),
            (255, &[0x18, 0xff]),
            (256, &[0x19, 0x01, 0x00]),
            (1_000_000, &[0x1a, 0x00, 0x0f, 0x42, 0x40]),
            (1_000_000_000_000, &[0x1b, 0, 0, 0, 0xe8, 0xd4, 0xa5, 0x10, 0]),
            (u64::MAX, &[0x1b, 255, 255, 255, 255, 255, 255, 255, 255]),
        ];
        for (value, expected) in table {
            let mut out = Vec::new();
            Writer(&mut out).uint(value);
            assert_eq!(out, expected);
            assert_eq!(Reader::new(&out).uint("x").unwrap(), value);
        }
        for long in [
            &[0x18, 23][..],
            &[0x19, 0, 255],
            &[0x1a, 0, 0, 255, 255],
            &[0x1b, 0, 0, 0, 0, 255, 255, 255, 255],
            &[0x1c],
            &[0x1f],
        ] {
            assert_eq!(Reader::new(long).uint("x").unwrap_err().problem, Problem::NotCanonical);
        }
    }

    #[test]
    fn negative_integers_follow_appendix_a() {
        for (value, expected) in [
            (-1, &[0x20][..]),
            (-49, &[0x38, 0x30]),
            (-1000, &[0x39, 3, 0xe7]),
            (-65537, &[0x3a, 0, 1, 0, 0]),
        ] {
            let mut out = Vec::new();
            Writer(&mut out).int(value);
            assert_eq!(out, expected);
            assert_eq!(Reader::new(&out).int("x").unwrap(), value);
        }
        let beyond = [0x3b, 255, 255, 255, 255, 255, 255, 255, 255];
        assert_eq!(Reader::new(&beyond).int("x").unwrap_err().problem, Problem::OutOfRange);
    }

    #[test]
    fn indefinite_lengths_and_lying_lengths_are_refused() {
        assert_eq!(Reader::new(&[0x5f]).bytes("x", 0..=9).unwrap_err().problem, Problem::NotCanonical);
        assert_eq!(Reader::new(&[0x9f]).array("x", 0..=9).unwrap_err().problem, Problem::NotCanonical);
        assert_eq!(Reader::new(&[0xbf]).map("x", 0).unwrap_err().problem, Problem::NotCanonical);
        assert_eq!(Reader::new(&[0x43, 1, 2]).bytes("x", 0..=9).unwrap_err().problem, Problem::Truncated);
        let huge = [0x5b, 255, 255, 255, 255, 255, 255, 255, 255];
        assert_eq!(Reader::new(&huge).bytes("x", 0..=9).unwrap_err().problem, Problem::WrongLength);
    }

    #[test]
    fn text_is_utf8_without_controls() {
        for bad in [&[0x61, 0xff][..], &[0x61, 0x0a], &[0x62, 0xc2, 0x9b]] {
            assert_eq!(Reader::new(bad).text("x", 8).unwrap_err().problem, Problem::InvalidText);
        }
        assert_eq!(Reader::new(&[0x60]).text("x", 8).unwrap_err().problem, Problem::WrongLength);
    }

    #[test]
    fn the_name_of_a_format_is_the_whole_text() {
        let outcome = |bytes: &[u8]| Reader::new(bytes).format("x", "a/1").map_err(|error| error.problem);
        assert_eq!(outcome(b"\x63a/1"), Ok(()));
        for other in [&b"\x62a/"[..], b"\x63a/2", b"\x64a/12"] {
            assert_eq!(outcome(other), Err(Problem::UnknownFormat { expected: "a/1" }));
        }
    }
}
