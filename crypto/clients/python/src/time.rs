//! The caller's clock.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The year 5138 in seconds, and the year 1973 in milliseconds.
const SECONDS_MAX: f64 = 1e11;

/// Unix seconds: a whole number, or a float as `time.time()` gives it, without its fraction.
pub(crate) struct Now(pub(crate) u64);

impl<'py> FromPyObject<'_, 'py> for Now {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Now> {
        let seconds: f64 = value
            .extract()
            .map_err(|_| PyTypeError::new_err("now must be a number of Unix seconds, such as time.time()"))?;
        if (0.0..SECONDS_MAX).contains(&seconds) {
            return Ok(Now(seconds as u64));
        }
        Err(PyValueError::new_err(format!("now is {seconds}: give Unix seconds, not milliseconds")))
    }
}
