//! The hypertree (FIPS 205 sections 6 and 7): 22 layers of trees of 8 one-time keys.
//!
//! Which trees a signature passes through is known from the start, and what each signs does not matter for its leaves
//! and root. So all layers are computed side by side, and the one-time signatures are read off at the end. The
//! topmost layers may come from [`TopLayers`] instead.

use super::parameters::LAYERS;
use super::top_layers::Kept;
use super::tree::{path, trees};
use super::tweaked_hash::{Compression, Node, NodeLanes, TweakedHash, append};
use super::wots::Chains;

/// Algorithm 12: appends the signature of `message` by leaf `leaf` of tree `index`, and returns the root of each layer's
/// tree.
pub(super) fn sign<C: Compression>(
    hash: &mut TweakedHash<C>,
    sk_seed: &NodeLanes,
    kept: Kept,
    message: Node,
    (index, leaf): (u64, u32),
    signature: &mut Vec<u8>,
) -> [Node; LAYERS] {
    let path = path(index, leaf);
    let (whole, above) = path.split_at(kept.lowest());
    // Of the kept layers these still sign with chains of their own.
    let alone = &above[..kept.unsigned().min(above.len())];
    let chains = Chains::compute(hash, sk_seed, whole, alone);
    let mut leaves = chains.public_keys(hash, whole);
    leaves.extend(above.first().and_then(|tree| kept.leaves(tree)).map(|(leaves, _)| leaves));
    let computed = trees(hash, &path[..leaves.len()], &leaves);
    let (mut message, mut roots) = (message, [message; LAYERS]);
    for (layer, tree) in path.iter().enumerate() {
        let nodes = computed.get(layer).or_else(|| kept.tree(tree)).expect("a tree is computed or kept");
        match kept.signature(tree) {
            Some(kept) => kept.iter().for_each(|&node| append(signature, node)),
            None => chains.sign(layer, message, signature),
        }
        nodes.siblings(tree.leaf).into_iter().for_each(|node| append(signature, node));
        // A root that is kept is what the layer above has signed ever since; see [`super::top_layers`].
        message = kept.leaves(tree).map_or_else(|| nodes.root(), |(_, root)| root);
        roots[layer] = message;
    }
    roots
}
