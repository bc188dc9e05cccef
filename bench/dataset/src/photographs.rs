//! Photographs of people as the vectors of one model, of any width, from `.npy` or `.csv` files.

use crate::SetError;
use crate::npy::{Matrix, Npy};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use trefoil_types::{NUMBERS_MAX, Width};
use zeroize::Zeroizing;

/// Largest file read: at least 130,000 vectors. Beyond it a set is a data base, not an experiment.
pub(crate) const MAX_FILE_BYTES: u64 = 256 << 20;

/// Vectors with a direction and of one width, each with the number of its person. Not empty; wiped on drop.
#[derive(Clone, PartialEq)]
pub struct Photographs {
    width: usize,
    values: Zeroizing<Vec<f32>>,
    persons: Vec<i64>,
}

impl Photographs {
    /// Reads the vectors of `x_path`, one in each row, and the people of `y_path`, one for each row. A file whose name ends in `.csv` is text:
    /// a row in each line, without a heading; people are then any text. Any other file is an array of NumPy: float32 or float64, and integers.
    ///
    /// # Errors
    /// The first fault, with its file and place.
    pub fn load(x_path: &Path, y_path: &Path) -> Result<Self, SetError> {
        let matrix = read(x_path, |bytes| Npy::parse(bytes)?.to_f32_matrix(), vectors)?;
        let persons = read(y_path, |bytes| Npy::parse(bytes)?.to_integers(), people)?;
        Self::new(matrix, persons)
    }

    /// Takes vectors and their people.
    ///
    /// # Errors
    /// [`SetError`]: wrong width, no rows, another number of people, or a row that is not finite or has no direction.
    pub fn new(matrix: Matrix, persons: Vec<i64>) -> Result<Self, SetError> {
        let (width, values) = (matrix.columns, Zeroizing::new(matrix.values));
        if Width::of(width).is_none() {
            return Err(SetError::Columns { expected: "2 to 512", found: width });
        }
        let rows = values.len() / width;
        if rows != persons.len() {
            return Err(SetError::RowCount { rows, persons: persons.len() });
        }
        if rows == 0 {
            return Err(SetError::Empty);
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            return Err(SetError::NotFinite { row: at / width, column: at % width });
        }
        match values.chunks_exact(width).position(|row| row.iter().all(|v| *v == 0.0)) {
            Some(row) => Err(SetError::ZeroRow { row }),
            None => Ok(Self { width, values, persons }),
        }
    }

    /// Numbers in each vector.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The width that the matcher pads them to.
    ///
    /// # Panics
    /// Never: [`Photographs::new`] takes no other width.
    #[must_use]
    pub fn padded(&self) -> Width {
        Width::of(self.width).expect("checked when it was made")
    }

    /// The vector of a row.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.width..][..self.width]
    }

    /// The person of each row. People of a text file are numbered as they appear.
    #[must_use]
    pub fn persons(&self) -> &[i64] {
        &self.persons
    }
}

trefoil_types::opaque_debug!(Photographs);

/// What is wrong in a line of text.
type LineError = (usize, String);

fn read<T>(
    path: &Path,
    npy: impl FnOnce(&[u8]) -> Result<T, crate::npy::NpyError>,
    csv: impl FnOnce(&str) -> Result<T, LineError>,
) -> Result<T, SetError> {
    let bytes = read_bounded(path)?;
    if !path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) {
        return npy(&bytes).map_err(|source| SetError::Npy { path: path.to_owned(), source });
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| (1, "not text in UTF-8".to_owned()));
    text.and_then(|text| csv(text.trim_start_matches('\u{feff}').trim_end()))
        .map_err(|(line, what)| SetError::Csv { path: path.to_owned(), line, what })
}

fn vectors(text: &str) -> Result<Matrix, LineError> {
    // Enough, so that no copies are left behind: a number has a digit, and a comma or the end of its line.
    let (mut columns, mut values) = (0, Vec::with_capacity(text.len() / 2 + 1));
    for (line, numbers) in text.lines().enumerate() {
        let before = values.len();
        for (column, number) in numbers.split(',').take(NUMBERS_MAX + 1).enumerate() {
            let Ok(number) = number.trim().parse() else {
                let what = format!("column {column} is no number; give numbers with commas, and no heading");
                return Err((line + 1, what));
            };
            values.push(number);
        }
        let found = values.len() - before;
        columns = if line == 0 { found } else { columns };
        if found != columns {
            return Err((line + 1, format!("{found} numbers, but {columns} in the first line")));
        }
    }
    Ok(Matrix { columns, values })
}

fn people(text: &str) -> Result<Vec<i64>, LineError> {
    let mut known = HashMap::new();
    let number = |(line, label): (usize, &'_ str)| {
        if label.trim().is_empty() {
            return Err((line + 1, "empty; give a person in each line".to_owned()));
        }
        let next = known.len() as i64;
        Ok(*known.entry(label.trim().to_owned()).or_insert(next))
    };
    text.lines().enumerate().map(number).collect()
}

fn read_bounded(path: &Path) -> Result<Zeroizing<Vec<u8>>, SetError> {
    let io_error = |source| SetError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(io_error)?;
    let length = file.metadata().map_err(io_error)?.len().min(MAX_FILE_BYTES);
    // Read without growing, which would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(length as usize + 1));
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(io_error)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(SetError::TooLarge { path: path.to_owned() });
    }
    Ok(bytes)
}
