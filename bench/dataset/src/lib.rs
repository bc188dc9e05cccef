//! Face embedding sets on disk, how they are split into templates and probes, and how well plain
//! integer scores tell people apart.
//!
//! * [`npy`] reads NumPy arrays strictly and within bounds;
//! * [`Photographs`] are vectors of any width with a person for each, and [`calibration`] says with which thresholds and errors their model
//!   matches;
//! * [`Protocol`] splits a set into the [`Trials`] of a verification experiment;
//! * [`ScoreMatrix`] holds the scores of all probes against all templates and their digest: an
//!   encrypted matcher is exact when its matrix has the digest of the plain one;
//! * [`Accuracy`] says what a threshold on those scores means.
//!
//! Quantisation is the caller's, but for a calibration: the crate yields vectors and takes a function that scores them, so
//! that an experiment runs the very code it is about.
//!
//! Sets are files, read at run time. They are biometric data and never part of a program.
//!
//! ```
//! use trefoil_dataset::ScoreMatrix;
//!
//! let faces = [[3, 4], [4, 3]];
//! let dot = |a: [i32; 2], b: [i32; 2]| a[0] * b[0] + a[1] * b[1];
//! let plain = ScoreMatrix::from_fn(2, 2, |probe, template| dot(faces[probe], faces[template]));
//! assert_eq!(plain.row(0), [25, 24]);
//! ```

mod accuracy;
pub mod calibration;
pub mod npy;
mod photographs;
mod protocol;
mod scores;
mod set_error;

pub use accuracy::{Accuracy, Point};
pub use photographs::Photographs;
pub use protocol::{Protocol, ProtocolError, Sample, Trials};
pub use scores::{ScoreMatrix, ShapeError};
pub use set_error::SetError;
