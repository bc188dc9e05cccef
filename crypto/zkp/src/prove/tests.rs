use super::*;
use crate::{
    fixture::{EPOCH, LEVEL, member, rng, statement, witness},
    statement::Circuit,
    verify::verify,
};

#[test]
fn an_honest_proof_verifies_in_both_circuits() {
    let witness = witness();
    for circuit in Circuit::ALL {
        let statement = statement(&witness, circuit);
        let proof = prove(&witness, &statement, &mut rng(1)).expect("valid witness");
        let verified = verify(&statement, &proof).expect("honest proof");
        assert_eq!(verified.statement(), &statement);
        assert_eq!(verified.statement_digest(), &statement.digest());
    }
}
