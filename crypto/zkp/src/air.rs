//! The circuit: what every pair of neighbouring rows must satisfy.
//!
//! [`layout`](crate::layout) says what the columns hold. Each constraint belongs to one [`Group`]; tests leave
//! a group out to show that a forgery exists which only that group stops. Constraints hold on all 256 rows (the
//! last row's successor is the first), switched by periodic selectors, and have degree 4 at most.

use std::borrow::Cow;

use p3_air::{Air, AirBuilder, BaseAir, WindowAccess};
use p3_field::PrimeCharacteristicRing;
use p3_koala_bear::{
    KOALABEAR_POSEIDON2_RC_24_EXTERNAL_FINAL as FINAL_CONSTANTS,
    KOALABEAR_POSEIDON2_RC_24_EXTERNAL_INITIAL as INITIAL_CONSTANTS,
    KOALABEAR_POSEIDON2_RC_24_INTERNAL as PARTIAL_CONSTANTS,
};

use crate::{
    attributes::{EXPIRY_LIMB, LEVEL_LIMB},
    digest::{Field, LIMBS},
    hash::{Domain, STATE},
    layout::{
        ACCOUNT_SLOT, CELL_COLUMN, COLUMNS, COMMITMENT_SLOT, EXPIRY_BITS, HANDLE_SLOT, LEAF_SLOT, LEVEL_BITS,
        NODE_SLOTS, PARTIAL_ROUNDS, ROWS, SECRET_COLUMN, SIDE_CELL, SLOT_ROWS, STATE_COLUMN, public,
    },
    linear::{ExternalInverse, external, internal},
};

/// The purpose of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// The secret columns do not change.
    SecretConstant,
    /// Full rounds 0, 2, 4, 6: cells from state.
    FullRound,
    /// S-boxes of the partial rounds.
    PartialRound,
    /// Next state from this row.
    NextState,
    /// The commitment's inputs are the secret and zero.
    CommitmentInput,
    /// The leaf's left input is the commitment.
    LeafInput,
    /// Bits are zero or one.
    Bits,
    /// expiry - epoch is the number that its bits spell.
    Expiry,
    /// level - required level is the number that its bits spell.
    Level,
    /// The running hash enters the next node on the side that the bit says.
    NodeInput,
    /// The capacity of every hash holds its domain and zeros.
    Capacity,
    /// The last node is the root.
    Root,
    /// The account's inputs are the secret and the scope.
    AccountInput,
    /// The account's output is the public account.
    AccountOutput,
    /// The handle's inputs are the secret and the handle scope.
    HandleInput,
    /// The handle's output is the public handle.
    HandleOutput,
}

/// Periodic columns: selectors, then the round constants of both half rows.
mod periodic {
    use crate::hash::STATE;

    pub(super) const FULL: usize = 0;
    pub(super) const PARTIAL_EIGHT: usize = 1;
    pub(super) const PARTIAL_SEVEN: usize = 2;
    pub(super) const TO_COMMITMENT: usize = 3;
    pub(super) const TO_LEAF: usize = 4;
    pub(super) const TO_NODE: usize = 5;
    pub(super) const TO_ACCOUNT: usize = 6;
    pub(super) const TO_HANDLE: usize = 7;
    pub(super) const AFTER_HANDLE: usize = 8;
    pub(super) const FIRST_CONSTANTS: usize = 9;
    pub(super) const SECOND_CONSTANTS: usize = FIRST_CONSTANTS + STATE;
    pub(super) const COUNT: usize = SECOND_CONSTANTS + STATE;
}

/// The credential circuit.
#[derive(Clone, Debug)]
pub(crate) struct CredentialAir {
    inverse: ExternalInverse,
    periodic: Vec<Vec<Field>>,
    #[cfg(test)]
    omitted: Option<Group>,
}

impl CredentialAir {
    pub(crate) fn new() -> CredentialAir {
        CredentialAir {
            inverse: ExternalInverse::new(),
            periodic: periodic_columns(),
            #[cfg(test)]
            omitted: None,
        }
    }

    /// The circuit without one group of constraints.
    #[cfg(test)]
    pub(crate) fn without(group: Group) -> CredentialAir {
        CredentialAir { omitted: Some(group), ..CredentialAir::new() }
    }

