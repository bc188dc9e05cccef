//! Faces: the photographs of a bundled set of embeddings.

use std::path::Path;

use rand::RngExt as _;
use rand::rngs::StdRng;
use trefoil_dataset::Photographs;
use trefoil_matching::Embedding;

use crate::Failure;

/// The photographs of each face of the set. People beyond its size reuse the faces of earlier people.
pub(crate) struct Faces(Vec<Vec<Vec<f32>>>);

/// The set, below `bench/data`.
pub(crate) const SET: &str = "lfw_facenet128";
/// What made its embeddings, for the tenant's policy.
pub(crate) const EMBEDDER: &str = "facenet-128";
/// The score from which a probe is accepted: one stranger in a thousand is.
pub(crate) const THRESHOLD: i32 = 16_046;

impl Faces {
    /// Reads the set.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn read() -> Result<Self, Failure> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(SET);
        let set = Photographs::load(&folder.join("x.npy"), &folder.join("y.npy"))
            .map_err(Failure::in_step("bundled faces"))?;
        let mut faces: Vec<(i64, Vec<Vec<f32>>)> = Vec::new();
        for (row, &person) in set.persons().iter().enumerate() {
            let row = set.row(row).to_vec();
            match faces.iter_mut().find(|(known, _)| *known == person) {
                Some((_, rows)) => rows.push(row),
                None => faces.push((person, vec![row])),
            }
        }
        Ok(Faces(faces.into_iter().map(|(_, rows)| rows).collect()))
    }

    fn of(&self, person: usize) -> &[Vec<f32>] {
        &self.0[person % self.0.len()]
    }

    /// What `person` enrols with at their `generation`th enrolment, from 1.
    ///
    /// # Errors
    /// When the vector has no direction.
    pub(crate) fn enrolled(&self, person: usize, generation: usize) -> Result<Embedding, Failure> {
        let photographs = self.of(person);
        quantised(&photographs[(generation - 1) % photographs.len()])
    }

    /// A new capture of `person`'s face.
    ///
    /// # Errors
    /// When the vector has no direction.
    pub(crate) fn capture(&self, person: usize, rng: &mut StdRng) -> Result<Embedding, Failure> {
        let photographs = self.of(person);
        quantised(&photographs[rng.random_range(0..photographs.len())])
    }
}

fn quantised(row: &[f32]) -> Result<Embedding, Failure> {
    Embedding::quantise(row).map_err(Failure::in_step("face"))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    #[test]
    fn captures_of_one_person_are_nearer_than_those_of_two() {
        let (faces, mut rng) = (Faces::read().expect("faces"), StdRng::seed_from_u64(1));
        let (mut own, mut other) = (0, 0);
        for person in 0..64 {
            let enrolled = faces.enrolled(person, 1).expect("template");
            let mut capture = |person| faces.capture(person, &mut rng).expect("probe");
            own += u32::from(enrolled.dot(&capture(person)) >= THRESHOLD);
            other += u32::from(enrolled.dot(&capture((person + 1) % 64)) >= THRESHOLD);
        }
        assert!(own > 48 && other < 4, "{own} own, {other} strangers");
    }

    #[test]
    fn people_beyond_the_set_look_like_one_before_them() {
        let faces = Faces::read().expect("faces");
        assert!(faces.0.len() > 300 && faces.0.iter().all(|photographs| photographs.len() > 1));
        let [near, far] = [3, 3 + faces.0.len()].map(|person| faces.enrolled(person, 1).expect("template"));
        assert_eq!(near.dot(&near), near.dot(&far));
    }
}
