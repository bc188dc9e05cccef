//! Encrypted scores, in both key structures and probe modes.

mod modes;
mod scores;

use trefoil_bfv::{Drbg, Embedding, LANES};

fn random_faces(rng: &mut Drbg, n: usize) -> Vec<Embedding> {
    (0..n).map(|_| random_face(rng)).collect()
}

fn random_face(rng: &mut Drbg) -> Embedding {
    let mut bytes = [0u8; 128];
    rng.fill(&mut bytes);
    Embedding::quantise(&bytes.map(|x| f32::from(x) - 127.5)).expect("not zero")
}

/// 123 coordinates just above 15.5 and 5 near 14.5: length 175, and nearly every coordinate rounds up by a half. With `sign` -1 its opposite.
fn longest(sign: f32) -> Embedding {
    let sign = |k: usize| if k.is_multiple_of(3) { -sign } else { sign };
    let vector: Vec<f32> = (0..128).map(|k| sign(k) * if k < 123 { 15.5001 } else { 14.5001 }).collect();
    Embedding::quantise(&vector).expect("finite")
}

/// The inner products, in the lanes of their order.
fn expected(faces: &[Embedding], probes: &[Embedding]) -> [i32; LANES] {
    let mut expected = [0; LANES];
    for (lane, (face, probe)) in faces.iter().zip(probes).enumerate() {
        expected[lane] = face.dot(probe);
    }
    expected
}
