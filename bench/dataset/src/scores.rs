//! Scores of all probes against all templates.

use sha2::{Digest, Sha256};

/// Integer scores, one row per probe and one column per template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreMatrix {
    probes: usize,
    templates: usize,
    scores: Vec<i32>,
}

/// A matrix was given the wrong number of scores.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{probes} probes x {templates} templates need one score each, found {found}")]
pub struct ShapeError {
    probes: usize,
    templates: usize,
    found: usize,
}

impl ScoreMatrix {
    /// Takes scores row by row: all templates of the first probe, then of the second.
    ///
    /// # Errors
    /// [`ShapeError`] unless there are `probes * templates` scores.
    pub fn new(probes: usize, templates: usize, scores: Vec<i32>) -> Result<Self, ShapeError> {
        if probes.checked_mul(templates) == Some(scores.len()) {
            Ok(Self { probes, templates, scores })
        } else {
            Err(ShapeError { probes, templates, found: scores.len() })
        }
    }

    /// Asks for the score of each (probe, template).
    pub fn from_fn(probes: usize, templates: usize, score: impl Fn(usize, usize) -> i32) -> Self {
        let pairs = (0..probes).flat_map(|p| (0..templates).map(move |t| (p, t)));
        Self { probes, templates, scores: pairs.map(|(p, t)| score(p, t)).collect() }
    }

    /// Number of probes.
    #[must_use]
    pub fn probes(&self) -> usize {
        self.probes
    }

    /// Number of templates.
    #[must_use]
    pub fn templates(&self) -> usize {
        self.templates
    }

    /// The scores of one probe, by template.
    ///
    /// # Panics
    /// If there is no such probe.
    #[must_use]
    pub fn row(&self, probe: usize) -> &[i32] {
        &self.scores[probe * self.templates..][..self.templates]
    }

    /// SHA-256 of the scores as little-endian 32-bit integers, row by row.
    #[must_use]
    pub fn sha256(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        for score in &self.scores {
            hasher.update(score.to_le_bytes());
        }
        hasher.finalize().into()
    }
}
