//! How many bits of soundness a parameter set has under which result, and the refusal to run with fewer than promised.

use std::fmt;

use p3_air::symbolic::AirLayout;
use p3_field::{PrimeCharacteristicRing, PrimeField32, coset::TwoAdicMultiplicativeCoset};
use p3_security::{
    ErrorBits, InstanceShape, StarkAirParams,
    fri::query_phase_error,
    proximity::{LDR_M_CAP, alpha_ldr_m, compute_upper_m, gamma_ldr_m},
    stark::proven_security_ldr_m,
};
use p3_uni_stark::{ConjecturedSecurity, OpeningShape, ProvenSecurity, StarkSecurityParams};

use crate::{
    digest::Field,
    layout::ROWS,
    parameters::{Challenge, Parameters, RANDOM_CODEWORDS, circuit, fri, parameters},
    statement::Circuit,
    verify::MASKED_LOG_ROWS,
};

/// A result on which a figure of soundness rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// List decoding up to the Johnson radius, ePrint 2026/2056, Theorem 5.12. The theorem is about lines; its extension to the
    /// curves of FRI is argued in the source of `p3-security` 0.8.0 and has had no review.
    ListDecoding2026,
    /// List decoding up to the Johnson radius, ePrint 2025/2055, Theorem 4.2: a preprint.
    ListDecoding2025,
    /// List decoding up to the Johnson radius, ePrint 2020/654: reviewed (FOCS 2020).
    ListDecoding2020,
    /// Unique decoding, ePrint 2020/654: reviewed, and the oldest argument.
    UniqueDecoding,
    /// A conjecture: the words that a cheating prover commits to are as far from the code as a random word (ePrint 2025/2010, section 1.5).
    /// Nobody has refuted it, and its authors recommend proven bounds. The older conjecture, up to capacity, is refuted.
    RandomWords,
}

/// Bits of soundness of one circuit, by [`Bound`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecurityReport {
    bits: [u32; Bound::ALL.len()],
}

/// The compiled parameters fall short of the promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{circuit} has {got} bits under {bound}, {required} required: refuse to serve and rebuild")]
pub struct ParameterError {
    /// The circuit's name.
    pub circuit: &'static str,
    /// The result that they rest on.
    pub bound: Bound,
    /// Bits found.
    pub got: u32,
    /// Bits promised.
    pub required: u32,
}

/// Bits of soundness of `circuit` under each bound, computed from the circuit and its parameters.
///
/// Takes some milliseconds: it walks the whole circuit symbolically.
pub fn security_report(circuit: Circuit) -> SecurityReport {
    report(&parameters(circuit))
}

/// Refuses parameters below their promise. To be called once before the first verification.
///
/// # Errors
/// [`ParameterError`] says which parameter promises less than it must.
pub fn check_parameters() -> Result<(), ParameterError> {
    check(parameters)
}

impl Bound {
    /// Every bound, from the strongest claim to the weakest, the conjecture last.
    pub const ALL: [Bound; 5] = [
        Bound::ListDecoding2026,
        Bound::ListDecoding2025,
        Bound::ListDecoding2020,
        Bound::UniqueDecoding,
        Bound::RandomWords,
    ];

    /// Stable name for records.
    pub fn name(self) -> &'static str {
        match self {
            Bound::ListDecoding2026 => "proven_list_decoding_2026_2056",
            Bound::ListDecoding2025 => "proven_list_decoding_2025_2055",
            Bound::ListDecoding2020 => "proven_list_decoding_2020_654",
            Bound::UniqueDecoding => "proven_unique_decoding_2020_654",
            Bound::RandomWords => "conjectured_random_words_2025_2010",
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bound::ListDecoding2026 => "list decoding, ePrint 2026/2056 (extension to curves unreviewed)",
            Bound::ListDecoding2025 => "list decoding, ePrint 2025/2055 (preprint)",
            Bound::ListDecoding2020 => "list decoding, ePrint 2020/654",
            Bound::UniqueDecoding => "unique decoding, ePrint 2020/654",
            Bound::RandomWords => "a conjecture: random words, ePrint 2025/2010",
        })
    }
}

impl SecurityReport {
    /// Bits under one bound.
    pub fn bits(&self, bound: Bound) -> u32 {
        self.bits[bound as usize]
    }
}

