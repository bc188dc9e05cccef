//! NumPy `.npy` files, format versions 1.0 and 2.0 (NEP 1), read strictly.
//!
//! A file is a magic string, a version, a header length, a header that is a Python dictionary
//! literal with exactly the keys `descr`, `fortran_order` and `shape`, and the elements. Accepted:
//! one or two dimensions, C order, little-endian float32, float64 or integers. Everything else is refused
//! with what was found and how to convert it. The length of the data must be exactly what the shape
//! says, so nothing is allocated that the input has not already supplied.

use std::fmt;

/// Largest header accepted, in bytes; NumPy itself writes 118 for these shapes and distrusts more
/// than 10,000.
pub const MAX_HEADER_BYTES: usize = 4096;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Why bytes are not an acceptable array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NpyError {
    /// The magic string is missing.
    #[error(
        "not a .npy file: it does not begin with \\x93NUMPY; save with numpy.save, or name a file of text .csv"
    )]
    Magic,
    /// A format version other than 1.0 and 2.0.
    #[error("format version {0}.{1} is not supported (1.0 and 2.0 are): save with numpy.save")]
    Version(u8, u8),
    /// The file ends before the header does.
    #[error("truncated: the file ends within its header")]
    HeaderTruncated,
    /// The header claims to be longer than any honest one.
    #[error("header of {0} bytes is longer than {MAX_HEADER_BYTES}")]
    HeaderTooLong(u64),
    /// The header is not the dictionary it should be.
    #[error("malformed header: {0} expected")]
    Header(&'static str),
    /// Column-major data.
    #[error("fortran_order is True: save numpy.ascontiguousarray(a)")]
    FortranOrder,
    /// An element type this reader does not know.
    #[error("element type {0:?} is not supported: convert with a.astype('<f4') or a.astype('<i8')")]
    Dtype(String),
    /// An array of the wrong element type for its purpose.
    #[error("{expected} expected, found {found}: convert with a.astype")]
    WrongDtype {
        /// What the caller wanted.
        expected: &'static str,
        /// What the file holds.
        found: Dtype,
    },
    /// An array of the wrong number of dimensions for its purpose.
    #[error("{expected} dimension(s) expected, found {found}")]
    Dimensions {
        /// What the caller wanted.
        expected: usize,
        /// What the file holds.
        found: usize,
    },
    /// The element count does not fit the address space.
    #[error("shape {0:?} is too large")]
    ShapeTooLarge(Vec<u64>),
    /// Fewer bytes than the shape says.
    #[error("truncated: {expected} bytes of data expected, found {found}")]
    DataTruncated {
        /// What the shape says.
        expected: usize,
        /// What is there.
        found: usize,
    },
    /// More bytes than the shape says.
    #[error("{0} bytes after the data")]
    Trailing(usize),
    /// An unsigned 64-bit id above the signed range.
    #[error("element {0} exceeds 2^63 - 1")]
    IntegerTooLarge(usize),
}

/// An element type that is read, by NumPy's name for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dtype(&'static str);

/// Element type and shape of an array in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Element type.
    pub dtype: Dtype,
    /// Length along each of one or two dimensions, the slowest first.
    pub shape: Vec<usize>,
}

