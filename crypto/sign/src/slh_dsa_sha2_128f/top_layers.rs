//! The topmost layers of the hypertree, computed once per key: every signature passes through them, and what their
//! trees sign are the fixed roots of the trees below.
//!
//! Kept are all trees of some layers with 15 nodes each, and of all but the lowest of these layers the one-time
//! signatures of all leaves. All of it is public: any signature may show it. The lowest layer kept still signs the root
//! of a tree that changes with every signature; only that leaf's chains are computed.
//!
//! One layer more may be kept in less: of each tree the leaves and the root ([`LeafLayer`]). The nodes between are hashed
//! again, and the one-time signatures of these roots are computed each time, because keeping them would take four times
//! the memory for a seventh of the gain.
//!
//! # Faults
//! Each part is computed twice and compared before it is kept. A one-time key above the lowest kept layer therefore
//! signs when the parts are made and never again: a bit that flips in them later can spoil a signature, which
//! verification then finds, but cannot make a one-time key sign a second root.
//!
//! Under a [`LeafLayer`] one-time keys sign each time what is kept as the root. Kept leaves are not what the root comes
//! from: a bit that flips in a leaf spoils the path, one that flips in the root spoils the signature above, and neither
//! verifies. Were the root computed from the leaves, a flipped leaf would be signed by the layer above, and verify.

use zeroize::Zeroizing;

use super::parameters::{LAYERS, LEAVES, SECRET_KEY_BYTES};
use super::tree::{Tree, TreeNodes, trees};
use super::tweaked_hash::{Compression, Node, TweakedHash, broadcast, node};
use super::wots::{self, LEN};

/// The lowest layer whose trees are kept: at first, then for good. From layer 17 up these are 4,681 trees, 3.7 MB and
/// the work of 500 signatures; each layer more takes eight times that, and saves another 5 % of a signature.
pub(super) const KEPT_FROM: [usize; 2] = [17, 16];

/// Trees computed at a time: a few milliseconds of work, after which somebody may have lost interest.
const PART: usize = 64;

/// Trees of the kept layers, lowest first, and what they sign.
pub(super) struct TopLayers(Vec<Layer>);

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
    /// Computes the layers from `kept_from` up, everything twice, while `wanted`.
    pub(super) fn new<C: Compression>(
        compressions: [C; 2],
        secret_key: &[u8; SECRET_KEY_BYTES],
        kept_from: usize,
        wanted: impl Fn() -> bool,
    ) -> Result<Self, Unmade> {
        let [sk_seed, _, pk_seed, pk_root] = [0, 1, 2, 3].map(|i| node(&secret_key.as_chunks().0[i]));
        let sk_seed = Zeroizing::new(broadcast(sk_seed));
        let mut hashes = compressions.map(|compression| TweakedHash::new(compression, pk_seed));
        let mut below = Vec::new();
        let mut layers = Vec::new();
        for number in kept_from..LAYERS {
            let mut layer = Layer::default();
            let count = count(number);
            for first in (0..count).step_by(PART) {
                if !wanted() {
                    return Err(Unmade::Unwanted);
                }
                let trees: Vec<Tree> = (first..count.min(first + PART))
                    .map(|index| Tree { layer: number as u8, index: index as u64, leaf: 0 })
                    .collect();
                let root = |leaf: usize| below.get(LEAVES * first + leaf).copied();
                let [mut one, two] = hashes.each_mut().map(|hash| {
                    let (signatures, leaves) = wots::sign_with_every_leaf(hash, &sk_seed, &trees, root);
                    (self::trees(hash, &trees, &leaves), signatures)
                });
                if one != two {
                    return Err(Unmade::Fault);
                }
                layer.trees.append(&mut one.0);
                if number > kept_from {
                    layer.signatures.append(&mut one.1);
                }
            }
            below = layer.trees.iter().map(TreeNodes::root).collect();
            layers.push(layer);
        }
        if below == [pk_root] { Ok(Self(layers)) } else { Err(Unmade::Fault) }
    }

    /// Memory of the layers from `kept_from` up.
    pub(super) fn bytes(kept_from: usize) -> usize {
        let nodes: usize = (kept_from..LAYERS).map(count).sum::<usize>() * size_of::<TreeNodes>();
        let signatures =
            (kept_from + 1..LAYERS).map(count).sum::<usize>() * LEAVES * size_of::<[Node; LEN]>();
        nodes + signatures
    }

    /// The lowest layer that is kept.
    fn lowest(&self) -> usize {
        LAYERS - self.0.len()
    }

    /// The nodes of a tree, where it is kept.
    fn tree(&self, tree: &Tree) -> Option<&TreeNodes> {
        self.layer(tree)?.trees.get(tree.index as usize)
    }

    /// What a tree's leaf signs with, where it always signs the same.
    fn signature(&self, tree: &Tree) -> Option<&[Node; LEN]> {
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
        self.0.get(usize::from(tree.layer).checked_sub(self.lowest())?)
    }
}

