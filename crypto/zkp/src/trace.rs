//! Filling the trace.

use p3_field::PrimeCharacteristicRing;
use p3_koala_bear::{
    KOALABEAR_POSEIDON2_RC_24_EXTERNAL_FINAL as FINAL_CONSTANTS,
    KOALABEAR_POSEIDON2_RC_24_EXTERNAL_INITIAL as INITIAL_CONSTANTS,
    KOALABEAR_POSEIDON2_RC_24_INTERNAL as PARTIAL_CONSTANTS,
};
use p3_matrix::dense::RowMajorMatrix;
use rand::{CryptoRng, RngExt};

use crate::{
    digest::{Digest, Field, LIMBS},
    hash::{Domain, STATE, handle_scope, input},
    layout::{
        ACCOUNT_SLOT, CELL_COLUMN, COLUMNS, COMMITMENT_SLOT, EXPIRY_BITS, HANDLE_SLOT, LEAF_SLOT, LEVEL_BITS,
        NODE_SLOTS, PARTIAL_ROUNDS, ROWS, SECRET_COLUMN, SIDE_CELL, SLOTS, STATE_COLUMN, first_row, link_row,
        public,
    },
    linear::{external, internal},
    statement::Statement,
    witness::Witness,
};

type State = [Field; STATE];

/// A trace under construction. It fills in any values, honest or not.
pub(crate) struct Trace {
    values: Vec<Field>,
}

/// The public values of a statement, in the order of [`public`].
pub(crate) fn public_values(statement: &Statement) -> [Field; public::COUNT] {
    let Statement { tenant, root, account, scope, handle, epoch, level, .. } = statement;
    let mut values = [Field::ZERO; public::COUNT];
    let mut put = |first: usize, digest: &Digest| {
        values[first..first + LIMBS].copy_from_slice(&digest.limbs());
    };
    put(public::ROOT, root);
    put(public::ACCOUNT, account);
    put(public::SCOPE, scope);
    put(public::HANDLE, handle);
    put(public::HANDLE_SCOPE, &handle_scope(tenant));
    values[public::EPOCH] = Field::from_u32(*epoch);
    values[public::LEVEL] = Field::from_u8(*level);
    values
}

impl Trace {
    /// The trace of a witness that satisfies `statement`. `rng` fills the slots that no hash uses.
    ///
    /// For a witness that does not, the trace breaks a constraint and no proof of it verifies.
    pub(crate) fn new(witness: &Witness, statement: &Statement, rng: &mut impl CryptoRng) -> Trace {
        let Witness { secret, attributes, index, path } = witness;
        let secret = secret.limbs();
        let mut trace = Trace::empty();
        trace.secret(0..ROWS, &secret);
        for slot in (0..COMMITMENT_SLOT).chain(HANDLE_SLOT + 1..SLOTS) {
            let _ = trace.slot(slot, &rng.random());
        }
        let commitment =
            trace.slot(COMMITMENT_SLOT, &input(Domain::Commitment, &secret, &[Field::ZERO; LIMBS]));
        trace.bits(LEAF_SLOT, 0, EXPIRY_BITS, attributes.expiry().wrapping_sub(statement.epoch));
        let level_over = u32::from(attributes.level()).wrapping_sub(statement.level.into());
        trace.bits(LEAF_SLOT, EXPIRY_BITS, LEVEL_BITS, level_over);
        let mut node = trace.slot(LEAF_SLOT, &input(Domain::Leaf, &commitment, &attributes.limbs()));
        for ((level, slot), sibling) in NODE_SLOTS.enumerate().zip(path.siblings()) {
            let right = index >> level & 1;
            trace.bits(slot, SIDE_CELL, 1, right);
            let (left, right) = if right == 0 { (node, sibling.limbs()) } else { (sibling.limbs(), node) };
            node = trace.slot(slot, &input(Domain::Node, &left, &right));
        }
        let _ = trace.slot(ACCOUNT_SLOT, &input(Domain::Account, &secret, &statement.scope.limbs()));
        let handle_scope = handle_scope(&statement.tenant).limbs();
        let _ = trace.slot(HANDLE_SLOT, &input(Domain::Handle, &secret, &handle_scope));
        trace
    }

    pub(crate) fn empty() -> Trace {
        Trace { values: Field::zero_vec(ROWS * COLUMNS) }
    }

