//! The hypertree (FIPS 205 sections 6 and 7): 22 layers of trees of 8 one-time keys.
//!
//! Which trees a signature passes through is known from the start, and what each signs does not matter for its leaves
//! and root. So all layers are computed side by side, and the one-time signatures are read off at the end.

use super::address::{Address, Kind};
use super::tweaked_hash::{Compression, Node, NodeLanes, TweakedHash, append};
use super::wots::Chains;

/// Layers: d.
const LAYERS: usize = 22;

/// Height of a tree: h'.
const HEIGHT: u32 = 3;

/// Leaves of a tree.
pub(super) const LEAVES: usize = 1 << HEIGHT;

/// A tree of the hypertree, and which of its leaves signs.
#[derive(Clone, Copy)]
pub(super) struct Tree {
    pub(super) layer: u8,
    pub(super) index: u64,
    pub(super) leaf: u32,
}

/// The trees between `leaf` of tree `index` of the lowest layer and the root.
fn path(mut index: u64, mut leaf: u32) -> [Tree; LAYERS] {
    let mut trees = [Tree { layer: 0, index, leaf }; LAYERS];
    for (layer, tree) in trees.iter_mut().enumerate() {
        *tree = Tree { layer: layer as u8, index, leaf };
        leaf = (index % LEAVES as u64) as u32;
        index >>= HEIGHT;
    }
    trees
}

/// Algorithm 12: appends the signature of `message` by leaf `leaf` of tree `index`.
pub(super) fn sign<C: Compression>(
    hash: &mut TweakedHash<C>,
    sk_seed: &NodeLanes,
    message: Node,
    (index, leaf): (u64, u32),
    signature: &mut Vec<u8>,
) {
    let trees = path(index, leaf);
    let chains = Chains::compute(hash, sk_seed, &trees);
    let mut nodes: Vec<Vec<Node>> =
        chains.public_keys(hash, &trees).iter().map(|leaves| leaves.to_vec()).collect();
    let mut siblings = [[Node::default(); HEIGHT as usize]; LAYERS];
    for height in 0..HEIGHT {
        for ((siblings, nodes), tree) in siblings.iter_mut().zip(&nodes).zip(&trees) {
            siblings[height as usize] = nodes[(tree.leaf >> height) as usize ^ 1];
        }
        nodes = parents(hash, &trees, &nodes, height + 1);
    }
    let mut message = message;
    for (layer, siblings) in siblings.iter().enumerate() {
        chains.sign(layer, message, signature);
        siblings.iter().for_each(|&node| append(signature, node));
        message = nodes[layer][0];
    }
}

/// One step of algorithm 9 in every tree: the nodes at `height` from those below.
fn parents<C: Compression>(
    hash: &mut TweakedHash<C>,
    trees: &[Tree],
    nodes: &[Vec<Node>],
    height: u32,
) -> Vec<Vec<Node>> {
    let mut pairs = Vec::with_capacity(trees.len() * LEAVES / 2);
    for (tree, nodes) in trees.iter().zip(nodes) {
        for (index, pair) in nodes.as_chunks().0.iter().enumerate() {
            let address = Address {
                layer: tree.layer,
                tree: tree.index,
                kind: Kind::Tree,
                key_pair: 0,
                chain_or_height: height,
                hash_or_index: index as u32,
            };
            pairs.push((address, *pair));
        }
    }
    hash.h(&pairs).chunks(LEAVES >> height).map(<[Node]>::to_vec).collect()
}
