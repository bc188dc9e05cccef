//! Mutated honest proofs: changed in bytes, in structure, and in what they are checked against. None is
//! accepted and none makes the verifier panic.

use p3_field::PrimeCharacteristicRing;
use rand::{RngExt, rngs::StdRng};
use trefoil_testing::volume;

use super::{tests::*, *};
use crate::{
    digest::Field,
    fixture::rng,
    parameters::{Challenge, Masks, Parameters, config, parameters},
};

/// Promised numbers of mutants; with fewer the test fails. For bytes the number at full volume, and the least at any volume.
const BYTE_MUTANTS: usize = 20_000;
const BYTE_MUTANTS_MIN: usize = 1_000;
const STRUCTURAL_MUTANTS: usize = 48;

/// One change of one to 64 bytes, or of the length by as many.
fn mutated(proof: &[u8], rng: &mut StdRng, round: usize) -> Vec<u8> {
    let mut mutant = proof.to_vec();
    // A third hits the head, where commitments, out-of-domain values and lengths are; a third the final
    // polynomial, grinding and folding at the end; a third the openings between.
    let at = match round % 3 {
        0 => rng.random_range(0..6144),
        1 => rng.random_range(0..proof.len()),
        _ => proof.len() - 1 - rng.random_range(0..32_768),
    };
    let run = rng.random_range(1..=64).min(proof.len() - at);
    match round % 8 {
        0 => mutant[at] ^= 1 << rng.random_range(0..8),
        1 => mutant[at] = mutant[at].wrapping_add(rng.random_range(1..=255)),
        2 => mutant[at] = !mutant[at],
        3 => mutant[at..at + run].fill(0),
        4 => mutant[at..at + run].fill(0xff),
        5 => {
            let from = rng.random_range(0..proof.len() - run);
            mutant[at..at + run].copy_from_slice(&proof[from..from + run]);
        }
        6 => drop(mutant.drain(at..at + run)),
        _ => drop(mutant.splice(at..at, proof[at..at + run].iter().copied())),
    }
    mutant
}

/// Claim P8: 20,000 changed encodings (`cargo xtask soak`; 1,000 at every push), at least 48 structural changes, and truncated proofs are
/// refused without a panic.
#[test]
fn changed_encodings_are_refused() {
    let promised = volume(BYTE_MUTANTS, BYTE_MUTANTS_MIN);
    let rng = &mut rng(22);
    let (mut made, mut decoded) = (0, 0);
    for (index, (statement, proof)) in PROVEN.iter().enumerate() {
        // The larger circuit has the same code and takes twice as long.
        let share = [promised - promised / 10, promised / 10][index];
        let mut round = 0;
        for _ in 0..share {
            let mutant = loop {
                round += 1;
                let mutant = mutated(proof, rng, round);
                if mutant != *proof {
                    break mutant;
                }
            };
            made += 1;
            match verify(statement, &mutant) {
                Err(ProofError::Rejected) => decoded += 1,
                Err(ProofError::Encoding | ProofError::Rows { .. }) => {}
                other => panic!("round {round} of {}: {other:?}", statement.circuit.name()),
            }
        }
    }
    println!("{made} mutants, {} refused while decoding, {decoded} by the argument", made - decoded);
    assert!(made >= promised);
    assert!(decoded > made / 4 && decoded < made, "{decoded} reached the argument");
}

