//! A stand-in for the circuit where only its shape matters.
//!
//! `p3-uni-stark` 0.8 derives the quotient's degree again in every `prove` and `verify` by walking the whole
//! symbolic constraint graph when there are periodic columns: several milliseconds, against 0.8 for the rest of
//! the verification. [`CompactAir`] answers that one builder with as many trivial constraints of the same
//! greatest degree and hands every other builder the real circuit. The verifier still evaluates the real
//! constraints, so a wrong stand-in can make honest proofs fail but cannot make a false one pass.

use std::borrow::Cow;

use p3_air::{
    Air, AirBuilder, BaseAir, DebugConstraintBuilder, WindowAccess,
    symbolic::{AirLayout, SymbolicAirBuilder, get_symbolic_constraints},
};
use p3_field::ExtensionField;
use p3_uni_stark::{
    ProverConstraintFolder, StarkGenericConfig, Val, VectorizedConstraintFolder, VerifierConstraintFolder,
};

use crate::{air::CredentialAir, digest::Field};

/// The credential circuit with the symbolic stand-in.
#[derive(Clone, Debug)]
pub(crate) struct CompactAir {
    air: CredentialAir,
    constraints: usize,
}

impl CompactAir {
    /// Counts the constraints once, by the real symbolic walk.
    pub(crate) fn new(air: CredentialAir) -> CompactAir {
        let constraints = get_symbolic_constraints::<Field, _>(&air, AirLayout::from_air(&air)).len();
        CompactAir { air, constraints }
    }

    /// The circuit itself.
    pub(crate) fn circuit(&self) -> &CredentialAir {
        &self.air
    }
}

impl BaseAir<Field> for CompactAir {
    fn width(&self) -> usize {
        self.air.width()
    }

    fn num_public_values(&self) -> usize {
        self.air.num_public_values()
    }

    fn num_periodic_columns(&self) -> usize {
        self.air.num_periodic_columns()
    }

    fn periodic_columns(&self) -> Cow<'_, [Vec<Field>]> {
        self.air.periodic_columns()
    }
}

impl<E: ExtensionField<Field>> Air<SymbolicAirBuilder<Field, E>> for CompactAir {
    fn eval(&self, builder: &mut SymbolicAirBuilder<Field, E>) {
        let column = builder.main().current_slice()[0];
        let selector = builder.periodic_values()[0];
        builder.assert_zero(column * column * column * selector);
        for _ in 1..self.constraints {
            builder.assert_zero(column);
        }
    }
}

impl<'a, SC: StarkGenericConfig> Air<ProverConstraintFolder<'a, SC>> for CompactAir
where
    ProverConstraintFolder<'a, SC>: AirBuilder<F = Field>,
    SC::Pcs: Sync,
    Val<SC>: Sync,
{
    fn eval(&self, builder: &mut ProverConstraintFolder<'a, SC>) {
        self.air.eval(builder);
    }
}

/// The prover's folder where NEON is there: several packed vectors at once.
impl<'a, SC: StarkGenericConfig, const N: usize> Air<VectorizedConstraintFolder<'a, SC, N>> for CompactAir
where
    VectorizedConstraintFolder<'a, SC, N>: AirBuilder<F = Field>,
{
    fn eval(&self, builder: &mut VectorizedConstraintFolder<'a, SC, N>) {
        self.air.eval(builder);
    }
}

impl<'a, SC: StarkGenericConfig> Air<VerifierConstraintFolder<'a, SC>> for CompactAir
where
    VerifierConstraintFolder<'a, SC>: AirBuilder<F = Field>,
{
    fn eval(&self, builder: &mut VerifierConstraintFolder<'a, SC>) {
        self.air.eval(builder);
    }
}

impl<'a> Air<DebugConstraintBuilder<'a, Field>> for CompactAir {
    fn eval(&self, builder: &mut DebugConstraintBuilder<'a, Field>) {
        self.air.eval(builder);
    }
}

#[cfg(test)]
mod tests {
    use p3_uni_stark::get_log_num_quotient_chunks;

    use super::*;
    use crate::layout::ROWS;

    #[test]
    fn the_stand_in_has_the_circuits_constraint_count_and_degree() {
        let (real, compact) = (CredentialAir::new(), CompactAir::new(CredentialAir::new()));
        let layout = AirLayout::from_air::<Field>(&real);
        let of_real = get_symbolic_constraints::<Field, _>(&real, layout);
        let of_compact = get_symbolic_constraints::<Field, _>(&compact, layout);
        assert_eq!(of_real.len(), 186);
        assert_eq!(of_compact.len(), of_real.len());

        let periods: Vec<usize> = real.periodic_columns().iter().map(Vec::len).collect();
        let degree = |constraints: &[p3_air::symbolic::SymbolicExpression<Field>]| {
            constraints.iter().map(|c| c.poly_degree(ROWS, &periods)).max()
        };
        assert_eq!(degree(&of_compact), degree(&of_real));
        assert_eq!(of_real.iter().map(|c| c.degree_multiple()).max(), Some(4));
        for is_zk in [0, 1] {
            assert_eq!(
                get_log_num_quotient_chunks::<Field, _>(&compact, layout, ROWS, is_zk),
                get_log_num_quotient_chunks::<Field, _>(&real, layout, ROWS, is_zk),
            );
        }
    }
}
