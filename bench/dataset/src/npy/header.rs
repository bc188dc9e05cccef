//! The header of a `.npy` file: a Python dictionary literal with three known keys.

use super::NpyError;
use std::fmt;

/// Element types that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    /// `<f4`
    F32,
    /// `|i1`
    I8,
    /// `<i2`
    I16,
    /// `<i4`
    I32,
    /// `<i8`
    I64,
    /// `|u1`
    U8,
    /// `<u2`
    U16,
    /// `<u4`
    U32,
    /// `<u8`
    U64,
}

/// Element type and shape of an array in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Element type.
    pub dtype: Dtype,
    /// Length along each of one or two dimensions, the slowest first.
    pub shape: Vec<usize>,
}

impl Dtype {
    const NAMES: [(&'static str, Self, usize); 9] = [
        ("<f4", Self::F32, 4),
        ("|i1", Self::I8, 1),
        ("<i2", Self::I16, 2),
        ("<i4", Self::I32, 4),
        ("<i8", Self::I64, 8),
        ("|u1", Self::U8, 1),
        ("<u2", Self::U16, 2),
        ("<u4", Self::U32, 4),
        ("<u8", Self::U64, 8),
    ];

    fn parse(name: &str) -> Result<Self, NpyError> {
        let known = Self::NAMES.iter().find(|(known, ..)| *known == name);
        known.map(|&(_, dtype, _)| dtype).ok_or_else(|| NpyError::Dtype(name.to_owned()))
    }

    fn entry(self) -> (&'static str, usize) {
        let entry = Self::NAMES.iter().find(|&&(_, dtype, _)| dtype == self);
        entry.map_or(("", 0), |&(name, _, bytes)| (name, bytes))
    }

    /// Bytes per element.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.entry().1
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().0)
    }
}

impl Header {
    /// Parses the dictionary; padding after it must be spaces and one newline at the end.
    pub(super) fn parse(text: &[u8]) -> Result<Self, NpyError> {
        let mut scanner = Scanner { text, at: 0 };
        let (mut dtype, mut fortran_order, mut shape) = (None, None, None);
        scanner.token(b'{', "'{'")?;
        while !scanner.accept(b'}') {
            let key = scanner.string()?;
            scanner.token(b':', "':'")?;
            match key {
                "descr" if dtype.is_none() => dtype = Some(Dtype::parse(scanner.string()?)?),
                "fortran_order" if fortran_order.is_none() => fortran_order = Some(scanner.boolean()?),
                "shape" if shape.is_none() => shape = Some(scanner.shape()?),
                _ => return Err(scanner.expected("each of the keys descr, fortran_order and shape once")),
            }
            if !scanner.accept(b',') {
                scanner.token(b'}', "',' or '}'")?;
                break;
            }
        }
        scanner.end()?;
        let (Some(dtype), Some(fortran_order), Some(shape)) = (dtype, fortran_order, shape) else {
            return Err(scanner.expected("each of the keys descr, fortran_order and shape once"));
        };
        if fortran_order {
            return Err(NpyError::FortranOrder);
        }
        let fits = |&length: &u64| usize::try_from(length).ok();
        match shape.iter().map(fits).collect() {
            Some(shape) => Ok(Self { dtype, shape }),
            None => Err(NpyError::ShapeTooLarge(shape)),
        }
    }

    /// Bytes that the elements take.
    pub(super) fn data_bytes(&self) -> Result<usize, NpyError> {
        let product = self.shape.iter().try_fold(self.dtype.bytes(), |bytes, &n| bytes.checked_mul(n));
        product.ok_or_else(|| NpyError::ShapeTooLarge(self.shape.iter().map(|&n| n as u64).collect()))
    }
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    fn expected(&self, expected: &'static str) -> NpyError {
        NpyError::Header { at: self.at, expected }
    }

    fn skip_spaces(&mut self) {
        while self.text.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
    }

    fn accept(&mut self, token: u8) -> bool {
        self.skip_spaces();
        let found = self.text.get(self.at) == Some(&token);
        self.at += usize::from(found);
        found
    }

    fn token(&mut self, token: u8, expected: &'static str) -> Result<(), NpyError> {
        if self.accept(token) { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// A string in single quotes without escapes, as Python's `repr` writes these.
    fn string(&mut self) -> Result<&'a str, NpyError> {
        self.token(b'\'', "a string in single quotes")?;
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|&c| c == b'\'').filter(|&n| n <= 32);
        let string = length.and_then(|n| std::str::from_utf8(&rest[..n]).ok());
        let string = string.filter(|s| s.bytes().all(|c| c.is_ascii_graphic() && c != b'\\'));
        let string = string.ok_or(self.expected("a short string closed by a single quote"))?;
        self.at += string.len() + 1;
        Ok(string)
    }

    fn boolean(&mut self) -> Result<bool, NpyError> {
        self.skip_spaces();
        for (word, value) in [("True", true), ("False", false)] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.expected("True or False"))
    }

    /// A tuple of one or two lengths: `(3,)`, `(3, 4)`, `(3, 4,)`.
    fn shape(&mut self) -> Result<Vec<u64>, NpyError> {
        self.token(b'(', "a tuple")?;
        let first = self.length()?;
        self.token(b',', "','")?;
        if self.accept(b')') {
            return Ok(vec![first]);
        }
        let second = self.length()?;
        self.accept(b',');
        self.token(b')', "')' after one or two dimensions")?;
        Ok(vec![first, second])
    }

    fn length(&mut self) -> Result<u64, NpyError> {
        self.skip_spaces();
        let digits = self.text[self.at..].iter().take_while(|c| c.is_ascii_digit()).count();
        let text = &self.text[self.at..self.at + digits];
        let length = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        let length = length.ok_or(self.expected("a length below 2^64"))?;
        self.at += digits;
        Ok(length)
    }

    fn end(&mut self) -> Result<(), NpyError> {
        self.skip_spaces();
        match &self.text[self.at..] {
            b"\n" => Ok(()),
            _ => Err(self.expected("spaces and one newline at the end")),
        }
    }
}
