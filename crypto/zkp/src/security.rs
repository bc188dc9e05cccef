//! How many bits of soundness a parameter set has, and the refusal to run with fewer than promised.

use crate::statement::Circuit;

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

/// Bits of soundness of `circuit`.
pub fn security_report(circuit: Circuit) -> SecurityReport {
    let _ = circuit;
    todo!()
}

/// Refuses parameters below their promise. To be called once before the first verification.
pub fn check_parameters() -> Result<(), ParameterError> {
    todo!()
}
