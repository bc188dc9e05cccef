use std::sync::LazyLock;
use trefoil_types::TenantId;

use p3_field::PrimeCharacteristicRing;
use p3_matrix::dense::RowMajorMatrix;

use super::*;
use crate::{
    digest::Field,
    epoch::EPOCH_LIMIT,
    fixture::{AUDIENCE, rng, statement, witness},
    hash::{account, scope},
    parameters::{Challenge, Masks},
    prove::prove,
    secret::Secret,
    trace::Trace,
};

/// One honest proof per circuit.
pub(super) static PROVEN: LazyLock<[(Statement, Vec<u8>); 2]> = LazyLock::new(|| {
    Circuit::ALL.map(|circuit| {
        let witness = witness();
        let statement = statement(&witness, circuit);
        let proof = prove(&witness, &statement, &mut rng(21)).expect("valid witness");
        (statement, proof)
    })
});

/// A named change.
pub(super) type Change<T> = (&'static str, fn(&mut T));

/// Statements that an honest proof does not show.
const OTHER_STATEMENTS: [Change<Statement>; 17] = [
    ("tenant", |s| s.tenant = TenantId::new(s.tenant.to_bytes().map(|byte| byte ^ 1))),
    ("root", |s| s.root = s.account),
    ("root generation", |s| s.root_generation += 1),
    ("older epoch", |s| s.epoch -= 1),
    ("later epoch", |s| s.epoch += 1),
    ("weaker level", |s| s.level -= 1),
    ("stronger level", |s| s.level += 1),
    ("scope", |s| s.scope = s.account),
    ("account", |s| s.account = s.root),
    ("handle", |s| s.handle = s.account),
    ("account and handle swapped", |s| std::mem::swap(&mut s.account, &mut s.handle)),
    ("the holder's account with another audience", |s| {
        s.scope = scope(&s.tenant, "other.example");
        s.account = account(&witness().secret, &s.scope);
    }),
    ("that account under the own scope", |s| {
        s.account = account(&witness().secret, &scope(&s.tenant, "other.example"));
    }),
    ("the holder's account at another tenant", |s| {
        s.account = account(&witness().secret, &scope(&TenantId::new([9; 16]), AUDIENCE));
    }),
    ("the account of another member", |s| s.account = account(&Secret::random(&mut rng(40)), &s.scope)),
    ("context", |s| s.ctx[31] ^= 1),
    ("last bit of the context", |s| s.ctx[0] ^= 0x80),
];

/// Claim P7: A proof is valid only for its own statement.
#[test]
fn a_proof_is_refused_for_every_other_statement() {
    for (statement, proof) in PROVEN.iter() {
        assert!(verify(statement, proof).is_ok());
        for (name, change) in &OTHER_STATEMENTS {
            let mut other = statement.clone();
            change(&mut other);
            assert_eq!(verify(&other, proof), Err(ProofError::Rejected), "{name}");
        }
    }
}

#[test]
fn a_proof_is_refused_for_the_other_circuit() {
    for (statement, proof) in PROVEN.iter() {
        for circuit in Circuit::ALL.into_iter().filter(|circuit| *circuit != statement.circuit) {
            let other = Statement { circuit, ..statement.clone() };
            assert!(matches!(verify(&other, proof), Err(ProofError::Size { .. })));
            // Past the size window the parameters and the transcript disagree.
            let result = catch_unwind(|| argue(&other, &decode(proof).expect("canonical")));
            assert_eq!(result.expect("no panic"), Err(ProofError::Rejected));
        }
    }
}

#[test]
fn an_epoch_out_of_range_is_refused_before_the_proof_is_read() {
    let (statement, proof) = &PROVEN[0];
    let other = Statement { epoch: EPOCH_LIMIT, ..statement.clone() };
    assert_eq!(verify(&other, proof), Err(ProofError::Statement(StatementError::Epoch(EPOCH_LIMIT))));
}

/// Claim P8.
#[test]
fn a_truncated_or_padded_proof_is_refused() {
    let (statement, proof) = &PROVEN[0];
    let window = proof_size_window(Circuit::Cred2);
    for length in (*window.start()..proof.len()).step_by(211).chain(proof.len() - 40..proof.len()) {
        assert_eq!(verify(statement, &proof[..length]), Err(ProofError::Encoding), "{length} bytes");
    }
    for padding in [1, 4, 1000] {
        let padded = [proof.as_slice(), &vec![0; padding]].concat();
        assert_eq!(verify(statement, &padded), Err(ProofError::Encoding));
    }
}

#[test]
fn a_length_outside_the_window_is_refused_unread() {
    for (statement, _) in PROVEN.iter() {
        let window = proof_size_window(statement.circuit);
        for got in [0, 1, window.start() - 1, window.end() + 1] {
            assert!(matches!(verify(statement, &vec![0xff; got]), Err(ProofError::Size { .. })));
        }
        for got in [*window.start(), *window.end()] {
            assert_eq!(verify(statement, &vec![0xff; got]), Err(ProofError::Encoding));
        }
    }
}

#[test]
fn honest_proofs_lie_well_inside_the_window() {
    for (statement, proof) in PROVEN.iter() {
        let window = proof_size_window(statement.circuit);
        assert!(proof.len() > window.start() + 8192 && proof.len() + 8192 < *window.end(), "{}", proof.len());
    }
}

#[test]
fn an_encoding_is_checked_without_a_statement() {
    for (statement, proof) in PROVEN.iter() {
        let check = |bytes: &[u8]| check_encoding(statement.circuit, bytes);
        assert_eq!(check(proof), Ok(()));
        assert_eq!(check(&proof[..proof.len() - 1]), Err(ProofError::Encoding));
        assert_eq!(check(&[proof.as_slice(), &[0]].concat()), Err(ProofError::Encoding));
        let longest = *proof_size_window(statement.circuit).end();
        assert!(matches!(check(&vec![0; longest + 1]), Err(ProofError::Size { .. })));
    }
}

/// Shapes of the commitments and of the values at the out-of-domain point.
pub(super) const VALUE_SHAPES: [Change<Proof>; 12] = [
    ("local shorter", |p| p.opened_values.trace_local.truncate(55)),
    ("local longer", |p| p.opened_values.trace_local.push(Challenge::ONE)),
    ("local empty", |p| p.opened_values.trace_local.clear()),
    ("next absent", |p| p.opened_values.trace_next = None),
    ("quotient shorter", |p| p.opened_values.quotient_chunks.truncate(7)),
    ("quotient empty", |p| p.opened_values.quotient_chunks.clear()),
    ("quotient longer", |p| p.opened_values.quotient_chunks.push(vec![Challenge::ONE; 5])),
    ("mask value absent", |p| p.opened_values.random = None),
    ("mask commitment absent", |p| p.commitments.random = None),
    ("mask absent", |p| (p.commitments.random, p.opened_values.random) = (None, None)),
    ("commitments swapped", |p| {
        std::mem::swap(&mut p.commitments.trace, &mut p.commitments.quotient_chunks);
    }),
    ("unused grinding", |p| p.ood_pow_witness += Field::ONE),
];

/// Shapes of the opening argument. Past advisories against this and other provers turned on such.
pub(super) const ARGUMENT_SHAPES: [Change<Proof>; 17] = [
    ("random codewords empty", |p| p.opening_proof.0.clear()),
    ("random codeword shorter", |p| p.opening_proof.0[1][0][0].truncate(4)),
    ("fold commitments shorter", |p| p.opening_proof.1.commit_phase_commits.truncate(1)),
    ("fold commitments empty", |p| p.opening_proof.1.commit_phase_commits.clear()),
    ("final polynomial longer", |p| p.opening_proof.1.final_poly.push(Challenge::ZERO)),
    ("final polynomial shorter", |p| p.opening_proof.1.final_poly.truncate(7)),
    ("final polynomial long", |p| p.opening_proof.1.final_poly = vec![Challenge::ONE; 4096]),
    ("openings shorter", |p| p.opening_proof.1.input_openings.truncate(2)),
    ("openings empty", |p| p.opening_proof.1.input_openings.clear()),
    ("opened rows absent", |p| p.opening_proof.1.input_openings[1].opened_values.clear()),
    ("value moved into the salt", |p| {
        let opening = &mut p.opening_proof.1.input_openings[2];
        let value = opening.opened_values[0][0].pop().expect("a value");
        opening.opening_proof.0[0][0].insert(0, value);
    }),
    ("salts absent", |p| p.opening_proof.1.input_openings[1].opening_proof.0.clear()),
    ("batches swapped", |p| p.opening_proof.1.input_openings.swap(0, 1)),
    ("fold openings empty", |p| p.opening_proof.1.commit_phase_openings.clear()),
    ("query repeated", |p| {
        for opening in &mut p.opening_proof.1.input_openings {
            opening.opened_values[1] = opening.opened_values[0].clone();
            opening.opening_proof.0[1] = opening.opening_proof.0[0].clone();
        }
    }),
    ("query grinding", |p| p.opening_proof.1.query_pow_witness += Field::ONE),
    ("batch grinding", |p| p.opening_proof.1.batch_pow_witness += Field::ONE),
];

/// Claim P4: A proof with a trace length other than the circuit's is refused.
///
/// The trace repeated is a trace of every larger size: the last row's successor is the first. Bounds and masks are computed for
/// [`ROWS`] rows, so no other size is taken.
#[test]
fn an_honest_proof_of_more_rows_is_refused() {
    let witness = witness();
    let statement = statement(&witness, Circuit::Cred2);
    for repeats in [2, 4] {
        let trace = Trace::new(&witness, &statement, &mut rng(31)).into_matrix();
        let rows = RowMajorMatrix::new(trace.values.repeat(repeats), trace.width);
        let config = parameters::proving(&statement, Masks::from_rng(&mut rng(32)));
        let values = public_values(&statement);
        let proof =
            p3_uni_stark::prove(&config, parameters::circuit(), rows, &values).expect("masks suffice");
        assert_eq!(argue(&statement, &proof), Ok(()), "the circuit itself does not mind");
        let log_rows = MASKED_LOG_ROWS + repeats.ilog2() as usize;
        let proof = postcard::to_allocvec(&proof).expect("plain data");
        assert_eq!(verify(&statement, &proof), Err(ProofError::Rows { log_rows }));
        assert_eq!(check_encoding(Circuit::Cred2, &proof), Err(ProofError::Rows { log_rows }));
    }
}
