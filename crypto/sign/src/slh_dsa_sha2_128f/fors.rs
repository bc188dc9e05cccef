//! FORS (FIPS 205 section 8): 33 trees of 64 secret values, of which each signature shows one per tree.

use trefoil_kernels::sha256::LANES;
use zeroize::Zeroizing;

use super::address::{Address, AddressLanes, Kind};
use super::tweaked_hash::{Compression, Node, NodeLanes, TweakedHash, append, lane};

/// Trees: k.
const TREES: usize = 33;

/// Height of a tree: a.
const HEIGHT: usize = 6;

/// Leaves of a tree.
const LEAVES: usize = 1 << HEIGHT;

/// Bytes of a message: 33 indices of 6 bits.
pub(super) const MESSAGE_BYTES: usize = (TREES * HEIGHT).div_ceil(8);

/// Algorithms 16 and 17: appends the signature of `message` by the key at `(tree, key_pair)` of the hypertree's lowest
/// layer, and returns the public key.
pub(super) fn sign<C: Compression>(
    hash: &mut TweakedHash<C>,
    sk_seed: &NodeLanes,
    message: &[u8; MESSAGE_BYTES],
    (tree, key_pair): (u64, u32),
    signature: &mut Vec<u8>,
) -> Node {
    let address = |kind, height: usize, index: usize| Address {
        layer: 0,
        tree,
        kind,
        key_pair,
        chain_or_height: height as u32,
        hash_or_index: index as u32,
    };
    let indices = indices(message);
    let mut secrets = [Node::default(); TREES];
    let mut nodes = Vec::with_capacity(TREES * LEAVES);
    for first in (0..TREES * LEAVES).step_by(LANES) {
        let mut addresses = AddressLanes::new(|lane| address(Kind::ForsPrf, 0, first + lane));
        let values = Zeroizing::new(hash.f(&addresses, sk_seed));
        addresses.set_kind(Kind::ForsTree);
        let leaves = hash.f(&addresses, &values);
        nodes.extend((0..LANES).map(|i| lane(&leaves, i)));
        let shown = first / LEAVES * LEAVES + indices[first / LEAVES];
        if (first..first + LANES).contains(&shown) {
            secrets[first / LEAVES] = lane(&values, shown - first);
        }
    }
    let mut siblings = [[Node::default(); HEIGHT]; TREES];
    for height in 0..HEIGHT {
        let width = LEAVES >> height;
        for ((siblings, nodes), index) in siblings.iter_mut().zip(nodes.chunks(width)).zip(indices) {
            siblings[height] = nodes[index >> height ^ 1];
        }
        let pairs = nodes.as_chunks().0.iter().enumerate();
        let pairs: Vec<_> =
            pairs.map(|(index, pair)| (address(Kind::ForsTree, height + 1, index), *pair)).collect();
        nodes = hash.h(&pairs);
    }
    for (secret, siblings) in secrets.iter().zip(siblings) {
        append(signature, *secret);
        siblings.iter().for_each(|&node| append(signature, node));
    }
    let addresses = AddressLanes::new(|_| address(Kind::ForsRoots, 0, 0));
    lane(&hash.t(&addresses, TREES, |_, tree| nodes[tree]), 0)
}

/// Algorithm 4: which leaf of each tree the message selects.
fn indices(message: &[u8; MESSAGE_BYTES]) -> [usize; TREES] {
    let bit = |i: usize| usize::from(message[i / 8] >> (7 - i % 8) & 1);
    std::array::from_fn(|tree| (0..HEIGHT).fold(0, |index, i| index << 1 | bit(HEIGHT * tree + i)))
}
