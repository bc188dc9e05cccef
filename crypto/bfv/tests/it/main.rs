//! Encrypted scores, in both key structures and probe modes, for all widths.

mod modes;
mod scores;

use trefoil_bfv::{Drbg, Embedding, LANES, Width};

/// Lanes of batches that are not full: of one ciphertext; of two ciphertexts of 256 numbers, or of two of 512 that are not neighbours; of
/// the last one. Then full ones.
fn batches() -> Vec<Vec<usize>> {
    vec![vec![0], vec![31], vec![2, 5], vec![3, 1, 20, 17], (1..32).collect(), (0..32).rev().collect()]
}

fn random_faces(width: Width, rng: &mut Drbg, n: usize) -> Vec<Embedding> {
    (0..n).map(|_| random_face(width, rng)).collect()
}

fn random_face(width: Width, rng: &mut Drbg) -> Embedding {
    let mut bytes = vec![0u8; width.numbers()];
    rng.fill(&mut bytes);
    let vector: Vec<f32> = bytes.iter().map(|x| f32::from(*x) - 127.5).collect();
    Embedding::quantise(&vector).expect("not zero")
}

/// Nearly every coordinate rounds up by a half: some `low + 1/2` and, to reach the length of the scale, as many as fit `low + 3/2`. With
/// `sign` -1 its opposite.
fn longest(width: Width, sign: f32) -> Embedding {
    let (numbers, scale) = (width.numbers() as f32, width.scale() as f32);
    let low = (scale / numbers.sqrt() - 0.5).floor() + 0.5;
    let high = ((scale * scale - numbers * low * low) / (2.0 * low + 1.0)).floor() as usize;
    let sign = |k: usize| if k.is_multiple_of(3) { -sign } else { sign };
    let size = |k: usize| if k < high { low + 1.0001 } else { low + 0.0001 };
    let vector: Vec<f32> = (0..width.numbers()).map(|k| sign(k) * size(k)).collect();
    Embedding::quantise(&vector).expect("finite")
}

/// The inner products, in these lanes.
fn expected(lanes: &[usize], faces: &[Embedding], probes: &[Embedding]) -> [i32; LANES] {
    let mut expected = [0; LANES];
    for (lane, (face, probe)) in lanes.iter().zip(faces.iter().zip(probes)) {
        expected[*lane] = face.dot(probe);
    }
    expected
}