    #[cfg(test)]
    fn enforces(&self, group: Group) -> bool {
        self.omitted != Some(group)
    }

    #[cfg(not(test))]
    fn enforces(&self, _: Group) -> bool {
        true
    }
}

impl BaseAir<Field> for CredentialAir {
    fn width(&self) -> usize {
        COLUMNS
    }

    fn num_public_values(&self) -> usize {
        public::COUNT
    }

    fn num_periodic_columns(&self) -> usize {
        periodic::COUNT
    }

    fn periodic_columns(&self) -> Cow<'_, [Vec<Field>]> {
        Cow::Borrowed(&self.periodic)
    }
}

impl<AB: AirBuilder<F = Field>> Air<AB> for CredentialAir {
    fn eval(&self, builder: &mut AB) {
        let rows = Rows::read(&self.inverse, builder);
        let mut sink = Sink { air: self, builder };
        rounds(&rows, &mut sink);
        inputs(&rows, &mut sink);
        outputs(&rows, &mut sink);
        predicates(&rows, &mut sink);
    }
}

/// The constraint sink: drops the groups that a test leaves out.
struct Sink<'a, AB> {
    air: &'a CredentialAir,
    builder: &'a mut AB,
}

impl<AB: AirBuilder<F = Field>> Sink<'_, AB> {
    fn zero(&mut self, group: Group, expression: AB::Expr) {
        if self.air.enforces(group) {
            self.builder.assert_zero(expression);
        }
    }
}

/// One row, the next one, and the values they are compared with.
struct Rows<E> {
    state: [E; STATE],
    cells: [E; STATE],
    secret: [E; LIMBS],
    next_state: [E; STATE],
    next_secret: [E; LIMBS],
    /// The next slot's permutation input, if the next row starts one.
    next_input: [E; STATE],
    periodic: Vec<E>,
    public: Vec<E>,
}

impl<E: p3_field::Algebra<Field>> Rows<E> {
    fn read<AB: AirBuilder<F = Field, Expr = E>>(inverse: &ExternalInverse, builder: &AB) -> Rows<E> {
        let main = builder.main();
        let (row, next) = (main.current_slice(), main.next_slice());
        let next_state = std::array::from_fn(|i| next[STATE_COLUMN + i].into());
        Rows {
            state: std::array::from_fn(|i| row[STATE_COLUMN + i].into()),
            cells: std::array::from_fn(|i| row[CELL_COLUMN + i].into()),
            secret: std::array::from_fn(|i| row[SECRET_COLUMN + i].into()),
            next_input: inverse.apply(&next_state),
            next_state,
            next_secret: std::array::from_fn(|i| next[SECRET_COLUMN + i].into()),
            periodic: builder.periodic_values().iter().map(|&value| value.into()).collect(),
            public: builder.public_values().iter().map(|&value| value.into()).collect(),
        }
    }

    fn selector(&self, column: usize) -> E {
        self.periodic[column].clone()
    }

    fn constant(&self, first: usize, position: usize) -> E {
        self.periodic[first + position].clone()
    }

    /// Limb of the next slot's left input, right input or capacity.
    fn left(&self, limb: usize) -> E {
        self.next_input[limb].clone()
    }

    fn right(&self, limb: usize) -> E {
        self.next_input[LIMBS + limb].clone()
    }

    fn capacity(&self, limb: usize) -> E {
        self.next_input[2 * LIMBS + limb].clone()
    }

    /// The number whose bits stand in `count` cells from `first`.
    fn spelled(&self, first: usize, count: usize) -> E {
        (0..count).fold(E::ZERO, |sum, bit| sum + self.cells[first + bit].clone() * Field::from_u32(1 << bit))
    }
}

