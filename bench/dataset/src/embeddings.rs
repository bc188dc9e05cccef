//! Embeddings with the person each belongs to.

use crate::npy::{Npy, NpyError};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use trefoil_types::DIM;

/// One embedding as its model produced it: not normalised, not quantised.
pub type Row = [f32; DIM];

/// Largest file read: half a million embeddings. Beyond it a set is a data base, not an experiment.
const MAX_FILE_BYTES: u64 = 256 << 20;

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
    /// Embeddings of another dimension.
    #[error("{DIM} columns expected, found {found}: the matcher is built for {DIM}-dimensional embeddings")]
    Columns {
        /// Columns in the file.
        found: usize,
    },
    /// The two files disagree.
    #[error("{rows} embeddings but {persons} person ids: one id per row expected")]
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

/// Finite embeddings, each with the number of its person. Not empty.
#[derive(Clone, PartialEq)]
pub struct EmbeddingSet {
    rows: Vec<Row>,
    persons: Vec<i64>,
}

impl EmbeddingSet {
    /// Reads `x_path` (float32, rows x 128) and `y_path` (integers, one per row).
    ///
    /// # Errors
    /// The first thing that is wrong, with the file and what to do.
    pub fn load(x_path: &Path, y_path: &Path) -> Result<Self, SetError> {
        let npy_error = |path: &Path| {
            let path = path.to_owned();
            move |source| SetError::Npy { path, source }
        };
        let bytes = read_bounded(x_path)?;
        let matrix = Npy::parse(&bytes).and_then(|x| x.to_f32_matrix()).map_err(npy_error(x_path))?;
        if matrix.columns != DIM {
            return Err(SetError::Columns { found: matrix.columns });
        }
        let (rows, _) = matrix.values.as_chunks::<DIM>();
        let bytes = read_bounded(y_path)?;
        let persons = Npy::parse(&bytes).and_then(|y| y.to_integers()).map_err(npy_error(y_path))?;
        Self::new(rows.to_vec(), persons)
    }

    /// Takes rows and their persons.
    ///
    /// # Errors
    /// [`SetError::RowCount`], [`SetError::Empty`], [`SetError::NotFinite`].
    pub fn new(rows: Vec<Row>, persons: Vec<i64>) -> Result<Self, SetError> {
        if rows.len() != persons.len() {
            return Err(SetError::RowCount { rows: rows.len(), persons: persons.len() });
        }
        if rows.is_empty() {
            return Err(SetError::Empty);
        }
        match rows.as_flattened().iter().position(|v| !v.is_finite()) {
            Some(at) => Err(SetError::NotFinite { row: at / DIM, column: at % DIM }),
            None => Ok(Self { rows, persons }),
        }
    }

    /// The embeddings, in file order.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The person of each row.
    #[must_use]
    pub fn persons(&self) -> &[i64] {
        &self.persons
    }
}

impl fmt::Debug for EmbeddingSet {
    /// Embeddings are biometric: the number of rows and no values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmbeddingSet({} rows)", self.rows.len())
    }
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, SetError> {
    let io_error = |source| SetError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(io_error)?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(io_error)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(SetError::TooLarge { path: path.to_owned() });
    }
    Ok(bytes)
}
