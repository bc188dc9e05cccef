//! The layout of the trace.
//!
//! 256 rows of 56 columns: 32 slots of eight rows, one Poseidon2 permutation per slot.
//!
//! | row of the slot | state (24 columns) | cells (24 columns) |
//! |---|---|---|
//! | 0, 1 | before full rounds 0, 2 | state after full rounds 0, 2 |
//! | 2, 3, 4 | before partial rounds 0, 8, 16 | outputs of the 8, 8, 7 S-boxes |
//! | 5, 6 | before full rounds 4, 6 | state after full rounds 4, 6 |
//! | 7 | output | bits that the link to the next slot needs |
//!
//! Row 0 holds the state after the initial linear layer. The last eight columns hold the secret in every row.
//! The 24 permutations would do with one row each, but then the trace would be too short to be hidden: the masks
//! must outnumber what 114 queries reveal, 256 >= 2 (114 + 5 x 2).

use std::ops::Range;

use crate::{digest::LIMBS, hash::STATE, tree::DEPTH};

/// Rows of one permutation.
pub(crate) const SLOT_ROWS: usize = 8;
/// Permutations in a trace.
pub(crate) const SLOTS: usize = 32;
/// Rows of a trace.
pub(crate) const ROWS: usize = SLOT_ROWS * SLOTS;

/// First column of the permutation's state.
pub(crate) const STATE_COLUMN: usize = 0;
/// First column of the cells.
pub(crate) const CELL_COLUMN: usize = STATE;
/// First column of the secret.
pub(crate) const SECRET_COLUMN: usize = 2 * STATE;
/// Columns of a trace.
pub(crate) const COLUMNS: usize = 2 * STATE + LIMBS;

/// Slot that hashes the secret to its commitment. Slot 0 is a filler whose last row links to it.
pub(crate) const COMMITMENT_SLOT: usize = 1;
/// Slot that hashes commitment and attributes to the leaf.
pub(crate) const LEAF_SLOT: usize = 2;
/// Slots that hash the path's nodes; the last one's output is the root.
pub(crate) const NODE_SLOTS: Range<usize> = 3..3 + DEPTH;
/// Slot that hashes secret and scope to the account.
pub(crate) const ACCOUNT_SLOT: usize = NODE_SLOTS.end;
/// Slot that hashes secret and handle scope to the handle. Fillers follow.
pub(crate) const HANDLE_SLOT: usize = ACCOUNT_SLOT + 1;

/// Partial rounds in rows 2, 3 and 4 of a slot.
pub(crate) const PARTIAL_ROUNDS: [usize; 3] = [8, 8, 7];

/// Bits of `expiry - epoch`, in the first cells of the row that links to the leaf.
pub(crate) const EXPIRY_BITS: usize = 16;
/// Bits of `level - required level`, in the cells after the expiry's.
pub(crate) const LEVEL_BITS: usize = 8;
/// Cell of a link to a node slot that says on which side the running hash enters.
pub(crate) const SIDE_CELL: usize = 0;

/// Positions of the public values.
pub(crate) mod public {
    pub(crate) const ROOT: usize = 0;
    pub(crate) const ACCOUNT: usize = 8;
    pub(crate) const SCOPE: usize = 16;
    pub(crate) const HANDLE: usize = 24;
    pub(crate) const HANDLE_SCOPE: usize = 32;
    pub(crate) const EPOCH: usize = 40;
    pub(crate) const LEVEL: usize = 41;
    pub(crate) const COUNT: usize = 42;
}

/// First row of a slot.
pub(crate) fn first_row(slot: usize) -> usize {
    slot * SLOT_ROWS
}

/// Row whose transition fixes the input of `slot`: the last one of the slot before.
pub(crate) fn link_row(slot: usize) -> usize {
    first_row(slot) - 1
}