impl Dtype {
    /// float32
    pub const F32: Dtype = Dtype("<f4");
    const F64: Dtype = Dtype("<f8");
    const ALL: [&'static str; 10] = ["<f4", "<f8", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8"];

    fn parse(name: &str) -> Result<Self, NpyError> {
        let known = Self::ALL.into_iter().find(|known| *known == name);
        known.map(Dtype).ok_or_else(|| NpyError::Dtype(name.to_owned()))
    }

    /// Bytes per element.
    #[must_use]
    pub fn bytes(self) -> usize {
        usize::from(self.0.as_bytes()[2] - b'0')
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

const KEYS: NpyError = NpyError::Header("each of the keys descr, fortran_order and shape once");

impl Header {
    /// Parses the dictionary; padding after it must be spaces and one newline at the end.
    fn parse(text: &[u8]) -> Result<Self, NpyError> {
        let text = std::str::from_utf8(text).map_err(|_| NpyError::Header("text"))?;
        let packed = text.replace(' ', "");
        let end = NpyError::Header("a dictionary, spaces and one newline at the end");
        let mut rest = packed.strip_prefix('{').and_then(|rest| rest.strip_suffix("}\n")).ok_or(end)?;
        let (mut dtype, mut fortran_order, mut shape) = (None, None, None);
        while !rest.is_empty() {
            let key = rest.strip_prefix('\'').and_then(|rest| rest.split_once("':"));
            let (key, after) = key.ok_or(NpyError::Header("a key in single quotes"))?;
            // The only commas within a value are those of the shape.
            let length =
                if after.starts_with('(') { after.find(')').map(|at| at + 1) } else { after.find(',') };
            let (value, after) = after.split_at(length.unwrap_or(after.len()));
            match key {
                "descr" if dtype.is_none() => dtype = Some(Dtype::parse(unquoted(value)?)?),
                "fortran_order" if fortran_order.is_none() => {
                    fortran_order = Some(match value {
                        "True" => true,
                        "False" => false,
                        _ => return Err(NpyError::Header("True or False")),
                    });
                }
                "shape" if shape.is_none() => shape = Some(lengths(value)?),
                _ => return Err(KEYS),
            }
            rest = match after.strip_prefix(',') {
                Some(rest) => rest,
                None if after.is_empty() => after,
                None => return Err(NpyError::Header("',' or '}'")),
            };
        }
        let (Some(dtype), Some(fortran_order), Some(shape)) = (dtype, fortran_order, shape) else {
            return Err(KEYS);
        };
        if fortran_order {
            return Err(NpyError::FortranOrder);
        }
        match shape.iter().map(|&length| usize::try_from(length).ok()).collect() {
            Some(shape) => Ok(Self { dtype, shape }),
            None => Err(NpyError::ShapeTooLarge(shape)),
        }
    }

    /// Bytes that the elements take.
    fn data_bytes(&self) -> Result<usize, NpyError> {
        let product = self.shape.iter().try_fold(self.dtype.bytes(), |bytes, &n| bytes.checked_mul(n));
        product.ok_or_else(|| NpyError::ShapeTooLarge(self.shape.iter().map(|&n| n as u64).collect()))
    }
}

/// A short string in single quotes without escapes, as Python's `repr` writes these.
fn unquoted(value: &str) -> Result<&str, NpyError> {
    let inner = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\''));
    let plain = |text: &&str| text.len() <= 32 && text.bytes().all(|c| c.is_ascii_graphic() && c != b'\\');
    inner.filter(plain).ok_or(NpyError::Header("a short string in single quotes"))
}

/// A tuple of one or two lengths: `(3,)`, `(3,4)`, `(3,4,)`.
fn lengths(value: &str) -> Result<Vec<u64>, NpyError> {
    let inner = value.strip_prefix('(').and_then(|value| value.strip_suffix(')'));
    let parts: Vec<&str> = inner.ok_or(NpyError::Header("a tuple"))?.split(',').collect();
    let parts = match parts.as_slice() {
        [one, ""] => std::slice::from_ref(one),
        [_, second] if !second.is_empty() => &parts[..],
        [_, _, ""] => &parts[..2],
        _ => return Err(NpyError::Header("one or two dimensions")),
    };
    let length = |text: &&str| text.parse().ok().filter(|_| text.bytes().all(|c| c.is_ascii_digit()));
    let lengths = parts.iter().map(length).collect::<Option<_>>();
    lengths.ok_or(NpyError::Header("a length below 2^64"))
}

/// A parsed array; borrows its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Npy<'a> {
    header: Header,
    data: &'a [u8],
}

