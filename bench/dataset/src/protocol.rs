//! How a set becomes an experiment: who is enrolled with what, and who is compared with whom.

use crate::{Photographs, ScoreMatrix};
use std::collections::HashMap;
use std::fmt;
use zeroize::Zeroizing;

/// An enrolment protocol. People are enrolled in the order in which they first appear; every row
/// not used for a template is a probe, in file order; every probe meets every template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// A person's first row is the template.
    Enrol1,
    /// The template is the mean of a person's first three rows, each scaled to unit length, scaled
    /// to unit length itself.
    Enrol3,
}

/// Why a set does not fit a protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A person has too few rows to be enrolled.
    #[error("person {person} has {found} row(s), {protocol} needs {} of each person", protocol.photos())]
    TooFewRows {
        /// The person's number in the set.
        person: i64,
        /// How many rows there are.
        found: usize,
        /// What was asked for.
        protocol: Protocol,
    },
    /// Nobody to compare with, or nothing to compare.
    #[error(
        "{people} people can be enrolled and {probes} photographs compared with them: expected two people or more, with at least {} each",
        .protocol.photos() + 1
    )]
    TooFew {
        /// Enrolled people.
        people: usize,
        /// Other photographs.
        probes: usize,
        /// How they are enrolled.
        protocol: Protocol,
    },
    /// More comparisons than [`crate::calibration::COMPARISONS_MAX`].
    #[error("{0} comparisons are too many: leave out people or photographs; 1,800 people with ten each fit")]
    TooMany(usize),
    /// A row, or a mean of rows, has no direction.
    #[error("person {person}: an embedding of length zero cannot be scaled to unit length")]
    ZeroLength {
        /// The person's number in the set.
        person: i64,
    },
}

/// An embedding and whose it is.
#[derive(Clone, PartialEq)]
pub struct Sample {
    /// The person's number in the set.
    pub person: i64,
    /// The embedding, not quantised.
    pub vector: Vec<f32>,
}

/// The templates and probes of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Trials {
    /// One per person.
    pub templates: Vec<Sample>,
    /// Everything else.
    pub probes: Vec<Sample>,
}

impl Protocol {
    /// Rows that go into one template.
    #[must_use]
    pub fn photos(self) -> usize {
        match self {
            Self::Enrol1 => 1,
            Self::Enrol3 => 3,
        }
    }

    /// Splits a set.
    ///
    /// # Errors
    /// [`ProtocolError`]: a person cannot be enrolled.
    pub fn split(self, set: &Photographs) -> Result<Trials, ProtocolError> {
        let (enrolment, probes) = self.divide(set.persons().iter().copied().enumerate());
        let template = |(person, photos): (i64, Vec<usize>)| {
            if photos.len() < self.photos() {
                return Err(ProtocolError::TooFewRows { person, found: photos.len(), protocol: self });
            }
            let photos: Vec<&[f32]> = photos.into_iter().map(|row| set.row(row)).collect();
            template(&photos)
                .map(|vector| Sample { person, vector })
                .ok_or(ProtocolError::ZeroLength { person })
        };
        let templates = enrolment.into_iter().map(template).collect::<Result<_, _>>()?;
        let probe = |row: usize| Sample { person: set.persons()[row], vector: set.row(row).to_vec() };
        Ok(Trials { templates, probes: probes.into_iter().map(probe).collect() })
    }

    /// The rows of each person's template, at most [`Protocol::photos`], and the other rows; both from rows with their persons.
    pub fn divide(self, rows: impl Iterator<Item = (usize, i64)>) -> (Vec<(i64, Vec<usize>)>, Vec<usize>) {
        let mut enrolment: Vec<(i64, Vec<usize>)> = Vec::new();
        let mut position = HashMap::new();
        let mut probes = Vec::new();
        for (row, person) in rows {
            let at = *position.entry(person).or_insert_with(|| {
                enrolment.push((person, Vec::with_capacity(self.photos())));
                enrolment.len() - 1
            });
            let (_, photos) = &mut enrolment[at];
            if photos.len() < self.photos() { photos.push(row) } else { probes.push(row) }
        }
        (enrolment, probes)
    }
}

impl Trials {
    /// Scores every probe against every template in the clear: `quantise` each vector once, then
    /// `dot` for each pair.
    ///
    /// # Errors
    /// The first error of `quantise`.
    pub fn score<Q, E>(
        &self,
        quantise: impl Fn(&[f32]) -> Result<Q, E>,
        dot: impl Fn(&Q, &Q) -> i32,
    ) -> Result<ScoreMatrix, E> {
        let quantise_all =
            |samples: &[Sample]| samples.iter().map(|s| quantise(&s.vector)).collect::<Result<Vec<Q>, E>>();
        let (templates, probes) = (quantise_all(&self.templates)?, quantise_all(&self.probes)?);
        Ok(ScoreMatrix::from_fn(probes.len(), templates.len(), |p, t| dot(&probes[p], &templates[t])))
    }

    /// Whether a probe and a template, by index, are of one person.
    #[must_use]
    pub fn is_genuine(&self, probe: usize, template: usize) -> bool {
        self.probes[probe].person == self.templates[template].person
    }
}

impl fmt::Debug for Sample {
    /// Embeddings are biometric: no values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sample(person {})", self.person)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enrol1 => "enrol1",
            Self::Enrol3 => "enrol3",
        })
    }
}

/// The template of these photographs: one as it is, or the unit vector along the mean of their directions; `None` if one of them, or their
/// mean, has none. Computed in double precision.
pub(crate) fn template(photos: &[&[f32]]) -> Option<Vec<f32>> {
    if let [only] = photos {
        return Some(only.to_vec());
    }
    let units = photos.iter().map(|row| unit(row.iter().map(|&v| v.into()).collect()));
    let units: Vec<_> = units.collect::<Option<_>>()?;
    let sum = |column| units.iter().map(|unit| unit[column]).sum();
    let mean = unit((0..units.first()?.len()).map(sum).collect())?;
    Some(mean.iter().map(|v| *v as f32).collect())
}

/// A vector scaled to length one.
pub(crate) fn unit(vector: Vec<f64>) -> Option<Zeroizing<Vec<f64>>> {
    let mut vector = Zeroizing::new(vector);
    let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
    vector.iter_mut().for_each(|v| *v /= length);
    (length > 0.0).then_some(vector)
}
