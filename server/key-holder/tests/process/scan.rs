//! Looks for scores in bytes and in the memory of a process.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

pub(crate) use trefoil_testing::{Patterns, search};

/// How a number may lie in memory.
type Form = (&'static str, fn(i32) -> Vec<u8>);

fn residue(score: i32) -> u64 {
    i64::from(score).rem_euclid(65_537) as u64
}

/// Integers of either sign and byte order, residues modulo t, floating point.
const FORMS: [Form; 9] = [
    ("i16", |score| (score as i16).to_le_bytes().to_vec()),
    ("i32", |score| score.to_le_bytes().to_vec()),
    ("i32 big-endian", |score| score.to_be_bytes().to_vec()),
    ("i64", |score| i64::from(score).to_le_bytes().to_vec()),
    ("i64 big-endian", |score| i64::from(score).to_be_bytes().to_vec()),
    ("u32 modulo t", |score| (residue(score) as u32).to_le_bytes().to_vec()),
    ("u64 modulo t", |score| residue(score).to_le_bytes().to_vec()),
    ("f32", |score| (score as f32).to_le_bytes().to_vec()),
    ("f64", |score| f64::from(score).to_le_bytes().to_vec()),
];

/// How an unsplit face may lie in memory: floating point, as sent in JSON, quantised.
pub(crate) fn face_patterns<'a>(faces: impl IntoIterator<Item = &'a [f32; 128]>) -> Patterns {
    let mut patterns = Patterns::new();
    let mut add = |bytes: Vec<u8>, name: String| {
        patterns.entry(bytes[..8].try_into().unwrap()).or_default().push((bytes, name));
    };
    for (index, face) in faces.into_iter().enumerate() {
        let quantised = trefoil_matching::Embedding::quantise(face).unwrap();
        let length = face.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        // Any copy of a face has these neighbours, wherever it begins. A row starts at the largest of eight, so that the
        // zeros that memory is full of are no candidates.
        for group in (0..128).step_by(16) {
            let size = |k: &usize| quantised.values()[*k].unsigned_abs();
            let first = (group..group + 8).max_by_key(size).unwrap();
            let name = |form: &str| format!("{form}, face {index} from {first}");
            let floats = &face[first..group + 16];
            add(floats.iter().flat_map(|x| x.to_le_bytes()).collect(), name("f32"));
            add(floats.iter().flat_map(|x| f64::from(*x).to_le_bytes()).collect(), name("f64"));
            let unit = floats.iter().map(|x| f64::from(*x) / length);
            add(unit.clone().flat_map(|x| x.to_le_bytes()).collect(), name("f64 of length 1"));
            add(unit.flat_map(|x| (x as f32).to_le_bytes()).collect(), name("f32 of length 1"));
            let integers = &quantised.values()[first..group + 16];
            add(integers.iter().map(|x| *x as u8).collect(), name("i8"));
            for (form, bytes) in FORMS {
                let integers = integers.iter().flat_map(|x| bytes(i32::from(*x)));
                add(integers.collect(), name(form));
            }
        }
        let share = trefoil_matching::Share::of(&quantised).to_bytes();
        share.chunks(17).for_each(|chunk| add(chunk.to_vec(), format!("residues of 17 bits, face {index}")));
    }
    patterns
}

/// The patterns of rows of scores. A row needs at least five that are not zero, so that none is found by chance.
pub(crate) fn patterns<'a>(rows: impl Iterator<Item = &'a [i32]> + Clone) -> Patterns {
    let mut patterns = Patterns::new();
    for (name, form) in FORMS {
        for (row, run) in rows.clone().enumerate() {
            let bytes: Vec<u8> = run.iter().flat_map(|score| form(*score)).collect();
            let first = bytes[..8].try_into().unwrap();
            patterns.entry(first).or_default().push((bytes, format!("{name}, row {row}")));
        }
    }
    patterns
}

/// All memory that the process can write, region by region: what a core image holds.
pub(crate) fn memory(pid: u32) -> Vec<Vec<u8>> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let memory = File::open(format!("/proc/{pid}/mem")).unwrap();
    let regions =
        maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|mode| mode.starts_with("rw")));
    regions
        .map(|line| {
            let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let [from, to] = [from, to].map(|text| u64::from_str_radix(text, 16).unwrap());
            let mut bytes = vec![0; (to - from) as usize];
            let mut read = 0;
            // Pages that were never touched and guard pages end a region early.
            while let Ok(more @ 1..) = memory.read_at(&mut bytes[read..], from + read as u64) {
                read += more;
            }
            bytes.truncate(read);
            bytes
        })
        .collect()
}