/// The permutation itself.
fn rounds<AB: AirBuilder<F = Field>>(rows: &Rows<AB::Expr>, sink: &mut Sink<'_, AB>) {
    let full = rows.selector(periodic::FULL);
    let eight = rows.selector(periodic::PARTIAL_EIGHT);
    let seven = rows.selector(periodic::PARTIAL_SEVEN);

    for i in 0..LIMBS {
        sink.zero(Group::SecretConstant, rows.next_secret[i].clone() - rows.secret[i].clone());
    }

    let full_round = |state: &[AB::Expr; STATE], constants| {
        let mut next = std::array::from_fn(|i| (state[i].clone() + rows.constant(constants, i)).cube());
        external(&mut next);
        next
    };
    let after_first = full_round(&rows.state, periodic::FIRST_CONSTANTS);
    for (cell, expected) in rows.cells.iter().zip(after_first) {
        sink.zero(Group::FullRound, full.clone() * (cell.clone() - expected));
    }
    let after_second = full_round(&rows.cells, periodic::SECOND_CONSTANTS);

    let mut state = rows.state.clone();
    let mut after_seven = state.clone();
    for round in 0..PARTIAL_ROUNDS[0] {
        if round == PARTIAL_ROUNDS[2] {
            after_seven = state.clone();
        }
        let sbox = (state[0].clone() + rows.constant(periodic::SECOND_CONSTANTS, round)).cube();
        let active = if round < PARTIAL_ROUNDS[2] { eight.clone() + seven.clone() } else { eight.clone() };
        sink.zero(Group::PartialRound, active * (rows.cells[round].clone() - sbox));
        state[0] = rows.cells[round].clone();
        internal(&mut state);
    }

    for (i, next) in rows.next_state.iter().enumerate() {
        let after = |expected: &[AB::Expr; STATE]| next.clone() - expected[i].clone();
        let expression = full.clone() * after(&after_second)
            + eight.clone() * after(&state)
            + seven.clone() * after(&after_seven);
        sink.zero(Group::NextState, expression);
    }
}

/// The inputs of each hash.
fn inputs<AB: AirBuilder<F = Field>>(rows: &Rows<AB::Expr>, sink: &mut Sink<'_, AB>) {
    let to_commitment = rows.selector(periodic::TO_COMMITMENT);
    let to_leaf = rows.selector(periodic::TO_LEAF);
    let to_node = rows.selector(periodic::TO_NODE);
    let to_account = rows.selector(periodic::TO_ACCOUNT);
    let to_handle = rows.selector(periodic::TO_HANDLE);
    let side = rows.cells[SIDE_CELL].clone();

    for i in 0..LIMBS {
        let (secret, output) = (rows.secret[i].clone(), rows.state[i].clone());
        sink.zero(Group::CommitmentInput, to_commitment.clone() * (rows.left(i) - secret.clone()));
        sink.zero(Group::CommitmentInput, to_commitment.clone() * rows.right(i));
        sink.zero(Group::LeafInput, to_leaf.clone() * (rows.left(i) - output.clone()));
        let entering = rows.left(i) + side.clone() * (rows.right(i) - rows.left(i));
        sink.zero(Group::NodeInput, to_node.clone() * (entering - output));
        sink.zero(Group::AccountInput, to_account.clone() * (rows.left(i) - secret.clone()));
        let scope = rows.public[public::SCOPE + i].clone();
        sink.zero(Group::AccountInput, to_account.clone() * (rows.right(i) - scope));
        sink.zero(Group::HandleInput, to_handle.clone() * (rows.left(i) - secret));
        let handle_scope = rows.public[public::HANDLE_SCOPE + i].clone();
        sink.zero(Group::HandleInput, to_handle.clone() * (rows.right(i) - handle_scope));
    }

    let links = [
        (to_commitment, Domain::Commitment),
        (to_leaf, Domain::Leaf),
        (to_node, Domain::Node),
        (to_account, Domain::Account),
        (to_handle, Domain::Handle),
    ];
    let any = links.iter().fold(AB::Expr::ZERO, |sum, (selector, _)| sum + selector.clone());
    let domain = links.iter().fold(AB::Expr::ZERO, |sum, (selector, domain)| {
        sum + selector.clone() * Field::from_u8(*domain as u8)
    });
    sink.zero(Group::Capacity, any.clone() * rows.capacity(0) - domain);
    for i in 1..LIMBS {
        sink.zero(Group::Capacity, any.clone() * rows.capacity(i));
    }
}

