//! Faces: synthetic directions, or the photographs of a bundled set of embeddings.

use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use trefoil_dataset::{EmbeddingSet, Row};
use trefoil_matching::{DIM, Embedding};

use crate::Failure;

/// Where faces come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FaceSource {
    /// Independent directions, with noise for each capture
    Synthetic,
    /// The photographs of `bench/data/lfw_facenet128`
    Bundled,
}

impl FaceSource {
    /// The name in a record.
    pub(crate) fn name(self) -> &'static str {
        match self {
            FaceSource::Synthetic => "synthetic",
            FaceSource::Bundled => BUNDLED,
        }
    }
}

/// The faces of all people of a world.
pub(crate) enum Faces {
    /// One direction a person.
    Synthetic(Vec<Row>),
    /// The photographs of each face of the set. People beyond its size reuse the faces of earlier people.
    Bundled(Vec<Vec<Row>>),
}

/// The set, below `bench/data`.
const BUNDLED: &str = "lfw_facenet128";

const FACES_SEED: u64 = 2;

impl Faces {
    /// Faces for this many people.
    ///
    /// # Errors
    /// When the bundled set cannot be read.
    pub(crate) fn new(source: FaceSource, people: usize) -> Result<Self, Failure> {
        match source {
            FaceSource::Synthetic => {
                let mut rng = StdRng::seed_from_u64(FACES_SEED);
                Ok(Faces::Synthetic((0..people).map(|_| direction(&mut rng)).collect()))
            }
            FaceSource::Bundled => bundled(),
        }
    }

    /// The score from which a probe is accepted. Synthetic faces of two people stay within a cosine of 0.45, captures of one person
    /// above 0.8, and the threshold is 0.59. For the bundled set it is the one at which one stranger in a thousand is accepted.
    pub(crate) fn threshold(&self) -> i32 {
        match self {
            Faces::Synthetic(_) => 18_000,
            Faces::Bundled(_) => 16_046,
        }
    }

    /// The embedder's name, for the tenant's policy.
    pub(crate) fn embedder(&self) -> &'static str {
        match self {
            Faces::Synthetic(_) => "synthetic-128",
            Faces::Bundled(_) => "facenet-128",
        }
    }

    /// What `person` enrols with at their `generation`th enrolment, from 1.
    ///
    /// # Errors
    /// When the vector has no direction.
    pub(crate) fn enrolled(
        &self,
        person: usize,
        generation: usize,
        rng: &mut StdRng,
    ) -> Result<Embedding, Failure> {
        match self {
            Faces::Synthetic(_) => self.capture(person, rng),
            Faces::Bundled(faces) => {
                let photographs = &faces[person % faces.len()];
                quantised(&photographs[(generation - 1) % photographs.len()])
            }
        }
    }

    /// A new capture of `person`'s face.
    ///
    /// # Errors
    /// When the vector has no direction.
    pub(crate) fn capture(&self, person: usize, rng: &mut StdRng) -> Result<Embedding, Failure> {
        match self {
            Faces::Synthetic(faces) => {
                let noise = direction(rng);
                quantised(&std::array::from_fn(|i| faces[person][i] + noise[i] / 3.0))
            }
            Faces::Bundled(faces) => {
                let photographs = &faces[person % faces.len()];
                quantised(&photographs[rng.random_range(0..photographs.len())])
            }
        }
    }
}

fn quantised(row: &Row) -> Result<Embedding, Failure> {
    Embedding::quantise(row).map_err(Failure::in_step("face"))
}

/// A direction nearly uniform on the sphere: sums of 12 uniforms are close to normal.
fn direction(rng: &mut StdRng) -> [f32; DIM] {
    std::array::from_fn(|_| (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0)
}

fn bundled() -> Result<Faces, Failure> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(BUNDLED);
    let set = EmbeddingSet::load(&folder.join("x.npy"), &folder.join("y.npy"))
        .map_err(Failure::in_step("bundled faces"))?;
    let mut faces: Vec<(i64, Vec<Row>)> = Vec::new();
    for (&person, row) in set.persons().iter().zip(set.rows()) {
        match faces.iter_mut().find(|(known, _)| *known == person) {
            Some((_, rows)) => rows.push(*row),
            None => faces.push((person, vec![*row])),
        }
    }
    Ok(Faces::Bundled(faces.into_iter().map(|(_, rows)| rows).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_of_one_person_are_nearer_than_those_of_two() {
        let mut rng = StdRng::seed_from_u64(1);
        for source in [FaceSource::Synthetic, FaceSource::Bundled] {
            let faces = Faces::new(source, 64).expect("faces");
            let (mut own, mut other) = (0, 0);
            for person in 0..64 {
                let enrolled = faces.enrolled(person, 1, &mut rng).expect("template");
                own += u32::from(
                    enrolled.dot(&faces.capture(person, &mut rng).expect("probe")) >= faces.threshold(),
                );
                let stranger = faces.capture((person + 1) % 64, &mut rng).expect("probe");
                other += u32::from(enrolled.dot(&stranger) >= faces.threshold());
            }
            assert!(own > 48 && other < 4, "{source:?}: {own} own, {other} strangers");
        }
    }

    #[test]
    fn people_beyond_the_set_look_like_one_before_them() {
        let Faces::Bundled(faces) = Faces::new(FaceSource::Bundled, 1).expect("faces") else {
            unreachable!("asked for the bundled set")
        };
        assert!(faces.len() > 300 && faces.iter().all(|photographs| photographs.len() > 1));
        let count = faces.len();
        let faces = Faces::Bundled(faces);
        let mut rng = StdRng::seed_from_u64(1);
        let [near, far] = [3, 3 + count].map(|person| faces.enrolled(person, 1, &mut rng).expect("template"));
        assert_eq!(near.dot(&near), near.dot(&far));
    }
}
