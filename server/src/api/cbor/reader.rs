//! From CBOR to the JSON of the same value.

use super::fault::{Fault, fault};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use minicbor::data::Type;
use minicbor::decode::{Decoder, Error};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::HashSet;

/// Levels of arrays, maps and tags. The deepest body of the API has five; the JSON parser takes 127.
const DEPTH_MAX: usize = 32;

const UNTAGGED: &str =
    "a byte string without a tag; put tag 22 before it where API.md says base64, tag 23 where it says hex";

/// The JSON of the one item in `cbor`, at most `bytes_max` long.
pub(in crate::api) fn to_json(cbor: &[u8], bytes_max: usize) -> Result<Vec<u8>, Fault> {
    let json = Vec::with_capacity(cbor.len());
    let mut reader = Reader { input: Decoder::new(cbor), json, bytes_max };
    reader.item(0, None)?;
    match cbor.len() - reader.input.position() {
        0 => Ok(reader.json),
        left => {
            let what = format!("the body goes on after its item; leave out the last {left} bytes");
            Err(fault(reader.input.position(), what))
        }
    }
}

/// How JSON writes the bytes of a byte string.
#[derive(Clone, Copy)]
enum Base {
    Base64,
    Hex,
}

impl Base {
    /// What a tag asks for.
    fn of(tag: u64) -> Option<Base> {
        match tag {
            22 => Some(Base::Base64),
            23 => Some(Base::Hex),
            _ => None,
        }
    }

    fn text(self, bytes: &[u8]) -> String {
        match self {
            Base::Base64 => BASE64.encode(bytes),
            Base::Hex => hex::encode_upper(bytes),
        }
    }
}

/// Reads items and appends their JSON.
struct Reader<'a> {
    input: Decoder<'a>,
    json: Vec<u8>,
    bytes_max: usize,
}

impl<'a> Reader<'a> {
    /// The next item. `base` is that of the innermost tag around it.
    fn item(&mut self, depth: usize, base: Option<Base>) -> Result<(), Fault> {
        let at = self.input.position();
        if depth > DEPTH_MAX {
            return Err(fault(at, format!("items are nested more than {DEPTH_MAX} deep")));
        }
        let kind = self.kind()?;
        match kind {
            Type::F16 | Type::F32 | Type::F64 => self.number(at),
            Type::String | Type::StringIndef => {
                let text = self.text(kind)?;
                self.write(at, &text)
            }
            Type::Bytes | Type::BytesIndef => self.bytes(at, base),
            Type::Array | Type::ArrayIndef => self.array(depth, base),
            Type::Map | Type::MapIndef => self.map(depth, base),
            Type::Tag => self.tagged(at, depth),
            Type::Bool => {
                let is_true = self.part(Decoder::bool)?;
                self.write(at, &is_true)
            }
            Type::Null => {
                self.part(Decoder::null)?;
                self.write(at, &())
            }
            Type::Undefined => Err(fault(at, "undefined; leave the member out, or send null")),
            Type::Simple => {
                let value = self.part(Decoder::simple)?;
                Err(fault(at, format!("the simple value {value}, which has no JSON form")))
            }
            Type::Break => Err(fault(at, "a break in place of an item")),
            Type::Unknown(byte) => Err(fault(at, format!("the byte {byte:#04x}, which begins no item"))),
            _ => self.integer(at),
        }
    }

    /// The kind of the next item, which is not read yet.
    fn kind(&mut self) -> Result<Type, Fault> {
        self.part(|input| input.datatype())
    }