/// The outputs of root, account and handle.
fn outputs<AB: AirBuilder<F = Field>>(rows: &Rows<AB::Expr>, sink: &mut Sink<'_, AB>) {
    let published = [
        (Group::Root, periodic::TO_ACCOUNT, public::ROOT),
        (Group::AccountOutput, periodic::TO_HANDLE, public::ACCOUNT),
        (Group::HandleOutput, periodic::AFTER_HANDLE, public::HANDLE),
    ];
    for (group, selector, first) in published {
        for i in 0..LIMBS {
            let difference = rows.state[i].clone() - rows.public[first + i].clone();
            sink.zero(group, rows.selector(selector) * difference);
        }
    }
}

/// The comparisons, and the bits that they and the path need.
fn predicates<AB: AirBuilder<F = Field>>(rows: &Rows<AB::Expr>, sink: &mut Sink<'_, AB>) {
    let to_leaf = rows.selector(periodic::TO_LEAF);
    for (i, cell) in rows.cells[..EXPIRY_BITS + LEVEL_BITS].iter().enumerate() {
        let mut active = to_leaf.clone();
        if i == SIDE_CELL {
            active += rows.selector(periodic::TO_NODE);
        }
        sink.zero(Group::Bits, active * (cell.clone() * (cell.clone() - AB::Expr::ONE)));
    }
    let over = rows.right(EXPIRY_LIMB) - rows.public[public::EPOCH].clone();
    sink.zero(Group::Expiry, to_leaf.clone() * (over - rows.spelled(0, EXPIRY_BITS)));
    let over = rows.right(LEVEL_LIMB) - rows.public[public::LEVEL].clone();
    sink.zero(Group::Level, to_leaf * (over - rows.spelled(EXPIRY_BITS, LEVEL_BITS)));
}

fn periodic_columns() -> Vec<Vec<Field>> {
    let mut columns = vec![Vec::new(); periodic::COUNT];
    let within_slot = |rows: &[usize]| -> Vec<Field> {
        (0..SLOT_ROWS).map(|row| Field::from_bool(rows.contains(&row))).collect()
    };
    columns[periodic::FULL] = within_slot(&[0, 1, 5, 6]);
    columns[periodic::PARTIAL_EIGHT] = within_slot(&[2, 3]);
    columns[periodic::PARTIAL_SEVEN] = within_slot(&[4]);

    let last_row_before = |slots: std::ops::Range<usize>| -> Vec<Field> {
        let selected =
            |row: usize| row % SLOT_ROWS == SLOT_ROWS - 1 && slots.contains(&(row / SLOT_ROWS + 1));
        (0..ROWS).map(|row| Field::from_bool(selected(row))).collect()
    };
    columns[periodic::TO_COMMITMENT] = last_row_before(COMMITMENT_SLOT..COMMITMENT_SLOT + 1);
    columns[periodic::TO_LEAF] = last_row_before(LEAF_SLOT..LEAF_SLOT + 1);
    columns[periodic::TO_NODE] = last_row_before(NODE_SLOTS);
    columns[periodic::TO_ACCOUNT] = last_row_before(ACCOUNT_SLOT..ACCOUNT_SLOT + 1);
    columns[periodic::TO_HANDLE] = last_row_before(HANDLE_SLOT..HANDLE_SLOT + 1);
    columns[periodic::AFTER_HANDLE] = last_row_before(HANDLE_SLOT + 1..HANDLE_SLOT + 2);

    let halves = [(0, &INITIAL_CONSTANTS), (5, &FINAL_CONSTANTS)];
    for i in 0..STATE {
        let (mut first, mut second) = ([Field::ZERO; SLOT_ROWS], [Field::ZERO; SLOT_ROWS]);
        for (row, constants) in halves {
            [first[row], second[row]] = [constants[0][i], constants[1][i]];
            [first[row + 1], second[row + 1]] = [constants[2][i], constants[3][i]];
        }
        for (k, &rounds) in PARTIAL_ROUNDS.iter().enumerate().filter(|(_, rounds)| i < **rounds) {
            debug_assert!(rounds <= SLOT_ROWS);
            second[2 + k] = PARTIAL_CONSTANTS[SLOT_ROWS * k + i];
        }
        columns[periodic::FIRST_CONSTANTS + i] = first.to_vec();
        columns[periodic::SECOND_CONSTANTS + i] = second.to_vec();
    }
    columns
}

#[cfg(test)]
mod tests;