    pub(crate) fn into_matrix(self) -> RowMajorMatrix<Field> {
        RowMajorMatrix::new(self.values, COLUMNS)
    }

    /// Writes the secret columns of `rows`.
    pub(crate) fn secret(&mut self, rows: std::ops::Range<usize>, secret: &[Field; LIMBS]) {
        for row in rows {
            self.cells(row, SECRET_COLUMN, secret);
        }
    }

    /// Writes the low `count` bits of `number` into the link to `slot`, from cell `first`.
    pub(crate) fn bits(&mut self, slot: usize, first: usize, count: usize, number: u32) {
        for bit in 0..count {
            let value = Field::from_u32(number >> bit & 1);
            self.cells(link_row(slot), CELL_COLUMN + first + bit, &[value]);
        }
    }

    /// Fills `slot` with the permutation of `input` and returns the digest part of its output.
    pub(crate) fn slot(&mut self, slot: usize, input: &State) -> [Field; LIMBS] {
        self.slot_with(slot, input, |_, _, value| value)
    }

    /// Fills `slot`, passing every value through `change(row of the slot, column, value)` before what follows
    /// is computed from it.
    pub(crate) fn slot_with(
        &mut self,
        slot: usize,
        input: &State,
        change: impl Fn(usize, usize, Field) -> Field,
    ) -> [Field; LIMBS] {
        let changed = |row, column, values: State| -> State {
            std::array::from_fn(|i| change(row, column + i, values[i]))
        };
        let first = first_row(slot);
        let mut state = *input;
        external(&mut state);
        for (row, constants) in [(0, &INITIAL_CONSTANTS), (5, &FINAL_CONSTANTS)] {
            for (row, [even, odd]) in (row..).zip(constants.as_chunks::<2>().0) {
                state = changed(row, STATE_COLUMN, state);
                self.cells(first + row, STATE_COLUMN, &state);
                let between = changed(row, CELL_COLUMN, full_round(&state, even));
                self.cells(first + row, CELL_COLUMN, &between);
                state = full_round(&between, odd);
            }
            if row == 0 {
                let mut constants = PARTIAL_CONSTANTS.iter();
                for (row, rounds) in (2..).zip(PARTIAL_ROUNDS) {
                    state = changed(row, STATE_COLUMN, state);
                    self.cells(first + row, STATE_COLUMN, &state);
                    for (cell, &constant) in (CELL_COLUMN..CELL_COLUMN + rounds).zip(&mut constants) {
                        state[0] = change(row, cell, (state[0] + constant).cube());
                        self.cells(first + row, cell, &[state[0]]);
                        internal(&mut state);
                    }
                }
            }
        }
        let output = changed(7, STATE_COLUMN, state);
        self.cells(first + 7, STATE_COLUMN, &output);
        std::array::from_fn(|i| output[i])
    }

    /// Writes `values` into `row` from `column`.
    pub(crate) fn cells(&mut self, row: usize, column: usize, values: &[Field]) {
        let at = row * COLUMNS + column;
        self.values[at..at + values.len()].copy_from_slice(values);
    }
}

fn full_round(state: &State, constants: &State) -> State {
    let mut next = std::array::from_fn(|i| (state[i] + constants[i]).cube());
    external(&mut next);
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{air::CredentialAir, fixture, hash::hash, statement::Circuit};

    #[test]
    fn a_slot_computes_the_hash() {
        let (left, right): ([Field; LIMBS], [Field; LIMBS]) = fixture::rng(5).random();
        for domain in [Domain::Commitment, Domain::Leaf, Domain::Node, Domain::Account, Domain::Handle] {
            let output = Trace::empty().slot(0, &input(domain, &left, &right));
            assert_eq!(output, hash(domain, &left, &right));
        }
    }

    #[test]
    fn an_honest_trace_satisfies_every_constraint_on_every_row() {
        let witness = fixture::witness();
        let statement = fixture::statement(&witness, Circuit::Cred2);
        let trace = Trace::new(&witness, &statement, &mut fixture::rng(6)).into_matrix();
        let air = CredentialAir::new();
        let report = p3_air::check_all_constraints(&air, &trace, &public_values(&statement), None);
        assert!(report.is_ok(), "{report:?}");
    }
}