impl fmt::Display for SecurityReport {
    /// `123 bits under list decoding, ePrint ...; 120 under ...`, every bound with its name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for bound in Bound::ALL {
            let (separator, unit) = if bound as usize == 0 { ("", " bits") } else { ("; ", "") };
            write!(f, "{separator}{}{unit} under {bound}", self.bits(bound))?;
        }
        Ok(())
    }
}

/// The promise of each circuit: without these bits the service does not start.
const PROMISES: [(Circuit, Bound, u32); 3] = [
    (Circuit::Cred2, Bound::ListDecoding2025, 120),
    (Circuit::Cred2, Bound::ListDecoding2020, 110),
    // The bits that the masking budget of 256 rows allows.
    (Circuit::Cred2u, Bound::UniqueDecoding, 118),
];

fn check(parameters: impl Fn(Circuit) -> Parameters) -> Result<(), ParameterError> {
    for (circuit, bound, required) in PROMISES {
        let got = report(&parameters(circuit)).bits(bound);
        if got < required {
            return Err(ParameterError { circuit: circuit.name(), bound, got, required });
        }
    }
    Ok(())
}

/// Collision resistance of SHA-256 in the trees and SHA3-256 in the transcript, in bits.
const COLLISION_RESISTANCE_BITS: usize = 128;
/// Points per column that the constraints mention: this row and the next.
const POINTS_PER_COLUMN: usize = 2;

fn report(parameters: &Parameters) -> SecurityReport {
    let params = stark_parameters(parameters);
    let proven = ProvenSecurity::compute_from_proof(MASKED_LOG_ROWS, &params);
    let conjectured = ConjecturedSecurity::compute_from_params(&params, MASKED_LOG_ROWS);
    let bits = Bound::ALL.map(|bound| match bound {
        Bound::ListDecoding2026 => proven.list_decoding_bits as u32,
        Bound::ListDecoding2025 => list_decoding(&params, exceptional_2025),
        Bound::ListDecoding2020 => list_decoding(&params, exceptional_2020),
        Bound::UniqueDecoding => proven.unique_decoding_bits as u32,
        Bound::RandomWords => conjectured.security_bits as u32,
    });
    SecurityReport { bits }
}

fn stark_parameters(parameters: &Parameters) -> StarkSecurityParams {
    let fri = fri(parameters, ());
    let air = circuit().circuit();
    let rows = TwoAdicMultiplicativeCoset::new(Field::ONE, ROWS.ilog2() as usize).expect("2^8 divides p - 1");
    // The extension has p^5 elements; its bit length, rounded down, is what the reports are computed from.
    let challenge_bits = 5.0 * f64::from(Field::ORDER_U32).log2();
    StarkSecurityParams::from_air::<Field, Challenge, _>(
        fri.security_regime(),
        air,
        AirLayout::from_air::<Field>(air),
        rows,
        challenge_bits as usize,
        COLLISION_RESISTANCE_BITS,
        POINTS_PER_COLUMN,
        OpeningShape::hiding(RANDOM_CODEWORDS),
        fri.grinding_sites(),
    )
}

/// Bits under list decoding at the best multiplicity m, where a line has at most 2^`exceptional(log_blowup, m)` exceptional
/// challenges, and a curve as many for each of its degrees. `p3-security` does the same with the count of 2026 built in.
fn list_decoding(params: &StarkSecurityParams, exceptional: impl Fn(usize, usize) -> f64) -> u32 {
    let log_blowup = params.fri_log_blowup;
    let air = StarkAirParams {
        num_constraints: params.num_constraints,
        max_constraint_degree: params.air_max_constraint_degree,
        num_quotient_chunks: params.num_quotient_chunks,
        max_combo: params.max_combo,
    };
    let shape = InstanceShape {
        log_trace_length: MASKED_LOG_ROWS,
        modulus_bits: params.num_modulus_bits,
        collision_resistance: params.collision_resistance,
        num_batched_functions: params.num_batched_functions,
    };
    // A fold combines 2^arity words along a curve of one degree less, the opening all batched functions.
    let (fold, opening) = ((1 << params.fri_max_log_arity) - 1, params.num_batched_functions - 1);
    let round = |m: usize, degree: usize, grinding: usize| {
        let lost = exceptional(log_blowup, m) + (degree as f64).log2();
        ErrorBits::from_log2((params.num_modulus_bits as f64 - lost).max(0.0) + grinding as f64)
    };
    let bits = |m| {
        let alpha = alpha_ldr_m(log_blowup, m);
        let test = ErrorBits::min(&[
            query_phase_error(alpha, params.fri_num_queries, params.fri_query_proof_of_work_bits),
            round(m, fold, params.fri_commit_proof_of_work_bits),
        ]);
        let batch = round(m, opening, params.grinding.batch_combination);
        proven_security_ldr_m(&air, &shape, log_blowup, m, test, &[batch]).bits()
    };
    let largest = compute_upper_m(1 << MASKED_LOG_ROWS, params.max_combo).min(LDR_M_CAP);
    (3..=largest).map(bits).fold(0.0, f64::max) as u32
}

