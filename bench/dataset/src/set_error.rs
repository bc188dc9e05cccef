//! Why files are not a set of photographs.

use crate::npy::NpyError;
use crate::photographs::MAX_FILE_BYTES;
use std::io;
use std::path::PathBuf;

/// Why files are not an embedding set.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file is larger than the limit.
    #[error("{}: larger than {MAX_FILE_BYTES} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A file is not an acceptable array.
    #[error("{}: {source}", path.display())]
    Npy {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: NpyError,
    },
    /// A line of a text file is not acceptable.
    #[error("{}, line {line}: {what}", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// Line, from one.
        line: usize,
        /// The fault.
        what: String,
    },
    /// A vector that has no direction.
    #[error("row {row}: all its numbers are zero; look at what the model gave for this photograph")]
    ZeroRow {
        /// Row, from zero.
        row: usize,
    },
    /// Vectors of another width.
    #[error("{expected} columns expected, found {found}: a row is a vector, as a model gives it")]
    Columns {
        /// As text.
        expected: &'static str,
        /// Columns in the file.
        found: usize,
    },
    /// The two files disagree.
    #[error("{rows} embeddings but {persons} person ids: one id per row expected, and no heading")]
    RowCount {
        /// Rows of the embeddings.
        rows: usize,
        /// Length of the ids.
        persons: usize,
    },
    /// NaN or infinity.
    #[error("row {row}, column {column}: not a finite number")]
    NotFinite {
        /// Row, from zero.
        row: usize,
        /// Column, from zero.
        column: usize,
    },
    /// Nothing to work with.
    #[error("the set has no rows")]
    Empty,
}