    /// Reads a part of the input.
    fn part<T>(&mut self, read: impl FnOnce(&mut Decoder<'a>) -> Result<T, Error>) -> Result<T, Fault> {
        let at = self.input.position();
        let end = self.input.input().len();
        read(&mut self.input).map_err(|cause| ill_formed(&cause, at, end))
    }

    /// Appends a value that has a JSON form.
    fn write(&mut self, at: usize, value: &impl Serialize) -> Result<(), Fault> {
        serde_json::to_writer(&mut self.json, value).map_err(|cause| fault(at, cause.to_string()))?;
        self.check_length()
    }

    /// Appends punctuation.
    fn mark(&mut self, mark: u8) -> Result<(), Fault> {
        self.json.push(mark);
        self.check_length()
    }

    fn check_length(&self) -> Result<(), Fault> {
        if self.json.len() > self.bytes_max { Err(Fault::TooLong) } else { Ok(()) }
    }

    fn integer(&mut self, at: usize) -> Result<(), Fault> {
        let number = self.part(Decoder::int)?;
        self.write(at, &i128::from(number))
    }

    fn number(&mut self, at: usize) -> Result<(), Fault> {
        let number = self.part(Decoder::f64)?;
        match number.is_finite() {
            true => self.write(at, &number),
            false => Err(fault(at, format!("the number {number}; JSON has only finite ones"))),
        }
    }

    fn tagged(&mut self, at: usize, depth: usize) -> Result<(), Fault> {
        let tag = self.part(Decoder::tag)?.as_u64();
        let base = Base::of(tag).ok_or_else(|| fault(at, no_base(tag)))?;
        self.item(depth + 1, Some(base))
    }

    /// A text of this kind: whole, or in chunks.
    fn text(&mut self, kind: Type) -> Result<Cow<'a, str>, Fault> {
        match kind {
            Type::String => self.part(Decoder::str).map(Cow::Borrowed),
            _ => self.part(|input| input.str_iter()?.collect::<Result<String, _>>()).map(Cow::Owned),
        }
    }

    fn bytes(&mut self, at: usize, base: Option<Base>) -> Result<(), Fault> {
        let base = base.ok_or_else(|| fault(at, UNTAGGED))?;
        let bytes: Vec<&[u8]> = self.part(|input| input.bytes_iter()?.collect())?;
        self.write(at, &base.text(&bytes.concat()))
    }

    fn array(&mut self, depth: usize, base: Option<Base>) -> Result<(), Fault> {
        let mut left = self.part(Decoder::array)?;
        self.mark(b'[')?;
        let mut is_first = true;
        while self.has_more(&mut left) {
            if !std::mem::take(&mut is_first) {
                self.mark(b',')?;
            }
            self.item(depth + 1, base)?;
        }
        self.mark(b']')
    }

    fn map(&mut self, depth: usize, base: Option<Base>) -> Result<(), Fault> {
        let mut left = self.part(Decoder::map)?;
        self.mark(b'{')?;
        let mut keys = HashSet::new();
        while self.has_more(&mut left) {
            if !keys.is_empty() {
                self.mark(b',')?;
            }
            let key = self.key(&keys)?;
            keys.insert(key);
            self.mark(b':')?;
            self.item(depth + 1, base)?;
        }
        self.mark(b'}')
    }

    /// The key of a member, which must differ from those before it.
    fn key(&mut self, before: &HashSet<Cow<'a, str>>) -> Result<Cow<'a, str>, Fault> {
        let at = self.input.position();
        let kind = self.kind()?;
        if !matches!(kind, Type::String | Type::StringIndef) {
            return Err(fault(at, "the key of a map is not text; the names of fields are"));
        }
        let key = self.text(kind)?;
        if before.contains(&key) {
            return Err(fault(at, format!("the key {key:?} is in this map twice")));
        }
        self.write(at, &key)?;
        Ok(key)
    }

    /// Whether an item follows: one of `left`, or whatever comes before a break, which is then read.
    fn has_more(&mut self, left: &mut Option<u64>) -> bool {
        if let Some(left) = left {
            let has_more = *left > 0;
            *left = left.saturating_sub(1);
            return has_more;
        }
        let ends = matches!(self.input.datatype(), Ok(Type::Break));
        self.input.set_position(self.input.position() + usize::from(ends));
        !ends
    }
}

fn no_base(tag: u64) -> String {
    format!(
        "tag {tag}; only tag 22 (base64) and tag 23 (hexadecimal) have a meaning here, before byte strings"
    )
}

/// What is wrong with an item that begins `at`, in a body of `end` bytes. Its kind is known, so there is little else.
fn ill_formed(cause: &Error, at: usize, end: usize) -> Fault {
    let at = cause.position().unwrap_or(at);
    match (cause.is_end_of_input(), cause.is_type_mismatch()) {
        (true, _) => fault(end, "the body ends within an item"),
        (_, true) => fault(at, "the chunks of a string are strings of its kind, each with a length"),
        _ => fault(at, "a text that is not UTF-8"),
    }
}