/// ePrint 2025/2055, Theorem 4.2: (2 (m + 1/2)^5 + 3 (m + 1/2) gamma rho) n / (3 rho^(3/2)) + (m + 1/2) / rho^(1/2), where m is that
/// of its Theorem 1.5 (the statement of 4.2 drops a factor of two).
fn exceptional_2025(log_blowup: usize, m: usize) -> f64 {
    let (t, rho, n) = (m as f64 + 0.5, rate(log_blowup), domain(log_blowup));
    let first = (2.0 * t.powi(5) + 3.0 * t * gamma_ldr_m(log_blowup, m) * rho) * n / (3.0 * rho.powf(1.5));
    (first + t / rho.sqrt()).log2()
}

/// ePrint 2020/654, section 6: (m + 1/2)^7 n^2 / (3 rho^(3/2)).
fn exceptional_2020(log_blowup: usize, m: usize) -> f64 {
    let (t, rho, n) = (m as f64 + 0.5, rate(log_blowup), domain(log_blowup));
    (t.powi(7) * n * n / (3.0 * rho.powf(1.5))).log2()
}

fn rate(log_blowup: usize) -> f64 {
    (-(log_blowup as f64)).exp2()
}

/// Points at which the longest codeword is committed.
fn domain(log_blowup: usize) -> f64 {
    ((MASKED_LOG_ROWS + log_blowup) as f64).exp2()
}

#[cfg(test)]
mod tests {
    use p3_security::SecurityAssumption;

    use super::*;

    /// Claim P2: Soundness is computed under five named bounds, and printed with their names.
    #[test]
    fn reports_are_the_published_ones() {
        let bits = |circuit| Bound::ALL.map(|bound| security_report(circuit).bits(bound));
        assert_eq!(bits(Circuit::Cred2), [123, 120, 111, 66, 128]);
        assert_eq!(bits(Circuit::Cred2u), [128, 126, 111, 119, 128]);
    }

    /// Claim P2.
    ///
    /// The composition of the older bounds is the library's: with its own count it gives its own figure.
    #[test]
    fn with_the_count_of_2026_the_composition_is_the_librarys() {
        for circuit in Circuit::ALL {
            let params = stark_parameters(&parameters(circuit));
            // Of two functions, which are on a line, in a field of no bits.
            let count = |log_blowup, m| {
                -SecurityAssumption::prox_gaps_error_jb_at_m(MASKED_LOG_ROWS, log_blowup, 0, 2, m)
            };
            let bits = security_report(circuit).bits(Bound::ListDecoding2026);
            assert_eq!(list_decoding(&params, count), bits, "{}", circuit.name());
        }
    }

    /// Claim P2.
    #[test]
    fn a_report_names_every_bound() {
        let text = security_report(Circuit::Cred2).to_string();
        for bound in Bound::ALL {
            assert!(text.contains(&bound.to_string()), "{bound}: {text}");
        }
        assert!(text.starts_with("123 bits under list decoding, ePrint 2026/2056"), "{text}");
        assert!(text.ends_with("128 under a conjecture: random words, ePrint 2025/2010"), "{text}");
    }

    /// Claim P3: Parameters below the promised security do not start.
    #[test]
    fn shipped_parameters_pass_and_weaker_ones_do_not() {
        assert_eq!(check_parameters(), Ok(()));
        for (circuit, bound, required) in PROMISES {
            let weaker = Parameters { queries: parameters(circuit).queries - 5, ..parameters(circuit) };
            let with = |other| if other == circuit { weaker } else { parameters(other) };
            let first = PROMISES.iter().find(|(other, bound, required)| {
                *other == circuit && report(&weaker).bits(*bound) < *required
            });
            let (_, failed, needed) = first.expect("five queries fewer are too few");
            let got = report(&weaker).bits(*failed);
            let name = circuit.name();
            let error = ParameterError { circuit: name, bound: *failed, got, required: *needed };
            assert_eq!(check(with), Err(error), "{bound}, {required}");
        }
    }
}
