//! How a set becomes an experiment: who is enrolled with what, and who is compared with whom.

use crate::{DIM, EmbeddingSet, Row, ScoreMatrix};
use std::collections::HashMap;
use std::fmt;

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
    pub vector: Row,
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
    pub fn split(self, set: &EmbeddingSet) -> Result<Trials, ProtocolError> {
        let mut enrolment: Vec<(i64, Vec<&Row>)> = Vec::new();
        let mut position = HashMap::new();
        let mut probes = Vec::new();
        for (&person, row) in set.persons().iter().zip(set.rows()) {
            let at = *position.entry(person).or_insert_with(|| {
                enrolment.push((person, Vec::with_capacity(self.photos())));
                enrolment.len() - 1
            });
            let (_, photos) = &mut enrolment[at];
            if photos.len() < self.photos() {
                photos.push(row);
            } else {
                probes.push(Sample { person, vector: *row });
            }
        }
        let template = |(person, photos): (i64, Vec<&Row>)| {
            if photos.len() < self.photos() {
                return Err(ProtocolError::TooFewRows { person, found: photos.len(), protocol: self });
            }
            let vector = match self {
                Self::Enrol1 => Some(*photos[0]),
                Self::Enrol3 => mean_direction(&photos),
            };
            vector.map(|vector| Sample { person, vector }).ok_or(ProtocolError::ZeroLength { person })
        };
        let templates = enrolment.into_iter().map(template).collect::<Result<_, _>>()?;
        Ok(Trials { templates, probes })
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
        quantise: impl Fn(&Row) -> Result<Q, E>,
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

/// The unit vector along the mean of the directions of `rows`; `None` if one of them has none.
/// Computed in double precision.
fn mean_direction(rows: &[&Row]) -> Option<Row> {
    let mut sum = [0.0; DIM];
    for row in rows {
        let unit = unit(&row.map(f64::from))?;
        for (sum, u) in sum.iter_mut().zip(unit) {
            *sum += u;
        }
    }
    Some(unit(&sum)?.map(|v| v as f32))
}

fn unit(vector: &[f64; DIM]) -> Option<[f64; DIM]> {
    let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
    (length > 0.0).then(|| vector.map(|v| v / length))
}
