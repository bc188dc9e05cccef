//! The log of seals: the RFC 9162 tree whose entry `n` is the digest of seal `n`.
//!
//! The issuer appends with a [`Frontier`], which holds one hash per set bit of the size, and stores the nodes that each
//! entry completes. From those nodes it answers [`inclusion`] and [`consistency`] without the other entries. Readers
//! check the answers with [`verify_inclusion`](crate::tree::verify_inclusion) and
//! [`verify_consistency`](crate::tree::verify_consistency).

use alloc::vec::Vec;

use crate::tree::{EMPTY_ROOT, Hash, leaf_hash, node_hash};

/// Largest log: numbers of entries stay below 2^63, so that a path has at most 63 nodes.
pub const SIZE_MAX: u64 = 1 << 63;

/// The right edge of a growing tree: the roots of its perfect subtrees, largest first. Enough to append and to know
/// the root, in memory of at most 64 hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    roots: Vec<Hash>,
}

impl Frontier {
    /// The empty log.
    pub const EMPTY: Self = Self { size: 0, roots: Vec::new() };

    /// The edge of a log of `size` entries. `node` gives its complete nodes: see [`inclusion`].
    ///
    /// # Errors
    /// Those of `node`.
    pub fn load<E>(size: u64, mut node: impl FnMut(u8, u64) -> Result<Hash, E>) -> Result<Self, E> {
        let levels = (0..64_u8).rev().filter(|level| size >> level & 1 == 1);
        // Left of the subtree at a level lie the entries of the higher bits.
        let roots = levels.map(|level| node(level, (size >> level) - 1)).collect::<Result<_, E>>()?;
        Ok(Self { size, roots })
    }

    /// Number of entries.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The roots of the perfect subtrees, largest first: what [`Frontier::load`] asks for, in this order.
    #[must_use]
    pub fn roots(&self) -> &[Hash] {
        &self.roots
    }

    /// Root of the tree over all entries.
    #[must_use]
    pub fn root(&self) -> Hash {
        let from_the_right = self.roots.iter().rev().copied();
        from_the_right.reduce(|right, left| node_hash(&left, &right)).unwrap_or(EMPTY_ROOT)
    }

    /// Appends an entry and returns the nodes that it completes, from the leaf upwards: node `l` of the result is
    /// number `n >> l` of level `l`, where `n` is the number of the entry. Two hashes on average.
    pub fn push(&mut self, entry: &Hash) -> Vec<Hash> {
        let mut completed = Vec::with_capacity(1 + self.size.trailing_ones() as usize);
        let mut hash = leaf_hash(entry);
        completed.push(hash);
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.roots.pop() {
                hash = node_hash(&left, &hash);
                completed.push(hash);
            }
        }
        self.roots.push(hash);
        self.size += 1;
        completed
    }
}

/// Inclusion path (RFC 9162 section 2.1.3.1) of entry `index` in the log's first `size` entries; none unless
/// `index < size`. `node(level, number)` gives the root of the `2^level` entries from `number << level` on; it is asked
/// for complete nodes within `size` only, at most 64 + 63 of them.
///
/// # Errors
/// Those of `node`.
pub fn inclusion<E>(
    index: u64,
    size: u64,
    mut node: impl FnMut(u8, u64) -> Result<Hash, E>,
) -> Result<Option<Vec<Hash>>, E> {
    if index >= size || size > SIZE_MAX {
        return Ok(None);
    }
    let (mut low, mut high) = (0, size);
    let mut path = Vec::new();
    // PATH(m, D[low:high]), iterated; the RFC appends a sibling after the recursion.
    while high - low > 1 {
        let middle = split(low, high);
        if index < middle {
            path.push(range(middle, high, &mut node)?);
            high = middle;
        } else {
            path.push(range(low, middle, &mut node)?);
            low = middle;
        }
    }
    path.reverse();
    Ok(Some(path))
}

/// Consistency proof (RFC 9162 section 2.1.4.1) between the log's first `old_size` and first `size` entries; none unless
/// `1 <= old_size <= size`. `node` as for [`inclusion`].
///
/// # Errors
/// Those of `node`.
pub fn consistency<E>(
    old_size: u64,
    size: u64,
    mut node: impl FnMut(u8, u64) -> Result<Hash, E>,
) -> Result<Option<Vec<Hash>>, E> {
    if old_size == 0 || old_size > size || size > SIZE_MAX {
        return Ok(None);
    }
    let (mut low, mut high, mut known) = (0, size, true);
    let mut proof = Vec::new();
    // SUBPROOF(m, D[low:high], known), iterated.
    while old_size != high {
        let middle = split(low, high);
        if old_size <= middle {
            proof.push(range(middle, high, &mut node)?);
            high = middle;
        } else {
            proof.push(range(low, middle, &mut node)?);
            low = middle;
            known = false;
        }
    }
    if !known {
        proof.push(range(low, high, &mut node)?);
    }
    proof.reverse();
    Ok(Some(proof))
}

/// Where RFC 9162 splits `low..high`: after the largest power of two below its width.
const fn split(low: u64, high: u64) -> u64 {
    low + (high - low).next_power_of_two() / 2
}

/// Root of `low..high`, a range of the RFC's split: its perfect subtrees, folded from the right.
fn range<E>(mut low: u64, high: u64, node: &mut impl FnMut(u8, u64) -> Result<Hash, E>) -> Result<Hash, E> {
    let mut roots = Vec::new();
    while low < high {
        let level = (high - low).ilog2() as u8;
        roots.push(node(level, low >> level)?);
        low += 1 << level;
    }
    Ok(roots.into_iter().rev().reduce(|right, left| node_hash(&left, &right)).unwrap_or(EMPTY_ROOT))
}