/// More than one honest proof, for parts that are exchanged.
type Exchange = (&'static str, fn(&mut Proof, &Proof));

/// Parts of the same proof in the wrong place, lengths that disagree, values that are out of place.
const MOVED_PARTS: [Change<Proof>; 22] = [
    ("trace values swapped with the next row's", |p| {
        let next = p.opened_values.trace_next.as_mut().expect("has transitions");
        std::mem::swap(&mut p.opened_values.trace_local, next);
    }),
    ("quotient chunks rotated", |p| p.opened_values.quotient_chunks.rotate_left(1)),
    ("quotient chunk shorter", |p| p.opened_values.quotient_chunks[3].truncate(4)),
    ("mask values longer", |p| {
        p.opened_values.random.as_mut().expect("hiding").push(Challenge::ZERO);
    }),
    ("trace commitment in the mask's place", |p| {
        p.commitments.random = Some(p.commitments.trace.clone());
    }),
    ("quotient commitment in the trace's place", |p| {
        p.commitments.trace = p.commitments.quotient_chunks.clone();
    }),
    ("random codewords of two rounds swapped", |p| p.opening_proof.0.swap(0, 1)),
    ("random codeword changed", |p| p.opening_proof.0[1][0][0][0] += Challenge::ONE),
    ("fold commitments swapped", |p| p.opening_proof.1.commit_phase_commits.swap(0, 1)),
    ("fold commitment doubled", |p| {
        let first = p.opening_proof.1.commit_phase_commits[0].clone();
        p.opening_proof.1.commit_phase_commits.push(first);
    }),
    ("fold openings swapped", |p| p.opening_proof.1.commit_phase_openings.swap(0, 1)),
    ("fold siblings shorter", |p| {
        p.opening_proof.1.commit_phase_openings[0].sibling_values[0].truncate(6);
    }),
    ("fold siblings of two queries swapped", |p| {
        p.opening_proof.1.commit_phase_openings[0].sibling_values.swap(0, 1);
    }),
    ("a query dropped from every opening", |p| {
        for opening in &mut p.opening_proof.1.input_openings {
            opening.opened_values.pop();
            opening.opening_proof.0.pop();
        }
        for step in &mut p.opening_proof.1.commit_phase_openings {
            step.sibling_values.pop();
            step.opening_proof.0.pop();
        }
    }),
    ("a query doubled at the end", |p| {
        for opening in &mut p.opening_proof.1.input_openings {
            opening.opened_values.push(opening.opened_values[0].clone());
            opening.opening_proof.0.push(opening.opening_proof.0[0].clone());
        }
    }),
    ("two queries swapped in one batch", |p| {
        let opening = &mut p.opening_proof.1.input_openings[1];
        opening.opened_values.swap(0, 1);
        opening.opening_proof.0.swap(0, 1);
    }),
    ("path nodes swapped", |p| {
        p.opening_proof.1.input_openings[1].opening_proof.1.sibling_hashes.swap(0, 1);
    }),
    ("path shorter", |p| {
        p.opening_proof.1.input_openings[1].opening_proof.1.sibling_hashes.truncate(3);
    }),
    ("path longer", |p| {
        p.opening_proof.1.input_openings[1].opening_proof.1.sibling_hashes.push([0; 32]);
    }),
    ("fold path empty", |p| {
        p.opening_proof.1.commit_phase_openings[0].opening_proof.1.sibling_hashes.clear();
    }),
    ("salt changed", |p| p.opening_proof.1.input_openings[1].opening_proof.0[0][0][0] += Field::ONE),
    ("final polynomial reversed", |p| p.opening_proof.1.final_poly.reverse()),
];

/// Witnesses of grinding, and values replaced by a lazy forger's choice.
const CHOSEN_VALUES: [Change<Proof>; 13] = [
    ("query grinding zeroed", |p| p.opening_proof.1.query_pow_witness = Field::ZERO),
    ("batch grinding zeroed", |p| p.opening_proof.1.batch_pow_witness = Field::ZERO),
    ("grinding witnesses swapped", |p| {
        let fri = &mut p.opening_proof.1;
        std::mem::swap(&mut fri.query_pow_witness, &mut fri.batch_pow_witness);
    }),
    ("fold grinding longer", |p| p.opening_proof.1.commit_pow_witnesses.push(Field::ZERO)),
    ("fold grinding shorter", |p| p.opening_proof.1.commit_pow_witnesses.truncate(1)),
    ("fold grinding absent", |p| p.opening_proof.1.commit_pow_witnesses.clear()),
    ("fold grinding swapped", |p| p.opening_proof.1.commit_pow_witnesses.reverse()),
    ("fold grinding changed", |p| p.opening_proof.1.commit_pow_witnesses[0] += Field::ONE),
    ("final polynomial zero", |p| p.opening_proof.1.final_poly.fill(Challenge::ZERO)),
    ("trace values zero", |p| p.opened_values.trace_local.fill(Challenge::ZERO)),
    ("quotient zero", |p| {
        for chunk in &mut p.opened_values.quotient_chunks {
            chunk.fill(Challenge::ZERO);
        }
    }),
    ("mask values zero", |p| {
        p.opened_values.random.as_mut().expect("hiding").fill(Challenge::ZERO);
    }),
    ("opened rows zero", |p| {
        for row in p.opening_proof.1.input_openings[1].opened_values.iter_mut().flatten() {
            row.fill(Field::ZERO);
        }
    }),
];

/// Parts of another honest proof of the same statement.
const FOREIGN_PARTS: [Exchange; 9] = [
    ("trace commitment", |p, o| p.commitments.trace = o.commitments.trace.clone()),
    ("quotient commitment", |p, o| p.commitments.quotient_chunks = o.commitments.quotient_chunks.clone()),
    ("mask commitment", |p, o| p.commitments.random = o.commitments.random.clone()),
    ("all commitments", |p, o| {
        p.commitments.trace = o.commitments.trace.clone();
        p.commitments.quotient_chunks = o.commitments.quotient_chunks.clone();
        p.commitments.random = o.commitments.random.clone();
    }),
    ("trace values", |p, o| p.opened_values.trace_local = o.opened_values.trace_local.clone()),
    ("random codewords", |p, o| p.opening_proof.0 = o.opening_proof.0.clone()),
    ("whole folding argument", |p, o| p.opening_proof.1 = o.opening_proof.1.clone()),
    ("final polynomial", |p, o| p.opening_proof.1.final_poly = o.opening_proof.1.final_poly.clone()),
    ("one batch's openings", |p, o| {
        p.opening_proof.1.input_openings[1] = o.opening_proof.1.input_openings[1].clone();
    }),
];

/// Degrees that were not proven. 9 is the honest one: 256 rows, doubled by their masks.
const DEGREES: [usize; 12] = [0, 1, 8, 10, 20, 24, 31, 40, 63, 64, 1000, usize::MAX];

/// Claim P8.
#[test]
fn every_structural_change_is_refused() {
    let (statement, bytes) = &PROVEN[0];
    let other = crate::prove(&crate::fixture::witness(), statement, &mut rng(23)).expect("valid witness");
    let (honest, other) = (|| decode(bytes).expect("canonical"), decode(&other).expect("canonical"));
    assert!(!DEGREES.contains(&honest().degree_bits));
    let changes = VALUE_SHAPES.iter().chain(&ARGUMENT_SHAPES).chain(&MOVED_PARTS).chain(&CHOSEN_VALUES);
    let mut mutants: Vec<(String, Proof)> = changes
        .map(|(name, change)| {
            let mut mutant = honest();
            change(&mut mutant);
            ((*name).to_owned(), mutant)
        })
        .collect();
    mutants.extend(FOREIGN_PARTS.iter().map(|(name, exchange)| {
        let mut mutant = honest();
        exchange(&mut mutant, &other);
        (format!("{name} of another proof"), mutant)
    }));
    let named = mutants.len();
    mutants.extend(
        DEGREES.map(|degree_bits| (format!("{degree_bits} degree bits"), Proof { degree_bits, ..honest() })),
    );
    for (name, mutant) in &mutants {
        let encoded = postcard::to_allocvec(mutant).expect("encodes");
        assert_ne!(&encoded, bytes, "{name} changes nothing");
        let result = catch_unwind(std::panic::AssertUnwindSafe(|| argue(statement, mutant)));
        assert!(matches!(result, Ok(Err(ProofError::Rejected))), "{name}: {result:?}");
        assert!(verify(statement, &encoded).is_err(), "{name}, from bytes");
    }
    assert!(named >= STRUCTURAL_MUTANTS, "{named} structural mutants");
}

/// Another encoding of the same proof is refused, so that a proof has one digest.
#[test]
fn other_encodings_of_an_honest_proof_are_refused() {
    let (statement, proof) = &PROVEN[0];
    // Lengths below 128 take one byte; every one of these is the length of a vector or an option's mark.
    let mut padded = 0;
    for at in 0..200 {
        let mut mutant = proof.clone();
        mutant.splice(at..=at, [proof[at] | 0x80, 0]);
        let reads_alike = postcard::take_from_bytes::<Proof>(&mutant)
            .is_ok_and(|(read, _)| postcard::to_allocvec(&read).is_ok_and(|bytes| bytes == *proof));
        padded += usize::from(reads_alike);
        assert!(verify(statement, &mutant).is_err(), "byte {at}");
    }
    assert!(padded >= 2, "postcard itself reads {padded} padded integers");
    for at in (proof.len() - 4000..proof.len()).step_by(4) {
        let limb = u32::from_le_bytes(std::array::from_fn(|i| proof[at + i]));
        if let Some(above) = limb.checked_add(0x7f00_0001) {
            let mut mutant = proof.clone();
            mutant[at..at + 4].copy_from_slice(&above.to_le_bytes());
            assert!(verify(statement, &mutant).is_err(), "limb at {at}");
        }
    }
}

/// A verifier with other parameters refuses, even with weaker ones: they are in the transcript.
#[test]
fn downgraded_parameters_are_refused() {
    for (statement, proof) in PROVEN.iter() {
        let shipped = parameters(statement.circuit);
        let others = [
            Parameters { queries: shipped.queries - 1, ..shipped },
            Parameters { queries: 1, ..shipped },
            Parameters { queries: 55 + 114 - shipped.queries, ..shipped },
            Parameters { query_grinding: shipped.query_grinding - 1, ..shipped },
            Parameters { query_grinding: 0, ..shipped },
            Parameters { batch_grinding: 0, ..shipped },
            Parameters { commit_grinding: 0, ..shipped },
            Parameters { commit_grinding: shipped.commit_grinding - 1, ..shipped },
            Parameters { log_blowup: shipped.log_blowup - 1, ..shipped },
            Parameters { log_blowup: shipped.log_blowup + 1, ..shipped },
            Parameters { log_final_length: shipped.log_final_length - 1, ..shipped },
            Parameters { log_arity_max: 2, ..shipped },
        ];
        let (proof, values) = (decode(proof).expect("canonical"), public_values(statement));
        for other in others {
            let config = config(&other, statement, Masks::from_rng(&mut rng(1)));
            assert!(
                p3_uni_stark::verify(&config, parameters::circuit(), &proof, &values).is_err(),
                "{other:?}"
            );
        }
    }
}
