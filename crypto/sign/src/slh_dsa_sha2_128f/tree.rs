//! The trees of the hypertree (FIPS 205 section 6.1), and their nodes.

use super::address::{Address, Kind};
use super::parameters::{HEIGHT, LAYERS, LEAVES};
use super::tweaked_hash::{Compression, Node, TweakedHash};

/// A tree of the hypertree, and which of its leaves signs.
#[derive(Clone, Copy)]
pub(super) struct Tree {
    pub(super) layer: u8,
    pub(super) index: u64,
    pub(super) leaf: u32,
}

impl Tree {
    /// The tree once for each leaf.
    pub(super) fn with_each_leaf(&self) -> impl Iterator<Item = Tree> + use<> {
        let tree = *self;
        (0..LEAVES as u32).map(move |leaf| Tree { leaf, ..tree })
    }

    /// The tree once for each leaf but the one that signs.
    pub(super) fn with_the_other_leaves(&self) -> impl Iterator<Item = Tree> + use<> {
        let signs = self.leaf;
        self.with_each_leaf().filter(move |tree| tree.leaf != signs)
    }

    /// The address of a node above the leaves.
    pub(super) fn node(&self, height: u32, index: u32) -> Address {
        Address {
            layer: self.layer,
            tree: self.index,
            kind: Kind::Tree,
            key_pair: 0,
            chain_or_height: height,
            hash_or_index: index,
        }
    }
}

/// The nodes of a tree, leaves first, root last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct TreeNodes([Node; 2 * LEAVES - 1]);

impl TreeNodes {
    pub(super) fn root(&self) -> Node {
        self.0[2 * LEAVES - 2]
    }

    /// Algorithm 10, the authentication path: what a leaf's path to the root meets at each height.
    pub(super) fn siblings(&self, leaf: u32) -> [Node; HEIGHT as usize] {
        [0, 1, 2].map(|height| self.0[first_at(height) + ((leaf >> height) as usize ^ 1)])
    }

    /// Flips a bit, as a fault would.
    #[cfg(test)]
    pub(super) fn flip(&mut self, node: usize, bit: usize) {
        self.0[node][bit / 32] ^= 1 << (bit % 32);
    }
}

/// Where the nodes of a height begin.
const fn first_at(height: u32) -> usize {
    2 * LEAVES - ((2 * LEAVES) >> height)
}

/// The trees between `leaf` of tree `index` of the lowest layer and the root.
pub(super) fn path(mut index: u64, mut leaf: u32) -> [Tree; LAYERS] {
    let mut trees = [Tree { layer: 0, index, leaf }; LAYERS];
    for (layer, tree) in trees.iter_mut().enumerate() {
        *tree = Tree { layer: layer as u8, index, leaf };
        leaf = (index % LEAVES as u64) as u32;
        index >>= HEIGHT;
    }
    trees
}

/// Algorithm 9 in every tree: all nodes above the leaves.
pub(super) fn trees<C: Compression>(
    hash: &mut TweakedHash<C>,
    trees: &[Tree],
    leaves: &[[Node; LEAVES]],
) -> Vec<TreeNodes> {
    let mut nodes = vec![TreeNodes([Node::default(); 2 * LEAVES - 1]); trees.len()];
    nodes.iter_mut().zip(leaves).for_each(|(nodes, leaves)| nodes.0[..LEAVES].copy_from_slice(leaves));
    for height in 1..=HEIGHT {
        let mut pairs = Vec::with_capacity(trees.len() * LEAVES / 2);
        for (tree, nodes) in trees.iter().zip(&nodes) {
            let below = &nodes.0[first_at(height - 1)..first_at(height)];
            for (index, pair) in below.as_chunks().0.iter().enumerate() {
                pairs.push((tree.node(height, index as u32), *pair));
            }
        }
        let parents = hash.h(&pairs);
        for (nodes, parents) in nodes.iter_mut().zip(parents.chunks(LEAVES >> height)) {
            nodes.0[first_at(height)..][..parents.len()].copy_from_slice(parents);
        }
    }
    nodes
}

/// A node and its sibling, in the order of the tree, where the node has this index.
pub(super) fn pair(node: Node, sibling: Node, index: u32) -> [Node; 2] {
    if index.is_multiple_of(2) { [node, sibling] } else { [sibling, node] }
}