/// The trees of the layer below the top layers, as their leaves and roots: 144 bytes each.
pub(super) struct LeafLayer(Vec<([Node; LEAVES], Node)>);

impl LeafLayer {
    /// Computes the layer below one that is kept from `kept_from` up, everything twice, while `wanted`.
    pub(super) fn new<C: Compression>(
        compressions: [C; 2],
        secret_key: &[u8; SECRET_KEY_BYTES],
        kept_from: usize,
        wanted: impl Fn() -> bool,
    ) -> Result<Self, Unmade> {
        let [sk_seed, pk_seed] = [0, 2].map(|i| node(&secret_key.as_chunks().0[i]));
        let sk_seed = Zeroizing::new(broadcast(sk_seed));
        let mut hashes = compressions.map(|compression| TweakedHash::new(compression, pk_seed));
        let number = kept_from - 1;
        let count = count(number);
        let mut layer = Vec::with_capacity(count);
        for first in (0..count).step_by(PART) {
            if !wanted() {
                return Err(Unmade::Unwanted);
            }
            let trees: Vec<Tree> = (first..count.min(first + PART))
                .map(|index| Tree { layer: number as u8, index: index as u64, leaf: 0 })
                .collect();
            let [one, two] = hashes.each_mut().map(|hash| {
                let leaves = wots::leaves(hash, &sk_seed, &trees);
                let roots = self::trees(hash, &trees, &leaves).iter().map(TreeNodes::root).collect();
                std::iter::zip::<_, Vec<Node>>(leaves, roots).collect::<Vec<_>>()
            });
            if one != two {
                return Err(Unmade::Fault);
            }
            layer.extend(one);
        }
        Ok(Self(layer))
    }

    /// Memory of the layer below one that is kept from `kept_from` up.
    pub(super) fn bytes(kept_from: usize) -> usize {
        count(kept_from - 1) * size_of::<([Node; LEAVES], Node)>()
    }

    /// Flips a bit of one leaf, or of the root, of all trees, as faults would.
    #[cfg(test)]
    pub(super) fn flip(&mut self, node: usize, bit: usize) {
        for (leaves, root) in &mut self.0 {
            leaves.get_mut(node).unwrap_or(root)[bit / 32] ^= 1 << (bit % 32);
        }
    }
}

/// Trees of a layer.
fn count(layer: usize) -> usize {
    1 << (3 * (LAYERS - 1 - layer))
}

/// What is kept of a key, when a signature is computed.
#[derive(Clone, Copy, Default)]
pub(super) struct Kept<'a> {
    pub(super) top: Option<&'a TopLayers>,
    /// Only below top layers that are there, from the layer above it up.
    pub(super) leaf_layer: Option<&'a LeafLayer>,
}

impl<'a> Kept<'a> {
    /// The lowest layer of which anything is kept.
    pub(super) fn lowest(&self) -> usize {
        self.top.map_or(LAYERS, TopLayers::lowest) - usize::from(self.leaf_layer.is_some())
    }

    /// How many layers from there up have no signatures kept.
    pub(super) fn unsigned(&self) -> usize {
        1 + usize::from(self.leaf_layer.is_some())
    }

    /// The leaves and the root of a tree, where these are kept.
    pub(super) fn leaves(&self, tree: &Tree) -> Option<([Node; LEAVES], Node)> {
        let layer = self.leaf_layer.filter(|_| usize::from(tree.layer) == self.lowest())?;
        layer.0.get(tree.index as usize).copied()
    }

    /// The nodes of a tree, where all are kept.
    pub(super) fn tree(&self, tree: &Tree) -> Option<&'a TreeNodes> {
        self.top?.tree(tree)
    }

    /// What a tree's leaf signs with, where it always signs the same and that is kept.
    pub(super) fn signature(&self, tree: &Tree) -> Option<&'a [Node; LEN]> {
        self.top?.signature(tree)
    }
}