/// A two-dimensional array of floats.
#[derive(Clone, PartialEq)]
pub struct Matrix {
    /// Number of columns; `values` has a multiple of it.
    pub columns: usize,
    /// The elements, row by row.
    pub values: Vec<f32>,
}

impl<'a> Npy<'a> {
    /// Parses a whole file.
    ///
    /// # Errors
    /// The first way in which `bytes` is not an acceptable array.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, NpyError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(NpyError::Magic)?;
        let (&[major, minor], rest) = rest.split_first_chunk().ok_or(NpyError::HeaderTruncated)?;
        let (length, rest) = match (major, minor) {
            (1, 0) => {
                let (&length, rest) = rest.split_first_chunk().ok_or(NpyError::HeaderTruncated)?;
                (u16::from_le_bytes(length).into(), rest)
            }
            (2, 0) => {
                let (&length, rest) = rest.split_first_chunk().ok_or(NpyError::HeaderTruncated)?;
                (u32::from_le_bytes(length), rest)
            }
            _ => return Err(NpyError::Version(major, minor)),
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > MAX_HEADER_BYTES {
            return Err(NpyError::HeaderTooLong(length as u64));
        }
        let (header, data) = rest.split_at_checked(length).ok_or(NpyError::HeaderTruncated)?;
        let header = Header::parse(header)?;
        let expected = header.data_bytes()?;
        match data.len() {
            found if found < expected => Err(NpyError::DataTruncated { expected, found }),
            found if found > expected => Err(NpyError::Trailing(found - expected)),
            _ => Ok(Self { header, data }),
        }
    }

    /// Element type and shape.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The array as a float32 matrix; float64 is rounded to it.
    ///
    /// # Errors
    /// [`NpyError::WrongDtype`], [`NpyError::Dimensions`].
    pub fn to_f32_matrix(&self) -> Result<Matrix, NpyError> {
        let &[_, columns] = self.shape()?;
        let values = match self.header.dtype {
            Dtype::F32 => self.data.as_chunks().0.iter().map(|&le| f32::from_le_bytes(le)).collect(),
            Dtype::F64 => self.data.as_chunks().0.iter().map(|&le| f64::from_le_bytes(le) as f32).collect(),
            found => return Err(NpyError::WrongDtype { expected: "float32 (<f4) or float64 (<f8)", found }),
        };
        Ok(Matrix { columns, values })
    }

    /// The array as a vector of integers, of whichever width it has.
    ///
    /// # Errors
    /// [`NpyError::WrongDtype`], [`NpyError::Dimensions`], [`NpyError::IntegerTooLarge`].
    pub fn to_integers(&self) -> Result<Vec<i64>, NpyError> {
        let &[_] = self.shape()?;
        if let found @ (Dtype::F32 | Dtype::F64) = self.header.dtype {
            return Err(NpyError::WrongDtype { expected: "an integer type", found });
        }
        let signed = self.header.dtype.0.contains('i');
        let elements = self.data.chunks_exact(self.header.dtype.bytes()).enumerate();
        elements.map(|(i, le)| integer(le, signed).ok_or(NpyError::IntegerTooLarge(i))).collect()
    }

    fn shape<const D: usize>(&self) -> Result<&[usize; D], NpyError> {
        let shape = self.header.shape.as_slice();
        shape.try_into().map_err(|_| NpyError::Dimensions { expected: D, found: shape.len() })
    }
}

/// A little-endian integer of 1 to 8 bytes.
fn integer(le: &[u8], signed: bool) -> Option<i64> {
    let negative = signed && le.last().is_some_and(|&top| top >= 0x80);
    let mut wide = [if negative { 0xFF } else { 0 }; 8];
    wide[..le.len()].copy_from_slice(le);
    if signed { Some(i64::from_le_bytes(wide)) } else { u64::from_le_bytes(wide).try_into().ok() }
}

impl fmt::Debug for Matrix {
    /// Embeddings are biometric: the shape and no values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.values.len().checked_div(self.columns).unwrap_or(0);
        write!(f, "Matrix({rows} x {})", self.columns)
    }
}
