//! NumPy `.npy` files, format versions 1.0 and 2.0 (NEP 1), read strictly.
//!
//! A file is a magic string, a version, a header length, a header that is a Python dictionary
//! literal with exactly the keys `descr`, `fortran_order` and `shape`, and the elements. Accepted:
//! one or two dimensions, C order, little-endian float32 or integers. Everything else is refused
//! with what was found and how to convert it. The length of the data must be exactly what the shape
//! says, so nothing is allocated that the input has not already supplied.

mod header;

pub use header::{Dtype, Header};
use std::fmt;

/// Largest header accepted, in bytes; NumPy itself writes 118 for these shapes and distrusts more
/// than 10,000.
pub const MAX_HEADER_BYTES: usize = 4096;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Why bytes are not an acceptable array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NpyError {
    /// The magic string is missing.
    #[error("not a .npy file: it does not begin with \\x93NUMPY")]
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
    #[error("malformed header at byte {at}: {expected} expected")]
    Header {
        /// Offset within the header.
        at: usize,
        /// What should have been there.
        expected: &'static str,
    },
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

/// A parsed array; borrows its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Npy<'a> {
    header: Header,
    data: &'a [u8],
}

/// A two-dimensional float32 array.
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

    /// The array as a float32 matrix.
    ///
    /// # Errors
    /// [`NpyError::WrongDtype`], [`NpyError::Dimensions`].
    pub fn to_f32_matrix(&self) -> Result<Matrix, NpyError> {
        let &[_, columns] = self.shape()?;
        if self.header.dtype != Dtype::F32 {
            return Err(NpyError::WrongDtype { expected: "float32 (<f4)", found: self.header.dtype });
        }
        let (elements, _) = self.data.as_chunks::<4>();
        let values = elements.iter().map(|&le| f32::from_le_bytes(le)).collect();
        Ok(Matrix { columns, values })
    }

    /// The array as a vector of integers, of whichever width it has.
    ///
    /// # Errors
    /// [`NpyError::WrongDtype`], [`NpyError::Dimensions`], [`NpyError::IntegerTooLarge`].
    pub fn to_integers(&self) -> Result<Vec<i64>, NpyError> {
        let &[_] = self.shape()?;
        let signed = match self.header.dtype {
            Dtype::F32 => {
                return Err(NpyError::WrongDtype { expected: "an integer type", found: Dtype::F32 });
            }
            Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => true,
            Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => false,
        };
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
