//! How many bits of soundness a parameter set has, and the refusal to run with fewer than promised.

use p3_air::symbolic::AirLayout;
use p3_field::{PrimeCharacteristicRing, PrimeField32, coset::TwoAdicMultiplicativeCoset};
use p3_uni_stark::{ConjecturedSecurity, OpeningShape, ProvenSecurity, StarkSecurityParams};

use crate::{
    digest::Field,
    layout::ROWS,
    parameters::{Challenge, Parameters, RANDOM_CODEWORDS, circuit, fri, parameters},
    statement::Circuit,
};

/// Bits of soundness of one circuit, from `p3-security`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecurityReport {
    /// Proven, list decoding up to the Johnson radius: the figure to steer by.
    pub proven_list_decoding: u32,
    /// Proven, unique decoding: older, uncontested mathematics.
    pub proven_unique_decoding: u32,
    /// Conjectured (random words).
    pub conjectured: u32,
}

/// The compiled parameters fall short of the promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{circuit} has {got} proven bits, {required} required: refuse to serve and rebuild")]
pub struct ParameterError {
    /// The circuit's name.
    pub circuit: &'static str,
    /// Bits found.
    pub got: u32,
    /// Bits promised.
    pub required: u32,
}

/// Bits of soundness of `circuit`, computed by `p3-security` from the circuit and its parameters.
///
/// Takes some milliseconds: it walks the whole circuit symbolically.
pub fn security_report(circuit: Circuit) -> SecurityReport {
    report(&parameters(circuit))
}

/// Refuses parameters below their promise. To be called once before the first verification.
pub fn check_parameters() -> Result<(), ParameterError> {
    check(Circuit::ALL.map(parameters))
}

fn check([one, one_u]: [Parameters; 2]) -> Result<(), ParameterError> {
    let (one, one_u) = (report(&one), report(&one_u));
    require(Circuit::Cred1, one.proven_list_decoding, CRED1_LIST_DECODING_BITS)?;
    require(Circuit::Cred1u, one_u.proven_unique_decoding, CRED1U_UNIQUE_DECODING_BITS)
}

/// Proven bits (list decoding) that `cred/1` must have.
const CRED1_LIST_DECODING_BITS: u32 = 120;
/// Proven bits (unique decoding) that `cred/1u` must have: what the masking budget of 256 rows leaves room for.
const CRED1U_UNIQUE_DECODING_BITS: u32 = 118;

/// Collision resistance of SHA-256 in the trees and SHA3-256 in the transcript, in bits.
const COLLISION_RESISTANCE_BITS: usize = 128;
/// Points per column that the constraints mention: this row and the next.
const POINTS_PER_COLUMN: usize = 2;

fn require(circuit: Circuit, got: u32, required: u32) -> Result<(), ParameterError> {
    if got >= required { Ok(()) } else { Err(ParameterError { circuit: circuit.name(), got, required }) }
}

fn report(parameters: &Parameters) -> SecurityReport {
    let fri = fri(parameters, ());
    let air = circuit().circuit();
    let log_rows = ROWS.ilog2() as usize;
    let rows = TwoAdicMultiplicativeCoset::new(Field::ONE, log_rows).expect("2^8 divides p - 1");
    // The extension has p^5 elements; its bit length, rounded down, is what the reports are computed from.
    let challenge_bits = 5.0 * f64::from(Field::ORDER_U32).log2();
    let params = StarkSecurityParams::from_air::<Field, Challenge, _>(
        fri.security_regime(),
        air,
        AirLayout::from_air::<Field>(air),
        rows,
        challenge_bits as usize,
        COLLISION_RESISTANCE_BITS,
        POINTS_PER_COLUMN,
        OpeningShape::hiding(RANDOM_CODEWORDS),
        fri.grinding_sites(),
    );
    // Hiding doubles the committed length.
    let proven = ProvenSecurity::compute_from_proof(log_rows + 1, &params);
    let conjectured = ConjecturedSecurity::compute_from_params(&params, log_rows + 1);
    SecurityReport {
        proven_list_decoding: proven.list_decoding_bits as u32,
        proven_unique_decoding: proven.unique_decoding_bits as u32,
        conjectured: conjectured.security_bits as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_the_published_ones() {
        let expected =
            SecurityReport { proven_list_decoding: 121, proven_unique_decoding: 65, conjectured: 128 };
        assert_eq!(security_report(Circuit::Cred1), expected);
        let expected =
            SecurityReport { proven_list_decoding: 127, proven_unique_decoding: 119, conjectured: 128 };
        assert_eq!(security_report(Circuit::Cred1u), expected);
    }

    #[test]
    fn shipped_parameters_pass_and_weaker_ones_do_not() {
        assert_eq!(check_parameters(), Ok(()));
        let [one, one_u] = Circuit::ALL.map(parameters);
        let weaker = Parameters { queries: 50, ..one };
        let got = report(&weaker).proven_list_decoding;
        assert_eq!(check([weaker, one_u]), Err(ParameterError { circuit: "cred/1", got, required: 120 }));
        let weaker = Parameters { queries: 110, ..one_u };
        let got = report(&weaker).proven_unique_decoding;
        assert_eq!(check([one, weaker]), Err(ParameterError { circuit: "cred/1u", got, required: 118 }));
    }
}
