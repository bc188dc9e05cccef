//! The model that makes a template's vectors.

use crate::hash::hash;
use serde::{Deserialize, Serialize};
use std::fmt;
use trefoil_types::Width;

/// A model, and the room that its vectors take: the start of a digest of its name and dimension, and the width in units of 128 numbers. Vectors of
/// two models have nothing to do with each other, so a batch has one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "[u8; 9]", into = "[u8; 9]")]
pub struct Model([u8; Model::BYTES]);

impl Model {
    /// Length of the encoding.
    pub const BYTES: usize = 8 + 1;

    /// The model of this name, whose vectors have this many numbers; none for fewer than 2 and more than 512.
    pub fn of(name: &str, numbers: usize) -> Option<Model> {
        let width = Width::of(numbers)?;
        let digest = hash(&[b"trefoil/model/1", &(numbers as u32).to_le_bytes(), name.as_bytes()]);
        let mut bytes = [units(width); Model::BYTES];
        bytes[..8].copy_from_slice(&digest[..8]);
        Some(Model(bytes))
    }

    /// The room for a vector.
    ///
    /// # Panics
    /// Never: only models with a width are made.
    pub fn width(&self) -> Width {
        let [.., last] = self.0;
        Width::ALL.into_iter().find(|width| units(*width) == last).expect("a width")
    }

    /// The canonical encoding.
    pub fn as_bytes(&self) -> &[u8; Model::BYTES] {
        &self.0
    }

    /// Reads the canonical encoding and nothing else.
    pub const fn from_bytes(bytes: [u8; Model::BYTES]) -> Option<Model> {
        match bytes {
            [.., 1 | 2 | 4] => Some(Model(bytes)),
            _ => None,
        }
    }
}

fn units(width: Width) -> u8 {
    (width.numbers() / Width::W128.numbers()) as u8
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Model({:02x}{:02x}.. of {})", self.0[0], self.0[1], self.width().numbers())
    }
}

impl From<Model> for [u8; Model::BYTES] {
    fn from(model: Model) -> Self {
        model.0
    }
}

impl TryFrom<[u8; Model::BYTES]> for Model {
    type Error = &'static str;

    fn try_from(bytes: [u8; Model::BYTES]) -> Result<Model, Self::Error> {
        Model::from_bytes(bytes).ok_or("no model has such a width")
    }
}
