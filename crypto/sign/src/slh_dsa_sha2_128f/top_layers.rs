//! The topmost layers of the hypertree, computed once per key: every signature passes through them, and what their
//! trees sign are the fixed roots of the trees below.
//!
//! Kept are all trees of the layers from [`KEPT_FROM`] up, 4,681 with 15 nodes each, and of the layers above that one
//! the one-time signatures of all 4,680 leaves: 3.7 MB. All of it is public: any signature may show it. The lowest
//! layer kept still signs the root of a tree that changes with every signature; only that leaf's chains are computed.
//!
//! # Faults
//! Each part is computed twice and compared before it is kept. A one-time key above the lowest kept layer therefore
//! signs when the parts are made and never again: a bit that flips in them later can spoil a signature, which
//! verification then finds, but cannot make a one-time key sign a second root.

use zeroize::Zeroizing;

use super::SECRET_KEY_BYTES;
use super::hypertree::{LAYERS, LEAVES, Tree, TreeNodes, trees};
use super::tweaked_hash::{Compression, Node, TweakedHash, broadcast, node};
use super::wots::{self, LEN};

/// The lowest layer whose trees are kept. One layer more would take eight times the memory and the time to make (a
/// few seconds), and save another 4 % of a signature.
pub(super) const KEPT_FROM: usize = 17;

/// Trees computed at a time: a few milliseconds of work, after which somebody may have lost interest.
const PART: usize = 64;

/// Trees of the kept layers, and what they sign.
pub(super) struct TopLayers([Layer; LAYERS - KEPT_FROM]);

#[derive(Default)]
struct Layer {
    /// By index.
    trees: Vec<TreeNodes>,
    /// By index of the tree, then leaf; empty in the lowest layer.
    signatures: Vec<[Node; LEN]>,
}

/// Why there are no top layers.
pub(super) enum Unmade {
    /// Nobody wants them any more.
    Unwanted,
    /// Two computations disagreed, or the root is not the key's.
    Fault,
}

impl TopLayers {
    /// Computes everything twice, while `wanted`.
    pub(super) fn new<C: Compression>(
        compressions: [C; 2],
        secret_key: &[u8; SECRET_KEY_BYTES],
        wanted: impl Fn() -> bool,
    ) -> Result<Self, Unmade> {
        let [sk_seed, _, pk_seed, pk_root] = [0, 1, 2, 3].map(|i| node(&secret_key.as_chunks().0[i]));
        let sk_seed = Zeroizing::new(broadcast(sk_seed));
        let mut hashes = compressions.map(|compression| TweakedHash::new(compression, pk_seed));
        let mut below = Vec::new();
        let mut layers = [(); LAYERS - KEPT_FROM].map(|()| Layer::default());
        for (height, layer) in layers.iter_mut().enumerate() {
            let count = 1usize << (3 * (LAYERS - KEPT_FROM - 1 - height));
            for first in (0..count).step_by(PART) {
                if !wanted() {
                    return Err(Unmade::Unwanted);
                }
                let trees: Vec<Tree> = (first..count.min(first + PART))
                    .map(|index| Tree { layer: (KEPT_FROM + height) as u8, index: index as u64, leaf: 0 })
                    .collect();
                let root = |leaf: usize| below.get(LEAVES * first + leaf).copied();
                let [mut one, two] = hashes.each_mut().map(|hash| {
                    let (signatures, ends) = wots::sign_with_every_leaf(hash, &sk_seed, &trees, root);
                    let leaves = wots::public_keys(hash, &trees, &ends);
                    (self::trees(hash, &trees, &leaves), signatures)
                });
                if one != two {
                    return Err(Unmade::Fault);
                }
                layer.trees.append(&mut one.0);
                if height > 0 {
                    layer.signatures.append(&mut one.1);
                }
            }
            below = layer.trees.iter().map(TreeNodes::root).collect();
        }
        if below == [pk_root] { Ok(Self(layers)) } else { Err(Unmade::Fault) }
    }

    /// The nodes of a tree, where it is kept.
    pub(super) fn tree(&self, tree: &Tree) -> Option<&TreeNodes> {
        self.layer(tree)?.trees.get(tree.index as usize)
    }

    /// What a tree's leaf signs with, where it always signs the same.
    pub(super) fn signature(&self, tree: &Tree) -> Option<&[Node; LEN]> {
        self.layer(tree)?.signatures.get(LEAVES * tree.index as usize + tree.leaf as usize)
    }

    /// Flips a bit of one node, or of one chain's value, in all trees of a layer, as faults would.
    #[cfg(test)]
    pub(super) fn flip(&mut self, layer: usize, node: usize, bit: usize) {
        let Layer { trees, signatures } = &mut self.0[layer];
        match node.checked_sub(2 * LEAVES - 1) {
            None => trees.iter_mut().for_each(|tree| tree.flip(node, bit)),
            Some(chain) => {
                signatures.iter_mut().for_each(|values| values[chain][bit / 32] ^= 1 << (bit % 32))
            }
        }
    }

    fn layer(&self, tree: &Tree) -> Option<&Layer> {
        self.0.get(usize::from(tree.layer).checked_sub(KEPT_FROM)?)
    }
}
