//! Embeddings with the person each belongs to.

use crate::Photographs;
use crate::npy::{Matrix, NpyError};
use crate::photographs::MAX_FILE_BYTES;
use std::io;
use std::path::{Path, PathBuf};
use trefoil_types::DIM;

/// One embedding as its model produced it: not normalised, not quantised.
pub type Row = [f32; DIM];

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

/// [`Photographs`] whose vectors have 128 numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct EmbeddingSet(Photographs);

impl EmbeddingSet {
    /// Reads files as [`Photographs::load`].
    ///
    /// # Errors
    /// The first thing that is wrong, with the file and what to do.
    pub fn load(x_path: &Path, y_path: &Path) -> Result<Self, SetError> {
        let photographs = Photographs::load(x_path, y_path)?;
        match photographs.width() {
            DIM => Ok(Self(photographs)),
            found => Err(SetError::Columns { expected: "128", found }),
        }
    }

    /// Takes rows and their persons.
    ///
    /// # Errors
    /// Those of [`Photographs::new`].
    pub fn new(rows: Vec<Row>, persons: Vec<i64>) -> Result<Self, SetError> {
        Photographs::new(Matrix { columns: DIM, values: rows.into_flattened() }, persons).map(Self)
    }

    /// The embeddings, in file order.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        self.0.values().as_chunks().0
    }

    /// The person of each row.
    #[must_use]
    pub fn persons(&self) -> &[i64] {
        self.0.persons()
    }
}
