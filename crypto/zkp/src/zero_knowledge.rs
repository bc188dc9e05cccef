//! Does a proof contain the secret? The same search on a proof made without hiding shows that it would find it.

use p3_commit::ExtensionMmcs;
use p3_fri::TwoAdicFriPcs;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_sha256::Sha256Compress;
use p3_uni_stark::StarkConfig;

use crate::{
    digest::Field,
    fixture::{self, rng, witness},
    parameters::{Challenge, Challenger, Transform, challenger, circuit, fri, parameters},
    prove::prove,
    standard_hash::RowHash,
    statement::{Circuit, Statement},
    trace::{Trace, public_values},
    witness::Witness,
};

/// Occurrences in a proof of the whole secret and of any one of its limbs.
#[derive(Debug, PartialEq, Eq)]
struct Occurrences {
    whole: usize,
    limbs: usize,
}

#[test]
fn a_proof_does_not_contain_the_secret() {
    let witness = witness();
    for circuit in Circuit::ALL {
        let proof = prove(&witness, &fixture::statement(&witness, circuit), &mut rng(11)).expect("valid");
        assert_eq!(search(&witness, &proof), Occurrences { whole: 0, limbs: 0 });
    }
}

#[test]
fn without_hiding_every_query_would_give_the_secret_away() {
    let witness = witness();
    let statement = fixture::statement(&witness, Circuit::Cred2);
    let found = search(&witness, &plain_proof(&witness, &statement));
    assert!(found.whole >= 40, "55 queries, some of which may coincide: {found:?}");
    assert!(found.limbs >= 8 * found.whole);
}

#[test]
fn two_proofs_of_one_statement_have_nothing_in_common() {
    let witness = witness();
    let statement = fixture::statement(&witness, Circuit::Cred2);
    let proof = |seed| prove(&witness, &statement, &mut rng(seed)).expect("valid");
    let (one, two) = (proof(1), proof(2));
    let equal = one.iter().zip(&two).filter(|(a, b)| a == b).count();
    // Independent bytes agree once in 256, the top bytes of 31-bit limbs once in 127; lengths always.
    assert!(equal * 50 < one.len(), "{equal} of {} bytes agree", one.len());
}

fn search(witness: &Witness, proof: &[u8]) -> Occurrences {
    let canonical = witness.secret.to_bytes().to_vec();
    let as_serialised = postcard::to_allocvec(&witness.secret.limbs()).expect("plain data");
    let count = |needle: &[u8]| proof.windows(needle.len()).filter(|window| *window == needle).count();
    let forms = [canonical, as_serialised];
    Occurrences {
        whole: forms.iter().map(|form| count(form)).sum(),
        limbs: forms.iter().flat_map(|form| form.chunks(4)).map(count).sum(),
    }
}

/// The same circuit and queries over commitments that do not hide.
fn plain_proof(witness: &Witness, statement: &Statement) -> Vec<u8> {
    type Trees = MerkleTreeMmcs<Field, u8, RowHash, Sha256Compress, 2, 32>;
    type Folding = ExtensionMmcs<Field, Challenge, Trees>;
    type Plain = StarkConfig<TwoAdicFriPcs<Field, Transform, Trees, Folding>, Challenge, Challenger>;

    let parameters = parameters(statement.circuit);
    let trees = Trees::new(RowHash, Sha256Compress, parameters.cap_height);
    let folding = fri(&parameters, Folding::new(trees));
    let scheme = TwoAdicFriPcs::new(Transform::default(), trees, folding);
    let config = Plain::new(scheme, challenger(&parameters, statement));
    let trace = Trace::new(witness, statement, &mut rng(12)).into_matrix();
    let proof = p3_uni_stark::prove(&config, circuit(), trace, &public_values(statement)).expect("valid");
    postcard::to_allocvec(&proof).expect("plain data")
}
